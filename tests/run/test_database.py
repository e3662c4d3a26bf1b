"""SQLite files that cannot be used: one line with a remedy, from every store alike."""

import os
import sqlite3
import struct
import sys
from contextlib import closing
from pathlib import Path

import pytest

from voxaudit.errors import VoxauditError
from voxaudit.review.store import LabelStore
from voxaudit.review.study.study import Answers
from voxaudit.run import database
from voxaudit.run.cache import Cache
from voxaudit.run.database import Database, marks
from voxaudit.run.store import Store
from voxaudit.score.quality.measure import QualityStore

SCHEMA = "CREATE TABLE IF NOT EXISTS words (word TEXT PRIMARY KEY, number INTEGER NOT NULL) WITHOUT ROWID;"
ADD = "INSERT INTO words VALUES (?, ?)"
ALL = "SELECT * FROM words ORDER BY number"

OPENERS = {
    "trials.sqlite": lambda folder: Store(folder / "trials.sqlite"),
    "transcripts.sqlite": Cache,
    "quality.sqlite": lambda folder: QualityStore(folder / "quality.sqlite"),
    "review.sqlite": LabelStore,
    "answers.sqlite": Answers,
}
STORES = pytest.mark.parametrize("name", list(OPENERS))


def refused(what, *arguments):
    with pytest.raises(VoxauditError) as caught:
        what(*arguments)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@STORES
def test_a_file_that_is_no_database(tmp_path, name):
    (tmp_path / name).write_bytes(b"not a database at all" * 100)
    said = refused(OPENERS[name], tmp_path)
    assert said == (
        f"{tmp_path / name}: cannot open this database (file is not a database): move it elsewhere and try again"
    )
    assert (tmp_path / name).read_bytes() == b"not a database at all" * 100


@STORES
def test_a_folder_in_its_place(tmp_path, name):
    (tmp_path / name).mkdir()
    said = refused(OPENERS[name], tmp_path)
    assert said.startswith(f"{tmp_path / name}: cannot open this database (unable to open database file): ")


@STORES
def test_a_file_that_another_process_holds(tmp_path, name, monkeypatch):
    monkeypatch.setattr(database, "PATIENCE", 0.05)
    with closing(sqlite3.connect(tmp_path / name, isolation_level=None)) as other:
        other.execute("CREATE TABLE mine (x)")
        other.execute("BEGIN EXCLUSIVE")
        said = refused(OPENERS[name], tmp_path)
    assert said.endswith("(database is locked): another process is using it: try again when that has ended")


@STORES
@pytest.mark.skipif(getattr(os, "geteuid", lambda: 0)() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written(tmp_path, name):
    tmp_path.chmod(0o500)
    try:
        said = refused(OPENERS[name], tmp_path)
    finally:
        tmp_path.chmod(0o700)
    assert "cannot open this database" in said
    assert "writable" in said


def test_a_table_of_another_program(tmp_path):
    with closing(sqlite3.connect(tmp_path / "trials.sqlite")) as other:
        other.execute("CREATE TABLE trials (x)")
    store = Store(tmp_path / "trials.sqlite")
    said = refused(lambda: store.finished("r", ["u"], failed=True))
    store.close()
    assert "trials.sqlite: cannot read this database (no such column" in said
    assert "another version" in said


@STORES
@pytest.mark.parametrize("ending", ["", "-wal", "-shm", "-journal"])
def test_a_link_leads_nowhere(tmp_path, name, ending):
    home, precious = tmp_path / "run", tmp_path / "precious"
    home.mkdir()
    with closing(sqlite3.connect(precious)) as other:
        other.execute("CREATE TABLE mine (x)")
    before = precious.read_bytes()
    (home / f"{name}{ending}").symlink_to(precious)
    assert f"{name}{ending}: is a link" in refused(OPENERS[name], home)
    assert precious.read_bytes() == before


@STORES
def test_a_journal_deletes_no_file_of_its_choice(tmp_path, name):
    """SQLite plays a journal that it finds back, and then deletes the file that the journal names."""
    home, precious = tmp_path / "run", tmp_path / "precious.txt"
    home.mkdir()
    precious.write_text("a thesis")
    with closing(sqlite3.connect(home / name)) as other:
        other.execute("CREATE TABLE mine (x)")
    page = (home / name).read_bytes()[:4096]
    magic = bytes.fromhex("d9d505f920a163d7")
    header = (magic + struct.pack(">IIIII", 1, 0, 2, 512, 4096)).ljust(512, b"\0")
    record = struct.pack(">I", 1) + page + struct.pack(">I", sum(page[4096 - 200 : 0 : -200]))
    named = str(precious).encode()
    end = (
        struct.pack(">I", (1 << 30) // 4096 + 1) + named + struct.pack(">II", len(named), sum(named)) + magic
    )
    (home / f"{name}-journal").write_bytes(header + record + end)
    assert "names a file elsewhere" in refused(OPENERS[name], home)
    assert precious.read_text() == "a thesis"


ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT max(x) FROM n"


@STORES
@pytest.mark.parametrize(
    "program",
    [
        f"CREATE VIEW mine AS {ENDLESS}",
        f"CREATE TABLE a (x); CREATE TRIGGER mine AFTER INSERT ON a BEGIN {ENDLESS}; END",
        "CREATE TABLE mine (x, y AS (hex(zeroblob(x))))",
        "CREATE VIRTUAL TABLE mine USING fts4(x)",
    ],
    ids=["view", "trigger", "computed", "virtual"],
)
def test_a_database_computes_nothing(tmp_path, name, program):
    """A view in the place of a table can be a query without end."""
    with closing(sqlite3.connect(tmp_path / name)) as other:
        other.executescript(program)
    said = refused(OPENERS[name], tmp_path)
    assert "cannot open this database ('mine' in it is no plain table): written by another program" in said


def test_rows_come_back_and_are_not_lost_when_the_next_fail(tmp_path):
    kept = Database(tmp_path / "a.sqlite", SCHEMA)
    kept.write(ADD, [("one", 1), ("two", 2)])
    said = refused(kept.write, ADD, [("three", 3), ("one", 9)])
    assert "cannot write this database (UNIQUE constraint failed" in said
    assert "Everything written before is safe" in said
    assert list(kept.read(ALL)) == [("one", 1), ("two", 2)]  # all of the failed call is taken back
    kept.write(ADD, [("three", 3)])
    kept.close()
    again = Database(tmp_path / "a.sqlite", SCHEMA, durable=True)
    assert [word for word, _ in again.read(ALL)] == ["one", "two", "three"]
    again.close()


def test_rows_that_cannot_even_be_made_take_the_transaction_back(tmp_path):
    def rows():
        yield "one", 1
        raise ZeroDivisionError

    kept = Database(tmp_path / "a.sqlite", SCHEMA)
    with pytest.raises(ZeroDivisionError):
        kept.write(ADD, rows())
    assert list(kept.read(ALL)) == []
    kept.write(ADD, [("one", 1)])
    kept.close()


def test_a_broken_file_is_one_line_when_it_is_read(tmp_path):
    path = tmp_path / "a.sqlite"
    kept = Database(path, SCHEMA)
    kept.write(ADD, [(f"word {number}" * 50, number) for number in range(2000)])
    kept.close()
    content = bytearray(path.read_bytes())
    content[8192:] = os.urandom(len(content) - 8192)
    path.write_bytes(content)
    broken = Database(path, SCHEMA)
    said = refused(lambda: list(broken.read(ALL)))
    broken.close()
    assert (
        "a.sqlite: cannot read this database (database disk image is malformed): the file is broken" in said
    )


@pytest.mark.parametrize(("durable", "level"), [(False, 1), (True, 2)])
def test_committed_rows_survive_as_much_as_is_asked(tmp_path, durable, level):
    kept = Database(tmp_path / "a.sqlite", SCHEMA, durable=durable)
    assert list(kept.read("PRAGMA journal_mode")) == [("wal",)]
    assert list(kept.read("PRAGMA synchronous")) == [(level,)]
    kept.close()


def test_marks():
    assert marks([]) == ""
    assert marks([1, 2, 3]) == "?,?,?"


def test_nobody_opens_sqlite_otherwise():
    home = Path(sys.modules["voxaudit"].__file__).parent
    users = [path for path in home.rglob("*.py") if "sqlite3" in path.read_text(encoding="utf-8")]
    assert [path.relative_to(home).as_posix() for path in users] == ["run/database.py"]
