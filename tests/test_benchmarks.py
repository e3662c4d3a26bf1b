"""The benchmarks: all registered, timed in one way, on file as data, and the pages say what the file says."""

from __future__ import annotations

import ast
import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # the benchmarks are no part of the installed package

from benchmarks import score  # noqa: E402
from benchmarks.__main__ import LONG, USUAL, main  # noqa: E402
from benchmarks.machine import machine, noise  # noqa: E402
from benchmarks.measure import Missing, Row, Settings, Spread, Took, alone, compare, race, row_of  # noqa: E402
from benchmarks.pages import fill  # noqa: E402
from benchmarks.record import RESULTS, check, read_record, row_data, row_from  # noqa: E402
from benchmarks.show import PLACE, fill_page, number, row_cells  # noqa: E402
from benchmarks.studies import liu  # noqa: E402

FOLDER = ROOT / "benchmarks"
SHARED = {"__main__", "instant_recognizer", "machine", "measure", "pages", "record", "show", "speech"}
PAGES = [page for page in sorted((ROOT / "docs").rglob("*.md")) if f"<!-- {PLACE}" in page.read_text("utf-8")]


def functions(path: Path) -> set[str]:
    return {one.name for one in ast.parse(path.read_text("utf-8")).body if isinstance(one, ast.FunctionDef)}


def test_every_module_is_registered():
    found = {path.stem for path in FOLDER.glob("*.py")}
    assert found == {*USUAL, *LONG} | SHARED
    assert all("measure" in functions(FOLDER / f"{name}.py") for name in USUAL + LONG)


def test_there_is_one_way_of_timing():
    others = [*FOLDER.glob("*.py"), *(FOLDER / "studies").glob("*.py")]
    clocks = re.compile(r"perf_counter|process_time|ru_utime|timeit")
    found = {path.name for path in others if clocks.search(path.read_text("utf-8"))}
    assert found == {"measure.py", "machine.py"}


def test_the_ratio_is_taken_within_turns():
    row = row_of("x", "s", [1.0, 2.0, 4.0], [10.0, 10.0, 8.0], peer="other")
    assert row.ratio == Spread(5.0, 2.0, 10.0, 3)
    assert row.ours == Spread(2.0, 1.0, 4.0, 3)
    assert row_cells(row) == ["x", "s", "2", "other", "10", "5 [2..10]", ""]


def test_turns_alternate_and_a_call_may_time_itself():
    order = []

    def call(name, seconds):
        return lambda: order.append(name) or Took(seconds, seconds)

    found = race({"a": call("a", 1.0), "b": call("b", 3.0)}, 3, warm=False)
    assert order == ["a", "b", "b", "a", "a", "b"]
    assert [one.cpu for one in found["b"]] == [3.0] * 3


def test_a_process_of_its_own_reports_time_and_memory():
    found = alone(json.dumps, obj=[1, 2])
    assert found.value == "[1, 2]"
    assert found.megabytes >= found.before > 5
    with pytest.raises(RuntimeError, match=r"loads: .*TypeError"):
        alone(json.loads, s=3)


def test_a_peer_that_is_missing_is_a_row(monkeypatch):
    monkeypatch.setitem(sys.modules, "jiwer", None)
    ours, missing = score.against_jiwer("pairs", list(score.realistic(20)), 1)
    assert ours.ours is not None
    assert ours.kind == "none"
    assert missing.skipped == "jiwer is not installed"
    assert row_cells(missing)[5] == "skipped: jiwer is not installed"


def test_one_of_two_peers_is_missing():
    rows = list(compare("x", "s", lambda: 1, {"here": lambda: 2, "away": Missing("no R")}, rounds=2))
    assert [(row.peer, row.skipped, row.ratio is None) for row in rows] == [
        ("here", "", False),
        ("away", "no R", True),
    ]


def test_counts_that_differ_from_the_peer_fail(monkeypatch):
    jiwer = pytest.importorskip("jiwer")
    wrong = jiwer.process_words(["a b"], ["a"])
    monkeypatch.setattr(jiwer, "process_words", lambda *_: wrong)
    with pytest.raises(ValueError, match="differ from jiwer's"):
        list(score.against_jiwer("pairs", list(score.realistic(20)), 1))


@pytest.mark.slow
def test_one_benchmark_runs_and_is_shown_again(tmp_path, capsys):
    out, page = tmp_path / "results.json", tmp_path / "page.md"
    page.write_text("# x\n\n<!-- benchmarks breaking -->\n<!-- /benchmarks breaking -->\n")
    assert main(["--quick", "--only", "breaking", "--out", str(out), "--docs", str(page)]) == 0
    record = read_record(out)
    assert check(record) == []
    assert [row.unit for row in record.done["breaking"].rows] == ["trials per speaker"] * 2
    assert record.about["machine"] == machine()
    assert "| a grid of 6 settings |" in page.read_text()
    printed = capsys.readouterr().out
    assert "a grid of 11 settings" in printed
    assert main(["--show", "--out", str(out)]) == 0
    assert capsys.readouterr().out == printed
    # Another one is added; an interpreter that is not there, or that fails, is a line and the exit code.
    words = ["--only", "scale", "sequential", "--out", str(out), "--python", "scale=nowhere/python"]
    assert main([*words, "sequential=false"]) == 1
    printed = capsys.readouterr().out
    assert "failed: python: No such file or directory" in printed
    assert "failed: no message" in printed
    assert set(read_record(out).done) == {"breaking", "scale", "sequential"}
    assert main(["--list", "--out", str(out)]) == 0
    assert re.search(r"^breaking +\d+ s \(quick\)", capsys.readouterr().out, re.MULTILINE)


def test_names_that_are_not_there_are_refused(capsys):
    with pytest.raises(SystemExit):
        main(["--only", "nothing"])
    assert "no benchmark 'nothing'" in capsys.readouterr().err


def test_a_file_of_another_form_is_refused_in_a_line(tmp_path):
    path = tmp_path / "results.json"
    path.write_text('{"about": {}, "benchmarks": [], "rows": [{"benchmark": "score"}]}')
    with pytest.raises(SystemExit, match=r"results.json: not a file of benchmark results"):
        read_record(path)
    path.write_text('{"about": {}, "benchmarks": [], "rows": []}')
    with pytest.raises(SystemExit, match=r"results.json: about.command: missing"):
        read_record(path)


def test_rows_survive_their_file():
    row = row_of("x", "s", [1.23456], [2.0], peer="other", kind="floor", note="n")
    again = row_from(json.loads(json.dumps(row_data(row))))
    assert again.ours == Spread(1.235, 1.235, 1.235, 1)
    assert row_data(again) == row_data(row)
    assert row_from(row_data(Row("x", "s", skipped="why"))) == Row("x", "s", skipped="why")


def test_noise_by_hand():
    found = noise([(0.1, 0.2)] * 9 + [(0.2, 0.4)] * 2)
    assert found == {"cpu_ms": 100.0, "cpu_spread": 1.0, "wall_over_cpu": 2.0}


def test_sizes():
    assert Settings("quick").pick(1, 2, 3) == 1
    assert Settings().pick(1, 2, 3) == 2
    assert Settings("full").pick(1, 2, 3) == 3
    assert Settings("full").pick(1, 2) == 2


def test_figures_have_three_digits():
    assert [number(one) for one in (0, 0.012345, 1.5, 99.96, 1234.5, 1e6)] == [
        *("0", "0.0123", "1.5", "100", "1,230", "1,000,000"),
    ]


def test_a_page_without_the_place_is_refused():
    with pytest.raises(SystemExit, match="no place for 'figures'"):
        fill("# x\n", "figures", "y")


def test_the_committed_results_are_whole():
    record = read_record(RESULTS)
    assert set(record.done) >= set(USUAL)
    assert not [one.name for one in record.done.values() if one.failed]
    text = RESULTS.read_text("utf-8")
    assert not re.search(r"(?<![\w.])/[a-z]+/|://", text), "a path or an address is in the results"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_pages_say_what_the_results_say(page):
    text = page.read_text("utf-8")
    assert fill_page(text, read_record(RESULTS)) == text, "run: python -m benchmarks --show --docs docs"


def test_every_page_that_compares_is_linked():
    assert {"benchmarks", "scoring", "disparity", "runs"} <= {page.stem for page in PAGES}


@pytest.mark.parametrize("simulation", ["liu-table1", "liu-table2"])
def test_simulations_print_published_figures(simulation, capsys):
    liu.main([simulation, "--repetitions", "4", "--workers", "1"])
    text = capsys.readouterr().out
    assert "published / found, 4 repetitions" in text
    assert {"liu-table1": "83.3 /", "liu-table2": "42.6 /"}[simulation] in text


def test_checks_count_false_positives(capsys):
    check = "few-speakers"
    liu.main([check, "--repetitions", "2", "--workers", "1"])
    assert "% false positives at 5 %, 2 repetitions" in capsys.readouterr().out
    liu.main([check, "--repetitions", "2", "--workers", "1", "--json"])
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert all(rate in (0.0, 0.5, 1.0) for row in rows for rate in row["false_positives"].values())


def test_the_robust_test_holds_where_wald_does_not():
    p = [liu.few_speakers(np.random.default_rng([3, one]), speakers=12, dispersion=4.0) for one in range(60)]
    assert np.mean([one["control, Wald"] < 0.05 for one in p]) > 0.2
    assert np.mean([one["control, robust"] < 0.05 for one in p]) < 0.15


def test_simulations_do_not_depend_on_workers(capsys):
    documents = []
    for workers in ("1", "2"):
        liu.main(["liu-table1", "--repetitions", "3", "--workers", workers, "--json"])
        documents.append(json.loads(capsys.readouterr().out))
    assert documents[0] == documents[1]
    assert len(documents[0]["rows"]) == 4
    assert documents[0]["rows"][3]["published"]["baseline_fp"] == 0.833
