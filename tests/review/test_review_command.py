"""`voxaudit review` on the command line."""

import http.client
import json
import signal
import subprocess
import sys
from urllib.parse import urlsplit

import pytest
from made_run import write_run, write_stutter

from voxaudit.audits.stutter.folder import read_labels
from voxaudit.cli.main import main
from voxaudit.review.store import Given, LabelStore


@pytest.fixture
def folder(tmp_path):
    home = write_stutter(tmp_path / "stutter")
    store = LabelStore(home)
    ids = [json.loads(line)["id"] for line in (home / "suspicious.jsonl").read_text().splitlines()]
    for number, id_ in enumerate(ids):
        store.add(Given("anna", "stutter", id_, "fine" if number % 2 else "real_fault"))
        store.add(Given("ben", "stutter", id_, "fine" if number % 2 else "malformed"))
    return home


def test_export_agreement_and_apply_in_one_call(folder, tmp_path, asked, capsys):
    out = tmp_path / "labels.jsonl"
    answer = asked("review", folder, "--export", out, "--agreement", "--apply")
    assert capsys.readouterr().err == ""
    assert answer.notes["exported"] == {"labels": 12, "file": str(out)}
    assert answer.notes["applied"] == {"labels": 3}
    (stutter,) = answer.tables["agreement"]
    assert (stutter["source"], stutter["cases"], stutter["judged_by_several"]) == ("stutter", 6, 6)
    assert (stutter["open"], stutter["kappa"] is not None) == (3, True)
    assert len(out.read_text().splitlines()) == 12
    assert set(read_labels(folder / "suspicious.jsonl").values()) == {"fine"}


def test_agreement_for_people(folder, capsys):
    assert main(["review", str(folder), "--agreement"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert any(line[:4] == ["stutter", "6", "3", "6"] for line in lines)
    assert any(line[:7] == ["stutter", "anna", "and", "ben", "6", "50.0", "%"] for line in lines)
    (folder / "review.sqlite").unlink()
    assert main(["review", str(folder), "--agreement"]) == 0
    assert "no labels yet" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["missing"], "no such folder"),
        (["empty"], "nothing to review here"),
        (["stutter", "--host", "0.0.0.0"], "--allow-remote"),
        (["stutter", "--port", "99999"], "between 0 and 65535"),
        (["stutter", "--reviewer", "\x07"], "reviewer's name"),
        (["stutter", "--export", "labels.xlsx"], ".csv or .jsonl"),
        (["stutter", "--export", "no/where/labels.csv"], "cannot write"),
    ],
)
def test_mistakes_are_one_line(folder, tmp_path, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    # A mistake that went unnoticed would serve for ever.
    monkeypatch.setattr("voxaudit.review.web.threading.Event.wait", lambda *_: pytest.fail("it serves"))
    assert main(["review", *arguments, "--no-browser"]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_a_session_from_the_link_to_ctrl_c(folder):
    id_ = json.loads((folder / "suspicious.jsonl").read_text().splitlines()[0])["id"]
    program = "import sys; from voxaudit.cli.main import main; sys.exit(main())"
    command = [sys.executable, "-c", program, "review", str(folder), "--no-browser", "--reviewer", "carl"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        line = process.stdout.readline()
        address = urlsplit(line.removeprefix("Open ").strip())
        link = http.client.HTTPConnection("127.0.0.1", address.port, timeout=20)
        link.request("GET", f"/?{address.query}")
        cookie = link.getresponse().getheader("Set-Cookie").split(";")[0]
        body = {"source": "stutter", "id": id_, "reviewer": "carl", "label": "malformed"}
        headers = {
            "Cookie": cookie,
            "Origin": f"http://127.0.0.1:{address.port}",
            "Content-Type": "application/json",
            "X-Voxaudit": "1",
        }
        link = http.client.HTTPConnection("127.0.0.1", address.port, timeout=20)
        link.request("POST", "/api/label", json.dumps(body), headers)
        assert link.getresponse().status == 200
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0
    assert "Traceback" not in errors
    # Two of three say malformed now: decided, and written back as the session ended.
    assert read_labels(folder / "suspicious.jsonl")[id_] == "malformed"


def test_a_run_and_its_stutter_audit_are_reviewed_together(tmp_path, capsys):
    home = write_run(tmp_path / "run")
    write_stutter(home / "stutter", cases=1)
    id_ = json.loads((home / "stutter" / "suspicious.jsonl").read_text())["id"]
    LabelStore(home).add(Given("anna", "stutter", id_, "fine"))
    assert main(["review", str(home), "--apply"]) == 0
    assert read_labels(home / "stutter" / "suspicious.jsonl") == {id_: "fine"}
    assert json.loads((home / "review.json").read_text())["stutter"]["cases"] == 1
