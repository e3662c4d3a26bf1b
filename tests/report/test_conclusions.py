"""What every audit says in the end: what is not shown names what is not excluded, and a command concludes in three."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import polars as pl
import pytest
from toy_runs import WORDS, write_run

from voxaudit.answer import MOST_SAID
from voxaudit.audits.audit import find_audit
from voxaudit.audits.scores import Scores
from voxaudit.cli.main import main
from voxaudit.wording import in_points

SCENARIOS = ("clean", "gaussian_noise:1", "gaussian_noise:2", "telephone", "silence")
ASKED = {
    "versus": {},
    "robustness": {"attributes": ("accent", "town")},
    "disparity": {"attribute": ("accent", "town")},
    "parity": {"attributes": ("accent", "town")},
    "differential": {"attribute": "accent"},
    "localize": {"attribute": "accent"},
}


def chance(seed: int, gap: float = 0.0):
    """Return a recognizer that loses words by chance, more of them when disturbed, and `gap` more of the north's."""
    generator = np.random.default_rng(seed)

    def heard(recognizer, scenario, speaker, number):
        if scenario == "silence":
            return ""
        lost = 0.1 + 0.1 * SCENARIOS.index(scenario) + gap * (int(speaker[1:]) % 2)
        return " ".join(word for word in WORDS if generator.random() > lost)

    return heard


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    people = {
        f"s{n}": {"accent": "north" if n % 2 else "south", "town": "xyz"[n // 2 % 3]} for n in range(24)
    }
    return write_run(tmp_path_factory.mktemp("chance") / "run", chance(5), people=people, scenarios=SCENARIOS)


@pytest.mark.slow
def test_what_is_not_shown_says_what_is_not_excluded(run, make_run):
    after = make_run(chance(6), name="after", scenarios=SCENARIOS)
    before = make_run(chance(7), name="before", scenarios=SCENARIOS)
    answers = [find_audit(name).ask(run, **asked) for name, asked in ASKED.items()]
    answers.append(find_audit("compare").ask(before, after, attributes=("accent",)))
    counts = Counter()
    for answer in answers:
        for finding in answer.findings:
            if finding.verdict == "not_shown":
                counts[answer.audit] += 1
                assert re.search("excluded", finding.sentence), finding
                assert finding.excludes is not None or finding.unit == "count", finding
    assert set(counts) == {*ASKED, "compare"}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["robustness", "parity", "differential", "localize"])
def test_a_command_ends_with_three_sentences_at_most(run, name, capsys):
    flags = [
        part
        for key, value in ASKED[name].items()
        for part in (f"--{key}", ",".join([value] if isinstance(value, str) else value))
    ]
    assert main([name, str(run.folder), *flags]) == 0
    lines = capsys.readouterr().out.rstrip("\n").splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("- "))
    said = lines[first:]
    answer = find_audit(name).ask(run, **ASKED[name])
    assert said == [f"- {one.sentence}" for one in answer.conclusion]
    assert 1 <= len(said) <= MOST_SAID
    assert sum(len(re.findall(r"\.(?=\s+[A-Z]|$)", line)) for line in said) <= MOST_SAID
    assert len(lines) < 150


def test_a_recognizer_without_errors_has_an_upper_limit_for_every_group(make_run):
    people = {f"s{n}": {"accent": "north" if n % 2 else "south"} for n in range(4)}
    run = make_run(lambda *_: " ".join(WORDS), people=people, recognizers=("one",), scenarios=("clean",))
    answer = find_audit("parity").ask(run, attributes=("accent",))
    groups = answer.tables["groups"]
    assert groups["wer"].to_list() == groups["wer_low"].to_list() == [0.0, 0.0]
    assert all(0.3 < high < 1.0 for high in groups["wer_high"])  # four utterances of two speakers
    checks = {row["practice"]: row for row in answer.tables["checklist"].to_dicts()}
    assert checks["enough speakers (3.4.1)"]["status"] == "cannot be checked"
    assert [one.verdict for one in answer.findings] == ["refused"]
    assert "25 % of the word error rate: none (one)" in str(answer)
    rates = find_audit("accuracy").ask(Scores.of(run)).tables["rates"]
    assert all(0.0 < high < 1.0 for high in rates["high"])


def test_parity_and_power_ask_for_the_same_number_of_speakers(run):
    asked = {"attributes": ("accent", "town"), "recognizer": "one"}
    power = find_audit("power").ask(run, **asked)
    needed = dict(power.tables["groups"].select("attribute", "speakers_needed").iter_rows())
    answer = find_audit("parity").ask(run, **asked)
    (why,) = answer.tables["checklist"].filter(pl.col("practice") == "enough speakers (3.4.1)")["why"]
    assert f"needs about {needed['accent']} (accent), {needed['town']} (town) speakers on each side" in why
    for one in (power, answer):
        assert [note.text for note in one.notes if note.code == "gap"] == [
            f"the gap asked about is 25 % of the word error rate: {in_points(answer.detail.gaps_asked['one'])} (one)"
        ]


def test_two_groups_are_alike_only_within_a_gap_that_was_asked_for(run):
    parity = find_audit("parity").ask
    assert "alike" not in {one.verdict for one in parity(run, attributes=("accent",)).findings}
    assert {one.verdict for one in parity(run, attributes=("accent",), gap=0.3).findings} == {"alike"}


def test_no_word_is_named_where_none_is_shown(run):
    answer = find_audit("localize").ask(run)
    for finding in answer.findings:
        assert finding.p_adjusted > 0.05
        assert finding.sentence.startswith(f"{finding.recognizer}: no word is shown to get lost more often")
        assert not finding.headline
