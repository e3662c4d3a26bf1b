"""Perturbed audio as files: one recording, or a corpus as a Hugging Face audiofolder."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from voxaudit.audio import Audio, read, write
from voxaudit.corpus import Corpus
from voxaudit.errors import VoxauditError, one_line
from voxaudit.perturb.scenario import Scenario
from voxaudit.tables import write_atomically

SUBTYPES = ("PCM_16", "PCM_24", "PCM_32", "FLOAT")
"""Sample formats of the files; the integer ones saturate at full scale."""

METADATA = "metadata.csv"
_COLUMNS = ("file_name", "id", "speaker", "text", "scenario", "seed")
_ENDINGS = (".wav", ".flac")
_FLAC = ("PCM_16", "PCM_24")


@dataclass(frozen=True)
class Exported:
    """What was written: the folder's metadata, how many files, and {utterance: why not} for the others."""

    metadata: Path
    files: int
    failures: dict[str, str]


def export_file(
    source: str | Path, target: str | Path, scenario: Scenario, *, seed: int = 0, subtype: str = "PCM_16"
) -> dict[str, float]:
    """Write one recording as a scenario disturbs it and return what was measured of the disturbance.

    `target` is a .wav or .flac file, or a folder that exists. The generator is that of an utterance called as the
    file is, without its ending.
    """
    source, target = Path(source), _other_file(source, target)
    audio = read(source)
    perturbed = scenario.apply(audio, seed=seed, utterance=source.stem)
    _write(target, perturbed, subtype)
    return scenario.achieved(audio, seed=seed, utterance=source.stem)


@dataclass(frozen=True)
class MadeToStutter:
    """A recording that was made to stutter: how (its chain), what is meant, what can be heard, and how long it is."""

    chain: str
    intended: str
    surface: str
    seconds_before: float
    seconds: float


def export_stuttered(
    source: str | Path,
    target: str | Path,
    text: str,
    scenario: str,
    *,
    seed: int = 0,
    subtype: str = "PCM_16",
) -> MadeToStutter:
    """Write one recording with moments of stuttering put in, at places that the seed draws.

    `text` is what is said in it: its words are found by forced alignment. `scenario` names the kinds, in order, and
    perhaps how strong they are and how they are made: `stutter:block,word_repetition,severity=2,mode=aster`.
    """
    from voxaudit.align import PocketSphinxAligner
    from voxaudit.perturb.base import trial_generator
    from voxaudit.perturb.stutter.chain import Chain
    from voxaudit.perturb.stutter.sample import MODES, check_kinds, sample_operation

    parts = [part.strip() for part in scenario.partition(":")[2].split(",") if part.strip()]
    kinds = [part for part in parts if "=" not in part]
    check_kinds(kinds)
    severity, mode = None, "realistic"
    for setting in (part for part in parts if "=" in part):
        name, _, value = setting.partition("=")
        if name == "severity" and value.isdecimal():
            severity = int(value)
        elif name == "mode" and value in MODES:
            mode = value
        else:
            raise VoxauditError(
                f"scenario '{one_line(scenario, 80)}': severity=1 to severity=4 and mode={'|'.join(MODES)} are the only"
                " settings"
            )
    source, target = Path(source), _other_file(source, target)
    audio = read(source)
    timings = PocketSphinxAligner().align(audio, text)
    generator = trial_generator(seed, "stutter-make", source.stem)
    chain = Chain()
    for kind in kinds:
        chain = chain.then(sample_operation(kind, timings, generator, severity, mode=mode))
    samples, after = chain(audio.samples, audio.rate, timings)
    _write(target, Audio(samples, audio.rate), subtype)
    return MadeToStutter(str(chain), timings.text, after.surface, audio.duration, len(samples) / audio.rate)


def _other_file(source: str | Path, target: str | Path) -> Path:
    """Return the file to write, which must be audio, and not the recording itself."""
    source, target = Path(source), file_in(target, source)
    if target.suffix.lower() not in _ENDINGS:
        raise VoxauditError(f"{target}: name a {' or '.join(_ENDINGS)} file, or a folder that exists")
    if source.exists() and target.exists() and target.samefile(source):
        raise VoxauditError(f"{target}: this is the recording itself; name another file")
    return target


def file_in(target: str | Path, source: str | Path) -> Path:
    """Return the file to write for a recording: `target` itself, or one called like the recording in that folder."""
    target = Path(target)
    return target / f"{Path(source).stem}.wav" if target.is_dir() else target


def export_corpus(
    corpus: Corpus,
    folder: str | Path,
    scenario: Scenario,
    *,
    seed: int = 0,
    subtype: str = "PCM_16",
    progress: Callable[[int], None] | None = None,
) -> Exported:
    """Write a corpus as a scenario disturbs it: `audio/*.wav` and `metadata.csv`, a Hugging Face audiofolder.

    The audio is what a run with the same seed would hear. Columns: file_name, id, speaker, text, scenario, seed,
    what was measured (`achieved_snr_db` ...), then the attributes, with `source_` before a name that would hide one
    of these. A recording that cannot be read or disturbed is named in `failures`.
    """
    folder = Path(folder)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise VoxauditError(f"{folder}: already exists and is not empty; name a new folder")
    rows: list[dict[str, Any]] = []
    failures: dict[str, str] = {}
    digits = len(str(len(corpus)))
    for number, utterance in enumerate(corpus, start=1):
        try:
            audio = read(utterance.audio, start=utterance.start, duration=utterance.duration)
            perturbed = scenario.apply(audio, seed=seed, utterance=utterance.id)
            achieved = scenario.achieved(audio, seed=seed, utterance=utterance.id)
        except VoxauditError as error:
            failures[utterance.id] = one_line(error)
        else:
            name = f"audio/{number:0{digits}d}_{_slug(utterance.id)}.wav"
            _write(folder / name, perturbed, subtype)
            rows.append(
                {
                    "file_name": name,
                    "id": utterance.id,
                    "speaker": utterance.speaker,
                    "text": utterance.text,
                    "scenario": scenario.id,
                    "seed": seed,
                    **{f"achieved_{key}": value for key, value in achieved.items()},
                    **{_attribute(key): value for key, value in utterance.attributes.items()},
                }
            )
        if progress is not None:
            progress(1)
    if not rows:
        first = next(iter(failures.values()), "the corpus is empty")
        raise VoxauditError(f"{corpus.source or corpus.name}: nothing to write ({first})")
    table = pl.DataFrame(rows, infer_schema_length=None)
    metadata = folder / METADATA
    write_atomically(metadata, table.write_csv)
    return Exported(metadata, len(rows), failures)


def _write(path: Path, audio: Audio, subtype: str) -> None:
    if subtype not in SUBTYPES:
        raise VoxauditError(f"unknown subtype '{subtype}'. Choose one of {', '.join(SUBTYPES)}")
    if path.suffix.lower() == ".flac" and subtype not in _FLAC:
        raise VoxauditError(
            f"{path}: FLAC has no {subtype} samples. Name a .wav file, or use {' or '.join(_FLAC)}"
        )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise VoxauditError(f"{path}: cannot write here ({error.strerror or one_line(error)})") from error
    write(path, audio, subtype)


def _attribute(name: str) -> str:
    """Return the column of an attribute: a corpus that was disturbed before has columns like ours."""
    return f"source_{name}" if name in _COLUMNS or name.startswith("achieved_") else name


def _slug(id_: str) -> str:
    """Return a harmless file name: ids may hold slashes, dots, or anything else."""
    kept = re.sub(r"[^\w-]+", "_", id_).strip("_").encode()[:60]  # file systems count bytes
    return kept.decode(errors="ignore") or "utterance"
