"""Difficulty: hand-computed cases, properties, and the published table."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voxaudit.errors import VoxauditError
from voxaudit.perturb.suites import SLOTS, SUITES
from voxaudit.score.quality import difficulties, nwerd, published_difficulties


def table(scores: dict[str, tuple[list[float], list[float | None]]]) -> pl.DataFrame:
    rows = [
        {"utterance": f"u{n}", "speaker": f"s{n}", "scenario": name, "dnsmos": d, "pesq": p}
        for name, (dnsmos, pesq) in scores.items()
        for n, (d, p) in enumerate(zip(dnsmos, pesq, strict=True))
    ]
    schema = {"utterance": pl.String, "speaker": pl.String, "scenario": pl.String}
    return pl.DataFrame(rows, schema={**schema, "dnsmos": pl.Float64, "pesq": pl.Float64})


def test_by_hand():
    found = difficulties(
        table(
            {
                "clean": ([4.0, 4.0], [None, None]),
                "a:1": ([3.0, 3.0], [4.0, 2.0]),
                "a:2": ([2.0, 2.0], [1, 1]),
            }
        )
    )
    # DNSMOS 4, 3, 2: population sd sqrt(2/3), so 50 -+ 25 / sqrt(2/3); PESQ 3 and 1: 25 and 75.
    step = 25.0 / np.sqrt(2.0 / 3.0)
    assert found["scenario"].to_list() == ["clean", "a:1", "a:2"]
    assert np.allclose(found["dnsmos_normalized"], [50 - step, 50, 50 + step])
    assert found["pesq_normalized"].to_list() == [None, pytest.approx(25.0), pytest.approx(75.0)]
    assert np.allclose(found["difficulty"], [50 - step, 37.5, (125 + step) / 2])
    assert found["utterances"].to_list() == [2, 2, 2]
    assert found["low"].to_list() == [None] * 3  # two speakers carry no interval


@given(
    st.lists(st.lists(st.floats(1.0, 5.0), min_size=6, max_size=6), min_size=3, max_size=8).filter(
        lambda rows: np.std([np.mean(row) for row in rows]) > 0.05
    )
)
def test_mean_50_spread_25_and_limits_around_the_estimate(rows):
    found = difficulties(table({f"x:{n}": (row, [None] * 6) for n, row in enumerate(rows)}), resamples=50)
    assert found["difficulty"].mean() == pytest.approx(50.0)
    assert found["difficulty"].std(ddof=0) == pytest.approx(25.0)
    assert (found["low"] <= found["difficulty"]).all()
    assert (found["difficulty"] <= found["high"]).all()
    assert found["resampled"].unique().to_list() == ["speakers"]


def test_intervals_cover_what_many_other_samples_give():
    generator = np.random.default_rng(5)
    means = np.array([3.8, 3.2, 2.9, 2.1])

    def draw() -> pl.DataFrame:
        talker = generator.normal(0.0, 0.2, size=(20, 1))
        scores = means + talker + generator.normal(0.0, 0.3, size=(20, 4))
        return table({f"x:{n}": (scores[:, n].tolist(), [None] * 20) for n in range(4)})

    truth = 50.0 - 25.0 * (means - means.mean()) / means.std()
    found = [difficulties(draw(), resamples=200) for _ in range(100)]
    inside = np.array(
        [[lo <= t <= hi for t, lo, hi in zip(truth, f["low"], f["high"], strict=True)] for f in found]
    )
    assert 0.88 <= inside.mean() <= 0.995


def test_the_same_seed_gives_the_same_limits_and_order_does_not_matter():
    scores = {f"x:{n}": (list(np.linspace(1 + n, 2 + 1.3 * n, 7)), [None] * 7) for n in range(3)}
    one = difficulties(table(scores))
    assert one.equals(difficulties(table(scores)))
    shuffled = difficulties(table(scores).sample(fraction=1.0, shuffle=True, seed=1)).sort("scenario")
    assert np.allclose(shuffled["low"], one.sort("scenario")["low"])


def test_few_speakers_are_resampled_by_utterance():
    rows = table({f"x:{n}": ([1.0 + n, 1.5 + n, 2.0, 2.5, 3.0, 3.1 + n], [None] * 6) for n in range(3)})
    found = difficulties(rows.with_columns(speaker=pl.lit("one")))
    assert found["resampled"].to_list() == ["utterances"] * 3
    assert found["low"].null_count() == 0


def test_what_has_no_scale_is_refused():
    with pytest.raises(VoxauditError, match="at least 3 scenarios"):
        difficulties(table({"clean": ([4.0], [None]), "a:1": ([3.0], [None])}))
    with pytest.raises(VoxauditError, match="the same dnsmos"):
        difficulties(table({f"x:{n}": ([3.0], [None]) for n in range(3)}))
    with pytest.raises(VoxauditError, match="no column 'dnsmos'"):
        difficulties(pl.DataFrame({"utterance": ["u"], "scenario": ["clean"]}))


def test_nwerd_divides_by_difficulty():
    assert nwerd(3.7, 33.1) == pytest.approx(11.178, abs=1e-3)
    assert nwerd(np.array([0.1, 0.2]), 50.0).tolist() == pytest.approx([0.2, 0.4])
    for wrong in (0.0, -3.0, float("nan")):
        with pytest.raises(VoxauditError, match="above 0"):
            nwerd(1.0, wrong)


@pytest.mark.parametrize("language", ["en", "es"])
def test_published_difficulties_name_every_scenario_of_the_suite_but_attacks(language):
    published = published_difficulties(language)
    expected = {id_ for id_ in SUITES["srb"].scenarios if id_.split(":")[0] not in ("pgd", "universal")}
    assert set(published["scenario"]) == expected | {"clean"}
    assert published["scenario"].n_unique() == published.height == 107
    assert set(SLOTS) & set(published["scenario"]) == {
        *("synthetic", "accented", "near_field_chime", "far_field_chime", "near_field_ami", "far_field_ami")
    }


def test_published_difficulties_of_two_languages():
    def one(language: str, scenario: str) -> float:
        return published_difficulties(language).filter(scenario=scenario)["difficulty"].item()

    assert (one("en", "accented"), one("es", "accented")) == (33.1, 29.3)
    assert (one("en", "synthetic"), one("es", "synthetic")) == (50.3, 30.7)
    assert one("en", "gaussian_noise:3") == one("es", "gaussian_noise:3") == 91.7
    with pytest.raises(VoxauditError, match="en and es"):
        published_difficulties("fr")
