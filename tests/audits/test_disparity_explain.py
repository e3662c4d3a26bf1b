"""What explains a gap: simulated studies whose truth is known, made of texts and recordings."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

import voxaudit
from voxaudit.errors import VoxauditError
from voxaudit.score.measures import text_complexity

WORDS = np.array([f"x{a}{b}{c}q" for a in "bdfgklmnprst" for b in "aeiou" for c in "nrst"])
COMMON = 1.0 / np.arange(1, len(WORDS) + 1)


def study(seed, *, text=0.0, recording=0.0, voice=1.0, groups=(30, 30), each=15, words=12, measured=True):
    """Return the scores of a study: `text` tilts one group's words to rare ones, `recording` adds noise to it (dB).

    Rare words and noise cause errors, word by word; `voice` multiplies the error rate of the group itself.
    """
    generator = np.random.default_rng(seed)
    group = np.repeat([0, 1], groups)
    speaker = np.repeat(np.arange(len(group)), each)
    own = group[speaker]
    usual = COMMON / COMMON.sum()
    rare = COMMON ** (1.0 - text)
    chances = (usual, rare / rare.sum())
    spoken = np.array([generator.choice(len(WORDS), words, p=chances[one]) for one in own])
    snr = generator.normal(25.0, 5.0, len(speaker)) - recording * own
    hard = np.exp(0.5 * np.log(np.arange(1, len(WORDS) + 1)))[spoken].sum(axis=1) / words
    factor = np.exp(generator.normal(0.0, 0.4, len(group)))[speaker]
    rate = 0.03 * hard * np.exp(-0.06 * (snr - 25.0)) * factor * np.where(own == 1, voice, 1.0)
    texts = pl.Series([" ".join(WORDS[row]) for row in spoken])
    table = pl.DataFrame(
        {
            "utterance": [f"u{n}" for n in range(len(speaker))],
            "speaker": [f"s{n}" for n in speaker],
            "group": np.array(["a", "b"])[own],
            "reference": texts,
            "words": words,
            "errors": generator.poisson(words * rate),
        }
    )
    if not measured:
        return table
    complexity = text_complexity(texts).table.select("text_words", "word_frequency", "perplexity_bits")
    return pl.concat([table.with_columns(snr=pl.Series(snr)), complexity], how="horizontal")


def reasons(count, **made):
    """Return what explains the gap in each of several studies whose gap is shown."""
    found = []
    for seed in range(count):
        detail = voxaudit.disparity(study(seed, **made), attribute="group", explain=True).detail
        found += [one.reason for one in detail.explained]
    return found


def test_a_gap_of_the_text_in_words():
    answer = voxaudit.disparity(study(1, text=0.9), attribute="group", explain=True)
    finding = next(one for one in answer.findings if one.measure == "gap_left")
    assert finding.verdict == "not_shown"
    assert "explained by what is said: " in finding.sentence
    [row] = answer.tables["explanation"].to_dicts()
    assert row["explained"] == "explained by what is said"
    [gap] = answer.detail.gaps
    assert row["observed"] == pytest.approx(gap.ratio, rel=1e-9)
    assert row["text_change"] == pytest.approx(row["observed"] / row["text_held"], rel=1e-9)
    assert row["text_change_low"] > 1.0
    assert abs(math.log(row["recording_change"])) < 0.1


def test_the_ratio_held_fixed_is_the_one_that_controls_give():
    """Also in the units of the columns, and as another package fits it."""
    sm = pytest.importorskip("statsmodels.api")
    table = study(2, text=0.9)
    names = ["perplexity_bits", "word_frequency"]
    explained = voxaudit.disparity(table, attribute="group", explain=True).detail.explained[0]
    controlled = voxaudit.disparity(table, attribute="group", controls=names).detail.gaps[0]
    assert set(names) <= set(explained.measures["text"])  # everybody says 12 words: their number is left out
    assert explained.held["text"].ratio == pytest.approx(controlled.ratio, rel=1e-6)
    dummies = pl.Series((table["group"] == "b").cast(pl.Float64)).to_numpy()
    design = np.column_stack([np.ones(table.height), table.select(names).to_numpy(), dummies])
    offset = np.log(table["words"].to_numpy())
    glm = sm.GLM(table["errors"].to_numpy(), design, family=sm.families.Poisson(), offset=offset).fit()
    assert abs(math.log(explained.held["text"].ratio)) == pytest.approx(abs(glm.params[-1]), abs=1e-5)
    assert explained.held["text"].p == pytest.approx(controlled.p, abs=1e-3)


def test_without_a_gap_there_is_nothing_to_explain():
    assert voxaudit.disparity(study(3), attribute="group", explain=True).detail.explained == ()


def test_what_was_not_measured_is_said():
    answer = voxaudit.disparity(study(1, voice=2.5, measured=False), attribute="group", explain=True)
    assert answer.detail.explained == ()
    said = [note.text for note in answer.notes if note.code == "not_measured"]
    assert any(text.startswith("what is said was not measured") for text in said)
    assert any(text.startswith("how it was recorded was not measured") for text in said)


def test_a_text_for_all_explains_nothing_by_design():
    table = study(1, voice=2.5).with_columns(
        reference=pl.lit("one text"), perplexity_bits=pl.lit(9.0), word_frequency=pl.lit(2.0)
    )
    answer = voxaudit.disparity(table, attribute="group", explain=True)
    assert any(note.code == "same_text" for note in answer.notes)
    assert set(answer.detail.explained[0].held) == {"recording"}
    assert answer.detail.explained[0].reason == "unexplained"


def test_measures_as_controls_of_a_table():
    answer = voxaudit.disparity(study(1, text=0.9), attribute="group", controls=["perplexity_bits"])
    assert answer.detail.gaps[0].controls == ("perplexity_bits",)
    with pytest.raises(VoxauditError, match="no column 'unknown_words'"):
        voxaudit.disparity(study(1), attribute="group", controls=["unknown_words"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("made", "right"),
    [({"text": 0.9}, "text"), ({"recording": 8.0}, "recording"), ({"voice": 1.8}, "unexplained")],
)
def test_gaps_are_put_down_to_what_made_them(made, right):
    """Of 100 studies: the right reason in at least 90 %, and unexplained in at most 10 % where it is not."""
    found = reasons(100, **made)
    assert len(found) >= 90
    assert found.count(right) >= 0.9 * len(found)
    if right != "unexplained":
        assert found.count("unexplained") <= 0.1 * len(found)
