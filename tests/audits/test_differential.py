"""The differential audit on small cases worked out by hand, and its refusals."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from voxaudit.audits.differential.audit import differential
from voxaudit.audits.differential.measure import measure_disagreement
from voxaudit.audits.scores import Transcripts
from voxaudit.errors import VoxauditError
from voxaudit.perturb.comprehensibility import read_ratings
from voxaudit.score import count_words, normalizer


def row(utterance, scenario, recognizer, text, speaker, group, reference=None):
    return {
        "utterance": utterance,
        "scenario": scenario,
        "recognizer": recognizer,
        "text": text,
        "speaker": speaker,
        "gender": group,
        "reference": reference,
    }


def small() -> list[dict[str, str | None]]:
    """Two groups, two speakers each, one utterance each; d by hand in the tests."""
    rows = []
    heard = {
        "f1": {"clean": ("one two three four", "one two three four"), "hp:1": ("one two", "one three four")},
        "f2": {"clean": ("One, two!", "one too"), "hp:1": ("", "")},
        "m1": {"clean": ("a b c d", "a b c d"), "hp:1": ("a b c d", "a b c")},
        "m2": {"clean": ("a b", "a b"), "hp:1": ("a b", "a b")},
    }
    for speaker, scenarios in heard.items():
        for scenario, (x, y) in scenarios.items():
            rows += [
                row(speaker + "u", scenario, "X", x, speaker, speaker[0]),
                row(speaker + "u", scenario, "Y", y, speaker, speaker[0]),
            ]
    return rows


def counts(answer, by):
    """The violations of an answer, {value: {group: count}}."""
    found: dict[str, dict[str, int]] = {}
    for one in answer.tables["counts"].filter(pl.col("by") == by).to_dicts():
        found.setdefault(one["value"], {})[one["group"]] = one["violations"]
    return found


def totals(answer):
    return dict(answer.tables["groups"].select("group", "violations").iter_rows())


def test_distances_are_pooled_over_the_longer_transcript() -> None:
    answer = differential(pl.DataFrame(small()), attribute="gender", tau=[0.01, 0.3, 0.5])
    [found] = answer.detail
    rows = {r["group"]: r for r in found.view.degradations.to_dicts()}
    # f clean: (0 + 1) / (4 + 2); disturbed: "one two" / "one three four" is 2 edits of 3, two empty texts 0 of 0.
    assert rows["f"]["clean"] == pytest.approx(1 / 6)
    assert rows["f"]["distance"] == pytest.approx(2 / 3)
    assert rows["m"]["clean"] == 0.0
    assert rows["m"]["distance"] == pytest.approx(1 / 6)
    assert totals(answer) == {"f": 2, "m": 0}
    assert counts(answer, "tolerance") == {
        "0.01": {"f": 1, "m": 0},
        "0.3": {"f": 1, "m": 0},
        "0.5": {"f": 0, "m": 0},
    }
    assert counts(answer, "scenario") == {"hp:1": {"f": 2, "m": 0}}
    [first, _] = found.view.violations.to_dicts()
    assert (first["group"], first["against"], first["pair"], first["scenario"]) == (
        "f",
        "m",
        "X and Y",
        "hp:1",
    )
    assert first["gap"] == pytest.approx(2 / 3 - 1 / 6 - 1 / 6)
    assert first["p"] is None
    assert first["verdict"] == "refused"
    [finding] = answer.findings
    assert (finding.verdict, finding.code, finding.estimate) == ("refused", "too_few_speakers", None)
    assert "f (2 speakers), m (2 speakers) are counted but not tested: a test needs 5" in finding.sentence
    [refusal] = answer.refusals
    assert refusal.facts == {"speakers": {"f": 2, "m": 2}, "needed": 5}


def test_the_rule_is_strict() -> None:
    table = pl.DataFrame(
        {
            "pair": ["A_B"] * 4,
            "perturbation": ["Original", "Original", "Noise", "Noise"],
            "setting": [None, None, 2.0, 2.0],
            "group": ["g", "h", "g", "h"],
            "distance": [0.0, 0.0, 0.5, 0.25],
        }
    )
    assert totals(differential(table, tau=[0.25])) == {"g": 0, "h": 0}
    assert totals(differential(table, tau=[0.2499])) == {"g": 1, "h": 0}


def test_a_failed_trial_is_left_out_of_both_conditions_and_counted() -> None:
    rows = small()
    rows[2]["text"] = None  # X failed on f1, disturbed
    answer = differential(pl.DataFrame(rows), attribute="gender")
    [found] = answer.detail
    f = found.view.degradations.filter(pl.col("group") == "f").to_dicts()[0]
    assert f["clean"] == pytest.approx(1 / 2)  # f2 alone
    assert f["degradation"] is None  # "" and "": no words at all
    assert found.left_out["trials without a transcript"] == 1
    assert answer.notes[0].facts == {"distances": 1}
    assert "both recognizers returned no words" in answer.notes[0].text


WORDS = st.lists(st.sampled_from(["a", "b", "c", "A."]), max_size=4).map(" ".join)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.one_of(st.none(), WORDS), min_size=24, max_size=24), st.randoms(use_true_random=False))
def test_sums_equal_a_plain_loop(texts, random) -> None:
    """Three recognizers, four utterances of three speakers, clean and one disturbance; failures anywhere."""
    speakers = {"u1": "s1", "u2": "s1", "u3": "s2", "u4": "s3"}
    groups = {"s1": "g", "s2": "h", "s3": "h"}
    heard = dict(zip(product(speakers, ("clean", "hp:1"), "XYZ"), texts, strict=True))
    rows = [row(u, s, r, text, speakers[u], groups[speakers[u]]) for (u, s, r), text in heard.items()]
    random.shuffle(rows)
    rule = normalizer("basic")
    sums = {}
    for (a, b), u in product(combinations("XYZ", 2), speakers):
        if any(heard[u, s, r] is None for s in ("clean", "hp:1") for r in (a, b)):
            continue
        for s in ("clean", "hp:1"):
            left, right = rule(heard[u, s, a]), rule(heard[u, s, b])
            edits, words = sums.get((a, b, s, speakers[u]), (0, 0))
            longer = max(len(left.split()), len(right.split()))
            sums[a, b, s, speakers[u]] = (edits + count_words(left, right).errors, words + longer)
    table = pl.DataFrame(rows, schema_overrides={"text": pl.String, "reference": pl.String})
    source = Transcripts.of(table)
    if not any(words for (_, _, s, _), (_, words) in sums.items() if s == "hp:1"):
        with pytest.raises(VoxauditError, match="no two recognizers have words"):
            measure_disagreement(source, "gender", rule)
        return
    found = measure_disagreement(source, "gender", rule).between
    for (place, pair), (k, speaker) in product(enumerate(combinations("XYZ", 2)), enumerate(found.speakers)):
        now = sums.get((*pair, "hp:1", speaker), (0, 0))
        then = sums.get((*pair, "clean", speaker), (0, 0))
        assert (found.edits[place, 0, k], found.words[place, 0, k]) == now
        assert (found.clean_edits[place, 0, k], found.clean_words[place, 0, k]) == then


def test_scenarios_are_read_in_pieces_with_the_same_answer(monkeypatch, tmp_path) -> None:
    generator = np.random.default_rng(5)
    words = np.array(["ay", "bee", "sea", "dee"])
    rows = [
        row(f"u{u}", s, r, " ".join(generator.choice(words, 3)), f"s{u // 2}", "gh"[u % 4 // 2], "ay bee sea")
        for u, s, r in product(range(24), ("clean", "hp:1", "lp:2", "noise:3"), "XYZ")
    ]
    path = tmp_path / "transcripts.parquet"
    pl.DataFrame(rows).sample(fraction=1.0, shuffle=True, seed=1).write_parquet(path)
    [whole] = differential(pl.DataFrame(rows), attribute="gender", seed=4).detail
    monkeypatch.setattr("voxaudit.audits.scores.ROWS_AT_A_TIME", 1)
    [pieces] = differential(path, attribute="gender", seed=4).detail
    order = [c.id for c in whole.view.scenarios]
    assert sorted(order) == sorted(c.id for c in pieces.view.scenarios)
    keys = ["group", "pair", "scenario"]
    assert whole.view.degradations.sort(keys).equals(pieces.view.degradations.sort(keys))
    assert whole.wer is not None
    assert pieces.wer is not None
    assert whole.wer.degradations.sort(keys).equals(pieces.wer.degradations.sort(keys))


def refused(rows, group="gender", **options) -> str:
    with pytest.raises(VoxauditError) as caught:
        differential(pl.DataFrame(rows), attribute=group, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_what_cannot_be_asked_is_refused_in_one_line() -> None:
    rows = small()
    assert "only the group 'f' occurs" in refused([r | {"gender": "f"} for r in rows])
    assert "one recognizer (X)" in refused([r for r in rows if r["recognizer"] == "X"])
    assert "no scenario is called `clean`" in refused([r for r in rows if r["scenario"] != "clean"])
    assert "only undisturbed speech" in refused([r for r in rows if r["scenario"] == "clean"])
    assert "Did you mean: gender?" in refused(rows, "gendre")
    assert "no column 'text'" in refused([{k: v for k, v in r.items() if k != "text"} for r in rows])
    assert "is there 2 times" in refused([*rows, rows[0]])
    assert "no two recognizers have words" in refused([r | {"text": ""} for r in rows])
    assert "nothing to exclude is called 'lp:1'" in refused(rows, exclude=["lp:1"])
    assert "no disturbed scenario is left" in refused(rows, exclude=["HP"])
    silent = [r | {"scenario": "noise_only:2"} if r["scenario"] != "clean" else r for r in rows]
    assert "no disturbed scenario is left to compare (1 scenarios in which nobody speaks)" in refused(silent)
    assert "1 scenarios without a comprehensibility rating" in refused(rows, min_comprehensibility=7.0)
    assert "tau takes numbers from 0 up to 1" in refused(rows, tau=[-0.1])
    assert "a tau is named twice" in refused(rows, tau=[0.1, 0.1])
    assert "confidence must lie between 0 and 1" in refused(rows, confidence=2.0)
    assert "the seed must be 0 or more" in refused(rows, seed=-1)
    assert "must be a number, not nan" in refused(rows, min_comprehensibility=float("nan"))
    assert "more than the 24" in refused(
        [
            r | {"utterance": f"{r['utterance']}{n}", "gender": f"{r['gender']}{n}"}
            for r in rows
            for n in range(13)
        ]
    )
    assert "the column of the groups to compare is not named" in refused(rows, None)
    assert "several values in column 'gender'" in refused([*rows[:-1], rows[-1] | {"gender": "f"}])


def test_without_speakers_only_the_papers_rule_applies() -> None:
    rows = [{k: v for k, v in r.items() if k != "speaker"} for r in small()]
    answer = differential(pl.DataFrame(rows), attribute="gender")
    assert totals(answer) == {"f": 4, "m": 0}
    assert answer.tables["groups"]["speakers"].to_list() == [None, None]
    assert answer.tables["surviving"].is_empty()
    assert answer.findings[0].code == "no_speakers"
    assert "no p-values: the speakers are unknown" in answer.refusals[0].text


def test_speakers_in_two_groups_cannot_be_moved() -> None:
    rows = [r | {"speaker": "same"} for r in small()]
    answer = differential(pl.DataFrame(rows), attribute="gender")
    assert totals(answer) == {"f": 4, "m": 0}
    assert answer.findings[0].code == "speakers_in_several_groups"
    assert "speaker 'same' is in several groups of 'gender' (1 such)" in answer.refusals[0].text


def test_rows_without_group_or_speaker_are_left_out_and_counted() -> None:
    rows = small()
    rows += [r | {"utterance": "x", "gender": None} for r in rows[:4]]
    rows += [r | {"utterance": "y", "speaker": None} for r in rows[:4]]
    answer = differential(pl.DataFrame(rows), attribute="gender")
    left_out = {note.facts["what"]: note.facts["count"] for note in answer.notes if note.code == "left_out"}
    assert left_out == {"utterances without a group": 1, "utterances without a speaker": 1}
    assert totals(answer) == {"f": 4, "m": 0}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.filter(pl.col("perturbation") != "Original"), "has the perturbation 'Original'"),
        (
            lambda t: t.filter((pl.col("perturbation") != "Original") | (pl.col("group") == "g")),
            "no row of A_B, h",
        ),
        (lambda t: t.filter(pl.col("group") == "g"), "only the group 'g' occurs"),
        (lambda t: pl.concat([t, t[-1:]]), "has two rows"),
        (lambda t: t.with_columns(distance=pl.lit("x")), "row 1, column distance: 'x'"),
        (lambda t: t.drop("pair"), "no column 'pair'"),
    ],
)
def test_bad_tables_of_distances(change, message) -> None:
    table = pl.DataFrame(
        {
            "pair": ["A_B"] * 4,
            "perturbation": ["Original", "Original", "Noise", "Noise"],
            "setting": ["", "", "2", "2"],
            "group": ["g", "h", "g", "h"],
            "distance": [0.1, 0.2, 0.5, 0.3],
        }
    )
    assert totals(differential(table)) == {"g": 4, "h": 0}
    with pytest.raises(VoxauditError) as caught:
        differential(change(table))
    assert message in str(caught.value)


def test_ratings_of_your_own(tmp_path) -> None:
    path = tmp_path / "ratings.csv"
    path.write_text("perturbation,setting,rating\nHP,1,8\nHp,1,5\n")
    ratings = read_ratings(path)
    assert ratings.of("hp", 1.0) == pytest.approx(6.5)
    assert differential(pl.DataFrame(small()), attribute="gender", min_comprehensibility=6.5, ratings=ratings)
    with pytest.raises(VoxauditError, match=r"1 scenarios rated under 6\.6"):
        differential(pl.DataFrame(small()), attribute="gender", min_comprehensibility=6.6, ratings=ratings)
    path.write_text("perturbation,setting,rating\nHP,1,good\n")
    with pytest.raises(VoxauditError, match="row 1, column rating: 'good' is not a number"):
        read_ratings(path)


def test_groups_that_start_far_apart_are_said_to_have_unlike_room() -> None:
    rows = small()
    like = differential(pl.DataFrame(rows), attribute="gender")
    assert not any(note.code == "unlike_clean" for note in like.notes)
    for one in rows:
        if one["speaker"] == "f1" and one["scenario"] == "clean" and one["recognizer"] == "Y":
            one["text"] = "five six seven eight"
    unlike = differential(pl.DataFrame(rows), attribute="gender")
    # f clean: (4 + 1) / (4 + 2) = 83 %; m clean: 0.
    [note] = [note for note in unlike.notes if note.code == "unlike_clean"]
    assert "83 % apart for f and 0 % for m: f has less room" in note.text


def many(speakers, clean, disturbed, reference=True):
    """Transcripts of eight words by two groups; recognizer Y loses `clean[g]` of them, `disturbed[g]` in noise."""
    generator = np.random.default_rng(11)
    words = np.array([f"w{k}" for k in range(8)])
    rows = []
    for person, turn in product(range(2 * speakers), range(4)):
        group, said = "gh"[person % 2], " ".join(words)
        for scenario, rates in (("clean", clean), ("noise:2", disturbed)):
            lost = generator.random(8) < rates[group] * (0.9 + 0.2 * (person // 2 % 2))
            heard = " ".join(np.where(lost, "x", words))
            about = (f"p{person}", group, said if reference else None)
            rows += [
                row(f"{person}-{turn}", scenario, "X", said, *about),
                row(f"{person}-{turn}", scenario, "Y", heard, *about),
            ]
    return pl.DataFrame(rows, schema_overrides={"reference": pl.String})


def test_the_group_that_starts_better_is_not_named_when_it_starts_far_better() -> None:
    """h loses 60 % of clean words already: +35 points for g, +20 for h, who has lost half of what was left."""
    answer = differential(many(16, {"g": 0.05, "h": 0.6}, {"g": 0.4, "h": 0.8}), attribute="gender")
    wer, drift, clean, violations = answer.findings
    assert (clean.measure, clean.group, clean.verdict) == ("clean_disagreement", "h", "shown")
    assert clean.low < 0.55 < clean.high
    assert clean.id == "differential/X and Y/gender/g/h/clean_disagreement"
    for finding in (wer, drift):
        assert (finding.group, finding.verdict, finding.code) == ("g", "refused", "unlike_clean")
        assert finding.low > 0.01
        assert "cannot be said" in finding.sentence
    assert (wer.measure, wer.headline, drift.headline) == ("wer_growth", True, False)
    assert (violations.verdict, violations.code, violations.estimate) == ("refused", "unlike_clean", None)
    assert {refusal.code for refusal in answer.refusals} == {"unlike_clean"}
    assert len(answer.refusals) == 2
    assert not any("reference texts" in one.remedy for one in answer.refusals)  # they are given
    assert answer.tables["surviving"].is_empty()
    # The paper's rule goes on naming it, as the paper's.
    assert totals(answer)["g"] > 0 == totals(answer)["h"]


def test_whoever_loses_more_of_the_room_too_is_named_by_error_rates_and_left_open_without() -> None:
    rates = {"g": 0.05, "h": 0.4}, {"g": 0.9, "h": 0.45}
    wer, drift, *_ = differential(many(16, *rates), attribute="gender").findings
    assert (wer.group, wer.against, wer.verdict) == ("g", "h", "shown")
    assert wer.sentence.startswith("Disturbed speech raises the word error rate by ")
    assert f"{100 * wer.estimate:.1f} percentage points" in wer.sentence
    assert (drift.verdict, drift.code) == ("refused", "unlike_clean")
    without = differential(many(16, *rates, reference=False), attribute="gender")
    drift, *_ = without.findings
    assert (drift.measure, drift.headline, drift.verdict) == ("disagreement_growth", True, "refused")
    assert "give reference texts" in without.refusals[0].remedy


def test_where_no_gap_is_shown_the_largest_that_is_not_excluded_is_said() -> None:
    answer = differential(many(8, *[{"g": 0.2, "h": 0.2}] * 2), attribute="gender")
    for finding in answer.findings[:3]:
        assert finding.verdict == "not_shown"
        assert finding.excludes == max(abs(finding.low), abs(finding.high))
        assert f"up to {100 * finding.excludes:.1f} percentage points is not excluded" in finding.sentence
    assert answer.findings[3].verdict == "not_shown"
    assert not answer.refusals


def test_chosen_scenarios_keep_the_clean_speech_they_are_compared_with() -> None:
    rows = small()
    rows += [r | {"scenario": "lp:2"} for r in rows if r["scenario"] == "hp:1"]
    answer = differential(pl.DataFrame(rows), attribute="gender", scenario="lp:2", full=True)
    assert set(answer.tables["distances"]["scenario"]) == {"lp:2"}
    assert totals(answer) == {"f": 4, "m": 0}
    named = pl.DataFrame(rows).rename({"text": "heard", "speaker": "who"})
    renamed = differential(
        named, attribute="gender", scenario=["lp:2"], columns={"text": "heard", "speaker": "who"}
    )
    assert totals(renamed) == {"f": 4, "m": 0}
    only = differential(pl.DataFrame(rows), attribute="gender", where=["speaker!=m2"])
    assert dict(only.tables["groups"].select("group", "speakers").iter_rows()) == {"f": 2, "m": 1}
