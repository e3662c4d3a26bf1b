"""Attacks by gradient, within a signal-to-noise ratio that the audio which comes out keeps exactly.

Projected gradient descent makes noise for one utterance; a universal perturbation (SRB, Algorithm 1) is one noise that
makes a recognizer misread whatever is said.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from voxaudit.audio import Samples
from voxaudit.recognize.attack.models import (
    AttackError,
    Differentiable,
    Judge,
    Tensor,
    device_of,
    gradient,
    hear,
    need_torch,
    pad,
    reason,
)

Norm = Literal["l2", "linf"]
NORMS: tuple[Norm, ...] = ("l2", "linf")

_SHRINK = 1.0 - 2.0**-22  # two units of float32's last place: what rounding can add


def norm_of(samples: NDArray[Any], norm: Norm) -> float:
    """Return the L2 or L-infinity norm of samples."""
    values = samples.astype(np.float64)
    if not len(values):
        return 0.0
    return float(np.sqrt(np.sum(values**2))) if norm == "l2" else float(np.max(np.abs(values)))


def radius(samples: Samples, snr: float, norm: Norm = "l2") -> float:
    """Return the largest norm of noise at `snr` dB: `eps = 10^(-SNR/20) ||x||` (SRB appendix A, Eq. 1 and 2).

    With L2 norms this is the SNR as everybody means it. With L-infinity it bounds the noise's peak against the
    speech's peak, and the SNR in power may be lower.
    """
    return float(10.0 ** (-snr / 20.0)) * norm_of(samples, norm)


def measured(samples: Samples, disturbed: Samples, norm: Norm = "l2") -> float | None:
    """Return `20 log10(||x|| / ||y - x||)` in dB; None where the speech or the noise is silent."""
    speech = norm_of(samples, norm)
    noise = norm_of(disturbed.astype(np.float64) - samples, norm)
    return None if speech == 0.0 or noise == 0.0 else 20.0 * float(np.log10(speech / noise))


def fit(samples: Samples, noise: NDArray[Any], snr: float, norm: Norm = "l2") -> Samples:
    """Return `samples + noise` as float32 within full scale, its noise shrunk until the bound holds exactly.

    Limiting to full scale comes first and rounding is counted: what is measured on the audio is never above
    the bound. Speech that exceeds full scale itself keeps its own peak as the limit.
    """
    limit = max(1.0, norm_of(samples, "linf"))
    allowed = radius(samples, snr, norm)
    scale = 1.0
    for _ in range(60):
        disturbed: Samples = np.clip(samples + scale * noise.astype(np.float64), -limit, limit).astype(
            np.float32
        )
        size = norm_of(disturbed.astype(np.float64) - samples, norm)
        at = measured(samples, disturbed, norm)
        if size <= allowed and (at is None or at >= snr):
            return disturbed
        scale *= min(allowed / size, 1.0) * _SHRINK if allowed > 0.0 else 0.0
    return samples.copy()


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
    judge: Judge,
    targets: Sequence[str] | None = None,
    progress: Callable[[int], None] = lambda _: None,
) -> list[Attacked]:
    """Return each clip with noise that makes the model misread its text, or hear its target (SRB Eq. 3).

    Clips are at the model's rate; `judge` counts the errors of transcripts. What cannot be attacked (silence, audio too
    short for the model, a loss or gradient that is not finite) is returned as it was, with a line that says why.
    """
    results: dict[int, Attacked] = {}
    order = sorted(range(len(clips)), key=lambda number: len(clips[number]))  # less padding
    for first in range(0, len(order), settings.batch):
        chosen = order[first : first + settings.batch]
        jobs = [
            _Job(clips[k], texts[k], None if targets is None else targets[k], settings, judge) for k in chosen
        ]
        results.update(zip(chosen, _attack(model, jobs, settings), strict=True))
        progress(len(chosen))
    return [results[number] for number in range(len(clips))]


class _Job:
    """One utterance on its way through the search: what is best so far."""

    def __init__(self, clip: Samples, text: str, target: str | None, settings: Pgd, judge: Judge) -> None:
        self.clip, self.text, self.target, self.settings, self.judge = clip, text, target, settings, judge
        self.radius = radius(clip, settings.snr, settings.norm)
        self.best: Samples = clip
        self.heard = ""
        self.score: tuple[float, ...] | None = None
        self.clean_errors = 0
        self.queries = 0
        self.failure = None if self.radius > 0.0 else SILENT

    def rate(self, heard: str) -> tuple[float, ...]:
        """Return how good an attack a transcript is: errors in words, then in characters; or nearness to the target."""
        wrong = self.judge(self.text if self.target is None else self.target, heard)
        sign = 1 if self.target is None else -1
        return sign * wrong.words, sign * wrong.characters

    def take(self, samples: Samples, heard: str, loss: float) -> None:
        score = (*self.rate(heard), loss if self.target is None else -loss)
        if self.score is None or score > self.score:
            self.best, self.heard, self.score = samples, heard, score

    def done(self) -> bool:
        if self.score is None:
            return False
        if self.target is not None:
            return self.score[0] == 0 and self.score[1] == 0
        return self.score[0] >= max(1.0, self.settings.enough * self.judge(self.text, "").of_words)

    def result(self) -> Attacked:
        if self.failure is not None:
            return Attacked(self.clip.copy(), self.heard, None, False, self.queries, self.failure)
        at = measured(self.clip, self.best)
        errors = self.judge(self.text, self.heard).words
        success = self.done() if self.target is not None else errors > self.clean_errors
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
            again = [_Job(job.clip, job.text, job.target, settings, job.judge) for job in jobs]
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
    for job, heard in zip(jobs, hear(model, [job.clip for job in jobs]), strict=True):
        job.clean_errors = job.judge(job.text, heard).words
        job.heard = heard
        job.queries += 1
        if job.target is not None:
            job.take(job.clip, heard, np.inf)
    for start in range(1 + settings.restarts):
        left = [job for job in jobs if job.failure is None and not job.done()]
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
            keep = [fine and not job.done() for fine, job in zip(keep, jobs, strict=True)]
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
        (job, fit(job.clip, row[: len(job.clip)], job.settings.snr, job.settings.norm), loss)
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
    judge: Judge,
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
    search = _Search(model, clips, texts, settings, judge)
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
        self,
        model: Differentiable,
        clips: list[Samples],
        texts: list[str],
        settings: UniversalSettings,
        judge: Judge,
    ) -> None:
        self.model, self.clips, self.texts, self.settings, self.judge = model, clips, texts, settings, judge
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
        wrong = self.judge(clean, heard)
        # Against an empty transcript any letter is an error, and there is no rate.
        return wrong.characters > self.settings.cer * max(wrong.of_characters, 1)

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
