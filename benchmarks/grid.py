"""A grid: the 101 scenarios of the bank heard of 10,000 utterances, a million trials, and all that is asked of them.

Run, score, and a report, which asks every audit, each in a process of its own, with a recognizer that answers at once
and clips of 0.1 s; a tenth of it beside it. Without --full it is 101,000 trials beside 10,100.
"""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.measure import Row, Settings
from benchmarks.scale import growth

STAGES = ("run", "score", "report")
SUITE, SCENARIOS = "srb", 101


def measure(settings: Settings) -> Iterator[Row]:
    sizes = settings.pick((20, 40), (100, 1_000), (1_000, 10_000))
    yield from growth(sizes, STAGES, SUITE, SCENARIOS, "trial")
