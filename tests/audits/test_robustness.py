"""The robustness audit, computed by hand."""

import math
import subprocess
import sys

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import voxaudit
from voxaudit.audits.robustness.measure import correlate
from voxaudit.errors import VoxauditError


def robustness(table, *, difficulty="none", **options):
    """Return everything that was measured; nothing is normalized unless asked for."""
    return voxaudit.robustness(table, difficulty=difficulty, **options).detail


COLUMNS = ["recognizer", "scenario", "speaker", "utterance", "errors", "words"]


def scores(rows, **more):
    table = pl.DataFrame(rows, schema=COLUMNS, orient="row")
    return table.with_columns(**{name: pl.Series(values) for name, values in more.items()})


def heard(recognizer, rates, speakers=6, words=100, prefix="s"):
    """One utterance of 100 words a speaker and scenario, with the same rate for all speakers."""
    return [
        (recognizer, scenario, f"{prefix}{i}", f"{prefix}{i}", round(rate * words), words)
        for scenario, rate in rates.items()
        for i in range(speakers)
    ]


def levels(found, level, column="werd", recognizer="r"):
    rows = found.levels.filter((pl.col("level") == level) & (pl.col("recognizer") == recognizer))
    return dict(rows.select("name", column).iter_rows())


def test_measures_of_a_scenario():
    table = scores(
        [
            ("r", "clean", "a", "1", 1, 10),
            ("r", "clean", "b", "2", 2, 30),
            ("r", "gaussian_noise:2", "a", "1", 4, 10),
            ("r", "gaussian_noise:2", "b", "2", 2, 30),
        ],
        characters=[50, 150, 50, 150],
        character_errors=[2, 3, 10, 10],
    )
    hard = pl.DataFrame({"scenario": ["gaussian_noise:2"], "difficulty": [40.0]})
    row = (
        robustness(table, difficulty=hard)
        .levels.filter(pl.col("name") == "gaussian_noise:2")
        .row(0, named=True)
    )
    assert row["clean_wer"] == pytest.approx(3 / 40)
    assert row["wer"] == pytest.approx(6 / 40)
    assert row["cer"] == pytest.approx(20 / 200)
    assert row["werd"] == pytest.approx(3 / 40)
    assert row["nwer"] == pytest.approx(100 * (6 / 40) / 40)
    assert row["nwerd"] == pytest.approx(100 * (3 / 40) / 40)
    assert (row["category"], row["perturbation"], row["speakers"], row["paired"]) == (
        "white noise",
        "gaussian_noise",
        2,
        True,
    )
    assert row["werd_low"] is None  # two speakers


RATES = {
    "clean": 0.1,
    "gaussian_noise:1": 0.2,
    "gaussian_noise:2": 0.4,
    "environment_musan:1": 0.5,
    "music:1": 0.1,
    "music:3": 0.3,
    "pgd:1": 0.9,
    "pgd:2": 1.0,
    "universal:1": 0.3,
}


def test_averages_over_severities_then_perturbations_then_categories():
    found = robustness(scores(heard("r", RATES)))
    assert levels(found, "perturbation") == pytest.approx(
        {"gaussian_noise": 0.2, "environment_musan": 0.4, "music": 0.1, "pgd": 0.85, "universal": 0.2}
    )
    assert levels(found, "category") == pytest.approx(
        {
            "white noise": 0.2,
            "environmental noise": 0.25,
            "utterance-specific attack": 0.85,
            "utterance-agnostic attack": 0.2,
        }
    )
    # Attacks are averaged apart.
    assert levels(found, "overall") == pytest.approx({"all": 0.225, "attacks": 0.525})


def test_attacks_are_never_normalized_and_easy_scenarios_weigh_more():
    names = [name for name in RATES if name != "clean"]
    hard = pl.DataFrame({"scenario": names, "difficulty": [10.0, 50.0, *[25.0] * (len(names) - 2)]})
    found = robustness(scores(heard("r", RATES)), difficulty=hard)
    values = levels(found, "scenario", "nwerd")
    assert values["gaussian_noise:1"] == pytest.approx(1.0)  # 100 * 0.1 / 10
    assert values["gaussian_noise:2"] == pytest.approx(0.6)  # 100 * 0.3 / 50
    assert values["pgd:1"] is None
    assert levels(found, "perturbation", "nwerd")["gaussian_noise"] == pytest.approx(0.8)
    overall = levels(found, "overall", "nwerd")
    assert overall["all"] == pytest.approx((0.8 + (1.6 + 0.4) / 2) / 2)
    assert overall["attacks"] is None
    assert found.measure == "nwerd"
    by = dict(found.ranking.select("name", "measure").iter_rows())
    assert by == {"all": "nwerd", "attacks": "werd"}


def test_scenarios_without_a_difficulty_are_named_and_left_out_of_the_normalized_mean():
    hard = pl.DataFrame({"scenario": ["gaussian_noise:1", "music:1"], "difficulty": [10.0, -3.0]})
    found = robustness(scores(heard("r", RATES)), difficulty=hard)
    assert levels(found, "perturbation", "nwerd")["gaussian_noise"] == pytest.approx(1.0)
    assert levels(found, "category", "normalized")["environmental noise"] == 0
    about = {
        refusal.about: refusal.text
        for refusal in voxaudit.robustness(scores(heard("r", RATES)), difficulty=hard).refusals
    }
    assert "0 or less" in about["NWERD of music:1"]
    assert "NWERD of environment_musan:1, gaussian_noise:2, music:3" in about


def test_only_utterances_heard_both_ways_are_compared():
    rows = [("r", "clean", f"s{i}", f"a{i}", 0, 10) for i in range(5)]
    rows += [("r", "clean", f"s{i}", f"b{i}", 5, 10) for i in range(5)]
    rows += [("r", "echo:1", f"s{i}", f"a{i}", 1, 10) for i in range(5)]
    rows += [("r", "echo:1", "s0", "never clean", 10, 10)]
    found = robustness(scores(rows))
    row = found.levels.filter(pl.col("name") == "echo:1").row(0, named=True)
    assert row["clean_wer"] == 0.0
    assert row["werd"] == pytest.approx(0.1)
    assert row["utterances"] == 5
    assert any("1 scenario without some utterances" in n.text and "up to 5" in n.text for n in found.notes)
    assert any("1 trial of 1 scenario left out: no clean twin" in note.text for note in found.notes)


def test_natural_speech_is_compared_with_clean_speech_of_others():
    rows = heard("r", {"clean": 0.1}) + heard("r", {"accented": 0.35}, speakers=7, prefix="other")
    # The same sentences in a synthetic voice are not the same utterances.
    rows += [("r", "synthetic", f"voice{i}", f"s{i}", 20, 100) for i in range(6)]
    found = robustness(scores(rows))
    assert levels(found, "scenario") == pytest.approx({"clean": 0.0, "accented": 0.25, "synthetic": 0.1})
    assert levels(found, "scenario", "paired") == {"clean": True, "accented": False, "synthetic": False}
    assert levels(found, "overall")["all"] == pytest.approx(0.175)
    assert any("accented, synthetic" in note.text for note in found.notes)


def test_corpora_are_averaged_not_pooled_and_languages_kept_apart():
    parts = [
        ("en", "books", heard("r", {"clean": 0.0, "echo:1": 0.1}, speakers=20)),
        ("en", "talks", heard("r", {"clean": 0.2, "echo:1": 0.5})),
        ("en", "dinner", heard("r", {"far_field_chime": 0.7}, prefix="guest")),
        ("es", "libros", heard("r", {"clean": 0.3, "echo:1": 0.9})),
    ]
    table = pl.concat(scores(rows).with_columns(language=pl.lit(a), corpus=pl.lit(b)) for a, b, rows in parts)
    found = robustness(table, by=["language", "corpus"])
    got = {
        (row["language"], row["name"]): (row["clean_wer"], row["werd"])
        for row in found.levels.filter(pl.col("level") == "scenario").iter_rows(named=True)
    }
    assert got["en", "clean"] == pytest.approx((0.1, 0.0))
    assert got["en", "echo:1"] == pytest.approx((0.1, 0.2))
    assert got["en", "far_field_chime"] == pytest.approx((0.1, 0.6))  # against clean English of both corpora
    assert got["es", "echo:1"] == pytest.approx((0.3, 0.6))
    own = found.corpora.filter((pl.col("name") == "all") & (pl.col("level") == "overall"))
    assert dict(own.select("corpus", "werd").iter_rows()) == pytest.approx(
        {"books": 0.1, "talks": 0.3, "dinner": 0.6, "libros": 0.6}
    )
    assert not any(note.code == "pooled" for note in found.notes)
    pooled = robustness(table)
    assert [(note.text, note.see) for note in pooled.notes if note.code == "pooled"] == [
        (f"column '{name}' has {count} values, which are pooled", ("by",))
        for name, count in (("language", 2), ("corpus", 4))
    ]
    assert "language" not in pooled.levels.columns
    assert pooled.corpora.is_empty()
    # 20 + 6 + 6 speakers of clean speech: (6 * 0.2 + 6 * 0.3) / 32
    assert levels(pooled, "scenario", "wer")["clean"] == pytest.approx(3 / 32)


def several_corpora():
    parts = [
        ("en", "books", heard("r", {"clean": 0.0, "echo:1": 0.1, "synthetic": 0.15}, speakers=20)),
        ("en", "talks", heard("r", {"clean": 0.2, "echo:1": 0.5})),
        ("en", "web", heard("r", {"clean": 0.4, "accented": 0.3})),
        ("en", "dinner", heard("r", {"far_field_chime": 0.7}, prefix="guest")),
        ("es", "libros", heard("r", {"clean": 0.3, "accented": 0.9})),
    ]
    return pl.concat(scores(rows).with_columns(language=pl.lit(a), corpus=pl.lit(b)) for a, b, rows in parts)


def test_natural_speech_is_compared_with_the_baseline_of_its_language_and_the_rest_with_its_own_corpus():
    found = robustness(several_corpora(), baseline={"en": "books"})
    werd = {
        (row["language"], row["name"]): row["werd"]
        for row in found.levels.filter(level="scenario").iter_rows(named=True)
    }
    assert werd["en", "accented"] == pytest.approx(0.3)  # not -0.1, though `web` has clean speech of its own
    assert werd["en", "far_field_chime"] == pytest.approx(0.7)
    assert werd["en", "echo:1"] == pytest.approx((0.1 + 0.3) / 2)
    assert werd["en", "synthetic"] == pytest.approx(0.15)
    assert werd["es", "accented"] == pytest.approx(0.6)
    assert found.levels.filter(level="scenario", name="accented", language="en")["paired"].to_list() == [
        False
    ]
    assert not any(note.code == "several_baselines" for note in found.notes)
    of_a_corpus = robustness(several_corpora(), baseline={"en": "books", "web": "talks"})
    own = of_a_corpus.levels.filter(level="scenario", language="en")
    assert dict(own.select("name", "werd").iter_rows())["accented"] == pytest.approx(0.1)


def test_where_no_baseline_is_named_the_mean_of_several_corpora_is_said():
    found = robustness(several_corpora(), by=["language", "corpus"])
    (note,) = (note for note in found.notes if note.code == "several_baselines")
    assert note.text == "far_field_chime: compared with the mean over clean speech of books, talks, web"
    assert note.see == ("baseline",)


@pytest.mark.parametrize(
    ("languages", "by", "expected"),
    [
        (("es-MX", "en"), ["language"], {"en": 33.1, "es-MX": 29.3}),
        (("es", "fr"), ["language"], {"es": 29.3, "fr": None}),
        (("es", "es"), [], {None: 29.3}),
        (("es", "en"), [], {None: None}),
        ((None, None), [], {None: 33.1}),
    ],
)
def test_published_difficulties_are_those_of_the_language(languages, by, expected):
    rows = [
        scores(heard("r", {"clean": 0.1, "accented": 0.3, "echo:1": 0.2}, prefix=f"{place}")).with_columns(
            language=pl.lit(language, pl.String)
        )
        for place, language in enumerate(languages)
    ]
    table = pl.concat(rows)
    if languages[0] is None:
        table = table.drop("language")
    answer = voxaudit.robustness(table, by=by, difficulty="published")
    got = {
        row.get("language"): row["difficulty"]
        for row in answer.detail.levels.filter(level="scenario", name="accented").iter_rows(named=True)
    }
    assert got == expected
    assert answer.detail.levels.filter(name="echo:1")["difficulty"].unique().to_list() == [54.9]
    refused = [one.about for one in answer.refusals if one.code == "no_difficulty"]
    assert len(refused) == list(expected.values()).count(None)


def test_difficulties_of_a_table_may_differ_by_language():
    table = pl.concat(
        scores(heard("r", {"clean": 0.1, "echo:1": 0.2}, prefix=name)).with_columns(language=pl.lit(name))
        for name in ("en", "es")
    )
    hard = pl.DataFrame(
        {"scenario": ["echo:1", "echo:1"], "language": ["en", "es"], "difficulty": [10.0, 20.0]}
    )
    found = robustness(table, by=["language"], difficulty=hard)
    own = found.levels.filter(name="echo:1")
    assert dict(own.select("language", "nwerd").iter_rows()) == pytest.approx({"en": 1.0, "es": 0.5})


def test_a_part_with_few_speakers_costs_the_whole_neither_its_interval_nor_a_rank():
    generator = np.random.default_rng(5)
    rows = []
    for name, harm in (("r", 10), ("q", 40)):
        for i in range(20):
            for scenario, more in (("clean", 0), ("echo:1", harm)):
                errors = 5 + more + int(generator.integers(0, 5))
                rows.append((name, scenario, f"s{i}", f"s{i}", errors, 100))
        rows += [(name, "synthetic", f"voice{i}", f"v{i}", 20 + i, 100) for i in range(3)]
    found = robustness(scores(rows))
    alone = robustness(scores([row for row in rows if row[1] != "synthetic"]))
    overall = {row["recognizer"]: row for row in found.levels.filter(level="overall").iter_rows(named=True)}
    one = {row["recognizer"]: row for row in alone.levels.filter(level="overall").iter_rows(named=True)}
    assert found.levels.filter(level="scenario", name="synthetic")["werd_low"].to_list() == [None, None]
    for name in ("r", "q"):
        width, of_one = (row["werd_high"] - row["werd_low"] for row in (overall[name], one[name]))
        assert of_one / 2 < width < of_one  # half of the mean is as it is
    assert dict(found.ranking.select("recognizer", "rank").iter_rows()) == {"r": 1, "q": 2}
    (refusal,) = (one for one in found.refusals if one.facts["recognizer"] == "r")
    assert refusal.about == "r: intervals of synthetic"
    assert "averages take these as they are" in refusal.text


def test_table_1_has_a_line_per_recognizer_and_language():
    rates = {
        "clean": 0.1,
        "gaussian_noise:1": 0.2,
        "echo:1": 0.3,
        "pgd:1": 0.9,
        "pgd:2": 1.1,
        "universal:1": 0.4,
    }
    parts = [
        scores(heard(name, {**rates, "echo:1": echo}, prefix=f"{language}")).with_columns(
            language=pl.lit(language), corpus=pl.lit(f"{language} books")
        )
        for name, language, echo in (("a", "en", 0.4), ("b", "en", 0.3), ("a", "es", 0.2))
    ]
    hard = pl.DataFrame({"scenario": ["gaussian_noise:1", "echo:1"], "difficulty": [50.0, 20.0]})
    answer = voxaudit.robustness(pl.concat(parts), by=["language"], difficulty=hard, table="1")
    (shown,) = (table for table in answer.tables.shown if not table.folded)
    frame = answer.tables["table_1"]
    assert frame.select("language", "recognizer").rows() == [("en", "b"), ("en", "a"), ("es", "a")]
    row = frame.row(1, named=True)
    assert row["clean"] == pytest.approx(0.1)
    got = [row[name] for name in ("noise (white)", "spatial", "AVG", "Adv (UA)", "Adv (US)", "AVG (Adv)")]
    assert got == pytest.approx([0.2, 1.5, 0.85, 0.3, 0.9, 0.6])
    assert row["accent"] is None
    assert shown.id == "table_1"
    assert "accent" not in [column.name for column in shown.columns]
    with pytest.raises(VoxauditError, match=r"no table 'rankin'\. Did you mean: ranking"):
        voxaudit.robustness(pl.concat(parts), by=["language"], difficulty=hard, table="rankin")


def test_attacks_are_not_among_the_categories_that_an_average_is_over():
    answer = voxaudit.robustness(scores(heard("r", RATES)), difficulty="none")
    sentence = answer.finding("robustness/r/overall/werd").sentence
    assert "over 2 categories of disturbance (5 scenarios); most under environmental noise" in sentence


def test_the_group_that_others_are_divided_by_can_be_chosen():
    rows = heard("r", {"clean": 0.2, "echo:1": 0.4}, prefix="f")
    rows += heard("r", {"clean": 0.1, "echo:1": 0.1}, prefix="m")
    rows += heard("r", {"clean": 0.1, "echo:1": 0.2}, prefix="x")
    table = scores(rows).with_columns(gender=pl.col("speaker").str.head(1))
    two = table.filter(pl.col("gender") != "x")
    for reference, group, lwerr in (({"gender": "m"}, "f", 2.0), ({"gender": "f"}, "m", -2.0)):
        found = robustness(two, attributes=["gender"], reference=reference)
        row = found.groups.filter(level="scenario", name="echo:1").row(0, named=True)
        assert (row["group"], row["against"]) == (group, reference["gender"])
        assert row["lwerr"] == pytest.approx(lwerr)
    found = robustness(table, attributes=["gender"], reference={"gender": "m"})
    rows = found.groups.filter(level="scenario", name="echo:1")
    assert dict(rows.select("group", "lwerr").iter_rows()) == pytest.approx({"f": 2.0, "x": 1.0})
    with pytest.raises(VoxauditError, match=r"gender: no group 'male'.*There: "):
        robustness(table, attributes=["gender"], reference={"gender": "male"})
    with pytest.raises(VoxauditError, match="'accent' is not compared"):
        robustness(table, attributes=["gender"], reference={"accent": "us"})


def test_log_ratio_of_two_groups():
    rows = heard("r", {"clean": 0.2, "echo:1": 0.2, "echo:2": 0.6}, prefix="f")
    rows += heard("r", {"clean": 0.1, "echo:1": 0.1, "echo:2": 0.1}, prefix="m")
    table = scores(rows).with_columns(gender=pl.col("speaker").str.head(1))
    found = robustness(table, attributes=["gender"])
    got = {(r["level"], r["name"]): r for r in found.groups.iter_rows(named=True)}
    assert got["scenario", "clean"]["lwerr"] == pytest.approx(1.0)
    assert got["scenario", "echo:2"]["lwerr"] == pytest.approx(math.log2(6))
    # Word error rates are averaged first: log2(0.4 / 0.1), not the mean of the logarithms.
    assert got["category", "spatial acoustics"]["lwerr"] == pytest.approx(2.0)
    assert got["category", "spatial acoustics"]["change"] == pytest.approx(1.0)
    assert got["overall", "all"]["lwerr"] == pytest.approx(2.0)
    assert {(r["group"], r["against"]) for r in got.values()} == {("f", "m")}
    assert got["scenario", "clean"]["lwerr_low"] == pytest.approx(1.0)  # all speakers of a group are alike


def test_more_groups_are_each_compared_with_the_rest_and_small_ones_refused():
    rows = heard("r", {"clean": 0.4, "echo:1": 0.5}, prefix="x")
    rows += heard("r", {"clean": 0.1, "echo:1": 0.5}, prefix="y")
    rows += heard("r", {"clean": 0.3, "echo:1": 0.5}, speakers=4, prefix="z")
    table = scores(rows).with_columns(accent=pl.col("speaker").str.head(1))
    found = robustness(table, attributes=["accent"])
    assert set(found.groups["group"]) == {"x", "y"}
    got = {row["group"]: row for row in found.groups.filter(name="clean").iter_rows(named=True)}
    assert got["x"]["against"] == "the rest"
    assert got["x"]["lwerr"] == pytest.approx(math.log2(0.4 / 0.18))  # (6 * 10 + 4 * 30) / 1000
    assert [(r.code, r.text) for r in found.refusals if r.about == "accent z"] == [
        ("too_few_speakers", "'z' has 4 speakers; at least 5 are needed")
    ]


def spoken_by_two_groups(missing=0.0, seed=0, people=(7, 30)):
    """Speakers of unequal length and luck under four scenarios, some trials of whom failed."""
    generator = np.random.default_rng(seed)
    rows = []
    for number in range(sum(people)):
        luck = np.exp(0.5 * generator.standard_normal())
        for sentence in range(generator.integers(2, 6)):
            words = int(generator.integers(5, 15))
            for scenario, rate in (
                ("clean", 0.1),
                ("echo:1", 0.2),
                ("echo:2", 0.3),
                ("gaussian_noise:1", 0.2),
            ):
                if scenario == "clean" or generator.random() >= missing:
                    errors = int(generator.poisson(words * rate * luck))
                    row = ("r", scenario, f"s{number}", f"{number}-{sentence}", errors, words)
                    rows.append((*row, "ab"[number < people[0]]))
    return pl.DataFrame(rows, schema=[*COLUMNS, "accent"], orient="row")


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_ratios_are_those_of_the_mean_rates_as_they_are_printed(missing):
    found = robustness(spoken_by_two_groups(missing), attributes=["accent"])
    rates = {(row["scenario"], row["group"]): row["wer"] for row in found.group_rates.iter_rows(named=True)}
    got = {(row["level"], row["name"]): row for row in found.groups.iter_rows(named=True)}
    for group, column in (("a", "wer"), ("b", "wer_against")):
        spatial = (rates["echo:1", group] + rates["echo:2", group]) / 2
        assert got["scenario", "echo:2"][column] == pytest.approx(rates["echo:2", group])
        assert got["category", "spatial acoustics"][column] == pytest.approx(spatial)
        overall = (spatial + rates["gaussian_noise:1", group]) / 2
        assert got["overall", "all"][column] == pytest.approx(overall)
    for row in got.values():
        assert 2 ** row["lwerr"] == pytest.approx(row["wer"] / row["wer_against"])
        assert row["lwerr_low"] < row["lwerr"] < row["lwerr_high"]
        if row["name"] != "clean":
            assert row["change"] == pytest.approx(row["lwerr"] - got["scenario", "clean"]["lwerr"])
            assert row["change_low"] < row["change"] < row["change_high"]


def test_means_over_all_disturbances_are_asked_first():
    """More scenarios cost what is asked of single ones, not what is asked of all together."""
    table = spoken_by_two_groups(seed=3)
    table = table.with_columns(
        errors=pl.when((pl.col("accent") == "b") & (pl.col("scenario") != "clean"))
        .then(4 * pl.col("errors"))
        .otherwise("errors")
    )
    noises = [table] + [
        table.filter(pl.col("scenario") == "gaussian_noise:1").with_columns(
            scenario=pl.lit(f"gaussian_noise:{step}")
        )
        for step in (2, 3, 4)
    ]
    few, many = (robustness(some, attributes=["accent"]).groups for some in (table, pl.concat(noises)))
    overall = few.filter(level="overall").row(0, named=True)
    assert overall["p_adjusted"] == pytest.approx(overall["p"] / 0.8)
    assert overall["p"] < 0.01
    for rows in (few, many):
        assert (rows["p_adjusted"] >= rows["p"]).all()
        assert (rows.filter(level="overall")["verdict"] == "shown").all()


def test_how_wide_intervals_are_asked_to_be_changes_no_verdict():
    wide, narrow = (
        robustness(spoken_by_two_groups(), attributes=["accent"], confidence=confidence).groups
        for confidence in (0.95, 0.8)
    )
    for name in ("lwerr", "p", "p_adjusted", "verdict", "change_p", "change_p_adjusted"):
        assert wide[name].equals(narrow[name]), name
    assert (narrow["lwerr_high"] < wide["lwerr_high"]).all()
    assert (narrow["change_low"].drop_nulls() > wide["change_low"].drop_nulls()).all()


def test_a_scenario_that_few_of_a_group_were_heard_in_has_no_verdict():
    table = spoken_by_two_groups().filter(
        (pl.col("scenario") != "echo:2") | ~pl.col("speaker").is_in(["s0", "s1", "s2"])
    )
    found = robustness(table, attributes=["accent"])
    row = found.groups.filter(name="echo:2").row(0, named=True)
    assert row["lwerr"] is not None
    assert (row["p"], row["lwerr_low"], row["verdict"], row["change_verdict"]) == (
        None,
        None,
        "refused",
        "refused",
    )
    assert ("too_few_speakers", "r: accent a", "one side has fewer than 5 speakers (echo:2)") in [
        (one.code, one.about, one.text) for one in found.refusals
    ]
    assert found.groups.filter(level="overall")["verdict"].item() in ("shown", "not_shown")


@pytest.mark.slow
def test_speakers_on_both_sides_are_exchanged_with_themselves():
    """An attribute that varies within speakers: what a speaker is like is the same on both sides, and no gap."""
    table = spoken_by_two_groups(people=(8, 8))
    table = table.with_columns(accent=pl.col("utterance").str.ends_with("-0"))
    row = robustness(table, attributes=["accent"]).groups.filter(level="overall").row(0, named=True)
    apart = table.with_columns(speaker=pl.col("speaker") + pl.col("accent").cast(pl.String))
    other = robustness(apart, attributes=["accent"]).groups.filter(level="overall").row(0, named=True)
    assert row["lwerr"] == pytest.approx(other["lwerr"])
    assert row["lwerr_high"] - row["lwerr_low"] < other["lwerr_high"] - other["lwerr_low"]


def test_a_group_without_errors_has_no_ratio():
    rows = heard("r", {"clean": 0.0, "echo:1": 0.2}, prefix="f")
    rows += heard("r", {"clean": 0.1, "echo:1": 0.1}, prefix="m")
    table = scores(rows).with_columns(gender=pl.col("speaker").str.head(1))
    found = robustness(table, attributes=["gender"])
    assert "clean" not in found.groups["name"].to_list()
    assert found.groups.filter(pl.col("name") == "echo:1")["change"].item() is None
    assert any("no errors (clean)" in refusal.text for refusal in found.refusals)
    both = pl.concat([table, table.with_columns(recognizer=pl.lit("other"))])
    refused = [
        one.about for one in robustness(both, attributes=["gender"]).refusals if one.code == "too_few_errors"
    ]
    assert refused == ["other: gender f", "r: gender f"]


def test_spread_over_draws():
    rows, draws = [], []
    for draw, rate in (("7", 0.2), ("8", 0.4)):
        for scenario, value in (("clean", 0.1), ("gaussian_noise:1", rate), ("gain:1", 0.3)):
            part = heard("r", {scenario: value})
            rows += part
            draws += [draw] * len(part)
    found = robustness(scores(rows, draw=draws))
    got = {(row["level"], row["name"]): row for row in found.stability.iter_rows(named=True)}
    assert set(got) == {("scenario", "gaussian_noise:1"), ("overall", "all")}  # gain draws nothing at random
    assert got["scenario", "gaussian_noise:1"]["draw_sd"] == pytest.approx(math.sqrt(0.02))
    assert (got["scenario", "gaussian_noise:1"]["wer_min"], got["scenario", "gaussian_noise:1"]["draws"]) == (
        0.2,
        2,
    )
    # An utterance counts once however often it was drawn.
    assert levels(found, "scenario") == pytest.approx({"clean": 0.0, "gaussian_noise:1": 0.2, "gain:1": 0.2})
    assert levels(found, "scenario", "utterances")["gain:1"] == 6


def test_words_where_nobody_speaks():
    rows = heard("r", {"clean": 0.1}, speakers=5)
    rows += [("r", "quiet_room", f"s{i}", f"s{i}", i, 0) for i in range(5)]
    found = robustness(scores(rows, duration=[6.0] * 10))
    (row,) = found.inserted.rows(named=True)
    assert row["words_per_minute"] == pytest.approx(10 / 0.5)
    assert 0 < row["low"] < 20 < row["high"]
    assert "quiet_room" not in found.levels["name"].to_list()
    untimed = robustness(scores(rows))
    assert untimed.inserted.is_empty()
    assert any(r.about == "quiet_room" and r.code == "no_duration" for r in untimed.refusals)


def test_severity_curves_follow_the_parameter():
    rates = {"clean": 0.1, "clipping:theta=0.01": 0.6, "clipping:theta=0.05": 0.2, "clipping:theta=0.02": 0.4}
    rates |= {"gaussian_noise:1": 0.3, "gaussian_noise:2": 0.3, "echo:1": 0.5, "echo:2": 0.2, "music:2": 0.3}
    found = robustness(scores(heard("r", rates)))
    clipping = found.curves.filter(pl.col("perturbation") == "clipping")
    assert clipping.select("step", "value", "wer").rows() == [
        (0, None, 0.1),
        (1, 0.05, 0.2),
        (2, 0.02, 0.4),
        (3, 0.01, 0.6),
    ]
    noise = found.curves.filter(pl.col("perturbation") == "gaussian_noise")
    assert noise.select("severity", "parameter", "value").rows()[1:] == [(1, "snr", 30.0), (2, "snr", 20.0)]
    trends = {row["perturbation"]: row for row in found.trends.iter_rows(named=True)}
    assert trends["clipping"]["slope"] == pytest.approx(0.2)
    assert {name: row["trend"] for name, row in trends.items()} == {
        "clipping": "grows",
        "gaussian_noise": "no trend shown",
        "echo": "falls",
    }
    assert trends["echo"]["reversals"] == ["echo:1 to echo:2"]
    assert trends["clipping"]["reversals"] == []


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.7, 0.9])
def test_a_rate_that_stays_the_same_has_no_trend(rate):
    rates = {"clean": 0.1, **{f"tremolo:{severity}": rate for severity in (1, 2, 3, 4)}}
    (trend,) = robustness(scores(heard("r", rates))).trends.rows(named=True)
    assert (trend["slope"], trend["low"], trend["high"], trend["trend"]) == (0.0, 0.0, 0.0, "no trend shown")
    assert trend["reversals"] == []


def test_facts_of_recognizers_without_a_measure_are_refused():
    facts = pl.DataFrame({"recognizer": ["r"], "parameters": [5]})
    tables, refusals = correlate(facts, {"r": math.nan}, {"r": 0.1}, "werd")
    assert [refusal.about for refusal in refusals] == ["correlate clean_wer", "correlate parameters"]
    assert tables == {"correlates": [], "families": [], "within": [], "pareto": []}


def test_model_facts():
    names = [f"r{i}" for i in range(6)]
    rows = [
        row for i, name in enumerate(names) for row in heard(name, {"clean": 0.1, "echo:1": 0.15 + 0.05 * i})
    ]
    facts = pl.DataFrame(
        {
            "recognizer": names,
            "parameters": [10.0**i for i in (6, 5, 4, 3, 2, 1)],
            "year": [2020, 2021, 2022, None, None, None],
            "architecture": ["ctc", "ctc", "ctc", "rnnt", "rnnt", "rnnt"],
        }
    )
    found = robustness(scores(rows), facts=facts)
    (slope,) = found.correlates.rows(named=True)
    assert slope["fact"] == "parameters"
    assert slope["scale"] == "factor of ten"
    assert slope["slope"] == pytest.approx(-0.05)
    assert slope["tau"] == pytest.approx(-1.0)
    assert slope["verdict"] == "shown"
    medians = dict(found.families.select("level", "median").iter_rows())
    assert medians == pytest.approx({"ctc": 0.1, "rnnt": 0.25})
    reasons = {refusal.about: refusal.text for refusal in found.refusals}
    assert reasons["correlate year"].startswith("3 recognizers")
    assert "same value" in reasons["correlate clean_wer"]
    fronts = {
        fact: set(part.filter(pl.col("optimal"))["recognizer"])
        for (fact,), part in found.pareto.group_by("fact")
    }
    assert fronts == {"parameters": set(names), "year": {"r0"}, "clean_wer": {"r0"}}


@settings(max_examples=15, deadline=None)
@given(st.data())
def test_the_order_of_rows_does_not_matter(data):
    rows = heard("r", {"clean": 0.1, "echo:1": 0.3, "music:2": 0.2}) + heard(
        "q", {"clean": 0.2, "echo:1": 0.3}
    )
    rows = [(*row[:4], (row[4] * (1 + int(row[3][-1]))) % 40, row[5]) for row in rows]
    mixed = data.draw(st.permutations(rows))
    one, other = (robustness(scores(some), resamples=100) for some in (rows, mixed))
    assert one.levels.equals(other.levels)
    assert one.ranking.equals(other.ranking)


REPEATED = """
import polars as pl, voxaudit
rows = [
    ("r", scenario, f"s{s}", f"s{s}-{u}", (7 * s + 3 * u + 5 * d) % 11, 30, str(d), "ab"[s % 2])
    for scenario in ("clean", "echo:1", "music:2") for s in range(12) for u in range(4) for d in range(3)
]
names = ["recognizer", "scenario", "speaker", "utterance", "errors", "words", "draw", "group"]
answer = voxaudit.robustness(pl.DataFrame(rows, schema=names, orient="row"), attributes=["group"], resamples=100)
print([(f.id, f.estimate, f.low, f.high, f.p) for f in answer.findings])
print({name: frame.to_dicts() for name, frame in answer.tables.items()})
"""


@pytest.mark.slow
def test_random_draws_give_the_same_digits_in_every_process():
    """Thirds of errors are averaged: in another order, sums of them would differ in the last digit."""
    command = [sys.executable, "-c", REPEATED]
    first, *others = (subprocess.run(command, capture_output=True, check=True).stdout for _ in range(4))
    assert b"stability" in first
    assert all(other == first for other in others)


def test_what_goes_with_robustness_under_attack_and_within_a_family():
    names = [f"r{i}" for i in range(6)]
    rows = [
        row
        for i, name in enumerate(names)
        for row in heard(name, {"clean": 0.1, "echo:1": 0.15 + 0.05 * i, "pgd:1": 0.9 - 0.1 * i})
    ]
    sizes = [10.0**i for i in (6, 5, 4, 3, 2, 1)]
    facts = pl.DataFrame(
        {"recognizer": names, "parameters": sizes, "family": ["a", "a", "b", "b", "c", None]}
    )
    found = robustness(scores(rows), facts=facts)
    slopes = dict(found.correlates.filter(fact="parameters").select("name", "slope").iter_rows())
    assert slopes == pytest.approx({"all": -0.05, "attacks": 0.1})
    within = found.within.filter(fact="parameters", name="all")
    assert within["family"].to_list() == ["a", "b"]  # one recognizer makes no slope
    assert within["slope"].to_list() == pytest.approx([-0.05, -0.05])
    assert within["smallest"].to_list() == pytest.approx([1e5, 1e3])
