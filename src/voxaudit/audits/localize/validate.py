"""Is the localiser right? Speak new sentences with its robust and non-robust words in noise, and count the errors.

AequeVox's third question: a grammar writes the sentences, a synthetic voice speaks them, white noise at 2 dB is added,
and the recogniser that lost the words elsewhere hears them again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from voxaudit.audio import Audio, write
from voxaudit.audits.localize.choose import NON_ROBUST, ROBUST, ChosenWord
from voxaudit.corpus import read_corpus
from voxaudit.errors import VoxauditError
from voxaudit.perturb import CLEAN
from voxaudit.recognize import Recognizer
from voxaudit.run import run_trials
from voxaudit.score.align import align_words
from voxaudit.score.normalize import Normalizer, normalizer
from voxaudit.speak import made
from voxaudit.speak.base import Voice, speak
from voxaudit.speak.grammar import glue_words, part_of_speech, sentences
from voxaudit.stats.ratio_bootstrap import ratio_bootstrap

SCENARIO = "noise:theta=2"
"""White noise at 2 dB SNR, the most that the paper adds."""

PEAK = 0.5  # of full scale, so that speech and noise together rarely saturate

ABOUT = """\
Sentences written by voxaudit's grammar and spoken by a synthetic voice, to check which words a recogniser loses.
No person was recorded.
"""


@dataclass(frozen=True)
class Comparison:
    """Errors on non-robust words against errors on robust ones.

    `ratio` is the ratio of the two error rates (infinite without an error on robust words), with 95 % bootstrap limits
    that draw sentences, as the published experiment would, and limits that draw words (None with fewer than five a
    kind): sentences around one word are not independent. `p` is Fisher's, one-sided, over sentences.
    """

    robust_errors: int
    robust_sentences: int
    non_robust_errors: int
    non_robust_sentences: int
    ratio: float | None
    sentences_low: float | None
    sentences_high: float | None
    words_low: float | None
    words_high: float | None
    p: float


@dataclass(frozen=True)
class SpokenWord:
    """One word of a validation: why it was chosen, and in how many of its sentences it was not heard."""

    word: str
    kind: str
    occurrences: int
    rate: float
    part_of_speech: str
    sentences: int
    errors: int
    clean_errors: int


@dataclass(frozen=True)
class Validation:
    """The experiment for one recognizer.

    `errors` counts every sentence, as the paper does; `lost` only sentences whose word was heard without noise:
    what the noise did, apart from how well the voice says the word.
    """

    recognizer: str
    voice: str
    scenario: str
    errors: Comparison
    lost: Comparison
    words: tuple[SpokenWord, ...]
    folder: str

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return asdict(self)


def validate(
    recognizer: Recognizer,
    name: str,
    chosen: Sequence[ChosenWord],
    *,
    out: str | Path,
    each: int = 6,
    voice: Voice | None = None,
    scenario: str = SCENARIO,
    rule: str | Normalizer = "basic",
    seed: int = 0,
    workers: int | None = None,
    progress: bool = True,
) -> Validation:
    """Speak `each` sentences around every chosen word, add noise, and compare the errors of the two kinds.

    A sentence has one chosen word, and others only where no sentence does without them (`the`); only its own word is
    judged. Sentences, audio and transcripts are kept in `out`; called again, nothing is heard twice.
    """
    voice = voice or Voice("hibari")
    norm = normalizer(rule)
    folder = Path(out)
    glue = glue_words()
    avoid = [word.word for word in chosen if word.word not in glue]
    texts = [(word, text) for word in chosen for text in sentences(word.word, each, avoid=avoid, seed=seed)]
    manifest = _speak(folder / "corpus", voice, texts)
    run = run_trials(
        read_corpus(manifest),
        {name: recognizer},
        [scenario],
        out=folder / "run",
        seed=seed,
        workers=workers,
        progress=progress,
    )
    answers = {
        (row["utterance"], row["scenario"]): row["text"] for row in run.transcripts.iter_rows(named=True)
    }
    missed = {
        heard: np.array(
            [
                _missed(word.word, text, answers.get((_id(number), heard)), norm)
                for number, (word, text) in enumerate(texts)
            ]
        )
        for heard in (CLEAN, _scenario_id(scenario))
    }
    noisy, clean = missed[_scenario_id(scenario)], missed[CLEAN]
    answered = ~(np.isnan(noisy) | np.isnan(clean))
    if not answered.any():
        raise VoxauditError(f"{name} answered none of the spoken sentences: see {folder / 'run'}")
    kinds = np.array([word.kind for word, _ in texts])
    number = {word.word: place for place, word in enumerate(chosen)}
    words = np.array([number[word.word] for word, _ in texts])
    heard_clean = answered & (clean == 0)
    return Validation(
        name,
        str(voice),
        scenario,
        compare(noisy[answered], kinds[answered], words[answered], seed),
        compare(noisy[heard_clean], kinds[heard_clean], words[heard_clean], seed),
        tuple(
            SpokenWord(
                word.word,
                word.kind,
                word.occurrences,
                word.rate,
                part_of_speech(word.word),
                int((own := answered & (words == place)).sum()),
                int(noisy[own].sum()),
                int(clean[own].sum()),
            )
            for place, word in enumerate(chosen)
        ),
        str(folder),
    )


def compare(missed: Any, kinds: Any, words: Any, seed: int = 0) -> Comparison:
    """Return the comparison of sentences: was the word missed (0 or 1), its kind, and its number."""
    from scipy.stats import fisher_exact

    case, control = kinds == NON_ROBUST, kinds == ROBUST
    bad, all_bad = int(missed[case].sum()), int(case.sum())
    good, all_good = int(missed[control].sum()), int(control.sum())
    if not all_bad or not all_good:
        return Comparison(good, all_good, bad, all_bad, None, None, None, None, None, 1.0)
    found = ratio_bootstrap(missed, np.ones(len(missed)), case, control, words, resamples=4000, seed=seed)
    by_sentence, by_word = found.utterances, found.speakers
    return Comparison(
        good,
        all_good,
        bad,
        all_bad,
        found.ratio,
        by_sentence.ci_low if by_sentence else None,
        by_sentence.ci_high if by_sentence else None,
        by_word.ci_low if by_word else None,
        by_word.ci_high if by_word else None,
        float(fisher_exact([[bad, all_bad - bad], [good, all_good - good]], alternative="greater").pvalue),
    )


def recognizer_settings(config: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return how a run heard with a recognizer, from its configuration, as `make_recognizer` takes it."""
    known = config["recognizers"][name]
    return {"engine": known.get("fingerprint", {}).get("engine", name), **known.get("settings", {})}


def _speak(folder: Path, voice: Voice, texts: Sequence[tuple[ChosenWord, str]]) -> Path:
    parts = (str(voice), PEAK, [(word.word, word.kind, text) for word, text in texts])
    recipe = "validation " + hashlib.sha256(repr(parts).encode()).hexdigest()[:32]
    if made.is_whole(folder, recipe):
        return folder / made.MANIFEST
    made.begin(folder, recipe)
    rows = []
    for number, (word, text) in enumerate(texts):
        name = f"audio/{_id(number)}.wav"
        (folder / "audio").mkdir(exist_ok=True)
        spoken = speak(voice, text)
        peak = max(float(np.abs(spoken.samples).max()), 1e-6)
        write(folder / name, Audio((spoken.samples * (PEAK / peak)).astype(np.float32), spoken.rate))
        rows.append({"id": _id(number), "audio": name, "text": text, "word": word.word, "kind": word.kind})
    return made.finish(folder, recipe, rows, {"README.txt": ABOUT})


def _id(number: int) -> str:
    return f"s{number + 1:04d}"


def _scenario_id(scenario: str) -> str:
    from voxaudit.perturb import parse_scenario

    return parse_scenario(scenario).id


def _missed(word: str, text: str, answer: str | None, rule: Normalizer) -> float:
    """Return 1 where the alignment leaves a sentence's word unmatched, 0 where it was heard, NaN without an answer."""
    if answer is None:
        return float("nan")
    wanted = set(rule(word).split())
    gone = {
        other
        for edit in align_words(rule(text), rule(answer))
        if edit.kind in ("substitute", "delete")
        for other in edit.reference
    }
    return float(bool(wanted & gone))
