"""NIST's .ctm as references: `recording channel start duration word` a line, one utterance per recording."""

from __future__ import annotations

from pathlib import Path

from voxaudit.corpus.recordings import beside
from voxaudit.corpus.rows import Reader, Rows, rows_of
from voxaudit.corpus.text_files import Misfits, read_lines

FIELDS = 5


def _read(path: Path, _: bool) -> Rows:
    """Read the words of each recording in order of their starts; recordings are found by name."""
    misfits = Misfits()
    words: dict[tuple[str, str], list[tuple[float, str]]] = {}
    for number, line in enumerate(read_lines(path), start=1):
        parts = line.split()
        if not parts or line.startswith(";;"):
            continue
        try:
            name, channel, start, _duration, word = parts[:FIELDS]
            words.setdefault((name, channel), []).append((float(start), word))
        except ValueError:
            misfits.add(number, line[:40])
    root, audio = beside({name for name, _ in words}, path.absolute().parent)
    one_channel = len({name for name, _ in words}) == len(words)
    return rows_of(
        (
            {
                "id": name if one_channel else f"{name}-{channel}",
                "audio": audio.get(name, f"{name}.wav"),
                "text": " ".join(word for _, word in sorted(said, key=lambda pair: pair[0])),
            }
            for (name, channel), said in words.items()
        ),
        root,
    ).noting(misfits.problem("bad_line", "[line is|lines are] not 'recording channel start duration word'"))


READER = Reader.where(
    lambda path: path.suffix.lower() == ".ctm" and path.is_file(),
    _read,
    name="ctm",
    description="a .ctm file of reference words with times: one utterance per recording",
    example="reference.ctm beside wav/",
    missing="not a .ctm file",
)
