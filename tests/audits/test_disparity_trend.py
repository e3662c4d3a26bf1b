"""Attributes in numbers: a slope where there are many values or one is asked for, groups where they are cut."""

import numpy as np
import polars as pl
import pytest

import voxaudit


def speakers(count=80, slope=0.03, seed=1):
    generator = np.random.default_rng(seed)
    age = generator.integers(18, 80, count)
    rate = 0.1 * np.exp(slope * (age - 40) + generator.normal(0, 0.3, count))
    return pl.DataFrame(
        {
            "speaker": [f"s{n}" for n in range(count)],
            "age": age,
            "gender": ["f", "m"] * (count // 2),
            "words": 150,
            "errors": generator.poisson(150 * rate),
        }
    )


def test_many_numbers_have_a_slope():
    answer = voxaudit.disparity(speakers(), attribute="age")
    slope, trend = (
        next(one for one in answer.findings if one.measure == name) for name in ("slope", "trend")
    )
    assert slope.verdict == trend.verdict == "shown"
    assert slope.low < np.exp(0.03) < slope.high
    assert "per unit of age" in slope.sentence
    assert slope.excludes is None
    assert "slopes" in answer.tables
    assert answer.tables["curves"].height == 11
    assert any(figure.id == "curve-age" for figure in answer.figures)
    assert str(answer)


def test_a_slope_that_is_not_shown_says_what_is_left_open():
    answer = voxaudit.disparity(speakers(slope=0.0), attribute="age")
    slope = next(one for one in answer.findings if one.measure == "slope")
    assert slope.verdict == "not_shown"
    assert slope.excludes in (slope.low, slope.high)
    percent = abs(100.0 * (slope.excludes - 1.0))
    way = "more" if slope.excludes > 1.0 else "fewer"
    assert slope.sentence.endswith(
        f"no slope is shown; up to {percent:.2f} % {way} errors per unit are not excluded."
    )


def test_numbers_as_text_are_numbers():
    """A run keeps all attributes as text."""
    table = speakers().with_columns(pl.col("age").cast(pl.String))
    answer = voxaudit.disparity(table, attribute="age")
    assert answer.findings[0].estimate == voxaudit.disparity(speakers(), attribute="age").findings[0].estimate


def test_bands_make_groups():
    answer = voxaudit.disparity(speakers(), attribute="age", bands={"age": (40,)})
    [gap] = answer.detail.gaps
    assert (gap.group.group, gap.against.group) == ("40+", "<40")
    with pytest.raises(voxaudit.VoxauditError, match="not among the attributes"):
        voxaudit.disparity(speakers(), attribute="gender", bands={"age": (40,)})


def test_groups_and_numbers_in_one_answer():
    answer = voxaudit.disparity(speakers(), attribute=["age", "gender"])
    assert {one.attribute for one in answer.findings if one.measure == "slope"} == {"age"}
    assert {one.attribute for one in answer.findings if one.measure == "wer_ratio"} == {"gender"}


def test_few_numbers_are_groups_unless_a_trend_is_asked_for():
    table = speakers().with_columns(age=pl.col("age") // 10)
    assert voxaudit.disparity(table, attribute="age").detail.slopes == ()
    assert len(voxaudit.disparity(table, attribute="age", trend=True).detail.slopes) == 1
    with pytest.raises(voxaudit.VoxauditError, match="too few different numbers"):
        voxaudit.disparity(table, attribute="gender", trend=True)


def test_controls_are_held_fixed():
    """What goes with the number explains it: the slope is gone once that is held fixed."""
    generator = np.random.default_rng(5)
    practice = generator.normal(0, 1, 80)
    table = speakers(slope=0.0).with_columns(
        age=pl.Series(45 + 10 * (practice + generator.normal(0, 0.7, 80))),
        practice=pl.Series(practice),
        errors=pl.Series(generator.poisson(15 * np.exp(0.5 * practice))),
    )
    plain = voxaudit.disparity(table, attribute="age").detail.slopes[0].found
    held = voxaudit.disparity(table, attribute="age", controls=["practice"]).detail.slopes[0].found
    assert plain.p < 0.001
    assert held.p > 0.05
    assert abs(np.log(held.ratio)) < 0.3 * abs(np.log(plain.ratio))


def test_too_few_speakers_are_refused():
    with pytest.raises(voxaudit.VoxauditError, match="too few for a trend"):
        voxaudit.disparity(speakers(8), attribute="age", trend=True)


@pytest.mark.slow
def test_limits_that_hold_for_all_pairs_are_wider():
    table = speakers(slope=0.02).with_columns(age=pl.col("age") // 20)
    rows = voxaudit.disparity(table, attribute="age").tables["gaps"]
    assert rows.height > 1
    for row in rows.drop_nulls("low_together").to_dicts():
        assert row["low_together"] < row["low"] < row["wer_ratio"] < row["high"] < row["high_together"]
    one = voxaudit.disparity(speakers(), attribute="gender").tables["gaps"].to_dicts()[0]
    assert (one["low_together"], one["high_together"]) == (one["low"], one["high"])


@pytest.mark.slow
def test_limits_beyond_all_numbers_are_none():
    """Twenty-four countries, many of them with two speakers: among so many pairs nothing bounds a ratio of theirs."""
    draw = np.random.default_rng(3)
    country = np.repeat(np.arange(24), [28, 19, 12, *[2] * 21])
    table = pl.DataFrame(
        {
            "utterance": [f"u{k}" for k in range(country.size)],
            "speaker": [f"s{k}" for k in range(country.size)],
            "recognizer": "r",
            "errors": draw.poisson(draw.gamma(2.0, 4.0, country.size)),
            "words": 69,
            "country": [f"c{k:02}" for k in country],
        }
    )
    rows = voxaudit.disparity(table, attribute="country").tables["gaps"]
    assert rows.height == 24 * 23 // 2
    endless = rows.filter(pl.col("high").is_not_null() & pl.col("high_together").is_null())
    assert endless.height


def test_speakers_beside_a_normal_distribution():
    answer = voxaudit.disparity(speakers(), attribute="gender")
    figure = next(one for one in answer.figures if one.id == "speakers-gender")
    assert len(figure.drawing.x) == 80
    assert list(figure.drawing.y) == sorted(mode.mode for mode in answer.detail.fits[0].modes)
    assert figure.table in answer.tables
