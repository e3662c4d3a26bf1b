"""Speaker-cluster bootstrap of ratios of sums: the intervals of changes of error rates (rates: `stats.rates`)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from voxaudit.errors import VoxauditError

FEWEST_SPEAKERS = 5
"""With fewer speakers no interval is given: resampling four people says little about a fifth."""

_BLOCK = 2_000_000  # resamples x conditions worked on at a time: bounds memory
_DRAWS = 4_000_000  # resamples x speakers drawn at a time


def ratio_intervals(
    table: pl.DataFrame,
    by: Sequence[str],
    *,
    errors: str = "errors",
    words: str = "words",
    speaker: str = "speaker",
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> pl.DataFrame:
    """Return a bootstrap interval of `sum(errors) / sum(words)` for every combination of `by`.

    Speakers, not utterances, are drawn; one set of draws serves all conditions, so they stay comparable.
    Percentile limits are widened to the t distribution's (`alpha' = Phi(-sqrt(n/(n-1)) t)`, Hesterberg 2015),
    which plain percentiles of few speakers miss. Columns: `by`, `speakers`, `ci_low`, `ci_high`; the limits
    are null where a condition has fewer than five speakers, unknown ones, or no words.
    """
    if not 0.0 < confidence < 1.0:
        raise VoxauditError(f"confidence must lie between 0 and 1, not {confidence:g}")
    conditions = table.select(by).unique(maintain_order=True).with_row_index("_condition")
    known = table.filter(pl.col(speaker).is_not_null())
    cells = speaker_cells(known, conditions, by, (errors, words), speaker)
    counts = cells.group_by("_condition").agg(pl.len().alias("speakers"))
    unnamed = table.filter(pl.col(speaker).is_null()).select(by).unique().with_columns(_unnamed=pl.lit(True))
    frame = conditions.join(counts, on="_condition", how="left").join(
        unnamed, on=by, how="left", nulls_equal=True
    )
    frame = frame.sort("_condition").with_columns(pl.col("speakers").fill_null(0))
    error_sums, word_sums = (matrix_of(cells, name, conditions.height) for name in (errors, words))
    shape = error_sums.shape
    enough = ((frame["speakers"] >= FEWEST_SPEAKERS) & frame["_unnamed"].is_null()).to_numpy()
    low, high = np.full(shape[1], np.nan), np.full(shape[1], np.nan)
    chosen = np.flatnonzero(enough)
    # Draws are made a block at a time: a million utterances have tens of thousands of speakers.
    block = max(1, min(resamples, _DRAWS // max(shape[0], 1)))
    step = max(1, _BLOCK // resamples)
    for first in range(0, len(chosen), step):
        some = chosen[first : first + step]
        above, below = error_sums[:, some], word_sums[:, some]
        ratios = np.empty((resamples, len(some)))
        generator = np.random.Generator(
            np.random.PCG64(seed)
        )  # every block of conditions sees the same draws
        for begin in range(0, resamples, block):
            weights = speaker_weights(shape[0], min(block, resamples - begin), generator)
            with np.errstate(invalid="ignore", divide="ignore"):
                ratios[begin : begin + block] = (weights @ above) / (weights @ below)
        for column, condition in enumerate(some):
            tail = widened_tail(int(frame["speakers"][int(condition)]), confidence)
            drawn = ratios[:, column]
            drawn = drawn[np.isfinite(drawn)]
            if len(drawn) >= resamples // 2:
                low[condition], high[condition] = np.quantile(drawn, [tail, 1.0 - tail])
    limits = {"ci_low": pl.Series(low).fill_nan(None), "ci_high": pl.Series(high).fill_nan(None)}
    return frame.select(*by, "speakers").with_columns(**limits)


def speaker_cells(
    table: pl.DataFrame, conditions: pl.DataFrame, by: Sequence[str], counts: Sequence[str], speaker: str
) -> pl.DataFrame:
    """Return sums of counts by speaker and condition; `_speaker` numbers people in the order of their appearance.

    `conditions` has the columns `by` and their numbers, `_condition`.
    """
    sums = table.group_by([*by, speaker], maintain_order=True).agg(pl.col(*counts).sum())
    people = sums.select(speaker).unique(maintain_order=True).with_row_index("_speaker")
    return sums.join(conditions, on=by, nulls_equal=True).join(people, on=speaker)


def matrix_of(cells: pl.DataFrame, count: str, conditions: int) -> NDArray[np.float64]:
    """Return one count of `speaker_cells` as a matrix speakers x conditions; 0 where nobody spoke."""
    person, condition = cells["_speaker"].to_numpy(), cells["_condition"].to_numpy()
    matrix = np.zeros((int(person.max()) + 1 if len(person) else 0, conditions))
    matrix[person, condition] = cells[count].to_numpy()
    return matrix


def speaker_weights(speakers: int, resamples: int, generator: np.random.Generator) -> NDArray[np.float64]:
    """Return how often each speaker is drawn in each resample: a matrix resamples x speakers."""
    draws = generator.multinomial(speakers, np.full(speakers, 1.0 / speakers), size=resamples)
    return draws.astype(np.float64)


def widened_tail(speakers: int, confidence: float) -> float:
    """Return the percentile that widens a percentile interval to the t distribution's (Hesterberg 2015)."""
    from scipy.special import ndtr, stdtrit

    quantile = float(stdtrit(speakers - 1, 0.5 + confidence / 2.0))
    return float(ndtr(-math.sqrt(speakers / (speakers - 1)) * quantile))


@dataclass(frozen=True)
class Resample:
    """How often each person is drawn, one row per resample; row 0 is everybody once, which gives the estimate.

    One set of draws serves all conditions, so that differences of what it gives are paired.
    """

    weights: NDArray[np.float64]
    confidence: float

    @classmethod
    def within(cls, strata: Sequence[str], resamples: int, seed: int, confidence: float) -> Resample:
        """Draw people with replacement `resamples` times; `strata` says for each person whom they are drawn among."""
        generator = np.random.Generator(np.random.PCG64(seed))
        weights = np.ones((resamples + 1, len(strata)))
        for stratum in sorted(set(strata), key=repr):
            members = [person for person, own in enumerate(strata) if own == stratum]
            weights[1:, members] = speaker_weights(len(members), resamples, generator)
        return cls(weights, confidence)

    def rates(self, errors: NDArray[np.float64], words: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the rates of conditions (columns; people are rows) in every draw; nan where no words were drawn."""
        above, below = self.weights @ errors, self.weights @ words
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(below > 0.0, above / below, np.nan)

    def limits(
        self, values: NDArray[np.float64], speakers: int, *, tests: int = 1
    ) -> tuple[float | None, float | None]:
        """Return the percentile limits of draws (`values[1:]`), widened to the t distribution's for few speakers.

        None with fewer than five speakers, or where most draws have no value; a limit that is infinite is None too.
        `tests` is the number of intervals that have to hold at once (Bonferroni).
        """
        drawn = values[1:]
        drawn = drawn[~np.isnan(drawn)]
        if speakers < FEWEST_SPEAKERS or 2 * len(drawn) < len(values) - 1 or not len(drawn):
            return None, None
        tail = widened_tail(speakers, 1.0 - (1.0 - self.confidence) / tests)
        # Weibull's quantiles are fair with few draws in a tail, but cannot be infinite.
        method = "weibull" if np.isfinite(drawn).all() else "inverted_cdf"
        low, high = np.quantile(drawn, [tail, 1.0 - tail], method=method)  # type: ignore[call-overload]
        return (float(low) if math.isfinite(low) else None, float(high) if math.isfinite(high) else None)

    def widths_together(self, differences: Sequence[NDArray[np.float64]], speakers: int) -> list[float]:
        """Return half the widths of intervals of differences (draws of each) that hold for all of them at once.

        It is the quantile of the largest standardized deviation among them (single-step max-t), widened by what the
        t distribution of so many speakers is wider than the normal one.
        """
        from scipy.special import ndtri, stdtrit

        errors = [standard_error(one) for one in differences]
        drawn = [
            np.abs(one[1:] - one[0]) / error if error > 0 else np.zeros(len(one) - 1)
            for one, error in zip(differences, errors, strict=True)
        ]
        largest = np.nanmax(np.nan_to_num(np.stack(drawn), nan=0.0), axis=0)
        upper = 0.5 + self.confidence / 2.0
        wider = float(np.sqrt(speakers / (speakers - 1)) * stdtrit(speakers - 1, upper) / ndtri(upper))
        width = float(np.quantile(largest, self.confidence)) * wider
        return [width * error if error > 0 else 0.0 for error in errors]


def standard_error(values: NDArray[np.float64]) -> float:
    """Return the bootstrap standard error: the standard deviation of the finite draws (`values[1:]`)."""
    drawn = values[1:]
    drawn = drawn[np.isfinite(drawn)]
    return float(np.std(drawn, ddof=1)) if len(drawn) > 1 else float("nan")
