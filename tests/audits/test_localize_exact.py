"""The exact tests behind lost words: against enumeration and scipy, and how often they claim something by mistake."""

from itertools import product

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, t

from voxaudit.audits.localize.audit import localize
from voxaudit.stats.permutations import Shuffles
from voxaudit.stats.word_tests import (
    between_groups,
    draws_worth,
    excess_loss,
    hanging_together,
    poisson_binomial,
    together,
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


def _spoken(generator, sizes, spreads=(0.5, 0.5), ratio=1.0, words=20, times=20.0):
    """Speakers of two groups say words, common ones often; the second group loses the first `ratio` times as often."""
    group = np.repeat([0, 1], sizes)
    said = generator.poisson(times / (np.arange(words) + 3), (len(group), words))
    spread = np.array(spreads)[group]
    own = np.exp(spread * generator.standard_normal(len(group)) - spread**2 / 2)
    chance = 0.1 * own[:, None] * np.where((group == 1)[:, None] & (np.arange(words) == 0), ratio, 1.0)
    lost = sum(generator.binomial(said, np.minimum(chance, 0.95)) for _ in range(3))
    return lost.astype(float), 3.0 * said, group


def _shown(generator, number, *world, **options):
    lost, said, group = _spoken(generator, *world, **options)
    told = (lost > 0).sum(axis=0) >= 5
    found = between_groups(lost[:, told], said[:, told], group, 2, Shuffles(len(group), 399, number))
    return together([found])[4] <= 0.05


def test_groups_are_compared_by_the_shares_they_lose():
    lost, said, group = _spoken(np.random.default_rng(2), (9, 14), ratio=3.0)
    found = between_groups(lost, said, group, 2, Shuffles(23, 199))
    shares = [lost[group == one].sum(axis=0) / said[group == one].sum(axis=0) for one in (0, 1)]
    tested = ~np.isnan(found.p[0])
    assert found.gap[1, tested] == pytest.approx((shares[1] - shares[0])[tested])
    assert found.gap[0, tested] == pytest.approx(-found.gap[1, tested])
    # One group's loss is the other's gain: only one of the two can be shown.
    assert ((found.p[0] < 0.5) & (found.p[1] < 0.5)).sum() == 0
    gap, low, high, p, adjusted = together([found])[:, np.r_[tested, tested]]
    assert ((low < gap) & (gap < high)).all()
    assert (adjusted >= p).all()
    assert adjusted.argmin() == tested.sum()  # the first word in the second group
    few = between_groups(lost[5:13], said[5:13], group[5:13], 2, Shuffles(8, 199))
    assert np.isnan(few.p).all()  # four speakers on either side


def test_several_groups_are_compared_with_all_others():
    generator = np.random.default_rng(8)
    group = np.repeat([0, 1, 2], 10)
    said = np.full((30, 4), 12.0)
    lost = generator.binomial(12, np.where((group == 2)[:, None] & (np.arange(4) == 1), 0.6, 0.15)).astype(
        float
    )
    found = between_groups(lost, said, group, 3, Shuffles(30, 999))
    shown = together([found])[4].reshape(3, 4) <= 0.05
    assert np.argwhere(shown).tolist() == [[2, 1]]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sizes", "spreads", "times"),
    [
        ((8, 8), (0.5, 0.5), 20.0),
        ((40, 8), (0.25, 0.9), 20.0),
        ((8, 40), (0.25, 0.9), 20.0),
        # Words said dozens of times tell how unlike the few speakers of the wide group are.
        ((40, 8), (0.25, 0.9), 200.0),
    ],
)
def test_words_of_groups_that_lose_alike_are_not_shown(sizes, spreads, times):
    generator = np.random.default_rng(sizes)
    shown = [_shown(generator, number, sizes, spreads, times=times).any() for number in range(100)]
    assert np.mean(shown) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 100)


@pytest.mark.parametrize("sizes", [(16, 16), (8, 40), (40, 8)])
def test_a_word_that_one_group_loses_four_times_as_often_is_shown(sizes):
    # One speaker, one yes or no (Fisher) shows it in a few of a hundred audits.
    generator = np.random.default_rng(4)
    found = [_shown(generator, number, sizes, ratio=4.0).any() for number in range(40)]
    assert np.mean(found) >= 0.75


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


@pytest.mark.slow
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


@pytest.mark.parametrize("alike", [0.0, 0.6, 1.0])
def test_the_level_holds_over_settings_that_lose_the_same_words(alike):
    # Three settings; a speaker's losses of a word are the same under all of them, or drawn anew.
    generator = np.random.default_rng([3, round(10 * alike)])
    p = []
    for _ in range(30):
        word, speaker, said, lost, expected = null_words(generator, 12, 0.2, 0.0, often=0.5)
        drawn = [generator.binomial(said, np.minimum(expected / said, 1.0)) for _ in range(2)]
        again = generator.random(len(said)) < alike
        total = lost + sum(np.where(again, lost, one) for one in drawn)
        p.append(by_worth(word, speaker, 3 * said, total, 3 * expected))
    for level in (0.05, 0.01):
        assert (np.concatenate(p) <= level).mean() <= 0.7 * level


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
    # Ten speakers lose it always, under both settings, where one word in four is lost: a draw each.
    assert significant["p"][0] == pytest.approx(0.25**10)
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
    # Who loses blue every time never loses another word: the others lose those more.
    words = {("left", "blue"), *(("right", word) for word in ("black", "green", "red"))}
    assert set(significant.select("group", "word").rows()) == words
    assert significant.filter((pl.col("gap_low") <= 0) | (pl.col("gap_low") >= pl.col("gap"))).is_empty()
    finding = answer.finding("localize/r/side/group_words")
    assert (finding.verdict, finding.estimate, finding.headline) == ("shown", 4, True)
    assert "loses 4 words more often in one group of side than in the others: blue (left)" in finding.sentence
    assert finding.sentence.endswith("(4 words tested, chance of any false claim 5 %).")


def test_what_is_not_shown_between_groups_says_how_much_is_left_open():
    answer = localize(planted(lambda _: None, speakers=20), attribute="side")
    finding = answer.finding("localize/r/side/group_words")
    words = answer.detail.words.drop_nulls("gap_high").sort("gap_high", descending=True)
    assert (finding.verdict, finding.p_adjusted) == ("not_shown", words["p_group_adjusted"].min())
    most = (
        f"{100 * words['gap_high'][0]:.0f} percentage points more ({words['word'][0]}, {words['group'][0]})"
    )
    assert finding.sentence.endswith(f"; up to {most} is not excluded.")


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
