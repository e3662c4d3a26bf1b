"""Labels on disk: append-only, several reviewers, safe under threads, processes and kill -9."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading

import pytest
from made_run import HOSTILE, write_stutter

from voxaudit.audits.stutter.folder import read_labels
from voxaudit.errors import VoxauditError
from voxaudit.review.labels import (
    agreement,
    apply_labels,
    decide,
    export_labels,
    exported,
    read_review,
    summary,
)
from voxaudit.review.store import Given, LabelStore, reviewer_name
from voxaudit.run.lock import hold
from voxaudit.tables import read_table


def given(reviewer, case, label, **more):
    return Given(reviewer, "stutter", case, label, **more)


def test_the_last_word_of_each_reviewer_counts_and_nothing_is_lost(tmp_path):
    store = LabelStore(tmp_path)
    store.add(given("anna", "c1", "fine"))
    store.add(given("ben", "c1", "malformed", comment="noise"))
    store.add(given("anna", "c1", "real_fault", kind="word_omission"))
    store.add(given("anna", "c2", "fine"))
    store.add(given("anna", "c2", ""))
    assert [(one.reviewer, one.case, one.label) for one in store.current()] == [
        ("ben", "c1", "malformed"),
        ("anna", "c1", "real_fault"),
    ]
    assert [one.label for one in store.history()] == ["fine", "malformed", "real_fault", "fine", ""]
    assert all(one.time.endswith("+00:00") for one in store.history())
    assert store.current("trials") == []


def test_what_is_not_a_label_is_refused(tmp_path):
    store = LabelStore(tmp_path)
    for wrong in (
        lambda: given("anna", "c", "bad"),
        lambda: given("anna", "c", "real_fault", kind="odd"),
        lambda: given("anna", "c", "fine", kind="word_omission"),
        lambda: given("anna", "c", "fine", comment="x" * 2001),
        lambda: Given("anna", "elsewhere", "c", "fine"),
        lambda: store.add(given("", "c", "fine")),
        lambda: store.add(given("x" * 61, "c", "fine")),
        lambda: store.add(given("a\u202eb", "c", "fine")),
    ):
        with pytest.raises(VoxauditError):
            wrong()
    assert store.history() == []
    assert reviewer_name("  anna \n b ") == "anna b"


def test_hostile_texts_come_back_as_they_were(tmp_path):
    store = LabelStore(tmp_path)
    for number, text in enumerate(HOSTILE):
        store.add(given("anna", text, "fine", comment=f"{text}'; DROP TABLE labels; --{number}"))
    assert [one.case for one in store.current()] == list(HOSTILE)
    assert store.current()[1].comment == f"{HOSTILE[1]}'; DROP TABLE labels; --1"


def test_a_broken_store_is_one_line(tmp_path):
    (tmp_path / "review.sqlite").write_bytes(b"not a database at all" * 100)
    with pytest.raises(VoxauditError, match=r"review\.sqlite: cannot open this database"):
        LabelStore(tmp_path)


@pytest.mark.slow
def test_two_tabs_write_at_once(tmp_path):
    stores = LabelStore(tmp_path), LabelStore(tmp_path)

    def write(number):
        for case in range(8):
            stores[number % 2].add(given(f"r{number}", f"c{case}", "fine"))

    threads = [threading.Thread(target=write, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(stores[0].current()) == 32


def test_what_was_saved_survives_kill_9(tmp_path):
    program = (
        "import sys, itertools\n"
        "from voxaudit.review.store import Given, LabelStore\n"
        "store = LabelStore(sys.argv[1])\n"
        "for n in itertools.count():\n"
        "    store.add(Given('anna', 'stutter', f'c{n}', 'fine'))\n"
        "    print(n, flush=True)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as process:
        for line in process.stdout:
            if int(line) >= 20:
                os.kill(process.pid, signal.SIGKILL)
                break
        seen = int([line, *process.stdout][-1])
    kept = LabelStore(tmp_path).current()
    assert len(kept) in (seen + 1, seen + 2)  # one more may have been saved than was told
    assert [one.case for one in kept] == [f"c{n}" for n in range(len(kept))]


def test_decisions():
    assert decide([]).by == "open"
    assert decide([given("a", "c", "fine")]).label == "fine"
    two = [given("a", "c", "fine"), given("b", "c", "real_fault")]
    assert (decide(two).label, decide(two).by) == (None, "tie")
    assert decide([*two, given("c", "c", "real_fault")]).label == "real_fault"
    settled = decide([*two, given("c", "c", "real_fault"), given("d", "c", "malformed", final=True)])
    assert (settled.label, settled.by) == ("malformed", "final")
    assert settled.votes == {"real_fault": 2, "malformed": 1, "fine": 1}


def test_agreement_leaves_out_who_settled_the_case():
    labels = ["fine", "real_fault", "malformed"] * 4
    rows = [given(who, f"c{n}", label) for who in ("ben", "anna") for n, label in enumerate(labels)]
    found = agreement([*rows, *(given("judge", f"c{n}", "fine", final=True) for n in range(12))])
    assert found["reviewers"] == {"anna": 12, "ben": 12}
    assert found["kappa"]["value"] == 1.0
    assert [(pair["first"], pair["second"], pair["share"]) for pair in found["pairs"]] == [
        ("anna", "ben", 1.0)
    ]


def test_export_and_read_back(tmp_path):
    store = LabelStore(tmp_path)
    store.add(given("anna", "c1", "fine", comment='=SUM(A1)\n"quoted", and more'))
    store.add(given("ben", "c1", "fine", comment="-3"))
    store.add(given("ben", "c2", "real_fault", kind="word_omission"))
    table = read_review(tmp_path)
    assert table["decision"].to_list() == ["fine", "fine", "real_fault"]
    assert table["decided_by"].to_list() == ["majority", "majority", "single"]
    assert export_labels(tmp_path, tmp_path / "labels.csv") == 3
    back = read_table(tmp_path / "labels.csv", strings=True)
    assert back["comment"].to_list() == ['\'=SUM(A1)\n"quoted", and more', "'-3", ""]
    assert export_labels(tmp_path, tmp_path / "labels.jsonl") == 3
    lines = (tmp_path / "labels.jsonl").read_text(encoding="utf-8").splitlines()
    assert json.loads(lines[0])["comment"] == '=SUM(A1)\n"quoted", and more'
    with pytest.raises(VoxauditError, match=r"\.csv or \.jsonl"):
        export_labels(tmp_path, tmp_path / "labels.xlsx")


def test_a_folder_that_nobody_reviewed(tmp_path):
    assert read_review(tmp_path).height == 0
    assert exported(read_review(tmp_path), "csv").startswith(b"source,case,reviewer,label")
    assert summary(tmp_path)["stutter"]["cases"] == 0
    assert not (tmp_path / "review.sqlite").exists()


def test_decided_labels_flow_back_into_the_queue(tmp_path):
    folder = write_stutter(tmp_path / "stutter", cases=4)
    path = folder / "suspicious.jsonl"
    ids = [json.loads(line)["id"] for line in path.read_text().splitlines()]
    store = LabelStore(folder)
    store.add(given("anna", ids[0], "fine"))
    store.add(given("ben", ids[0], "fine"))
    store.add(given("anna", ids[1], "real_fault"))
    store.add(given("ben", ids[1], "fine"))  # a tie stays open
    store.add(given("anna", ids[2], "malformed"))
    store.add(given("anna", "not in the queue", "malformed"))
    before = path.read_text().splitlines()
    assert apply_labels(folder, folder) == 2
    assert read_labels(path) == {ids[0]: "fine", ids[2]: "malformed"}
    assert path.read_text().splitlines()[1] == before[1]
    assert apply_labels(folder, folder) == 0
    written = json.loads((folder / "review.json").read_text())
    assert written["stutter"]["false_positives"]["labeled"] == 3
    assert written["stutter"]["open"] == 1


def test_a_running_audit_is_not_disturbed(tmp_path):
    folder = write_stutter(tmp_path / "stutter", cases=1)
    id_ = json.loads((folder / "suspicious.jsonl").read_text())["id"]
    LabelStore(folder).add(given("anna", id_, "fine"))
    with hold(folder), pytest.raises(VoxauditError, match="is at work on this run"):
        apply_labels(folder, folder)
    assert read_labels(folder / "suspicious.jsonl") == {}
    assert apply_labels(folder, folder) == 1


def test_the_store_is_in_write_ahead_mode(tmp_path):
    LabelStore(tmp_path)
    base = sqlite3.connect(tmp_path / "review.sqlite")
    assert base.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    base.close()


def test_a_row_that_is_no_label_names_the_file(tmp_path):
    store = LabelStore(tmp_path)
    store.add(given("anna", "c", "fine"))
    base = sqlite3.connect(store.path)
    base.execute("UPDATE labels SET source = 'nowhere'")
    base.commit()
    base.close()
    with pytest.raises(VoxauditError, match=r"review\.sqlite: not the database of a review"):
        store.current()


def test_a_name_may_be_spelt_with_joiners_but_not_with_what_deceives():
    from voxaudit.review.store import reviewer_name

    name = "\u0639\u0644\u06cc\u200c\u0631\u0636\u0627"
    assert reviewer_name(name) == name
    for hidden in ("an\u202ena", "anna\u200b", "\u200canna"):
        with pytest.raises(VoxauditError, match="all of them visible"):
            reviewer_name(hidden)
