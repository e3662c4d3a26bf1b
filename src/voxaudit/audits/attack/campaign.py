"""The attacks on one recognizer: each method made, heard beside plain noise, and tried on the others.

Adversarial audio is kept as files; recognizers without gradients hear it through worker processes.
"""

from __future__ import annotations

import csv
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from voxaudit.audio import Audio, AudioError, Samples, read, resample, write
from voxaudit.audits.attack.blackbox import Hearing, Search, SearchScenarios, best_of_random, search
from voxaudit.audits.attack.gradient import Pgd, UniversalSettings, find_universal, measured, pgd
from voxaudit.audits.attack.models import AttackError, Victim, hear_each
from voxaudit.audits.attack.result import Row, Tried, noise_id, rates, scenario_id, summarize
from voxaudit.corpus import Corpus, Utterance
from voxaudit.errors import one_line
from voxaudit.options import RunOptions
from voxaudit.perturb import parse_scenario
from voxaudit.perturb.noise import measured_snr
from voxaudit.perturb.universal import Universal, UniversalNoise, save_universal
from voxaudit.run.session import Session
from voxaudit.score import count_words, normalizer

METHODS = ("pgd", "universal", "blackbox")


@dataclass(frozen=True)
class Plan:
    """What is asked: the method, the SNRs in dB, and the settings of each method.

    The SNR in `pgd` and `universal` is replaced by each of `snrs`. `target` is the text that PGD shall make heard;
    `dev` the corpus a universal perturbation is found on (without one, half of the speakers).
    """

    method: str = "pgd"
    snrs: tuple[float, ...] = (40.0, 30.0, 20.0, 10.0)
    target: str | None = None
    pgd: Pgd = field(default_factory=lambda: Pgd(20.0))
    universal: UniversalSettings = field(default_factory=lambda: UniversalSettings(20.0))
    dev: Corpus | None = None
    queries: int = 200
    seed: int = 0

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise AttackError(
                f"an attack is {', '.join(METHODS[:-1])} or {METHODS[-1]}, not '{one_line(self.method, 40)}'",
                see=("method",),
            )
        if self.target is not None and self.method != "pgd":
            raise AttackError(
                f"the method {self.method} cannot aim at a text; pgd can", see=("target", "method")
            )
        if self.dev is not None and self.method != "universal":
            raise AttackError(
                "a development corpus is for the method universal: the others learn from nothing but the utterance",
                see=("dev", "method"),
            )
        if not self.snrs or not all(np.isfinite(snr) for snr in self.snrs):
            raise AttackError("give at least one SNR in dB, all finite, such as 40,30,20,10", see=("snr",))


@dataclass
class Campaign:
    """One recognizer under attack, at all signal-to-noise ratios; `others` hear what was made."""

    victim: Victim
    others: Sequence[Victim]
    utterances: list[Utterance]
    plan: Plan
    out: Path
    listener: Listener
    progress: Callable[[int], None]
    notes: list[str]
    left_out: dict[str, int]

    def run(self) -> list[tuple[Row, list[Tried]]]:
        """Attack, and return a row and its utterances for every SNR."""
        if self.plan.method == "blackbox":
            return [self._blackbox(snr) for snr in self.plan.snrs]
        if self.plan.method == "pgd":
            return self._pgd()
        return self._universal()

    def _clips(
        self, utterances: Sequence[Utterance], rate: int | None
    ) -> tuple[list[Utterance], list[Audio]]:
        kept, clips = [], []
        for utterance in utterances:
            try:
                clip = read(utterance.audio, rate=rate, start=utterance.start, duration=utterance.duration)
            except AudioError:
                why = "the recording cannot be read"
                self.left_out[why] = self.left_out.get(why, 0) + 1
                continue
            kept.append(utterance)
            clips.append(clip)
        if not clips:
            raise AttackError("no recording of the corpus can be read")
        return kept, clips

    def _pgd(self) -> list[tuple[Row, list[Tried]]]:
        model = self.victim.differentiable("pgd")
        utterances, audio = self._clips(self.utterances, model.rate)
        clips = [one.samples for one in audio]
        texts = [one.text or "" for one in utterances]
        clean = hear_each(model, clips, self.plan.pgd.batch)
        targets = None if self.plan.target is None else [self.plan.target] * len(clips)
        results = []
        for snr in self.plan.snrs:
            settings = replace(self.plan.pgd, snr=snr, seed=self.plan.seed)
            start = time.perf_counter()
            found = pgd(model, clips, texts, settings, targets=targets, progress=self.progress)
            seconds = time.perf_counter() - start
            noise = hear_each(model, self._noisy(utterances, clips, model.rate, snr), settings.batch)
            tried = [
                Tried(u.id, u.speaker, u.text or "", c, one.text, n, one.snr, one.success, one.failure)
                for u, c, one, n in zip(utterances, clean, found, noise, strict=True)
            ]
            scenario = scenario_id("pgd", snr, settings.norm, self.plan.target)
            after = [Audio(one.samples, model.rate) for one in found]
            transfer = self._transfer(scenario, utterances, after, [one.failure is None for one in found])
            shown: dict[str, Any] = {
                "norm": settings.norm,
                "steps": settings.steps,
                "restarts": settings.restarts,
            }
            if self.plan.target is not None:
                shown["target"] = self.plan.target
            queries = sum(one.queries for one in found)
            results.append(self._result(tried, "pgd", scenario, snr, queries, seconds, shown, transfer))
        return results

    def _universal(self) -> list[tuple[Row, list[Tried]]]:
        model = self.victim.differentiable("universal")
        dev, test = self._halves()
        dev, dev_audio = self._clips(dev, model.rate)
        test, audio = self._clips(test, model.rate)
        clips = [one.samples for one in audio]
        batch = self.plan.universal.batch
        clean = hear_each(model, clips, batch)
        results = []
        for snr in self.plan.snrs:
            settings = replace(self.plan.universal, snr=snr, seed=self.plan.seed)
            start = time.perf_counter()
            found = find_universal(
                model,
                [one.samples for one in dev_audio],
                [one.text or "" for one in dev],
                settings,
                progress=self.progress,
            )
            seconds = time.perf_counter() - start
            scenario = scenario_id("universal", snr)
            about = {
                "recognizer": self.victim.name,
                "snr": snr,
                "epsilon": found.epsilon,
                "dev_utterances": found.used,
                "dev_success_rate": found.success_rate,
                "epochs": len(found.history) - 1,
                "cer": settings.cer,
                "seed": settings.seed,
            }
            if not np.any(found.noise):
                raise AttackError(
                    f"recognizer '{self.victim.name}': no universal perturbation at {snr:g} dB was found that misleads"
                    f" it on any of {found.used} development utterances. Raise epochs or iterations, or lower the SNR"
                )
            noise = Audio(found.noise, model.rate)
            save_universal(_home(self.out, self.victim.name) / f"{snr:g}dB.wav", noise, about)
            perturbation = Universal(snr, UniversalNoise({snr: noise}))
            generator = np.random.Generator(np.random.PCG64(0))  # draws nothing
            after = [perturbation(clip, model.rate, generator) for clip in clips]
            heard = hear_each(model, after, batch)
            white = hear_each(model, self._noisy(test, clips, model.rate, snr), batch)
            tried = [
                Tried(
                    u.id,
                    u.speaker,
                    u.text or "",
                    c,
                    h,
                    n,
                    measured_snr(x, y).get("snr_db"),
                    _worse(u, c, h),
                    None if np.any(x) else "the audio is silent",
                )
                for u, c, h, n, x, y in zip(test, clean, heard, white, clips, after, strict=True)
            ]
            transfer = self._transfer(
                scenario, test, [Audio(y, model.rate) for y in after], [True] * len(after)
            )
            shown = {**about, "success": settings.success, "iterations": settings.iterations}
            results.append(
                self._result(tried, "universal", scenario, snr, found.queries, seconds, shown, transfer)
            )
        return results

    def _blackbox(self, snr: float) -> tuple[Row, list[Tried]]:
        utterances, audio = self._clips(self.utterances, None)
        settings = Search(snr, self.plan.queries, self.plan.seed)
        start = time.perf_counter()
        with self.listener.hearing(self.victim, self.plan.seed) as hear:
            clean = hear([(one, "clean") for one in utterances])
            best = search(hear, utterances, settings, progress=self.progress)
            seconds = time.perf_counter() - start
            rival = best_of_random(hear, utterances, settings, progress=self.progress)
        tried, after = [], []
        for u, clip, c, one, other in zip(utterances, audio, clean, best, rival, strict=True):
            failure = "the audio is silent" if not np.any(clip.samples) else None
            made = clip
            if one is None or other is None or c is None:
                failure = failure or "the recognizer did not answer"
            else:
                generator = np.random.Generator(np.random.PCG64(0))  # draws nothing
                made = Audio(one.noise.for_utterance(u.id)(clip.samples, clip.rate, generator), clip.rate)
            text = one.text if one else None
            at = measured(clip.samples, made.samples)
            tried.append(
                Tried(
                    u.id,
                    u.speaker,
                    u.text or "",
                    c,
                    text,
                    other.text if other else None,
                    at,
                    failure is None and _worse(u, c, text),
                    failure,
                )
            )
            after.append(made)
        scenario = scenario_id("blackbox", snr)
        transfer = self._transfer(scenario, utterances, after, [one.failure is None for one in tried])
        shown = {"queries_each": settings.queries, "noise": f"best of {settings.queries} white noises"}
        queries = settings.queries * len(utterances)
        return self._result(tried, "blackbox", scenario, snr, queries, seconds, shown, transfer)

    def _result(
        self,
        tried: list[Tried],
        method: str,
        scenario: str,
        snr: float,
        queries: int,
        seconds: float,
        settings: dict[str, Any],
        transfer: dict[str, dict[str, float | None]],
    ) -> tuple[Row, list[Tried]]:
        row = summarize(
            tried,
            recognizer=self.victim.name,
            method=method,
            scenario=scenario,
            snr=snr,
            queries=queries,
            seconds=seconds,
            settings=settings,
            transfer=transfer,
        )
        return row, tried

    def _noisy(
        self, utterances: Sequence[Utterance], clips: Sequence[Samples], rate: int, snr: float
    ) -> list[Samples]:
        """Return the clips in white noise of the same SNR, as the scenario `gaussian_noise:snr=...` makes it."""
        scenario = parse_scenario(noise_id(snr))
        return [
            scenario.apply(Audio(clip, rate), seed=self.plan.seed, utterance=u.id).samples
            for u, clip in zip(utterances, clips, strict=True)
        ]

    def _transfer(
        self, scenario: str, utterances: Sequence[Utterance], after: Sequence[Audio], attacked: Sequence[bool]
    ) -> dict[str, dict[str, float | None]]:
        """Keep the adversarial audio, and let the other recognizers hear it: what is made on one, tried on another."""
        kept = [k for k, done in enumerate(attacked) if done]
        some = [utterances[k] for k in kept]
        made = keep_audio(self.out, self.victim.name, scenario, some, [after[k] for k in kept])
        found = {}
        for other in self.others:
            if other.model is not None:
                rate, batch = other.model.rate, self.plan.pgd.batch
                _, originals = self._clips(some, rate)
                clean = hear_each(other.model, [one.samples for one in originals], batch)
                heard = hear_each(other.model, [resample(after[k], rate).samples for k in kept], batch)
            else:
                with self.listener.hearing(other, self.plan.seed) as hear:
                    clean = hear([(one, "clean") for one in some])
                    heard = hear([(one, "clean") for one in made])
            found[other.name] = rates([one.text or "" for one in some], clean, heard)
        return found

    def _halves(self) -> tuple[list[Utterance], list[Utterance]]:
        """Return development and test utterances: another corpus, or the speakers dealt out by turns."""
        if self.plan.dev is not None:
            return [one for one in self.plan.dev if one.text is not None], self.utterances
        speakers = sorted({one.speaker for one in self.utterances if one.speaker is not None})
        if len(speakers) < 2:
            raise AttackError(
                "a universal perturbation is found on some speakers and tried on others, and this corpus names fewer"
                " than two. Give a development corpus",
                see=("dev",),
            )
        order = np.random.Generator(np.random.PCG64(self.plan.seed)).permutation(len(speakers))
        chosen = {speakers[int(k)] for k in order[: len(speakers) // 2]}
        note = f"universal: found on speakers {', '.join(sorted(chosen))}; tried on the others"
        if note not in self.notes:
            self.notes.append(note)
        dev = [one for one in self.utterances if one.speaker in chosen]
        return dev, [one for one in self.utterances if one.speaker is not None and one.speaker not in chosen]


def _worse(utterance: Utterance, clean: str | None, heard: str | None) -> bool:
    """Say whether a transcript has more word errors than the clean one."""
    if clean is None or heard is None:
        return False
    rule = normalizer("basic")
    said = rule(utterance.text or "")
    return count_words(said, rule(heard)).errors > count_words(said, rule(clean)).errors


def _home(out: Path, recognizer: str) -> Path:
    folder = out / "universal" / safe_name(recognizer)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def safe_name(text: str) -> str:
    """Return a text as a name of a file or folder."""
    kept = re.sub(r"[^\w.-]+", "_", text).strip("._").encode()[-80:]  # file systems count bytes
    return kept.decode(errors="ignore") or "_"


def keep_audio(
    out: Path, recognizer: str, scenario: str, utterances: Sequence[Utterance], clips: Sequence[Audio]
) -> list[Utterance]:
    """Write clips as WAV of 32-bit floats, with a manifest that is a corpus; return them as utterances.

    Floats, so that the audio on disk is the audio that was measured.
    """
    folder = out / "audio" / safe_name(recognizer) / safe_name(scenario)
    folder.mkdir(parents=True, exist_ok=True)
    kept = []
    for number, (utterance, clip) in enumerate(zip(utterances, clips, strict=True)):
        path = folder / f"{number:05d}_{safe_name(utterance.id)}.wav"
        write(path, clip, subtype="FLOAT")
        name = f"{recognizer}/{scenario}/{utterance.id}"
        kept.append(Utterance(name, path, utterance.speaker, utterance.text))
    with (folder / "manifest.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file)
        table.writerow(["id", "audio", "speaker", "text"])
        table.writerows(
            [one.id, made.audio.name, one.speaker or "", one.text or ""]
            for one, made in zip(utterances, kept, strict=True)
        )
    return kept


@dataclass(frozen=True)
class Listener:
    """Hears utterances for the black-box search and for transfer: sessions for engines, in this process for models."""

    folder: Path
    options: RunOptions = RunOptions()

    @contextmanager
    def hearing(self, victim: Victim, seed: int) -> Iterator[Hearing]:
        """Give a function that hears (utterance, scenario id) pairs, with the recognizer kept warm."""
        scenarios = SearchScenarios(seed)
        if victim.model is not None:
            model = victim.model

            def here(asked: Sequence[tuple[Utterance, str]]) -> list[str | None]:
                clips = []
                for utterance, id_ in asked:
                    clip = read(utterance.audio, start=utterance.start, duration=utterance.duration)
                    clip = scenarios[id_].apply(clip, seed=seed, utterance=utterance.id)
                    clips.append(resample(clip, model.rate).samples)
                return hear_each(model, clips)

            yield here
            return
        assert victim.recognizer is not None
        recognizers = {victim.name: victim.recognizer}
        folder = self.folder / safe_name(victim.name)
        with Session(folder, recognizers, scenarios, self.options, seed=seed) as session:

            def there(asked: Sequence[tuple[Utterance, str]]) -> list[str | None]:
                outcomes = session.hear(list(asked))[victim.name]
                return [None if one.transcript is None else one.transcript.text for one in outcomes]

            yield there
