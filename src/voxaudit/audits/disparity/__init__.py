"""Disparity: is the gap between groups real, all else being equal? Poisson regression with speakers in it."""

from voxaudit.audits.disparity.audit import FEWER, MORE, ONE_SPEAKER, UNDECIDED, disparity

__all__ = ["FEWER", "MORE", "ONE_SPEAKER", "UNDECIDED", "disparity"]
