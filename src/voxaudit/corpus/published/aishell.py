"""AISHELL-1: `data_aishell/transcript/aishell_transcript_v0.8.txt` and `wav/SPLIT/SPEAKER/*.wav`, unpacked.

The layout is that of openslr.org/33 and of Kaldi's recipe egs/aishell.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from voxaudit.corpus.base import CorpusError
from voxaudit.corpus.rows import Reader, Rows, rows_of
from voxaudit.corpus.text_files import read_mapping

TRANSCRIPT = Path("transcript") / "aishell_transcript_v0.8.txt"


def _read(_: Path, home: Path) -> Rows:
    """Read every recording of the splits; `gender` where resource_aishell/speaker.info is beside.

    Words are set apart in the transcript, as Mandarin is not written: the text is what a reader would see.
    """
    if not next(home.glob("wav/*/*/*.wav"), None):
        raise CorpusError(f"{home}: no wav/SPLIT/SPEAKER/*.wav; unpack the speakers' archives in wav/ first")
    return rows_of(_records(home), home, harmonize={"gender": "gender"})


def _home(path: Path) -> Path | None:
    return next((home for home in (path, path / "data_aishell") if (home / TRANSCRIPT).is_file()), None)


def _records(home: Path) -> Iterator[dict[str, object]]:
    texts = read_mapping(home / TRANSCRIPT)
    info = home.absolute().parent / "resource_aishell" / "speaker.info"
    genders = read_mapping(info) if info.is_file() else {}
    for wav in sorted(home.glob("wav/*/*/*.wav")):
        speaker = wav.parent.name
        text = texts.get(wav.stem)
        yield {
            "id": wav.stem,
            "audio": wav.relative_to(home).as_posix(),
            "speaker": speaker,
            "text": None if text is None else "".join(text.split()),
            "split": wav.parent.parent.name,
            "gender": genders.get(speaker.lstrip("S")),
            "language": "zh",
        }


READER = Reader.where(
    _home,
    _read,
    name="aishell",
    description="AISHELL-1: data_aishell with transcript/ and wav/SPLIT/SPEAKER/*.wav; gender from resource_aishell",
    example="aishell, or aishell/data_aishell",
    missing=f"no data_aishell/{TRANSCRIPT.as_posix()} here; give AISHELL's folder",
)
