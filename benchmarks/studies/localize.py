"""Is the localizer right? Speak new sentences with its robust and non-robust words in noise, and count the errors.

AequeVox's third question: a grammar writes the sentences, a synthetic voice speaks them, white noise at 2 dB is added,
and the recognizer that lost the words elsewhere hears them again.

    python -m benchmarks.studies.localize RUN [--words 8] [--sentences 6] [--recognizer mine=moonshine]
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import polars as pl
from benchmarks.studies.grammar import (
    MENTION,
    Grammar,
    glue_words,
    part_of_speech,
    read_grammar,
    sentences,
)

from voxaudit.audio import Audio, write
from voxaudit.audits.localize.audit import Localization, localize
from voxaudit.audits.scores import is_run
from voxaudit.corpus import read_corpus
from voxaudit.errors import VoxauditError, one_line
from voxaudit.perturb import CLEAN, parse_scenario
from voxaudit.recognize import ENGINES, Recognizer, make_recognizer
from voxaudit.registry import suggest
from voxaudit.run import open_run, run_trials
from voxaudit.score.align import align_words
from voxaudit.score.normalize import Normalizer, normalizer
from voxaudit.speak import made
from voxaudit.speak.base import Voice, speak
from voxaudit.stats.proportions import wilson
from voxaudit.stats.ratio_bootstrap import ratio_bootstrap

By = Literal["loss", "drop"]

ROBUST, NON_ROBUST = "robust", "non_robust"
FEWEST_OCCURRENCES = 5
FEWEST_SPEAKERS = 3

SCENARIO = "noise:theta=2"
"""White noise at 2 dB SNR, the most that the paper adds."""

PEAK = 0.5  # of full scale, so that speech and noise together rarely saturate

ABOUT = """\
Sentences written by voxaudit's grammar and spoken by a synthetic voice, to check which words a recognizer loses.
No person was recorded.
"""


@dataclass(frozen=True)
class ChosenWord:
    """A word, what the localizer says of it, and on what ground: `rate` is the share of `occurrences` that was lost."""

    word: str
    kind: str
    occurrences: int
    rate: float


def choose_words(
    found: Localization,
    recognizer: str,
    perturbation: str,
    *,
    by: By = "loss",
    count: int = 8,
    omega: float | None = None,
    grammar: Grammar | None = None,
) -> list[ChosenWord]:
    """Return a recognizer's `count` most and `count` least robust words under a perturbation, all groups pooled.

    With `omega` the kinds are the paper's (Algorithm 2): non-robust words are those whose drop exceeds it, in all
    groups together, and robust ones those whose drop does not; of each the clearest `count` are taken.

    By `loss`, the aligned losses at the worst setting, or by `drop`, Algorithm 2's, both as a share of the word's
    occurrences on clean speech. Few occurrences can all be lost by chance, so words are ranked by that end of the
    share's 95 % Wilson interval which speaks against choosing them. Words with fewer than five occurrences or (where
    known) three speakers do not count, nor those that the grammar cannot use in a sentence; a word is never both.
    """
    words = found.words.filter(recognizer=recognizer)
    if words.is_empty():
        names = found.words["recognizer"].unique(maintain_order=True).to_list()
        raise VoxauditError(
            f"no recognizer '{one_line(recognizer, 60)}' in the input.{suggest(recognizer, names)}"
        )
    words = words.filter(perturbation=perturbation)
    if words.is_empty():
        names = (
            found.words.filter(recognizer=recognizer)["perturbation"].unique(maintain_order=True).to_list()
        )
        raise VoxauditError(
            f"{recognizer} was not heard under '{one_line(perturbation, 60)}'.{suggest(perturbation, names)}"
            f" There: {', '.join(names)}",
            see=("perturbation",),
        )
    lost = "drop" if by == "drop" or omega is not None else "lost"
    if lost not in words.columns:
        raise VoxauditError("word counts have no aligned losses: choose by the drop", see=("by",))
    people = (
        [pl.col("speakers").sum()]
        if "speakers" in words.columns and words["speakers"].null_count() == 0
        else []
    )
    pooled = (
        words.group_by("word", maintain_order=True)
        .agg(pl.col("original").sum(), pl.col(lost).sum().alias("lost"), *people)
        .filter(pl.col("original") >= FEWEST_OCCURRENCES)
    )
    if people:
        pooled = pooled.filter(pl.col("speakers") >= FEWEST_SPEAKERS)
    known = None if grammar is None or "*" in grammar else set(grammar)
    usable = pooled["word"].map_elements(
        lambda word: (part_of_speech(word) != MENTION) if grammar is None else known is None or word in known,
        return_dtype=pl.Boolean,
    )
    pooled = pooled.filter(usable)
    low, high = wilson(pooled["lost"].to_numpy(), pooled["original"].to_numpy())
    rate = (pl.col("lost") / pl.col("original")).alias("rate")
    ranked = pooled.with_columns(rate, pl.Series("low", low), pl.Series("high", high))
    count = min(count, ranked.height // 2)
    if count < 1:
        raise VoxauditError(
            f"{recognizer}, {perturbation}: fewer than two usable words occur {FEWEST_OCCURRENCES} times;"
            " give more speech"
        )
    non_robust, robust = ranked, ranked
    if omega is not None:
        non_robust, robust = ranked.filter(pl.col("lost") > omega), ranked.filter(pl.col("lost") <= omega)
        count = min(count, non_robust.height, robust.height)
        if count < 1:
            raise VoxauditError(
                f"{recognizer}, {perturbation}: no word's drop is on the other side of omega {omega:g}"
            )
    worst = non_robust.sort("low", "word", descending=[True, False])[:count]
    best = robust.sort("high", "word")[:count]
    best = best.filter(pl.col("rate") < worst["rate"].min(), ~pl.col("word").is_in(worst["word"].to_list()))
    if best.is_empty():
        raise VoxauditError(
            f"{recognizer}, {perturbation}: all words are lost equally often; give more speech"
        )
    return [
        ChosenWord(word, kind, int(original), float(rate))
        for kind, table in ((ROBUST, best), (NON_ROBUST, worst))
        for word, original, rate in table.select("word", "original", "rate").iter_rows()
    ]


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


def validate(
    recognizer: Recognizer,
    name: str,
    chosen: Sequence[ChosenWord],
    *,
    out: str | Path,
    each: int = 6,
    grammar: Grammar | None = None,
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
    texts = [
        (word, text)
        for word in chosen
        for text in sentences(word.word, each, avoid=avoid, seed=seed, grammar=grammar)
    ]
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


def _recognizer(source: str, name: str, spec: str | None) -> Recognizer:
    """Return the recognizer that a name of the source stands for: as asked, as in the run, or the engine so called."""
    if spec is not None:
        return make_recognizer(spec)
    settings: dict[str, Any] = {"engine": name}
    if is_run(source):
        settings = recognizer_settings(open_run(source).config, name)
    if settings["engine"] not in ENGINES.names():
        raise VoxauditError(
            f"it is not known how to hear with '{one_line(name, 60)}'. Say so: {name}=moonshine",
            see=("recognizer",),
        )
    return make_recognizer(settings)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("source", help="what `voxaudit localize` takes")
    parser.add_argument(
        "--recognizer", action="append", default=[], metavar="NAME=SPEC", help="what NAME stands for"
    )
    parser.add_argument("--reference-words", action="store_true", help="only words of the reference texts")
    parser.add_argument("--perturbation", default="noise", help="words are chosen by it")
    parser.add_argument("--scenario", default=SCENARIO, help="words are heard in it")
    parser.add_argument("--by", choices=("loss", "drop"), help="default: loss; drop for word counts")
    parser.add_argument(
        "--omega", default=[], action="append", metavar="[NAME=]DROP", help="the paper's kinds, by recognizer"
    )
    parser.add_argument("--grammar", type=Path, help="sentences of your own: JSON of frames with {word}")
    parser.add_argument("--words", type=int, default=8, help="of each kind")
    parser.add_argument("--sentences", type=int, default=6, help="for each word")
    parser.add_argument("--voice", choices=("hibari", "pico"), default="hibari")
    parser.add_argument("--out", type=Path, default=Path("voxaudit-validation"))
    args = parser.parse_args()
    specs = dict(text.partition("=")[::2] for text in args.recognizer)
    omegas = {name: float(drop) for name, _, drop in (text.rpartition("=") for text in args.omega)}
    grammar = None if args.grammar is None else read_grammar(args.grammar)
    found: Localization = localize(args.source, reference_words=args.reference_words).detail
    for name in found.words["recognizer"].unique(maintain_order=True).to_list():
        by: By = args.by or ("loss" if found.normalizer else "drop")
        omega = omegas.get(name, omegas.get(""))
        chosen = choose_words(
            found, name, args.perturbation, by=by, count=args.words, omega=omega, grammar=grammar
        )
        folder = "".join(letter if letter.isalnum() or letter in "-_" else "_" for letter in name)
        result = validate(
            _recognizer(args.source, name, specs.get(name)),
            name,
            chosen,
            out=args.out / (folder or "recognizer"),
            each=args.sentences,
            grammar=grammar,
            voice=Voice(args.voice),
            scenario=args.scenario,
            rule=found.normalizer or "basic",
        )
        print(json.dumps(asdict(result), indent=2))


if __name__ == "__main__":
    main()
