"""Tar shards as WebDataset, lhotse Shar and NeMo write them: read where they lie, nothing unpacked."""

from __future__ import annotations

import gzip
import io
import json
import tarfile

import numpy as np
import pytest
import soundfile

from voxaudit import files
from voxaudit.audio import content_hash, read
from voxaudit.corpus import CorpusError, examine_corpus, read_corpus


def sound(seconds, ending="wav"):
    buffer = io.BytesIO()
    samples = np.sin(np.arange(int(16_000 * seconds)) / 10)
    soundfile.write(buffer, samples, 16_000, format=ending.upper(), subtype="PCM_16")
    return buffer.getvalue()


def shard(path, entries):
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w") as tar:
        for name, content in entries.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return path


def heard(corpus):
    return [
        (
            one.id,
            one.speaker,
            one.text,
            round(read(one.audio, start=one.start, duration=one.duration).duration, 3),
        )
        for one in corpus
    ]


def test_webdataset(tmp_path, monkeypatch):
    """The layout of github.com/webdataset/webdataset: files of one sample share the name up to the first dot."""
    about = json.dumps({"text": "two words", "speaker": "a", "gender": "female"}).encode()
    first = {
        "x/0001.flac": sound(0.5, "flac"),
        "x/0001.json": about,
        "x/0002.wav": sound(0.25),
        "x/0002.txt": b"yes\n",
    }
    shard(tmp_path / "s/shard-000000.tar", first)
    shard(tmp_path / "s/shard-000001.tar", {"0003.wav": sound(1.0), "0003.txt": b"no", "0004.cls": b"7"})
    before = {path: path.stat().st_size for path in tmp_path.rglob("*")}
    corpus = read_corpus(tmp_path / "s")
    assert (corpus.format, len(corpus)) == ("webdataset", 3)
    expected = [("x/0001", "a", "two words", 0.5), ("x/0002", None, "yes", 0.25), ("0003", None, "no", 1.0)]
    assert heard(corpus) == expected
    assert corpus.table["gender"].to_list() == ["female", None, None]
    assert {path: path.stat().st_size for path in tmp_path.rglob("*")} == before  # nothing was unpacked
    one = read_corpus(tmp_path / "s/shard-000001.tar")
    assert heard(one) == expected[2:]
    # The address survives pathlib, and stands for the recording's own bytes.
    url = files.url_of(one.table["audio"][0])
    assert files.read_bytes(url) == sound(1.0)
    assert files.stamp(url)[0] == len(sound(1.0))
    (tmp_path / "plain.wav").write_bytes(sound(1.0))
    assert content_hash(url) == content_hash(tmp_path / "plain.wav")


def shar_cut(id, text, duration):
    recording = {
        "id": id,
        "sources": [{"type": "shar", "channels": [0], "source": ""}],
        "sampling_rate": 16000,
    }
    return {
        "id": id, "start": 0.0, "duration": duration, "channel": 0, "recording": recording,
        "supervisions": [{"id": f"{id}-s", "start": 0.0, "duration": duration, "text": text, "speaker": f"who-{id}"}],
    }  # fmt: skip


def test_lhotse_shar(tmp_path):
    """The layout of lhotse.shar: cuts.N.jsonl.gz, and recording.N.tar with ID.flac and ID.json."""
    for number, cuts in enumerate(
        ([shar_cut("a", "one", 0.5), shar_cut("b", "two", 0.25)], [shar_cut("c", "three", 1.0)])
    ):
        shard(
            tmp_path / f"recording.{number:06}.tar",
            {
                name: content
                for cut in cuts
                for name, content in (
                    (f"{cut['id']}.flac", sound(cut["duration"], "flac")),
                    (f"{cut['id']}.json", json.dumps(cut["recording"]).encode()),
                )
            },
        )
        lines = "".join(json.dumps(cut) + "\n" for cut in cuts)
        (tmp_path / f"cuts.{number:06}.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    corpus = read_corpus(tmp_path)
    assert corpus.format == "shar"
    assert heard(corpus) == [
        ("a", "who-a", "one", 0.5),
        ("b", "who-b", "two", 0.25),
        ("c", "who-c", "three", 1.0),
    ]
    (tmp_path / "recording.000001.tar").unlink()
    with pytest.raises(CorpusError, match="1 cut has no recording in its shard"):
        read_corpus(tmp_path)


def test_shar_as_lhotse_itself_writes_it(tmp_path):
    lhotse = pytest.importorskip("lhotse")
    (tmp_path / "a.wav").write_bytes(sound(0.5))
    recording = lhotse.Recording.from_file(tmp_path / "a.wav")
    cut = recording.to_cut()
    cut.supervisions = [lhotse.SupervisionSegment("s", recording.id, 0.0, 0.5, text="one", speaker="who")]
    (tmp_path / "shar").mkdir()
    lhotse.CutSet.from_cuts([cut]).to_shar(str(tmp_path / "shar"), fields={"recording": "flac"}, shard_size=1)
    assert heard(read_corpus(tmp_path / "shar")) == [(cut.id, "who", "one", 0.5)]


@pytest.mark.parametrize("sharded", [False, True])
def test_nemo_tarred(tmp_path, sharded):
    """The layout of NeMo's convert_to_tarred_audio_dataset.py: audio_N.tar and lines with shard_id."""
    shard(tmp_path / "audio_0.tar", {"a.wav": sound(0.5), "long.wav": sound(2.0)})
    shard(tmp_path / "audio_1.tar", {"x_c.wav": sound(1.0)})
    lines = [
        {"audio_filepath": "a.wav", "duration": 0.5, "text": "one", "shard_id": 0, "speaker": "p"},
        {"audio_filepath": "long-sub1.wav", "duration": 0.5, "offset": 1.0, "text": "two", "shard_id": 0},
        {"audio_filepath": "x/c.wav", "duration": 1.0, "text": "three", "shard_id": 1},
    ]
    for number in (0, 1) if sharded else (None,):
        name = "tarred_audio_manifest.json" if number is None else f"sharded_manifests/manifest_{number}.json"
        (tmp_path / name).parent.mkdir(exist_ok=True)
        chosen = [line for line in lines if number in (None, line["shard_id"])]
        (tmp_path / name).write_text("".join(json.dumps(line) + "\n" for line in chosen))
    corpus = read_corpus(tmp_path)
    assert corpus.format == "nemo_tarred"
    assert heard(corpus) == [
        ("a", "p", "one", 0.5),
        ("long-sub1", None, "two", 0.5),
        ("x/c", None, "three", 1.0),
    ]


def test_shards_from_strangers(tmp_path):
    (tmp_path / "a.tar").write_bytes(b"no tar" * 500)
    with pytest.raises(CorpusError, match="not a plain tar file"):
        read_corpus(tmp_path / "a.tar")
    with tarfile.open(tmp_path / "a.tar", "w") as tar:
        for name, kind in (("../../evil.wav", tarfile.SYMTYPE), ("b.wav", tarfile.CHRTYPE)):
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "/etc/passwd"
            tar.addfile(info)
        info = tarfile.TarInfo("../up.wav")
        info.size = len(sound(0.5))
        tar.addfile(info, io.BytesIO(sound(0.5)))
    with pytest.raises(CorpusError, match="2 entries are not whole plain files"):
        read_corpus(tmp_path / "a.tar")
    (one,) = read_corpus(tmp_path / "a.tar", skip_bad_rows=True)
    assert read(one.audio).duration == 0.5
    (tmp_path / "a.tar").write_bytes((tmp_path / "a.tar").read_bytes()[:4000])  # cut short on the way
    with pytest.raises(CorpusError):
        read_corpus(tmp_path / "a.tar")


def header(kind, size, name="x"):
    info = tarfile.TarInfo(name)
    info.type, info.size = kind, size
    return info.tobuf(tarfile.GNU_FORMAT)


def extended(**told):
    """Return a header that says more of the next one, as PAX has it."""
    text = b"".join(f"{len(key) + len(value) + 5:2} {key}={value}\n".encode() for key, value in told.items())
    return header(tarfile.XHDTYPE, len(text)) + text.ljust(512, b"\0")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (header(tarfile.XHDTYPE, 1 << 40) + bytes(2048), "a header of 1,099,511,627,776 bytes"),
        (header(tarfile.GNUTYPE_LONGNAME, 1 << 40) + bytes(2048), "a header of"),
        (extended(path="abc") * 2000, "recursion"),
        (
            extended(**{"GNU.sparse.map": "1,2,x"}) + header(tarfile.REGTYPE, 0) + bytes(1024),
            "invalid literal",
        ),
        (extended(size="-5") + header(tarfile.REGTYPE, 600, "a.wav") + bytes(2048), "no good row"),
        (header(tarfile.REGTYPE, 0, "a.wav") + b"rot" * 300, "not a whole plain file"),
    ],
    ids=range(6),
)
def test_headers_that_do_damage_or_were_damaged(tmp_path, content, reason):
    (tmp_path / "a.tar").write_bytes(content)
    with pytest.raises(CorpusError, match=reason):
        read_corpus(tmp_path / "a.tar")


def test_an_empty_text_is_silence_and_none_is_not_transcribed(tmp_path):
    entries = {"a.wav": sound(0.5), "a.txt": b"hi", "b.wav": sound(0.5), "b.txt": b"\n", "c.wav": sound(0.5)}
    found = read_corpus(shard(tmp_path / "a.tar", entries))
    assert found.table["text"].to_list() == ["hi", "", None]
    assert {problem.kind for problem in found.problems} >= {"empty_text", "missing_text"}


def test_what_a_sample_says_of_itself_are_attributes_and_nothing_else(tmp_path):
    about = {"row:number": "abc", "row:file": ["x"], "id": "../x", "audio": "/etc/passwd", "text": "hi"}
    shard(tmp_path / "a.tar", {"a.wav": sound(0.5), "a.json": json.dumps(about).encode()})
    (one,) = read_corpus(tmp_path / "a.tar")
    assert (one.id, one.text, read(one.audio).duration) == ("a", "hi", 0.5)


@pytest.mark.parametrize(
    "change",
    [
        {"supervisions": [None]},
        {"supervisions": [{"custom": 3}]},
        {"supervisions": {"a": 1}},
        {"start": 10**400},
        {"supervisions": [{"start": [1]}]},
        {"id": ["c"]},
        {"recording": 3},
    ],
    ids=range(7),
)
def test_a_cut_that_is_none_is_a_line_that_cannot_be_read(tmp_path, change):
    home = tmp_path / "shar"
    shard(home / "recording.000000.tar", {"c.wav": sound(1.0)})
    good = shar_cut("c", "one", 1.0)
    lines = [json.dumps(good), json.dumps(good | {"id": "d"} | change)]
    (home / "cuts.000000.jsonl").write_text("\n".join(lines))
    found = examine_corpus(home)
    assert found.table["id"].to_list() == ["c"]
    assert [problem.count for problem in found.problems if problem.fatal] == [1]
