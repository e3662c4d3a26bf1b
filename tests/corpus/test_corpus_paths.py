"""Audio found folder by folder, as if asked one by one; ids that do not depend on the machine."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from voxaudit.audio import read
from voxaudit.corpus import CorpusError, read_corpus
from voxaudit.corpus.recordings import FEW, default_ids, existing, locate
from voxaudit.perturb import parse_scenario

NAMES = st.text(
    st.characters(blacklist_categories=["Cs"], blacklist_characters="/\0"), min_size=1, max_size=12
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_existing_equals_asking_for_each_file(tmp_path, data):
    folder = tmp_path / "files"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    made = data.draw(
        st.lists(NAMES.filter(lambda name: name not in (".", "..")), max_size=3 * FEW, unique=True)
    )
    for name in made:
        (folder / name).touch()
    asked = (
        made
        + data.draw(st.lists(NAMES, max_size=2 * FEW))
        + ["../files/" + name for name in made[:2]]
        + ["\0", "x" * 999]
    )
    paths = pl.Series([f"{folder}/{name}" for name in asked])
    assert existing(paths).tolist() == [os.path.isfile(path) for path in paths]  # noqa: PTH113


def test_existing_lists_folders_and_tells_files_from_folders(tmp_path):
    for number in range(3 * FEW):
        (tmp_path / f"{number}.wav").touch()
    (tmp_path / "0.wav").unlink()
    (tmp_path / "0.wav").mkdir()
    (tmp_path / "1.wav").unlink()
    (tmp_path / "1.wav").symlink_to(tmp_path / "2.wav")
    (tmp_path / "3.wav").unlink()
    (tmp_path / "3.wav").symlink_to(tmp_path / "nowhere")
    (tmp_path / os.fsdecode(b"not-utf8-\xff.wav")).touch()
    paths = pl.Series(
        [f"{tmp_path}/{n}.wav" for n in range(3 * FEW)] + [f"{tmp_path}/no/{n}.wav" for n in range(2 * FEW)]
    )
    wanted = [n not in (0, 3) for n in range(3 * FEW)] + [False] * 2 * FEW
    assert existing(paths).tolist() == wanted


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may list every folder")
def test_a_folder_that_may_not_be_listed_is_asked_file_by_file(tmp_path):
    folder = tmp_path / "closed"
    folder.mkdir()
    for number in range(2 * FEW):
        (folder / f"{number}.wav").touch()
    folder.chmod(0o311)
    try:
        assert (
            existing(pl.Series([f"{folder}/{n}.wav" for n in range(3 * FEW)])).tolist()
            == [True] * 2 * FEW + [False] * FEW
        )
    finally:
        folder.chmod(0o755)


def test_relative_paths_start_at_the_manifest_then_elsewhere(tmp_path, monkeypatch):
    here, work = tmp_path / "here", tmp_path / "work"
    for place in (here / "clips", work / "deep"):
        place.mkdir(parents=True)
    for file in (here / "a.wav", here / "clips" / "a.wav", here / "clips" / "b.wav", work / "deep" / "c.wav"):
        file.touch()
    monkeypatch.chdir(work)
    values = pl.Series(["a.wav", "b.wav", "deep/c.wav", f"{work}/deep/c.wav", None, "d.wav", "a.wav"])
    found = locate(values, here, ("clips",))
    assert found["path"].to_list() == [
        *(f"{here}/a.wav", f"{here}/clips/b.wav", f"{work}/deep/c.wav", f"{work}/deep/c.wav"),
        *(None, f"{here}/d.wav", f"{here}/a.wav"),
    ]
    assert found["found"].to_list() == [True, True, True, True, False, False, True]
    # Sub folders are looked into only where a format says so.
    assert locate(values, here)["found"].to_list() == [True, False, True, True, False, False, True]


def ids(values, starts=None, root="/data/set"):
    written = pl.Series(values)
    paths = locate(written, Path(root), check=False)["path"]
    return default_ids(written, paths, pl.Series(starts or [None] * len(values), dtype=pl.Float64)).to_list()


def test_default_ids():
    assert ids(["a.wav", "x/b.FLAC"]) == ["a", "x/b"]
    assert ids(["./a.wav", "./x/../b.wav"]) == ["a", "x/../b"]
    # An ending goes only where all ids stay different, and only if it is audio's.
    assert ids(["a.wav", "a.flac"]) == ["a.wav", "a.flac"]
    assert ids(["take.1", "take.2", ".wav", "b.wav"]) == ["take.1", "take.2", ".wav", "b"]
    # Where a path leaves the manifest's folder, all are paths below the folder that holds every recording.
    assert ids(["./a.wav", "../b.wav"]) == ["set/a", "b"]
    assert ids(["/data/set/x/a.wav", "x/b.wav"]) == ["a", "b"]
    assert ids(["/data/x/a.wav", "/data/b.wav", "s3://bucket/c.wav"]) == ["x/a", "b", "s3://bucket/c"]
    for root in ("/data", "/data/set", "/elsewhere/deep/down"):
        assert ids(["/data/set/x/a.wav", "/data/set/b.wav", "/data/other/c.wav"], root=root) == [
            *("set/x/a", "set/b", "other/c"),
        ]
    # Segments of one file carry their start; the same segment twice is a duplicate.
    assert ids(["a.wav", "a.wav", "b.wav"], [0.0, 1.5, 2.0]) == ["a@0.0", "a@1.5", "b"]
    assert ids(["a.wav", "a.wav"], [1.0, 1.0]) == ["a@1.0", "a@1.0"]
    assert ids(["a.wav", "a.wav"]) == ["a", "a"]
    assert ids(["new\nline.wav"]) == ["new_line"]
    assert ids([None, "a.wav"]) == [None, "a"]


HOSTILE = [
    "with space.wav",
    "quote'\".wav",
    "new\nline.wav",
    "tab\there.wav",
    "ünï-日本.wav",
    "-rf.wav",
    "$(x).wav",
    "a;b|c.wav",
]


def test_hostile_file_names_are_just_names(wavs):
    root = wavs("sub/" + "l" * 200 + ".wav", *HOSTILE)
    pl.DataFrame({"path": [*HOSTILE, "sub/../sub/" + "l" * 200 + ".wav", f"sub/../{HOSTILE[0]}"]}).write_csv(
        root / "m.csv"
    )
    corpus = read_corpus(root / "m.csv")
    assert len(corpus) == len(HOSTILE) + 2
    assert all(utterance.audio.is_file() for utterance in corpus)
    (root / "m.csv").unlink()
    plain = read_corpus(root)
    assert len(plain) == len(HOSTILE) + 1
    assert all(utterance.audio.is_file() for utterance in plain)


def test_file_names_that_are_not_utf8_are_left_out_of_a_folder_and_said(wavs):
    root = wavs("a.wav")
    shutil.copy(root / "a.wav", root / os.fsdecode(b"caf\xe9.wav"))
    corpus = read_corpus(root)
    assert corpus.table["id"].to_list() == ["a"]
    assert "1 audio files left out: their names are not UTF-8; rename them" in [
        p.message for p in corpus.problems
    ]


def test_a_relative_corpus_gives_full_paths(wavs, monkeypatch):
    root = wavs("set/a.wav")
    (root / "set" / "m.csv").write_text("path\na.wav\n")
    monkeypatch.chdir(root / "set")
    inside = read_corpus("m.csv")
    monkeypatch.chdir(root)
    assert read_corpus("set/m.csv").table.equals(inside.table)
    assert inside.table["audio"].to_list() == [f"{root}/set/a.wav"]


def test_ids_and_noise_do_not_depend_on_where_the_manifest_lies(wavs, tmp_path):
    root = wavs("audio/x/a.wav", "audio/y/b.wav")
    names = ("audio/x/a.wav", "audio/y/b.wav")
    moved = tmp_path / "moved"
    shutil.copytree(root / "audio", moved / "audio")
    places = (
        (root, root),  # beside the audio
        (root / "audio" / "x", root),  # inside of it
        (tmp_path / "far" / "away" / "from" / "it", root),
        (moved / "lists", moved),  # all of it moved
    )
    found = []
    for folder, audio in places:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "m.csv").write_text("path\n" + "".join(f"{audio}/{name}\n" for name in names))
        found.append(read_corpus(folder / "m.csv"))
    (moved / "lists" / "m.csv").write_text("path\n" + "".join(f"../{name}\n" for name in names))
    found.append(read_corpus(moved / "lists" / "m.csv"))
    assert [corpus.table["id"].to_list() for corpus in found] == [["x/a", "y/b"]] * 5
    noise = parse_scenario("gaussian_noise:3")
    heard = {
        noise.apply(read(utterance.audio), seed=1, utterance=utterance.id).samples.tobytes()
        for corpus in found
        for utterance in corpus
        if utterance.id == "x/a"
    }
    assert len(heard) == 1


def test_a_recording_that_is_named_twice_is_one_clear_error(wavs):
    root = wavs("a.wav")
    (root / "m.csv").write_text("path\na.wav\na.wav\n")
    with pytest.raises(CorpusError) as caught:
        read_corpus(root / "m.csv")
    assert "1 duplicate id (rows 2 and 3: 'a'): ids come from the audio paths" in str(caught.value)
    assert "add a column `id`, or `start`" in str(caught.value)
    (root / "m.csv").write_text("id,path\na,a.wav\na,a.wav\n")
    with pytest.raises(CorpusError) as caught:
        read_corpus(root / "m.csv")
    assert "audio paths" not in str(caught.value)
