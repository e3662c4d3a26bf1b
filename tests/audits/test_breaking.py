"""Breaking points: axes, staircases on a real chain of parts, groups, refusals."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # simulated speakers are no part of the package

from benchmarks.studies.breaking import Listeners, simulate_group

from voxaudit.answer import RefusedError
from voxaudit.audits.breaking.audit import (
    Breaking,
    Difference,
    _answer,
    breaking,
    compare_points,
    summarize_groups,
)
from voxaudit.cli.main import main
from voxaudit.corpus import read_corpus
from voxaudit.errors import VoxauditError
from voxaudit.perturb import parse_scenario
from voxaudit.perturb.axis import RANGES, find_axis
from voxaudit.recognize import make_recognizer
from voxaudit.stats.censored import mean_interval
from voxaudit.stats.psychometric import Track, misfit, order_of_harm, run_tracks

WORDS = "one two three four five six seven eight nine ten"
ENGINE = f"""
from pathlib import Path
import numpy as np
JOURNAL = Path(__file__).parent / "journal"
WORDS = {WORDS!r}.split()

def hear(samples, rate):
    '''Hears fewer words the quieter it is: half of them where the level falls to a tenth.'''
    with JOURNAL.open("a") as file:
        file.write("x\\n")
    level = float(np.abs(samples).max())
    heard = 10 / (1 + (0.1 / max(level, 1e-9)) ** 2)
    return " ".join(WORDS[: round(heard)])
"""


@pytest.fixture
def corpus(tmp_path):
    """Group a speaks at full level, group b four times as softly: it breaks at a four times larger factor."""
    (tmp_path / "engine.py").write_text(ENGINE)
    generator = np.random.default_rng(0)
    lines = ["id,audio,speaker,text,group,talk"]
    for group, level in (("a", 0.8), ("b", 0.2)):
        for number in range(6):
            own = level * np.exp(0.15 * generator.standard_normal())
            for turn in range(2):
                name = f"{group}{number}-{turn}.wav"
                samples = np.full(1600 + 10 * number + turn, min(own, 1.0), np.float32)
                soundfile.write(tmp_path / name, samples, 16000, subtype="FLOAT")
                lines.append(f"{name},{name},{group}{number},{WORDS},{group},{turn}")
    (tmp_path / "manifest.csv").write_text("\n".join(lines))
    return tmp_path / "manifest.csv"


def engine(folder, function="hear"):
    return {"mine": make_recognizer({"engine": "python", "callable": f"{folder / 'engine.py'}:{function}"})}


def audit(corpus, **options):
    folder = corpus.parent
    given = {
        "out": folder / "out",
        "attribute": "group",
        "workers": 1,
        "cache": False,
    } | options
    return breaking(read_corpus(corpus), engine(folder), **{"perturbation": "amp", **given})


@pytest.mark.slow
def test_known_breaking_points_of_two_groups(corpus, tmp_path):
    answer = audit(corpus)
    found = answer.detail
    a, b = found.points
    # 0.1 of full scale is half: a factor of 0.125 for speech at 0.8, of 0.5 for speech at 0.2.
    assert a.value == pytest.approx(0.125, rel=0.2)
    assert b.value == pytest.approx(0.5, rel=0.2)
    assert a.low < 0.125 < a.high
    assert b.low < 0.5 < b.high
    [gap] = found.differences
    assert gap.shown
    assert gap.p < 0.01
    assert gap.low < 0.25 < gap.high  # the ratio of the two
    assert found.trials <= 12 * 12
    heard = len((tmp_path / "journal").read_text().splitlines())
    assert heard == found.heard <= found.trials
    again = audit(corpus)
    assert again.detail.heard == 0
    assert again.findings == answer.findings
    written = json.loads((tmp_path / "out" / "breaking.json").read_text())
    assert written["points"][0]["group"] == "a"
    assert {row["speaker"] for row in written["speakers"]} == {f"{g}{n}" for g in "ab" for n in range(6)}


def test_findings_have_the_numbers_units_and_sentences(corpus):
    answer = audit(corpus)
    point = answer.finding("breaking/mine/amp/group/a/breaking_point")
    assert (point.verdict, point.unit, point.speakers) == ("measured", "times", 6)
    assert point.sentence.startswith("mine gets 50 % of the words wrong under amp at 0.1")
    assert point.sentence.endswith("): a (group), 6 speakers.")
    gap = answer.finding("breaking/mine/amp/group/a/b/breaking_point_ratio")
    assert (gap.verdict, gap.unit, gap.against, gap.family) == ("shown", "ratio", "b", "comparisons")
    # Softer is harsher: whoever bears a smaller factor breaks later.
    assert gap.sentence.startswith(
        "mine breaks later for a speakers (group) than for b speakers under amp: 0.2"
    )
    assert f"{gap.estimate:.2f} times ({gap.low:.2f} to {gap.high:.2f})" in gap.sentence
    row = answer.tables["differences"].row(0, named=True)
    assert (row["estimate"], row["p"], row["p_adjusted"]) == (gap.estimate, gap.p, gap.p_adjusted)
    assert answer.tables["points"]["estimate"].to_list() == [point.estimate, answer.findings[1].estimate]
    assert answer.tables["speakers"].height == 12


def test_a_finished_folder_is_read_again_and_nothing_is_heard(corpus, tmp_path, capsys):
    answer = audit(corpus)
    (tmp_path / "engine.py").unlink()
    again = breaking(tmp_path / "out")
    assert again.findings == answer.findings
    assert {one.command for one in answer.findings} == {"voxaudit breaking out"}
    assert again.question["perturbation"] == "amp"
    assert main(["breaking", str(tmp_path / "out"), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [one["estimate"] for one in document["findings"]] == [one.estimate for one in answer.findings]
    with pytest.raises(VoxauditError, match="nothing is heard"):
        breaking(tmp_path / "out", out=tmp_path / "other")
    (tmp_path / "out" / "breaking.json").write_text('{"axis": 3}')
    with pytest.raises(RefusedError, match="not the findings of a breaking audit") as caught:
        breaking(tmp_path / "out")
    assert caught.value.refusal.code == "unreadable"


def test_a_rise_above_clean_is_a_level_for_each_group(corpus):
    a, b = audit(corpus, rise=0.3).detail.points
    # Clean speech at 0.8 loses nothing of ten words (rounded), at 0.2 two of ten.
    assert a.level == pytest.approx(0.3, abs=0.02)
    assert b.level == pytest.approx(0.5, abs=0.05)
    assert a.value < b.value


@pytest.mark.slow
def test_what_never_breaks_or_is_broken_already_has_no_number(corpus):
    never = audit(corpus, ends=(1.0, 0.7), attribute="group").detail.points
    assert never[0].value is None
    assert never[0].never == 6
    assert never[0].why_not in ("no_harm", "never")
    already = audit(corpus, ends=(0.3, 0.001))
    assert already.detail.points[1].always == 6
    assert already.detail.points[1].value is None
    assert already.detail.points[0].value is not None
    finding = already.findings[1]
    assert "gets 50 % of the words wrong under amp at 0.3 times already" in finding.sentence
    assert (finding.verdict, finding.low, finding.high) == ("measured", 0.3, None)  # mild is large here


def test_no_order_of_harm_is_refused(corpus):
    answer = audit(corpus, ends=(0.001, 1.0))
    assert all(point.value is None and point.why_not == "no_harm" for point in answer.detail.points)
    assert not answer.detail.differences
    assert {(one.verdict, one.code) for one in answer.findings} == {("refused", "no_harm")}
    [refusal] = answer.refusals
    assert "is no harder than" in refusal.text
    assert refusal.remedy == "turn the range round, or widen it"


def test_without_groups_there_is_one_point(corpus):
    answer = audit(corpus, attribute=None)
    assert [point.group for point in answer.detail.points] == ["all speakers"]
    assert [one.id for one in answer.findings] == ["breaking/mine/amp/breaking_point"]
    assert "differences" not in answer.tables


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"perturbation": "gausian_noise"}, "Did you mean: gaussian_noise"),
        ({"perturbation": "gaussian_noise", "parameter": "srn"}, "Did you mean: snr"),
        ({"perturbation": "frame"}, "Give the mild and the harsh end"),
        ({"perturbation": "clipping", "ends": (1.0, 2.0)}, "theta must be above 0 and at most 1"),
        ({"perturbation": "silence"}, "silence"),
        ({"ends": (1.0, 1.0)}, "are the same"),
        ({"ends": (1.0, 0.5, 0.1)}, "two numbers"),
        ({"out": None}, "name a folder"),
        ({"level": 1.5}, "level must lie between 0 and 1"),
        ({"budget": 2}, "budget must be at least 4"),
        ({"attribute": "grup"}, "Did you mean: group"),
        ({"attribute": "talk"}, "is in several groups"),
        ({"rise": 0.9}, "out of reach"),
    ],
)
def test_refusals_say_what_to_do(corpus, options, says):
    with pytest.raises(VoxauditError, match=says):
        audit(corpus, **options)


def test_no_speakers_is_refused(corpus):
    table = corpus.read_text().splitlines()
    bare = corpus.with_name("bare.csv")
    bare.write_text("\n".join(",".join(line.split(",")[:2] + line.split(",")[3:]) for line in table))
    with pytest.raises(VoxauditError, match=r"no utterance has a speaker.*: add a column `speaker`$"):
        audit(bare)


def test_a_group_of_one_speaker_has_no_number(corpus):
    table = [
        line
        for line in corpus.read_text().splitlines()
        if not line.startswith(("b1", "b2", "b3", "b4", "b5"))
    ]
    small = corpus.with_name("small.csv")
    small.write_text("\n".join(table))
    answer = audit(small)
    assert answer.detail.points[0].value is not None
    assert answer.detail.points[1].why_not == "too_few_speakers"
    assert answer.findings[1].sentence.endswith(
        "for b speakers (group): 1 speaker, and at least 5 are needed."
    )
    assert answer.findings[1].code == answer.refusals[0].code == "too_few_speakers"
    assert not answer.detail.differences


def test_one_group_has_nothing_to_be_compared_with(corpus):
    alone = corpus.with_name("alone.csv")
    alone.write_text("\n".join(line for line in corpus.read_text().splitlines() if not line.startswith("b")))
    with pytest.raises(RefusedError, match="only the group 'a' occurs") as caught:
        audit(alone)
    assert caught.value.refusal.code == "one_group"


def test_the_command(corpus, tmp_path, capsys):
    spec = f"python:{tmp_path / 'engine.py'}:hear"
    command = [
        "breaking",
        str(corpus),
        "--recognizers",
        spec,
        "--perturbation",
        "amp",
        "--attribute",
        "group",
    ]
    command += ["--out", str(tmp_path / "cli"), "--no-cache", "--workers", "1"]
    assert main([*command, "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["findings"][-1]["verdict"] == "shown"
    assert main(command) == 0
    said = capsys.readouterr().out
    assert "50.0 %   0.1" in said
    assert "breaks later for a speakers (group) than for b speakers" in said
    assert main([*command, "--ends", "loud"]) == 2
    assert "takes numbers" in capsys.readouterr().err
    assert main([*command, "--ends", "1"]) == 2
    assert "(see --ends)" in capsys.readouterr().err


@pytest.mark.parametrize("name", sorted(RANGES))
def test_every_usual_range_can_be_heard_from_end_to_end(name):
    axis = find_axis(name) if name != "crosstalk" else find_axis("gaussian_noise")
    for place in np.linspace(0.0, 1.0, 21):
        assert parse_scenario(axis.scenario(float(place))).perturbation is not None


def test_axes_by_hand():
    snr = find_axis("gaussian_noise")
    assert snr.scenario(0.5) == "gaussian_noise:snr=15"
    assert snr.text(0.25) == "27.5 dB"
    assert snr.difference(0.1) == pytest.approx(-5.0)  # harsher is fewer dB
    cut = find_axis("lowpass", ends=(4000.0, 1000.0))
    assert cut.value(0.5) == pytest.approx(2000.0)
    assert cut.difference(0.5) == pytest.approx(0.5)
    fixed = find_axis("packet_loss:burst=5")
    assert parse_scenario(fixed.scenario(1.0)).id == "packet_loss:loss=70,burst=5"


def test_tracks_stop_where_nothing_more_is_to_be_learnt():
    counts = np.zeros(2, dtype=int)

    def ask(asked):
        for speaker, _, _ in asked:
            counts[speaker] += 1
        # The first speaker is never misheard, the second is at a half from 0.5 on.
        wrong = [0.0 if speaker == 0 else 20.0 * (place >= 0.5) for speaker, _, place in asked]
        return np.array(wrong), np.full(len(asked), 20.0)

    tracks = run_tracks([0.5, 0.5], 12, ask)
    assert counts.tolist() == [6, 12]
    assert [len(track) for track in tracks] == [6, 12]


def test_a_response_that_falls_in_between_is_noticed():
    places = np.array([0.0, 0.4, 0.5, 0.6, 1.0])
    bent = [Track(places, np.array([0.0, 9.0, 5.0, 1.0, 10.0]), np.full(5, 10.0))] * 8
    straight = [Track(places, np.array([0.0, 1.0, 5.0, 9.0, 10.0]), np.full(5, 10.0))] * 8
    middle = np.full(8, 0.5)
    assert misfit(bent, middle) == pytest.approx(0.4)
    assert misfit(straight, middle) == 0.0
    assert order_of_harm(straight)[0] == pytest.approx(1.0)
    assert order_of_harm([Track(places[:2], np.zeros(2), np.ones(2))])[1] == 0.0


def test_simulated_speakers_are_found():
    people = Listeners()
    found = []
    for seed in range(12):
        generator = np.random.default_rng(seed)
        places, calls = simulate_group(people, generator, speakers=12)
        assert calls <= 144
        found.append(mean_interval(places, 0.0, 1.0))
    truth = people.truth(0.5)
    values = np.array(found)
    # 12 means of 12 speakers with a standard error of 0.026 each: 0.0075 together
    assert values[:, 0].mean() == pytest.approx(truth, abs=4 * 0.0075)
    assert np.mean((values[:, 1] <= truth) & (truth <= values[:, 2])) >= 0.75


def test_limits_end_with_the_range():
    axis = find_axis("gaussian_noise")
    places = {"a": np.array([0.05, -0.3, 0.2, 0.1, -0.4, 0.3])}
    [point] = summarize_groups("mine", axis, places, {"a": 0.5}, True)
    assert (point.high, point.always) == (40.0, 2)
    assert point.low < point.value < 40.0
    speaker = dict.fromkeys(("recognizer", "speaker", "group", "value", "never", "always", "trials"))
    [finding] = _answer(Breaking(axis, None, (point,), (), (speaker,), {}, (), 0, {})).findings
    assert "or beyond" in finding.sentence
    assert "2 of them at the mild end already" in finding.sentence


def test_recognizers_and_pairs_are_one_family():
    axis, generator = find_axis("gaussian_noise"), np.random.default_rng(4)
    groups = ["a"] * 9 + ["b"] * 8 + ["c"] * 7
    middles = np.repeat([0.4, 0.6, 0.6], [9, 8, 7])
    places = {name: generator.normal(middles, 0.08) for name in ("one", "two")}
    places["two"][20] = np.nan
    points = []
    for name, own in places.items():
        by_group = {g: own[[k for k in range(24) if groups[k] == g and not np.isnan(own[k])]] for g in "abc"}
        points += summarize_groups(name, axis, by_group, dict.fromkeys("abc", 0.5), True)
    found = compare_points(axis, points, places, groups)
    pairs = [(name, *pair) for name in ("one", "two") for pair in ("ab", "ac", "bc")]
    assert [(one.recognizer, one.group, one.against) for one in found] == pairs
    assert [one.shown for one in found] == [True, True, False] * 2
    assert [one.speakers_against for one in found] == [8, 7, 7, 8, 6, 6]
    values = {(one.recognizer, one.group): one.value for one in points}
    for one in found:
        # Harsher is fewer dB; the difference is that of the points printed.
        gap = values[one.recognizer, one.group] - values[one.recognizer, one.against]
        assert one.value == pytest.approx(gap, abs=1e-6)
        assert one.low < one.value < one.high
        assert one.p <= one.p_adjusted


def test_what_is_not_shown_says_how_large_it_may_be():
    speaker = dict.fromkeys(("recognizer", "speaker", "group", "value", "never", "always", "trials"))
    gap = Difference("mine", "a", "b", 0.9, -1.3, 3.1, 0.4, 0.5, False, 8, 9)
    axis = find_axis("gaussian_noise")

    def finding(one):
        return _answer(Breaking(axis, "sex", (), (one,), (speaker,), {}, (), 0, {})).findings[0]

    found = finding(gap)
    assert (found.verdict, found.excludes, found.low, found.high) == ("not_shown", 3.1, -1.3, 3.1)
    assert found.sentence.endswith("+0.9 dB (-1.3 to +3.1), p = 0.500; up to +3.1 dB is not excluded.")
    open_ = finding(Difference("mine", "a", "b", 0.9, None, 3.1, 0.4, 0.5, False, 8, 9))
    assert open_.excludes is None
    assert open_.sentence.endswith("(no limit to +3.1), p = 0.500; no difference is excluded.")
