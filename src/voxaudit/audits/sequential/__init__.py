"""Hear no more than is needed: speakers one by one, intervals valid at every look, cells stopped when settled."""

from voxaudit.audits.sequential.audit import replay, sequential
from voxaudit.audits.sequential.result import Gap, Rate, Sequential
from voxaudit.audits.sequential.rounds import Goal

__all__ = ["Gap", "Goal", "Rate", "Sequential", "replay", "sequential"]
