import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from voxaudit import disparity
from voxaudit.audits.disparity.frames import embedding_controls
from voxaudit.cli.main import main
from voxaudit.errors import VoxauditError
from voxaudit.score.meaning import principal_components


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


def asked(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    """Return the JSON of a command, with its tables as records by id."""
    assert main(["disparity", *map(str, arguments), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    tables = {
        table["id"]: [dict(zip(table["names"], row, strict=True)) for row in table["rows"]]
        for table in document["tables"]
    }
    return {**document, "tables": tables}


def test_a_folder_of_scores_is_a_table(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--attribute", "gender", "--by", "recognizer,scenario", "--resamples", "100"]
    assert main(["disparity", str(table.parent), *arguments]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    text = " ".join(captured.out.split())
    assert "Errors by gender" in text
    assert re.search(
        r"- Under noise toy makes 1\.\d\d times as many errors \(1\.\d\d to 1\.\d\d\) per word for m speakers",
        text,
    )
    assert re.search(r"% of the words; \d+ and \d+ speakers\): a gap is shown\.", text)
    assert "ratio of WERs (speakers resampled)" in text


def test_parts_are_one_family(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = asked(capsys, table, "--attribute", "gender", "--by", "recognizer,scenario")["tables"]["groups"]
    p, adjusted = zip(*((row["p"], row["p_adjusted"]) for row in rows if row["against"]), strict=True)
    assert len(p) == 2
    assert list(adjusted) == pytest.approx(
        [min(2 * one, 1.0) if one == min(p) else max(2 * min(p), one) for one in p]
    )


def test_a_caution_is_said_once_for_all_parts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
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
    notes = asked(capsys, path, "--attribute", "group", "--by", "scenario")["notes"]
    few = [note for note in notes if note["code"] == "few_speakers"]
    assert [note["facts"] for note in few] == [{"group": "g2", "speakers": 6}]
    assert few[0]["text"].endswith("(clean, echo:1, echo:2)")
    assert len({note["text"] for note in notes}) == len(notes)


def test_json_is_one_document(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = asked(
        capsys, table, "--attribute", "gender", "--by", "recognizer", "--scenario", "clean,noise"
    )
    [gap, typical, worst] = document["findings"]
    assert (gap["measure"], gap["group"], gap["against"], gap["verdict"]) == ("wer_ratio", "m", "f", "shown")
    assert worst["measure"] == "worst_group_ratio"
    for finding, row in ((gap, document["tables"]["gaps"][0]), (typical, document["tables"]["groups"][1])):
        assert (row[finding["measure"]], row["low"], row["high"], row["p"], row["p_adjusted"]) == tuple(
            finding[name] for name in ("estimate", "low", "high", "p", "p_adjusted")
        )
    [fit] = document["tables"]["fits"]
    assert len(document["tables"]["speakers"]) == fit["speakers"] == 24
    assert fit["nodes"] == 25
    assert document["question"]["scenario"] == ["clean", "noise"]


def test_clean_speech_is_what_is_asked(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    by_itself = asked(capsys, table, "--attribute", "gender")["tables"]["groups"]
    assert (
        by_itself == asked(capsys, table, "--attribute", "gender", "--scenario", "clean")["tables"]["groups"]
    )
    assert [row["utterances"] for row in by_itself] == [72, 72]


def test_infinity_is_null_in_json(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    frame = pl.read_parquet(table)
    quiet = frame.with_columns(
        substitutions=pl.when(pl.col("gender") == "m").then(0).otherwise("substitutions")
    )
    quiet.write_parquet(table)
    finding, _, worst = asked(capsys, table, "--attribute", "gender")["findings"]
    assert (finding["group"], finding["estimate"], finding["low"]) == ("m", 0.0, 0.0)
    assert 0.0 < finding["high"] < 1.0
    assert (worst["estimate"], worst["high"]) == (None, None)
    assert worst["low"] == pytest.approx(1 / finding["high"])


def test_the_interaction_is_printed(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["disparity", str(table), "--attribute", "gender", "--interaction", "scenario"]
    assert main(arguments) == 0
    text = capsys.readouterr().out
    assert "How many times as much a group's errors grow as those of the other" in text
    said = " ".join(text.split())
    assert re.search(
        r"- toy: from clean to noise the errors of m speakers \(gender\) grow [\d. (to)]+ times as much", said
    )
    assert re.search(r"no difference is shown; \d\.\d\d times is not excluded", said)
    finding = asked(capsys, *arguments[1:])["findings"][1]
    assert finding["measure"] == "interaction"
    assert finding["verdict"] == "not_shown"
    assert (finding["speakers"], finding["speakers_against"]) == (12, 12)


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_the_forest_plot(table: Path, ending: str, capsys: pytest.CaptureFixture[str]) -> None:
    if ending == "png":
        pytest.importorskip("resvg_py", reason="needs voxaudit[plot]")
    target = table.parent / f"plot.{ending}"
    arguments = ["disparity", str(table), "--attribute", "gender", "--by", "scenario"]
    assert main([*arguments, "--plot", str(target)]) == 0
    first = target.read_bytes()
    assert main([*arguments, "--plot", str(target)]) == 0
    assert target.read_bytes() == first
    if ending == "svg":
        assert b"noise: m / f" in first
        assert b"times as many errors per word" in first
    else:
        assert first.startswith(b"\x89PNG")
    assert "Figure written to" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--attribute", "sex"], "no column 'sex'"),
        (["--attribute", "gender", "--plot", "plot.pdf"], "plot.pdf: a figure is written as .svg or .png"),
        (
            ["--attribute", "gender", "--plot", "nowhere/plot.svg"],
            "nowhere/plot.svg: cannot write (No such file or directory)",
        ),
        (["--attribute", "gender", "--columns", "speaker=who"], "no column 'who'"),
        (["--attribute", "gender", "--hold-text", "text"], "no column 'text'"),
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
    table = talk()
    extra, said = embedding_controls(table, "text", "speaker", encode=letters)
    assert 1 <= len(extra) <= 8
    assert "12 texts" in said  # speakers say several: texts are the sample
    assert f"reduced to {len(extra)} principal components" in said
    plain = disparity(table, attribute="group").detail.fits[0].effects[0]
    answer = disparity(table, attribute="group", extra=extra)
    controlled = answer.detail.fits[0]
    assert abs(np.log(answer.findings[0].estimate or 9)) < 0.5 * np.log(plain.ratio)
    assert plain.ratio > 1.4
    assert abs(np.log(controlled.effects[0].ratio)) < 0.5 * np.log(plain.ratio)
    assert controlled.controls[1].term == "text01"


def test_components_are_standardized_over_utterances() -> None:
    generator = np.random.default_rng(2)
    vectors, counts = generator.normal(0, [3.0, 1.0, 0.1], (30, 3)), generator.integers(1, 9, 30)
    scores, share = principal_components(vectors, counts, 2)
    repeated = np.repeat(scores, counts, axis=0)
    np.testing.assert_allclose(repeated.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(repeated.std(axis=0), 1)
    np.testing.assert_allclose(np.corrcoef(repeated.T), np.eye(scores.shape[1]), atol=1e-10)
    assert share > 0.8


def test_few_speakers_cannot_be_controlled_for_what_they_say() -> None:
    one_each = talk(4).group_by("speaker", maintain_order=True).first()
    with pytest.raises(VoxauditError, match="4 speakers are too few to hold fixed what they say"):
        embedding_controls(one_each, "text", "speaker", encode=letters)


def test_rows_without_text_are_left_out() -> None:
    table = talk().with_columns(text=pl.when(pl.int_range(pl.len()) < 3).then(None).otherwise("text"))
    extra, _ = embedding_controls(table, "text", "speaker", encode=letters)
    fit = disparity(table, attribute="group", extra=extra).detail.fits[0]
    assert fit.left_out == {"no value of text01": 3}


def test_what_is_said_is_held_fixed_by_the_encoder_that_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VOXAUDIT_MODELS", str(tmp_path))
    path = tmp_path / "talk.csv"
    talk().write_csv(path)
    arguments = [path, "--attribute", "group", "--hold-text", "text"]
    assert main(["disparity", *map(str, arguments)]) == 2
    assert "voxaudit models fetch minilm" in capsys.readouterr().err
    arguments += ["--encoder", "ngrams"]
    document = asked(capsys, *arguments)
    assert "1024-dimensional vectors (ngrams)" in str(document)
    held, plain = document["tables"]["again"]
    assert (held["how"], plain["how"]) == ("as above", "text not held fixed")
    assert abs(np.log(held["wer_ratio"])) < abs(np.log(plain["wer_ratio"]))
    assert document["findings"][0]["estimate"] == held["wer_ratio"]
    assert main(["disparity", *map(str, arguments)]) == 0
    assert "The same gaps, both ways" in capsys.readouterr().out
