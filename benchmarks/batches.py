"""Batches: how much of what an engine hears is padding, where a run chooses clips of like length and where not.

First an engine that costs 1 ms per second of padded audio, then a small wav2vec 2.0 of transformers with random weights
on one CPU thread. Beside each the same run in the order of its plan. Clips are 0.5 to 20 s long, as utterances are.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import soundfile
from benchmarks.measure import Row, Settings, absent, race, row_of, skipped

from voxaudit.audio import Audio
from voxaudit.corpus import Corpus
from voxaudit.recognize import Recognizer, make_recognizer
from voxaudit.recognize.base import Transcript
from voxaudit.run import run_trials, runner

SCENARIOS = ["gain:1", "tempo_up:2"]
RATE = 16_000
COST = 1e-3
BATCH = 16


@dataclass(frozen=True)
class Padded:
    """Hears a batch as if all of it were as long as its longest clip, and says how long that and each clip is."""

    rate: int | None = None
    batch_size: int = BATCH

    def fingerprint(self) -> dict[str, str]:
        return {"engine": "padded"}

    def load(self) -> Callable[[Sequence[Audio]], list[Transcript]]:
        def hear(batch: Sequence[Audio]) -> list[Transcript]:
            longest = max(clip.duration for clip in batch)
            time.sleep(COST * longest * len(batch))
            return [Transcript(f"{clip.duration:.4f} {longest:.4f}") for clip in batch]

        return hear


def make_corpus(folder: Path, count: int) -> Corpus:
    """Return clips of noise with the lengths of utterances: most of 2 to 8 s."""
    generator = np.random.default_rng(0)
    files = []
    for number, seconds in enumerate(
        np.clip(4.0 * np.exp(0.6 * generator.standard_normal(count)), 0.5, 20.0)
    ):
        files.append(str(folder / f"{number}.wav"))
        noise = 0.1 * generator.standard_normal(int(seconds * RATE))
        soundfile.write(files[-1], noise.astype(np.float32), RATE)
    table = pl.DataFrame(
        {
            "id": [f"u{n}" for n in range(count)],
            "audio": files,
            "speaker": [f"s{n % 20}" for n in range(count)],
            "text": ["one"] * count,
            "start": [0.0] * count,
            "duration": pl.Series([None] * count, dtype=pl.Float64),
        }
    )
    return Corpus(name="lengths", format="manifest", table=table, source="lengths")


def small_model(folder: Path) -> Recognizer:
    """Return wav2vec 2.0 with two layers of random weights, which masks padding."""
    import json

    import torch
    from transformers import (
        Wav2Vec2Config,
        Wav2Vec2CTCTokenizer,
        Wav2Vec2FeatureExtractor,
        Wav2Vec2ForCTC,
        Wav2Vec2Processor,
    )

    letters = {token: place for place, token in enumerate(["<pad>", "<unk>", "|", *"abcdefghij"])}
    (folder / "letters.json").write_text(json.dumps(letters))
    tokenizer = Wav2Vec2CTCTokenizer(
        str(folder / "letters.json"), pad_token="<pad>", unk_token="<unk>", word_delimiter_token="|"
    )
    extractor = Wav2Vec2FeatureExtractor(return_attention_mask=True)
    torch.manual_seed(0)
    config = Wav2Vec2Config(
        vocab_size=len(letters),
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=128,
        conv_dim=(32,) * 7,
        feat_extract_norm="layer",
        do_stable_layer_norm=True,
    )
    Wav2Vec2ForCTC(config).save_pretrained(folder)
    Wav2Vec2Processor(feature_extractor=extractor, tokenizer=tokenizer).save_pretrained(folder)
    return make_recognizer(f"transformers:model={folder},batch={BATCH}")


def heard(corpus: Corpus, recognizer: Recognizer, scenarios: Sequence[str], ahead: int) -> pl.DataFrame:
    """Return the transcripts of a run that chooses among the trials of so many batches; 1 is the plan's order."""
    before, runner.BATCHES_AHEAD = runner.BATCHES_AHEAD, ahead
    try:
        with tempfile.TemporaryDirectory() as out:
            run = run_trials(
                *(corpus, {"engine": recognizer}, list(scenarios)),
                out=out,
                workers=1,
                cache=False,
                progress=False,
            )
            return run.transcripts
    finally:
        runner.BATCHES_AHEAD = before


def waste(transcripts: pl.DataFrame) -> float:
    """Return the share of padding in what `Padded` heard, in percent."""
    own, padded = np.array([text.split() for text in transcripts["text"]], float).sum(axis=0)
    return float(100.0 * (1.0 - own / padded))


def measure(settings: Settings) -> Iterator[Row]:
    count = settings.pick(64, 512)
    ways = {"": runner.BATCHES_AHEAD, "the order of the plan": 1}
    with tempfile.TemporaryDirectory() as home:
        corpus = make_corpus(Path(home), count)
        for name, scenarios in (("clean", []), ("three scenarios", SCENARIOS)):
            found = {way: waste(heard(corpus, Padded(), scenarios, ahead)) for way, ahead in ways.items()}
            yield row_of(
                f"{count} utterances of 0.5 to 20 s, {name}, batches of {BATCH}",
                "% of padding",
                [found[""]],
                [found["the order of the plan"]],
                peer="the order of the plan",
                kind="floor",
            )
    few = settings.pick(16, 96)
    what = f"wav2vec 2.0 (2 layers, random weights), {few} utterances, batches of {BATCH}, one thread"
    if missing := absent("transformers", "torch"):
        yield skipped(what, "CPU s", "transformers", missing)
        return
    with tempfile.TemporaryDirectory() as home, tempfile.TemporaryDirectory() as model:
        corpus, recognizer = make_corpus(Path(home), few), small_model(Path(model))
        calls = {way: partial(heard, corpus, recognizer, [], ahead) for way, ahead in ways.items()}
        found = race(calls, settings.pick(1, 2), warm=False)
    ours, theirs = (found[way][0].value.sort("utterance")["text"] for way in ways)
    if not ours.equals(theirs):
        raise ValueError("texts depend on the company of a clip")
    yield row_of(
        *(what, "CPU s, with the start"),
        *([one.cpu for one in found[way]] for way in ways),
        peer="the order of the plan",
        kind="floor",
    )
