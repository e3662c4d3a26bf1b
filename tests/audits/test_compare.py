"""The comparison of two runs: pairing, verdicts, planted regressions, and how often it cries wolf."""

import json
import xml.etree.ElementTree as ElementTree

import numpy as np
import polars as pl
import pytest

from voxaudit.audits.compare import compare
from voxaudit.cli.main import main
from voxaudit.errors import VoxauditError

ALPHA = 0.05


def pool(seed=0, speakers=40):
    """Return errors of two sides that differ by chance only: per speaker, utterance and scenario."""
    rng = np.random.default_rng(seed)
    rows = []
    for speaker in range(speakers):
        rate = 0.12 * np.exp(rng.normal(0, 0.6))
        for utterance in range(int(rng.integers(3, 9))):
            words = int(rng.integers(3, 18))
            for number, scenario in enumerate(("clean", "gaussian_noise:2", "rir:2")):
                hard = rate * (1 + 1.5 * number)
                one, two = rng.poisson(hard * np.exp(rng.normal(0, 0.5, 2)) * words)
                rows.append((speaker, utterance, scenario, "fm"[speaker % 2], words, int(one), int(two)))
    schema = ["person", "number", "scenario", "gender", "words", "base", "new"]
    return pl.DataFrame(rows, schema=schema, orient="row")


def drawn(table, rng):
    """Return two scores tables: speakers drawn with replacement, the sides of each swapped by a coin."""
    people = table["person"].unique().sort().to_numpy()
    parts = []
    for place, person in enumerate(rng.choice(people, len(people))):
        part = table.filter(pl.col("person") == person)
        if rng.random() < 0.5:
            part = part.rename({"base": "new", "new": "base"}).select(table.columns)
        parts.append(part.with_columns(person=pl.lit(place, dtype=pl.Int64)))
    return sides(pl.concat(parts))


def sides(table, recognizers=("asr", "asr")):
    def side(errors, name):
        return table.select(
            utterance=pl.format("{}-{}", "person", "number"),
            speaker=pl.format("s{}", "person"),
            scenario="scenario",
            recognizer=pl.lit(name),
            hits=pl.lit(0),
            substitutions=errors,
            deletions=pl.lit(0),
            insertions=pl.lit(0),
            words="words",
            characters=pl.lit(1),
            character_errors=pl.lit(0),
            gender="gender",
        )

    return side("base", recognizers[0]), side("new", recognizers[1])


def planted(table, times=1.0, plus=0.08):
    """Return the table with a regression for one group only."""
    worse = (pl.col("base") * times + plus * pl.col("words")).round().cast(pl.Int64)
    return table.with_columns(new=pl.when(pl.col("gender") == "f").then(worse).otherwise(pl.col("base")))


def test_rates_and_differences_are_ratios_of_sums():
    table = pool()
    found = compare(*sides(table), attributes=["gender"])
    whole = found.slices[0]
    assert (whole.scenario, whole.attribute) == (None, None)
    assert whole.wer_base == pytest.approx(table["base"].sum() / table["words"].sum())
    assert whole.difference == pytest.approx((table["new"] - table["base"]).sum() / table["words"].sum())
    women = next(one for one in found.slices if one.group == "f")
    part = table.filter(pl.col("gender") == "f")
    assert women.wer_new == pytest.approx(part["new"].sum() / part["words"].sum())
    assert women.speakers == part["person"].n_unique()
    assert {one.label for one in found.slices} == {
        *("all trials", "clean", "gaussian_noise:2", "rir:2", "gender f", "gender m")
    }


def test_a_run_against_itself_is_a_tie_everywhere():
    base, _ = sides(pool())
    found = compare(base, base, attributes=["gender"])
    assert {one.verdict for one in found.slices} == {"tie"}
    assert {one.difference for one in found.slices} == {0.0}


def test_a_planted_regression_in_one_group_is_found_and_named():
    found = compare(*sides(planted(pool())), attributes=["gender"])
    named = {one.label for one in found.regressions}
    assert "gender f" in named
    assert "gender m" not in named
    assert not found.improvements


def test_the_other_way_round_is_an_improvement():
    base, new = sides(planted(pool()))
    found = compare(new, base, attributes=["gender"])
    assert "gender f" in {one.label for one in found.improvements}
    assert not found.regressions


def test_nothing_changed_is_called_worse_at_the_nominal_rate():
    rng = np.random.default_rng(7)
    table = pool()
    runs = [compare(*drawn(table, rng), attributes=["gender"], alpha=ALPHA, seed=seed) for seed in range(200)]
    worse = sum(bool(found.regressions) for found in runs)
    either = sum(bool(found.regressions or found.improvements) for found in runs)
    # 99.9 % limits of 200 fair draws at 2.5 and 5 %.
    assert 0 <= worse <= 13
    assert 1 <= either <= 21


def test_fewer_than_six_speakers_are_undecided_not_ties():
    table = planted(pool()).filter(pl.col("person") < 5)
    found = compare(*sides(table))
    assert {one.verdict for one in found.slices} == {"undecided"}
    assert not found.regressions
    assert "too few" in found.notes[0]


def test_only_shared_trials_are_compared_and_the_others_counted():
    base, new = sides(pool())
    found = compare(base.filter(pl.col("scenario") != "rir:2"), new.filter(pl.col("speaker") != "s0"))
    assert (
        found.only_base == base.filter((pl.col("speaker") == "s0") & (pl.col("scenario") != "rir:2")).height
    )
    assert found.only_new == new.filter((pl.col("speaker") != "s0") & (pl.col("scenario") == "rir:2")).height
    assert {one.scenario for one in found.slices} == {None, "clean", "gaussian_noise:2"}


def test_one_recognizer_each_is_compared_whatever_the_names():
    found = compare(*sides(pool(), ("v1", "v2")))
    assert found.recognizers == {"v1": "v2"}


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda t: t.with_columns(speaker=pl.lit(None, dtype=pl.String)), "who speaks"),
        (lambda t: t.with_columns(words=pl.col("words") + 1), "other reference words"),
        (lambda t: pl.concat([t, t]), "twice"),
        (lambda t: t.with_columns(utterance=pl.lit("?") + pl.col("utterance")), "share no trial"),
        (lambda t: t.drop("words"), "no column 'words'"),
        (
            lambda t: t.with_columns(recognizer=pl.lit("a")).vstack(t.with_columns(recognizer=pl.lit("b"))),
            "belong",
        ),
    ],
)
def test_what_cannot_be_compared_is_said_in_one_line(spoil, message):
    base, new = sides(pool(speakers=8))
    with pytest.raises(VoxauditError, match=message) as caught:
        compare(base, spoil(new))
    assert "\n" not in str(caught.value)


def test_a_slice_without_words_has_no_rate():
    table = pool(speakers=8).with_columns(
        words=pl.when(pl.col("scenario") == "rir:2").then(0).otherwise(pl.col("words"))
    )
    found = compare(*sides(table))
    silent = next(one for one in found.slices if one.scenario == "rir:2")
    assert silent.wer_base is None
    assert silent.verdict == "undecided"


def test_the_command_passes_itself_and_stops_a_regression(tmp_path, capsys):
    base, new = sides(planted(pool()))
    base.write_parquet(tmp_path / "base.parquet")
    new.write_csv(tmp_path / "new.csv")
    paths = [str(tmp_path / "base.parquet"), str(tmp_path / "new.csv")]
    assert main(["compare", paths[0], paths[0], "--attributes", "gender"]) == 0
    assert "tie" in capsys.readouterr().out
    out = tmp_path / "out"
    assert main(["compare", *paths, "--attributes", "gender", "--out", str(out)]) == 1
    said = capsys.readouterr()
    assert "gate failed: no significant regression: asr got worse on" in said.err
    assert "got worse on f (gender): WER" in said.err
    assert "change, interval and noise in percentage points" in said.out
    case = ElementTree.parse(out / "junit.xml").getroot().find(".//testcase")
    assert case is not None
    assert "f (gender)" in case.find("failure").get("message")
    assert "f (gender)" in (out / "summary.md").read_text(encoding="utf-8")
    assert "gender f" in (out / "report.html").read_text(encoding="utf-8")


def test_json_is_one_document(tmp_path, capsys):
    base, new = sides(pool())
    base.write_parquet(tmp_path / "a.parquet")
    new.write_parquet(tmp_path / "b.parquet")
    main(["compare", str(tmp_path / "a.parquet"), str(tmp_path / "b.parquet"), "--json"])
    document = json.loads(capsys.readouterr().out)
    assert document["pairs"] == base.height
    assert {"recognizer", "difference", "noise", "p", "verdict"} <= set(document["slices"][0])


def test_mistakes_on_the_command_line_are_one_line(tmp_path, capsys):
    base, _ = sides(pool(speakers=8))
    path = str(tmp_path / "a.parquet")
    base.write_parquet(path)
    for extra, message in (
        (["--recognizers", "asr"], "OLD=NEW"),
        (["--recognizers", "asrr=asr"], "Did you mean"),
        (["--alpha", "2"], "alpha"),
        (["--margin", "-1"], "margin"),
        (["--attributes", "gendre"], "gender"),
    ):
        assert main(["compare", path, path, *extra]) == 2
        err = capsys.readouterr().err
        assert message in err
        assert err.count("\n") == 1


def test_a_run_without_scored_trials_is_one_line():
    base, new = sides(pool(speakers=8))
    for pair, side in (((base.clear(), new), "base"), ((base, new.clear()), "new")):
        with pytest.raises(VoxauditError, match=f"the {side} run has no scored trial"):
            compare(*pair)
