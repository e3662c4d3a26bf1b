"""Universal perturbations (SRB, Algorithm 1): one noise that makes a recognizer misread whatever is said."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from voxaudit.audio import Samples
from voxaudit.audits.attack.base import (
    AttackError,
    Differentiable,
    device_of,
    gradient,
    hear,
    need_torch,
    pad,
)
from voxaudit.audits.attack.bound import radius
from voxaudit.score import count_characters, normalizer


@dataclass(frozen=True)
class UniversalSettings:
    """Algorithm 1's settings: the SNR `s` in dB, learning rate `alpha` (a share of the bound), and when to stop.

    An utterance is misled where its transcript's CER against the clean transcript exceeds `cer`; the search ends when
    the share `success` of the development set is, or after `epochs`. `iterations` are per batch and epoch.
    `seconds` is the noise's length, None for the longest clip. The paper takes utterances one by one: `batch=1`.
    """

    snr: float
    alpha: float = 0.1
    epochs: int = 10
    iterations: int = 10
    success: float = 0.95
    cer: float = 0.5
    batch: int = 16
    seconds: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if min(self.epochs, self.iterations, self.batch) < 1 or self.alpha <= 0:
            raise AttackError("epochs, iterations and batch must be at least 1, alpha above 0")
        if not 0 < self.success <= 1 or self.cer < 0:
            raise AttackError("success must lie in (0, 1] and cer must not be negative")
        if self.seconds is not None and self.seconds <= 0:
            raise AttackError(f"seconds must be above 0, not {self.seconds:g}")


@dataclass(frozen=True, eq=False)
class UniversalFound:
    """The noise, its bound on the largest sample, and how it did on the development set, epoch by epoch.

    `used` says how many clips had sound and a finite loss; the others were left out.
    """

    noise: Samples
    epsilon: float
    success_rate: float
    used: int
    history: tuple[float, ...]
    queries: int


def find_universal(
    model: Differentiable,
    clips: Sequence[Samples],
    texts: Sequence[str],
    settings: UniversalSettings,
    *,
    progress: Callable[[int], None] = lambda _: None,
) -> UniversalFound:
    """Return one noise, bounded in L-infinity, that misleads the model on as many of the clips as possible.

    The bound is the mean over clips of `10^(-s/20) ||x||_inf`. The printed inner loop runs while CER > t; it must run
    while the utterance is not misled yet (Neekhara et al. 2019), which is what is done here. The success rate
    is a share, and the best noise of all epochs is kept.
    """
    usable = [
        k
        for k, clip in enumerate(clips)
        if radius(clip, settings.snr) > 0.0 and _finite(model, clip, texts[k])
    ]
    if not usable:
        raise AttackError(
            "no development utterance has sound and a finite loss: there is nothing to learn from"
        )
    clips, texts = [clips[k] for k in usable], [texts[k] for k in usable]
    search = _Search(model, clips, texts, settings)
    best = search.noise.copy()
    rates = [search.success_rate()]
    for epoch in range(settings.epochs):
        if max(rates) >= settings.success:
            break
        search.epoch(epoch)
        rates.append(search.success_rate())
        if rates[-1] >= max(rates[:-1]):
            best = search.noise.copy()
        progress(len(clips))
    return UniversalFound(best, search.epsilon, max(rates), len(clips), tuple(rates), search.queries)


def _finite(model: Differentiable, clip: Samples, text: str) -> bool:
    torch = need_torch()
    try:
        with torch.no_grad():
            return bool(torch.isfinite(model.loss(*pad([clip], device_of(model)), [text])).all())
    except RuntimeError:  # too short for the model's first layer
        return False


class _Search:
    def __init__(
        self, model: Differentiable, clips: list[Samples], texts: list[str], settings: UniversalSettings
    ) -> None:
        self.model, self.clips, self.texts, self.settings = model, clips, texts, settings
        self.clean = hear(model, clips, settings.batch)
        epsilon = float(np.mean([radius(clip, settings.snr, "linf") for clip in clips]))
        # Rounded towards zero, so that no float32 sample exceeds the bound.
        self.limit = np.nextafter(np.float32(epsilon), np.float32(0.0))
        self.epsilon = epsilon
        longest = max(len(clip) for clip in clips)
        size = longest if settings.seconds is None else max(1, round(settings.seconds * model.rate))
        self.noise: Samples = np.zeros(size, np.float32)
        self.queries = len(clips)

    def success_rate(self) -> float:
        """Return the share of the development set that the noise misleads."""
        heard = hear(self.model, [self._add(clip) for clip in self.clips], self.settings.batch)
        self.queries += len(heard)
        return sum(map(self._misled, heard, self.clean)) / len(self.clips)

    def _add(self, clip: Samples) -> Samples:
        added: Samples = clip + np.resize(self.noise, len(clip))
        return added

    def _misled(self, heard: str, clean: str) -> bool:
        rule = normalizer("basic")
        counts = count_characters(rule(clean), rule(heard))
        # Against an empty transcript any letter is an error, and there is no rate.
        return counts.errors > self.settings.cer * max(counts.words, 1)

    def epoch(self, number: int) -> None:
        order = np.random.Generator(np.random.PCG64([self.settings.seed, number])).permutation(
            len(self.clips)
        )
        for first in range(0, len(order), self.settings.batch):
            self._batch([int(k) for k in order[first : first + self.settings.batch]])

    def _batch(self, chosen: list[int]) -> None:
        """Move the noise until the batch is misled: `r <- clip(v + r - alpha sign(grad(|r|/2 - L))) - v`."""
        torch = need_torch()
        device = device_of(self.model)
        base = torch.from_numpy(self.noise).to(device)
        limit = float(self.limit)
        update = torch.zeros_like(base)
        for _ in range(self.settings.iterations):
            heard = hear(self.model, [self._add(self.clips[k]) for k in chosen], self.settings.batch)
            self.queries += len(chosen)
            left = [k for k, text in zip(chosen, heard, strict=True) if not self._misled(text, self.clean[k])]
            if not left:
                return
            audio, lengths = pad([self.clips[k] for k in left], device)
            update = update.detach().requires_grad_(True)
            times = -(-audio.shape[1] // len(base))
            looped = (base + update).repeat(times)[: audio.shape[1]]
            mask = torch.arange(audio.shape[1], device=device)[None] < lengths[:, None]
            losses, slope = gradient(
                self.model, audio + looped * mask, lengths, [self.texts[k] for k in left], update
            )
            self.queries += len(left)
            update = update.detach()
            if not bool(torch.isfinite(slope).all()):
                where = "loss" if not bool(torch.isfinite(losses).all()) else "gradient"
                raise AttackError(
                    f"the recognizer's {where} is not finite on the development set:"
                    " leave out texts that are too long for their audio"
                )
            pull = 0.5 * update / update.norm().clamp(min=1e-30)
            step = self.settings.alpha * limit * (pull - slope / len(left)).sign()
            update = (base + update - step).clamp(-limit, limit) - base
            self.noise = (base + update).clamp(-limit, limit).cpu().numpy()
