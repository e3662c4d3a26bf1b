"""What a finished attack says, read again from its folder."""

from __future__ import annotations

import json

import pytest
from kept_audits import write_attack

from voxaudit.answer import RefusedError
from voxaudit.audits.attack import AUDIT
from voxaudit.audits.attack.audit import attack
from voxaudit.audits.scores import Scores
from voxaudit.cli.main import main


@pytest.fixture
def folder(tmp_path):
    return write_attack(tmp_path / "at")


def change(folder, number, **values):
    document = json.loads((folder / "attack.json").read_text())
    document["attacks"][number] |= values
    (folder / "attack.json").write_text(json.dumps(document))
    return attack(folder)


def test_it_is_read(folder, capsys):
    answer = attack(folder)
    assert [one.estimate for one in answer.findings] == pytest.approx([0.6, 0.6])
    assert [one.id for one in answer.findings] == ["attack/one/pgd:1/werd", "attack/one/pgd:2/werd"]
    assert [one.headline for one in answer.findings] == [True, False]  # the quieter noise says more
    assert [one.verdict for one in answer.findings] == ["shown", "shown"]
    assert {one.command for one in answer.findings} == {"voxaudit attack at"}
    assert answer.findings[0].sentence == (
        "Noise chosen by an adversary (pgd), 40 dB below the speech, adds 60.0 percentage points (60.0 to 60.0) to the"
        " word error rate of one, from 0.0 % to 60.0 %; plain noise of that level gives 20.0 %."
    )
    assert answer.tables["transfer"].select("recognizer", "scenario", "listener").row(0) == (
        "one",
        "pgd:1",
        "two",
    )
    assert [note.text for note in answer.notes] == ["left out: 2 utterances (no text)"]
    assert answer.question["snr"] == [40.0, 30.0]
    ((name, levels, series),) = answer.figure("attacks").drawing.panels
    assert (name, levels) == ("one", ("40", "30"))
    assert [one.label for one in series] == ["attacked", "plain noise", "clean"]
    assert [cell.value for cell in series[0].points] == pytest.approx([0.6, 0.6])
    row = answer.tables["attacks"].row(0, named=True)
    assert (row["low"], row["high"]) == (answer.findings[0].low, answer.findings[0].high)
    assert (row["werd_over_noise"], row["verdict"]) == (pytest.approx(0.4), "shown")
    assert main(["attack", str(folder), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["findings"] == answer.to_dict()["findings"]


def test_the_verdict_follows_the_interval(folder):
    none = change(folder, 0, werd=-0.02, werd_low=-0.1, werd_high=0.05).findings[0]
    assert (none.verdict, none.excludes) == ("not_shown", -0.1)
    assert "takes 2.0 percentage points (-5.0 to 10.0) off the word error rate of one" in none.sentence
    assert (
        "so no harm is shown; one of up to 5.0 percentage points is not excluded; plain noise"
        in none.sentence
    )
    unsure = change(
        folder, 0, werd=0.02, werd_low=None, werd_high=None, utterances=4, interval_by=None
    ).findings[0]
    assert (unsure.verdict, unsure.code, unsure.excludes) == ("refused", "too_few_utterances", None)
    assert "but how sure that is cannot be said with 4 utterances" in unsure.sentence
    few = change(folder, 1, interval_by="utterance", failures={"silent": 1})
    notes = few.notes
    assert [note.code for note in notes] == ["left_out", "not_attacked", "by_utterance"]
    assert notes[1].text == "one, pgd:2: 1 utterance not attacked (silent)"
    row = few.tables["attacks"].row(1, named=True)
    said = next(one for one in few.findings if one.scenario == "pgd:2")
    assert (said.verdict, row["verdict"], said.excludes) == ("measured", "measured", None)
    assert "(measured on " in said.sentence
    assert "too few to say it of others)" in said.sentence


def test_a_search_by_transcripts_is_compared_with_the_worst_noise(folder):
    assert (
        "; the worst of as much plain noise of that level"
        in change(folder, 0, method="blackbox").findings[0].sentence
    )


def test_a_ratio_asked_twice_is_one_finding(folder):
    document = json.loads((folder / "attack.json").read_text())
    document["attacks"].append(document["attacks"][0])
    (folder / "attack.json").write_text(json.dumps(document))
    assert len(attack(folder).findings) == 2


def test_a_report_asks_where_an_attack_was_made(tmp_path):
    scores = Scores(frame=None, folder=tmp_path)
    assert list(AUDIT.questions(scores, ())) == []
    with pytest.raises(RefusedError) as none:
        attack(scores)
    assert none.value.refusal.code == "not_asked"
    write_attack(tmp_path / "attack")
    assert list(AUDIT.questions(scores, ())) == [{}]
    assert attack(scores).findings


@pytest.mark.parametrize(
    "content", ["{", "[]", '{"attacks": 1}', '{"attacks": [{"werd": 1}]}', "[" * 100_000]
)
def test_findings_that_are_none_are_refused(folder, content):
    (folder / "attack.json").write_text(content)
    with pytest.raises(RefusedError, match="not the findings of an attack") as refused:
        attack(folder)
    assert refused.value.refusal.code == "unreadable"


def test_what_is_finished_is_not_made_again(folder, capsys):
    for more in (["--recognizers", "moonshine"], ["--out", "x"], ["--snr", "5"], ["--utterances", "3"]):
        assert main(["attack", str(folder), *more]) == 2
        assert "nothing is heard: give a corpus" in capsys.readouterr().err
