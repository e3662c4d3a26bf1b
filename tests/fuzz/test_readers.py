"""Files that nobody wrote on purpose: readers either understand them or refuse in one line, and never crash or hang."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from voxaudit.align import read_alignments
from voxaudit.config import load_config
from voxaudit.corpus import read_corpus
from voxaudit.corpus.rows import FORMATS
from voxaudit.errors import VoxauditError
from voxaudit.recognize import make_recognizer
from voxaudit.review.study.ratings import analyze_ratings, read_ratings_table
from voxaudit.score.files import read_pairs
from voxaudit.tables import read_table

TRIES = settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    derandomize=True,
)
FILES = [
    *("text", "wav.scp", "segments", "utt2spk", "metadata.csv", "validated.tsv", "transcripts.txt", "a.wav"),
    *(
        "x.cha",
        "downloaded_file.tsv",
        "speaker-info.txt",
        "S01.json",
        "metainfo.txt",
        "SPEAKERS.TXT",
        "cuts.jsonl",
    ),
]
WORDS = st.sampled_from(
    [
        "path",
        "text",
        "id",
        "speaker",
        "start",
        "duration",
        "a.wav",
        "../x",
        "<script>",
        "\u202e",
        "نص",
        "1",
        "-1",
        "nan",
        "",
        '"',
    ]
)
CELLS = st.one_of(WORDS, st.text(max_size=12))
TABLES = st.lists(st.lists(CELLS, min_size=1, max_size=6), max_size=6).map(
    lambda rows: "\n".join(",".join(row) for row in rows)
)
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.floats(), st.integers(), CELLS),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(CELLS, inner, max_size=5)),
    max_leaves=12,
)
LINES = st.lists(JSON, max_size=5).map(lambda rows: "\n".join(json.dumps(row) for row in rows))
ANYTHING = st.one_of(TABLES, LINES, st.text(max_size=300)).map(
    lambda text: text.encode("utf-8", "surrogatepass")
)
BYTES = st.one_of(ANYTHING, st.binary(max_size=300))


def tried(read, *arguments, **options):
    """Call a reader; what it refuses must be one line."""
    said = "understood"
    try:
        read(*arguments, **options)
    except VoxauditError as error:
        said = str(error)
    assert said.strip()
    assert len(said) < 20_000


@pytest.mark.slow
@pytest.mark.parametrize(
    "ending", ["csv", "tsv", "jsonl", "json", "parquet", "trn", "stm", "ctm", "xml", "gz", "txt"]
)
@TRIES
@given(content=BYTES)
def test_a_file_as_a_corpus(tmp_path, ending, content):
    path = tmp_path / f"manifest.{ending}"
    path.write_bytes(content)
    tried(read_corpus, path)
    tried(read_table, path)


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in FORMATS.names() if name not in ("hugging_face",)])
@settings(TRIES, max_examples=12)
@given(content=BYTES)
def test_a_file_as_every_format_that_was_named(tmp_path, name, content):
    for ending in ("csv", "jsonl"):
        path = tmp_path / f"manifest.{ending}"
        path.write_bytes(content)
        tried(read_corpus, path, format=name)


@TRIES
@given(
    names=st.lists(
        st.sampled_from(FILES),
        max_size=4,
        unique=True,
    ),
    content=BYTES,
)
def test_a_folder_as_a_corpus(tmp_path, names, content):
    home = tmp_path / "folder"
    home.mkdir(exist_ok=True)
    for old in home.iterdir():
        old.unlink()
    for name in names:
        (home / name).write_bytes(content)
    tried(read_corpus, home)


TOML_LINES = """[corpus]
path = "a.csv"
[recognizers.moonshine]
[run]
seed = 1
seed = 'x'
[gates]
[[gates]]
clean_wer = 0.1
clean_wer = true
[suites]
mine = ['gain:1']
[scenarios]
use = ['mine']
use = 3
[corpora.accented]
[sources]
[score]
normalizer = 'basic'
attributes = [1]
[gates.x]
timeout = nan""".splitlines()
TOML = st.lists(
    st.one_of(
        st.sampled_from(TOML_LINES),
        st.text(max_size=30),
    ),
    max_size=12,
).map("\n".join)


@settings(TRIES, max_examples=150)
@given(content=st.one_of(TOML.map(lambda text: text.encode("utf-8", "surrogatepass")), BYTES))
def test_audit_toml(tmp_path, content):
    path = tmp_path / "audit.toml"
    path.write_bytes(content)
    tried(load_config, path)


@pytest.mark.parametrize("ending", ["csv", "jsonl", "txt", "trn", "ctm", "stm", "json"])
@TRIES
@given(content=BYTES)
def test_transcripts(tmp_path, ending, content):
    path = tmp_path / f"heard.{ending}"
    path.write_bytes(content)
    tried(read_pairs, path, path)
    tried(lambda: make_recognizer(f"transcripts:{path}").load())


@pytest.mark.parametrize("ending", ["ctm", "TextGrid", "jsonl"])
@TRIES
@given(content=BYTES)
def test_alignments(tmp_path, ending, content):
    path = tmp_path / f"words.{ending}"
    path.write_bytes(content)
    tried(read_alignments, path)


@TRIES
@given(content=BYTES)
def test_ratings(tmp_path, content):
    path = tmp_path / "ratings.csv"
    path.write_bytes(b"transformation,theta,participant,rating\n" + content)
    tried(lambda: analyze_ratings(read_ratings_table(path)))
