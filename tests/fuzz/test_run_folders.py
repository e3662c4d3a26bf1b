"""Run folders that others wrote, or that a disk damaged: every command understands them or refuses in one line."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import soundfile
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from voxaudit.cli.main import main
from voxaudit.run.folder import open_run, write_config
from voxaudit.score.run import score_run

TABLES = ("corpus", "transcripts", "scores")
COMMANDS = [
    "accuracy {run}",
    "robustness {run} --resamples 100",
    "disparity {run} --attribute accent",
    "parity {run} --attributes accent --recordings 0",
    "differential {run} --attribute accent",
    "localize {run} --attribute accent",
    "power {run} --attributes accent",
    "compare {run} {run}",
    "versus {run}",
    "sequential {run} --attribute accent --precision 0.1",
    "quality {run} --workers 1 --utterances 1",
    "hallucination {run}",
    "keywords {run}",
    "references {run}",
    "waiting {run}",
    "confidence {run}",
    "slices {run} --attributes accent --fewest 4",
    "disfluent {run}",
    "score {run}/corpus.parquet {run}/corpus.parquet",
    "review {run} --agreement",
    "report {run}",
]
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-5, 10**20), st.floats(), st.text(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)
PLACES = [
    *(
        (key,)
        for key in (
            "corpus",
            "recognizers",
            "scenarios",
            "seed",
            "normalizer",
            "versions",
            "voxaudit",
            "report",
        )
    ),
    *((key,) for key in ("format", "sources", "corpora", "not_heard", "created", "sequential")),
    *(("corpus", key) for key in ("name", "source", "utterances", "speakers", "skipped")),
    *((("recognizers", "toy"), ("recognizers", "toy", "settings"), ("recognizers", "toy", "fingerprint"))),
    *(
        ("scenarios", 0),
        ("sources", "music"),
        ("corpora", "accented"),
        ("report", "gates"),
        ("report", "attributes"),
    ),
]


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """A small finished run, as `voxaudit run` leaves it."""
    folder = tmp_path_factory.mktemp("made") / "run"
    folder.mkdir()
    count = 64
    ids = [f"u{n}" for n in range(count)]
    soundfile.write(folder / "a.wav", 0.1 * np.sin(np.arange(4000) / 9), 16000)
    pl.DataFrame(
        {
            "id": ids,
            "audio": [str(folder / "a.wav")] * count,
            "speaker": [f"s{n // 2}" for n in range(count)],
            "text": [f"one two three{n}" for n in range(count)],
            "start": [0.0] * count,
            "duration": [0.2] * count,
            "accent": ["a" if n % 4 < 2 else "b" for n in range(count)],
            "surface": [f"one one two three{n}" for n in range(count)],
            "events": ["word_repetition:1" for n in range(count)],
        }
    ).write_parquet(folder / "corpus.parquet")
    scenarios, names = ["clean", "gain:1"], ["toy", "other", "third"]
    rows = [
        (
            id_,
            scenario,
            name,
            "one two" if (n + place) % 3 else f"one two three{n}",
            n / count,
            None,
            0.1,
            None,
        )
        for name in names
        for n, id_ in enumerate(ids)
        for place, scenario in enumerate(scenarios)
    ]
    columns = (
        "utterance",
        "scenario",
        "recognizer",
        "text",
        "confidence",
        "word_times",
        "seconds",
        "failure",
    )
    schema = dict.fromkeys(columns, pl.String) | {"confidence": pl.Float64, "seconds": pl.Float64}
    pl.DataFrame(rows, schema=schema, orient="row").write_parquet(folder / "transcripts.parquet")
    about = {
        "name": "made",
        "source": str(folder),
        "format": "manifest",
        "utterances": count,
        "speakers": count // 2,
        "skipped": 0,
    }
    config = {
        "corpus": about,
        "scenarios": scenarios,
        "seed": 3,
        "versions": {"python": "3"},
        "voxaudit": "0",
    }
    heard = {name: {"settings": {}, "fingerprint": {"engine": "toy"}} for name in names}
    write_config(folder, {**config, "recognizers": heard, "normalizer": "basic@1", "created": "2026-01-01"})
    score_run(open_run(folder))
    return folder


def attempt(made: Path, home: Path, line: str, damage) -> None:
    """Damage a copy of the run and ask a command about it."""
    run = home / "run"
    shutil.rmtree(run, ignore_errors=True)
    shutil.copytree(made, run)
    damage(run)
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(line.format(run=run).split())
    said = err.getvalue()
    assert code in (0, 1, 2), said[:600]
    assert "Traceback" not in said
    if code == 2:
        assert said.startswith("voxaudit: error: ")
        assert said.count("\n") == 1, said


def tried(examples: int):
    return settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )


def put(document, keys, value, *, drop: bool):
    for key in keys[:-1]:
        document = document.setdefault(key, {}) if isinstance(document, dict) else document[key]
    if drop and isinstance(document, dict):
        document.pop(keys[-1], None)
    else:
        document[keys[-1]] = value


def of_config(keys, value, drop):
    def damage(run: Path) -> None:
        document = json.loads((run / "run.json").read_text())
        put(document, keys, value, drop=drop)
        (run / "run.json").write_text(json.dumps(document))

    return damage


@st.composite
def of_table(draw):
    """Drop, retype, empty or fill a column of a table; cut the file, or change bytes of it."""
    name = draw(st.sampled_from(TABLES))
    how = draw(st.sampled_from(["cut", "bytes", "drop", "retype", "nulls", "rows", "twice", "odd", "gone"]))
    place, kind = (
        draw(st.integers(0, 10**6)),
        draw(st.sampled_from(["Int64", "Float64", "Boolean", "Binary", "List"])),
    )
    odd = draw(st.sampled_from([float("nan"), float("inf"), -1.0, 1e300, "", "\x00", "clean", "-7", 10**12]))

    def damage(run: Path) -> None:
        path = run / f"{name}.parquet"
        data = path.read_bytes()
        if how == "gone":
            path.unlink()
        elif how == "cut":
            path.write_bytes(data[: place % len(data)])
        elif how == "bytes":
            at = place % len(data)
            path.write_bytes(data[:at] + bytes([data[at] ^ (1 + place % 255)]) + data[at + 1 :])
        else:
            table = pl.read_parquet(path)
            column = table.columns[place % table.width]
            if how == "drop":
                table = table.drop(column)
            elif how == "rows":
                table = table.head(place % 2)
            elif how == "twice":
                table = pl.concat([table, table])
            elif how == "nulls":
                table = table.with_columns(pl.lit(None, table.schema[column]).alias(column))
            elif how == "odd":
                value = pl.Series([odd]).cast(table.schema[column], strict=False)[0]
                table = table.with_columns(pl.lit(value, table.schema[column]).alias(column))
            elif kind == "List":
                table = table.with_columns(pl.concat_list(column))
            elif kind == "Binary":
                table = table.with_columns(pl.col(column).cast(pl.String).cast(pl.Binary))
            else:
                table = table.with_columns(pl.lit(1).cast(getattr(pl, kind)).alias(column))
            table.write_parquet(path)

    damage.said = f"{name} {how} {place} {kind} {odd}"
    return damage


@pytest.mark.parametrize("line", COMMANDS)
def test_what_is_tampered_with_is_understood_before(made, capsys, line):
    if line.startswith("quality "):
        pytest.importorskip("speechmos")
    assert main(line.format(run=made).split()) == 0, capsys.readouterr().err


@pytest.mark.slow
@tried(30)
@example("report {run}", lambda run: (run / "run.json").write_text("[" * 200_000))
@example(
    "report {run}", lambda run: (run / "run.json").write_text('{"format": 1, "seed": ' + "9" * 5000 + "}")
)
@given(line=st.sampled_from(COMMANDS), damage=of_table())
def test_tables_that_were_tampered_with(made, tmp_path, line, damage):
    attempt(made, tmp_path, line, damage)


@pytest.mark.slow
@tried(30)
@given(
    line=st.sampled_from(COMMANDS),
    damage=st.builds(of_config, st.sampled_from(PLACES), JSON, st.booleans()),
)
def test_a_configuration_that_was_tampered_with(made, tmp_path, line, damage):
    attempt(made, tmp_path, line, damage)


@pytest.mark.slow
@settings(tried(400), derandomize=True)
@given(
    line=st.sampled_from(COMMANDS),
    damage=st.one_of(of_table(), st.builds(of_config, st.sampled_from(PLACES), JSON, st.booleans())),
)
def test_much_tampering(made, tmp_path, line, damage):
    attempt(made, tmp_path, line, damage)
