"""Compare two runs of the same utterances: did it get better, worse, or is it a tie?"""

from voxaudit.audits.compare.audit import compare
from voxaudit.audits.compare.result import Comparison, Slice

__all__ = ["Comparison", "Slice", "compare"]
