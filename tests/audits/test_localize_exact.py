"""The exact tests behind lost words: against enumeration and scipy, and how often they claim something by mistake."""

from itertools import product

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, fisher_exact, t

from voxaudit.audits.localize.audit import localize
from voxaudit.stats.word_tests import (
    draws_worth,
    excess_loss,
    group_excess,
    hanging_together,
    poisson_binomial,
)

chances = st.lists(st.floats(0, 1), min_size=1, max_size=7)


@settings(deadline=None)
@given(chances, st.integers(0, 7))
def test_the_tail_equals_enumeration(q, at_least):
    expected = 0.0
    for draws in product((0, 1), repeat=len(q)):
        if sum(draws) >= at_least:
            expected += float(np.prod([p if drawn else 1 - p for drawn, p in zip(draws, q, strict=True)]))
    found = poisson_binomial(np.array([q]))
    assert found.shape == (1, len(q) + 1)
    assert found[0, at_least:].sum() == pytest.approx(expected, abs=1e-12)


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


def null_words(generator, speakers, rate, together, words=60, often=3.0):
    """Speakers who say words 1 to 10 times and lose each by chance; `together` words are lost all or none."""
    times = 1 + generator.poisson(often * 10 / (np.arange(words) + 3)[:, None], (words, speakers))
    own = np.exp(0.5 * generator.standard_normal(speakers) - 0.125)
    q = np.clip(rate * own * np.exp(0.2 * generator.standard_normal((words, speakers))), 0.002, 0.97)
    whole = (generator.random((words, speakers)) < q) * times
    joint = generator.random((words, speakers)) < np.broadcast_to(together, words)[:, None]
    lost = np.where(joint, whole, generator.binomial(times, q))
    word, speaker = np.indices(times.shape).reshape(2, -1)
    return word, speaker, times.ravel(), lost.ravel().astype(float), (times * q).ravel()


def by_worth(word, speaker, said, lost, expected, words=60):
    rho = hanging_together(word, words, speaker, said, lost, expected)
    draws = draws_worth(word, words, said, rho)
    return excess_loss(word, words, lost / said, np.minimum(expected / said, 1.0), draws)


@pytest.mark.parametrize("rate", [0.1, 0.7])
@pytest.mark.parametrize("together", [0.0, 0.2, 1.0, "some words"])
@pytest.mark.parametrize("speakers", [8, 20])
def test_the_level_holds_with_what_speakers_are_worth(speakers, rate, together):
    generator = np.random.default_rng([speakers, round(100 * rate)])
    mixed = np.where(np.arange(60) % 5 == 0, 0.6, 0.0) if together == "some words" else together
    p = np.concatenate([by_worth(*null_words(generator, speakers, rate, mixed)) for _ in range(30)])
    assert not np.isnan(p).any()
    for level in (0.05, 0.01):
        assert (p <= level).mean() <= 0.7 * level


def test_occurrences_that_are_lost_each_on_its_own_count_each():
    """A word four times as likely to be lost: one draw a speaker cannot show it, what the speakers are worth can."""
    generator = np.random.default_rng(1)
    word, speaker, said, lost, expected = null_words(generator, 16, 0.1, 0.0)
    planted = word == 0
    lost[planted] = generator.binomial(said[planted], np.minimum(4 * expected / said, 1.0)[planted])
    assert by_worth(word, speaker, said, lost, expected)[0] < 1e-6
    assert excess_loss(word, 60, lost / said, expected / said)[0] > 1e-3


def test_how_much_occurrences_hang_together_by_hand():
    # Five speakers say a word three times, a chance of a third each. Lost: 3, 0, 1, 1, 0 of 3, on the whole 5 of 15.
    cell, speaker, said = np.zeros(5, dtype=np.int64), np.arange(5), np.full(5, 3)
    lost, expected = np.array([3.0, 0.0, 1.0, 1.0, 0.0]), np.ones(5)
    # Squares about 1: 4, 1, 0, 0, 1, times 5/4; independent draws: 3 (1/3) (2/3) each; at most twice that beyond.
    own = (1.25 * 6 - 5 * 2 / 3) / (5 * 4 / 3)
    each = (1.25 * np.array([4.0, 1, 0, 0, 1]) - 2 / 3) / (4 / 3)
    upper = own + t.ppf(0.95, 4) * np.sqrt(((each - own) ** 2).sum() / 4 / 5)
    assert hanging_together(cell, 1, speaker, said, lost, expected)[0] == pytest.approx(min(upper, 1.0))
    # All or none: nothing but one draw a speaker. Four speakers tell nothing: the same.
    whole = np.array([3.0, 0.0, 3.0, 0.0, 0.0])
    assert hanging_together(cell, 1, speaker, said, whole, expected)[0] == 1.0
    assert hanging_together(cell[:4], 1, speaker[:4], said[:4], lost[:4], expected[:4])[0] == 1.0
    # A word's own figure counts where it is larger than that of all words together.
    many = np.repeat(np.arange(20), 5)
    even = np.where(many == 7, np.tile(whole, 20), np.tile([1.0, 1.0, 1.0, 1.0, 1.0], 20))
    found = hanging_together(many, 20, np.tile(speaker, 20), np.full(100, 3), even, np.ones(100))
    assert found[7] == 1.0
    assert (np.delete(found, 7) < 0.2).all()


def test_draws_are_whole_and_bounded():
    cell, said = np.array([0, 0, 1, 1]), np.array([1, 10, 10, 1000])
    assert draws_worth(cell, 2, said, np.array([0.0, 0.5])).tolist() == [1, 10, 1, 1]
    assert draws_worth(cell, 2, said, np.array([0.1, 0.0])).tolist() == [1, 5, 10, 128]
    assert draws_worth(np.zeros(300, dtype=np.int64), 1, np.full(300, 9), np.zeros(1)).max() == 1


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
    answer = localize(planted(lambda _: "blue"))
    found = answer.detail
    significant = found.words.filter(pl.col("p_adjusted") <= found.fdr)
    assert significant["word"].to_list() == ["blue"]
    # Ten speakers lose it always, where one word in four is lost; two settings.
    assert significant["p"][0] == pytest.approx(2 * 0.25**10)
    [finding] = answer.findings
    assert (finding.id, finding.verdict, finding.estimate) == ("localize/r/words", "shown", 1)
    assert (finding.p, finding.p_adjusted) == (significant["p"][0], significant["p_adjusted"][0])
    assert finding.sentence == (
        "When speech is disturbed, r loses 1 word more often than the words beside it: blue (4 words tested,"
        " false-discovery rate 5 %)."
    )
    assert answer.tables["words"]["verdict"].to_list()[0] == "shown"
    answer = localize(planted(lambda _: None))
    assert answer.detail.words.filter(pl.col("p_adjusted") <= 0.05).is_empty()
    assert [(one.verdict, one.estimate) for one in answer.findings] == [("not_shown", 0)]


def test_a_word_that_one_group_loses():
    answer = localize(planted(lambda side: "blue" if side == "left" else None, speakers=20), attribute="side")
    significant = answer.detail.words.filter(pl.col("p_group_adjusted") <= 0.05)
    assert significant.select("group", "word").rows() == [("left", "blue")]
    finding = answer.finding("localize/r/side/group_words")
    assert (finding.verdict, finding.estimate, finding.headline) == ("shown", 1, True)
    assert "loses 1 word more often in one group of side than in the others: blue (left)" in finding.sentence


def test_no_speakers_no_tests():
    table = planted(lambda _: "blue")
    answer = localize(table.drop("speaker"))
    words = answer.detail.words
    assert words["p"].null_count() == words.height
    assert words["speakers"].null_count() == words.height
    assert [(one.verdict, one.code) for one in answer.findings] == [("refused", "no_speakers")]
    assert [one.code for one in answer.refusals] == ["no_speakers"]
    few = localize(planted(lambda _: "blue", speakers=4))
    assert few.detail.words["p"].null_count() == few.detail.words.height
    assert [(one.verdict, one.code) for one in few.findings] == [("refused", "too_few_speakers")]


def test_a_speaker_in_two_groups_cannot_be_compared_with_himself():
    table = planted(lambda _: "blue").with_columns(side=pl.col("utterance").str.slice(-1))
    answer = localize(table, attribute="side")
    assert answer.detail.words["p_group"].null_count() == answer.detail.words.height
    assert [one.code for one in answer.refusals] == ["speakers_in_several_groups"]
    assert answer.finding("localize/r/words").verdict == "shown"
    assert answer.finding("localize/r/side/group_words").code == "speakers_in_several_groups"
