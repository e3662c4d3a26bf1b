"""Projected gradient descent: noise made for one utterance, within a signal-to-noise ratio."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from voxaudit.audio import Samples
from voxaudit.audits.attack.base import (
    AttackError,
    Differentiable,
    Tensor,
    device_of,
    gradient,
    hear,
    need_torch,
    pad,
    reason,
)
from voxaudit.audits.attack.bound import NORMS, Norm, fit, measured, radius
from voxaudit.score import count_characters, count_words, normalizer


@dataclass(frozen=True)
class Pgd:
    """How the search goes. The bound is `snr` dB in `norm` (`l2` or `linf`).

    `step` is a step's length as a share of the bound; None for `2.5 / steps` (Madry et al. 2018). Every `check`
    steps the audio is transcribed: an utterance whose word error rate reaches `enough` (or that says the target) is
    done and leaves the batch. `check=0` looks only at the end. The first start is the clean audio, `restarts`
    more are random.
    """

    snr: float
    norm: Norm = "l2"
    steps: int = 50
    step: float | None = None
    restarts: int = 0
    check: int = 10
    enough: float = 1.0
    batch: int = 16
    seed: int = 0

    def __post_init__(self) -> None:
        if self.norm not in NORMS:
            raise AttackError(f"norm must be one of {', '.join(NORMS)}, not '{self.norm}'")
        if not np.isfinite(self.snr):
            raise AttackError(f"snr must be a finite number of dB, not {self.snr}")
        if self.steps < 1 or self.restarts < 0 or self.check < 0 or self.batch < 1:
            raise AttackError("steps and batch must be at least 1, restarts and check at least 0")


@dataclass(frozen=True, eq=False)
class Attacked:
    """What became of one utterance. `snr` is measured on `samples` (dB, None where no noise was added).

    `success`: the transcript has word errors that the clean one has not (untargeted), or is the target. `queries`
    counts losses and transcripts of this utterance. `failure` says why it could not be attacked; its samples are
    then the clean ones.
    """

    samples: Samples
    text: str
    snr: float | None
    success: bool
    queries: int
    failure: str | None = None


def pgd(
    model: Differentiable,
    clips: Sequence[Samples],
    texts: Sequence[str],
    settings: Pgd,
    *,
    targets: Sequence[str] | None = None,
    progress: Callable[[int], None] = lambda _: None,
) -> list[Attacked]:
    """Return each clip with noise that makes the model misread its text, or hear its target (SRB Eq. 3).

    Clips are at the model's rate. What cannot be attacked (silence, audio too short for the model, a loss or
    gradient that is not finite) is returned as it was, with a line that says why.
    """
    results: dict[int, Attacked] = {}
    order = sorted(range(len(clips)), key=lambda number: len(clips[number]))  # less padding
    for first in range(0, len(order), settings.batch):
        chosen = order[first : first + settings.batch]
        jobs = [
            _Job(clips[k], texts[k], None if targets is None else targets[k], settings.snr, settings.norm)
            for k in chosen
        ]
        results.update(zip(chosen, _attack(model, jobs, settings), strict=True))
        progress(len(chosen))
    return [results[number] for number in range(len(clips))]


class _Job:
    """One utterance on its way through the search: what is best so far."""

    def __init__(self, clip: Samples, text: str, target: str | None, snr: float, norm: Norm) -> None:
        self.clip, self.text, self.target, self.snr, self.norm = clip, text, target, snr, norm
        self.radius = radius(clip, snr, norm)
        self.best: Samples = clip
        self.heard = ""
        self.score: tuple[float, ...] | None = None
        self.clean_errors = 0
        self.queries = 0
        self.failure = None if self.radius > 0.0 else SILENT

    def rate(self, heard: str) -> tuple[float, ...]:
        """Return how good an attack a transcript is: errors in words, then in characters; or nearness to the target."""
        rule = normalizer("basic")
        said = rule(self.text if self.target is None else self.target)
        words, letters = count_words(said, rule(heard)).errors, count_characters(said, rule(heard)).errors
        return (words, letters) if self.target is None else (-words, -letters)

    def take(self, samples: Samples, heard: str, loss: float) -> None:
        score = (*self.rate(heard), loss if self.target is None else -loss)
        if self.score is None or score > self.score:
            self.best, self.heard, self.score = samples, heard, score

    def done(self, enough: float) -> bool:
        if self.score is None:
            return False
        if self.target is not None:
            return self.score[0] == 0 and self.score[1] == 0
        return self.score[0] >= max(1.0, enough * len(normalizer("basic")(self.text).split()))

    def result(self) -> Attacked:
        if self.failure is not None:
            return Attacked(self.clip.copy(), self.heard, None, False, self.queries, self.failure)
        at = measured(self.clip, self.best)
        errors = count_words(normalizer("basic")(self.text), normalizer("basic")(self.heard)).errors
        success = self.done(1.0) if self.target is not None else errors > self.clean_errors
        return Attacked(self.best, self.heard, at, success, self.queries)


SILENT = "the audio is silent: at no signal-to-noise ratio is there room for noise"


def _attack(model: Differentiable, jobs: list[_Job], settings: Pgd) -> list[Attacked]:
    """Attack a batch; where the model refuses it as a whole, one by one, so that each costs only itself."""
    try:
        _search(model, [job for job in jobs if job.failure is None], settings)
    except AttackError:
        raise
    except Exception as error:
        if len(jobs) > 1:
            again = [_Job(job.clip, job.text, job.target, job.snr, job.norm) for job in jobs]
            return [_attack(model, [job], replace(settings, batch=1))[0] for job in again]
        jobs[0].failure = f"the recognizer cannot take this audio ({reason(error)})"
    for job in jobs:
        if job.failure == SILENT:
            job.heard = _hear_or_nothing(model, job.clip)
    return [job.result() for job in jobs]


def _hear_or_nothing(model: Differentiable, clip: Samples) -> str:
    try:
        return hear(model, [clip])[0]
    except Exception:  # what it says to silence is only for the record
        return ""


def _search(model: Differentiable, jobs: list[_Job], settings: Pgd) -> None:
    if not jobs:
        return
    rule = normalizer("basic")
    for job, heard in zip(jobs, hear(model, [job.clip for job in jobs]), strict=True):
        job.clean_errors = count_words(rule(job.text), rule(heard)).errors
        job.heard = heard
        job.queries += 1
        if job.target is not None:
            job.take(job.clip, heard, np.inf)
    for start in range(1 + settings.restarts):
        left = [job for job in jobs if job.failure is None and not job.done(settings.enough)]
        if left:
            _descend(model, left, settings, start)


def _descend(model: Differentiable, jobs: list[_Job], settings: Pgd, start: int) -> None:
    """Walk from one start; utterances that are done leave the batch."""
    torch = need_torch()
    device = device_of(model)
    audio, lengths = pad([job.clip for job in jobs], device)
    bound = torch.tensor([job.radius for job in jobs], device=device, dtype=torch.float32)[:, None]
    limit = audio.abs().amax(dim=1, keepdim=True).clamp(min=1.0)
    mask = torch.arange(audio.shape[1], device=device)[None] < lengths[:, None]
    noise = _start(jobs, audio.shape[1], settings, start).to(device)
    noise = project(noise * mask, bound, settings.norm)
    length = bound * (2.5 / settings.steps if settings.step is None else settings.step)
    # Untargeted: away from the text. Targeted: towards the target.
    sign = 1.0 if jobs[0].target is None else -1.0
    for number in range(1, settings.steps + 1):
        noise.requires_grad_(True)
        texts = [job.text if job.target is None else job.target for job in jobs]
        losses, slope = gradient(model, audio + noise, lengths, texts, noise)
        noise = noise.detach()
        finite = torch.isfinite(losses) & torch.isfinite(slope).all(dim=1)
        with torch.no_grad():
            slope = torch.nan_to_num(slope) * mask
            moved = project(noise + sign * length * direction(slope, settings.norm), bound, settings.norm)
            noise = (audio + moved).clamp(-limit, limit) - audio
        for job in jobs:
            job.queries += 1
        keep = finite.tolist()
        for job, fine, loss in zip(jobs, keep, losses.tolist(), strict=True):
            if not fine and job.score is None:
                job.failure = _not_finite(loss, number)
        if number == settings.steps or (settings.check and number % settings.check == 0):
            _look(model, jobs, noise, losses, keep)
            keep = [fine and not job.done(settings.enough) for fine, job in zip(keep, jobs, strict=True)]
        if not any(keep):
            return
        if not all(keep):
            jobs = [job for job, kept in zip(jobs, keep, strict=True) if kept]
            kept = torch.tensor(keep, device=device)
            longest = int(lengths[kept].max())
            lengths, bound, length, limit = lengths[kept], bound[kept], length[kept], limit[kept]
            audio, noise, mask = (part[kept, :longest] for part in (audio, noise, mask))


def _look(model: Differentiable, jobs: list[_Job], noise: Tensor, losses: Tensor, fine: list[bool]) -> None:
    """Transcribe the audio as it would be handed over, and keep what is better than before."""
    rows = noise.cpu().numpy()
    looked = [
        (job, fit(job.clip, row[: len(job.clip)], job.snr, job.norm), loss)
        for job, row, loss, ok in zip(jobs, rows, losses.tolist(), fine, strict=True)
        if ok
    ]
    for (job, samples, loss), heard in zip(
        looked, hear(model, [samples for _, samples, _ in looked]), strict=True
    ):
        job.queries += 1
        job.take(samples, heard, loss)


def _not_finite(loss: float, step: int) -> str:
    if np.isfinite(loss):
        return f"the recognizer's gradient is not finite at step {step}"
    return f"the recognizer's loss is {loss} at step {step}: is the text longer than the audio has room for?"


def _start(jobs: list[_Job], width: int, settings: Pgd, start: int) -> Any:
    torch = need_torch()
    if start == 0:
        return torch.zeros(len(jobs), width)
    # Seeded by the start and the audio itself: the batch an utterance is in must not matter.
    drawn = np.zeros((len(jobs), width), np.float32)
    for row, job in zip(drawn, jobs, strict=True):
        words = np.frombuffer(job.clip.tobytes()[:64].ljust(64, b"\0"), np.uint32)
        generator = np.random.Generator(
            np.random.PCG64([settings.seed, start, len(job.clip), *map(int, words)])
        )
        row[: len(job.clip)] = generator.standard_normal(len(job.clip))
        row *= job.radius * generator.uniform() / max(float(np.linalg.norm(row)), 1e-30)
    return torch.from_numpy(drawn)


def direction(slope: Tensor, norm: Norm) -> Tensor:
    """Return the steepest direction of length 1 in a norm: the unit vector (L2) or the signs (L-infinity)."""
    if norm == "linf":
        return slope.sign()
    # Scaled by its largest value first: the square of a tiny gradient is zero in float32.
    slope = slope / slope.abs().amax(dim=-1, keepdim=True).clamp(min=1e-38)
    return slope / slope.norm(dim=-1, keepdim=True).clamp(min=1e-30)


def project(noise: Tensor, bound: Tensor, norm: Norm) -> Tensor:
    """Return noise moved to the nearest point of the ball of radius `bound`."""
    if norm == "linf":
        return noise.clamp(-bound, bound)
    return noise * (bound / noise.norm(dim=-1, keepdim=True).clamp(min=1e-30)).clamp(max=1.0)
