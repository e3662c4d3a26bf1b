"""`voxaudit differential` from the outside: transcripts in, one document or tables out."""

from __future__ import annotations

import json
from itertools import product

import numpy as np
import polars as pl
import pytest

from voxaudit.cli.main import main

SCENARIOS = {"clean": 0.05, "noise:theta=10": 0.12, "noise:theta=2": 0.3, "hp:theta=500": 0.1}
WORDS = np.array(
    ["alpha", "bravo", "charlie", "delta", "echo", "foxtrot", "golf", "hotel", "india", "juliet"]
)


def transcripts(speakers: int, gap: float, seed: int = 1) -> pl.DataFrame:
    """Two recognizers that miss words at rates of the speaker's own; women lose `gap` more in noise."""
    generator = np.random.default_rng(seed)
    rows = []
    texts = generator.choice(WORDS, (speakers, 4, 12))
    for person, scenario, turn in product(range(speakers), SCENARIOS, range(4)):
        gender = "female" if person % 2 else "male"
        said = texts[person, turn]
        rate = SCENARIOS[scenario] * (0.7 + 0.06 * (person % 11))
        rate += gap * (gender == "female") * scenario.startswith("noise")
        for recognizer in ("one", "two"):
            heard = [str(w) if generator.random() > rate else f"{recognizer[0]}{w[1:]}" for w in said]
            rows.append(
                {
                    "utterance": f"{person}-{turn}",
                    "scenario": scenario,
                    "recognizer": recognizer,
                    "text": " ".join(heard).title() + ".",
                    "speaker": f"p{person}",
                    "gender": gender,
                    "reference": " ".join(said),
                }
            )
    return pl.DataFrame(rows)


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    path = tmp_path_factory.mktemp("differential") / "transcripts.parquet"
    transcripts(24, 0.35).write_parquet(path)
    return path


def document(capsys, *arguments):
    assert main(["differential", *map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def rows(document, table):
    """The rows of a table of an answer, as records."""
    [found] = [one for one in document["tables"] if one["id"] == table]
    return [dict(zip(found["names"], row, strict=True)) for row in found["rows"]]


def by_group(document, table, column):
    return {row["group"]: row[column] for row in rows(document, table)}


@pytest.mark.slow
def test_a_planted_gap_is_found_and_survives(planted, capsys) -> None:
    found = document(capsys, planted, "--attribute", "gender", "--full")
    assert by_group(found, "groups", "surviving")["female"] > 0
    assert by_group(found, "groups", "surviving")["male"] == 0
    hp = [row for row in rows(found, "counts") if (row["by"], row["value"]) == ("perturbation", "hp")]
    assert [row["surviving"] for row in hp] == [0, 0]
    violations = rows(found, "violations")
    assert sum(by_group(found, "groups", "violations").values()) == len(violations)
    strong = [row for row in violations if row["verdict"] == "shown"]
    assert {(row["group"], row["against"], row["pair"]) for row in strong} == {
        ("female", "male", "one and two")
    }
    assert {row["setting"] for row in strong} == {"2", "10"}
    assert all(row["low"] < row["gap"] < row["high"] and row["gap"] > row["tau"] for row in strong)
    high = by_group(found, "groups", "by_chance_high")
    assert by_group(found, "groups", "violations")["female"] > high["female"]
    assert by_group(found, "groups", "violations")["male"] <= high["male"]
    [survived] = [row for row in rows(found, "agreement") if row["cells"] == "survive the test"]
    assert survived["both"] == 2
    wer = by_group(found, "groups", "wer_violations")
    assert wer["female"] > wer["male"]


def test_findings_say_who_is_hurt_by_how_much_and_count_for_the_gate(planted, capsys) -> None:
    found = document(capsys, planted, "--attribute", "gender")
    wer, drift, clean, count = found["findings"]
    assert wer["id"] == "differential/gender/female/male/wer_growth"
    assert drift["id"] == "differential/gender/female/male/disagreement_growth"
    for finding in (wer, drift):
        assert (finding["group"], finding["against"], finding["verdict"]) == ("female", "male", "shown")
        assert finding["p"] <= finding["p_adjusted"] <= 0.05
        assert 0.01 < finding["low"] < finding["estimate"] < finding["high"]
    assert (wer["headline"], drift["headline"], clean["headline"], count["headline"]) == (
        True,
        False,
        False,
        False,
    )
    gap = f"{100 * wer['estimate']:.1f} percentage points ({100 * wer['low']:.1f} to {100 * wer['high']:.1f})"
    assert (
        f"raises the word error rate by {gap} more for female speakers (gender) than for male speakers"
        in wer["sentence"]
    )
    [row] = [row for row in rows(found, "growth") if row["by"] == "error rates"]
    assert (row["gap"], row["low"], row["high"]) == (wer["estimate"], wer["low"], wer["high"])
    assert row["value"] - row["value_against"] == pytest.approx(row["gap"])
    assert (clean["measure"], clean["verdict"]) == ("clean_disagreement", "not_shown")
    assert (count["id"], count["verdict"], count["unit"]) == (
        "differential/gender/violations",
        "shown",
        "count",
    )
    assert count["estimate"] == len(rows(found, "surviving")) == 2
    assert "2 of 3 comparisons" in count["sentence"]
    assert "female against male in 2" in count["sentence"]
    assert wer["command"] == "voxaudit differential transcripts.parquet --attribute gender"
    assert found["question"]["tau"] == [0.01, 0.05, 0.1, 0.15]


def test_where_nothing_survives_findings_say_so(capsys, tmp_path) -> None:
    transcripts(24, 0.0).drop("reference").write_parquet(tmp_path / "t.parquet")
    drift, clean, count = document(capsys, tmp_path / "t.parquet", "--attribute", "gender")["findings"]
    assert (count["verdict"], count["estimate"]) == ("not_shown", 0)
    assert count["p_adjusted"] > 0.05
    assert "none of 3 comparisons" in count["sentence"]
    assert (drift["measure"], drift["verdict"], drift["headline"]) == (
        "disagreement_growth",
        "not_shown",
        True,
    )
    assert (clean["measure"], clean["verdict"]) == ("clean_disagreement", "not_shown")


def test_limits_by_name_and_by_comprehensibility(planted, capsys) -> None:
    asked = ("--attribute", "gender", "--full")
    found = document(capsys, planted, *asked, "--exclude", "Noise:2,HP", "--tau", "0.05")
    assert {row["scenario"] for row in rows(found, "distances")} == {"noise:theta=10"}
    assert {row["value"] for row in rows(found, "counts") if row["by"] == "tolerance"} == {"0.05"}
    assert found["question"]["exclude"] == ["Noise:2", "HP"]
    found = document(capsys, planted, *asked, "--min-comprehensibility", "7.2")
    assert {row["scenario"] for row in rows(found, "distances")} == {"noise:theta=10", "hp:theta=500"}
    assert [note["facts"] for note in found["notes"]] == [{"what": "scenarios rated under 7.2", "count": 1}]


def test_tables_for_people(planted, capsys) -> None:
    assert main(["differential", str(planted), "--attribute", "gender"]) == 0
    out = capsys.readouterr().out
    for text in ("Violations by gender", "that survive", "What all disturbances together cost", "kappa"):
        assert text in out


def test_a_picture_of_the_gaps(planted, capsys, tmp_path) -> None:
    path = tmp_path / "gaps.svg"
    assert main(["differential", str(planted), "--attribute", "gender", "--plot", str(path)]) == 0
    assert "female against male: noise:theta=2" in path.read_text()


def test_csv_and_failed_trials(planted, capsys, tmp_path) -> None:
    table = pl.read_parquet(planted).with_columns(failure=pl.lit(""))
    table[0, "failure"] = "it crashed"
    table.write_csv(tmp_path / "t.csv")
    found = document(capsys, tmp_path / "t.csv", "--attribute", "gender")
    assert {"what": "trials without a transcript", "count": 1} in [note["facts"] for note in found["notes"]]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--attribute", "sex"], "no column 'sex'"),
        ([], "such as gender or accent (see --attribute)"),
        (["--attribute", "gender", "--normalizer", "basics"], "Unknown normalizer"),
        (
            ["--attribute", "gender", "--ratings", "nowhere.csv", "--min-comprehensibility", "7"],
            "nowhere.csv: no such file",
        ),
        (["--attribute", "gender", "--corpus", "x"], "no column 'corpus', so nothing can be chosen by it"),
        (["--attribute", "gender", "--scenario", "noise:2"], "no scenario 'noise:2'"),
        (["--attribute", "gender", "--where", "age>=18"], "no column 'age' to choose by"),
    ],
)
def test_mistakes_are_one_line(planted, capsys, arguments, message) -> None:
    assert main(["differential", str(planted), *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert message in captured.err


def test_a_reference_in_some_rows_of_an_utterance_is_found_and_two_are_refused(
    planted, capsys, tmp_path
) -> None:
    table, path = pl.read_parquet(planted), tmp_path / "t.parquet"
    asked = ("--attribute", "gender")
    whole = by_group(document(capsys, planted, *asked), "groups", "wer_violations")
    assert sum(whole.values()) > 0
    clean = pl.when(pl.col("scenario") == "clean").then("reference").alias("reference")
    table.with_columns(clean).reverse().write_parquet(path)
    assert by_group(document(capsys, path, *asked), "groups", "wer_violations") == whole
    table[5, "reference"] = "something else"
    table.write_parquet(path)
    assert main(["differential", str(path), *asked]) == 2
    assert "has several references" in capsys.readouterr().err


@pytest.mark.parametrize("column", ["utterance", "scenario", "recognizer"])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_row_that_does_not_say_what_it_is_about(planted, capsys, tmp_path, column, ending) -> None:
    table = pl.read_parquet(planted)
    table[3, column] = None
    path = tmp_path / f"t.{ending}"
    table.write_csv(path) if ending == "csv" else table.write_parquet(path)
    assert main(["differential", str(path), "--attribute", "gender"]) == 2
    assert capsys.readouterr().err == (
        f"voxaudit: error: {path}, row 4: column {column} is empty; fill it in or leave the row out\n"
    )


def test_a_file_that_is_no_parquet(capsys, tmp_path) -> None:
    (tmp_path / "t.parquet").write_text("nonsense")
    assert main(["differential", str(tmp_path / "t.parquet"), "--attribute", "gender"]) == 2
    assert "cannot read this table" in capsys.readouterr().err


def test_ratings_without_a_threshold_are_refused(planted, capsys, tmp_path) -> None:
    (tmp_path / "ratings.csv").write_text("perturbation,setting,rating\nnoise,2,9\n")
    arguments = [str(planted), "--attribute", "gender", "--ratings", str(tmp_path / "ratings.csv")]
    assert main(["differential", *arguments]) == 2
    assert "--min-comprehensibility" in capsys.readouterr().err


def test_many_small_groups_are_refused_in_one_line(planted, capsys) -> None:
    found = document(capsys, planted, "--attribute", "speaker")
    [refusal] = found["refusals"]
    assert refusal["code"] == "too_few_speakers"
    assert "and 18 more are counted but not tested" in refusal["text"]
    comparisons = [
        row for row in rows(found, "comparisons") if row["of"] == "all" and row["by"] == "distances"
    ]
    assert len(comparisons) == 24 * 23 // 2
    assert {(row["p"], row["verdict"], row["code"]) for row in comparisons} == {
        (None, "refused", "too_few_speakers")
    }


def test_a_runs_folder_gives_the_same_as_its_table(planted, capsys, tmp_path) -> None:
    table = pl.read_parquet(planted)
    known = table.select("utterance", "speaker", "reference", "gender").unique(
        "utterance", maintain_order=True
    )
    known.rename({"utterance": "id", "reference": "text"}).with_columns(
        audio=pl.lit(""), start=pl.lit(None, dtype=pl.Float64), duration=pl.lit(None, dtype=pl.Float64)
    ).write_parquet(tmp_path / "corpus.parquet")
    table.select("utterance", "scenario", "recognizer", "text").with_columns(
        seconds=pl.lit(0.1), failure=pl.lit(None, dtype=pl.String)
    ).write_parquet(tmp_path / "transcripts.parquet")
    (tmp_path / "run.json").write_text('{"format": 1}')
    of_run, of_table = (
        document(capsys, source, "--attribute", "gender", "--full") for source in (tmp_path, planted)
    )
    assert {finding.pop("command") for finding in of_run["findings"]} == {
        "voxaudit differential RUN --attribute gender --full"
    }
    assert {finding.pop("command") for finding in of_table["findings"]} == {
        "voxaudit differential transcripts.parquet --attribute gender --full"
    }
    assert of_run == of_table
