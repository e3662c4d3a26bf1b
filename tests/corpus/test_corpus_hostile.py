"""Whatever is in a file: a corpus, or one line that says why not."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from voxaudit.corpus import CorpusError, examine_corpus, read_corpus
from voxaudit.corpus.base import COLUMNS

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
