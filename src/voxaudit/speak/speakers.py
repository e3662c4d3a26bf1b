"""Who speaks in the synthetic corpus, and what they say: a balanced design, written down as data."""

from __future__ import annotations

from dataclasses import dataclass

from voxaudit.speak.base import Voice

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
"""Four sentences a speaker. Each block is read by one speaker of every accent and pitch, so each sentence is said
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
