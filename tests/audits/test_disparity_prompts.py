"""Texts that several speakers read: an effect of their own, and groups that read different ones."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

import voxaudit


def readings(seed, *, texts=20, speakers=60, each=10, common=1.0, rho=0.5, ratio=1.0):
    """Return scores of two groups of equal size that read texts of unlike difficulty, a share of them in `common`."""
    generator = np.random.default_rng(seed)
    apart = round(texts * (1.0 - common) / 2)
    lists = np.arange(texts - apart), np.arange(apart, texts)
    hard = generator.normal(0.0, rho, texts)
    rows = []
    for speaker in range(speakers):
        group = speaker % 2
        own = generator.normal(0.0, 0.3)
        for text in generator.choice(lists[group], min(each, len(lists[group])), replace=False):
            rate = 0.12 * math.exp(hard[text] + own) * (ratio if group else 1.0)
            rows.append(
                (f"s{speaker}", "ab"[group], f"text number {text}", 12, int(generator.poisson(12 * rate)))
            )
    return pl.DataFrame(rows, schema=["speaker", "group", "reference", "words", "errors"], orient="row")


def nested(seed, **made):
    """Return scores of two groups none of whose texts the other reads."""
    table = readings(seed, common=1.0, **made)
    return table.with_columns(reference=pl.col("reference") + pl.lit(" of ") + pl.col("group"))


def test_texts_get_an_effect_where_several_speakers_read_them():
    answer = voxaudit.disparity(readings(1, ratio=1.6), attribute="group")
    [fit] = answer.detail.fits
    assert 0.25 < fit.prompt_sigma < 0.8
    assert any(note.code == "prompts" for note in answer.notes)
    assert answer.detail.gaps[0].verdict == "shown"
    plain = voxaudit.disparity(readings(1, ratio=1.6), attribute="group", prompts=False)
    assert plain.detail.fits[0].prompt_sigma is None
    # Everybody reads the same texts: the headline is what it is without them.
    assert answer.detail.gaps[0].ratio == plain.detail.gaps[0].ratio
    assert answer.detail.gaps[0].p == plain.detail.gaps[0].p


def test_texts_that_one_speaker_says_are_no_prompts():
    table = readings(1).with_columns(reference=pl.col("reference") + pl.col("speaker"))
    assert voxaudit.disparity(table, attribute="group").detail.fits[0].prompt_sigma is None


def test_one_text_for_all_is_no_prompt():
    table = readings(1).with_columns(reference=pl.lit("Please call Stella."))
    assert voxaudit.disparity(table, attribute="group").detail.fits[0].prompt_sigma is None


def test_groups_that_read_different_texts_are_refused():
    with pytest.raises(voxaudit.VoxauditError, match="group and text cannot be told apart"):
        voxaudit.disparity(nested(1, ratio=3.0), attribute="group")
    both = pl.concat([readings(1), readings(2)]).with_columns(
        other=pl.col("speaker").str.ends_with("1").cast(pl.String)
    )
    table = both.with_columns(reference=pl.col("reference") + pl.col("group"))
    answer = voxaudit.disparity(table, attribute=["group", "other"])
    verdicts = {finding.attribute: finding for finding in answer.findings if finding.measure == "wer_ratio"}
    assert verdicts["group"].code == "texts_differ"
    assert verdicts["other"].verdict != "refused"


def test_mostly_different_texts_widen_the_interval():
    table = readings(4, common=0.3, rho=0.8)
    aware = voxaudit.disparity(table, attribute="group").detail.gaps[0]
    unaware = voxaudit.disparity(table, attribute="group", prompts=False).detail.gaps[0]
    assert aware.ratio == unaware.ratio
    assert aware.low < unaware.low < unaware.high < aware.high
    assert aware.p > unaware.p


@pytest.mark.slow
def test_different_texts_claim_no_gap():
    """Where groups share a third of 30 texts and nothing else differs, gaps are claimed at the nominal rate."""
    claimed = {True: 0, False: 0}
    for seed in range(200):
        table = readings(seed, texts=30, common=0.33)
        for prompts in claimed:
            gap = voxaudit.disparity(table, attribute="group", prompts=prompts).detail.gaps[0]
            claimed[prompts] += gap.verdict == "shown"
    assert claimed[False] > 0.12 * 200
    assert claimed[True] <= 0.08 * 200
