"""The attacks on one recognizer: each method made, heard beside plain noise, and tried on the others."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from voxaudit.audio import Audio, AudioError, Samples, read, resample
from voxaudit.audits.attack.base import AttackError
from voxaudit.audits.attack.blackbox import Search, best_of_random, search
from voxaudit.audits.attack.bound import measured
from voxaudit.audits.attack.listen import Listener, keep_audio, safe_name
from voxaudit.audits.attack.pgd import pgd
from voxaudit.audits.attack.plan import Plan
from voxaudit.audits.attack.result import Row, Tried, noise_id, rates, scenario_id, summarise
from voxaudit.audits.attack.universal import find_universal
from voxaudit.audits.attack.victims import Victim, hear_each
from voxaudit.corpus import Utterance
from voxaudit.perturb import parse_scenario
from voxaudit.perturb.noise import measured_snr
from voxaudit.perturb.universal import Universal, UniversalNoise, save_universal
from voxaudit.score import count_words, normalizer


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
        row = summarise(
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
                " than two. Give a development corpus: --dev CORPUS"
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
