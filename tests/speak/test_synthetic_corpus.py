"""The demo's synthetic corpus: balanced, labeled, made once, and made again only when it must be."""

from __future__ import annotations

import csv
import hashlib
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
import soundfile

from voxaudit.audio import write
from voxaudit.errors import VoxauditError
from voxaudit.speak import corpus, made
from voxaudit.speak.corpus import BLOCKS, SENTENCES, SPEAKERS


def rows_of(manifest: Path) -> list[dict[str, str]]:
    with manifest.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def digests(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("corpus") / "synthetic"
    corpus.make_synthetic_corpus(folder)
    return folder


def test_every_sentence_is_said_equally_often_in_every_group() -> None:
    design = corpus.clips()
    for group in ({"accent"}, {"pitch"}, {"accent", "pitch"}):
        counts = Counter(
            (clip.sentence, *(getattr(clip.speaker, name) for name in sorted(group))) for clip in design
        )
        assert len(set(counts.values())) == 1, counts
        assert len(counts) == len(SENTENCES) * 2 ** len(group)


def test_speakers_differ_and_sentences_are_short() -> None:
    assert len(SPEAKERS) >= 12
    assert len({speaker.id for speaker in SPEAKERS}) == len(SPEAKERS)
    assert len({speaker.voice for speaker in SPEAKERS}) == len(SPEAKERS)
    assert all(4 <= len(text.split()) <= 9 for text in SENTENCES)
    assert {speaker.block for speaker in SPEAKERS} == set(BLOCKS)
    low = [speaker.voice.pitch for speaker in SPEAKERS if speaker.pitch == "low"]
    high = [speaker.voice.pitch for speaker in SPEAKERS if speaker.pitch == "high"]
    assert max(low) < min(high)


def test_the_manifest_describes_audio_that_can_be_read(whole: Path) -> None:
    rows = rows_of(whole / "manifest.csv")
    assert len(rows) == len(corpus.clips()) == len({row["id"] for row in rows})
    assert list(rows[0]) == [
        *("id", "audio", "speaker", "text", "accent", "pitch", "voice_language", "voice", "synthetic")
    ]
    seconds = 0.0
    for row in rows:
        assert row["synthetic"] == "yes"
        assert row["text"] in SENTENCES
        samples, rate = soundfile.read(whole / row["audio"])
        assert (rate, samples.ndim) == (16000, 1)
        assert 1 < len(samples) / rate < 5
        assert 0.05 < abs(samples).max() < 0.99, "silent or clipped"
        seconds += len(samples) / rate
    assert seconds < 200, "the demo would take too long"
    assert "No person was recorded" in (whole / "README.txt").read_text(encoding="utf-8")


def test_what_comes_along_is_what_the_voices_say(whole: Path, tmp_path: Path) -> None:
    pytest.importorskip("py_nanotts", reason="py-nanotts is not installed")
    design = {clip.speaker.voice.language: clip for clip in corpus.clips()}
    assert len(design) == 6
    for clip in design.values():
        write(tmp_path / "new.wav", corpus.record(clip))
        assert (tmp_path / "new.wav").read_bytes() == (whole / "audio" / f"{clip.id}.wav").read_bytes()


def test_a_whole_folder_is_left_as_it_is(whole: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in whole.rglob("*")}
    calls: list[tuple[int, int]] = []
    manifest = corpus.make_synthetic_corpus(whole, progress=lambda done, total: calls.append((done, total)))
    assert manifest == whole / "manifest.csv"
    assert calls == []
    assert {path: path.stat().st_mtime_ns for path in whole.rglob("*")} == before


def test_killed_in_the_middle_and_finished_by_another_process(whole: Path, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "synthetic"
    code = (
        "import os, signal, sys; from voxaudit.speak.corpus import make_synthetic_corpus;"
        "kill = lambda done, total: done == 7 and os.kill(os.getpid(), signal.SIGKILL);"
        "make_synthetic_corpus(sys.argv[1], progress=kill)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(folder)], capture_output=True)
    assert done.returncode < 0
    assert not (folder / "manifest.csv").exists()
    assert len(list(folder.rglob("*.wav"))) == 7
    calls: list[tuple[int, int]] = []
    corpus.make_synthetic_corpus(folder, progress=lambda done, total: calls.append((done, total)))
    assert calls[-1] == (len(corpus.clips()), len(corpus.clips()))
    assert digests(folder) == digests(whole)  # the same bytes, in another process and folder


def few_clips(monkeypatch: pytest.MonkeyPatch) -> None:
    design = corpus.clips()[:2]
    monkeypatch.setattr(corpus, "clips", lambda: design)


def test_a_damaged_file_is_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few_clips(monkeypatch)
    folder = tmp_path / "c"
    row = rows_of(corpus.make_synthetic_corpus(folder))[0]
    intact = digests(folder)
    with (folder / row["audio"]).open("r+b") as file:
        file.truncate(1000)
    corpus.make_synthetic_corpus(folder)
    assert digests(folder) == intact
    (folder / "manifest.csv").unlink()
    corpus.make_synthetic_corpus(folder)
    assert digests(folder) == intact


def test_another_recipe_makes_it_again_and_clears_the_old_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few_clips(monkeypatch)
    folder, outside = tmp_path / "c", tmp_path / "precious.wav"
    outside.write_text("mine")
    corpus.make_synthetic_corpus(folder)
    marker = json.loads((folder / made.MARKER).read_text())
    (folder / "audio" / "gone.wav").write_bytes(b"old")
    marker["files"].update({"audio/gone.wav": 3, "../precious.wav": 4})
    (folder / made.MARKER).write_text(json.dumps(marker))
    monkeypatch.setattr(corpus, "VERSION", corpus.VERSION + 1)
    corpus.make_synthetic_corpus(folder)
    assert not (folder / "audio" / "gone.wav").exists()
    assert outside.read_text() == "mine"
    assert json.loads((folder / made.MARKER).read_text())["recipe"] == corpus.recipe_id()


def test_a_folder_with_other_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "manifest.csv").write_text("id,audio\n")
    with pytest.raises(VoxauditError, match="did not make"):
        corpus.make_synthetic_corpus(tmp_path)
    assert (tmp_path / "manifest.csv").read_text() == "id,audio\n"
    assert [path.name for path in tmp_path.iterdir()] == ["manifest.csv"]


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(VoxauditError, match=r"file/corpus: cannot write here .*another folder"):
        corpus.make_synthetic_corpus(tmp_path / "file" / "corpus")


@pytest.mark.slow
def test_a_real_recognizer_understands_natives_well_and_accents_less(whole: Path) -> None:
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    from rapidfuzz.distance import Levenshtein

    from voxaudit import audio
    from voxaudit.recognize.moonshine import Moonshine

    try:
        hear = Moonshine().load()
    except VoxauditError as error:
        pytest.skip(f"no Moonshine here: {error}")
    errors, words = Counter[str](), Counter[str]()
    for row in rows_of(whole / "manifest.csv"):
        said = plain(row["text"])
        heard = plain(hear([audio.read(whole / row["audio"], rate=16000)])[0].text)
        errors[row["accent"]] += Levenshtein.distance(said, heard)
        words[row["accent"]] += len(said)
    native, accented = (errors[group] / words[group] for group in ("native", "accented"))
    assert native < 0.15
    assert 0.12 < accented < 0.45
    assert accented > 1.5 * native


def plain(text: str) -> list[str]:
    return "".join(c if c.isalpha() or c == "'" else " " for c in text.lower()).split()
