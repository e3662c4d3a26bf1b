import gzip
import os
import secrets
import stat
import zlib

import polars as pl
import pytest

import voxaudit
from voxaudit import tables
from voxaudit.errors import VoxauditError
from voxaudit.tables import own_names, read_table, require_columns, write_atomically, write_parquet


def test_every_format_reads_the_same(tmp_path):
    table = pl.DataFrame({"id": ["a", "b"], "n": [1, 2]})
    table.write_csv(tmp_path / "t.csv")
    table.write_csv(tmp_path / "t.tsv", separator="\t")
    table.write_ndjson(tmp_path / "t.jsonl")
    table.write_parquet(tmp_path / "t.parquet")
    for ending in ("csv", "tsv", "jsonl", "parquet"):
        assert read_table(tmp_path / f"t.{ending}").equals(table)


def test_a_path_is_no_pattern(tmp_path):
    """Of a folder `run[1]`, polars would read `run1`, and of `*.csv` all there are."""
    table = pl.DataFrame({"id": ["a"], "n": [1]})
    home = tmp_path / "run[1]"
    home.mkdir()
    (tmp_path / "run1").mkdir()
    for ending in ("csv", "jsonl", "parquet"):
        for place in (home / f"*.{ending}", tmp_path / "run1" / f"x.{ending}", home / f"x.{ending}"):
            tables.write_table(table if "*" in place.name else pl.DataFrame({"id": ["b"], "n": [2]}), place)
        assert read_table(home / f"*.{ending}").equals(table)


def test_strings_keep_leading_zeros(tmp_path):
    (tmp_path / "t.csv").write_text("id,n\n007,1e3\n")
    assert read_table(tmp_path / "t.csv", strings=True).rows() == [("007", "1e3")]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("missing.csv", None, "no such file"),
        ("empty.csv", b"", "empty"),
        ("t.xlsx", b"x", "unknown table format '.xlsx'"),
        ("t.parquet", b"not parquet", "cannot read this table"),
        ("t.jsonl", b"{broken", "cannot read this table"),
        ("gzip.csv", gzip.compress(b"id,n\na,1\n", mtime=0), "compressed. Decompress it first"),
        ("zlib.tsv", zlib.compress(b"id\tn\na\t1\n"), "compressed. Decompress it first"),
        (
            "zstd.jsonl",
            bytes.fromhex("28b52ffd2009490000") + b'{"id":1}\n',
            "compressed. Decompress it first",
        ),
        ("t.csv", b"\xff\xfe\x00\x80,b\n\x80,2\n", "cannot read this table"),
    ],
)
def test_unreadable_tables_are_one_line(tmp_path, name, content, message):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(VoxauditError) as caught:
        read_table(path)
    assert message in str(caught.value)
    assert name in str(caught.value)


def test_more_values_than_can_be_read_are_refused_before_they_are(tmp_path, monkeypatch):
    path = tmp_path / "t.parquet"
    same = pl.repeat("a", 3_000_000, eager=True)
    pl.DataFrame({"id": same, "audio": same, "words": pl.repeat([1], 3_000_000, eager=True)}).write_parquet(
        path
    )
    monkeypatch.setattr(tables, "MOST_CELLS", 8_000_000)
    with pytest.raises(
        VoxauditError, match=r"t\.parquet: 3,000,000 rows of 3 columns are more than are read"
    ):
        read_table(path)
    with pytest.raises(VoxauditError, match="3,000,000 rows"):
        tables.scan_table(path, {})
    assert read_table(path, strings=True).columns == ["id", "audio"]  # lists are not even read


def test_a_large_file_may_hold_many_values(tmp_path, monkeypatch):
    """What a run wrote, however many trials it has, can be read again."""
    path = tmp_path / "t.parquet"
    pl.DataFrame({"words": pl.int_range(10_000, eager=True).shuffle(1) % 40}).write_parquet(path)
    monkeypatch.setattr(tables, "MOST_CELLS", 5_000)
    assert read_table(path).height == 10_000
    assert tables.collect(tables.scan_table(path, {}), path).height == 10_000


def test_all_missing_columns_are_named_at_once():
    with pytest.raises(VoxauditError) as caught:
        require_columns(pl.DataFrame({"errors": [1]}), ["erors", "words"], "t.csv")
    assert "no column 'erors', 'words'. Did you mean: errors?" in str(caught.value)


def test_chunks_become_one_table_in_order(tmp_path):
    chunks = (
        pl.DataFrame({"n": range(first, first + 1000)}, schema={"n": pl.Int64})
        for first in range(0, 9000, 1000)
    )
    write_parquet(tmp_path / "t.parquet", chunks, {"n": pl.Int64})
    assert read_table(tmp_path / "t.parquet")["n"].to_list() == list(range(9000))


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "t.txt"
    path.write_text("old")

    def fail(temporary):
        temporary.write_text("half")
        raise OSError(28, "No space left on device")

    with pytest.raises(VoxauditError, match=r"t\.txt: cannot write \(No space left on device\)"):
        write_atomically(path, fail)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["t.txt"]


def test_where_nothing_can_be_written_is_one_line(tmp_path):
    """Neither can what was not written be taken away there, as on a file system that is read-only."""
    (tmp_path / "file").write_text("")
    with pytest.raises(VoxauditError, match="cannot write"):
        write_atomically(tmp_path / "file" / "below.csv", lambda path: path.write_text("x"))


def test_a_link_that_lies_in_wait_is_not_followed(tmp_path, monkeypatch):
    """In a folder where others may write, even a name that was guessed must not lead elsewhere."""
    names = []
    write_atomically(tmp_path / "t.txt", lambda temporary: names.append(temporary.name))
    write_atomically(tmp_path / "t.txt", lambda temporary: names.append(temporary.name))
    assert len(set(names)) == 2
    assert not any(str(os.getpid()) == part for name in names for part in name.split("."))

    (tmp_path / "precious").write_text("mine")
    monkeypatch.setattr(secrets, "token_hex", lambda _: "guessed")
    (tmp_path / ".t.txt.guessed.tmp").symlink_to("precious")
    with pytest.raises(VoxauditError, match=r"t\.txt: cannot write \(File exists\)"):
        write_atomically(tmp_path / "t.txt", lambda temporary: temporary.write_text("yours"))
    assert (tmp_path / "precious").read_text() == "mine"


def test_a_link_is_replaced_and_what_it_leads_to_stays(tmp_path):
    (tmp_path / "precious").write_text("mine")
    (tmp_path / "t.txt").symlink_to("precious")
    write_atomically(tmp_path / "t.txt", lambda temporary: temporary.write_text("new"))
    assert (tmp_path / "t.txt").read_text() == "new"
    assert (tmp_path / "precious").read_text() == "mine"


@pytest.mark.parametrize(
    ("mode", "umask", "left"), [(0o666, 0o022, 0o644), (0o666, 0o002, 0o664), (0o600, 0, 0o600)]
)
def test_others_may_read_as_the_umask_says_unless_it_is_private(tmp_path, mode, umask, left):
    seen = []
    before = os.umask(umask)
    try:
        write_atomically(
            tmp_path / "t.txt",
            lambda temporary: (seen.append(temporary.stat().st_mode), temporary.write_text("x")),
            mode=mode,
        )
    finally:
        os.umask(before)
    assert {stat.S_IMODE(one) for one in (*seen, (tmp_path / "t.txt").stat().st_mode)} == {left}


def test_the_longest_name_can_be_written(tmp_path):
    path = tmp_path / ("\u00e9" * 127)  # 254 bytes
    write_atomically(path, lambda temporary: temporary.write_text("x"))
    assert path.read_text() == "x"


def test_a_column_called_like_a_pattern_stands_for_itself():
    table = pl.DataFrame({"speaker": ["a", "b"], "errors": [1, 2], "words": [5, 6], "^e.*$": ["x", "y"]})
    for frame in (table, table.lazy()):
        assert own_names(frame).collect_schema().names()[-1] == "column ^e.*$"
    answer = voxaudit.accuracy(table, by=["column ^e.*$"])
    assert [one.estimate for one in answer.findings] == [pytest.approx(1 / 5), pytest.approx(1 / 3)]
    with pytest.raises(VoxauditError, match=r"no column '\^e"):
        voxaudit.accuracy(table, by=["^e.*$"])
