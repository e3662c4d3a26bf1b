"""Audio that somebody else made, in place of a scenario: a file for every utterance, heard as it is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from voxaudit.audio import SUFFIXES, Samples, content_hash, read, resample
from voxaudit.errors import VoxauditError, one_line
from voxaudit.perturb.base import Perturbation
from voxaudit.perturb.scenario import parse_scenario
from voxaudit.perturb.sources.base import IS_SOURCE, Source, digest
from voxaudit.perturb.suites import SLOTS
from voxaudit.wording import counted, listed

if TYPE_CHECKING:
    from voxaudit.corpus import Corpus


@dataclass(frozen=True, repr=False)
class GivenAudio(Source):
    """Recordings by utterance (`files`), with their content; `of` says how many utterances the corpus has."""

    hashes: tuple[str, ...]
    of: int
    files: Mapping[str, str] = field(compare=False)
    folder: str = ""

    def describe(self) -> str:
        """Return where it lies, and for how many utterances there is audio."""
        return (
            f"audio made elsewhere ({self.folder}), for {len(self.files)} of {counted(self.of, 'utterance')}"
        )

    def fingerprint(self) -> str:
        """Return the digest of all recordings."""
        return f"given {digest(self.hashes)}"

    def for_utterance(self, utterance: str) -> GivenAudio:
        """Return the recording of one utterance alone."""
        own = {utterance: self.files[utterance]} if utterance in self.files else {}
        return replace(self, files=own, hashes=tuple(content_hash(path) for path in own.values()))


@dataclass(frozen=True)
class Given(Perturbation):
    does = "Audio made elsewhere"

    source: GivenAudio = field(metadata=IS_SOURCE)

    def __call__(self, samples: Samples, rate: int, generator: np.random.Generator) -> Samples:
        """Return the given recording at this rate."""
        if len(self.source.files) != 1:
            raise VoxauditError("no audio was given for this utterance")
        (path,) = self.source.files.values()
        return resample(read(path), rate).samples

    def for_utterance(self, utterance: str) -> Perturbation:
        """Return it with the recording of this utterance."""
        return replace(self, source=self.source.for_utterance(utterance))


def open_given(scenario: str, path: str | Path, corpus: Corpus) -> GivenAudio:
    """Return a folder or a manifest as the audio of a scenario, checked against the utterances of a corpus.

    A file belongs to the utterance whose id it has in the manifest, or is named after: the id, its last part, or the
    name of the utterance's own recording. One that belongs to none, or two for the same utterance, raise one line.
    Utterances without a file are not heard under the scenario.
    """
    if scenario not in SLOTS:
        parse_scenario(scenario)  # an unknown one is named
    path = Path(path)
    names = _names(corpus)
    files: dict[str, str] = {}
    strangers = []
    for name, file in _files(path):
        utterance = names.get(name)
        if utterance is None:
            strangers.append(name)
        elif utterance in files:
            raise VoxauditError(
                f"{path}: two recordings are given for utterance '{utterance}' under {scenario}:"
                f" {Path(files[utterance]).name} and {Path(file).name}"
            )
        else:
            files[utterance] = file
    if strangers:
        raise VoxauditError(
            f"{path}: {counted(len(strangers), 'recording')} given for {scenario} belong to no utterance of the corpus:"
            f" {one_line(listed(strangers, 3), 160)}. Name them after the utterances' ids or recordings"
        )
    if not files:
        raise VoxauditError(f"{path}: no audio for {scenario} there")
    files = dict(sorted(files.items()))
    hashes = tuple(f"{utterance} {content_hash(file)}" for utterance, file in files.items())
    return GivenAudio(hashes, len(corpus), files, str(path.absolute()))


def _names(corpus: Corpus) -> dict[str, str]:
    """Return what files of utterances may be called; a name that two utterances share stands for neither."""
    ids = corpus.table["id"].to_list()
    found = {id_: id_ for id_ in ids}
    for short in (
        {id_: id_.rpartition("/")[2] for id_ in ids},
        dict(zip(ids, (Path(audio).stem for audio in corpus.table["audio"]), strict=True)),
    ):
        times = Counter(short.values())
        found = {name: id_ for id_, name in short.items() if times[name] == 1} | found
    return found


def _files(path: Path) -> list[tuple[str, str]]:
    """Return (name, file) of all recordings of a folder, or of a manifest."""
    from voxaudit.corpus import read_corpus

    if path.is_dir() and not (path / "manifest.csv").is_file():
        found = sorted(file for file in path.rglob("*") if file.suffix.lower() in SUFFIXES)
        return [(file.stem, str(file.absolute())) for file in found]
    table = read_corpus(path).table
    return list(zip(table["id"], table["audio"], strict=True))
