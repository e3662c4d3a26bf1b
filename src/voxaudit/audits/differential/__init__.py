"""Differential: fairness testing without reference texts (Rajan et al. 2022), and which violations survive a test."""

from voxaudit.audits.differential.agreement import Agreement
from voxaudit.audits.differential.audit import TAUS, differential
from voxaudit.audits.differential.findings import Chance, Findings, View, merged
from voxaudit.audits.differential.ratings import Ratings, published_ratings, read_ratings

__all__ = [
    "TAUS",
    "Agreement",
    "Chance",
    "Findings",
    "Ratings",
    "View",
    "differential",
    "merged",
    "published_ratings",
    "read_ratings",
]
