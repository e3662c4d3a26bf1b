"""Make a study: choose recordings, disturb them, add attention checks, write the sound files."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from voxaudit.audio import Audio, read, write
from voxaudit.corpus import Corpus, Utterance
from voxaudit.errors import VoxauditError
from voxaudit.perturb import CLEAN, parse_scenarios
from voxaudit.perturb.scenario import perturbation_names
from voxaudit.perturb.scenario_id import read_scenario_id
from voxaudit.perturb.sources import open_sources
from voxaudit.review.study.study import PRACTICE, Item, Study, write_study

RATE = 16_000
CHECKS = 4
"""Attention checks of every participant: two of each answer, so that whoever always gives the same fails two."""
_HOPELESS_SNR = -15.0


def create_comprehensibility(
    corpus: Corpus,
    scenarios: Sequence[str],
    *,
    out: str | Path,
    utterances: int = 1,
    each: int | None = None,
    seed: int = 0,
) -> Study:
    """Make a study in which people rate disturbed speech against the original, 1 to 10 (AequeVox, RQ2).

    `utterances`, of different speakers where there are, are heard in every scenario. `each` is how many questions
    one participant gets (default: all). Attention checks: the original beside itself, and speech drowned in noise.
    """
    with _new_folder(out) as folder:
        chosen = _choose(corpus, utterances, seed)
        sources = open_sources({}, perturbation_names(scenarios), corpus)
        wanted = [one for one in parse_scenarios(scenarios, sources) if one.id != CLEAN]
        if not wanted:
            raise VoxauditError("no scenario to rate: name scenarios or a suite other than clean")
        items: list[Item] = []
        originals = {utterance.id: _speech(utterance) for utterance in chosen}
        for scenario in wanted:
            perturbation, setting = read_scenario_id(scenario.id).cell
            for utterance in chosen:
                original = originals[utterance.id]
                disturbed = scenario.apply(original, seed=seed, utterance=utterance.id)
                files = (_save(folder, original), _save(folder, disturbed))
                about = (utterance.id, scenario.id, perturbation, setting)
                items.append(Item(_id(seed, scenario.id, utterance.id), files, *about))
        for number in range(CHECKS):
            utterance = chosen[number % len(chosen)]
            original = originals[utterance.id]
            low = number % 2 == 1
            second = _drowned(original, seed + number) if low else original
            files = (_save(folder, original), _save(folder, second))
            id_ = _id(seed, f"check {number}", utterance.id)
            items.append(Item(id_, files, utterance.id, check="low" if low else "high"))
        asked = _each(each, len(items) - CHECKS)
        return write_study(Study(folder, "comprehensibility", seed, asked, tuple(items)))


def create_realism(
    real: Corpus,
    generated: Corpus,
    *,
    out: str | Path,
    pairs: int = 10,
    practice: int = 0,
    each: int | None = None,
    seed: int = 0,
) -> Study:
    """Make a study in which people tell a real recording from a generated one and say how sure they are (ASTER, RQ1).

    Recordings of both corpora are drawn and paired at random; ASTER asked for 10 of 40 pairs each. Attention
    checks: a real recording beside one that is played backwards. Everybody starts with the same `practice` pairs, of
    recordings that are not asked about later; what they answer there does not count.
    """
    needed = pairs + practice
    if len(real) < needed or len(generated) < needed:
        raise VoxauditError(
            f"{needed} pairs need as many recordings of each kind; there are {len(real)} real"
            f" and {len(generated)} generated"
        )
    with _new_folder(out) as folder:
        generator = np.random.Generator(np.random.PCG64([seed, 3]))
        truths = _choose(real, needed, seed)
        made = _choose(generated, needed, seed + 1)
        items = []
        # As often first as second, in random order: chance agreement of listeners is then what it should be.
        places = generator.permutation([place % 2 for place in range(needed)])
        for place, (true, false) in enumerate(zip(truths, made, strict=True)):
            at = int(places[place])
            pair = _pair(folder, _speech(true), _speech(false), at)
            check = PRACTICE if place >= pairs else ""
            about = f"{true.id} / {false.id}"
            items.append(Item(_id(seed, f"pair {place}", true.id), pair, about, real=at, check=check))
        for number in range(CHECKS):
            true = truths[number % pairs]
            speech = _speech(true)
            backwards = Audio(np.ascontiguousarray(speech.samples[::-1]), speech.rate)
            at = int(generator.integers(2))
            pair, id_ = _pair(folder, speech, backwards, at), _id(seed, f"check {number}", true.id)
            items.append(Item(id_, pair, true.id, real=at, check="real"))
        return write_study(Study(folder, "realism", seed, _each(each, pairs), tuple(items)))


def _pair(folder: Path, real: Audio, other: Audio, at: int) -> tuple[str, str]:
    """Write two recordings and return their files, that of the real one at the place `at`."""
    second, first = _save(folder, other), _save(folder, real)
    return (first, second) if at == 0 else (second, first)


def _each(each: int | None, questions: int) -> int:
    if each is None:
        return questions
    if not 1 <= each <= questions:
        raise VoxauditError(f"a participant can get 1 to {questions} questions, not {each}")
    return each


@contextmanager
def _new_folder(out: str | Path) -> Iterator[Path]:
    """Make the folder of a study; where the study is refused, nothing that was made for it stays."""
    folder = Path(out)
    if (folder / "study.json").exists():
        raise VoxauditError(f"{folder}: holds a study already; choose another folder")
    new = [path for path in (folder / "audio", folder, *folder.parents) if not path.exists()]
    try:
        (folder / "audio").mkdir(parents=True, exist_ok=True)
        yield folder
    except BaseException as error:
        for path in new[-1:]:
            shutil.rmtree(path, ignore_errors=True)
        if isinstance(error, OSError):
            raise VoxauditError(f"{folder}: cannot make this folder ({error.strerror or error})") from error
        raise


def _choose(corpus: Corpus, count: int, seed: int) -> list[Utterance]:
    """Return `count` utterances at random, of as many different speakers as there are."""
    if count < 1:
        raise VoxauditError(f"at least one utterance is needed, not {count}")
    if len(corpus) < count:
        raise VoxauditError(f"{corpus.source or corpus.name}: has {len(corpus)} utterances, not {count}")
    utterances = list(corpus)
    order = np.random.Generator(np.random.PCG64([seed, 4])).permutation(len(utterances))
    seen: dict[str | None, int] = {}
    ranked: list[tuple[int, int, Utterance]] = []
    for place in order:
        speaker = utterances[place].speaker
        seen[speaker] = seen.get(speaker, 0) + 1
        ranked.append((seen[speaker], len(ranked), utterances[place]))
    return [utterance for _, _, utterance in sorted(ranked, key=lambda one: one[:2])[:count]]


def _speech(utterance: Utterance) -> Audio:
    return read(utterance.audio, rate=RATE, start=utterance.start, duration=utterance.duration)


def _drowned(audio: Audio, seed: int) -> Audio:
    """Return speech that nobody can understand: noise far louder than it, at a level that does not hurt."""
    generator = np.random.Generator(np.random.PCG64([seed, 5]))
    power = float(np.mean(audio.samples.astype(np.float64) ** 2)) or 1e-4
    noise = generator.standard_normal(len(audio.samples)) * np.sqrt(power) * 10 ** (-_HOPELESS_SNR / 20)
    mixed = audio.samples + noise
    return Audio(
        (mixed * (0.1 / max(float(np.sqrt(np.mean(mixed**2))), 1e-9))).astype(np.float32), audio.rate
    )


def _save(folder: Path, audio: Audio) -> str:
    """Write a sound file under a name that says nothing about it; the same sound is written once."""
    clipped = np.clip(audio.samples, -1.0, 1.0)
    name = hashlib.sha256(f"{audio.rate} ".encode() + clipped.tobytes()).hexdigest()[:24] + ".flac"
    if not (folder / "audio" / name).exists():
        write(folder / "audio" / name, audio)
    return name


def _id(seed: int, what: str, utterance: str) -> str:
    return hashlib.sha256(f"{seed}\0{what}\0{utterance}".encode("utf-8", "surrogatepass")).hexdigest()[:16]
