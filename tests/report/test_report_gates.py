"""Gates: what passes, what fails and what cannot be judged."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest
import soundfile
from scipy.stats import t
from toy_runs import WORDS

from voxaudit.audits.audit import AUDITS, find_audit
from voxaudit.audits.compare.audit import compare, points
from voxaudit.audits.scores import Scores
from voxaudit.cli.main import main
from voxaudit.config import GATES, Gate, Gates, load_config, load_gates, read_gates
from voxaudit.errors import VoxauditError
from voxaudit.report.build import _chapter, build_report, remember, remembered
from voxaudit.report.gates import failed, judge, not_judged


def judged(run, gates, attributes=("accent",)):
    """Judge a run by gates as its report does, but ask only the audits that the gates look at."""
    kinds = {kind for name in run.config["recognizers"] for kind in gates.of(name)}
    audits = {"accuracy", *(GATES[kind].audit if kind in GATES else kind for kind in kinds)}
    scores = Scores.of(run)
    chapters = [
        _chapter(find_audit(name), run, scores, attributes) for name in AUDITS.names() if name in audits
    ]
    results = judge(
        run,
        [finding for chapter in chapters if chapter for finding in chapter.findings],
        gates,
        attributes=attributes,
        refusals={one.id: one.refusals[0] for one in chapters if one and one.refusals},
    )
    return {gate.name: gate for gate in results}


def test_a_rate_is_judged_by_its_point_or_its_limits(make_run, drops):
    """Clean speech: 5 errors in 120 words, 4.2 %."""
    run = make_run(drops, recognizers=("one",))
    point = judged(run, Gates({"clean_wer": Gate(0.05)}))["clean_wer/one"]
    assert point.passed
    assert point.estimate == pytest.approx(5 / 120)
    upper = judged(run, Gates({"clean_wer": Gate(0.05, "upper")}))["clean_wer/one"]
    assert not upper.passed
    assert upper.judged
    assert upper.estimate > 0.05
    assert "allows only 5.0 % (its upper limit counts)" in upper.sentence
    exact = judged(run, Gates({"clean_wer": Gate(5 / 120)}))["clean_wer/one"]
    assert exact.passed


def test_a_recognizer_may_have_gates_of_its_own(toy):
    gates = Gates({"worst_wer": Gate(0.9)}, {"two": {"worst_wer": Gate(0.1), "max_failures": Gate(0.0)}})
    found = judged(toy, gates)
    assert found["worst_wer/one"].passed
    assert not found["worst_wer/two"].passed
    assert "under gaussian_noise:2" in found["worst_wer/two"].sentence
    assert found["max_failures/two"].passed
    assert "max_failures/one" not in found


def test_a_ratio_fails_only_where_even_its_lower_limit_exceeds(make_run):
    """Everyone of the north loses two words of five, everyone of the south one, with some spread."""

    def heard(recognizer, scenario, speaker, number):
        place = int(speaker[1:])
        return " ".join(WORDS[: 5 - (2 if place % 2 else 1) + (place % 4 == 0 and number == 0)])

    run = make_run(heard, recognizers=("one",), people={f"s{n}": {"accent": "ns"[n % 2]} for n in range(24)})
    assert not judged(run, Gates({"worst_group_ratio": Gate(1.2, "lower")}))["worst_group_ratio/one"].passed
    lenient = judged(run, Gates({"worst_group_ratio": Gate(2.5, "lower")}))["worst_group_ratio/one"]
    assert lenient.passed
    assert 1.2 < lenient.estimate < 2.5
    strict = judged(run, Gates({"worst_group_ratio": Gate(2.5, "point")}))["worst_group_ratio/one"]
    assert not strict.passed
    assert strict.estimate == pytest.approx(48 / 18, rel=0.01)  # 24 utterances a group: 48 errors, and 18
    assert re.search(
        r"of one \(accent\) is 2\.\d\d times as many errors per word for s speakers as for n speakers",
        strict.sentence,
    )
    assert "taken together" not in lenient.sentence


def test_the_worst_of_several_comparisons_has_a_lower_limit_that_holds_for_all(make_run):
    def heard(recognizer, scenario, speaker, number):
        place = int(speaker[1:])
        return " ".join(WORDS[: 5 - (2 if place % 2 else 1) + (place % 4 == 0 and number == 0)])

    people = {f"s{n}": {"accent": "ns"[n % 2], "region": "xyz"[n % 3]} for n in range(24)}
    run = make_run(heard, recognizers=("one",), people=people)
    gates = Gates({"worst_group_ratio": Gate(2.5, "lower")})
    alone = judged(run, gates, attributes=("accent",))["worst_group_ratio/one"]
    beside = judged(run, gates, attributes=("accent", "region"))["worst_group_ratio/one"]
    ratio = judged(run, Gates({"worst_group_ratio": Gate(2.5, "point")}))["worst_group_ratio/one"].estimate
    # The pairs of x, y and z are three more; 12 speakers a group.
    farther = t.ppf(1 - 0.025 / 4, 11) / t.ppf(0.975, 11)
    assert beside.estimate == pytest.approx(ratio * (alone.estimate / ratio) ** farther)
    assert f"at least {beside.estimate:.2f} times with 4 comparisons taken together" in beside.sentence


@pytest.mark.slow
def test_what_cannot_be_judged_neither_passes_nor_fails_unless_gates_are_strict(make_run, drops):
    run = make_run(drops, people={"s1": {"accent": "north"}, "s2": {"accent": "south"}})
    gates = Gates(
        {
            "worst_wer": Gate(0.9, "upper"),  # two speakers: no interval
            "worst_group_ratio": Gate(9.0, "lower"),
            "differential": Gate(0.0),
        }
    )
    report = build_report(run, attributes=["accent"], gates=gates)
    strict = build_report(run, attributes=["accent"], gates=replace(gates, strict=True))
    assert report.passed
    assert not strict.passed
    assert failed(report.gates) is None
    assert not_judged(strict.gates) is None
    assert not_judged(report.gates).startswith("5 of 5 gates not judged: one gets ")
    for gate, lost in zip(report.gates, strict.gates, strict=True):
        assert (gate.judged, gate.passed, gate.outcome) == (False, None, "not judged"), gate.name
        assert (lost.judged, lost.passed, lost.outcome) == (False, False, "FAIL"), gate.name
        assert lost.sentence == gate.sentence[:-1] + "; strict gates fail where they cannot be judged."
        assert gate.sentence.count(". ") == 0
    sentences = [gate.sentence for gate in report.gates]
    assert sentences[0].endswith("its worst scenario, without an upper limit that worst_wer could judge.")
    assert sentences[1].startswith("one: the widest gap between groups cannot be judged: ")
    absent = judged(run, gates, attributes=())["worst_group_ratio/one"]
    assert absent.sentence.startswith("one: worst_group_ratio cannot be judged: no attribute was named")


def test_a_gate_quotes_the_counts_of_its_own_recognizer(make_run):
    """One makes three errors, two none at all: neither has enough to compare groups, each for its own reason."""

    def heard(recognizer, scenario, speaker, number):
        return " ".join(
            WORDS[: 4 if recognizer == "one" and speaker in ("s0", "s1", "s2") and not number else 5]
        )

    found = judged(make_run(heard), Gates({"worst_group_ratio": Gate(1.5, "lower")}))
    assert "one: the widest gap between groups cannot be judged: 3 errors in 120 words" in (
        found["worst_group_ratio/one"].sentence
    )
    assert found["worst_group_ratio/two"].passed is None
    assert "two: the widest gap between groups cannot be judged: 0 errors in 120 words" in (
        found["worst_group_ratio/two"].sentence
    )


def test_a_recognizer_that_never_answers_is_not_excused(make_run, drops):
    def heard(recognizer, scenario, speaker, number):
        return RuntimeError("down") if recognizer == "one" else drops(recognizer, scenario, speaker, number)

    found = judged(make_run(heard), Gates({"clean_wer": Gate(0.9), "worst_group_ratio": Gate(9.0, "lower")}))
    assert found["clean_wer/two"].passed
    for name in ("clean_wer/one", "worst_group_ratio/one"):
        assert found[name].passed is False
        assert found[name].sentence == "one: 96 trials failed, the first with: down."


@pytest.mark.slow
def test_what_is_not_judged_reads_the_same_everywhere_and_exits_with_0(make_run, drops, capsys):
    people = {"s1": {"accent": "north"}, "s2": {"accent": "south"}}
    gates = Gates({"worst_wer": Gate(0.9, "upper")})
    run = remember(make_run(drops, people=people, recognizers=("one",)), ["accent"], gates)
    assert main(["report", str(run.folder)]) == 0
    out, err = capsys.readouterr()
    (gate,) = json.loads((run.folder / "findings.json").read_text())["gates"]
    assert (gate["passed"], gate["judged"]) == (None, False)
    assert f"- gate worst_wer/one: not judged. {gate['sentence']}\n" in out
    assert f"voxaudit: 1 of 1 gate not judged: {gate['sentence']}\n" in err
    assert f"| worst_wer/one | not judged | {gate['sentence']} |" in (run.folder / "summary.md").read_text()
    suite = ElementTree.parse(run.folder / "junit.xml").getroot()
    assert (suite.get("skipped"), suite.get("errors"), suite.get("failures")) == ("1", "0", "0")
    assert suite.find(".//skipped").get("message") == gate["sentence"]
    page = (run.folder / "report.html").read_text()
    assert ">not judged<" in page.partition('id="gates"')[2]
    assert "the gate is not judged" in page
    assert "gate failed" not in page
    remember(run, ["accent"], replace(gates, strict=True))
    assert main(["report", str(run.folder)]) == 1


def test_failures_are_a_share_of_the_trials(make_run, drops):
    def heard(recognizer, scenario, speaker, number):
        bad = recognizer == "one" and speaker == "s0" and scenario == "clean"
        return RuntimeError("recognizer: broken") if bad else drops(recognizer, scenario, speaker, number)

    run = make_run(heard)
    found = judged(run, Gates({"max_failures": Gate(0.01)}))
    assert found["max_failures/one"].estimate == pytest.approx(2 / 96)
    assert not found["max_failures/one"].passed
    assert found["max_failures/two"].passed


def test_nwerd_of_the_worst_category(toy, report):
    gate = judged(toy, Gates({"category_nwerd": Gate(0.0)}))["category_nwerd/one"]
    assert not gate.passed
    nwerd = [
        one.estimate
        for one in report.findings
        if one.measure == "nwerd" and one.recognizer == "one" and one.scenario
    ]
    assert gate.estimate == pytest.approx(max(nwerd))


def test_violations_that_survive_are_counted(make_run):
    """Under noise recognizer one loses the north entirely: the two recognizers drift apart for the north only."""

    def heard(recognizer, scenario, speaker, number):
        place = int(speaker[1:])
        hit = scenario != "clean" and place % 2 and recognizer == "one"
        return "" if hit else " ".join(WORDS[: 5 - (place % 3 == 0 and number == 0)])

    people = {f"s{n}": {"accent": "north" if n % 2 else "south"} for n in range(20)}
    run = make_run(heard, people=people, scenarios=("clean", "gaussian_noise:1"))
    gate = judged(run, Gates({"differential": Gate(0.0)}))["differential"]
    assert gate.estimate == 1.0
    assert not gate.passed
    assert judged(run, Gates({"differential": Gate(1.0)}))["differential"].passed


@pytest.mark.slow
def test_a_baseline_that_was_better_fails(make_run, drops, tmp_path):
    before = make_run(drops, name="before")

    def worse(recognizer, scenario, speaker, number):
        heard = drops(recognizer, scenario, speaker, number).split()
        return " ".join(heard[: -1 - (int(speaker[1:]) % 3 == number)])

    after = make_run(worse, name="after")
    gate = judged(after, Gates(baseline=before.folder))["baseline"]
    assert not gate.passed
    assert gate.judged
    assert gate.estimate >= 1
    assert re.match(
        r"Compared with before: \d+ of \d+ slices got significantly worse: one on ", gate.sentence
    )
    assert gate.finding == "compare/regressions"
    better = judged(before, Gates(baseline=after.folder))["baseline"]
    assert better.passed
    visible = compare(after.folder, before, attributes=["accent"]).detail.visible
    assert (
        f"; over all trials a rise of {points(visible)} would have been shown four times in five."
        in better.sentence
    )
    absent = judged(after, Gates(baseline=tmp_path / "nowhere"))["baseline"]
    assert absent.passed is None
    assert absent.sentence.startswith("baseline cannot be judged: ")


def test_one_line_names_what_failed(toy):
    report = build_report(toy, gates=Gates({"clean_wer": Gate(0.1)}))
    line = failed(report.gates)
    assert line.startswith("1 of 2 gates failed: two gets ")
    assert failed(report.gates[:1]) is None
    assert not report.passed


def test_gates_are_remembered_with_the_attributes(make_run, drops):
    run = make_run(drops)
    assert remembered(run) == ((), Gates())
    gates = Gates(
        {"clean_wer": Gate(0.15), "worst_group_ratio": Gate(1.5, "lower")},
        {"one": {"worst_wer": Gate(0.6, "upper")}},
        run.folder / "other",
        strict=True,
    )
    again = remember(run, ["accent"], gates)
    assert remembered(again) == (("accent",), gates)
    assert again.config["normalizer"] == run.config["normalizer"]


TOML = '[corpus]\npath = "m.csv"\n[recognizers.one]\n[recognizers.two]\n'


def test_gates_of_a_file(tmp_path):
    path = tmp_path / "audit.toml"
    path.write_text(
        TOML + '[gates]\nclean_wer = 0.15\nworst_wer = { limit = 0.6, bound = "upper" }\ndifferential = 0\n'
        'baseline = "runs/before"\nstrict = true\n[gates.two]\nclean_wer = 0.2\n'
    )
    gates = load_config(path).gates
    assert gates.common["clean_wer"] == Gate(0.15, "point")
    assert gates.common["worst_wer"] == Gate(0.6, "upper")
    assert gates.of("two")["clean_wer"] == Gate(0.2)
    assert gates.of("one")["clean_wer"] == Gate(0.15)
    assert gates.baseline == tmp_path / "runs/before"
    assert gates.strict
    assert load_gates(path, ["one", "two"]) == gates
    assert read_gates(gates.to_dict(), path, ["one", "two"]) == gates


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ("clen_wer = 0.1", "unknown gate or recognizer 'clen_wer' in [gates]. Did you mean: clean_wer"),
        ("clean_wer = 15", "write 0.15 for 15 %"),
        ("clean_wer = -0.1", "must be a number of at least 0"),
        ("clean_wer = nan", "must be a number of at least 0"),
        ("clean_wer = true", "must be a number of at least 0"),
        ('clean_wer = "low"', "must be a number of at least 0"),
        ('clean_wer = { limit = 0.1, bound = "uper" }', "one of point, lower, upper"),
        ('max_failures = { limit = 0.1, bound = "upper" }', "one of point"),
        ("clean_wer = { bound = 'upper' }", "takes a number or"),
        ("baseline = 3", "gates.baseline takes text only"),
        ("strict = 1", "gates.strict is true or false, not 1"),
        ("[gates.three]\nclean_wer = 0.1", "unknown gate or recognizer 'three'"),
        ("[gates.two]\ndifferential = 0", "unknown gate 'differential' in [gates.two]"),
    ],
)
def test_mistakes_in_gates_are_one_line(tmp_path, lines, message):
    path = tmp_path / "audit.toml"
    path.write_text(f"{TOML}[gates]\n{lines}\n")
    with pytest.raises(VoxauditError) as error:
        load_config(path)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_a_file_without_gates_is_said(tmp_path):
    path = tmp_path / "audit.toml"
    path.write_text(TOML)
    with pytest.raises(VoxauditError, match=r"no section \[gates\]"):
        load_gates(path, ["one"])


def test_a_scenario_without_an_upper_limit_cannot_be_judged_by_it(make_run, drops):
    """Telephone speech was answered for three speakers only: it has a rate and no interval."""

    def heard(recognizer, scenario, speaker, number):
        lost = scenario == "telephone" and speaker not in ("s0", "s1", "s2")
        return RuntimeError("recognizer: no") if lost else drops(recognizer, scenario, speaker, number)

    run = make_run(heard, recognizers=("one",))
    assert not judged(run, Gates({"worst_wer": Gate(0.9, "upper")}))["worst_wer/one"].judged
    assert judged(run, Gates({"worst_wer": Gate(0.9, "point")}))["worst_wer/one"].passed
    assert judged(run, Gates({"worst_wer": Gate(0.9, "lower")}))["worst_wer/one"].passed


def test_lower_limits_of_the_worst_scenario_hold_for_all_scenarios_together(make_run, drops):
    run = make_run(drops, recognizers=("one",))
    report = build_report(run, gates=Gates({"worst_wer": Gate(0.01, "lower")}))
    gate = report.gates[0]
    single = judged(run, Gates({"worst_wer": Gate(0.01, "upper")}))["worst_wer/one"]
    assert "scenarios taken together; worst_wer allows only 1.0 % (its lower limit counts)" in gate.sentence
    rows = report.table("rates").frame.filter(pl.col("scenario") != "clean")
    assert 0.0 < gate.estimate < rows["low"].max()
    assert single.estimate > gate.estimate


def test_lower_limits_of_the_worst_category_hold_for_all_categories_together(make_run, drops):
    run = make_run(drops, recognizers=("one",), scenarios=("clean", "gaussian_noise:2", "gain:4"))
    report = build_report(run, gates=Gates({"category_nwerd": Gate(0.9, "lower")}))
    gate = report.gates[0]
    assert gate.passed
    assert (
        "with 2 categories taken together; category_nwerd allows 90.0 (its lower limit counts)"
        in gate.sentence
    )
    rows = [one for one in report.findings if one.measure == "nwerd" and one.scenario]
    worst = max(rows, key=lambda one: one.low)
    assert gate.estimate < worst.low


def test_gates_beyond_the_error_rate_from_a_file_to_the_exit_code(tmp_path, monkeypatch, capsys):
    """Made-up words, wrong digits and waiting: asked in `audit.toml`, judged, in the JSON and in the exit code."""
    monkeypatch.chdir(tmp_path)
    said = ["my code is 7 3 4", "turn the lamp off please"] * 6
    for number in range(12):
        soundfile.write(f"{number}.wav", np.full(16_000, number % 2 / 2, dtype=np.float32), 16_000)
    rows = {"id": [str(n) for n in range(12)], "path": [f"{n}.wav" for n in range(12)], "text": said}
    pl.DataFrame(rows | {"speaker": [f"s{n // 2}" for n in range(12)]}).write_csv("manifest.csv")
    Path("hears.py").write_text(
        'HEARD = "my code is 7 3 5", "turn the lamp off please thank you for watching"\n'
        "def hear(samples, rate):\n    return HEARD[int(samples.mean() > 0.25)]\n"
    )
    Path("audit.toml").write_text(
        '[corpus]\npath = "manifest.csv"\n[recognizers.mine]\nengine = "python"\ncallable = "hears.py:hear"\n'
        '[scenarios]\nuse = []\n[run]\nout = "run"\n'
        "[gates]\nhallucinated_words_per_minute = 5\nkeyword_error_rate = 0.2\np95_seconds = 30\n"
    )
    assert main(["run", "audit.toml"]) == 1
    gates = {one["name"]: one for one in json.loads(Path("run/findings.json").read_text())["gates"]}
    found = {name.partition("/")[0]: one for name, one in gates.items()}
    assert {name: one["passed"] for name, one in found.items()} == {
        "hallucinated_words_per_minute": False,
        "keyword_error_rate": False,
        "p95_seconds": True,
    }
    # Four words in every second clip of a second; one of three digits.
    assert "120.0" in found["hallucinated_words_per_minute"]["sentence"]
    assert "33.3 %" in found["keyword_error_rate"]["sentence"]
    assert "2 of 3 gates failed" in capsys.readouterr().err
