"""Error rates of speakers put together: uncertainty on the log scale, from what each speaker contributes.

A rate is a sum of errors over a sum of words. Speaker i pulls its logarithm by about `e_i/E - w_i/W`, the share of the
errors less that of the words: the sum of squares of these pulls is the variance of the log rate, speakers being the
sample. Three things that plain bootstraps of few speakers miss are allowed for. Whoever says much draws the rate to
himself: squares are divided by what that leaves of them, so that the variance is unbiased. Speakers who say unequally
much count as fewer: degrees of freedom are Satterthwaite's for their shares (Bell and McCaffrey 2002). Rates are
skewed: lower limits are taken on the log scale; upper limits allow for a worse speaker than those heard
(`stats.unseen`), because the log scale ends too early where a few speakers or utterances make most errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import polars as pl

from voxaudit.errors import VoxauditError
from voxaudit.stats.bootstrap import FEWEST_SPEAKERS, by_people, speaker_cells
from voxaudit.stats.cells import FloatArray, IntArray
from voxaudit.stats.unseen import MOST, farthest_rates, upper_limits, without_errors
from voxaudit.tables import added

_DECIDES = 1e-9  # what is left where one speaker decides
_DRAWS = 20_000


@dataclass(frozen=True)
class Pulls:
    """What speakers (rows) do to some estimates (columns), and the shares of the words that they have in each."""

    pull: FloatArray
    share: FloatArray

    def column(self, number: int) -> Pulls:
        """Return one estimate's pulls."""
        return Pulls(self.pull[:, [number]], self.share[:, [number]])

    def corrected(self) -> tuple[FloatArray, FloatArray]:
        """Return the pulls, enlarged so that their sum of squares is the variance, and the degrees of freedom.

        Both are nan where one speaker has (nearly) all words.
        """
        size = self.pull.shape[1]
        column = np.broadcast_to(np.arange(size), self.pull.shape).ravel()
        factor, df = _moments(self.share.ravel(), column, size)
        return self.pull * np.sqrt(factor.reshape(self.pull.shape)), df


def pulls(errors: FloatArray, words: FloatArray) -> tuple[FloatArray, Pulls]:
    """Return the rates of conditions (columns; speakers are rows) and the speakers' pulls on their logarithms.

    A rate is nan without words, and has no pulls (nan) without errors.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        share = words / words.sum(axis=0)
        pull = errors / errors.sum(axis=0) - share
        return errors.sum(axis=0) / words.sum(axis=0), Pulls(pull, share)


def mean_pulls(rates: FloatArray, parts: Pulls, weights: FloatArray) -> tuple[FloatArray, Pulls]:
    """Return weighted means of rates (`weights`: conditions x means) and the pulls on the means' logarithms.

    A rate that is not known (no words) spoils the means that it belongs to, and no other.
    """
    unknown = ~np.isfinite(rates)
    # nan times a weight of 0 is nan: unknown rates go in as 0, and their means are marked afterwards.
    means = np.where(unknown, 0.0, rates) @ weights
    means = np.where((weights[unknown] != 0.0).any(axis=0), np.nan, means)
    # A part without errors adds nothing to the mean, and its shares are those of nobody's errors.
    known = np.where(unknown, 0.0, rates)[:, None] * weights
    with np.errstate(divide="ignore", invalid="ignore"):
        known = known / known.sum(axis=0)
    return means, Pulls(np.nan_to_num(parts.pull) @ known, np.nan_to_num(parts.share) @ known)


def mean_of(rates: Sequence[float], parts: Sequence[Pulls]) -> Pulls:
    """Return the pulls on the plain mean of rates that have a column of pulls each."""
    together = Pulls(*(np.hstack([getattr(part, name) for part in parts]) for name in ("pull", "share")))
    return mean_pulls(np.array(rates), together, np.full((len(parts), 1), 1.0 / len(parts)))[1]


def lower_log_limits(rate: FloatArray, variance: FloatArray, df: FloatArray, confidence: float) -> FloatArray:
    """Return the lower limits of rates whose logarithms have these variances and degrees of freedom."""
    from voxaudit.numeric import stdtrit

    with np.errstate(invalid="ignore", over="ignore"):
        return np.asarray(rate * np.exp(-stdtrit(df, 0.5 + confidence / 2.0) * np.sqrt(variance)))


def limits_of(
    rates: FloatArray, parts: Pulls, confidence: float, unit: FloatArray | float = 1.0
) -> tuple[FloatArray, FloatArray]:
    """Return the limits of rates, or of means of rates, each with a column of pulls; nan where there are none.

    `unit` is what rates have been multiplied by, each.
    """
    pull, df = parts.corrected()
    low = lower_log_limits(rates, np.sum(pull**2, axis=0), df, confidence)
    # What the speakers' errors and words are in units of all words; for a mean of rates, what amounts to the same.
    there = ((parts.share > 0.0) & np.isfinite(low)).T
    code = np.nonzero(there)[0]
    words = parts.share.T[there]
    errors = (rates * (parts.pull + parts.share)).T[there]
    high = _upper(errors, words, code, len(rates), confidence, MOST * unit)
    return low, np.where(np.isfinite(low), high, np.nan)


def _upper(
    errors: FloatArray,
    words: FloatArray,
    code: IntArray,
    size: int,
    confidence: float,
    most: FloatArray | float,
) -> FloatArray:
    unseen = farthest_rates(errors, words, code, size, most)
    return upper_limits(errors, words, code, size, unseen, confidence)


def rate_intervals(
    table: pl.DataFrame,
    by: Sequence[str],
    *,
    errors: str = "errors",
    words: str = "words",
    speaker: str = "speaker",
    utterances: str | None = None,
    most: float = MOST,
    confidence: float = 0.95,
) -> pl.DataFrame:
    """Return an interval of `sum(errors) / sum(words)` for every combination of `by`, speakers being the sample.

    Columns: `by`, `speakers`, `ci_low`, `ci_high`; the limits are null where a condition has fewer than five
    speakers, unknown ones, no words, or where one speaker has all words. Where words were said and no error was made
    the lower limit is 0 and the upper one comes from how much was heard, whoever spoke: `utterances` names the column
    with the utterances in a row, each row being one without it. `most` is the rate that a speaker not heard has at most
    where nobody heard has more; give infinity where `words` is no number of words. Neither the order of rows nor other
    conditions change anything.

    >>> rows = {"speaker": list("abcdef"), "words": [50] * 6, "errors": [4, 6, 5, 9, 3, 6]}
    >>> limits = rate_intervals(pl.DataFrame(rows).with_columns(of=pl.lit("all")), ["of"])
    >>> limits.select(pl.col("ci_low", "ci_high").round(3)).row(0)
    (0.074, 0.252)
    """
    if not 0.0 < confidence < 1.0:
        raise VoxauditError(f"confidence must lie between 0 and 1, not {confidence:g}")
    heard = pl.lit(1.0) if utterances is None else pl.col(utterances)
    return _intervals(table, by, errors, words, speaker, heard, most, confidence)


def _intervals(
    table: pl.DataFrame,
    by: Sequence[str],
    errors: str,
    words: str,
    speaker: str,
    heard: pl.Expr,
    most: float,
    confidence: float,
    *,
    lower_only: bool = False,
) -> pl.DataFrame:
    """Return what `rate_intervals` does; with `lower_only` no upper limit is searched for (null)."""
    conditions = table.select(by).unique(maintain_order=True).with_row_index("_condition")
    sums = table.group_by([*by, speaker]).agg(
        added(table, errors, words),
        _heard=pl.when(pl.col(words) > 0).then(heard).otherwise(0.0).sum(),
    )
    # Sorted by value, so that rounding does not depend on the order of the rows.
    cells = sums.join(conditions, on=by, nulls_equal=True).sort("_condition", errors, words, "_heard")
    code = cells["_condition"].to_numpy().astype(np.int64)
    size = conditions.height
    e, w, k = (cells[name].to_numpy().astype(np.float64) for name in (errors, words, "_heard"))
    known = cells[speaker].is_not_null().to_numpy()
    speakers = np.bincount(code[known], minlength=size)
    with np.errstate(divide="ignore", invalid="ignore"):
        total_errors, total_words = np.bincount(code, e, size), np.bincount(code, w, size)
        share = w / total_words[code]
        pull = e / total_errors[code] - share
        rate = total_errors / total_words
    factor, df = _moments(share, code, size)
    variance = np.bincount(code, factor * pull**2, size).astype(np.float64)
    refused = (speakers < FEWEST_SPEAKERS) | (np.bincount(code[~known], minlength=size) > 0)
    # Where all are refused, the half second that it takes to load the t distribution is saved.
    low = np.full(size, np.nan) if refused.all() else lower_log_limits(rate, variance, df, confidence)
    refused |= ~np.isfinite(low)
    # Where there is no lower limit there is nothing to search for.
    asked = np.zeros_like(known) if lower_only else ~refused[code]
    high = _upper(e[asked], w[asked], code[asked], size, confidence, most)
    none = (total_errors == 0.0) & (total_words > 0.0)
    count, squares = (np.bincount(code, values, size).astype(np.float64) for values in (k, k**2))
    silent = without_errors(count, squares, confidence)
    ends = {
        "ci_low": np.where(none, 0.0, np.where(refused, np.nan, low)),
        "ci_high": np.where(none, silent, np.where(refused, np.nan, high)),
    }
    limits = {name: pl.Series(end).fill_nan(None) for name, end in ends.items()}
    return conditions.select(by).with_columns(speakers=pl.Series(speakers, dtype=pl.UInt32), **limits)


def lower_limits_together(
    table: pl.DataFrame, by: Sequence[str], *, confidence: float = 0.95
) -> pl.DataFrame:
    """Return lower limits that hold for all combinations of `by` at once: column `low`, null where there is none.

    The table is as `rate_intervals` has it. The largest of many lower limits lies above its rate more often than any
    one of them does. With a chance of `(1 - confidence) / 2` at most one of these is above: each is as low as the
    speakers that conditions share require.
    """
    single = _intervals(
        table, by, "errors", "words", "speaker", pl.lit(1.0), MOST, confidence, lower_only=True
    )
    single = single.with_row_index("_place")
    usable = single.filter(pl.col("ci_low") > 0.0)
    lows = single["ci_low"].fill_null(np.nan).to_numpy().copy()  # 0 where nobody met an error
    if usable.height:
        conditions = usable.select(by).with_row_index("_condition")
        cells = speaker_cells(table.sort("speaker"), conditions, by, ("errors", "words"), "speaker")
        rate, parts = pulls(*by_people(cells, ("errors", "words"), usable.height))
        pull, df = parts.corrected()
        level = level_together(pull, (1.0 - confidence) / 2.0)
        variance = np.sum(pull**2, axis=0)
        lows[usable["_place"].to_numpy()] = lower_log_limits(rate, variance, df, 1.0 - 2.0 * level)
    return single.select(by).with_columns(low=pl.Series(lows).fill_nan(None))


def level_together(pull: FloatArray, level: float) -> float:
    """Return the one-sided level for each of some estimates (columns of `pull`) at which any of them misses at `level`.

    Estimates of the same people go together as their pulls do: drawn from the normal distribution with their
    correlations. It lies between Bonferroni's level (they have nothing in common) and `level` itself (all is the same).
    """
    from voxaudit.numeric import ndtr

    size = pull.shape[1]
    if size == 1:
        return level
    length = np.sqrt(np.sum(pull**2, axis=0))
    unit = pull / np.where(length > 0.0, length, 1.0)
    # Not Cholesky: with more conditions than speakers the correlations have no full rank.
    values, vectors = np.linalg.eigh(unit.T @ unit)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    draws = _normals(size) @ root.T
    together = float(ndtr(-np.quantile(draws.max(axis=1), 1.0 - level)))
    # Bonferroni's level and `level` itself are bounds that the noise of the draws must not pass.
    return float(min(max(together, level / size), level))


@lru_cache(maxsize=4)
def _normals(size: int) -> FloatArray:
    """Return draws from so many independent normal distributions: the same for every question of that size."""
    return np.random.Generator(np.random.PCG64(0)).standard_normal((_DRAWS, size))


def _moments(share: FloatArray, code: IntArray, size: int) -> tuple[FloatArray, FloatArray]:
    """Return what each square is multiplied by for an unbiased variance, and the variance's degrees of freedom.

    A pull is `x_i - h_i sum(x)`, `h` being the shares and x independent with variances `s`. Half of them is taken to be
    there because speakers differ (it goes as h^2), half because errors come as counts do (it goes as h): with either
    alone, simulated intervals are too wide or too narrow where speakers say unequally much. The variance of a pull is
    then `s_i - 2 h_i s_i + h_i^2 sum(s)`; the degrees of freedom are those of the chi-square with the same mean and
    variance as the sum of corrected squares of normal x.
    """

    def total(values: FloatArray) -> FloatArray:
        return np.asarray(np.bincount(code, values, size), dtype=np.float64)

    with np.errstate(divide="ignore", invalid="ignore"):
        h = share
        # Both halves of the variance sum to 1 over the speakers.
        s = h + h**2 / total(h**2)[code]
        whole = total(s)
        # Variance of a pull over s: what is left of the speaker's own deviation.
        left = 1.0 - 2.0 * h + np.where(s > 0.0, h**2 / s, 0.0) * whole[code]
        decided = total((~(left > _DECIDES)).astype(np.float64)) > 0.0
        a = 1.0 / np.where(left > _DECIDES, left, np.nan)
        p, q, r = total(a * h**2), total(a * h * s), total(a * s**2)
        own = total(a**2 * s * (s + 2.0 * (h**2 * whole[code] - 2.0 * h * s)))
        df = whole**2 / (own + whole**2 * p**2 + 2.0 * p * r + 2.0 * q**2 - 4.0 * whole * p * q)
    return a, np.where(decided, np.nan, df)
