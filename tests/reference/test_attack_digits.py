"""Attacks on a real, if small, recognizer of spoken digits, trained here in about a minute."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import pytest

torch = pytest.importorskip("torch", reason="attacks need torch: pip install 'voxaudit[attack]'")

from digit_recognizer import TOKENS, load_digits, train  # noqa: E402

from voxaudit.audits.attack.audit import attack  # noqa: E402
from voxaudit.audits.attack.result import mistakes  # noqa: E402
from voxaudit.audits.robustness.audit import robustness  # noqa: E402
from voxaudit.corpus import read_corpus  # noqa: E402
from voxaudit.perturb.noise import add_at_snr  # noqa: E402
from voxaudit.recognize.attack import gradient as by_gradient  # noqa: E402
from voxaudit.recognize.attack.gradient import (  # noqa: E402
    Pgd,
    UniversalSettings,
    measured,
    norm_of,
    radius,
)
from voxaudit.recognize.attack.models import (  # noqa: E402
    Victim,
    hear,
)

pgd = partial(by_gradient.pgd, judge=mistakes)
find_universal = partial(by_gradient.find_universal, judge=mistakes)

pytestmark = pytest.mark.slow

HELD_OUT = 2
"""The first recordings of every digit and speaker are for testing only."""


@pytest.fixture(scope="module")
def fsdd(shared_data) -> Path:
    folder = shared_data / "fsdd"
    if not folder.is_dir():
        pytest.skip("no spoken digits here: the optional folder ../shared/data/fsdd is missing")
    return folder


@pytest.fixture(scope="module")
def digits(fsdd):
    torch.set_num_threads(1)
    everything = load_digits(fsdd)
    training = [one for one in everything if one[3] >= HELD_OUT]
    test = [one for one in everything if one[3] < HELD_OUT]
    # So long that it is a good one on every processor: they round differently, and training follows.
    model = train([one[0] for one in training], [one[1] for one in training], epochs=75)
    return model, training, test


@pytest.fixture(scope="module")
def corpus(fsdd):
    """The held-out recordings as a corpus."""
    everything = read_corpus(fsdd / "manifest.csv")
    number = pl.col("audio").str.extract(r"_(\d+)\.flac$").cast(pl.Int64)
    return replace(everything, table=everything.table.filter(number < HELD_OUT))


def wer(model, clips, texts) -> float:
    # One word an utterance: wrong words and invented ones, over the words said.
    errors = 0
    for heard, text in zip(hear(model, clips, 32), texts, strict=True):
        words = heard.split()
        errors += max(len(words), 1) - (text in words)
    return errors / len(texts)


def test_the_recognizer_is_a_good_one_on_recordings_it_has_not_heard(digits):
    model, _, test = digits
    assert wer(model, [one[0] for one in test], [one[1] for one in test]) < 0.05


def test_pgd_breaks_it_within_the_bound_where_plain_noise_does_not(digits):
    model, _, test = digits
    clips, texts = [one[0] for one in test], [one[1] for one in test]
    clean = wer(model, clips, texts)
    generator = np.random.default_rng(0)
    rates, noises = [], []
    for snr in (40.0, 30.0, 20.0, 10.0):
        found = pgd(model, clips, texts, Pgd(snr, steps=30))
        assert not any(one.failure for one in found)
        for clip, one in zip(clips, found, strict=True):
            noise = one.samples.astype(np.float64) - clip.astype(np.float64)
            assert norm_of(noise, "l2") <= radius(clip, snr)
            assert measured(clip, one.samples) >= snr
            assert np.abs(one.samples).max() <= 1.0
        rates.append(wer(model, [one.samples for one in found], texts))
        noisy = [add_at_snr(clip, generator.standard_normal(len(clip)), snr) for clip in clips]
        noises.append(wer(model, noisy, texts))
    print("PGD", rates, "noise", noises, "clean", clean)
    assert rates == sorted(rates)
    assert rates[2] - clean >= 0.5
    assert rates[2] - noises[2] >= 0.5


def test_a_chosen_digit_is_heard_in_most_cases(digits):
    model, _, test = digits
    texts = [one[1] for one in test]
    targets = [TOKENS[(TOKENS.index(text) + 1) % 10] for text in texts]
    found = pgd(model, [one[0] for one in test], texts, Pgd(10.0, steps=60), targets=targets)
    heard = hear(model, [one.samples for one in found], 32)
    share = np.mean([text == target for text, target in zip(heard, targets, strict=True)])
    print("targeted", share)
    assert share > 0.5
    assert all(measured(one[0], two.samples) >= 10.0 for one, two in zip(test, found, strict=True))


def test_a_universal_perturbation_carries_over_to_other_speakers(digits):
    model, training, test = digits
    speakers = sorted({one[2] for one in test})
    dev = [one for one in training if one[2] in speakers[::2]]
    others = [one for one in test if one[2] in speakers[1::2]]
    clips, texts = [one[0] for one in others], [one[1] for one in others]
    found = find_universal(model, [one[0] for one in dev], [one[1] for one in dev], UniversalSettings(10.0))
    assert np.abs(found.noise.astype(np.float64)).max() <= found.epsilon
    after = [add_at_snr(clip, np.resize(found.noise, len(clip)).astype(np.float64), 10.0) for clip in clips]
    generator = np.random.default_rng(0)
    noise = [
        wer(model, [add_at_snr(clip, generator.standard_normal(len(clip)), 10.0) for clip in clips], texts)
        for _ in range(20)
    ]
    rate = wer(model, after, texts)
    print("universal", rate, "noise", np.mean(noise), max(noise), "development", found.history)
    assert rate > max(noise) + 0.2


def test_the_whole_audit_and_the_model_by_model_table(digits, corpus, tmp_path):
    model, training, _ = digits
    other = train([one[0] for one in training], [one[1] for one in training], epochs=20, channels=48, seed=1)
    victims = [Victim("first", model=model), Victim("second", model=other)]
    found = attack(corpus, victims, snr=(20, 10), steps=20, out=tmp_path / "out")
    rows = {(row.recognizer, row.scenario): row for row in found.detail.attacks}
    assert set(rows) == {(name, id_) for name in ("first", "second") for id_ in ("pgd:3", "pgd:4")}
    for (name, _), row in rows.items():
        assert row.werd > 0.5
        assert row.snr_measured_min >= row.snr_asked
        assert row.werd_low > 0.0
        assert row.interval_by == "speaker"
        assert row.werd_over_noise_low > 0.2
        ((heard_by, rates),) = row.transfer.items()
        assert heard_by != name
        # What is made on one model is weaker on another.
        assert rates["werd"] < row.werd
    print({key: (row.werd, row.transfer) for key, row in rows.items()})
    assert json.loads((tmp_path / "out" / "attack.json").read_text())["attacks"][0]["recognizer"] == "first"
    levels = robustness(tmp_path / "out" / "scores.parquet").detail.levels
    attacked = levels.filter((pl.col("name") == "pgd:3") & (pl.col("recognizer") == "first"))
    assert attacked["werd"][0] == pytest.approx(rows["first", "pgd:3"].werd)


def test_the_audit_finds_a_universal_perturbation_on_half_of_the_speakers(digits, corpus, tmp_path):
    model, _, _ = digits
    found = attack(corpus, {"digits": model}, method="universal", snr=(20, 10), out=tmp_path / "out")
    mild, harsh = found.detail.attacks
    print(
        [(row.scenario, row.werd, row.wer_noise, row.settings["dev_success_rate"]) for row in (mild, harsh)]
    )
    assert (mild.scenario, harsh.scenario) == ("universal:3", "universal:4")
    assert harsh.utterances == 60
    assert harsh.werd > mild.werd
    assert harsh.werd_over_noise_low > 0.0
    assert harsh.snr_measured_median == pytest.approx(10.0, abs=1e-3)
    assert len(list((tmp_path / "out" / "universal").rglob("*.wav"))) == 2
