"""L2-ARCTIC: a folder per speaker with `wav/` and `transcript/`, and the spontaneous `suitcase_corpus/`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from voxaudit.corpus.rows import Reader, Rows, rows_of
from voxaudit.corpus.text_files import read_lines

SPEAKERS = {
    "Arabic": ("ABA M", "SKA F", "YBAA M", "ZHAA F"),
    "Chinese": ("BWC M", "LXC F", "NCC F", "TXHC M"),
    "Hindi": ("ASI M", "RRBI M", "SVBI F", "TNI F"),
    "Korean": ("HJK F", "HKK M", "YDCK F", "YKWK M"),
    "Spanish": ("EBVS M", "ERMS M", "MBMPS F", "NJS F"),
    "Vietnamese": ("HQTV M", "PNV F", "THV F", "TLV M"),
}
"""The 24 speakers and their gender by first language, as the corpus's README has them."""

_KNOWN = {
    name: {"gender": gender, "native_language": language}
    for language, people in SPEAKERS.items()
    for name, gender in (person.split() for person in people)
}


def _detect(path: Path) -> bool:
    """Say whether one of the speakers has a folder here with `wav/` and `transcript/`."""
    return any(all((path / name / part).is_dir() for part in ("wav", "transcript")) for name in _KNOWN)


def _read(path: Path, _: bool) -> Rows:
    """Read the read sentences (attribute `style`: read) and the suitcase stories (spontaneous)."""
    return rows_of(_records(path), path, harmonize={"gender": "gender"})


def _records(root: Path) -> Iterator[dict[str, object]]:
    for name in _KNOWN:
        for wav in sorted((root / name / "wav").glob("*.wav")):
            yield _record(root, wav, name, f"{name}/{wav.stem}", "read")
    for wav in sorted((root / "suitcase_corpus" / "wav").glob("*.wav")):
        yield _record(root, wav, wav.stem.upper(), f"suitcase/{wav.stem.upper()}", "spontaneous")


def _record(root: Path, wav: Path, speaker: str, id: str, style: str) -> dict[str, object]:
    text = wav.parent.parent / "transcript" / f"{wav.stem}.txt"
    return {
        "id": id,
        "audio": wav.relative_to(root).as_posix(),
        "speaker": speaker,
        "text": " ".join(read_lines(text)).strip() if text.is_file() else None,
        "style": style,
        **_KNOWN.get(speaker, {}),
    }


READER = Reader.where(
    lambda path: _detect(path) or (path / "suitcase_corpus").is_dir(),
    _read,
    name="l2_arctic",
    description="L2-ARCTIC: ABA/wav, ABA/transcript ... and suitcase_corpus; first languages and genders are known",
    example="l2arctic_release_v5.0",
    missing="no folder of a speaker (ABA/wav, ABA/transcript) in this folder",
    detect=_detect,
)
