"""Which source each perturbation of a run uses: the user's folders, the corpus, or the built-in set."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from voxaudit import audio
from voxaudit.errors import VoxauditError
from voxaudit.perturb.given import Given, open_given
from voxaudit.perturb.scenario import PERTURBATIONS, Scenario, source_of, takes_source
from voxaudit.perturb.sources import folder
from voxaudit.perturb.sources.base import NoiseSource, Signal, Source, digest
from voxaudit.perturb.sources.builtin import TALKERS
from voxaudit.perturb.sources.folder import Clip, Recordings, probe
from voxaudit.perturb.suites import SLOTS
from voxaudit.registry import suggest

if TYPE_CHECKING:
    from voxaudit.corpus import Corpus


_PARTS = {"music": folder.MUSIC, "crosstalk": folder.SPEECH}
_ROOMS = {"rir": (folder.SIMULATED, "RT60"), "real_rir": (folder.REAL, "SRMR")}


def open_source(name: str, path: str | Path) -> Source:
    """Return a folder as the source of the perturbation called `name`; a folder that cannot serve raises one line."""
    _check(name)
    if name == "universal":
        from voxaudit.perturb.universal import open_universal

        return open_universal(path)
    if name in _ROOMS:
        from voxaudit.perturb.sources.responses import open_rooms

        part, by = _ROOMS[name]
        return open_rooms(path, part, by=by)
    return folder.open_recordings(path, _PARTS.get(name, folder.NOISE))


def open_sources(
    given: Mapping[str, Source | str | Path], used: Iterable[str], corpus: Corpus | None = None
) -> dict[str, Source]:
    """Return the sources of the perturbations in `used` that are not built in.

    Folders that no scenario uses are looked for but not read. Crosstalk comes from the corpus unless given. Under the
    id of a scenario (`pgd:1`) stands audio that somebody else made in place of it.
    """
    wanted = set(used)
    sources: dict[str, Source] = {}
    for name, source in given.items():
        if not is_given(name):
            _check(name)
        if isinstance(source, Source):
            sources[name] = source
        elif is_given(name):
            if corpus is None:
                raise VoxauditError(
                    f"the audio of '{name}' is given for the utterances of a corpus, and there is none"
                )
            sources[name] = open_given(name, source, corpus)
        elif name in wanted:
            sources[name] = open_source(name, source)
        elif not Path(source).is_dir() and not (name == "universal" and Path(source).is_file()):
            raise VoxauditError(f"{Path(source).absolute()}: no such folder, for {name} in [sources]")
    if corpus is not None and "crosstalk" in wanted and "crosstalk" not in sources:
        sources["crosstalk"] = other_speakers(corpus)
    return sources


def describe_sources(scenarios: Iterable[Scenario]) -> dict[str, dict[str, str]]:
    """Return, by perturbation, its source's description, fingerprint and folder, for `run.json` and the report."""
    return {
        (scenario.id if scenario.perturbation.name == Given.name else scenario.perturbation.name): {
            "description": source.describe(),
            "fingerprint": source.fingerprint(),
            "folder": source.folder,
        }
        for scenario in scenarios
        if scenario.perturbation is not None and (source := source_of(scenario.perturbation)) is not None
    }


def reopen_sources(recorded: Mapping[str, Mapping[str, str]], corpus: Corpus | None) -> dict[str, Source]:
    """Return the sources that `describe_sources` wrote down, to make a run's audio again.

    `corpus` is the run's. A folder whose content is no longer what was heard raises one line.
    """
    folders = {name: entry["folder"] for name, entry in recorded.items() if entry["folder"]}
    sources = open_sources(folders, recorded, corpus)
    for name, source in sources.items():
        if source.fingerprint() != recorded[name]["fingerprint"]:
            raise VoxauditError(
                f"the recordings for {name} are not those of the run ({recorded[name]['description']}):"
                " put them back, or run again"
            )
    return sources


def is_given(name: str) -> bool:
    """Say whether a source is all of a scenario's audio: it then stands under the scenario's id.

    >>> is_given("gaussian_noise:1"), is_given("synthetic"), is_given("music")
    (True, True, False)
    """
    return ":" in name or name in SLOTS


def _check(name: str) -> None:
    there = name in PERTURBATIONS.names()
    if not there or not takes_source(PERTURBATIONS.load(name)):
        what = "takes no source" if there else "is not a perturbation"
        raise VoxauditError(
            f"[sources]: '{name}' {what}.{suggest(name, list(_KNOWN))} Known: {', '.join(_KNOWN)}"
        )


_KNOWN = (
    *("environment_ms_snsd", "environment_esc50", "environment_musan", "environment_wham"),
    *("music", "crosstalk", "rir", "real_rir", "universal"),
)


# Crosstalk from the corpus itself: other people of the same recordings, never the utterance's own speaker.

POOL = 64
"""Utterances kept as crosstalk: enough for variety, few enough to stay in memory."""

_UNKNOWN = -1


@dataclass(frozen=True, repr=False)
class OtherSpeakers(NoiseSource):
    """Utterances of several speakers; `own` says which number of `speakers` an utterance must not hear.

    An utterance whose speaker is unknown hears talkers made by formula: any of the recordings may be its own.
    """

    title: str
    clips: tuple[Clip, ...]
    speakers: tuple[int, ...]
    hashes: tuple[str, ...]
    own: Mapping[str, int] = field(compare=False)

    def describe(self) -> str:
        """Return the corpus, and how many clips of how many speakers are used."""
        return (
            f"other speakers of the corpus {self.title}: {len(self.clips)} clips of {len(set(self.speakers))}"
            " speakers, never the utterance's own"
        )

    def fingerprint(self) -> str:
        """Return the digest of all clips."""
        return f"speakers {digest(self.hashes)}"

    def for_utterance(self, utterance: str) -> NoiseSource:
        """Return the clips without those of the utterance's own speaker."""
        own = self.own.get(utterance)
        if own == _UNKNOWN:
            return TALKERS
        kept = [number for number, speaker in enumerate(self.speakers) if speaker != own]
        content = digest(self.hashes[number] for number in kept)
        return Recordings(self.describe(), tuple(self.clips[number] for number in kept), content)

    def draw(self, length: int, rate: int, generator: np.random.Generator) -> Signal:
        """Return a stretch of any speaker: for audio from outside the corpus."""
        return self.for_utterance("").draw(length, rate, generator)


def other_speakers(corpus: Corpus) -> NoiseSource:
    """Return the corpus as a source of crosstalk, or talkers made by formula where it has fewer than two speakers.

    The choice follows from the ids and speakers alone: turns go round the speakers, in the order of a hash,
    until `POOL` usable utterances are found.
    """
    pool: list[tuple[Clip, str, str]] = []
    for row in _candidates(corpus):
        if len(pool) == POOL:
            break
        speaker, path = row["speaker"], row["audio"]
        clip = _clip(path, row["start"], row["duration"])
        if clip is not None:
            pool.append((clip, speaker, f"{audio.content_hash(path)} {clip.start:g} {clip.duration:g}"))
    numbers = {speaker: number for number, speaker in enumerate(dict.fromkeys(s for _, s, _ in pool))}
    if len(numbers) < 2:
        return TALKERS
    own = {
        utterance: _UNKNOWN if speaker is None else numbers[speaker]
        for utterance, speaker in corpus.table.select("id", "speaker").iter_rows()
        if speaker is None or speaker in numbers
    }
    clips, speakers, hashes = zip(*pool, strict=True)
    return OtherSpeakers(corpus.name, clips, tuple(numbers[s] for s in speakers), hashes, own)


def _candidates(corpus: Corpus) -> Iterator[dict[str, Any]]:
    rows: dict[str, list[tuple[str, int]]] = {}
    for number, (utterance, speaker) in enumerate(corpus.table.select("id", "speaker").iter_rows()):
        if speaker is not None:
            rows.setdefault(speaker, []).append((_rank(utterance), number))
    turns = [
        [number for _, number in sorted(rows[speaker])[:POOL]] for speaker in sorted(rows, key=_rank)[:POOL]
    ]
    for number in chain.from_iterable(zip_longest(*turns)):
        if number is not None:
            yield corpus.table.row(number, named=True)


def _rank(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _clip(path: str, start: float | None, duration: float | None) -> Clip | None:
    """Return the clip of an utterance, or None where it cannot be read or is silent."""
    if start is None or duration is None:
        whole = probe(Path(path))
        if isinstance(whole, str) or whole <= (start or 0.0):
            return None
        return Clip(path, start or 0.0, whole - (start or 0.0))
    try:
        heard = audio.read(path, start=start, duration=duration)
    except audio.AudioError:
        return None
    return Clip(path, start, heard.duration) if heard.samples.any() else None
