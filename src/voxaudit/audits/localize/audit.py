"""Localize: the question, the decision and the words (AequeVox, Algorithm 2, with speakers as the sample)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import polars as pl

from voxaudit.answer import (
    Answer,
    Bars,
    Cell,
    Figure,
    Finding,
    Note,
    Refusal,
    Series,
    Table,
    Tables,
    Verdict,
    finding_id,
    refuse,
    tabulate,
)
from voxaudit.audits.audit import asks
from voxaudit.audits.localize.trials import (
    EVERYBODY,
    Heard,
    Trials,
    arrange,
    is_counted,
    read_counts,
    speakers_of,
)
from voxaudit.audits.scores import Filters, Source, Transcripts, in_several_groups
from voxaudit.errors import VoxauditError
from voxaudit.score.lost_words import (
    CELL,
    NO_DICTIONARY,
    Clean,
    Sample,
    Sounds,
    average_drops,
    clean_words,
    drops_of,
    hear,
    mean_over,
    sample,
    sounds_of,
    word_drops,
)
from voxaudit.score.normalize import Normalizer
from voxaudit.score.normalize import normalizer as find_normalizer
from voxaudit.stats.bootstrap import FEWEST_SPEAKERS
from voxaudit.stats.cells import IntArray
from voxaudit.stats.multiplicity import benjamini_hochberg
from voxaudit.stats.proportions import upper_shares
from voxaudit.stats.word_tests import Between, Tally, together
from voxaudit.wording import counted, listed, percent

OMEGA = 2.0
"""A word is called non-robust where its drop exceeds this. The paper uses 2 and 3, for four clips a group."""

FDR = 0.05
"""The share of false claims among the words that a test calls lost."""

BETWEEN = ("gap", "gap_low", "gap_high", "p_group", "p_group_adjusted")
"""What is found out between groups, a column each."""

TESTS = {"p": "p_adjusted", "p_group": "p_group_adjusted"}
"""The tests of a word, against the words beside it and against other groups, and what they are called corrected."""

MOST_SERIES = 8
"""Groups that a figure shows side by side."""

LEAD = (
    "A word counts as lost where a recognizer hears it in clean speech and not under the disturbance. `p, corrected`"
    " says whether speakers lose it more often than the words beside it, `between groups` whether the speakers of one"
    " group lose it more often than those of the others."
)


@dataclass(frozen=True)
class Localization:
    """Words that get lost, by recognizer, group and perturbation.

    `words`: one row per word with its counts (one for each of the `settings`), drop and (from transcripts) losses and
    tests: `p` and `p_adjusted` against the words beside it, `p_group` and `p_group_adjusted` against other groups, with
    the difference of the shares lost, `gap`, and limits `gap_low`, `gap_high` that hold for all words together.
    `averages`: one row for each recognizer, group and perturbation. `phonemes`: the losses of the words that contain
    each, or None. `examples`: utterances in which a non-robust word was lost, to listen to. `left_out`: utterances not
    counted for a recognizer and perturbation because one of its scenarios has no answer. `notes`: what a reader should
    know. `refusal`: why there are no tests, or none between groups.
    """

    words: pl.DataFrame
    averages: pl.DataFrame
    phonemes: pl.DataFrame | None
    examples: pl.DataFrame | None
    left_out: tuple[Mapping[str, Any], ...]
    notes: tuple[str, ...]
    omega: float
    fdr: float
    normalizer: str | None
    refusal: Refusal | None = None


# The question


@asks("localize")
def localize(
    source: Source,
    *,
    attribute: str | None = None,
    exclude: Sequence[str] = (),
    omega: float = OMEGA,
    normalizer: str = "basic",
    vocabulary: str | Path | Sequence[str] | None = None,
    reference_words: bool = False,
    phonemes: bool = False,
    examples: int = 0,
    top: int = 200,
    fdr: float = FDR,
    **filters: Unpack[Filters],
) -> Answer:
    """Find the words that each recognizer loses in each group under each perturbation. No reference text is needed.

    `source` holds transcripts (utterance, scenario, recognizer, text, speaker, the column `attribute`; without it
    everybody is one group), or counts of words (recognizer, perturbation, setting, group, word, count; AequeVox's names
    of columns will do). An utterance counts for a perturbation where it was answered clean and under all settings.
    `scenario` chooses disturbed scenarios, `exclude` leaves some out, or whole perturbations; `vocabulary` (words, or a
    file of them) and `reference_words` limit the words.

    The drop of a word is `max(count in clean speech - least count over settings, 0)` (Rajan et al. 2022, Algorithm 2);
    beside it are the occurrences that an alignment of the clean with the disturbed transcript leaves unmatched, and two
    p-values with speakers as the sample: that a group's speakers lose the word no more than the words beside it
    (Benjamini and Hochberg over all words), and no more than the speakers of the other groups do (speakers shuffled,
    one family of all words); the settings of a perturbation count together (`stats.word_tests`). `detail` holds every
    word (`Localization`).

    >>> import polars as pl
    >>> rows = [("Original", "", "please", 5), ("Noise", "2", "please", 1), ("Noise", "10", "please", 4)]
    >>> table = pl.DataFrame(rows, schema=["perturbation", "setting", "word", "count"], orient="row")
    >>> answer = localize(table.with_columns(recognizer=pl.lit("r"), group=pl.lit("g")))
    >>> answer.tables["words"].select("word", "original", "drop", "non_robust").row(0)
    ('please', 5, 4, True)
    """
    for name, value, possible, must in (
        ("fdr", fdr, 0.0 < fdr < 1.0, "the false-discovery rate must lie between 0 and 1"),
        ("examples", examples, examples >= 0, "the number of examples must be 0 or more"),
        ("omega", omega, omega >= 0, "omega must be 0 or more"),
    ):
        if not possible:
            raise VoxauditError(f"{must}, not {value:g}", see=(name,))
    rule = find_normalizer(normalizer)
    words = _vocabulary(vocabulary)
    read = Transcripts.of(source, **filters)
    if is_counted(read.names):
        if attribute not in (None, "group"):
            raise VoxauditError(
                f"{read.where}: word counts have their groups in column 'group'", see=("attribute",)
            )
        if reference_words:
            raise VoxauditError(
                f"{read.where}: word counts have no reference texts", see=("reference_words",)
            )
        found = localize_counts(
            read.scores().frame, omega=omega, fdr=fdr, exclude=exclude, vocabulary=words, where=read.where
        )
        return _answer(found, "group", read, top)
    trials = arrange(read, attribute=attribute, exclude=exclude)
    allowed = _allowed(trials, rule, words, reference_words, read.where)
    found = _localized(_Work(trials, rule, allowed, examples, omega, phonemes), read.where, fdr, attribute)
    return _answer(found, attribute, read, top)


def _vocabulary(given: str | Path | Sequence[str] | None) -> list[str] | None:
    if given is None or not isinstance(given, str | Path):
        return None if given is None else list(given)
    try:
        words = Path(given).read_text(encoding="utf-8").split()
    except (OSError, UnicodeError) as error:
        raise VoxauditError(
            f"{given}: cannot read this list of words ({error})", see=("vocabulary",)
        ) from error
    if not words:
        raise VoxauditError(f"{given}: no words there; write one per line", see=("vocabulary",))
    return words


def _allowed(
    trials: Trials, rule: Normalizer, vocabulary: Sequence[str] | None, reference_words: bool, where: str
) -> set[str] | None:
    allowed = None if vocabulary is None else {part for word in vocabulary for part in rule(word).split()}
    if reference_words:
        spoken = trials.reference_words(rule)
        if not spoken:
            text = "no reference text there: words cannot be limited to those of the references"
            raise refuse("no_references", text, about=where, see=("reference_words",))
        allowed = spoken if allowed is None else allowed & spoken
    return allowed


# The decision


def localize_counts(
    table: pl.DataFrame,
    *,
    omega: float = OMEGA,
    fdr: float = FDR,
    exclude: Sequence[str] = (),
    vocabulary: Sequence[str] | None = None,
    where: str = "table",
) -> Localization:
    """Apply Algorithm 2 to counts of words (columns recognizer, perturbation, setting, group, word, count)."""
    originals, counts = read_counts(table, where, exclude=exclude, vocabulary=vocabulary)
    drops = word_drops(originals, counts, omega)
    refusal = Refusal(
        "no_speakers",
        "tests",
        "counts of words do not say which speaker lost which word",
        remedy="give transcripts, with a column `speaker`",
    )
    return Localization(drops, average_drops(drops), None, None, (), (), omega, fdr, None, refusal)


def _localized(work: _Work, where: str, fdr: float, attribute: str | None) -> Localization:
    trials = work.trials
    for heard in trials.recognizers:
        work.hear(heard)
    if not work.words:
        raise VoxauditError(
            f"{where}: no word to count: all clean transcripts are empty, or hold none of the words asked for"
        )
    between = _between(work)
    work.between.clear()  # the shuffles of all comparisons, the largest there is
    drops = drops_of(pl.concat(work.words), work.omega).hstack(pl.concat(work.losses))
    found = _adjusted(drops).with_columns(between)
    ungrouped = f"{counted(trials.ungrouped, 'utterance')} without a value for `{attribute}` left out"
    return Localization(
        found,
        average_drops(found),
        _adjusted(pl.concat(work.phonemes)) if work.phonemes else None,
        _chosen_examples(pl.concat(work.examples), found, work.most_examples, fdr)
        if work.most_examples
        else None,
        tuple(work.left_out),
        (*([ungrouped] if trials.ungrouped else []), *work.notes),
        work.omega,
        fdr,
        work.rule.id,
        _untested(trials, found, attribute),
    )


def _untested(trials: Trials, words: pl.DataFrame, attribute: str | None) -> Refusal | None:
    """Return why no word is tested, or none between groups."""
    if not trials.speakers_known:
        text = "tests compare speakers, and a speaker is not known for every utterance"
        return Refusal("no_speakers", "tests", text)
    if words["p"].null_count() == words.height:
        text = f"a test needs {FEWEST_SPEAKERS} speakers of a group who said the word, and no word has them"
        return Refusal("too_few_speakers", "tests", text, {"needed": FEWEST_SPEAKERS})
    if not trials.speakers_in_one_group:
        several = trials.people["speaker"].filter(trials.people["speaker"].is_duplicated())
        return in_several_groups(several.unique().sort().to_list(), str(attribute), "tests between groups")
    return None


@dataclass
class _Work:
    """What gathers while the recognizers are gone through, one scenario at a time."""

    trials: Trials
    rule: Normalizer
    allowed: set[str] | None
    most_examples: int
    omega: float
    want_phonemes: bool
    words: list[pl.DataFrame] = field(default_factory=list)
    losses: list[pl.DataFrame] = field(default_factory=list)
    between: list[tuple[int, tuple[Between, IntArray] | None]] = field(default_factory=list)
    """Groups compared: the first row of the words, the comparison, and its rows."""
    phonemes: list[pl.DataFrame] = field(default_factory=list)
    examples: list[pl.DataFrame] = field(default_factory=list)
    left_out: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def hear(self, heard: Heard) -> None:
        """Go through one recognizer's perturbations."""
        name, utterances = heard.recognizer, heard.utterances
        groups = self.trials.groups
        clean = clean_words(utterances["text"], self.rule, *speakers_of(utterances, self.trials))
        if not len(clean.vocabulary):
            self.notes.append(f"{name}: every clean transcript is empty: nothing can be lost")
            return
        sounds = self._sounds(name, clean)
        part: Sample | None = None
        for perturbation, disturbed in self.trials.disturbed(heard, self.rule, clean):
            used = clean.words.answered.copy()
            for answers, _ in disturbed.values():
                used &= answers.answered
            labels = {"recognizer": name, "perturbation": perturbation}
            if not used.all():
                self.left_out.append({**labels, "utterances": int((~used).sum())})
            if part is None or not np.array_equal(used, part.used):  # mostly all are
                part = sample(clean, used)
            tally = Tally(
                part,
                groups,
                self._mask(clean),
                sounds,
                self.trials.speakers_known,
                self.trials.speakers_in_one_group,
                self.most_examples,
                labels,
            )
            for setting, found in disturbed.items():
                tally.add(setting, hear(part, *found))
            if tally.is_empty:
                self.notes.append(f"{name}, {perturbation}: no clean word is left to count")
                continue
            self.between.append((sum(table.height for table in self.words), tally.between()))
            self.words.append(tally.counts())
            self.losses.append(tally.losses())
            if self.most_examples:
                lost = tally.examples(utterances["utterance"])
                lost = lost.join(heard.ids, on=["perturbation", "setting"], maintain_order="left")
                self.examples.append(lost)
            if sounds is not None:
                self.phonemes.append(tally.phonemes())

    def _mask(self, clean: Clean) -> Any:
        if self.allowed is None:
            return np.ones(len(clean.vocabulary), dtype=np.bool_)
        return clean.vocabulary.is_in(sorted(self.allowed)).to_numpy()

    def _sounds(self, name: str, clean: Clean) -> Sounds | None:
        if not self.want_phonemes:
            return None
        try:
            sounds = sounds_of(clean.vocabulary)
        except VoxauditError as error:
            if NO_DICTIONARY not in self.notes:
                self.notes.append(str(error))
            return None
        said = np.bincount(clean.word, clean.times, len(clean.vocabulary))
        unknown = sounds.known == 0
        if unknown.any():
            self.notes.append(
                f"{name}: {int(unknown.sum())} of {len(unknown)} words, {int(said[unknown].sum())} of {int(said.sum())}"
                " occurrences, are not in the pronunciation dictionary and count for no phoneme"
            )
        return sounds


def _adjusted(table: pl.DataFrame) -> pl.DataFrame:
    """Add the p-values against the words beside, corrected over the whole table."""
    return table.with_columns(
        pl.Series("p_adjusted", benjamini_hochberg(table["p"].to_list()), dtype=pl.Float64)
    )


def _between(work: _Work) -> list[pl.Series]:
    """Return the comparison of groups: all recognizers, perturbations, groups and words are one family."""
    parts = [(first + rows, one) for first, part in work.between if part is not None for one, rows in [part]]
    found = np.full((len(BETWEEN), sum(table.height for table in work.words)), np.nan)
    if parts:
        values = together([one for _, one in parts])
        rows = np.concatenate([rows.ravel() for rows, _ in parts])
        tested = ~np.isnan(values[0])
        found[:, rows[tested]] = values[:, tested]
    return [pl.Series(name, own).fill_nan(None) for name, own in zip(BETWEEN, found, strict=True)]


def _chosen_examples(examples: pl.DataFrame, words: pl.DataFrame, most: int, fdr: float) -> pl.DataFrame:
    """Keep the examples of words that are non-robust or significant; those of the worst setting come first."""
    wanted = words.filter(pl.col("non_robust") | _shown(fdr))
    wanted = wanted.select(*CELL, "word", pl.col("lost_setting").alias("worst"))
    kept = examples.join(wanted, on=[*CELL, "word"], maintain_order="left")
    kept = kept.sort(pl.col("setting") != pl.col("worst"), maintain_order=True).drop("worst")
    return kept.group_by(*CELL, "word", maintain_order=True).head(most)


def _shown(fdr: float, *columns: str) -> pl.Expr:
    """Return whether a word is shown to get lost, by either test."""
    return (pl.min_horizontal(columns or list(TESTS.values())) <= fdr).fill_null(False)


# The words


def _answer(found: Localization, attribute: str | None, read: Transcripts, top: int) -> Answer:
    notes = [Note("selected", text) for text in read.notes]
    notes += [Note("words", text) for text in found.notes]
    if found.left_out:
        most = max(found.left_out, key=lambda row: row["utterances"])
        text = (
            f"utterances are not counted for a perturbation where one of its scenarios has no answer: up to"
            f" {most['utterances']:,} ({most['recognizer']}, {most['perturbation']})"
        )
        notes.append(Note("left_out", text, {"left_out": [dict(row) for row in found.left_out]}))
    return Answer(
        audit="localize",
        title="Words that get lost" + (f", by {attribute}" if attribute else ""),
        findings=tuple(_findings(found, attribute)),
        tables=Tables(_tables(found, attribute, top)),
        figures=tuple(_figures(found, attribute)),
        notes=tuple(notes),
        refusals=() if found.refusal is None else (found.refusal,),
        lead=LEAD,
        detail=found,
    )


def _findings(found: Localization, attribute: str | None) -> Iterator[Finding]:
    """Yield, per recognizer, how many words get lost more than those beside them, and more in one group."""
    untested = [name for pair in TESTS.items() for name in pair if name not in found.words.columns]
    words = found.words.with_columns(pl.lit(None, pl.Float64).alias(name) for name in untested)
    # What a sentence needs: the table is sorted time and again.
    words = words.select("recognizer", "group", "word", pl.col("^(lost_rate|speakers|gap_high|p(_.*)?)$"))
    several = words["group"].n_unique() > 1
    for (recognizer,), own in words.group_by("recognizer", maintain_order=True):
        name = str(recognizer)
        yield _finding(name, own, found, attribute, "p")
        if several and (found.refusal is None or found.refusal.code == "speakers_in_several_groups"):
            yield _finding(name, own, found, attribute, "p_group")


def _finding(name: str, own: pl.DataFrame, found: Localization, attribute: str | None, test: str) -> Finding:
    column = TESTS[test]
    tested = own.drop_nulls(column)
    ordered = tested.sort(column, test, maintain_order=True)
    shown = ordered.filter(pl.col(column) <= found.fdr)
    words = shown["word"].unique(maintain_order=True).to_list()
    rule = "false-discovery rate" if test == "p" else "chance of any false claim"
    asked = f"{counted(tested['word'].n_unique(), 'word')} tested, {rule} {100 * found.fdr:g} %"
    beside = f"than the words beside {'them' if len(words) > 1 else 'it'}"
    if test == "p_group":
        beside = f"in one group of {attribute} than in the others"
    code = None
    verdict: Verdict = "shown" if words else "not_shown"
    if not tested.height:
        verdict, code = "refused", found.refusal.code if found.refusal else "too_few_speakers"
        few = f"no word was said by {FEWEST_SPEAKERS} speakers on both sides"
        few += f" and lost by {FEWEST_SPEAKERS} of them" if test == "p_group" else ""
        what = "words" if test == "p" else f"words that one group of {attribute} loses more"
        sentence = f"{name}: no conclusion about {what}: {found.refusal.text if found.refusal else few}."
    elif not words:
        sentence = (
            f"{name}: no word is shown to get lost more often {beside} when speech is disturbed ({asked})"
        )
        sentence += f"{_not_excluded(tested) if test == 'p_group' else _lost_at_most(tested)}."
    else:
        groups = dict(shown.group_by("word").agg(pl.col("group").unique(maintain_order=True)).iter_rows())
        where = listed([word if test == "p" else f"{word} ({listed(groups[word])})" for word in words], 8)
        sentence = (
            f"When speech is disturbed, {name} loses {counted(len(words), 'word')} more often {beside}: {where}"
            f" ({asked})."
        )
    measure = "words" if test == "p" else "group_words"
    return Finding(
        id=finding_id("localize", name, attribute if test == "p_group" else None, measure),
        measure=measure,
        verdict=verdict,
        sentence=sentence,
        estimate=None if code else float(len(words)),
        unit="count",
        p=ordered[test][0] if ordered.height else None,
        p_adjusted=ordered[column][0] if ordered.height else None,
        family=None if code else "words",
        recognizer=name,
        attribute=attribute,
        code=code,
        headline=bool(words),
    )


def _not_excluded(tested: pl.DataFrame) -> str:
    """Return the largest difference between a group and the others that is left open, whatever the word."""
    row = tested.sort("gap_high", descending=True, maintain_order=True).row(0, named=True)
    most = min(100.0 * row["gap_high"], 100.0)
    return f"; up to {most:.0f} percentage points more ({row['word']}, {row['group']}) is not excluded"


def _lost_at_most(tested: pl.DataFrame) -> str:
    """Return the largest share of its occurrences that a word may lose, all words taken together."""
    most = upper_shares(tested["lost_rate"].to_numpy(), tested["speakers"].to_numpy())
    word, share = tested["word"][int(np.argmax(most))], percent(float(most.max()))
    return f"; a word that gets lost in up to {share} of cases ({word}) is not excluded"


def _tables(found: Localization, attribute: str | None, top: int) -> Iterator[Table]:
    names = ["recognizer", *(["group"] if attribute else []), "perturbation"]
    yield _words(found, names, top)
    yield _averages(found)
    if found.phonemes is not None:
        yield tabulate(
            "phonemes",
            "Sounds of lost words",
            # Sounds that the test shows come first; of the others none is surer.
            found.phonemes.sort(
                (pl.col("p_adjusted") <= found.fdr).fill_null(False),
                "lost_rate",
                descending=True,
                maintain_order=True,
            ).head(top),
            [
                *names,
                "phoneme",
                ("said", "", "count"),
                ("lost_rate", "in lost words", "percent"),
                ("lost_setting", "at setting"),
                ("p_adjusted", "p, corrected", "p"),
            ],
            note="A lost word counts for every sound in it: this says which sounds lost words have, not which sound was"
            " misheard.",
        )
    if found.examples is not None:
        columns = [*names, "word", "scenario", "utterance"]
        yield tabulate("examples", "Utterances in which words get lost", found.examples, columns, folded=True)
    yield tabulate(
        "cells",
        "How much less often words are heard",
        found.averages,
        [
            *names,
            ("words", "different words", "count"),
            ("original", "heard clean", "count"),
            ("dropped", "heard less often by", "count"),
            ("share", "", "percent"),
            ("average_drop", "average of a word", "ratio"),
            ("non_robust", "non-robust words", "count"),
        ],
        folded=True,
    )


def _words(found: Localization, names: Sequence[str], top: int) -> Table:
    words = found.words
    keys = [*CELL, "word"]
    rows = pl.int_range(words.height, eager=True)
    clean, drop = ("original", "heard clean", "count"), ("drop", "heard less often by", "count")
    verdict: list[pl.Expr] = []
    if "lost" not in words.columns:
        by: list[Any] = ["drop", *keys]
        down = [True, *[False] * len(keys)]
        shown: list[Any] = [clean, ("minimum", "at worst", "count"), drop, ("setting", "at setting")]
    else:
        rows = rows.filter(words["lost"] > 0)
        verdict = [_verdict(found.fdr).alias("verdict")]
        by = [_verdict(found.fdr) == "shown", "lost", "lost_rate", *keys]
        down = [True, True, True, *[False] * len(keys)]
        between: list[Any] = []
        if found.words["group"].n_unique() > 1:
            between = [("gap", "more than others", "points"), ("p_group_adjusted", "between groups", "p")]
        shown = [
            clean,
            ("lost", "lost, at worst", "count"),
            ("lost_rate", "share", "percent"),
            ("lost_setting", "at setting"),
            drop,
            "speakers",
            ("p_adjusted", "p, corrected", "p"),
            *between,
        ]
    note = (f"The first {top:,} of {len(rows):,} words and perturbations. " if len(rows) > top else "") + (
        "Words that a test shows come first. Heard less often by: in the disturbed transcripts of all speakers together"
        f" (AequeVox, Algorithm 2); more than {found.omega:g} times is called non-robust."
    )
    columns = [*names, "word", *shown]
    ranked = words.select(by)[rows]  # narrow: to sort the whole table would take it several times
    first = rows.gather(ranked.select(pl.arg_sort_by(ranked.columns, descending=down).head(top)).to_series())
    table = words[first].with_columns(verdict)
    return tabulate("words", "Words that get lost most", table, columns, note=note)


def _verdict(fdr: float) -> pl.Expr:
    tested = pl.any_horizontal(pl.col(name).is_not_null() for name in TESTS.values())
    claims = pl.when(_shown(fdr)).then(pl.lit("shown")).otherwise(pl.lit("not_shown"))
    return pl.when(tested).then(claims).otherwise(pl.lit("refused"))


def _averages(found: Localization) -> Table:
    """Return the average drop of a word by group: in all, by recognizer and by perturbation (Table 9 of the paper)."""
    parts = [
        mean_over(found.averages.with_columns(all=pl.lit("")), by, "group").select(
            pl.lit(by).alias("by"), pl.col(by).alias("value"), "group", "average_drop"
        )
        for by in ("all", "recognizer", "perturbation")
    ]
    drop = ("average_drop", "average drop of a word", "ratio")
    return tabulate(
        "average_drop",
        "Average drop of a word",
        pl.concat(parts),
        [("by", "averaged by"), ("value", "which"), "group", drop],
        note="How many fewer times a word is heard under the worst setting than in clean speech. Groups that say"
        " more, or other, words differ in it without being treated worse; the last table has shares.",
    )


def _figures(found: Localization, attribute: str | None) -> Iterator[Figure]:
    table = mean_over(found.averages, "perturbation", "group")
    groups = table["group"].unique(maintain_order=True).to_list()
    if len(groups) > MOST_SERIES:
        return
    labels = table["perturbation"].unique(maintain_order=True).to_list()
    values = {(row["perturbation"], row["group"]): row["average_drop"] for row in table.iter_rows(named=True)}
    series = tuple(
        Series(
            group if attribute or group != EVERYBODY else "everybody",
            tuple(Cell(values[label, group]) if (label, group) in values else None for label in labels),
        )
        for group in groups
    )
    yield Figure(
        "drops",
        "How many fewer times a word is heard" + (f", by {attribute}" if attribute else ""),
        f"Average drop of a word under {counted(len(labels), 'perturbation')}.",
        Bars(tuple(labels), series, "average drop of a word", "number"),
        "average_drop",
    )
