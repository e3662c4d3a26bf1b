"""`voxaudit run --dry-run`, budgets and `where`, from the command line."""

import numpy as np
import pytest
import soundfile

from voxaudit.cli.main import main
from voxaudit.cli.run import spoken_minutes


@pytest.fixture
def audit(tmp_path, monkeypatch):
    monkeypatch.setenv("VOXAUDIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("DEEPGRAM_API_KEY", "not-a-real-key-1234567890")
    lines = ["path,text,speaker,gender"]
    for number in range(4):
        soundfile.write(tmp_path / f"{number}.wav", 0.1 * np.sin(np.arange(24_000) / (9 + number)), 16_000)
        lines.append(f"{number}.wav,hello,s{number},{'fm'[number % 2]}")
    (tmp_path / "manifest.csv").write_text("\n".join(lines) + "\n")
    path = tmp_path / "audit.toml"
    path.write_text(
        '[corpus]\npath = "manifest.csv"\nattributes = ["gender"]\nwhere = ["gender=f"]\n'
        '[recognizers.cloud]\nengine = "deepgram"\nprice_per_minute = 0.6\n'
        '[scenarios]\nuse = ["gain:1"]\n[run]\nout = "run"\n'
    )
    return path


def test_a_dry_run_prints_calls_minutes_and_cost_and_makes_nothing(audit, asked, capsys):
    answer = asked("run", audit, "--dry-run")
    (found,) = answer.tables["estimate"]
    assert (found["trials"], found["left"], found["remote"]) == (4, 4, True)
    assert found["minutes"] == pytest.approx(0.1)
    assert found["cost"] == pytest.approx(found["billed_minutes"] * 0.6)
    assert found["cost"] > 0
    assert not (audit.parent / "run").exists()
    assert "not-a-real-key" not in str(answer.document) + capsys.readouterr().err


def test_a_dry_run_for_people(audit, capsys):
    audit.write_text(audit.read_text().replace("price_per_minute = 0.6\n", ""))
    assert main(["run", str(audit), "--dry-run"]) == 0
    out = capsys.readouterr().out
    assert "unknown" in out
    assert "price_per_minute" in out


def test_a_dry_run_says_how_long_one_will_wait(audit, asked, capsys):
    answer = asked("run", audit, "--dry-run")
    assert answer.document["notes"][0]["text"] == (
        "less than a minute of audio to hear; how long that takes is not known before some of it is heard."
    )
    (audit.parent / "mine.py").write_text("def hear(samples, rate):\n    return 'hello'\n")
    own = '[recognizers.mine]\nengine = "python"\ncallable = "mine.py:hear"\n'
    audit.write_text(audit.read_text().replace("[scenarios]", f"{own}[scenarios]"))
    (cloud, mine) = asked("run", audit, "--dry-run").tables["estimate"]
    assert (cloud["waiting_minutes"], cloud["speed_from"]) == (None, "")
    assert mine["speed_from"] == "a test"
    assert 0 < mine["waiting_minutes"] < 1
    assert main(["run", str(audit), "--dry-run"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "about less than a minute" not in said
    assert "less than a minute of waiting (without cloud, whose speed is not known)." in said
    assert not (audit.parent / "run").exists()


@pytest.mark.parametrize(
    ("minutes", "said"),
    [(0.2, "less than a minute"), (1.4, "1 minute"), (36.4, "36 minutes"), (300.0, "5.0 hours")],
)
def test_minutes_as_people_say_them(minutes, said):
    assert spoken_minutes(minutes) == said


def test_a_budget_of_nothing_sends_nothing(audit, capsys):
    assert main(["run", str(audit), "--max-minutes", "0"]) == 2
    assert "the budget is used up" in capsys.readouterr().err


def test_a_clause_that_names_nothing_is_one_line(audit, capsys):
    audit.write_text(audit.read_text().replace("gender=f", "gendre=f"))
    assert main(["run", str(audit), "--dry-run"]) == 2
    err = capsys.readouterr().err
    assert "gender" in err
    assert err.count("\n") == 1
