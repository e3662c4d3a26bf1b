"""The synthetic corpus of the demo: recordings that come along, labeled as synthetic, and how they were made."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from voxaudit.audio import Audio, Samples, write
from voxaudit.errors import VoxauditError, one_line
from voxaudit.speak import made
from voxaudit.speak.accent import PRONUNCIATIONS, SOUNDS
from voxaudit.speak.base import Voice, speak
from voxaudit.tables import write_atomically

VOICES = Path(__file__).parent / "voices"
"""The recordings: 64 FLAC files, 2.2 MB, so that the demo needs no speech engine and sounds the same everywhere."""

VERSION = 4
"""Raise it when this file would make other samples or columns: folders made before are then made again."""

Progress = Callable[[int, int], None]
"""Called with (clips done, clips in all)."""

ABOUT = """\
A synthetic corpus that comes with voxaudit for its demo. No person was recorded.
The speakers are text-to-speech voices (SVOX Pico) with different settings. "accented" means that a German, Spanish,
French or Italian voice says English with the sounds it has; "pitch" says how high a voice is set. Neither says anything
about people: how hard the accents are was chosen with the demo's own recognizers. Figures from this corpus show how
an audit works, not how well a recognizer serves anybody.
"""


@dataclass(frozen=True, slots=True)
class Clip:
    """One sentence read by one synthetic speaker."""

    speaker: SyntheticSpeaker
    sentence: int

    @property
    def id(self) -> str:
        """The utterance id."""
        return f"{self.speaker.id}-s{self.sentence + 1:02d}"

    @property
    def text(self) -> str:
        """The reference text."""
        return SENTENCES[self.sentence]


def clips() -> list[Clip]:
    """Return the whole design: every speaker with the sentences of its block."""
    return [Clip(speaker, sentence) for speaker in SPEAKERS for sentence in BLOCKS[speaker.block]]


def make_synthetic_corpus(folder: str | Path, *, progress: Progress | None = None) -> Path:
    """Make the corpus in `folder` unless it is already there, and return its `manifest.csv`.

    16-bit WAV at 16 kHz, and the columns id, audio (relative), speaker, text, accent (native, accented), pitch
    (low, high), voice_language, voice, synthetic (always yes). Killed in the middle, it is finished by the next call;
    made by an older recipe, it is made again. A folder with other people's files in it is refused.
    """
    folder = Path(folder)
    recipe = recipe_id()
    if made.is_whole(folder, recipe):
        return folder / made.MANIFEST
    made.begin(folder, recipe)
    rows = list(_write_clips(folder, progress))
    return made.finish(folder, recipe, rows, {"README.txt": ABOUT})


def recipe_id() -> str:
    """Return the identity of what would be made: design and version together."""
    parts = (VERSION, SENTENCES, BLOCKS, SPEAKERS, PRONUNCIATIONS, SOUNDS)
    return "synthetic " + hashlib.sha256(repr(parts).encode()).hexdigest()[:32]


def _write_clips(folder: Path, progress: Progress | None) -> Iterator[dict[str, str]]:
    design = clips()
    for done, clip in enumerate(design, start=1):
        speaker = clip.speaker
        name = f"audio/{clip.id}.wav"
        path = folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, lambda target, clip=clip: _unpack(clip, target))  # type: ignore[misc]
        except OSError as error:
            raise VoxauditError(
                f"{path}: cannot write here ({one_line(error, 100)}). Name another folder"
            ) from error
        yield {
            "id": clip.id,
            "audio": name,
            "speaker": speaker.id,
            "text": clip.text,
            "accent": speaker.accent,
            "pitch": speaker.pitch,
            "voice_language": speaker.voice.language,
            "voice": str(speaker.voice),
            "synthetic": "yes",
        }
        if progress is not None:
            progress(done, len(design))


def _unpack(clip: Clip, target: Path) -> None:
    target.write_bytes(_converted(VOICES / f"{clip.id}.flac", "WAV"))


def _converted(path: Path, format: str) -> bytes:
    """Return a recording in another format, in whole numbers: libsndfile rounds decimals differently for each."""
    import soundfile

    samples, rate = soundfile.read(path, dtype="int16")
    file = io.BytesIO()
    soundfile.write(file, samples, rate, subtype="PCM_16", format=format)
    return file.getvalue()


def record_voices(folder: Path = VOICES) -> None:
    """Record all clips anew as FLAC; needs the extra `speak`. This is how those that come along were made."""
    folder.mkdir(exist_ok=True)
    for clip in clips():
        path = folder / f"{clip.id}.wav"
        write(path, record(clip))
        path.with_suffix(".flac").write_bytes(_converted(path, "FLAC"))
        path.unlink()


def record(clip: Clip) -> Audio:
    """Return the clip as its speaker's microphone hears it: trimmed, colored, leveled, over a quiet noise floor.

    The voice is SVOX Pico's (Apache License 2.0), through the extra `speak`.
    """
    speaker = clip.speaker
    spoken = speak(speaker.voice, clip.text)
    samples = _trim(spoken.samples, spoken.rate)
    samples[1:] += np.float32(speaker.tilt) * samples[:-1].copy()
    samples *= np.float32(10 ** (speaker.level / 20) / _rms(samples))
    quiet = np.zeros(round(MARGIN * spoken.rate), np.float32)
    samples = np.concatenate([quiet, samples, quiet])
    floor = 10 ** ((speaker.level - speaker.snr) / 20)
    seed = int.from_bytes(hashlib.sha256(clip.id.encode()).digest(), "little")
    noise = np.random.Generator(np.random.PCG64(seed)).standard_normal(len(samples), dtype=np.float32)
    return Audio(samples + np.float32(floor) * noise, spoken.rate)


MARGIN = 0.1
"""Seconds of quiet before and after the speech, besides the little that is kept of the engine's own."""


def _trim(samples: Samples, rate: int) -> Samples:
    """Cut the engine's long silences: keep 50 ms before and 100 ms after what exceeds 1 % of the peak."""
    loud = np.flatnonzero(np.abs(samples) > 0.01 * np.abs(samples).max())
    return samples[max(0, loud[0] - rate // 20) : loud[-1] + rate // 10].copy()


def _rms(samples: Samples) -> float:
    return float(np.sqrt(np.mean(np.square(samples, dtype=np.float64))))


# Who speaks in the synthetic corpus, and what they say: a balanced design, written down as data.

SENTENCES = (
    "Send a message to my mother.",
    "I lost my phone at the station.",
    "The school bus is late again.",
    "Please stop the music in the kitchen.",
    "The train leaves from the next platform.",
    "I forgot to pay for the coffee.",
    "Please repeat the last message.",
    "The family has a small black dog.",
)
"""What people say to an assistant or write by voice: plain words, no numbers, no names."""

BLOCKS = {"A": (0, 1, 2, 3), "B": (4, 5, 6, 7), "C": (0, 2, 4, 6), "D": (1, 3, 5, 7)}
"""Four sentences per speaker. Each block is read by one speaker of every accent and pitch, so each sentence is said
equally often in each group and the text cannot be what tells the groups apart."""


@dataclass(frozen=True, slots=True)
class SyntheticSpeaker:
    """One synthetic speaker: a voice, its group, and the microphone it is heard through.

    `pitch` is low or high, as the voice is set. `level` is the RMS level in dB relative to full scale, `tilt` the
    weight of the previous sample in a one-zero filter (above 0 dull, below 0 bright), `snr` the distance in dB to a
    quiet noise floor. `block` names the sentences that it reads.
    """

    id: str
    accent: str
    pitch: str
    voice: Voice
    block: str
    level: float
    tilt: float
    snr: float


def _speaker(
    id: str,
    pitch: str,
    block: str,
    language: str,
    settings: tuple[float, float, float],
    room: tuple[float, float, float],
) -> SyntheticSpeaker:
    native = language.startswith("en")
    height, speed, tract = settings
    voice = Voice(language=language, pitch=height, speed=speed, tract=tract, reads=None if native else "en")
    return SyntheticSpeaker(id, "native" if native else "accented", pitch, voice, block, *room)


# id, pitch, block, language, (pitch, speed, tract), (level dB, tilt, SNR dB)
SPEAKERS = (
    _speaker("us-1", "low", "A", "en-US", (0.80, 1.08, 1.08), (-24.0, 0.10, 46.0)),
    _speaker("gb-1", "low", "B", "en-GB", (0.76, 1.02, 1.12), (-27.0, -0.10, 42.0)),
    _speaker("us-2", "low", "C", "en-US", (0.86, 1.14, 1.04), (-22.0, 0.20, 44.0)),
    _speaker("gb-2", "low", "D", "en-GB", (0.84, 1.12, 1.06), (-26.0, 0.00, 48.0)),
    _speaker("gb-3", "high", "A", "en-GB", (1.00, 1.08, 1.00), (-25.0, -0.15, 45.0)),
    _speaker("us-3", "high", "B", "en-US", (1.05, 1.06, 0.97), (-23.0, 0.05, 43.0)),
    _speaker("gb-4", "high", "C", "en-GB", (1.10, 1.15, 0.95), (-28.0, 0.15, 47.0)),
    _speaker("us-4", "high", "D", "en-US", (0.96, 1.10, 1.00), (-25.0, -0.05, 44.0)),
    _speaker("de-1", "low", "A", "de-DE", (0.80, 0.96, 1.08), (-24.0, -0.10, 46.0)),
    _speaker("es-1", "low", "B", "es-ES", (0.82, 1.00, 1.05), (-27.0, 0.10, 42.0)),
    _speaker("fr-1", "low", "C", "fr-FR", (0.84, 0.90, 1.05), (-22.0, 0.00, 44.0)),
    _speaker("it-1", "low", "D", "it-IT", (0.84, 1.06, 1.04), (-26.0, 0.20, 48.0)),
    _speaker("fr-2", "high", "A", "fr-FR", (1.00, 0.92, 1.00), (-25.0, 0.05, 45.0)),
    _speaker("it-2", "high", "B", "it-IT", (1.02, 1.10, 0.98), (-23.0, -0.15, 43.0)),
    _speaker("de-2", "high", "C", "de-DE", (1.05, 1.00, 0.97), (-28.0, -0.05, 47.0)),
    _speaker("es-2", "high", "D", "es-ES", (1.00, 1.08, 1.00), (-25.0, 0.15, 44.0)),
)
