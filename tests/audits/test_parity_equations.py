"""Every equation of Herron et al. by hand, on tables small enough to check with a pencil."""

import math

import numpy as np
import polars as pl
import pytest
from scipy import stats

from voxaudit.audits.parity.audit import parity
from voxaudit.corpus.bands import age_range, band_labels, is_age

SPEECH = {  # speaker: (gender, [(errors, words) of each utterance])
    "A": ("f", [(1, 10), (3, 10)]),  # mean 0.2
    "B": ("f", [(2, 4)]),  # 0.5
    "C": ("m", [(0, 10), (1, 5), (4, 10)]),  # 0.2
    "D": ("m", [(1, 10)]),  # 0.1
    "E": ("m", [(3, 5), (2, 10)]),  # 0.4
}


@pytest.fixture
def small():
    rows = [
        {"speaker": speaker, "gender": gender, "errors": errors, "words": words}
        for speaker, (gender, utterances) in SPEECH.items()
        for errors, words in utterances
    ]
    return pl.DataFrame(rows)


def practice(found, name):
    """Return a row of the checklist."""
    (row,) = found.tables["checklist"].filter(pl.col("practice") == name).to_dicts()
    return row


def row(table, **wanted):
    found = table.filter(*(pl.col(name) == value for name, value in wanted.items()))
    assert found.height == 1
    return found.row(0, named=True)


def test_three_ways_of_averaging(small):
    table = parity(small, attributes=["gender"]).tables["groups"]
    f, m = row(table, group="f"), row(table, group="m")
    assert (f["wer_utterance_mean"], m["wer_utterance_mean"]) == pytest.approx((0.3, 0.25))  # Eq. 2
    assert (f["wer"], m["wer"]) == pytest.approx((0.35, 0.7 / 3))  # Eq. 3
    assert (f["wer_pooled"], m["wer_pooled"]) == pytest.approx((6 / 24, 11 / 50))
    assert (f["speakers"], f["utterances"], f["words"]) == (2, 3, 24)


def test_relative_error_and_gap(small):
    found = parity(small, attributes=["gender"])
    # M(D) is 1.4 / 5 = 0.28.
    assert row(found.tables["groups"], group="f")["err_rel"] == pytest.approx(100 * 0.07 / 0.28)  # Eq. 4
    assert row(found.tables["groups"], group="m")["err_rel"] == pytest.approx(-100 / 6)
    gap = row(found.tables["gaps"], attribute="gender")
    assert gap["gap"] == pytest.approx(25 + 100 / 6)  # Eq. 5
    assert gap["estimate"] == pytest.approx(0.35 - 0.7 / 3)
    assert (gap["against"], gap["group"]) == ("m", "f")


def test_means_have_limits_above_zero(small):
    table = parity(small, attributes=["gender"]).tables["groups"]
    m, men = row(table, group="m"), np.array([0.2, 0.1, 0.4])
    reach = stats.t.ppf(0.975, 2) * men.std(ddof=1) / math.sqrt(3) / men.mean()
    assert (m["wer_low"], m["wer_high"]) == pytest.approx(
        (men.mean() * math.exp(-reach), men.mean() * math.exp(reach))
    )


def test_two_and_three_speakers_are_too_few_for_a_test(small):
    # Ten ways to shuffle them: the smallest p there can be is 0.2.
    answer = parity(small, attributes=["gender"])
    pair = row(answer.tables["pairs"], attribute="gender")
    assert (pair["p"], pair["low"], pair["verdict"]) == (None, None, "refused")
    assert pair["estimate"] == pytest.approx(0.35 - 0.7 / 3)
    (finding,) = answer.findings
    assert (finding.verdict, finding.code) == ("refused", "too_few_speakers")
    assert finding.sentence == (
        "The recognizer gets 35.0 % of the words of f speakers (gender) wrong and 23.3 % of those of m speakers,"
        " averaged over speakers; whether they differ cannot be tested: 2 and 3 speakers show no difference,"
        " however large it is."
    )


def test_enough_speakers_by_equation_1(small):
    found = parity(small, attributes=["gender"], gap=0.1)
    # Squares about the means: women 0.045, men 0.14 / 3; three degrees of freedom.
    sigma = math.sqrt((0.045 + 0.14 / 3) / 3)
    needed = math.floor(2 * (1.959964 + 0.841621) ** 2 * sigma**2 / 0.01) + 1
    f = row(found.tables["groups"], group="f")
    assert f["sigma"] == pytest.approx(sigma)
    assert (f["speakers_needed"], f["more_needed"], f["enough_speakers"]) == (needed, needed - 2, False)
    assert f["smallest_gap"] == pytest.approx(
        (1.959964 + 0.841621) * sigma * math.sqrt(1 / 2 + 1 / 3), rel=1e-5
    )


def test_the_gap_asked_about(small):
    answer = parity(small, attributes=["gender"])
    assert answer.detail.gaps_asked == {"all": pytest.approx(0.28 / 4)}
    (note,) = (note for note in answer.notes if note.code == "gap")
    assert note.text == "the gap asked about is 25 % of the word error rate: 7.0 percentage points"
    assert parity(small, attributes=["gender"], gap=0.1).detail.gaps_asked == {"all": 0.1}


def crossed():
    """Two attributes; within each stratum of `ill` the sexes differ by 0.1."""
    cells = {
        ("f", "no"): [0.1, 0.2, 0.3],
        ("m", "no"): [0.2, 0.4],
        ("f", "yes"): [0.5],
        ("m", "yes"): [0.5, 0.6, 0.7, 0.6],
    }
    return pl.DataFrame(
        [
            {
                "speaker": f"{sex}{ill}{number}",
                "sex": sex,
                "ill": ill,
                "errors": round(100 * rate),
                "words": 100,
            }
            for (sex, ill), rates in cells.items()
            for number, rate in enumerate(rates)
        ]
    )


def test_conditional_parity():
    found = parity(crossed(), attributes=["sex", "ill"])
    strata = found.tables["strata"].filter(attribute="sex", group="m")
    healthy, ill = row(strata, stratum="ill=no"), row(strata, stratum="ill=yes")
    # Eq. 6: within each stratum, Eq. 4 against the stratum's own mean (1.2 / 5 and 2.9 / 5).
    assert (healthy["err_rel"], ill["err_rel"]) == pytest.approx((100 * 0.06 / 0.24, 100 * 0.02 / 0.58))
    pair = row(found.tables["conditional"], attribute="sex")
    # Weights 2 * 3 / 5 and 4 * 1 / 5, differences 0.1 and 0.1: means 0.3 and 0.6, and 0.2 and 0.5.
    assert (pair["group"], pair["against"], pair["held"]) == ("f", "m", "ill")
    assert pair["estimate"] == pytest.approx(-0.1)
    assert pair["wer"] == pytest.approx((1.2 * 0.2 + 0.8 * 0.5) / 2)
    assert (pair["speakers"], pair["speakers_against"]) == (4, 6)
    gap = row(found.tables["gaps"], attribute="sex")
    assert (gap["group"], gap["fixed_estimate"]) == ("m", pytest.approx(0.1))


def test_one_stratum_is_a_plain_comparison():
    # Everybody is of one illness but one person: the only stratum with both sexes is a plain two-sample comparison.
    generator = np.random.default_rng(3)
    rows = [
        {"speaker": str(n), "sex": "fm"[n % 2], "ill": "no", "errors": int(errors), "words": 100}
        for n, errors in enumerate(generator.poisson(20 + 8 * (np.arange(24) % 2)))
    ]
    extra = {"speaker": "x", "sex": "m", "ill": "yes", "errors": 90, "words": 100}
    fixed = parity(pl.DataFrame([*rows, extra]), attributes=["sex", "ill"]).tables["conditional"]
    plain = parity(pl.DataFrame(rows), attributes=["sex"]).tables["pairs"]
    one, other = row(fixed, attribute="sex"), row(plain, attribute="sex")
    same = ("estimate", "ratio", "speakers", "speakers_against", "wer", "wer_against")
    assert [one[name] for name in same] == pytest.approx([other[name] for name in same])
    # Other shuffles of the same speakers.
    assert one["p"] == pytest.approx(other["p"], abs=0.01)
    assert (one["low"], one["high"]) == pytest.approx((other["low"], other["high"]), abs=0.005)


def test_regression_main_effects_and_interactions():
    table = crossed()
    found = parity(table, attributes=["sex", "ill"])
    rates = table.select(pl.col("errors") / pl.col("words")).to_series().to_numpy()
    # Reference groups are the most frequent: m (6 of 10) and, of two with five speakers each, the first.
    f, yes = (
        (table[name] == group).to_numpy().astype(float) for name, group in (("sex", "f"), ("ill", "yes"))
    )
    for model, columns in (("main effects", [f, yes]), ("interactions", [f, yes, f * yes])):
        design = np.column_stack([np.ones(len(rates)), *columns])
        expected = np.linalg.lstsq(design, rates, rcond=None)[0]
        terms = found.tables["regression"].filter(model=model)
        assert terms["estimate"].to_list() == pytest.approx(expected.tolist())
    # Eq. 8: with interactions the fit is the mean of each intersectional group.
    terms = dict(
        found.tables["regression"].filter(model="interactions").select("name", "estimate").iter_rows()
    )
    assert sum(terms.values()) == pytest.approx(0.5)


def test_intersectional_groups_are_ranked_where_equation_1_allows():
    generator = np.random.default_rng(2)
    sizes = {("f", "x"): 40, ("f", "y"): 40, ("m", "x"): 40, ("m", "y"): 5}
    rates = {("f", "x"): 20, ("f", "y"): 35, ("m", "x"): 20, ("m", "y"): 60}
    table = pl.DataFrame(
        [
            {"speaker": f"{sex}{home}{n}", "sex": sex, "home": home, "errors": int(errors), "words": 100}
            for (sex, home), size in sizes.items()
            for n, errors in enumerate(np.clip(generator.normal(rates[sex, home], 12, size), 0, None))
        ]
    )
    found = parity(table, attributes=["sex", "home"], gap=0.1)
    rows = found.tables["intersectional"].to_dicts()
    needed = rows[0]["speakers_needed"]
    assert 5 < needed <= 40
    assert [row["rank"] for row in rows] == [1, 2, 3, None]
    worst, last = rows[0], rows[-1]
    assert worst["group"] == "sex=f, home=y"
    rate = {key: table.filter(sex=key[0], home=key[1])["errors"].to_numpy() / 100 for key in sizes}
    everybody = np.concatenate(list(rate.values()))
    others = np.concatenate([values for key, values in rate.items() if key != ("f", "y")])
    assert worst["estimate"] == pytest.approx(rate["f", "y"].mean() - others.mean())
    assert worst["err_rel"] == pytest.approx(100 * (rate["f", "y"].mean() / everybody.mean() - 1))
    assert (worst["verdict"], worst["low"] > 0) == ("shown", True)
    # The worst of all has five speakers: no rank, but it is tested and its direction is clear.
    assert last["group"] == "sex=m, home=y"
    others = np.concatenate([values for key, values in rate.items() if key != ("m", "y")])
    assert last["estimate"] == pytest.approx(rate["m", "y"].mean() - others.mean())
    assert (last["verdict"], last["more_needed"]) == ("shown", needed - 5)
    inner = sum(((values - values.mean()) ** 2).sum() for values in rate.values())
    assert last["sigma"] == pytest.approx(math.sqrt(inner / (125 - 4)))
    # With four there is no test, but how many more it takes.
    fewer = parity(table.filter(pl.col("speaker") != "my0"), attributes=["sex", "home"], gap=0.1)
    last = fewer.tables["intersectional"].to_dicts()[-1]
    assert (last["speakers"], last["p"], last["verdict"]) == (4, None, "refused")
    assert last["more_needed"] == last["speakers_needed"] - 4


def test_a_crossed_group_is_not_passed_over_for_being_treated_very_badly():
    """Speakers of a group with a high error rate differ more, so Eq. 1 asks for more of them than there are."""
    generator = np.random.default_rng(4)
    verdicts = {}
    for ratio in (2.0, 3.0, 5.0):
        rows = [
            {
                "speaker": f"{sex}{home}{n}",
                "sex": sex,
                "home": home,
                "errors": int(1000 * 0.15 * own * (ratio if (sex, home) == ("f", "y") else 1.0)),
                "words": 1000,
            }
            for sex in "fm"
            for home in "xy"
            for n, own in enumerate(np.exp(0.5 * generator.standard_normal(30)))
        ]
        found = parity(pl.DataFrame(rows), attributes=["sex", "home"]).tables["intersectional"]
        verdicts[ratio] = row(found, group="sex=f, home=y")
    assert all(one["verdict"] == "shown" and one["estimate"] > 0 for one in verdicts.values())
    assert [one["enough_speakers"] for one in verdicts.values()] == [False, False, False]


def test_several_recognizers_and_their_mean(small):
    double = small.with_columns(errors=pl.col("errors") * 2, recognizer=pl.lit("b"))
    found = parity(pl.concat([small.with_columns(recognizer=pl.lit("a")), double]), attributes=["gender"])
    assert found.detail.speakers.recognizers == ("a", "b", "(mean of recognizers)")
    mean = row(found.tables["groups"], group="f", recognizer="(mean of recognizers)")
    for name, value in (("wer", 0.35), ("wer_utterance_mean", 0.3), ("wer_pooled", 0.25)):
        assert mean[name] == pytest.approx(1.5 * value)
    assert mean["speakers"] == 2


def test_all_pairs_are_one_family_in_which_attributes_share_alike():
    generator = np.random.default_rng(1)
    people = 90
    table = pl.DataFrame(
        {
            "speaker": [str(number) for number in range(people)],
            "two": [("x", "y")[number % 2] for number in range(people)],
            "five": generator.choice(list("pqrst"), people),
            "errors": generator.poisson(20 + 3 * (np.arange(people) % 2)),
            "words": 100,
        }
    )
    alone = row(parity(table, attributes=["two"]).tables["pairs"], attribute="two")
    assert alone["p_adjusted"] == pytest.approx(alone["p"], abs=0.001)
    found = parity(table, attributes=["two", "five"]).tables["pairs"]
    assert found.height == 11
    assert (found["p_adjusted"] >= found["p"]).all()
    assert found["family"].unique().to_list() == ["pairs"]
    two = row(found, attribute="two")
    # Ten pairs of the other attribute count as one question beside it: at most twice the p, not eleven times.
    assert two["p"] == pytest.approx(alone["p"], abs=0.005)
    assert 1.2 * two["p"] < two["p_adjusted"] < 2.6 * two["p"]


def test_the_gap_is_the_pair_of_the_best_and_the_worst(small):
    generator = np.random.default_rng(5)
    table = pl.DataFrame(
        {
            "speaker": [str(number) for number in range(60)],
            "town": [f"t{number % 4}" for number in range(60)],
            "errors": generator.poisson(15, 60),
            "words": 100,
        }
    )
    found = parity(table, attributes=["town"])
    gap, groups = row(found.tables["gaps"], attribute="town"), found.tables["groups"].sort("wer")
    assert (gap["against"], gap["group"]) == (groups["group"][0], groups["group"][-1])
    both = [gap["against"], gap["group"]]
    pair = found.tables["pairs"].filter(pl.col("group").is_in(both), pl.col("against").is_in(both))
    assert pair.height == 1
    one = pair.row(0, named=True)
    turned = one["group"] == gap["group"]
    assert gap["estimate"] == abs(one["estimate"])
    assert (gap["low"], gap["high"]) == ((one["low"], one["high"]) if turned else (-one["high"], -one["low"]))
    assert (gap["p"], gap["p_adjusted"], gap["verdict"]) == (one["p"], one["p_adjusted"], one["verdict"])


def test_groups_and_bands():
    assert band_labels((18, 30), True) == ["<18", "18-29", "30+"]
    assert band_labels((0.5, 1.5), False) == ["<0.5", "0.5 to 1.5", "1.5+"]
    for text, span in (
        ("31-45", (31, 45)),
        ("65+", (65, 150)),
        ("<18", (0, 18)),
        ("thirties", (30, 39)),
        ("25", (25, 25)),
    ):
        assert age_range(text) == span
    assert age_range("female") is None
    for name in ("age", "Age_Group", "speakerAge", "age"):
        assert is_age(name)
    for name in ("language", "stage", "wage", "agent"):
        assert not is_age(name)


@pytest.mark.slow
def test_canaries_are_known_by_name_or_named():
    """Who is left-handed says nothing about a voice: where error rates differ by it, something else is at work."""
    rows = [
        {"speaker": f"s{n}", "Handedness": "lr"[n % 2], "shoe": "ab"[n // 2 % 2], "words": 100}
        | {"errors": 10 + n // 4 % 4 + 9 * (n % 2)}
        for n in range(40)
    ]
    found = parity(pl.DataFrame(rows), attributes=["Handedness", "shoe"])
    assert found.tables["canary"].select("canary", "differs").rows() == [("handedness", True)]
    check = practice(found, "canaries of the voice (3.3.3)")
    assert check["status"] == "caution"
    assert "l and r (handedness) differ, which voices do not explain" in check["why"]
    both = parity(pl.DataFrame(rows), attributes=["Handedness", "shoe"], canaries=["shoe"])
    assert both.tables["canary"]["canary"].to_list() == ["handedness", "shoe"]


@pytest.mark.slow
def test_merging_bands_and_the_canary():
    generator = np.random.default_rng(6)
    people = 400
    age = generator.integers(18, 80, people)
    table = pl.DataFrame(
        {
            "speaker": [str(number) for number in range(people)],
            "age": age,
            "language": ["en"] * 380 + [f"rare{number % 5}" for number in range(20)],
            "errors": generator.poisson(np.where((age >= 30) & (age < 45), 30, 20)),
            "words": 100,
        }
    )
    found = parity(table, attributes=["age", "language"], merge_below=10)
    assert found.detail.speakers.order["age"] == ("18-29", "30-44", "45-64", "65+")
    assert found.detail.speakers.order["language"] == ("en", "other")
    assert found.detail.speakers.merged == {"language": tuple(f"rare{number}" for number in range(5))}
    # 30 to 44 year olds are worse off here, which voices do not explain.
    assert found.tables["canary"]["differs"].to_list() == [True, True]
    check = practice(found, "canaries of the voice (3.3.3)")
    assert check["status"] == "caution"
    alike = table.with_columns(errors=pl.Series(generator.poisson(20, people)))
    check = practice(parity(alike, attributes=["age"]), "canaries of the voice (3.3.3)")
    assert check["status"] == "pass"
    custom = parity(table, attributes=["age"], bands={"age": (18.0, 65.0)})
    assert custom.detail.speakers.order["age"] == ("18-64", "65+")


def test_outliers_are_shown_with_and_without():
    generator = np.random.default_rng(8)
    rows = [
        {"speaker": f"s{number}", "g": "ab"[number % 2], "errors": int(errors), "words": 20}
        for number in range(40)
        for errors in generator.poisson(4, 15)
    ]
    rows += [{"speaker": "wild", "g": "a", "errors": 30, "words": 20} for _ in range(15)]
    rows += [{"speaker": "s1", "g": "b", "errors": 40, "words": 20}]
    found = parity(pl.DataFrame(rows), attributes=["g"])
    assert found.tables["outlying_speakers"]["speaker"].to_list() == ["wild"]
    pair = row(found.tables["without_outliers"], group="a", against="b")
    assert pair["estimate"] > 0.03 > abs(pair["estimate_without"])
    assert pair["changes"] is False


def test_column_roles(small):
    wide = small.rename({"errors": "e", "words": "w", "speaker": "who"}).with_columns(
        wer_x=pl.col("e") / pl.col("w"), wer_y=2 * pl.col("e") / pl.col("w")
    )
    found = parity(
        wide.drop("e"),
        attributes=["gender"],
        columns={"speaker": "who", "words": "w"},
        wer_columns=["wer_x", "wer_y"],
    )
    assert found.detail.speakers.recognizers == ("x", "y", "(mean of recognizers)")
    assert row(found.tables["groups"], group="f", recognizer="x")["wer"] == pytest.approx(0.35)
    takes = small.with_columns(take=pl.col("speaker") + "_" + pl.int_range(pl.len()).cast(pl.String)).drop(
        "speaker"
    )
    assert (
        parity(
            takes, attributes=["gender"], columns={"speaker": "take"}, speaker_pattern=r"^(.)_\d+$"
        ).detail.speakers.people.height
        == 5
    )
