"""How much disturbance a recognizer bears, for whom: the setting at which errors reach a level, by staircases."""

from voxaudit.audits.breaking.audit import breaking_points
from voxaudit.audits.breaking.axes import Axis, find_axis
from voxaudit.audits.breaking.result import Breaking, Difference, Point

__all__ = ["Axis", "Breaking", "Difference", "Point", "breaking_points", "find_axis"]
