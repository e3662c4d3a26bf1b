import argparse
import json

import numpy as np
import polars as pl
import pytest
import soundfile

from voxaudit.cli import robustness as command
from voxaudit.errors import VoxauditError


def run(*arguments):
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    return command.run(parser.parse_args([str(argument) for argument in arguments]))


def table(seed=0, recognizers=("a", "b")):
    rows = []
    for place, recognizer in enumerate(recognizers):
        for scenario, errors in (
            *(("clean", 5), ("gaussian_noise:1", 10), ("gaussian_noise:2", 20), ("gaussian_noise:3", 40)),
            *(("echo:1", 15), ("echo:2", 15), ("pgd:1", 60)),
        ):
            for i in range(8):
                more = (i * 7 + place * 3 + seed * (scenario != "clean") * (i + 1)) % 5
                rows.append(
                    (recognizer, scenario, f"s{i}", f"u{i}", errors + more + 3 * place, 100, "fm"[i % 2])
                )
    names = ["recognizer", "scenario", "speaker", "utterance", "errors", "words", "gender"]
    return pl.DataFrame(rows, schema=names, orient="row")


@pytest.fixture
def scores(tmp_path):
    table().write_csv(tmp_path / "scores.csv")
    return tmp_path / "scores.csv"


def test_terminal_output(scores, tmp_path, capsys):
    hard = tmp_path / "hard.csv"
    pl.DataFrame(
        {"scenario": ["gaussian_noise:1", "gaussian_noise:2"], "difficulty": [50.0, 70.0]}
    ).write_csv(hard)
    assert run(scores, "--difficulty", hard, "--resamples", 200) == 0
    out, err = capsys.readouterr()
    for text in (
        "Robustness: ranked by NWERD",
        "Attacks: ranked by WERD",
        "white noise",
        "plain WERD",
        "Worst scenarios",
        "a: WER grows with severity for 1 of 2 perturbations; no trend shown: echo.",
        "Not answered:",
        "NWERD of echo:1, echo:2, gaussian_noise:3: no difficulty is known",
    ):
        assert text in out
    assert f"difficulties: {hard}" in err


def test_published_difficulties_are_taken_where_nothing_was_measured(scores, tmp_path, capsys):
    assert run(scores, "--json", "--resamples", 200) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["difficulty"]["source"].startswith("published")
    row = next(
        row for row in document["levels"] if (row["recognizer"], row["name"]) == ("a", "gaussian_noise:1")
    )
    assert row["difficulty"] == 53.2  # Table 3
    assert row["nwerd"] == pytest.approx(100 * row["werd"] / 53.2)
    table().with_columns(pl.col("scenario").str.replace("gaussian_noise|echo", "mine")).filter(
        pl.struct("recognizer", "scenario", "utterance").is_first_distinct()
    ).write_csv(tmp_path / "own.csv")
    assert run(tmp_path / "own.csv", "--json", "--resamples", 200) == 0
    assert json.loads(capsys.readouterr().out)["difficulty"]["source"] == "none"


def test_measured_difficulties_of_a_run_come_first(tmp_path, capsys):
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "run.json").write_text(json.dumps({"format": 1, "seed": 0}))
    table().write_parquet(folder / "scores.parquet")
    names = ["clean", "gaussian_noise:1", "gaussian_noise:2", "gaussian_noise:3", "echo:1", "echo:2"]
    rows = [
        (f"u{i}", f"s{i}", name, 4.0 - 0.4 * n + 0.01 * i) for n, name in enumerate(names) for i in range(8)
    ]
    quality = pl.DataFrame(rows, schema=["utterance", "speaker", "scenario", "dnsmos"], orient="row")
    quality.write_parquet(folder / "quality.parquet")
    assert run(folder, "--json", "--resamples", 200) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["difficulty"]["source"].startswith("measured")
    hard = {row["scenario"]: row["difficulty"] for row in document["difficulty"]["scenarios"]}
    # Equal steps around mean 50 with standard deviation 25: half a step is 25 / sqrt(35 / 3).
    assert hard["gaussian_noise:2"] == pytest.approx(50 - 25 / (35 / 3) ** 0.5)
    assert document["measure"] == "nwerd"


def test_json_is_one_document(scores, capsys):
    assert run(scores, "--difficulty", "none", "--attributes", "gender", "--json", "--resamples", 200) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["measure"] == "werd"
    assert document["difficulty"] == {"source": "none", "scenarios": []}
    assert document["settings"]["speakers"] == 8
    assert {row["level"] for row in document["levels"]} == {"scenario", "perturbation", "category", "overall"}
    # Four speakers of each gender are not enough, and that is said.
    assert document["groups"] == []
    assert document["refusals"][0] == {
        "about": "gender f",
        "reason": "'f' has 4 speakers; at least 5 are needed",
    }


def test_several_tables_are_draws_or_other_recognizers(tmp_path, capsys):
    for seed in (0, 1, 2):
        table(seed).write_parquet(tmp_path / f"{seed}.parquet")
    table(0, ("c",)).write_parquet(tmp_path / "c.parquet")
    paths = [tmp_path / f"{name}.parquet" for name in (0, 1, 2, "c")]
    assert run(*paths, "--difficulty", "none", "--json", "--resamples", 200) == 0
    document = json.loads(capsys.readouterr().out)
    assert {row["recognizer"] for row in document["ranking"]} == {"a", "b", "c"}
    spread = {(row["recognizer"], row["name"]): row for row in document["stability"]}
    assert spread["a", "gaussian_noise:1"]["draws"] == 3
    assert spread["a", "gaussian_noise:1"]["draw_sd"] > 0
    assert not any(recognizer == "c" for recognizer, _ in spread)


def test_runs_of_other_seeds(tmp_path, capsys):
    for seed in (3, 4):
        folder = tmp_path / f"run{seed}"
        folder.mkdir()
        (folder / "run.json").write_text(json.dumps({"format": 1, "seed": seed}))
        table(seed).write_parquet(folder / "scores.parquet")
    assert run(tmp_path / "run3", tmp_path / "run4", "--difficulty", "none", "--resamples", 200) == 0
    assert "Stability" in capsys.readouterr().out
    with pytest.raises(VoxauditError, match="tell random draws apart"):
        run(tmp_path / "run3", tmp_path / "run3", "--difficulty", "none")
    with pytest.raises(VoxauditError, match=r"no quality\.parquet"):
        run(tmp_path / "run3", "--difficulty", "measured")


def test_durations_of_silence_come_from_the_runs_corpus(tmp_path, capsys):
    (tmp_path / "run.json").write_text(json.dumps({"format": 1, "seed": 0}))
    heard = table(recognizers=("a",)).filter(pl.col("scenario") == "clean")
    silent = heard.with_columns(
        scenario=pl.lit("silence"), words=pl.lit(0, pl.Int64), errors=pl.lit(1, pl.Int64)
    )
    pl.concat([heard, silent]).write_parquet(tmp_path / "scores.parquet")
    ids = [f"u{i}" for i in range(8)]
    pl.DataFrame({"id": ids, "duration": [15.0] * 8}).write_parquet(tmp_path / "corpus.parquet")
    assert run(tmp_path, "--difficulty", "none", "--json", "--resamples", 200) == 0
    (row,) = json.loads(capsys.readouterr().out)["inserted"]
    assert (row["scenario"], row["minutes"], row["per_minute"]) == ("silence", 2.0, 4.0)


def test_model_facts_are_read(scores, tmp_path, capsys):
    facts = tmp_path / "facts.csv"
    facts.write_text("recognizer,parameters\na,100\nb,20\n")
    assert run(scores, "--difficulty", "none", "--facts", facts, "--resamples", 200) == 0
    out = capsys.readouterr().out
    assert (
        "No recognizer beats these in both parameters and WERD: b, a." in out
        or "parameters and WERD: b." in out
    )
    assert "correlate parameters: 2 recognizers with this fact; at least 6 are needed" in out


def test_curves_are_drawn(scores, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    once, twice = tmp_path / "one.svg", tmp_path / "two.svg"
    assert run(scores, "--difficulty", "none", "--plot", once, "--resamples", 200) == 0
    assert run(scores, "--difficulty", "none", "--plot", twice, "--resamples", 200) == 0
    text = once.read_text()
    assert "gaussian_noise (snr)" in text
    assert once.read_bytes() == twice.read_bytes()
    with pytest.raises(VoxauditError, match="written as"):
        run(scores, "--plot", tmp_path / "curves.docx")


def test_a_missing_file_is_one_line(tmp_path):
    with pytest.raises(VoxauditError, match="no such file"):
        run(tmp_path / "nothing.csv")


def test_durations_that_nobody_wrote_down_are_the_recordings(tmp_path, capsys):
    (tmp_path / "run.json").write_text(json.dumps({"format": 1, "seed": 0}))
    heard = table(recognizers=("a",)).filter(pl.col("scenario") == "clean")
    silent = heard.with_columns(
        scenario=pl.lit("silence"), words=pl.lit(0, pl.Int64), errors=pl.lit(1, pl.Int64)
    )
    pl.concat([heard, silent]).write_parquet(tmp_path / "scores.parquet")
    soundfile.write(tmp_path / "a.wav", np.zeros(4000), 1000)
    rows = [
        {"id": f"u{i}", "audio": str(tmp_path / "a.wav"), "start": 1.0 if i else None, "duration": None}
        for i in range(8)
    ]
    kinds = {"id": pl.String, "audio": pl.String, "start": pl.Float64, "duration": pl.Float64}
    pl.DataFrame(rows, schema=kinds).write_parquet(tmp_path / "corpus.parquet")
    assert run(tmp_path, "--difficulty", "none", "--json", "--resamples", 200) == 0
    (row,) = json.loads(capsys.readouterr().out)["inserted"]
    assert row["minutes"] == pytest.approx((4.0 + 7 * 3.0) / 60)


def test_the_ranking_shows_what_it_ranks(tmp_path, capsys):
    """A recognizer that heard a harsh scenario alone is not shown with it beside others that did not."""
    part = table().filter(
        (pl.col("recognizer") == "a") | (pl.col("scenario").is_in(["clean", "gaussian_noise:1"]))
    )
    part.write_csv(tmp_path / "part.csv")
    assert run(tmp_path / "part.csv", "--difficulty", "published", "--resamples", 200, "--json") == 0
    ranking = json.loads(capsys.readouterr().out)["ranking"]
    assert [row["scenarios"] for row in ranking] == [1, 1]
    assert run(tmp_path / "part.csv", "--difficulty", "published", "--resamples", 200) == 0
    out = capsys.readouterr().out
    table_ = out[: out.index("By category")]
    for row in ranking:
        assert row["wer"] - row["clean_wer"] == pytest.approx(row["werd"])
        for shown in ("wer", "werd", "estimate"):
            assert f"{100 * row[shown]:.1f} %" in table_


def test_a_table_given_twice_is_no_second_draw(scores):
    with pytest.raises(VoxauditError, match="given twice"):
        run(scores, scores)


def test_a_run_says_where_its_noise_came_from_and_what_it_did_not_hear(tmp_path, capsys):
    about = {"music": {"description": "folder tunes: 3 clips", "fingerprint": "x", "folder": "tunes"}}
    config = {"format": 1, "seed": 0, "sources": about, "not_heard": {"accented": "a corpus in that role"}}
    (tmp_path / "run.json").write_text(json.dumps(config))
    table().write_parquet(tmp_path / "scores.parquet")
    assert run(tmp_path, "--difficulty", "none", "--json", "--resamples", 200) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["sources"] == {"music": "folder tunes: 3 clips"}
    assert "music: folder tunes: 3 clips" in err
    assert "not heard: accented; run.json says what each needs" in err
