"""The exact tests behind lost words: against enumeration and scipy, and how often they claim something by mistake."""

from itertools import product

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, fisher_exact

from voxaudit.audits.localize import localize
from voxaudit.audits.localize.exact import excess_loss, group_excess, poisson_binomial_tail

chances = st.lists(st.floats(0, 1), min_size=1, max_size=7)


@given(chances, st.integers(0, 7))
def test_the_tail_equals_enumeration(q, at_least):
    expected = 0.0
    for draws in product((0, 1), repeat=len(q)):
        if sum(draws) >= at_least:
            expected += float(np.prod([p if drawn else 1 - p for drawn, p in zip(draws, q, strict=True)]))
    found = poisson_binomial_tail(np.array([q]), np.array([at_least]))
    assert found[0] == pytest.approx(min(expected, 1.0), abs=1e-12)


def test_equal_chances_are_binomial_and_few_speakers_are_refused():
    cell = np.repeat([0, 1, 2, 3], [12, 4, 40, 6])
    share = np.repeat([0.75, 1.0, 0.5, 0.1], [12, 4, 40, 6])
    p = excess_loss(cell, 4, share, np.full(len(cell), 0.3))
    assert p[0] == pytest.approx(binom.sf(8, 12, 0.3))
    assert np.isnan(p[1])  # four speakers
    assert p[2] == pytest.approx(binom.sf(19, 40, 0.3))
    assert p[3] == 1.0  # lost less than other words


def test_between_whole_speakers_the_tail_is_interpolated():
    share = np.array([1.0, 1.0, 1.0, 0.5, 0.25])
    p = excess_loss(np.zeros(5, dtype=np.int64), 1, share, np.full(5, 0.1))
    assert p[0] == pytest.approx(0.25 * binom.sf(2, 5, 0.1) + 0.75 * binom.sf(3, 5, 0.1))


def test_groups_are_compared_by_fisher():
    group = np.repeat([0, 1], [6, 9])
    lost = np.array([1, 1, 1, 1, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1], dtype=bool)
    p = group_excess(np.zeros(15, dtype=np.int64), 1, group, 2, lost)
    assert p[0, 0] == pytest.approx(fisher_exact([[5, 1], [2, 7]], alternative="greater").pvalue)
    assert p[1, 0] == pytest.approx(fisher_exact([[2, 7], [5, 1]], alternative="greater").pvalue)
    assert np.isnan(group_excess(np.zeros(9, dtype=np.int64), 1, group[2:11], 2, lost[2:11])).all()


@pytest.mark.parametrize("together", [0.0, 0.5, 1.0])
def test_the_level_holds_however_a_speakers_occurrences_hang_together(together):
    # With probability `together` a speaker loses all occurrences of a word or none, else each on its own.
    generator = np.random.default_rng(7)
    words, speakers, times = 4000, 9, 4
    q = generator.uniform(0.05, 0.7, (words, speakers))
    own = generator.random((words, speakers, times)) < q[..., None]
    whole = generator.random((words, speakers)) < q
    joint = generator.random((words, speakers)) < together
    share = np.where(joint, whole, own.mean(axis=2))
    p = excess_loss(np.repeat(np.arange(words), speakers), words, share.ravel().astype(float), q.ravel())
    for level in (0.01, 0.05, 0.1):
        assert (p <= level).mean() <= level + 2.5 * np.sqrt(level * (1 - level) / words)


def planted(lost_word, speakers=10, scenarios=("noise:theta=2", "noise:theta=4")):
    """Speakers say four words in five utterances; one word in four is lost, `lost_word` or a random one."""
    generator = np.random.default_rng(3)
    words = ["red", "green", "blue", "black"]
    rows = []
    for speaker in range(speakers):
        for number in range(5):
            about = {"utterance": f"{speaker}-{number}", "recognizer": "r", "speaker": f"s{speaker}"}
            about["side"] = "left" if speaker % 2 else "right"
            rows.append(about | {"scenario": "clean", "text": " ".join(words)})
            for scenario in scenarios:
                gone = lost_word(about["side"]) or str(generator.choice(words))
                kept = " ".join(word for word in words if word != gone)
                rows.append(about | {"scenario": scenario, "text": kept})
    return pl.DataFrame(rows)


def test_a_planted_word_is_found_and_no_other():
    found = localize(planted(lambda _: "blue"))
    significant = found.words.filter(pl.col("q") <= found.fdr)
    assert significant["word"].to_list() == ["blue"]
    # Ten speakers lose it always, where one word in four is lost; two thetas.
    assert significant["p"][0] == pytest.approx(2 * 0.25**10)
    assert localize(planted(lambda _: None)).words.filter(pl.col("q") <= 0.05).is_empty()


def test_a_word_that_one_group_loses():
    found = localize(planted(lambda side: "blue" if side == "left" else None, speakers=20), group="side")
    significant = found.words.filter(pl.col("q_group") <= 0.05)
    assert significant.select("group", "word").rows() == [("left", "blue")]


def test_no_speakers_no_tests():
    table = planted(lambda _: "blue")
    found = localize(table.drop("speaker"))
    assert found.words["p"].null_count() == found.words.height
    assert found.words["speakers"].null_count() == found.words.height
    assert any(note.startswith("no tests:") for note in found.notes)
    few = localize(planted(lambda _: "blue", speakers=4))
    assert few.words["p"].null_count() == few.words.height


def test_a_speaker_in_two_groups_cannot_be_compared_with_himself():
    table = planted(lambda _: "blue").with_columns(side=pl.col("utterance").str.slice(-1))
    found = localize(table, group="side")
    assert found.words["p_group"].null_count() == found.words.height
    assert "no tests between groups: some speakers are in several groups" in found.notes
