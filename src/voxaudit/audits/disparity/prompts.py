"""Texts that several speakers read: whether groups read the same ones, and how far different ones carry a gap."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from voxaudit.answer import Note, Refusal
from voxaudit.audits.disparity.gaps import Gap, Part
from voxaudit.audits.disparity.result import Fit
from voxaudit.audits.scores import Scores
from voxaudit.stats.group_design import Frame
from voxaudit.stats.labels import Labels, labels_of
from voxaudit.stats.multiplicity import holm
from voxaudit.stats.ttests import satterthwaite

SHARED = 0.5
"""Texts are prompts where so large a share of the utterances has a text that several speakers read."""
ALIKE = 0.95
"""Groups read the same texts where so large a share of their words is common to both."""
_Z = 1.959963984540054


def prompts_of(scores: Scores) -> Labels | None:
    """Return the text of every row as a label, where the same texts are read by several speakers; else None.

    Case, marks and spaces make no other text. One text for all is no prompt: nothing varies.
    """
    if "speaker" not in scores.frame.columns:
        return None
    frame = scores.with_texts().frame
    if "reference" not in frame.columns:
        return None
    text = pl.col("reference").cast(pl.String).str.to_lowercase().str.replace_all(r"[^\p{L}\p{N}]+", " ")
    table = frame.select(text.str.strip_chars().alias("text"), "speaker")
    readers = (
        table.group_by("text").agg(speakers=pl.col("speaker").n_unique(), rows=pl.len()).drop_nulls("text")
    )
    shared = readers.filter(pl.col("speakers") > 1)
    if readers.height < 2 or shared["rows"].sum() < SHARED * table.height:
        return None
    return labels_of(table["text"])


def with_prompts(
    gaps: Sequence[Gap], parts: Sequence[Part], fits: Sequence[Fit]
) -> tuple[list[Gap], list[Note]]:
    """Return gaps that allow for the texts: refused where groups read different ones, wider where mostly different.

    Texts are a sample, too. With rho the spread of their log rates (`stats.crossed_glmm`) and s the shares of a group's
    words, unlike texts alone give the log ratio a variance of `rho^2 sum (s_group - s_against)^2` over the texts; the
    interval and p are widened by that much.
    """
    frames = {(part.attribute, *part.frame.group.values()): part.frame for part in parts}
    spread = {(fit.attribute, *fit.by.values()): fit.prompt_sigma for fit in fits}
    changed: list[Gap] = []
    touched: list[bool] = []
    for gap in gaps:
        key = (gap.attribute, *gap.by.values())
        frame = frames[key]
        if frame.prompt is None or gap.verdict == "refused":
            changed.append(gap)
            touched.append(False)
            continue
        shares = _shares(frame, gap)
        common = float(np.minimum(*shares).sum())
        wider = gap
        if common == 0.0:
            wider = replace(gap, refusal=_nested(gap, shares), ratio=None, low=None, high=None)
        elif common < ALIKE and spread[key]:
            wider = _wider(gap, float(spread[key] or 0.0), shares)
        changed.append(wider)
        touched.append(wider is not gap and wider.refusal is None)
    together = holm([None if gap.refusal else gap.p for gap in changed])
    decided = [
        replace(gap, p_adjusted=max(gap.p_adjusted or 0.0, p)) if mine and p is not None else gap
        for gap, mine, p in zip(changed, touched, together, strict=True)
    ]
    return decided, list(_notes(fits, parts))


def _shares(frame: Frame, gap: Gap) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return the share of each text in the words of the two groups."""
    assert frame.prompt is not None
    found = []
    for name in (gap.group.group, gap.against.group):
        rows = (frame.attribute.codes == frame.attribute.names.index(name)) & (frame.prompt.codes >= 0)
        words = np.bincount(frame.prompt.codes[rows], frame.words[rows], len(frame.prompt.names))
        found.append(words / max(words.sum(), 1.0))
    return found[0], found[1]


def _nested(gap: Gap, shares: tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]) -> Refusal:
    ours, theirs = (int((one > 0.0).sum()) for one in shares)
    text = (
        f"{gap.group.group} and {gap.against.group} speakers read different texts ({ours:,} and {theirs:,}, none in"
        " common): group and text cannot be told apart"
    )
    return Refusal(
        "texts_differ",
        gap.attribute,
        text,
        {"group": gap.group.group, "texts": ours, "texts_against": theirs},
    )


def _wider(gap: Gap, rho: float, shares: tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]) -> Gap:
    from scipy.special import stdtr, stdtrit

    log = math.log(gap.ratio) if gap.ratio and math.isfinite(gap.ratio) else None
    texts = rho**2 * float(((shares[0] - shares[1]) ** 2).sum())
    if log is None or not gap.low or gap.high is None or not math.isfinite(gap.high):
        return gap
    reaches = log - math.log(gap.low), math.log(gap.high) - log
    # The limit on the side of 1 is the one that the verdict hangs on.
    speakers = (reaches[0] if log > 0.0 else reaches[1]) / _Z
    count = int(((shares[0] + shares[1]) > 0.0).sum())
    df = float(
        satterthwaite(np.array(speakers**2), np.array(1e6), np.array(texts), np.array(max(count - 1, 1)))
    )
    more = float(stdtrit(df, 0.975)) * math.sqrt(texts)
    p = 2.0 * float(stdtr(df, -abs(log) / math.sqrt(speakers**2 + texts)))
    low, high = math.exp(log - math.hypot(reaches[0], more)), math.exp(log + math.hypot(reaches[1], more))
    lowest = gap.lowest
    if lowest:
        worse = math.exp(abs(log))
        lowest = worse * math.exp(-math.hypot(math.log(worse / lowest), more))
    return replace(gap, low=low, high=high, p=max(gap.p or 0.0, p), lowest=lowest)


def _notes(fits: Sequence[Fit], parts: Sequence[Part]) -> Iterator[Note]:
    by_part: Mapping[Any, Frame] = {
        (part.attribute, *part.frame.group.values()): part.frame for part in parts
    }
    said = set()
    for fit in fits:
        prompt = by_part[(fit.attribute, *fit.by.values())].prompt
        if prompt is None or fit.prompt_sigma is None:
            continue
        text = (
            f"{len(prompt.names):,} texts are read by several speakers: texts have an effect of their own, crossed with"
            " that of speakers"
        )
        if text not in said:
            yield Note("prompts", text, {"texts": len(prompt.names)}, see=("prompts",))
        said.add(text)
