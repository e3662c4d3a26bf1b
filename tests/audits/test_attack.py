"""Attacks by gradient on small models: gradients, bounds, padding, and everything that can be wrong."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="attacks need torch: pip install 'voxaudit[attack]'")

from voxaudit.audits.attack.result import mistakes  # noqa: E402
from voxaudit.recognize.attack import CtcModule  # noqa: E402
from voxaudit.recognize.attack import gradient as by_gradient  # noqa: E402
from voxaudit.recognize.attack.gradient import (  # noqa: E402
    SILENT,
    Pgd,
    UniversalSettings,
    direction,
    measured,
    norm_of,
    project,
    radius,
)
from voxaudit.recognize.attack.models import AttackError, as_differentiable, gradient, hear, open_victim, pad  # noqa: E402

pgd = partial(by_gradient.pgd, judge=mistakes)
find_universal = partial(by_gradient.find_universal, judge=mistakes)

STEP = 20


class Linear(torch.nn.Module):
    """Frames of 20 samples, a random linear map, a bend, letters: the smallest model with a CTC head."""

    def __init__(self, letters: int = 3, seed: int = 0) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(seed)
        self.first = torch.nn.Parameter(2.0 * torch.randn(STEP, 16, generator=generator))
        self.second = torch.nn.Parameter(torch.randn(16, 1 + letters, generator=generator))

    def forward(self, waveforms, lengths):
        frames = torch.nn.functional.pad(waveforms, (0, -waveforms.shape[1] % STEP)).unfold(1, STEP, STEP)
        return torch.tanh(frames @ self.first) @ self.second, -(-lengths // STEP)


@pytest.fixture
def model():
    return CtcModule(Linear(), "abc", 8000)


def clips(count=4, seed=1):
    generator = np.random.default_rng(seed)
    return [(0.2 * generator.standard_normal(200 + 60 * k)).astype(np.float32) for k in range(count)]


def test_the_gradient_equals_finite_differences(model):
    double = CtcModule(model.module.double(), "abc", 8000)
    audio, lengths = pad(clips(3))
    audio = audio.double().requires_grad_(True)
    texts = ["ab", "c", "ba"]
    losses, slope = gradient(double, audio, lengths, texts, audio)
    assert losses.shape == (3,)
    generator = torch.Generator().manual_seed(3)
    for _ in range(5):
        way = torch.randn(audio.shape, generator=generator, dtype=torch.float64)
        with torch.no_grad():
            up = double.loss(audio + 1e-6 * way, lengths, texts).sum()
            down = double.loss(audio - 1e-6 * way, lengths, texts).sum()
        assert float((up - down) / 2e-6) == pytest.approx(float((slope * way).sum()), rel=1e-5)
    # Padding is not heard, so it has no gradient.
    for row, length in zip(slope, lengths, strict=True):
        assert not row[int(length) + STEP :].any()


def test_greedy_merges_repeats_and_leaves_blanks_out():
    class Spoken(torch.nn.Module):
        def forward(self, waveforms, lengths):
            classes = torch.tensor([[1, 1, 0, 1, 2, 2, 0, 3], [3, 3, 3, 0, 0, 1, 2, 3]])
            return torch.nn.functional.one_hot(classes, 4).float(), torch.tensor([8, 5])

    assert hear(CtcModule(Spoken(), "abc", 8000), clips(2)) == ["aabc", "c"]
    assert CtcModule(None, "ABC", 8000).encode("a, c!") == [1, 3]
    assert CtcModule(None, ("one", "two"), 8000, words=True).encode("Two or one") == [2, 1]


@pytest.mark.parametrize("norm", ["l2", "linf"])
@pytest.mark.parametrize("snr", [30.0, 10.0])
def test_untargeted_raises_errors_within_the_bound(model, norm, snr):
    heard = clips(6)
    texts = hear(model, heard)
    found = pgd(model, heard, texts, Pgd(snr, norm, steps=20, restarts=1))
    for x, text, one in zip(heard, texts, found, strict=True):
        noise = one.samples.astype(np.float64) - x
        assert norm_of(noise, norm) <= radius(x, snr, norm)
        assert measured(x, one.samples, norm) >= snr
        assert one.snr == measured(x, one.samples)
        assert hear(model, [one.samples]) == [one.text]
        assert one.success == (one.text != text)
        assert one.failure is None
    if snr == 10.0:
        assert all(one.success for one in found)


def test_the_loss_rises_untargeted_and_falls_targeted(model):
    heard = clips(3)
    texts = hear(model, heard)

    def loss(samples, goals):
        with torch.no_grad():
            return model.loss(*pad(samples), goals).numpy()

    away = pgd(model, heard, texts, Pgd(20.0, steps=10, check=0))
    assert (loss([one.samples for one in away], texts) > loss(heard, texts)).all()
    targets = ["abc"] * 3
    near = pgd(model, heard, texts, Pgd(20.0, steps=10, check=0), targets=targets)
    assert (loss([one.samples for one in near], targets) < loss(heard, targets)).all()


def test_a_target_is_reached_and_success_means_it(model):
    heard = clips(3)
    found = pgd(model, heard, hear(model, heard), Pgd(-10.0, steps=200), targets=["ab"] * 3)
    assert [one.success for one in found] == [one.text == "ab" for one in found]
    assert sum(one.success for one in found) >= 2


def test_batch_and_company_do_not_matter(model):
    heard = clips(5)
    texts = hear(model, heard)
    settings = Pgd(15.0, steps=10, restarts=1, check=5)
    alone = [pgd(model, [x], [t], settings)[0] for x, t in zip(heard, texts, strict=True)]
    together = pgd(model, heard, texts, settings)
    for one, other in zip(alone, together, strict=True):
        assert one.text == other.text
        assert one.queries == other.queries
        assert np.allclose(one.samples, other.samples, atol=1e-5)


def test_an_utterance_that_is_done_leaves_the_batch(model):
    heard = clips(4)
    texts = hear(model, heard)
    asked = []

    class Counting(CtcModule):
        def loss(self, waveforms, lengths, texts):
            asked.append(len(texts))
            return super().loss(waveforms, lengths, texts)

    found = pgd(Counting(model.module, "abc", 8000), heard, texts, Pgd(0.0, steps=40, check=1))
    assert all(one.success for one in found)
    assert sum(asked) < 4 * 40
    assert asked == sorted(asked, reverse=True)
    whole = pgd(model, heard, texts, Pgd(0.0, steps=40, check=10, enough=float("inf")))
    assert all(one.queries == 45 for one in whole)  # the clean transcript, 40 losses, a look every ten
    longer = pgd(model, heard, texts, Pgd(0.0, steps=40, check=0))
    assert all(one.queries == 42 for one in longer)  # the clean transcript, 40 losses, one look at the end


def test_silence_one_sample_and_an_empty_reference(model):
    heard = [np.zeros(400, np.float32), np.array([0.5], np.float32), clips(1)[0]]
    silent, single, empty = pgd(model, heard, ["a", "a", ""], Pgd(10.0, steps=10))
    assert silent.failure == SILENT
    assert not silent.samples.any()
    assert silent.snr is None
    assert single.failure is None
    assert measured(heard[1], single.samples) is None or measured(heard[1], single.samples) >= 10.0
    assert empty.failure is None


def test_a_text_longer_than_the_audio_costs_itself_only(model):
    heard = clips(2)
    long, fine = pgd(model, heard, ["abc" * 50, hear(model, heard)[1]], Pgd(10.0, steps=10))
    assert "loss is inf at step 1" in long.failure
    assert np.array_equal(long.samples, heard[0])
    assert fine.failure is None
    assert fine.success


def test_audio_the_model_cannot_take_costs_itself_only():
    class Picky(Linear):
        def forward(self, waveforms, lengths):
            if int(lengths.min()) < 100:
                raise RuntimeError("Kernel size can't be\ngreater than actual input size")
            return super().forward(waveforms, lengths)

    model = CtcModule(Picky(), "abc", 8000)
    heard = [np.array([0.5], np.float32), *clips(2)]
    found = pgd(model, heard, ["a", *hear(model, heard[1:])], Pgd(10.0, steps=10))
    assert found[0].failure.startswith(
        "the recognizer cannot take this audio (RuntimeError: Kernel size can't be gr"
    )
    assert [one.failure for one in found[1:]] == [None, None]
    assert all(one.success for one in found[1:])


class Spoil(torch.autograd.Function):
    """Changes nothing, but loses the gradient of loud utterances."""

    @staticmethod
    def forward(ctx, waveforms):
        ctx.loud = waveforms.amax(dim=1) > 0.9
        return waveforms.clone()

    @staticmethod
    def backward(ctx, slope):
        return torch.where(ctx.loud[:, None], torch.nan, slope)


def test_gradients_that_are_not_finite_are_named():
    class Broken(Linear):
        def forward(self, waveforms, lengths):
            return super().forward(Spoil.apply(waveforms), lengths)

    loud = clips(1)[0]
    loud[0] = 0.99
    quiet = np.clip(clips(2)[1], -0.5, 0.5)
    bad, good = pgd(CtcModule(Broken(), "abc", 8000), [loud, quiet], ["abc", "abc"], Pgd(30.0, steps=5))
    assert bad.failure == "the recognizer's gradient is not finite at step 1"
    assert np.array_equal(bad.samples, loud)
    assert good.failure is None
    assert good.snr >= 30.0


def test_a_model_without_gradient_is_one_line():
    class Numb(Linear):
        def forward(self, waveforms, lengths):
            return super().forward(torch.from_numpy(waveforms.detach().numpy()), lengths)

    numb = Numb().requires_grad_(False)
    with pytest.raises(AttackError, match="gives no gradient with respect to the audio"):
        pgd(CtcModule(numb, "abc", 8000), clips(1), ["a"], Pgd(10.0))
    # Its own weights have a gradient, the audio has none.
    with pytest.raises(AttackError, match="gives no gradient with respect to the audio"):
        pgd(CtcModule(Numb(), "abc", 8000), clips(1), ["a"], Pgd(10.0))


def test_a_loss_that_is_one_number_for_all_is_one_line(model):
    class Summed(CtcModule):
        def loss(self, waveforms, lengths, texts):
            return super().loss(waveforms, lengths, texts).mean()

    with pytest.raises(AttackError, match=r"must return 2 numbers, not \(\)"):
        pgd(Summed(model.module, "abc", 8000), clips(2), ["a", "b"], Pgd(10.0))


def test_what_cannot_be_attacked_is_said_at_once():
    with pytest.raises(AttackError, match="Silly has no rate, loss, transcribe"):
        as_differentiable(type("Silly", (), {}), "mine.py:Silly")
    with pytest.raises(
        AttackError, match=r"'pocketsphinx' gives no gradient, so the method pgd .*the method blackbox"
    ):
        open_victim("pocketsphinx").with_gradient("pgd")
    with pytest.raises(AttackError, match="norm must be one of l2, linf"):
        Pgd(10.0, "l1")


def test_directions_and_projections_by_hand():
    slope = torch.tensor([[3.0, -4.0], [0.0, 0.0], [3e-30, 4e-30]])
    expected = torch.tensor([[0.6, -0.8], [0.0, 0.0], [0.6, 0.8]])
    assert torch.allclose(direction(slope, "l2"), expected)
    assert direction(slope, "linf").tolist() == [[1, -1], [0, 0], [1, 1]]
    bound = torch.tensor([[1.0], [1.0], [1.0]])
    assert torch.allclose(project(slope, bound, "l2")[0], torch.tensor([0.6, -0.8]))
    assert project(slope, bound, "linf")[0].tolist() == [1.0, -1.0]


def test_a_universal_perturbation_keeps_its_bound_and_misleads(model):
    heard = clips(6)
    texts = hear(model, heard)
    found = find_universal(model, heard, texts, UniversalSettings(5.0, cer=0.2, seconds=0.02, success=0.9))
    expected = float(np.mean([radius(x, 5.0, "linf") for x in heard]))
    assert found.epsilon == pytest.approx(expected)
    assert len(found.noise) == 160
    assert np.abs(found.noise.astype(np.float64)).max() <= found.epsilon
    assert found.history[0] == 0.0
    assert found.success_rate == max(found.history) > 0.5
    after = hear(model, [x + np.resize(found.noise, len(x)) for x in heard])
    assert np.mean([a != t for a, t in zip(after, texts, strict=True)]) >= found.success_rate


def test_a_universal_perturbation_needs_sound(model):
    with pytest.raises(AttackError, match="nothing to learn from"):
        find_universal(model, [np.zeros(100, np.float32)], ["a"], UniversalSettings(10.0))
    found = find_universal(
        model,
        [*clips(2), np.zeros(50, np.float32)],
        ["a", "abc" * 50, "a"],
        UniversalSettings(10.0, epochs=1),
    )
    assert found.used == 1
