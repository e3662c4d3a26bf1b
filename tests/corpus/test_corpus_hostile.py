"""Whatever is in a file: a corpus, or one line that says why not."""

from __future__ import annotations

import datetime
import gzip
import os

import numpy as np
import polars as pl
import pytest
import soundfile
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from voxaudit import audio
from voxaudit.config import load_config
from voxaudit.corpus import CorpusError, columns, examine_corpus, lhotse, read_corpus
from voxaudit.corpus.base import COLUMNS
from voxaudit.errors import VoxauditError
from voxaudit.tables import read_table

LENIENT = settings(
    max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)

FIELDS = st.sampled_from(
    [
        "",
        " ",
        "a.wav",
        "b.wav",
        "../a.wav",
        "x/\0.wav",
        '"',
        '"a',
        "a,b",
        "1",
        "-1",
        "nan",
        "1e999",
        "\x01",
        "é",
        "\u2028",
        "\r",
    ]
)
HEADERS = st.lists(
    st.sampled_from(["path", "id", "text", "speaker", "start", "end", "duration", "words", "", "x"]),
    max_size=6,
)


def attempt(read, path, **options):
    """Return the corpus and no message, or no corpus and the message."""
    try:
        return read(path, **options), None
    except CorpusError as error:
        return None, str(error)


def check(path):
    corpus, refusal = attempt(examine_corpus, path)
    if corpus is None:
        assert refusal
        assert "\n" not in refusal
        return
    # What is left is sound, whatever was wrong with the rest.
    table = corpus.table
    assert table.columns[: len(COLUMNS)] == list(COLUMNS)
    assert table["id"].null_count() == 0
    assert not table["id"].is_duplicated().any()
    assert all(utterance.audio.is_file() for utterance in corpus)
    assert not (table["duration"] <= 0).any()
    assert not (table["start"] < 0).any()
    assert corpus.skipped == 0 or any(problem.fatal for problem in corpus.problems)
    kept, refusal = attempt(read_corpus, path, skip_bad_rows=True)
    if kept is None:
        assert table.is_empty()
        assert "\n" not in refusal
    else:
        assert kept.table.equals(table)
        assert len(kept) > 0


@LENIENT
@given(ending=st.sampled_from(["csv", "tsv", "jsonl", "json", "parquet"]), content=st.binary(max_size=200))
def test_any_bytes(tmp_path, ending, content):
    path = tmp_path / f"m.{ending}"
    path.write_bytes(content)
    check(path)


@pytest.mark.slow
@LENIENT
@given(
    separator=st.sampled_from([",", "\t", ";"]),
    end=st.sampled_from(["\n", "\r\n"]),
    header=HEADERS,
    rows=st.lists(st.lists(FIELDS, max_size=7), max_size=8),
)
def test_any_table_of_awkward_fields(tmp_path, separator, end, header, rows):
    for name in ("a.wav", "b.wav"):
        (tmp_path / name).touch()
    for path in (tmp_path / "m.csv", tmp_path / "m.tsv"):
        lines = [separator.join(row) for row in [["path", *header], *rows]]
        path.write_bytes((end.join(lines) + end).encode())
        check(path)


@settings(LENIENT, max_examples=20)
@given(
    text=st.lists(st.text("ab |-\t\r\x00é", max_size=12), max_size=6),
    segments=st.lists(st.text("ab 01.-\t", max_size=12), max_size=6),
    speakers=st.lists(st.text("ab \t", max_size=6), max_size=4),
)
def test_any_kaldi_directory(tmp_path, text, segments, speakers):
    (tmp_path / "a").touch()
    (tmp_path / "wav.scp").write_text("a a\n" + "\n".join(text), newline="")
    (tmp_path / "segments").write_text("\n".join(segments))
    (tmp_path / "utt2spk").write_text("\n".join(speakers))
    (tmp_path / "spk2gender").write_text("\n".join(speakers))
    check(tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with a name")
@pytest.mark.parametrize(
    "name",
    [
        "m.csv",
        "m.tsv",
        "m.jsonl",
        "m.json",
        "m.parquet",
        "m.stm",
        "m.ctm",
        "m.trn",
        "m.xml",
        "m.cha",
        "m.jsonl.gz",
    ],
)
def test_what_would_be_read_for_ever_is_not_opened(tmp_path, name):
    """A pipe that nobody writes to, and a link to a device that never ends."""
    os.mkfifo(tmp_path / name)
    (tmp_path / f"zero{name}").symlink_to("/dev/zero")
    for path in (tmp_path / name, tmp_path / f"zero{name}"):
        with pytest.raises(CorpusError, match="neither a file nor a folder"):
            read_corpus(path)
        with pytest.raises(VoxauditError, match="is not a file"):
            read_table(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with a name")
@pytest.mark.parametrize(
    "name",
    [
        "metadata.csv",
        "manifest.csv",
        "validated.tsv",
        "text",
        "wav.scp",
        "x_se0_x.txt",
        "x.cha",
        "x.jsonl",
    ],
)
def test_pipes_inside_a_folder_are_not_opened_either(tmp_path, name):
    os.mkfifo(tmp_path / name)
    with pytest.raises(VoxauditError):
        read_corpus(tmp_path)


def test_a_recording_that_is_a_pipe_is_no_recording(tmp_path):
    os.mkfifo(tmp_path / "a.wav")
    (tmp_path / "m.csv").write_text("path,text\na.wav,hello\n")
    with pytest.raises(CorpusError, match="audio file does not exist"):
        read_corpus(tmp_path / "m.csv")


@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_a_length_of_time_in_a_parquet_manifest_is_seconds(tmp_path, unit):
    soundfile.write(tmp_path / "a.wav", np.zeros(32_000), 16_000)
    lengths = pl.Series([datetime.timedelta(seconds=1.5)], dtype=pl.Duration(unit))
    table = pl.DataFrame({"path": ["a.wav"], "text": ["x"], "duration": lengths, "pause": lengths})
    table.write_parquet(tmp_path / "m.parquet")
    corpus = read_corpus(tmp_path / "m.parquet")
    assert corpus.table["duration"].to_list() == [1.5]
    assert corpus.table["pause"].to_list() == ["1.5"]
    assert read_table(tmp_path / "m.parquet", strings=True)["pause"].to_list() == ["1.5"]


class Names:
    """Names that are taken, and how often all of them were looked through."""

    def __init__(self, names):
        self.names, self.passes = names, 0

    def __contains__(self, name):
        return name in self.names

    def __iter__(self):
        self.passes += 1
        return iter(self.names)


def test_not_everything_is_looked_through_for_every_column(monkeypatch):
    """With ten thousand columns that takes longer than reading them."""
    names = Names(columns.TAKEN)
    monkeypatch.setattr(columns, "TAKEN", names)
    plan = columns.plan_columns(["path", *(f"c{n}" for n in range(500))], "m.csv")
    assert len(plan.attributes) == 500
    assert names.passes < 5


def test_a_wide_table_is_read_as_it_stands(tmp_path):
    soundfile.write(tmp_path / "a.wav", np.zeros(800), 16_000)
    names = [f"c{n}" for n in range(3000)]
    rows = [",".join(["path", *names]), ",".join(["a.wav", *(f" v{n} " for n in range(3000))])]
    (tmp_path / "m.csv").write_text("\n".join(rows) + "\n")
    table = read_corpus(tmp_path / "m.csv").table
    assert table.columns[-3000:] == names
    assert table.row(0)[-3000:] == tuple(f"v{n}" for n in range(3000))


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "x = " + "[" * 20_000,
        "x = " + "{ a = " * 5_000,
        "[run]\nseed = " + "9" * 10_000,
        "[" * 20_000,
        "a." * 20_000,
    ],
    ids=range(5),
)
def test_a_file_that_is_too_deep_or_too_long_is_one_line(tmp_path, text):
    (tmp_path / "audit.toml").write_text(text)
    with pytest.raises(VoxauditError, match=r"not valid TOML|unknown section") as caught:
        load_config(tmp_path / "audit.toml")
    assert len(str(caught.value)) < 1000


def test_a_compressed_line_without_end_is_not_had_in_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(lhotse, "LONGEST_LINE", 1000)
    cut = b'{"id": "a", "start": 0, "supervisions": [], "recording": {"sources": [{"source": "a.wav"}]}}\n'
    with gzip.open(tmp_path / "cuts.jsonl.gz", "wb") as file:
        file.write(cut + b"[" * 1_000_000)
    read = examine_corpus(tmp_path / "cuts.jsonl.gz", format="lhotse", check_audio=False)
    assert any(problem.kind == "bad_json" and problem.count == 1000 for problem in read.problems)


def test_spellings_of_one_name_are_one_person_and_one_group(tmp_path):
    """An accent is one character where one machine wrote it, and two where another did."""
    soundfile.write(tmp_path / "a.wav", np.zeros(800), 16_000)
    rows = ["id,path,speaker,city,text", "1,a.wav,Zo\u00eb,M\u00e1laga,x", "2,a.wav,Zoe\u0308,Ma\u0301laga,x"]
    (tmp_path / "m.csv").write_text("\n".join(rows) + "\n")
    table = read_corpus(tmp_path / "m.csv").table
    assert table["speaker"].to_list() == ["Zo\u00eb"] * 2
    assert table["city"].to_list() == ["M\u00e1laga"] * 2


def test_times_beyond_all_numbers_are_like_others_beyond_the_end(tmp_path):
    soundfile.write(tmp_path / "a.wav", np.zeros(800), 16_000)
    assert audio.read(tmp_path / "a.wav", duration=1e308).duration == 0.05
    with pytest.raises(
        audio.AudioError, match=r"the segment starts at 1e\+308 s but the file ends at 0\.05 s"
    ):
        audio.read(tmp_path / "a.wav", start=1e308)
