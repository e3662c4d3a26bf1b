"""Corpora of disordered speech, as they are published: TORGO, UASpeech, the Speech Accessibility Project."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from voxaudit.corpus.base import CorpusError
from voxaudit.corpus.delimited import delimited_header, read_delimited
from voxaudit.corpus.json_lines import as_object, read_json
from voxaudit.corpus.rows import Reader, Rows, rows_of
from voxaudit.corpus.text_files import read_lines

TORGO_SEVERITY = {
    **dict.fromkeys(("F01", "M01", "M02", "M04"), "severe"),
    **dict.fromkeys(("F03", "M05"), "moderate"),
    **dict.fromkeys(("F04", "M03"), "mild"),
}
"""Dysarthria by the Frenchay assessment, as the corpus's users group it (M05 is moderate to severe)."""
_TORGO_SPEAKER = re.compile(r"([FM])(C?)(\d\d)")
_NO_TEXT = re.compile(r"[\[/]|\bxxx\b|\.jpg")


def _torgo_speakers(path: Path) -> list[Path]:
    """Return the speakers' folders, if any of them has prompts."""
    folders = sorted(folder for folder in path.iterdir() if folder.is_dir()) if path.is_dir() else []
    speakers = [folder for folder in folders if _TORGO_SPEAKER.fullmatch(folder.name)]
    return speakers if any(any(folder.glob("Session*/prompts")) for folder in speakers) else []


def _torgo(path: Path, speakers: list[Path]) -> Rows:
    """Read every prompt that is a text: speaker, gender, group (dysarthria, control), severity and microphone."""
    without: list[str] = []
    records = list(_torgo_records(path, speakers, without))
    rows = rows_of(records, path, harmonize={"gender": "gender"})
    return rows.leaving_out(without, "their prompt is a picture or an instruction", "recordings")


def _torgo_records(path: Path, speakers: list[Path], without: list[str]) -> Iterator[dict[str, object]]:
    for folder in speakers:
        gender, control, _ = _TORGO_SPEAKER.fullmatch(folder.name).groups()  # type: ignore[union-attr]
        for wav in sorted(folder.glob("Session*/wav_*Mic/*.wav")):
            prompt = wav.parent.parent / "prompts" / f"{wav.stem}.txt"
            text = " ".join(" ".join(read_lines(prompt)).split()) if prompt.is_file() else ""
            place = wav.relative_to(path).as_posix()
            if not text or _NO_TEXT.search(text):
                without.append(place)
                continue
            yield {
                "id": place.removesuffix(".wav"),
                "audio": place,
                "speaker": folder.name,
                "text": text,
                "gender": gender,
                "group": "control" if control else "dysarthria",
                "severity": "none" if control else TORGO_SEVERITY.get(folder.name),
                "microphone": wav.parent.name.removeprefix("wav_").removesuffix("Mic"),
            }


UASPEECH_INTELLIGIBILITY = {
    **dict.fromkeys(("M04", "F03", "M12", "M01"), "very low"),
    **dict.fromkeys(("M07", "F02", "M16"), "low"),
    **dict.fromkeys(("M05", "F04", "M11"), "mid"),
    **dict.fromkeys(("M09", "M14", "M10", "M08", "F05"), "high"),
}
"""Intelligibility to five listeners: up to 25, 50, 75 and 100 % of the words (Kim et al. 2008)."""
WORDLIST = "speaker_wordlist"
_UASPEECH_FILE = re.compile(r"(C?)([FM])(\d\d)_(B\d)_([A-Z]+\d*)_(M\d)")


def _detect_uaspeech(path: Path) -> bool:
    return path.is_dir() and any(
        _UASPEECH_FILE.fullmatch(wav.stem)
        for deep in ("*/*", "*/*/*", "*/*/*/*")
        for wav in islice(path.glob(f"{deep}.wav"), 20)
    )


def _uaspeech(path: Path) -> Rows:
    """Read the words: speaker, gender, group, intelligibility, block and microphone; texts from the word list."""
    texts = _words(path)
    wavs = sorted({*path.glob("*/*.wav"), *path.glob("*/*/*.wav"), *path.glob("*/*/*/*.wav")})
    records = []
    for wav in wavs:
        match = _UASPEECH_FILE.fullmatch(wav.stem)
        if match is None:
            continue
        control, gender, number, block, word, microphone = match.groups()
        name = f"{gender}{number}"
        records.append(
            {
                "id": wav.stem,
                "audio": wav.relative_to(path).as_posix(),
                "speaker": control + name,
                "text": texts.get(f"{block}_{word}") or texts.get(word),
                "gender": gender,
                "group": "control" if control else "dysarthria",
                "intelligibility": "full" if control else UASPEECH_INTELLIGIBILITY.get(name),
                "block": block,
                "microphone": microphone,
            }
        )
    if not records:
        raise CorpusError(f"{path}: no recording called like F02_B1_C1_M2.wav in this folder")
    return rows_of(records, path, harmonize={"gender": "gender"})


def _words(path: Path) -> dict[str, str]:
    """Return {file name: word} of the word list: its sheet Word_filename, saved as CSV."""
    tables = [path / f"{WORDLIST}.csv", *path.glob(f"*/{WORDLIST}.csv"), *path.glob("**/Word_filename.csv")]
    file = next((table for table in tables if table.is_file()), None)
    if file is None:
        raise CorpusError(
            f"{path}: no {WORDLIST}.csv: open {WORDLIST}.xls, save its sheet Word_filename as CSV under that name"
            " beside the audio"
        )
    names = {name.strip().upper(): name for name in delimited_header(file)}
    if not {"WORD", "FILE NAME"} <= set(names):
        raise CorpusError(
            f"{file}: the columns WORD and FILE NAME are missing: is it the sheet Word_filename?"
        )
    table = read_delimited(file).table
    pairs = zip(table[names["FILE NAME"]], table[names["WORD"]], strict=True)
    return {str(key).strip(): str(word).strip() for key, word in pairs if key and word}


def _sap_files(path: Path) -> list[Path]:
    if not path.is_dir():
        return []
    found = {*path.glob("*/*.json"), *path.glob("*/*/*.json")}
    return sorted(file for file in found if file.stem == file.parent.name)


def _sap(path: Path, files: list[Path]) -> Rows:
    """Read every file that a speaker's JSON names: transcript, etiology and category of the prompt."""
    return rows_of((record for file in files for record in _sap_records(file, path)), path)


def _sap_records(file: Path, root: Path) -> Iterator[dict[str, object]]:
    about = as_object(read_json(file))
    entries = about.get("Files")
    for entry in map(as_object, entries if isinstance(entries, list) else ()):
        name, prompt = entry.get("Filename"), as_object(entry.get("Prompt"))
        if not isinstance(name, str) or not name or set(name) & set("/\\"):
            continue
        yield {
            "id": f"{file.stem}/{name.rsplit('.', 1)[0]}",
            "audio": (file.parent / name).relative_to(root).as_posix(),
            "speaker": file.stem,
            "text": prompt.get("Transcript") or prompt.get("Prompt Text"),
            "etiology": about.get("Etiology"),
            "category": prompt.get("Category Description"),
            "severity": as_object(about.get("Ratings")).get("Severity"),
        }


TORGO = Reader.where(
    _torgo_speakers,
    _torgo,
    name="torgo",
    description="TORGO: F01/Session1 with prompts/ and wav_headMic/, wav_arrayMic/; dysarthria, its severity, controls",
    example="TORGO with F01, FC01, M01 ...",
    missing="no speaker with prompts (F01/Session1/prompts) in this folder",
)
UASPEECH = Reader(
    name="uaspeech",
    description="UASpeech: audio/F02/F02_B1_C1_M2.wav with speaker_wordlist.csv; intelligibility is known",
    example="UASpeech with audio/ and speaker_wordlist.csv",
    detect=_detect_uaspeech,
    rows=_uaspeech,
)
SAP = Reader.where(
    _sap_files,
    _sap,
    name="speech_accessibility",
    description="Speech Accessibility Project: SPEAKER/SPEAKER.json with etiology, files and transcripts",
    example="SpeechAccessibility_2025-07-31/Dev",
    missing="no SPEAKER/SPEAKER.json in this folder",
)
