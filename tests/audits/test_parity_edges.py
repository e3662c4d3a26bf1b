"""What a table can do to the audit: a clear refusal, a group of its own, never a crash or a silent drop."""

import numpy as np
import polars as pl
import pytest

from voxaudit.audits.parity import Columns, Settings, parity
from voxaudit.audits.parity.options import RESERVED
from voxaudit.errors import VoxauditError


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
    return [refusal for refusal in found.refusals if part in refusal.what]


def test_no_speaker_column_is_refused_with_a_way_out():
    with pytest.raises(VoxauditError, match=r"no column 'speaker'.*--speaker.*--surrogate-speaker"):
        parity(table().drop("speaker"), ["g"])


def test_surrogate_speakers_are_labelled_everywhere():
    public = (
        pl.concat([table(people=40)] * 3)
        .drop("speaker")
        .with_columns(age=pl.int_range(pl.len()) % 5 + 30, first=pl.int_range(pl.len()) % 3)
    )
    found = parity(public, ["g", "age", "first"], columns=Columns(surrogate=True))
    assert found.surrogate == ("g", "age", "first")
    assert found.people.height == 30
    assert found.to_dict()["about"]["speakers_are"] == "surrogate"
    assert all("speakers are not known" in cautions[0] for cautions in found.univariate["cautions"].to_list())
    check = {check.practice: check for check in found.checklist}["groups measured by speakers (3.4)"]
    assert check.status == "cannot be checked"
    with pytest.raises(VoxauditError, match="leave out --surrogate-speaker"):
        parity(table(), ["g"], columns=Columns(surrogate=True))


def test_one_speaker_a_group():
    found = parity(table(g=["a"] * 11 + ["lonely"]), ["g"])
    lonely = found.univariate.filter(group="lonely").row(0, named=True)
    assert lonely["speakers"] == 1
    assert lonely["p"] is None
    assert lonely["ci_low"] is None
    assert lonely["wer_speaker_mean"] is not None
    assert "refused" in lonely["verdict"]
    assert lonely["enough_speakers"] is False
    [refusal] = refused(found, "'g' = 'lonely'")
    assert "one speaker" in refusal.why
    assert found.gaps.row(0, named=True)["p"] is None


def test_every_group_is_one_speaker():
    found = parity(table(people=4, g=["a", "b", "c", "d"]), ["g"])
    assert found.univariate["p"].null_count() == 4
    assert found.univariate["speakers_needed"].null_count() == 4
    assert len(refused(found, "'g' =")) == 4


def test_empty_cells():
    # No ill women at all: the interaction cannot be estimated, and illness is compared among men only.
    found = parity(
        table(people=24, sex=["m", "m", "f"] * 8, ill=["yes", "no", "no"] * 8).drop("g"), ["sex", "ill"]
    )
    ill = found.conditional.filter(attribute="ill", group="yes").row(0, named=True)
    assert (ill["strata"], ill["speakers_used"], ill["rest_speakers"]) == (1, 8, 8)
    assert found.intersectional.height == 3
    assert found.regression["model"].unique().to_list() == ["main effects"]
    assert "nobody differs" in refused(found, "regression with interactions")[0].why
    assert "sex=f, ill=yes" in refused(found, "1 of 4 intersectional groups")[0].why


def test_groups_with_all_words_wrong():
    found = parity(
        table(people=20, errors=[100 if number % 2 else 20 + number for number in range(20)]), ["g"]
    )
    b = found.univariate.filter(group="b").row(0, named=True)
    assert (b["wer_speaker_mean"], b["sd"]) == (1.0, 0.0)
    assert b["p"] < 1e-6
    everybody = parity(table(errors=[100] * 12), ["g"])
    assert everybody.univariate["p"].null_count() == 2
    assert "no spread" in refused(everybody, "'g' = 'a'")[0].why
    beyond = parity(table(errors=[250] * 6 + [180] * 5 + [170]), ["g"])
    assert beyond.univariate["wer_speaker_mean"].min() > 1


def test_no_errors_at_all():
    found = parity(table(errors=[0] * 12), ["g"])
    assert found.univariate["err_rel"].null_count() == 2
    assert "no error at all" in refused(found, "recognizer")[0].why


def test_missing_values_are_a_group():
    found = parity(table(g=["a", "b", None, "", " ", "a", "b", "a", "b", "a", "b", "a"]), ["g"])
    assert found.order["g"] == ("a", "b", "(missing)")
    assert found.univariate.filter(group="(missing)")["speakers"][0] == 3
    assert found.univariate["speakers"].sum() == 12


def test_a_value_known_once_is_known():
    rows = pl.concat([table(), table().with_columns(g=pl.lit(None, dtype=pl.String))])
    found = parity(rows, ["g"])
    assert found.order["g"] == ("a", "b")
    assert found.people.height == 12


def test_an_attribute_that_varies_within_speakers():
    rows = pl.concat([table(style=["read"] * 12), table(style=["free"] * 12)])
    found = parity(rows, ["g", "style"])
    assert found.attributes == ("g",)
    assert "several groups" in refused(found, "attribute 'style'")[0].why
    with pytest.raises(VoxauditError, match="no attribute can be compared"):
        parity(rows, ["style"])


def test_an_attribute_with_one_group():
    found = parity(table(country=["fr"] * 12), ["g", "country"])
    assert "one group only" in refused(found, "attribute 'country'")[0].why


def test_rows_that_cannot_be_used_are_counted():
    rows = table(people=14, speaker=[None, ""] + [f"s{n}" for n in range(12)]).with_columns(
        words=pl.when(pl.col("speaker") == "s3")
        .then(0)
        .when(pl.col("speaker") == "s5")
        .then(None)
        .otherwise("words")
    )
    found = parity(rows, ["g"])
    assert found.left_out == {"no count of errors or words": 1, "no reference words": 1, "no speaker": 2}
    assert found.people.height == 10


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"errors": pl.lit(0.25)}, r"row 1: column 'errors' is 0.25.*--wer"),
        ({"errors": pl.lit(-1)}, "counts are whole and not negative"),
        ({"errors": pl.lit("three")}, "does not hold numbers, for example 'three'"),
        ({"words": pl.lit(None, dtype=pl.Int64)}, "no row can be used"),
    ],
)
def test_counts_that_make_no_sense(change, message):
    with pytest.raises(VoxauditError, match=message):
        parity(table().with_columns(**change), ["g"])


def test_the_row_that_is_named_is_the_files():
    clean, noisy = (table().with_columns(scenario=pl.lit(name)) for name in ("noise", "clean"))
    both = pl.concat([clean, noisy]).with_columns(
        errors=pl.when(pl.int_range(pl.len()) == 15).then(-3).otherwise("errors")
    )
    with pytest.raises(VoxauditError, match="row 16: column 'errors' is -3"):
        parity(both, ["g"])
    wide = table().with_columns(a_wer=0.2, b_wer=pl.when(pl.col("speaker") == "s2").then(-0.5).otherwise(0.3))
    with pytest.raises(VoxauditError, match="row 3: column"):
        parity(wide, ["g"], columns=Columns(wer=("a_wer", "b_wer")))


def test_rates_that_are_missing_are_counted():
    wide = table().with_columns(
        a_wer=0.2, b_wer=pl.when(pl.col("speaker") == "s2").then(float("nan")).otherwise(0.3)
    )
    found = parity(wide, ["g"], columns=Columns(wer=("a_wer", "b_wer")))
    assert found.left_out == {"no count of errors or words": 1}


def test_kinds_of_columns():
    rows = table().with_columns(
        yes=pl.col("g") == "a",
        kind=pl.col("g").cast(pl.Categorical),
        parts=pl.concat_list("g"),
        snr=pl.lit("loud"),
    )
    found = parity(rows, ["yes", "kind"])
    assert found.order == {"yes": ("false", "true"), "kind": ("a", "b")}
    assert "recording quality" in found.missing
    with pytest.raises(VoxauditError, match="holds lists or records"):
        parity(rows, ["parts"])


def test_columns_that_are_not_there():
    with pytest.raises(VoxauditError, match=r"no column 'gg'"):
        parity(table(), ["gg"])
    with pytest.raises(VoxauditError, match=r"no attributes to compare.*Columns that could be: g"):
        parity(table(), [])
    with pytest.raises(VoxauditError, match="no column of errors"):
        parity(table().drop("errors"), ["g"])
    with pytest.raises(VoxauditError, match="no group"):
        parity(table(), ["g"], columns=Columns(speaker_pattern="^s.*$"))
    with pytest.raises(VoxauditError, match="no regular expression"):
        parity(table(), ["g"], columns=Columns(speaker_pattern="^(s"))


def test_edits_are_added_up():
    rows = table().with_columns(substitutions="errors", deletions=1, insertions=2).drop("errors")
    assert parity(rows, ["g"]).univariate["wer_pooled"].mean() == pytest.approx(
        parity(table().with_columns(pl.col("errors") + 3), ["g"]).univariate["wer_pooled"].mean()
    )


def test_scenarios():
    clean, noisy = (table().with_columns(scenario=pl.lit(name)) for name in ("clean", "noise"))
    both = pl.concat([clean, noisy.with_columns(errors=pl.col("errors") * 2)])
    assert parity(both, ["g"]).univariate.equals(parity(clean, ["g"]).univariate)
    twice = parity(both, ["g"], settings=Settings(scenario="noise")).univariate
    assert twice["wer_pooled"][0] == pytest.approx(2 * parity(clean, ["g"]).univariate["wer_pooled"][0])
    with pytest.raises(VoxauditError, match="no scenario 'rain'"):
        parity(both, ["g"], settings=Settings(scenario="rain"))
    with pytest.raises(VoxauditError, match="none is 'clean'"):
        parity(both.with_columns(pl.col("scenario") + "!"), ["g"])


def test_one_attribute_has_nothing_to_condition_on():
    found = parity(table(), ["g"])
    assert refused(found, "conditional parity")
    assert found.conditional.height == 0
    statuses = {check.practice: check.status for check in found.checklist}
    assert statuses["conditional parity (3.3.2)"] == "cannot be checked"
    assert statuses["intersectional groups (3.3.1)"] == "cannot be checked"


def test_nested_attributes_are_not_told_apart():
    city = ["x", "y", "z", "w"] * 10
    rows = table(people=40, city=city, country=["s" if name in "xy" else "t" for name in city])
    found = parity(rows, ["country", "city"])
    assert "cannot be told apart" in refused(found, "'country' with 'city' held fixed")[0].why
    assert found.held == {"country": (), "city": ("country",)}
    assert set(found.conditional["attribute"]) == {"city"}
    assert refused(found, "'city' in the regressions")
    assert set(found.regression["term"]) == {"(intercept)", "country"}


def test_a_speaker_that_one_recognizer_missed():
    both = pl.concat(
        [table().with_columns(recognizer=pl.lit("x")), table().tail(11).with_columns(recognizer=pl.lit("y"))]
    )
    found = parity(both, ["g"])
    assert any("not heard by every recognizer" in line for line in found.notes)
    assert found.speakers.filter(pl.col("recognizer") == found.main).height == 11


def test_settings_are_checked():
    for bad in (
        {"confidence": 1.5},
        {"power": 0.0},
        {"gap": 0.0},
        {"correction": "none"},
        {"outlier_z": 0.0},
    ):
        with pytest.raises(VoxauditError):
            Settings(**bad)
    with pytest.raises(VoxauditError, match="--bands names 'age'"):
        parity(table(), ["g"], settings=Settings(bands={"age": (1.0,)}))
    with pytest.raises(VoxauditError, match="does not hold numbers"):
        parity(table(), ["g"], settings=Settings(bands={"g": (1.0,)}))


def test_hostile_names():
    rows = table(people=16, **{"errors ": ["$a{b}", "x | y", "=1+1", "\x1b[31m"] * 4}).rename(
        {"g": "speaker_"}
    )
    found = parity(rows, ["speaker_", "errors "])
    assert found.people.height == 16
    assert found.univariate.filter(attribute="errors ").height == 4


@pytest.mark.parametrize("name", sorted(RESERVED - {"recognizer", "speaker", "utterance", "errors", "words"}))
def test_attributes_with_names_of_ours(name):
    check_name(name, f"attribute_{name}")


@pytest.mark.parametrize(
    "name",
    [
        "groups",
        "attribute",
        "group",
        "stratum",
        "term",
        "model",
        "measure",
        "count",
        "len",
        "rate",
        "turn",
        "sex",
    ],
)
def test_attributes_with_common_names(name):
    check_name(name, name)


def check_name(name, shown):
    rows = table(people=16, other=["p", "q", "r", "p"] * 4, words=[100 - number for number in range(16)])
    found = parity(rows.rename({"g": name}), [name, "other"])
    assert found.attributes == (shown, "other")
    expected = parity(rows, ["g", "other"])
    for part in ("univariate", "conditional", "pairs", "gaps"):
        assert getattr(found, part).drop("attribute").equals(getattr(expected, part).drop("attribute"))
    assert found.regression["p"].to_list() == expected.regression["p"].to_list()
    assert found.intersectional.drop("group").equals(expected.intersectional.drop("group"))


def test_an_attribute_with_a_group_for_everybody():
    people = 300
    rows = table(
        people=people,
        town=[f"t{number}" for number in range(people)],
        street=[f"r{number // 2}" for number in range(people)],
    )
    found = parity(rows, ["town", "street", "g"])
    assert found.univariate.filter(attribute="town")["p"].null_count() == people
    assert refused(found, "regression")
    assert found.gaps.filter(attribute="street")["pairs"][0] == 150 * 149 // 2
    assert found.gaps.filter(attribute="street")["p"][0] is not None
    assert found.pairs.filter(attribute="street").height == 100 * 99 // 2
    assert any("compared pair by pair" in line for line in found.notes)
