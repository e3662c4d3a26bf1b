"""The folder in which the documentation's commands are run: small corpora, finished runs and tables, by their names."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import polars as pl
import soundfile

from voxaudit.run.folder import open_run, write_config
from voxaudit.run.store import TRANSCRIPT_COLUMNS
from voxaudit.score.run import score_run

SAID = "turn the lamp in the kitchen off now please"
COPIES = ("mine", "first", "v1", "last", "accepted", "coraal", "ravdess", "vendor")
"""Runs that are copies of RUN, in the folder runs."""
ALIKE = {"accepted": "runs/again", "v2": "runs/more"}
"""Settings that differ from audit.toml by where the run is written only."""
HEARER = """
import numpy as np

SAID = "turn the lamp in the kitchen off now please".split()


def hear(samples, rate):
    lost = int(abs(float(np.sum(samples[::7]))) * 1000) % 4
    return " ".join(SAID[lost:])
"""


def write_run(folder: Path, audio: Path, *, seed: int = 0, worse: int = 0, text: str | None = SAID) -> None:
    """Write a finished run of two recognizers that lose words of 16 speakers' sentences, more when disturbed."""
    folder.mkdir(parents=True)
    scenarios = ("clean", "gaussian_noise:2", "noise:theta=2", "scale:theta=0.5", "scale:theta=0.6")
    rows = [
        {
            "id": f"{speaker}-{number}",
            "audio": str(audio / f"{speaker}-{number}.wav"),
            "speaker": f"s{speaker}",
            "text": text,
            "start": None,
            "duration": None,
            **people(speaker),
        }
        for speaker in range(16)
        for number in range(2)
    ]
    corpus = pl.DataFrame(
        rows, schema_overrides={"start": pl.Float64, "duration": pl.Float64, "text": pl.String}
    )
    corpus.write_parquet(folder / "corpus.parquet")
    trials = [
        (
            row["id"],
            scenario,
            name,
            " ".join(SAID.split()[((n + 2 * one + hard) % 5 + worse) :]),
            0.7 + 0.02 * (n % 10),
            None,
            0.1,
            None,
            None,
        )
        for n, row in enumerate(rows)
        for one, name in enumerate(("moonshine", "pocketsphinx"))
        for hard, scenario in enumerate(scenarios)
    ]
    pl.DataFrame(trials, schema=TRANSCRIPT_COLUMNS, orient="row").write_parquet(
        folder / "transcripts.parquet"
    )
    config = {
        "created": "2025-01-01T00:00:00+00:00",
        "voxaudit": "0.1.0",
        "corpus": {"name": "toy", "format": "manifest", "utterances": 32, "speakers": 16, "skipped": 0},
        "attributes": ["gender", "accent"],
        "recognizers": {name: {"fingerprint": {"engine": name}} for name in ("moonshine", "pocketsphinx")},
        "scenarios": list(scenarios),
        "seed": seed,
        "normalizer": "basic",
        "versions": {},
    }
    write_config(folder, config)
    score_run(open_run(folder), "basic")


def people(speaker: int) -> dict[str, str]:
    """Return the attributes of a speaker, crossed and balanced."""
    return {
        "gender": ("female", "male")[speaker % 2],
        "accent": ("native", "accented")[speaker // 2 % 2],
        "age": str(20 + 3 * speaker),
        "pitch": ("low", "high")[speaker // 4 % 2],
        "city": ("hill", "port")[speaker // 8 % 2],
        "age_group": ("young", "old")[speaker // 8 % 2],
    }


def write_sandbox(home: Path) -> Path:
    """Write what the documentation's commands name: corpora, an audit.toml, finished runs, tables."""
    (home / "audio").mkdir(parents=True)
    generator = np.random.default_rng(1)
    rows = []
    for speaker in range(16):
        for number in range(2):
            name = f"{speaker}-{number}"
            time = np.arange(12_000)
            speech = np.sin(time * (0.05 + 0.002 * speaker)) * (
                np.sin(time / 1200) > 0
            )  # with pauses: it has an SNR
            samples = 0.3 * speech + 0.001 * generator.standard_normal(len(time))
            soundfile.write(home / "audio" / f"{name}.wav", samples.astype(np.float32), 16000)
            rows.append(
                {
                    "id": name,
                    "audio": f"audio/{name}.wav",
                    "speaker": f"s{speaker}",
                    "text": SAID,
                    **people(speaker),
                }
            )
    manifest = pl.DataFrame(rows)
    manifest.write_csv(home / "manifest.csv")
    for folder, columns in (
        ("data", manifest.columns),
        ("speech", manifest.columns),
        ("field", ["id", "audio", "speaker", "accent"]),
    ):
        (home / folder).mkdir()
        shutil.copytree(home / "audio", home / folder / "audio")
        names = {"text": "sentence", "speaker": "client_id"} if folder == "data" else {}
        manifest.select(columns).rename(names).write_csv(home / folder / "manifest.csv")
    shutil.copy(home / "audio" / "0-0.wav", home / "speech.wav")
    (home / "hearer.py").write_text(HEARER)
    engine = 'engine = "python"\ncallable = "hearer.py:hear"\n'
    (home / "audit.toml").write_text(
        '[corpus]\npath = "manifest.csv"\nattributes = ["gender", "accent"]\n\n'
        f'[recognizers.moonshine]\n{engine}\n[scenarios]\nuse = ["telephone"]\n\n'
        '[run]\nout = "runs/audit"\nworkers = 1\n\n[gates]\nclean_wer = 0.9\n'
    )
    for name, out in ALIKE.items():
        (home / f"{name}.toml").write_text((home / "audit.toml").read_text().replace("runs/audit", out))
    audio, runs = home / "audio", home / "runs"
    write_run(home / "RUN", audio)
    for name in COPIES:
        shutil.copytree(home / "RUN", runs / name)
    write_run(runs / "v2", audio, worse=2)
    shutil.copytree(runs / "v2", runs / "candidate")
    write_run(runs / "field", audio, text=None)
    for seed in range(3):
        write_run(runs / f"seed{seed}", audio, seed=seed)
    write_tables(home)
    return home


def write_tables(home: Path) -> None:
    """Write the tables of somebody without recordings: scores, transcripts, references."""
    scores = pl.read_parquet(home / "RUN" / "scores.parquet")
    errors = pl.sum_horizontal("substitutions", "deletions", "insertions")
    scores.write_csv(home / "scores.csv")
    scores.with_columns(errors=errors).rename({"speaker": "client_id"}).write_csv(home / "table.csv")
    scores.rename({"pitch": "room"}).with_columns(errors=errors).write_csv(home / "calls.csv")
    for name, recognizer in (("vendor_2024", "moonshine"), ("vendor_2025", "pocketsphinx")):
        scores.filter(pl.col("recognizer") == recognizer).write_csv(home / f"{name}_scores.csv")
    corpus = pl.read_parquet(home / "RUN" / "corpus.parquet")
    heard = pl.read_parquet(home / "RUN" / "transcripts.parquet")
    about = corpus.drop("text", "start", "duration", "audio")
    transcripts = heard.drop("failure").join(about, left_on="utterance", right_on="id")
    transcripts.write_csv(home / "transcripts.csv")
    message = {
        "utterance": "a1",
        "sent_s": 1.0,
        "received_s": 1.2,
        "text": "turn off the light",
        "final": True,
    }
    (home / "trace.jsonl").write_text(json.dumps(message))
    transcripts.write_parquet(home / "transcripts.parquet")
    said = corpus.select("id", reference="text")
    transcripts.join(said, left_on="utterance", right_on="id").write_csv(home / "heard.csv")
    (home / "terms.txt").write_text("# products\nlight\n")
    corpus.select("speaker", "gender", utterance="id", reference="text").write_csv(home / "said.csv")
    calls = []
    for name, recognizer in (("whisper", "moonshine"), ("azure", "pocketsphinx"), ("vosk", "moonshine")):
        one = heard.filter((pl.col("scenario") == "clean") & (pl.col("recognizer") == recognizer))
        one = one.select("utterance", "text", latency_ms=pl.lit(float(100 * len(name))))
        one.write_csv(home / f"{name}.csv")
        calls.append(one.with_columns(recognizer=pl.lit(name), language=pl.lit("en-US")))
    people = corpus.select("speaker", "gender", utterance="id", reference="text")
    pl.concat(calls).join(people, on="utterance").write_csv(home / "services.csv")
    (home / "run").mkdir()
    heard.write_parquet(home / "run" / "transcripts.parquet")
    corpus.write_csv(home / "corpus.csv")
    corpus.rename({"id": "file", "text": "reference"}).drop("audio").write_csv(home / "sent.csv")
    for name, recognizer in (("vendor_2024", "moonshine"), ("vendor_2025", "pocketsphinx")):
        one = heard.filter((pl.col("scenario") == "clean") & (pl.col("recognizer") == recognizer))
        one.select(file="utterance", transcript="text").write_csv(home / f"{name}.csv")
    (home / "reference.txt").write_text(f"{SAID}\n{SAID}\n")
    (home / "hypothesis.txt").write_text(f"{SAID}\nturn it off\n")
    names = {"text": "sentence", "speaker": "client_id", "accent": "accents"}
    pl.read_csv(home / "manifest.csv").rename(names).write_csv(home / "m.csv")
