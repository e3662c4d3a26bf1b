"""The attacks on one recognizer: each method made, heard beside plain noise, and tried on the others.

Adversarial audio is kept as files; recognizers without gradients hear it through worker processes.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from voxaudit.audio import Audio, AudioError, Samples, read, resample, write
from voxaudit.audits.attack.result import Row, Tried, mistakes, noise_id, rates, scenario_id, summarize
from voxaudit.corpus import Corpus, Utterance
from voxaudit.errors import one_line
from voxaudit.files import safe_name
from voxaudit.options import RunOptions
from voxaudit.perturb import CLEAN, parse_scenario
from voxaudit.perturb.noise import measured_snr
from voxaudit.perturb.universal import Universal, UniversalNoise, save_universal
from voxaudit.recognize.attack.blackbox import Hearing, Search, SearchScenarios, best_of_random, search
from voxaudit.recognize.attack.gradient import Pgd, UniversalSettings, find_universal, measured, pgd
from voxaudit.recognize.attack.models import AttackError, Victim, hear_each
from voxaudit.run.session import Session

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


@dataclass(frozen=True)
class _Made:
    """One attack: what became of each utterance, the adversarial audio (None: not attacked), and what it took."""

    scenario: str
    snr: float
    utterances: Sequence[Utterance]
    tried: list[Tried]
    after: Sequence[Audio | None]
    queries: int
    seconds: float
    settings: dict[str, Any]


@dataclass
class Campaign:
    """One recognizer under attack, at all signal-to-noise ratios; `others` hear what was made."""

    victim: Victim
    others: Sequence[Victim]
    utterances: list[Utterance]
    plan: Plan
    out: Path
    options: RunOptions
    progress: Callable[[int], None]
    notes: list[str]
    left_out: dict[str, int]

    def run(self) -> Iterator[tuple[Row, list[Tried]]]:
        """Attack, and give a row and its utterances for every SNR."""
        methods = {"pgd": self._pgd, "universal": self._universal, "blackbox": self._blackbox}
        for made in methods[self.plan.method]():
            row = summarize(
                made.tried,
                recognizer=self.victim.name,
                method=self.plan.method,
                transfer=self._transfer(made),
                scenario=made.scenario,
                snr=made.snr,
                queries=made.queries,
                seconds=made.seconds,
                settings=made.settings,
            )
            yield row, made.tried

    def _clips(
        self, utterances: Sequence[Utterance], rate: int | None
    ) -> tuple[list[Utterance], list[Audio]]:
        kept, clips = [], []
        for utterance in utterances:
            try:
                clips.append(
                    read(utterance.audio, rate=rate, start=utterance.start, duration=utterance.duration)
                )
                kept.append(utterance)
            except AudioError:
                why = "the recording cannot be read"
                self.left_out[why] = self.left_out.get(why, 0) + 1
        if not clips:
            raise AttackError("no recording of the corpus can be read")
        return kept, clips

    def _pgd(self) -> Iterator[_Made]:
        model = self.victim.model
        assert model is not None
        utterances, audio = self._clips(self.utterances, model.rate)
        clips = [one.samples for one in audio]
        texts = [one.text or "" for one in utterances]
        clean = hear_each(model, clips, self.plan.pgd.batch)
        target = self.plan.target
        targets = None if target is None else [target] * len(clips)
        for snr in self.plan.snrs:
            settings = replace(self.plan.pgd, snr=snr, seed=self.plan.seed)
            start = time.perf_counter()
            found = pgd(
                model, clips, texts, settings, judge=mistakes, targets=targets, progress=self.progress
            )
            seconds = time.perf_counter() - start
            noise = hear_each(model, self._noisy(utterances, clips, model.rate, snr), settings.batch)
            tried = [
                Tried(u.id, u.speaker, u.text or "", c, one.text, n, one.snr, one.success, one.failure)
                for u, c, one, n in zip(utterances, clean, found, noise, strict=True)
            ]
            after = [None if one.failure else Audio(one.samples, model.rate) for one in found]
            shown: dict[str, Any] = {name: getattr(settings, name) for name in ("norm", "steps", "restarts")}
            shown |= {} if target is None else {"target": target}
            scenario = scenario_id("pgd", snr, settings.norm, target)
            queries = sum(one.queries for one in found)
            yield _Made(scenario, snr, utterances, tried, after, queries, seconds, shown)

    def _universal(self) -> Iterator[_Made]:
        model = self.victim.model
        assert model is not None
        dev, test = self._halves()
        dev, dev_audio = self._clips(dev, model.rate)
        test, audio = self._clips(test, model.rate)
        clips = [one.samples for one in audio]
        learned = [one.samples for one in dev_audio], [one.text or "" for one in dev]
        batch = self.plan.universal.batch
        clean = hear_each(model, clips, batch)
        for snr in self.plan.snrs:
            settings = replace(self.plan.universal, snr=snr, seed=self.plan.seed)
            start = time.perf_counter()
            found = find_universal(model, *learned, settings, judge=mistakes, progress=self.progress)
            seconds = time.perf_counter() - start
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
            home = self.out / "universal" / safe_name(self.victim.name)
            home.mkdir(parents=True, exist_ok=True)
            save_universal(home / f"{snr:g}dB.wav", noise, about)
            perturbation = Universal(snr, UniversalNoise({snr: noise}))
            generator = np.random.Generator(np.random.PCG64(0))  # draws nothing
            after = [perturbation(clip, model.rate, generator) for clip in clips]
            heard = hear_each(model, after, batch)
            white = hear_each(model, self._noisy(test, clips, model.rate, snr), batch)
            tried = [
                _tried(u, c, h, n, measured_snr(x, y).get("snr_db"), None if np.any(x) else SILENT)
                for u, c, h, n, x, y in zip(test, clean, heard, white, clips, after, strict=True)
            ]
            shown = {**about, "success": settings.success, "iterations": settings.iterations}
            made = [Audio(samples, model.rate) for samples in after]
            scenario = scenario_id("universal", snr)
            yield _Made(scenario, snr, test, tried, made, found.queries, seconds, shown)

    def _blackbox(self) -> Iterator[_Made]:
        for snr in self.plan.snrs:
            utterances, audio = self._clips(self.utterances, None)
            settings = Search(snr, self.plan.queries, self.plan.seed)
            start = time.perf_counter()
            with self._hearing(self.victim) as hear:
                clean = hear([(one, CLEAN) for one in utterances])
                best = search(hear, utterances, settings, judge=mistakes, progress=self.progress)
                seconds = time.perf_counter() - start
                rival = best_of_random(hear, utterances, settings, judge=mistakes, progress=self.progress)
            tried, after = [], []
            for u, clip, c, one, other in zip(utterances, audio, clean, best, rival, strict=True):
                failure = None if np.any(clip.samples) else SILENT
                made = clip.samples
                if one is None or other is None or c is None:
                    failure = failure or "the recognizer did not answer"
                else:
                    generator = np.random.Generator(np.random.PCG64(0))  # draws nothing
                    made = one.noise.for_utterance(u.id)(clip.samples, clip.rate, generator)
                text, noise = (None if found is None else found.text for found in (one, other))
                tried.append(_tried(u, c, text, noise, measured(clip.samples, made), failure))
                after.append(None if failure else Audio(made, clip.rate))
            shown = {"queries_each": settings.queries, "noise": f"best of {settings.queries} white noises"}
            queries = settings.queries * len(utterances)
            scenario = scenario_id("blackbox", snr)
            yield _Made(scenario, snr, utterances, tried, after, queries, seconds, shown)

    def _noisy(
        self, utterances: Sequence[Utterance], clips: Sequence[Samples], rate: int, snr: float
    ) -> list[Samples]:
        """Return the clips in white noise of the same SNR, as the scenario `gaussian_noise:snr=...` makes it."""
        scenario = parse_scenario(noise_id(snr))
        return [
            scenario.apply(Audio(clip, rate), seed=self.plan.seed, utterance=u.id).samples
            for u, clip in zip(utterances, clips, strict=True)
        ]

    def _transfer(self, made: _Made) -> dict[str, dict[str, float | None]]:
        """Keep the adversarial audio, and let the other recognizers hear it: what is made on one, tried on another."""
        pairs = [(u, one) for u, one in zip(made.utterances, made.after, strict=True) if one is not None]
        some, after = [u for u, _ in pairs], [one for _, one in pairs]
        kept = keep_audio(self.out, self.victim.name, made.scenario, some, after)
        found = {}
        for other in self.others:
            if other.model is not None:
                rate, batch = other.model.rate, self.plan.pgd.batch
                _, originals = self._clips(some, rate)
                clean = hear_each(other.model, [one.samples for one in originals], batch)
                heard = hear_each(other.model, [resample(one, rate).samples for one in after], batch)
            else:
                with self._hearing(other) as hear:
                    clean, heard = (hear([(one, CLEAN) for one in part]) for part in (some, kept))
            found[other.name] = rates([one.text or "" for one in some], clean, heard)
        return found

    def _hearing(self, victim: Victim) -> AbstractContextManager[Hearing]:
        return hearing(victim, self.out / "heard", self.plan.seed, self.options)

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


SILENT = "the audio is silent"


def _tried(
    utterance: Utterance,
    clean: str | None,
    heard: str | None,
    noise: str | None,
    snr: float | None,
    failure: str | None,
) -> Tried:
    """Return what became of an utterance: misled where the transcript has more word errors than the clean one."""
    said, worse = utterance.text or "", False
    if clean is not None and heard is not None:
        worse = mistakes(said, heard).words > mistakes(said, clean).words
    return Tried(utterance.id, utterance.speaker, said, clean, heard, noise, snr, worse, failure)


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
    rows = [(u.id, made.audio.name, u.speaker, u.text) for u, made in zip(utterances, kept, strict=True)]
    schema = dict.fromkeys(("id", "audio", "speaker", "text"), pl.String)
    pl.DataFrame(rows, schema, orient="row").write_csv(folder / "manifest.csv")
    return kept


@contextmanager
def hearing(victim: Victim, folder: Path, seed: int, options: RunOptions) -> Iterator[Hearing]:
    """Give a function that hears (utterance, scenario id) pairs: a model in this process, an engine kept warm."""
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
    with Session(folder / safe_name(victim.name), recognizers, scenarios, options, seed=seed) as session:

        def there(asked: Sequence[tuple[Utterance, str]]) -> list[str | None]:
            outcomes = session.hear(list(asked))[victim.name]
            return [None if one.transcript is None else one.transcript.text for one in outcomes]

        yield there
