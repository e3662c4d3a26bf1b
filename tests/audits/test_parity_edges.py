"""What a table can do to the audit: a clear refusal, a group of its own, never a crash or a silent drop."""

import numpy as np
import polars as pl
import pytest

from voxaudit.audits.parity.audit import parity
from voxaudit.errors import VoxauditError
from voxaudit.stats.speaker_means import MEAN


def practice(found, name):
    """Return a row of the checklist."""
    (row,) = found.tables["checklist"].filter(pl.col("practice") == name).to_dicts()
    return row


def table(people=12, **columns):
    generator = np.random.default_rng(0)
    base = {
        "speaker": [f"s{number}" for number in range(people)],
        "g": [("a", "b")[number % 2] for number in range(people)],
        "errors": generator.poisson(20, people),
        "words": [100] * people,
    }
    return pl.DataFrame(base | columns)


def refused(found, part):
    return [refusal for refusal in found.refusals if part in refusal.about]


def test_no_speaker_column_is_refused_with_a_way_out():
    with pytest.raises(VoxauditError, match=r"no column 'speaker'.*`columns`.*`surrogate_speaker`"):
        parity(table().drop("speaker"), attributes=["g"])


def test_surrogate_speakers_are_labeled_everywhere():
    public = (
        pl.concat([table(people=40)] * 3)
        .drop("speaker")
        .with_columns(age=pl.int_range(pl.len()) % 5 + 30, first=pl.int_range(pl.len()) % 3)
    )
    found = parity(public, attributes=["g", "age", "first"], surrogate_speaker=True)
    assert found.detail.trials.surrogate == ("g", "age", "first")
    assert found.detail.speakers.people.height == 30
    assert any(note.code == "surrogate_speakers" for note in found.notes)
    assert all(
        "speakers are not known" in cautions[0] for cautions in found.tables["groups"]["cautions"].to_list()
    )
    check = practice(found, "groups measured by speakers (3.4)")
    assert check["status"] == "cannot be checked"
    with pytest.raises(VoxauditError, match="nothing needs to stand in for them"):
        parity(table(), attributes=["g"], surrogate_speaker=True)


def test_one_speaker_a_group():
    found = parity(table(g=["a"] * 11 + ["lonely"]), attributes=["g"])
    lonely = found.tables["groups"].filter(group="lonely").row(0, named=True)
    assert lonely["speakers"] == 1
    assert lonely["wer"] is not None
    assert lonely["wer_low"] is None
    assert lonely["enough_speakers"] is False
    pair = found.tables["pairs"].row(0, named=True)
    assert (pair["against"], pair["p"], pair["low"], pair["verdict"]) == ("lonely", None, None, "refused")
    [refusal] = refused(found, "'g' = 'lonely'")
    assert "one speaker" in refusal.text
    assert "gaps" not in found.tables
    assert found.findings == ()


def test_every_group_is_one_speaker():
    found = parity(table(people=4, g=["a", "b", "c", "d"]), attributes=["g"])
    assert found.tables["pairs"]["p"].null_count() == 6
    assert found.tables["groups"]["speakers_needed"].null_count() == 4
    [refusal] = refused(found, "'g' =")
    assert refusal.facts["groups"] == ["a", "b", "c", "d"]


def test_empty_cells():
    # No ill women at all: the interaction cannot be estimated, and illness is compared among men only.
    found = parity(
        table(people=24, sex=["m", "m", "f"] * 8, ill=["yes", "no", "no"] * 8).drop("g"),
        attributes=["sex", "ill"],
    )
    ill = found.tables["conditional"].filter(attribute="ill").row(0, named=True)
    assert (ill["group"], ill["speakers"], ill["speakers_against"]) == ("no", 8, 8)
    assert found.tables["strata"].filter(attribute="ill")["stratum"].unique().to_list() == ["sex=m"]
    assert found.tables["intersectional"].height == 3
    assert found.tables["regression"]["model"].unique().to_list() == ["main effects"]
    assert "nobody differs" in refused(found, "regression with interactions")[0].text


def test_groups_with_all_words_wrong():
    found = parity(
        table(people=20, errors=[100 if number % 2 else 20 + number for number in range(20)]),
        attributes=["g"],
    )
    b = found.tables["groups"].filter(group="b").row(0, named=True)
    assert (b["wer"], b["sd"]) == (1.0, 0.0)
    assert found.tables["pairs"]["p"][0] < 0.001
    assert found.tables["pairs"]["verdict"][0] == "shown"
    everybody = parity(table(errors=[100] * 12), attributes=["g"])
    assert everybody.tables["pairs"]["p"].null_count() == 1
    assert "no spread" in refused(everybody, "'g' = 'a'")[0].text
    assert everybody.findings[0].sentence.endswith("all speakers have the same word error rate.")
    beyond = parity(table(errors=[250] * 6 + [180] * 5 + [170]), attributes=["g"])
    assert beyond.tables["groups"]["wer"].min() > 1


def test_no_errors_at_all():
    found = parity(table(errors=[0] * 12), attributes=["g"])
    assert found.tables["groups"]["err_rel"].null_count() == 2
    assert "no error at all" in refused(found, "recognizer")[0].text


def test_speakers_of_whom_an_attribute_is_not_known_are_in_no_group_of_it():
    rows = table(g=["a", "b", None, "", " ", "a", "b", "a", "b", "a", "b", "a"])
    found = parity(rows, attributes=["g"])
    assert found.detail.speakers.order["g"] == ("a", "b")
    assert found.tables["groups"]["speakers"].sum() == 9
    assert "'g' is not known of 3 speakers" in next(one.text for one in found.notes if one.code == "unknown")
    # Two corpora that know different things: each attribute is compared where it is known, nothing is crossed.
    halves = pl.concat([table().with_columns(h=pl.lit(None, dtype=pl.String)), _renamed(table())])
    both = parity(halves, attributes=["g", "h"])
    assert {one.group for one in both.findings} <= {"a", "b", None}
    assert both.tables["checklist"].filter(practice="intersectional groups (3.3.1)")["status"][0] != "pass"


def _renamed(frame):
    return frame.with_columns(speaker="z" + pl.col("speaker"), h="g", g=pl.lit(None, dtype=pl.String)).select(
        *frame.columns, "h"
    )


def test_a_value_known_once_is_known():
    rows = pl.concat([table(), table().with_columns(g=pl.lit(None, dtype=pl.String))])
    found = parity(rows, attributes=["g"])
    assert found.detail.speakers.order["g"] == ("a", "b")
    assert found.detail.speakers.people.height == 12


def test_an_attribute_that_varies_within_speakers():
    rows = pl.concat([table(style=["read"] * 12), table(style=["free"] * 12)])
    found = parity(rows, attributes=["g", "style"])
    assert tuple(found.detail.speakers.order) == ("g",)
    assert "several groups" in refused(found, "style")[0].text
    with pytest.raises(VoxauditError, match="no attribute can be compared"):
        parity(rows, attributes=["style"])


def test_an_attribute_with_one_group():
    found = parity(table(country=["fr"] * 12), attributes=["g", "country"])
    assert "one group only" in refused(found, "country")[0].text


def test_rows_that_cannot_be_used_are_counted():
    rows = table(people=14, speaker=[None, ""] + [f"s{n}" for n in range(12)]).with_columns(
        words=pl.when(pl.col("speaker") == "s3")
        .then(0)
        .when(pl.col("speaker") == "s5")
        .then(None)
        .otherwise("words")
    )
    found = parity(rows, attributes=["g"])
    assert found.detail.trials.left_out == {
        "no count of errors or words": 1,
        "no reference words": 1,
        "no speaker": 2,
    }
    assert found.detail.speakers.people.height == 10


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"errors": pl.lit(0.25)}, r"row 1, column 'errors': 0.25 is not a whole number"),
        ({"errors": pl.lit(-1)}, "counts are 0 or more"),
        ({"errors": pl.lit("three")}, "'three' is not a number"),
        ({"words": pl.lit(None, dtype=pl.Int64)}, "no row can be used"),
    ],
)
def test_counts_that_make_no_sense(change, message):
    with pytest.raises(VoxauditError, match=message):
        parity(table().with_columns(**change), attributes=["g"])


def test_the_row_that_is_named_is_the_files():
    clean, noisy = (table().with_columns(scenario=pl.lit(name)) for name in ("noise", "clean"))
    both = pl.concat([clean, noisy]).with_columns(
        errors=pl.when(pl.int_range(pl.len()) == 15).then(-3).otherwise("errors")
    )
    with pytest.raises(VoxauditError, match="row 16, column 'errors': -3 is negative"):
        parity(both, attributes=["g"])
    wide = table().with_columns(a_wer=0.2, b_wer=pl.when(pl.col("speaker") == "s2").then(-0.5).otherwise(0.3))
    with pytest.raises(VoxauditError, match=r"row 3, column 'b_wer': -0\.5 is negative"):
        parity(wide, attributes=["g"], wer_columns=("a_wer", "b_wer"))


def test_rates_that_are_missing_are_counted():
    wide = table().with_columns(
        a_wer=0.2, b_wer=pl.when(pl.col("speaker") == "s2").then(float("nan")).otherwise(0.3)
    )
    found = parity(wide, attributes=["g"], wer_columns=("a_wer", "b_wer"))
    assert found.detail.trials.left_out == {"no count of errors or words": 1}


def test_kinds_of_columns():
    rows = table().with_columns(
        yes=pl.col("g") == "a",
        kind=pl.col("g").cast(pl.Categorical),
        parts=pl.concat_list("g"),
        snr=pl.lit("loud"),
    )
    found = parity(rows, attributes=["yes", "kind"])
    assert found.detail.speakers.order == {"yes": ("false", "true"), "kind": ("a", "b")}
    assert "recording quality" in found.detail.trials.measured.missing
    with pytest.raises(VoxauditError, match="holds lists or records"):
        parity(rows, attributes=["parts"])


def test_columns_that_are_not_there():
    with pytest.raises(VoxauditError, match=r"no column 'gg'"):
        parity(table(), attributes=["gg"])
    with pytest.raises(VoxauditError, match=r"no attributes to compare.*Columns that could be: g"):
        parity(table(), attributes=[])
    with pytest.raises(VoxauditError, match="no column of errors"):
        parity(table().drop("errors"), attributes=["g"])
    with pytest.raises(VoxauditError, match="no group"):
        parity(table(), attributes=["g"], speaker_pattern="^s.*$")
    with pytest.raises(VoxauditError, match="no regular expression"):
        parity(table(), attributes=["g"], speaker_pattern="^(s")


def test_edits_are_added_up():
    rows = table().with_columns(substitutions="errors", deletions=1, insertions=2).drop("errors")
    assert parity(rows, attributes=["g"]).tables["groups"]["wer_pooled"].mean() == pytest.approx(
        parity(table().with_columns(pl.col("errors") + 3), attributes=["g"])
        .tables["groups"]["wer_pooled"]
        .mean()
    )


def test_scenarios():
    clean, noisy = (table().with_columns(scenario=pl.lit(name)) for name in ("clean", "noise"))
    both = pl.concat([clean, noisy.with_columns(errors=pl.col("errors") * 2)])
    assert (
        parity(both, attributes=["g"])
        .tables["groups"]
        .equals(parity(clean, attributes=["g"]).tables["groups"])
    )
    twice = parity(both, attributes=["g"], scenario="noise").tables["groups"]
    assert twice["wer_pooled"][0] == pytest.approx(
        2 * parity(clean, attributes=["g"]).tables["groups"]["wer_pooled"][0]
    )
    with pytest.raises(VoxauditError, match="no scenario 'rain'"):
        parity(both, attributes=["g"], scenario="rain")
    with pytest.raises(VoxauditError, match="none is 'clean'"):
        parity(both.with_columns(pl.col("scenario") + "!"), attributes=["g"])


def test_one_attribute_has_nothing_to_condition_on():
    found = parity(table(), attributes=["g"])
    assert refused(found, "conditional parity")
    assert "conditional" not in found.tables
    statuses = dict(found.tables["checklist"].select("practice", "status").iter_rows())
    assert statuses["conditional parity (3.3.2)"] == "cannot be checked"
    assert statuses["intersectional groups (3.3.1)"] == "cannot be checked"


def test_nested_attributes_are_not_told_apart():
    city = ["x", "y", "z", "w"] * 10
    rows = table(people=40, city=city, country=["s" if name in "xy" else "t" for name in city])
    found = parity(rows, attributes=["country", "city"])
    assert "cannot be told apart" in refused(found, "'country' with 'city' held fixed")[0].text
    assert found.detail.held == {"country": (), "city": ("country",)}
    assert set(found.tables["conditional"]["attribute"]) == {"city"}
    assert refused(found, "'city' in the regressions")
    assert set(found.tables["regression"]["term"]) == {"(intercept)", "country"}


def test_a_speaker_that_one_recognizer_missed():
    both = pl.concat(
        [table().with_columns(recognizer=pl.lit("x")), table().tail(11).with_columns(recognizer=pl.lit("y"))]
    )
    found = parity(both, attributes=["g"])
    assert any("not heard by every recognizer" in note.text for note in found.notes)
    assert found.detail.speakers.table.filter(pl.col("recognizer") == MEAN).height == 11


def test_settings_are_checked():
    for bad in (
        {"confidence": 1.5},
        {"power": 0.0},
        {"gap": 0.0},
        {"bands": ["age=x"]},
        {"bands": ["18"]},
    ):
        with pytest.raises(VoxauditError):
            parity(table(), attributes=["g"], **bad)
    with pytest.raises(VoxauditError, match="bands names 'age'"):
        parity(table(), attributes=["g"], bands={"age": (1.0,)})
    with pytest.raises(VoxauditError, match="does not hold numbers"):
        parity(table(), attributes=["g"], bands={"g": (1.0,)})


def test_hostile_names():
    rows = table(people=16, **{"errors ": ["$a{b}", "x | y", "=1+1", "\x1b[31m"] * 4}).rename(
        {"g": "speaker_"}
    )
    found = parity(rows, attributes=["speaker_", "errors "])
    assert found.detail.speakers.people.height == 16
    assert found.tables["groups"].filter(attribute="errors ").height == 4


OURS = [
    *("snr", "text_words", "unknown_words", "word_frequency", "perplexity_bits"),
    *("utterances", "rate_sum", "wer", "noise", "z"),
    *("plain_utterances", "plain_sum", "wer_utterance_mean", "wer_pooled", "place"),
    *("outliers", "sd", "speakers", "mean", "m2"),
    *("speakers_all", "mean_all", "m2_all", "sigma", "sigma_df"),
    *("sigma_all", "q5", "q25", "q50", "q75"),
    *("q95", "groups", "attribute", "group", "stratum"),
    *("term", "model", "measure", "count", "len"),
    *("rate", "rank", "value", "sex", "@g"),
    *("#snr", "text", "audio", "reference", "g"),
]
"""Names that tables and columns of the audit's own have: an attribute may have them, too."""


@pytest.fixture(scope="module")
def plainly_named():
    rows = table(people=16, other=["p", "q", "r", "p"] * 4, words=[100 - number for number in range(16)])
    return rows, parity(rows, attributes=["g", "other"])


@pytest.mark.slow
@pytest.mark.parametrize("names", list(zip(OURS[::2], OURS[1::2], strict=True)), ids="-".join)
def test_attributes_with_names_of_ours(plainly_named, names):
    rows, expected = plainly_named
    found = parity(rows.rename(dict(zip(("g", "other"), names, strict=True))), attributes=list(names))
    assert tuple(found.detail.speakers.order) == names
    for part in ("groups", "conditional", "pairs", "gaps"):
        mine, theirs = found.tables[part], expected.tables[part]
        assert mine["attribute"].unique(maintain_order=True).to_list() == list(names)
        dropped = ["attribute", "held", "cautions"]
        assert mine.drop(dropped, strict=False).equals(theirs.drop(dropped, strict=False))
    assert found.tables["regression"]["p"].to_list() == expected.tables["regression"]["p"].to_list()
    crossed = [
        one.tables["intersectional"].drop("group", "attribute", "cautions") for one in (found, expected)
    ]
    assert crossed[0].equals(crossed[1])


def test_an_attribute_with_a_group_for_everybody():
    people = 300
    rows = table(
        people=people,
        town=[f"t{number}" for number in range(people)],
        street=[f"r{number // 2}" for number in range(people)],
    )
    found = parity(rows, attributes=["town", "street", "g"])
    assert refused(found, "regression")
    for name in ("town", "street"):  # of one and of two speakers
        pairs = found.tables["pairs"].filter(attribute=name)
        assert (pairs.height, pairs["p"].count()) == (24 * 23 // 2, 0)
    assert any(note.code == "most_paired" for note in found.notes)
    alone = refused(found, "'town' = ")[0]
    assert (alone.code, len(alone.facts["groups"])) == ("one_speaker", 24)
    assert refused(found, "'street' = ")[0].code == "too_few_speakers"


def test_four_speakers_without_errors_are_not_enough():
    found = parity(table(people=4, errors=[0] * 4), attributes=["g"])
    check = practice(found, "enough speakers (3.4.1)")
    assert check["status"] == "cannot be checked"
    (finding,) = found.findings
    assert (finding.verdict, finding.code) == ("refused", "too_few_errors")
    assert finding.sentence.endswith("cannot be tested: no error was made for either group.")
    assert "percentage points" not in finding.sentence


def test_a_group_without_errors_is_compared():
    found = parity(
        table(people=24, errors=[0 if number % 2 else 10 + number % 7 for number in range(24)]),
        attributes=["g"],
    )
    pair = found.tables["pairs"].row(0, named=True)
    assert (pair["group"], pair["verdict"], pair["ratio"]) == ("a", "shown", None)
    assert 0.0 < pair["low"] < pair["estimate"] < pair["high"]


def test_groups_of_dozens_are_not_rare_and_lack_nobody():
    generator = np.random.default_rng(1)
    sizes = {"x": 48, "y": 36, "z": 26}
    rows = [
        {"speaker": f"{town}{n}", "town": town, "errors": int(errors), "words": 100}
        for (town, size), rate in zip(sizes.items(), (5, 12, 17), strict=True)
        for n, errors in enumerate(generator.poisson(rate * np.exp(0.6 * generator.standard_normal(size))))
    ]
    found = parity(pl.DataFrame(rows), attributes=["town"])
    assert practice(found, "rare groups aggregated (3.5.1)")["status"] == "pass"
    (finding,) = found.findings
    assert (finding.group, finding.against, finding.verdict) == ("z", "x", "shown")
    # A gap that is shown needs no more speakers: how many a smaller one would need stands in the checklist, once.
    said = str(found)
    assert "too few" not in said
    assert "more needed" not in said
    assert "speakers on each side (Eq. 1)" in practice(found, "enough speakers (3.4.1)")["why"]
    small = parity(
        pl.DataFrame(rows).filter((pl.col("town") == "x") | pl.col("speaker").str.ends_with("1")),
        attributes=["town"],
    )
    assert "town = y, town = z" in practice(small, "rare groups aggregated (3.5.1)")["why"]
