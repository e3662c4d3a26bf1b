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
    for person, scenario, turn in product(range(speakers), SCENARIOS, range(4)):
        gender = "female" if person % 2 else "male"
        said = generator.choice(WORDS, 12)
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
                    "reference": " ".join(said) if scenario == "clean" else None,
                }
            )
    table = pl.DataFrame(rows)
    # One reference an utterance: what was said in clean speech.
    said = (
        table.filter(pl.col("reference").is_not_null()).select("utterance", "reference").unique("utterance")
    )
    return table.drop("reference").join(said, on="utterance")


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    path = tmp_path_factory.mktemp("differential") / "transcripts.parquet"
    transcripts(24, 0.35).write_parquet(path)
    return path


def document(capsys, *arguments):
    assert main(["differential", *map(str, arguments), "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_a_planted_gap_is_found_and_survives(planted, capsys) -> None:
    found = document(capsys, planted, "--attribute", "gender")
    assert found["significant"]["totals"]["female"] > 0
    assert found["significant"]["totals"]["male"] == 0
    assert found["significant"]["by_perturbation"]["hp"] == {"female": 0, "male": 0}
    keys = {"group", "against", "pair", "scenario", "setting", "tau", "gap", "p", "significant"}
    assert all(keys <= set(row) for row in found["violations"])
    assert sum(found["totals"].values()) == len(found["violations"])
    strong = [row for row in found["violations"] if row["significant"]]
    assert {(row["group"], row["against"], row["pair"]) for row in strong} == {("female", "male", "one_two")}
    assert {row["setting"] for row in strong} == {2.0, 10.0}
    assert all(row["ci_low"] < row["gap"] < row["ci_high"] and row["gap"] > row["tau"] for row in strong)
    assert found["chance"]["female"]["p"] < 0.05 < found["chance"]["male"]["p"]
    assert found["agreement"]["same_worst_group"] is True
    assert found["agreement"]["cells"] == 3
    assert found["agreement"]["spearman"] > 0
    assert found["agreement"]["significant"]["both"] == 2
    assert found["wer"]["totals"]["female"] > found["wer"]["totals"]["male"]


def test_limits_by_name_and_by_comprehensibility(planted, capsys) -> None:
    found = document(capsys, planted, "--attribute", "gender", "--exclude", "Noise:2", "HP", "--tau", "0.05")
    assert found["about"]["scenarios"] == ["noise:theta=10"]
    assert list(found["by_tau"]) == ["0.05"]
    found = document(capsys, planted, "--attribute", "gender", "--min-comprehensibility", "7.2")
    assert found["about"]["scenarios"] == ["noise:theta=10", "hp:theta=500"]
    assert found["about"]["left_out"] == {"scenarios rated under 7.2": 1}


def test_tables_for_people(planted, capsys) -> None:
    assert main(["differential", str(planted), "--attribute", "gender"]) == 0
    out = capsys.readouterr().out
    for text in ("violations by gender", "that survive", "the same question with word error rates", "kappa"):
        assert text in out


def test_csv_and_failed_trials(planted, capsys, tmp_path) -> None:
    table = pl.read_parquet(planted).with_columns(failure=pl.lit(""))
    table[0, "failure"] = "it crashed"
    table.write_csv(tmp_path / "t.csv")
    found = document(capsys, tmp_path / "t.csv", "--attribute", "gender")
    assert found["about"]["left_out"]["trials without a transcript"] == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--attribute", "sex"], "no column 'sex' to group by"),
        ([], "name the column of the groups"),
        (["--attribute", "gender", "--tau", "a"], "--tau takes numbers"),
        (["--attribute", "gender", "--normalizer", "basics"], "Unknown normalizer"),
        (["--attribute", "gender", "--fdr", "2"], "fdr must lie between 0 and 1"),
        (["--attribute", "gender", "--ratings", "nowhere.csv"], "nowhere.csv: no such file"),
        (["--attribute", "gender", "--corpus", "x"], "--corpus chooses among"),
        (["--attribute", "gender", "--seed", "-1"], "the seed must be 0 or more"),
        (["--attribute", "gender", "--min-comprehensibility", "nan"], "must be a number, not nan"),
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
    whole = document(capsys, planted, "--attribute", "gender")["wer"]
    clean = pl.when(pl.col("scenario") == "clean").then("reference").alias("reference")
    table.with_columns(clean).reverse().write_parquet(path)
    assert document(capsys, path, "--attribute", "gender")["wer"]["totals"] == whole["totals"]
    table[5, "reference"] = "something else"
    table.write_parquet(path)
    assert main(["differential", str(path), "--attribute", "gender"]) == 2
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


def test_many_refusals_do_not_fill_the_screen(planted, capsys) -> None:
    assert main(["differential", str(planted), "--attribute", "speaker"]) == 0
    err = capsys.readouterr().err
    assert err.count("are not tested: ") == 5
    assert f"{24 * 23 // 2 - 5} more comparisons are not tested" in err


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
    of_run, of_table = (document(capsys, source, "--attribute", "gender") for source in (tmp_path, planted))
    assert of_run.pop("input") != of_table.pop("input")
    assert of_run == of_table
