import json
import re

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from voxaudit import disparity
from voxaudit.answer import RefusedError
from voxaudit.errors import VoxauditError


def scores(
    seed: int = 0,
    *,
    speakers: int = 40,
    each: int = 10,
    gap: float = 0.0,
    sigma: float = 0.3,
    scenarios: tuple[str, ...] = (),
    extra: float = 0.0,
) -> pl.DataFrame:
    """Make a table: groups a and b, `gap` on the log scale, and `extra` on group b in every scenario but clean."""
    generator = np.random.default_rng(seed)
    rows = []
    for one in range(speakers):
        group, effect = "ab"[one % 2], generator.normal(0, sigma)
        for scenario in scenarios or ("clean",):
            for _ in range(each):
                words = int(generator.integers(4, 25))
                log_rate = np.log(0.12) + effect + gap * (group == "b")
                log_rate += (scenario != "clean") * (0.4 + extra * (group == "b"))
                rows.append(
                    {
                        "speaker": f"s{one:02d}",
                        "group": group,
                        "age": 20 + (7 * one) % 50,
                        "device": ("phone", "laptop", "desk")[(one // 2) % 3],
                        "scenario": scenario,
                        "words": words,
                        "errors": int(generator.poisson(words * np.exp(log_rate))),
                    }
                )
    return pl.DataFrame(rows)


def test_a_large_gap_is_found_and_no_gap_is_not() -> None:
    table = scores(1, gap=0.8)
    found = disparity(table, attribute="group", resamples=200)
    gap = found.findings[0]
    assert (gap.measure, gap.group, gap.against, gap.verdict) == ("wer_ratio", "b", "a", "shown")
    assert gap.headline
    assert 1.0 < (gap.low or 0) < (gap.estimate or 0) < (gap.high or 0)
    errors, words = (
        table.group_by("group").agg(pl.col(c).sum()).sort("group")[c].to_numpy() for c in ("errors", "words")
    )
    np.testing.assert_allclose(gap.estimate, (errors[1] / words[1]) / (errors[0] / words[0]), rtol=1e-12)  # type: ignore[arg-type]
    effect = found.detail.fits[0].effects[0]
    assert found.detail.fits[0].against == "a"
    assert effect.group == "b"
    assert effect.low is not None
    assert effect.high is not None
    assert 1.0 < effect.low < effect.ratio < effect.high
    assert abs(effect.estimate - 0.8) < 3 * (effect.se or 0)
    nothing = disparity(scores(2), attribute="group", resamples=0)
    assert nothing.findings[0].verdict == "not_shown"
    assert nothing.findings[0].excludes in (nothing.findings[0].low, nothing.findings[0].high)
    assert nothing.detail.fits[0].effects[0].baseline is None


@pytest.mark.parametrize("seed", [3, 4, 5])
def test_the_headline_is_the_ratio_of_the_rates_that_are_printed(seed: int) -> None:
    """Three groups, two recognizers, a few speakers who say most: estimate, table and sentence are one number."""
    generator = np.random.default_rng(seed)
    one = scores(seed, speakers=24, sigma=1.0).with_columns(
        pl.lit("one").alias("recognizer"),
        pl.col("group").replace_strict({"a": "x", "b": "y"}) + (pl.col("age") % 2).cast(pl.String),
    )
    one = one.with_columns(
        pl.when(pl.col("group") == "y1").then(pl.lit("x1")).otherwise("group").alias("group")
    )
    two = one.with_columns(
        pl.lit("two").alias("recognizer"), errors=pl.Series(generator.poisson(one["errors"].to_numpy() + 0.2))
    )
    answer = disparity(pl.concat([one, two]), attribute="group", resamples=200)
    rates = {(row["recognizer"], row["group"]): row["wer"] for row in answer.tables["groups"].to_dicts()}
    gaps = [one for one in answer.findings if one.measure == "wer_ratio" and one.estimate is not None]
    assert {one.recognizer for one in gaps} == {"one", "two"}
    for gap in gaps:
        own, other = (rates[gap.recognizer, group] for group in (gap.group, gap.against))
        np.testing.assert_allclose(gap.estimate, own / other, rtol=1e-12)  # type: ignore[arg-type]
        assert f"({100 * own:.1f} % against {100 * other:.1f} % of the words" in gap.sentence
        times = re.search(r"makes ([0-9.]+) times|\(([0-9.]+) times", gap.sentence)
        assert times is None or float(times[1] or times[2]) == pytest.approx(own / other, abs=0.0051)


def test_the_reference_turns_the_ratio_round() -> None:
    table = scores(3, gap=0.6)
    forth = disparity(table, attribute="group", resamples=0).detail.fits[0].effects[0]
    back = disparity(table, attribute="group", against="b", resamples=0).detail.fits[0].effects[0]
    np.testing.assert_allclose(back.ratio, 1 / forth.ratio, rtol=1e-7)
    np.testing.assert_allclose([back.low, back.high], [1 / forth.high, 1 / forth.low], rtol=1e-6)  # type: ignore[operator]
    np.testing.assert_allclose(back.p, forth.p, rtol=1e-5)
    assert forth.ratio > 1 > back.ratio
    gaps = [disparity(table, attribute="group", against=one).findings[0] for one in ("a", "b")]
    assert [one.verdict for one in gaps] == ["shown", "shown"]
    np.testing.assert_allclose(
        [gaps[1].estimate, gaps[1].low, gaps[1].high],  # type: ignore[list-item]
        [1 / (getattr(gaps[0], name) or 0) for name in ("estimate", "high", "low")],
        rtol=2e-3,
    )


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000), gap=st.sampled_from([0.0, 0.3]))
@pytest.mark.slow
def test_interval_and_p_value_agree(seed: int, gap: float) -> None:
    table = scores(seed, speakers=24, each=5, gap=gap)
    for kind in ("profile", "wald", "robust"):
        effect = disparity(table, attribute="group", resamples=0, interval=kind).detail.fits[0].effects[0]
        assert effect.p is not None
        assert effect.low is not None
        assert effect.high is not None
        assert (effect.p < 0.05) == (not effect.low <= 1.0 <= effect.high)
    gap = disparity(table, attribute="group").findings[0]
    assert ((gap.p or 0) <= 0.05) == (not (gap.low or 0) <= 1.0 <= (gap.high or np.inf))


def test_errors_are_added_up_from_a_scores_table() -> None:
    table = scores(4)
    parts = table.with_columns(
        substitutions=pl.col("errors") // 2,
        deletions=pl.col("errors") - pl.col("errors") // 2,
        insertions=pl.lit(0),
    ).drop("errors")
    one, two = (disparity(t, attribute="group", resamples=0).detail.fits[0] for t in (table, parts))
    assert one == two


def test_controls_of_both_kinds() -> None:
    fit = disparity(scores(5), attribute="group", controls=["age", "device"], resamples=0).detail.fits[0]
    assert [c.term for c in fit.controls] == ["(Intercept)", "age", "devicelaptop", "devicephone"]
    assert fit.controls[2].column == "device"
    assert fit.controls[2].level == "laptop"
    as_text = scores(5).with_columns(pl.col("age").cast(pl.String))
    again = disparity(as_text, attribute="group", controls=["age", "device"], resamples=0).detail.fits[0]
    np.testing.assert_allclose(again.loglik, fit.loglik)  # type: ignore[arg-type]
    bands = scores(5).with_columns(band=pl.col("age") // 25)
    categories = disparity(bands, attribute="group", controls=["C(band)"], resamples=0).detail.fits[0]
    assert [c.term for c in categories.controls] == ["(Intercept)", "band1", "band2"]


def test_a_confounder_is_controlled_for() -> None:
    generator = np.random.default_rng(6)
    rows = []
    for one in range(80):
        group = one % 2
        noisy = generator.random() < (0.85 if group else 0.15)
        for _ in range(10):
            rate = 0.1 * np.exp(0.7 * noisy + generator.normal(0, 0.05))
            rows.append(
                (f"s{one}", "ab"[group], "noisy" if noisy else "quiet", 12, int(generator.poisson(12 * rate)))
            )
    table = pl.DataFrame(rows, orient="row", schema=["speaker", "group", "room", "words", "errors"])
    raw = disparity(table, attribute="group", resamples=0)
    controlled = disparity(table, attribute="group", controls=["room"], resamples=0)
    assert raw.findings[0].verdict == "shown"
    assert controlled.findings[0].verdict == "not_shown"
    row = controlled.tables["gaps"].row(0, named=True)
    np.testing.assert_allclose(row["wer_ratio"], row["adjusted_wer"] / row["adjusted_wer_against"])
    assert abs(np.log(row["wer_ratio"])) < 0.2 < np.log(row["wer"] / row["wer_against"])
    assert "room held fixed" in controlled.findings[0].sentence


def test_a_family_of_fits_is_adjusted_together() -> None:
    table = pl.concat(scores(seed).with_columns(recognizer=pl.lit(f"r{seed}")) for seed in range(5))
    found = disparity(table, attribute="group", against="a", by=["recognizer"], resamples=0)
    assert [fit.by for fit in found.detail.fits] == [{"recognizer": f"r{seed}"} for seed in range(5)]
    rates = [one for one in found.findings if one.measure == "wer_ratio"]
    assert {one.family for one in rates} == {"5 comparisons of groups"}
    assert all((one.p or 0) <= (one.p_adjusted or 0) for one in rates)
    assert max((one.p_adjusted or 0) / (one.p or 1) for one in rates) > 1.5
    gaps = [one for one in found.findings if one.measure == "typical_speaker_ratio"]
    assert {one.family for one in gaps} == {"typical speakers of group"}
    assert len(gaps) == 5
    least = min(gaps, key=lambda one: one.p or 0)
    np.testing.assert_allclose(least.p_adjusted, min(1.0, 5 * (least.p or 0)))  # type: ignore[arg-type]
    assert all(fit.lrt is not None and fit.lrt.p <= (fit.lrt.p_adjusted or 0) for fit in found.detail.fits)
    alone = disparity(scores(3), attribute="group", against="a", resamples=0).detail.fits[0].effects[0]
    np.testing.assert_allclose(found.detail.fits[3].effects[0].estimate, alone.estimate, rtol=1e-9)


def test_one_bad_part_is_refused_and_the_others_stand() -> None:
    table = pl.concat(
        [scores(1).with_columns(scenario=pl.lit("x")), scores(2).with_columns(scenario=pl.lit("y"))]
    )
    table = table.with_columns(errors=pl.when(pl.col("scenario") == "y").then(0).otherwise("errors"))
    found = disparity(table, attribute="group", by=["scenario"], resamples=0)
    assert found.detail.fits[0].refusal is None
    refusal = found.detail.fits[1].refusal
    assert refusal is not None
    assert (refusal.code, refusal.facts["errors"]) == ("too_few_errors", 0)
    assert [one.code for one in found.refusals] == ["too_few_errors"]
    assert found.detail.fits[1].effects == ()
    assert found.detail.fits[1].groups[0].words > 0


def test_the_interaction_asks_who_is_hurt_more() -> None:
    both = ("clean", "noise")
    hurt = disparity(scores(7, scenarios=both, extra=0.7), attribute="group", interaction="scenario")
    change = hurt.finding("disparity/group/interaction")
    (contrast,) = hurt.detail.changes
    assert (contrast.group.group, contrast.at, contrast.since) == ("b", "noise", "clean")
    assert (change.verdict, change.estimate) == ("shown", contrast.ratio)
    assert (change.low or 0) < np.exp(0.7) < (change.high or 0)
    alike = disparity(scores(7, scenarios=both), attribute="group", interaction="scenario")
    assert alike.finding("disparity/group/interaction").verdict == "not_shown"
    assert "is not excluded" in alike.finding("disparity/group/interaction").sentence
    assert [c.term for c in alike.detail.fits[0].controls] == ["(Intercept)", "scenarionoise"]


def test_the_contrast_is_a_ratio_of_ratios() -> None:
    rates = {("a", "clean"): 2, ("a", "noise"): 3, ("b", "clean"): 2, ("b", "noise"): 9}
    rows = [
        (f"{group}{one}", group, scenario, 20, count + one % 2)
        for (group, scenario), count in rates.items()
        for one in range(6)
    ]
    table = pl.DataFrame(rows, orient="row", schema=["speaker", "group", "scenario", "words", "errors"])
    (change,) = disparity(table, attribute="group", interaction="scenario").detail.changes
    np.testing.assert_allclose(change.ratio, (9.5 / 2.5) / (3.5 / 2.5), rtol=1e-9)
    (other,) = disparity(
        table, attribute="group", interaction="scenario", interaction_against="noise"
    ).detail.changes
    np.testing.assert_allclose(other.ratio, (3.5 / 2.5) / (9.5 / 2.5), rtol=1e-9)
    np.testing.assert_allclose([other.low, other.high], [1 / change.high, 1 / change.low], rtol=0.1)


def test_a_group_without_errors() -> None:
    table = scores(8).with_columns(errors=pl.when(pl.col("group") == "b").then(0).otherwise("errors"))
    fit = disparity(table, attribute="group", resamples=100).detail.fits[0]
    effect = fit.effects[0]
    assert effect.ratio == 0.0
    assert effect.se is None
    assert effect.low == 0.0
    assert effect.high is not None
    assert 0.0 < effect.high < 0.2
    gap = disparity(table, attribute="group").findings[0]
    assert (gap.group, gap.estimate, gap.low, gap.verdict) == ("b", 0.0, 0.0, "shown")
    assert 0.0 < (gap.high or 0) < 0.2
    assert any("no errors" in line for line in [note.text for note in fit.cautions])
    # Left to choose, the model takes a reference that has errors; asked for the silent one, there is no model.
    swapped = table.with_columns(group=pl.when(pl.col("group") == "b").then(pl.lit("A")).otherwise("group"))
    assert disparity(swapped, attribute="group", resamples=0).detail.fits[0].against == "a"
    silent = disparity(swapped, attribute="group", against="A", resamples=0)
    assert silent.detail.fits[0].effects == ()
    assert ["the group 'A' has no errors" in note.text for note in silent.notes] == [True]
    assert silent.findings[0].estimate is None
    assert (silent.findings[0].low or 0) == pytest.approx(1 / (gap.high or 1))
    assert "at least" in silent.findings[0].sentence


def test_rows_without_words_or_values_are_left_out_and_counted() -> None:
    table = scores(9)
    worse = table.with_columns(
        words=pl.when(pl.int_range(pl.len()) < 5).then(0).otherwise("words"),
        group=pl.when(pl.int_range(pl.len()).is_between(10, 12)).then(None).otherwise("group"),
        age=pl.when(pl.int_range(pl.len()) == 20).then(None).otherwise("age"),
    )
    fit = disparity(worse, attribute="group", controls=["age"], resamples=0).detail.fits[0]
    assert fit.left_out == {"no reference words": 5, "no value of group": 3, "no value of age": 1}
    assert fit.utterances == table.height - 9
    assert "5 utterances left out: no reference words" in [note.text for note in fit.cautions]
    kept = [row for row in range(table.height) if row >= 5 and row not in (10, 11, 12, 20)]
    np.testing.assert_allclose(
        fit.loglik,  # type: ignore[arg-type]
        disparity(table[kept], attribute="group", controls=["age"], resamples=0).detail.fits[0].loglik,  # type: ignore[arg-type]
    )


def test_constant_and_determined_controls_are_left_out_in_words() -> None:
    table = scores(10).with_columns(years=pl.col("age") - 6, country=pl.lit("x"))
    fit = disparity(table, attribute="group", controls=["age", "years", "country"], resamples=0).detail.fits[
        0
    ]
    assert any(
        "years left out: it is determined by age" in line for line in [note.text for note in fit.cautions]
    )
    only = disparity(scores(10), attribute="group", controls=["age"], resamples=0).detail.fits[0]
    np.testing.assert_allclose(fit.effects[0].estimate, only.effects[0].estimate, rtol=1e-9)
    number = disparity(
        table.with_columns(k=pl.lit(3)), attribute="group", controls=["k"], resamples=0
    ).detail.fits[0]
    assert any(
        "k left out: it has the same value in every utterance" in line
        for line in [note.text for note in number.cautions]
    )


def test_few_speakers_are_flagged_and_one_is_refused() -> None:
    few = disparity(scores(11, speakers=10), attribute="group", resamples=0).detail.fits[0]
    assert any("has 5 speakers" in line and "robust" in line for line in [note.text for note in few.cautions])
    lone = scores(12, gap=2.0).filter((pl.col("group") == "a") | (pl.col("speaker") == "s01"))
    with pytest.raises(RefusedError, match="b has one speaker, who cannot stand for a group"):
        disparity(lone, attribute="group", resamples=0)


def test_warnings_name_what_is_odd() -> None:
    both = scores(13).with_columns(
        group=pl.when(pl.int_range(pl.len()) == 0).then(pl.lit("b")).otherwise("group")
    )
    assert any(
        "1 speakers occur with several values" in note.text
        for note in disparity(both, attribute="group").detail.fits[0].cautions
    )
    wild = scores(14, sigma=0.15).with_columns(
        errors=pl.when(pl.col("speaker") == "s03").then(pl.col("errors") * 12 + 6).otherwise("errors")
    )
    warned = disparity(wild, attribute="group", resamples=0).detail.fits[0].cautions
    assert any("speaker 's03' is +" in note.text for note in warned)
    lumpy = scores(15).with_columns(errors=pl.col("errors") * (pl.int_range(pl.len()) % 2) * 2)
    warned = disparity(lumpy, attribute="group", resamples=0).detail.fits[0].cautions
    assert any("times as much as the model says" in note.text for note in warned)


def test_without_a_random_effect() -> None:
    table = scores(16)
    fit = disparity(table.drop("speaker"), attribute="group", random=False, resamples=0).detail.fits[0]
    assert fit.sigma is None
    assert fit.speakers is None
    assert fit.effects[0].robust is None
    assert any("too narrow" in line for line in [note.text for note in fit.cautions])
    errors, words = (
        table.group_by("group").agg(pl.col(c).sum()).sort("group")[c].to_numpy() for c in ("errors", "words")
    )
    rates = errors / words
    np.testing.assert_allclose(fit.effects[0].ratio, rates[1] / rates[0], rtol=1e-9)
    mixed = disparity(table, attribute="group", resamples=0).detail.fits[0].effects[0]
    assert (fit.effects[0].se or 0) < (mixed.se or 0)


def test_unknown_speakers_do_not_matter_without_a_random_effect() -> None:
    table = scores(16).with_columns(
        speaker=pl.when(pl.int_range(pl.len()) == 3).then(None).otherwise("speaker")
    )
    fit = disparity(table, attribute="group", random=False, resamples=50).detail.fits[0]
    assert fit.speakers is None
    assert fit.utterances == table.height


def test_a_part_without_the_interactions_reference_is_refused() -> None:
    table = pl.concat(
        [
            scores(7, scenarios=("clean", "noise")).with_columns(recognizer=pl.lit("x")),
            scores(8, scenarios=("noise", "echo")).with_columns(recognizer=pl.lit("y")),
        ]
    )
    found = disparity(table, attribute="group", by=["recognizer"], interaction="scenario", resamples=0)
    assert [change.by for change in found.detail.changes] == [{"recognizer": "x"}]
    refusal = found.detail.fits[1].refusal
    assert refusal is not None
    assert refusal.text == "the value 'clean' of scenario does not occur here"


def test_clean_speech_of_one_recognizer_at_a_time_is_what_is_asked() -> None:
    both = scores(17, scenarios=("clean", "noise"))
    table = pl.concat([both.with_columns(recognizer=pl.lit(name)) for name in ("x", "y")])
    answer = disparity(table, attribute="group")
    clean = disparity(
        scores(17, scenarios=("clean", "noise")).filter(pl.col("scenario") == "clean"), attribute="group"
    )
    assert [fit.by for fit in answer.detail.fits] == [{"recognizer": "x"}, {"recognizer": "y"}]
    assert answer.findings[0].estimate == clean.findings[0].estimate
    noise = disparity(table, attribute="group", recognizer="x", scenario="noise")
    assert noise.findings[0].estimate != clean.findings[0].estimate
    only = table.filter(pl.col("scenario") != "clean").with_columns(
        scenario=pl.when(pl.int_range(pl.len()) % 2 == 0).then(pl.lit("echo")).otherwise("scenario")
    )
    with pytest.raises(RefusedError, match="no clean speech was heard"):
        disparity(only, attribute="group")


def test_a_sentence_says_what_was_heard() -> None:
    table = scores(1, gap=0.8, scenarios=("clean", "noise"))

    def said(table: pl.DataFrame = table, **options: object) -> tuple[str | None, str]:
        finding = disparity(table, attribute="group", **options).findings[0]
        return finding.scenario, finding.sentence.partition(" makes ")[0]

    assert said() == ("clean", "On clean speech the recognizer")
    assert said(scenario="noise") == ("noise", "Under noise the recognizer")
    assert said(scenario=["clean", "noise"]) == ("clean", "On clean speech the recognizer")
    assert said(interaction="scenario") == (None, "Over 2 scenarios together the recognizer")
    assert said(by=["scenario"]) == ("clean", "On clean speech the recognizer")
    assert said(table.drop("scenario")) == (None, "The recognizer")
    named = table.with_columns(recognizer=pl.lit("toy"))
    assert said(named) == ("clean", "On clean speech toy")
    fewer = disparity(table, attribute="group", against="b").findings[0].sentence
    assert re.search(r"makes \d+ % fewer errors \(0\.\d\d times as many, .* than for b speakers", fewer)


def test_every_speaker_has_an_effect() -> None:
    fit = disparity(scores(18), attribute="group", resamples=0).detail.fits[0]
    assert [mode.speaker for mode in fit.modes] == [f"s{one:02d}" for one in range(40)]
    assert abs(np.mean([mode.mode for mode in fit.modes])) < 0.1


@pytest.mark.slow
def test_the_document_is_plain_data_in_the_shared_vocabulary() -> None:
    answer = disparity(scores(19), attribute="group", controls=["age"], resamples=50)
    document = json.loads(json.dumps(answer.to_dict()))
    finding = document["findings"][0]
    assert finding["id"] == "disparity/clean/group/b/a/wer_ratio"
    assert (finding["attribute"], finding["group"], finding["against"]) == ("group", "b", "a")
    assert finding["command"] == "voxaudit disparity TABLE --attribute group --controls age --resamples 50"
    assert document["question"]["controls"] == ["age"]
    assert list(answer.tables) == ["gaps", "groups", "baseline", "controls", "fits", "speakers"]
    row = answer.tables["gaps"].row(0, named=True)
    assert row["wer_ratio"] == finding["estimate"]
    assert (row["low"], row["high"]) == (finding["low"], finding["high"])
    model = document["findings"][1]
    assert model["id"] == "disparity/clean/group/b/typical_speaker_ratio"
    assert answer.tables["groups"].row(1, named=True)["typical_speaker_ratio"] == model["estimate"]
    assert answer.tables["controls"]["term"].to_list() == ["(Intercept)", "age"]
    split = disparity(scores(19), attribute="group", by=["device"])
    assert split.tables["fits"]["device"].to_list() == ["phone", "laptop", "desk"]


def test_what_a_gate_looks_at_holds_for_all_comparisons_together() -> None:
    table = scores(24, gap=0.8).with_columns(
        sex=pl.when(pl.col("speaker").str.slice(1).cast(pl.Int64) % 4 < 2)
        .then(pl.lit("f"))
        .otherwise(pl.lit("m"))
    )
    one = disparity(table, attribute="group").finding("disparity/clean/worst_group_ratio")
    two = disparity(table, attribute=["group", "sex"]).finding("disparity/clean/worst_group_ratio")
    assert one.estimate == two.estimate
    assert (one.group, one.against) == ("b", "a")
    assert (two.low or 0) < (one.low or 0) < (one.estimate or 0)
    assert two.high == one.high
    other = disparity(table, attribute="group", against="b").finding("disparity/clean/worst_group_ratio")
    np.testing.assert_allclose([other.estimate, other.low], [one.estimate, one.low], rtol=2e-3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({"errors": pl.col("errors") - 1}, {}, r"row \d+, column 'errors': -1 is negative"),
        ({"errors": pl.col("errors") / 2}, {}, r"row \d+, column 'errors': [\d.]+ is not a whole number"),
        ({"words": pl.lit(0)}, {}, "no utterance has reference words"),
        ({"words": pl.lit(float("inf"))}, {}, "row 1, column 'words': inf is not a count"),
        ({"errors": pl.lit("three")}, {}, "row 1, column 'errors': 'three' is not a number"),
        ({"errors": pl.lit([1])}, {}, r"column 'errors' holds List"),
        ({"speaker": pl.lit(None)}, {}, "no speaker is known, and utterances are not a sample of people"),
        (
            {"speaker": pl.when(pl.int_range(pl.len()) == 6).then(pl.lit(" ")).otherwise("speaker")},
            {},
            r"row 7, column 'speaker': no speaker \(1 such rows\)",
        ),
        ({"group": pl.lit("a")}, {}, "only the group 'a' occurs"),
        ({"group": pl.lit(None)}, {}, "no utterance has a value for `group`"),
        ({"speaker": pl.lit("me")}, {}, "a has one speaker, who cannot stand for a group"),
        ({"errors": pl.lit(0)}, {}, "0 errors in .* words are too few"),
        (
            {
                "age": pl.when(pl.int_range(pl.len()) == 3)
                .then(pl.lit("old"))
                .otherwise(pl.col("age").cast(pl.String))
            },
            {"controls": ["age"]},
            r"row 4, column 'age': 'old' among numbers.*C\(age\)",
        ),
        ({"age": pl.lit(float("inf"))}, {"controls": ["age"]}, "row 1, column 'age': an infinite value"),
        ({}, {"against": "c"}, r"group has no group 'c'\..* There: a, b"),
        ({}, {"controls": ["agee"]}, "no column 'agee'. Did you mean: age"),
        (
            {},
            {"controls": ["group"]},
            "column 'group' cannot be the sensitive attribute and a control attribute at once",
        ),
        ({}, {"columns": {"speaker": "talker"}}, "no column 'talker'"),
        ({"speaker": None}, {}, "no column 'speaker'.*see the arguments `columns`, `random`"),
        ({}, {"interval": "exact"}, "unknown interval 'exact'"),
        ({}, {"nodes": 0}, "must be at least 1"),
        ({}, {"interaction": "scenario"}, "'scenario' needs at least two values"),
        (
            {"sex": pl.when(pl.col("group") == "a").then(pl.lit("f")).otherwise(pl.lit("m"))},
            {"controls": ["sex"]},
            "group 'a' of group cannot be told apart from sex",
        ),
        (
            {"group": pl.format("g{}", pl.int_range(pl.len()))},
            {},
            "it has 400 groups, more than the 24",
        ),
        (
            {"note": pl.format("n{}", pl.int_range(pl.len()))},
            {"controls": ["note"]},
            "control attribute 'note' has 400 different labels, too many to hold fixed",
        ),
        ({}, {"controls": ["C(speaker_group)"]}, "cannot be told apart from speaker_group"),
    ],
)
def test_bad_input_is_one_clear_line(
    change: dict[str, pl.Expr], options: dict[str, object], message: str
) -> None:
    table = scores(20).with_columns(speaker_group=pl.col("speaker"))
    table = table.drop([name for name, value in change.items() if value is None])
    table = table.with_columns(**{name: value for name, value in change.items() if value is not None})
    with pytest.raises(VoxauditError, match=message) as caught:
        disparity(table, attribute="group", resamples=0, **options)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


def test_an_unknown_value_of_the_interaction_is_named() -> None:
    table = scores(21, scenarios=("clean", "noise"))
    with pytest.raises(VoxauditError, match=r"scenario has no value 'noisy'\. Did you mean: noise\?"):
        disparity(table, attribute="group", interaction="scenario", interaction_against="noisy")


def test_too_many_speaker_level_controls_are_refused() -> None:
    table = scores(22, speakers=6)
    table = table.with_columns(
        **{f"x{i}": (pl.col("speaker").str.slice(1).cast(pl.Int64) ** (i + 1)) % 7 for i in range(4)}
    )
    with pytest.raises(VoxauditError, match="6 speakers cannot carry"):
        disparity(table, attribute="group", controls=[f"x{i}" for i in range(4)], resamples=0)


def test_labels_are_read_as_people_write_them() -> None:
    table = scores(23).with_columns(
        group=pl.when(pl.int_range(pl.len()) % 3 == 0).then(pl.col("group") + " ").otherwise("group")
    )
    assert disparity(table, attribute="group", resamples=0).detail.fits[0].loglik == pytest.approx(
        disparity(scores(23), attribute="group", resamples=0).detail.fits[0].loglik
    )
    flags = scores(23).with_columns(group=(pl.col("group") == "b").cast(pl.Float64))
    assert disparity(flags, attribute="group", resamples=0).detail.fits[0].effects[0].group == "1"
    tens = scores(23).with_columns(group=pl.when(pl.col("group") == "a").then(9).otherwise(10))
    assert disparity(tens, attribute="group", resamples=0).detail.fits[0].against == "9"


@pytest.mark.parametrize("reference", ["many", "one"])
def test_one_speaker_stands_for_no_group_on_either_side(reference: str) -> None:
    speakers = [f"s{n}" for n in range(9) for _ in range(4)]
    table = pl.DataFrame(
        {
            "speaker": speakers,
            "group": ["one" if speaker == "s8" else "many" for speaker in speakers],
            "errors": [(3 * n) % 5 for n in range(36)],
            "words": [10] * 36,
        }
    )
    with pytest.raises(RefusedError, match="one has one speaker, who cannot stand for a group"):
        disparity(table, attribute="group", against=reference)


def test_all_pairs_of_groups_are_compared_unless_one_is_named() -> None:
    table = scores(31, speakers=45).with_columns(
        group=pl.format("g{}", pl.col("speaker").str.slice(1).cast(pl.Int64) % 3)
    )
    answer = disparity(table, attribute="group")
    pairs = {frozenset((one.group, one.against)) for one in answer.findings if one.measure == "wer_ratio"}
    assert pairs == {frozenset(pair) for pair in (("g0", "g1"), ("g0", "g2"), ("g1", "g2"))}
    assert all((one.estimate or 0) >= 1 for one in answer.findings if one.measure == "wer_ratio")
    named = disparity(table, attribute="group", against="g1")
    assert {one.against for one in named.findings if one.measure == "wer_ratio"} == {"g1"}


def test_scenarios_that_are_named_are_answered_one_by_one() -> None:
    table = scores(32, gap=0.5, scenarios=("clean", "noise", "echo"))
    found = disparity(table, attribute="group", scenario=["clean", "noise"])
    rates = [one for one in found.findings if one.measure == "wer_ratio"]
    assert [one.scenario for one in rates] == ["clean", "noise"]
    assert {one.family for one in rates} == {"2 comparisons of groups"}
    alone = disparity(table, attribute="group", scenario="noise").findings[0]
    assert (alone.estimate, alone.low, alone.p) == (rates[1].estimate, rates[1].low, rates[1].p)


def test_unlike_spread_is_said_where_typical_speakers_differ_from_rates() -> None:
    generator = np.random.default_rng(33)
    rows = []
    for one in range(60):
        group, sigma = "ab"[one % 2], (1.3, 0.2)[one % 2]
        rate = 0.1 * np.exp(generator.normal(-(sigma**2) / 2, sigma))
        rows.append((f"s{one}", group, 200, int(generator.poisson(200 * rate))))
    table = pl.DataFrame(rows, orient="row", schema=["speaker", "group", "words", "errors"])
    answer = disparity(table, attribute="group")
    (note,) = [one for one in answer.notes if one.code == "unlike_spread"]
    assert note.facts["spread_against" if answer.findings[0].against == "a" else "spread"] > 2.0
    spreads = dict(zip(answer.tables["groups"]["group"], answer.tables["groups"]["spread"], strict=True))
    assert spreads["a"] > 2.0 > 1.4 > spreads["b"]
    assert not [one for one in disparity(scores(2), attribute="group").notes if one.code == "unlike_spread"]


def test_an_attribute_that_varies_within_speakers_is_compared_within_them() -> None:
    generator = np.random.default_rng(34)
    rows = []
    for one in range(20):
        own = generator.normal(0, 1.0)
        for mood in ("calm", "angry"):
            rate = 0.1 * np.exp(own + (0.4 if mood == "angry" else 0.0))
            rows += [(f"s{one}", mood, 40, int(generator.poisson(40 * rate))) for _ in range(5)]
    table = pl.DataFrame(rows, orient="row", schema=["speaker", "mood", "words", "errors"])
    gap = disparity(table, attribute="mood").findings[0]
    assert (gap.group, gap.verdict) == ("angry", "shown")
    # As far apart as these speakers are, other people would not show it.
    apart = table.with_columns(speaker=pl.col("speaker") + pl.col("mood"))
    assert disparity(apart, attribute="mood").findings[0].verdict == "not_shown"


def test_speakers_in_both_groups_are_compared_with_themselves() -> None:
    table = scores(3, speakers=12, sigma=1.2).with_row_index()
    table = table.with_columns(
        room=pl.when(pl.col("index") % 2 == 0).then(pl.lit("hall")).otherwise(pl.lit("booth"))
    )
    errors = pl.when(pl.col("room") == "hall").then(2 * pl.col("errors")).otherwise("errors")
    table = table.with_columns(errors=errors)
    answer = disparity(table, attribute="room")
    [note] = [one for one in answer.notes if one.code == "speakers_in_several_groups"]
    assert note.text == "12 speakers are in several groups of room, and compared with themselves"
    assert answer.findings[0].verdict == "shown"
    # The same speech by twice as many speakers, each in one of the rooms: how much they differ hides it.
    apart = table.with_columns(speaker=pl.concat_str("speaker", "room"))
    other = disparity(apart, attribute="room")
    assert not any(one.code == "speakers_in_several_groups" for one in other.notes)
    assert (other.findings[0].estimate, other.findings[0].verdict) == (
        answer.findings[0].estimate,
        "not_shown",
    )
