"""PocketSphinx 5: a classical recognizer (hidden Markov models, trigrams) with word times. English model inside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from voxaudit.audio import Audio, pcm16
from voxaudit.errors import missing_extra, one_line
from voxaudit.recognize.base import RecognizerError, Transcriber, Transcript, Word
from voxaudit.recognize.files import package_folder, sha256
from voxaudit.recognize.local import LocalModel
from voxaudit.recognize.pcm import at_least
from voxaudit.recognize.settings import setting

RATE = 16_000
SHORTEST = 1_600
FRAMES_PER_SECOND = 100


@dataclass(frozen=True)
class PocketSphinx(LocalModel):
    description = (
        "PocketSphinx en-us: classical recognizer with word times, English, model inside the package."
    )
    engine = "pocketsphinx"
    requires = ("pocketsphinx",)
    decoding = 1
    main = ""
    aside = frozenset({"hmm", "lm", "dictionary"})  # told by their bytes

    hmm: str = setting("", help="folder of another acoustic model", path=True)
    lm: str = setting("", help="file of another language model", path=True)
    dictionary: str = setting("", help="file of another pronunciation dictionary", path=True)
    maxhmmpf: int = setting(
        3000, help="most states searched in a frame; the package's own default is 30000", at_least=1
    )
    ds: int = setting(
        2, help="acoustic scores are computed every ds-th frame; the package's own default is 1", at_least=1
    )

    @property
    def languages(self) -> tuple[str, ...]:
        """English of the model inside the package; empty (any) of another."""
        return () if self.hmm else ("en",)

    def source(self) -> tuple[Path, str]:
        """Return the acoustic model, and the identity of the three parts of the model."""
        files = self._files()
        return files[0], sha256(*files)

    def open(self, path: Path) -> Transcriber:
        """Load the decoder."""
        return _Decoder(*self._files(), maxhmmpf=self.maxhmmpf, ds=self.ds)

    def _files(self) -> tuple[Path, Path, Path]:
        package = package_folder("pocketsphinx")
        if package is None:
            raise missing_extra("pocketsphinx", self.extra)
        model = package / "model" / "en-us"
        defaults = (model / "en-us", model / "en-us.lm.bin", model / "cmudict-en-us.dict")
        chosen = tuple(
            Path(own) if own else default
            for own, default in zip((self.hmm, self.lm, self.dictionary), defaults, strict=True)
        )
        for name, path in zip(("hmm", "lm", "dictionary"), chosen, strict=True):
            if not path.exists():
                raise RecognizerError(f"recognizer 'pocketsphinx': {name}: no such file or folder: {path}")
        return chosen[0], chosen[1], chosen[2]


class _Decoder:
    def __init__(self, hmm: Path, lm: Path, dictionary: Path, *, maxhmmpf: int, ds: int) -> None:
        self._model = {"hmm": str(hmm), "lm": str(lm), "dict": str(dictionary)}
        self._search = {"maxhmmpf": maxhmmpf, "ds": ds}
        self._decoder: Any = self._make()

    def _make(self) -> Any:
        import pocketsphinx

        try:
            return pocketsphinx.Decoder(**self._model, **self._search, samprate=RATE, loglevel="FATAL")
        except (RuntimeError, ValueError) as error:
            raise RecognizerError(f"pocketsphinx cannot load {self._model} ({one_line(error)})") from error

    def __call__(self, batch: Sequence[Audio]) -> list[Transcript]:
        return [self._hear(audio) for audio in batch]

    def _hear(self, audio: Audio) -> Transcript:
        decoder = self._decoder
        try:
            # Without this the cepstral mean of what was heard before would color the next answer.
            decoder.reinit_feat()
            decoder.start_utt()
            decoder.process_raw(pcm16(at_least(audio.samples, SHORTEST)).tobytes(), full_utt=True)
            decoder.end_utt()
        except RuntimeError:
            self._decoder = (
                self._make()
            )  # a decoder that failed in the middle of an utterance refuses the next
            raise
        hypothesis = decoder.hyp()
        if hypothesis is None or not hypothesis.hypstr:
            return Transcript("")
        return Transcript(hypothesis.hypstr, tuple(_words(decoder.seg() or ())))


def _words(segments: Any) -> list[Word]:
    words = []
    for segment in segments:
        if segment.word[0] in "<[+":  # silence and noises
            continue
        spelling = segment.word.partition("(")[0]  # the second pronunciation of "are" is called are(2)
        start, end = segment.start_frame / FRAMES_PER_SECOND, (segment.end_frame + 1) / FRAMES_PER_SECOND
        # Posterior probabilities from the word lattice, kept in logarithms too coarse to stay below 1.
        words.append(Word(spelling, start, end, min(1.0, segment.prob)))
    return words
