"""Confidence: words by hand, calibration error without its bias, and groups."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import voxaudit
from voxaudit.answer import RefusedError
from voxaudit.errors import VoxauditError
from voxaudit.stats.reliability import reliability


def measured(answer, measure):
    return next(one for one in answer.findings if one.measure == measure)


def test_confidences_of_words_belong_to_the_words():
    words = [
        ["Turn", 0.0, 0.1, 0.9],
        ["of", 0.1, 0.2, 0.4],
        ["the", 0.2, 0.3, 0.8],
        ["light!", 0.3, 0.4, 0.7],
    ]
    rows = {
        "utterance": ["a"],
        "text": ["Turn of the light!"],
        "reference": ["turn off the light"],
        "speaker": ["s"],
    }
    answer = voxaudit.confidence(pl.DataFrame(rows | {"word_times": [json.dumps(words)]}), review_below=0.75)
    table = answer.tables["recognizers"].row(0, named=True)
    assert (table["said"], table["right"]) == (pytest.approx(0.7), 0.75)
    assert table["auroc"] == 1.0, "the one wrong word is the least sure"
    assert table["sent"] == 0.5
    assert table["vain"] == pytest.approx(1 / 3), "light was right, and is sent"
    assert table["passed"] == 0.0
    assert measured(answer, "overconfidence").estimate == pytest.approx(-0.05)


@pytest.mark.parametrize(
    "times",
    ["", "[[", "[" * 100_000, "null", "[null]", "[3]", "[[]]", '{"a": 1}', '[["a"]]', '[["a", 0, 1, "b"]]'],
)
def test_words_that_make_no_sense_are_one_line_with_the_utterance(times):
    good = json.dumps([["yes", 0, 1, 0.5]])
    rows = {"utterance": list("abc"), "text": ["yes"] * 3, "reference": ["yes"] * 3, "speaker": list("stu")}
    with pytest.raises(
        VoxauditError, match=r"utterance 'b': word_times is no list of \[word, start, end, conf"
    ):
        voxaudit.confidence(pl.DataFrame(rows | {"word_times": [good, times, good]}))


def test_words_without_confidence_or_without_letters_are_nobody_s():
    words = [["Yes", 0, 1, 0.5], ["...", 1, 2, 0.1], ["no", 1, 2, None]]
    rows = {"utterance": list("ab"), "text": ["yes no"] * 2, "reference": ["yes"] * 2, "speaker": list("st")}
    times = [json.dumps(words), "[]"]
    answer = voxaudit.confidence(pl.DataFrame(rows | {"word_times": times, "confidence": [0.9, 0.7]}))
    assert answer.detail.select("sure", "right", "wrong").rows() == [(0.5, 1.0, 0.0), (0.7, 1.0, 1.0)]


def test_a_column_of_words_without_any_is_as_good_as_none():
    rows = {"utterance": list("ab"), "text": ["yes"] * 2, "reference": ["yes"] * 2, "speaker": list("st")}
    table = pl.DataFrame(rows | {"word_times": [None, None], "confidence": [0.9, 0.7]})
    assert table["word_times"].dtype == pl.Null
    assert voxaudit.confidence(table).detail["sure"].to_list() == [0.9, 0.7]


def test_a_confidence_of_an_answer_is_that_of_each_of_its_words():
    rows = {
        "utterance": list("ab"),
        "reference": ["a b c", "d"],
        "text": ["a b x", "d"],
        "confidence": [0.6, 0.9],
    }
    answer = voxaudit.confidence(pl.DataFrame(rows | {"speaker": list("st")}))
    found = measured(answer, "overconfidence")
    assert found.words == 4
    assert found.estimate == pytest.approx((3 * 0.6 + 0.9) / 4 - 0.75)
    entropy = np.log2(0.6) * 2 + np.log2(0.4) + np.log2(0.9)
    alone = 3 * np.log2(0.75) + np.log2(0.25)
    assert measured(answer, "nce").estimate == pytest.approx(1.0 - entropy / alone)


def test_what_is_no_probability_is_left_out_and_none_is_refused():
    rows = {"utterance": ["a"], "reference": ["a"], "text": ["a"], "speaker": ["s"]}
    with pytest.raises(RefusedError, match="there are no confidences"):
        voxaudit.confidence(pl.DataFrame(rows))
    with pytest.raises(RefusedError, match="no answer has a confidence"):
        voxaudit.confidence(
            pl.DataFrame(rows | {"confidence": [None]}, schema_overrides={"confidence": pl.Float64})
        )
    with pytest.raises(RefusedError, match=r"must lie between 0 and 1, not -3\.5 \(utterance 'a'\)"):
        voxaudit.confidence(pl.DataFrame(rows | {"confidence": [-3.5]}))


def made(generator, people=60, words=40, too_sure=0.0):
    """Return confidences that are right as often as they say, less `too_sure`, of speakers who differ."""
    speaker = np.repeat(np.arange(people), words)
    sure = np.clip(
        generator.beta(4, 2, people)[speaker] + 0.1 * generator.standard_normal(len(speaker)), 0.02, 0.98
    )
    right = (generator.random(len(speaker)) < sure - too_sure).astype(float)
    return sure, right, 1.0 - right, speaker


def test_a_calibrated_recognizer_has_no_calibration_error_and_a_boastful_one_has_its_own():
    generator = np.random.default_rng(7)
    errors, plain = [], []
    for _ in range(20):
        sure, right, wrong, speaker = made(generator, 20, 20)
        found = reliability(sure, right, wrong, speaker)
        errors.append(found.values["calibration_error"][0] ** 2)
        plain.append(
            np.average(
                [(said - good) ** 2 for _, said, good in found.curve], weights=[n for n, *_ in found.curve]
            )
        )
    assert np.mean(errors) < 0.35 * np.mean(plain), "without correction chance alone looks like an error"
    found = reliability(*made(generator, too_sure=0.15)).values
    low, high = found["calibration_error"][1:]
    assert low < 0.15 < high
    assert found["overconfidence"][1] > 0.1


def test_auroc_is_that_of_all_pairs():
    generator = np.random.default_rng(2)
    sure, right, wrong, speaker = made(generator, 12, 30)
    own = reliability(sure, right, wrong, speaker).values["auroc"][0]
    good, bad = sure[right == 1.0], sure[wrong == 1.0]
    pairs = (good[:, None] > bad).mean() + 0.5 * (good[:, None] == bad).mean()
    assert own == pytest.approx(pairs, abs=0.005)


def test_a_group_whose_wrong_words_are_vouched_for_is_shown():
    generator = np.random.default_rng(4)
    sure, right, _, speaker = made(generator, 40, 25)
    right = np.where(speaker >= 22, right * (generator.random(len(right)) < 0.75), right)
    rows = {"utterance": [f"u{n}" for n in range(len(sure))], "speaker": [f"s{n:02}" for n in speaker]}
    frame = pl.DataFrame(rows).with_columns(
        reference=pl.lit("yes"),
        text=pl.Series(np.where(right > 0, "yes", "no")),
        confidence=pl.Series(sure),
        accent=pl.Series(np.where(speaker >= 22, "other", "native")),
    )
    answer = voxaudit.confidence(frame, attributes="accent")
    found = measured(answer, "overconfidence_ratio")
    assert (found.verdict, found.group) == ("shown", "other")
    assert found.low < 1 / 0.75 < found.high
    table = answer.tables["groups-accent"].sort("@accent")
    assert table["overconfidence"][0] == pytest.approx(0.0, abs=0.03)
    assert table["overconfidence"][1] > 0.1
    assert answer.plot("reliability") is not None
    kinds = {column.name: column.kind for column in answer.tables.shown[0].columns}
    assert (kinds["overconfidence"], kinds["calibration_error"]) == ("points", "percent")  # one has a sign


def test_words_are_read_alike_however_their_json_is_written():
    words = [
        ["Yes,", 0, 1, 0.5],
        ['"no"', 1, 2, 0.25],
        ["été", 1, 2, -0.0],
        ["off", 1, 2, 1e-3],
        ["on", 0, 1, None],
    ]
    rows = {"utterance": list("ab"), "text": ["yes no"] * 2, "reference": ["yes"] * 2, "speaker": list("st")}
    plain = [word for word in words if word[0].isalpha()]
    tight, loose = (
        [json.dumps(plain, **how), json.dumps(words, **how)] for how in ({"separators": (",", ":")}, {})
    )
    found = [
        voxaudit.confidence(pl.DataFrame(rows | {"word_times": times})).detail.rows()
        for times in (tight, loose, [json.dumps(each, ensure_ascii=False) for each in (plain, words)])
    ]
    assert found[0] == found[1] == found[2]
    assert len(found[0]) == 6
