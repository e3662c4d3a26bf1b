"""Adversarial audio kept as files, and recognizers without gradients that hear it through worker processes."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from voxaudit.audio import Audio, read, resample, write
from voxaudit.audits.attack.blackbox import Hearing
from voxaudit.audits.attack.noises import SearchScenarios
from voxaudit.audits.attack.victims import Victim, hear_each
from voxaudit.corpus import Utterance
from voxaudit.options import RunOptions
from voxaudit.run.session import Session


def safe_name(text: str) -> str:
    """Return a text as a name of a file or folder."""
    kept = re.sub(r"[^\w.-]+", "_", text).strip("._").encode()[-80:]  # file systems count bytes
    return kept.decode(errors="ignore") or "_"


def keep_audio(
    out: Path, recognizer: str, scenario: str, utterances: Sequence[Utterance], clips: Sequence[Audio]
) -> list[Utterance]:
    """Write clips as WAV of 32-bit floats, with a manifest that is a corpus; return them as utterances.

    Floats, so that the audio on disk is the audio that was measured.
    """
    folder = out / "audio" / safe_name(recognizer) / safe_name(scenario)
    folder.mkdir(parents=True, exist_ok=True)
    kept = []
    for number, (utterance, clip) in enumerate(zip(utterances, clips, strict=True)):
        path = folder / f"{number:05d}_{safe_name(utterance.id)}.wav"
        write(path, clip, subtype="FLOAT")
        name = f"{recognizer}/{scenario}/{utterance.id}"
        kept.append(Utterance(name, path, utterance.speaker, utterance.text))
    with (folder / "manifest.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(["id", "audio", "speaker", "text"])
        table.writerows(
            [one.id, made.audio.name, one.speaker or "", one.text or ""]
            for one, made in zip(utterances, kept, strict=True)
        )
    return kept


@dataclass(frozen=True)
class Listener:
    """Hears utterances for the black-box search and for transfer: sessions for engines, in this process for models."""

    folder: Path
    options: RunOptions = RunOptions()

    @contextmanager
    def hearing(self, victim: Victim, seed: int) -> Iterator[Hearing]:
        """Give a function that hears (utterance, scenario id) pairs, with the recognizer kept warm."""
        scenarios = SearchScenarios(seed)
        if victim.model is not None:
            model = victim.model

            def here(asked: Sequence[tuple[Utterance, str]]) -> list[str | None]:
                clips = []
                for utterance, id_ in asked:
                    clip = read(utterance.audio, start=utterance.start, duration=utterance.duration)
                    clip = scenarios[id_].apply(clip, seed=seed, utterance=utterance.id)
                    clips.append(resample(clip, model.rate).samples)
                return hear_each(model, clips)

            yield here
            return
        assert victim.recognizer is not None
        recognizers = {victim.name: victim.recognizer}
        folder = self.folder / safe_name(victim.name)
        with Session(folder, recognizers, scenarios, self.options, seed=seed) as session:

            def there(asked: Sequence[tuple[Utterance, str]]) -> list[str | None]:
                outcomes = session.hear(list(asked))[victim.name]
                return [None if one.transcript is None else one.transcript.text for one in outcomes]

            yield there
