"""The differential audit on small cases worked out by hand, and its refusals."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from voxaudit.audits.differential import differential
from voxaudit.audits.differential.disagreement import measure_disagreement
from voxaudit.audits.differential.ratings import read_ratings
from voxaudit.audits.differential.sources import open_source
from voxaudit.errors import VoxauditError
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


def test_distances_are_pooled_over_the_longer_transcript() -> None:
    [found] = differential(pl.DataFrame(small()), "gender", taus=[0.01, 0.3, 0.5])
    rows = {r["group"]: r for r in found.view.degradations.to_dicts()}
    # f clean: (0 + 1) / (4 + 2); disturbed: "one two" / "one three four" is 2 edits of 3, two empty texts 0 of 0.
    assert rows["f"]["original"] == pytest.approx(1 / 6)
    assert rows["f"]["distance"] == pytest.approx(2 / 3)
    assert rows["m"]["original"] == 0.0
    assert rows["m"]["distance"] == pytest.approx(1 / 6)
    assert found.view.counts()["totals"] == {"f": 2, "m": 0}
    assert found.view.counts()["by_tau"] == {
        "0.01": {"f": 1, "m": 0},
        "0.3": {"f": 1, "m": 0},
        "0.5": {"f": 0, "m": 0},
    }
    assert found.view.counts()["by_setting"] == {"hp": {"1": {"f": 2, "m": 0}}}
    [first, _] = found.view.violations.to_dicts()
    assert (first["group"], first["against"], first["pair"], first["scenario"]) == ("f", "m", "X_Y", "hp:1")
    assert first["gap"] == pytest.approx(2 / 3 - 1 / 6 - 1 / 6)
    assert first["p"] is None
    assert first["significant"] is None
    assert "f has 2 speakers and m has 2 speakers; a test needs 5" in found.refusals[0]


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
    [found] = differential(table, taus=[0.25])
    assert found.view.counts()["totals"] == {"g": 0, "h": 0}
    [found] = differential(table, taus=[0.2499])
    assert found.view.counts()["totals"] == {"g": 1, "h": 0}


def test_a_failed_trial_is_left_out_of_both_conditions_and_counted() -> None:
    rows = small()
    rows[2]["text"] = None  # X failed on f1, disturbed
    [found] = differential(pl.DataFrame(rows), "gender")
    f = found.view.degradations.filter(pl.col("group") == "f").to_dicts()[0]
    assert f["original"] == pytest.approx(1 / 2)  # f2 alone
    assert f["degradation"] is None  # "" and "": no words at all
    assert found.left_out["trials without a transcript"] == 1
    assert "both recognizers returned no words" in found.notes[0]


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
    source = open_source(table, "gender")
    if not any(words for (_, _, s, _), (_, words) in sums.items() if s == "hp:1"):
        with pytest.raises(VoxauditError, match="no two recognizers have words"):
            measure_disagreement(source, rule)
        return
    found = measure_disagreement(source, rule).between
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
    [whole] = differential(pl.DataFrame(rows), "gender", seed=4)
    monkeypatch.setattr("voxaudit.audits.differential.sources.ROWS_AT_A_TIME", 1)
    [pieces] = differential(path, "gender", seed=4, exclude=())
    order = [c.id for c in whole.view.scenarios]
    assert sorted(order) == sorted(c.id for c in pieces.view.scenarios)
    keys = ["group", "pair", "scenario"]
    assert whole.view.degradations.sort(keys).equals(pieces.view.degradations.sort(keys))
    assert whole.wer is not None
    assert pieces.wer is not None
    assert whole.wer.degradations.sort(keys).equals(pieces.wer.degradations.sort(keys))


def refused(rows, group="gender", **options) -> str:
    with pytest.raises(VoxauditError) as caught:
        differential(pl.DataFrame(rows), group, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_what_cannot_be_asked_is_refused_in_one_line() -> None:
    rows = small()
    assert "there is only one group (f)" in refused([r | {"gender": "f"} for r in rows])
    assert "one recognizer (X)" in refused([r for r in rows if r["recognizer"] == "X"])
    assert "no scenario is called clean" in refused([r for r in rows if r["scenario"] != "clean"])
    assert "only undisturbed speech" in refused([r for r in rows if r["scenario"] == "clean"])
    assert "Did you mean: gender?" in refused(rows, "gendre")
    assert "no column 'text'" in refused([{k: v for k, v in r.items() if k != "text"} for r in rows])
    assert "is there 2 times" in refused([*rows, rows[0]])
    assert "no two recognizers have words" in refused([r | {"text": ""} for r in rows])
    assert "nothing to exclude is called 'lp:1'" in refused(rows, exclude=["lp:1"])
    assert "no disturbed scenario is left" in refused(rows, exclude=["HP"])
    assert "1 scenarios without a comprehensibility rating" in refused(rows, min_comprehensibility=7.0)
    assert "tau takes numbers from 0 up to 1" in refused(rows, taus=[-0.1])
    assert "no scenario 'quiet'" in refused(rows, clean="quiet")
    assert "name the column of the groups" in refused(rows, None)
    assert "several values in column 'gender'" in refused([*rows[:-1], rows[-1] | {"gender": "f"}])


def test_without_speakers_only_the_papers_rule_applies() -> None:
    rows = [{k: v for k, v in r.items() if k != "speaker"} for r in small()]
    [found] = differential(pl.DataFrame(rows), "gender")
    assert found.view.counts()["totals"] == {"f": 4, "m": 0}
    assert found.speakers is None
    assert not found.view.tested
    assert "no p-values: the speakers are unknown" in found.refusals[0]


def test_speakers_in_two_groups_cannot_be_moved() -> None:
    rows = [r | {"speaker": "same"} for r in small()]
    [found] = differential(pl.DataFrame(rows), "gender")
    assert found.view.counts()["totals"] == {"f": 4, "m": 0}
    assert "speaker 'same' is in the groups f and m" in found.refusals[0]


def test_rows_without_group_or_speaker_are_left_out_and_counted() -> None:
    rows = small()
    rows += [r | {"utterance": "x", "gender": None} for r in rows[:4]]
    rows += [r | {"utterance": "y", "speaker": None} for r in rows[:4]]
    [found] = differential(pl.DataFrame(rows), "gender")
    assert found.left_out == {"utterances without a group": 1, "utterances without a speaker": 1}
    assert found.view.counts()["totals"] == {"f": 4, "m": 0}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.filter(pl.col("perturbation") != "Original"), "has the perturbation 'Original'"),
        (
            lambda t: t.filter((pl.col("perturbation") != "Original") | (pl.col("group") == "g")),
            "no row of A_B, h",
        ),
        (lambda t: t.filter(pl.col("group") == "g"), "only one group (g)"),
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
    assert differential(table)[0].view.counts()["totals"] == {"g": 4, "h": 0}
    with pytest.raises(VoxauditError) as caught:
        differential(change(table))
    assert message in str(caught.value)


def test_ratings_of_your_own(tmp_path) -> None:
    path = tmp_path / "ratings.csv"
    path.write_text("perturbation,setting,rating\nHP,1,8\nHp,1,5\n")
    ratings = read_ratings(path)
    assert ratings.of("hp", 1.0) == pytest.approx(6.5)
    assert differential(pl.DataFrame(small()), "gender", min_comprehensibility=6.5, ratings=ratings)
    with pytest.raises(VoxauditError, match=r"1 scenarios rated under 6\.6"):
        differential(pl.DataFrame(small()), "gender", min_comprehensibility=6.6, ratings=ratings)
    path.write_text("perturbation,setting,rating\nHP,1,good\n")
    with pytest.raises(VoxauditError, match="row 1, column rating: 'good' is not a number"):
        read_ratings(path)


def test_groups_that_start_far_apart_are_said_to_have_unlike_room() -> None:
    rows = small()
    [like] = differential(pl.DataFrame(rows), "gender")
    assert not any("room" in note for note in like.notes)
    for one in rows:
        if one["speaker"] == "f1" and one["scenario"] == "clean" and one["recognizer"] == "Y":
            one["text"] = "five six seven eight"
    [unlike] = differential(pl.DataFrame(rows), "gender")
    # f clean: (4 + 1) / (4 + 2) = 83 %; m clean: 0.
    assert any("83 % apart for f and 0 % for m: f has less room" in note for note in unlike.notes)
