"""Localise faults: the words, and the sounds, that get lost when speech is disturbed (AequeVox, Algorithm 2)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from voxaudit.audits.inputs import is_run, read_transcripts
from voxaudit.audits.localize.counted import is_counted, read_counts
from voxaudit.audits.localize.drops import CELL, average_drops, word_drops
from voxaudit.audits.localize.occurrences import Clean, clean_words, hear, sample
from voxaudit.audits.localize.phonemes import NO_DICTIONARY, Sounds, sounds_of
from voxaudit.audits.localize.result import Localization
from voxaudit.audits.localize.tally import Options, Tally
from voxaudit.audits.localize.trials import Heard, Trials, arrange, reference_words, speakers_of
from voxaudit.errors import VoxauditError
from voxaudit.score.normalize import Normalizer, normalize_column, normalizer
from voxaudit.stats.multiplicity import benjamini_hochberg
from voxaudit.tables import read_table

OMEGA = 2.0
"""A word is called non-robust where its drop exceeds this. The paper uses 2 and 3, for four clips a group."""

FDR = 0.05
"""The share of false claims among the words that a test calls lost."""


def localize_file(path: str | Path, *, attribute: str | None = None, **options: Any) -> Localization:
    """Localise faults in a run's folder, a table of transcripts, or a table of word counts; see `localize`."""
    path = Path(path)
    if not is_run(path):
        table = read_table(path)
        if is_counted(table.columns):
            refused = [name for name in ("normalizer", "reference_only") if options.pop(name, None)]
            if refused:
                raise VoxauditError(
                    f"{path}: word counts have no texts: {' and '.join(refused)} cannot be used with them"
                )
            if attribute is not None and attribute != "group":
                raise VoxauditError(
                    f"{path}: word counts have their groups in column 'group': leave --attribute out"
                )
            options = {name: options[name] for name in ("omega", "exclude", "vocabulary") if name in options}
            return localize_counts(table, where=path, **options)
    return localize(read_transcripts(path), attribute=attribute, where=path, **options)


def localize_counts(
    table: pl.DataFrame,
    *,
    omega: float = OMEGA,
    exclude: Iterable[str] = (),
    vocabulary: Iterable[str] | None = None,
    where: str | Path = "counts",
) -> Localization:
    """Apply Algorithm 2 to counts of words (columns recognizer, perturbation, setting, group, word, count).

    Counts alone carry no tests: they do not say who lost what.
    """
    originals, counts = read_counts(table, where, exclude=exclude, vocabulary=vocabulary)
    drops = word_drops(originals, counts, _omega(omega))
    settings: dict[str, dict[str, tuple[str, ...]]] = {}
    order = counts.select("recognizer", "perturbation", "setting").unique(maintain_order=True)
    for (recognizer, perturbation), part in order.group_by("recognizer", "perturbation", maintain_order=True):
        settings.setdefault(str(recognizer), {})[str(perturbation)] = tuple(part["setting"].to_list())
    notes = ("no tests: counts of words do not say which speaker lost which word. Give transcripts",)
    return Localization(drops, average_drops(drops), None, None, settings, (), notes, omega, FDR, None)


def localize(
    transcripts: pl.DataFrame,
    *,
    attribute: str | None = None,
    omega: float = OMEGA,
    exclude: Iterable[str] = (),
    normalizer: str | Normalizer | None = None,
    vocabulary: Iterable[str] | None = None,
    reference_only: bool = False,
    phonemes: bool = True,
    examples: int = 5,
    fdr: float = FDR,
    where: str | Path = "transcripts",
) -> Localization:
    """Find the words that each recognizer loses in each group under each perturbation. No reference is needed.

    `transcripts` has utterance, scenario, recognizer, text (null: failed), speaker, and the column `attribute` of
    groups (without it all utterances are one). An utterance counts for a perturbation where it was answered clean and
    under all settings. `vocabulary`, or `reference_only`, limit the words reported; `exclude` leaves out scenarios
    or perturbations. `examples` bounds the utterances listed for a word.

    Two p-values beside each word, both with speakers as the sample, Bonferroni over settings, and adjusted over all
    words at once (Benjamini and Hochberg): `p` that the group's speakers lose it no more than the words beside it, and
    `p_group` that they lose it no more than the speakers of the other groups do.
    """
    if not 0.0 < fdr < 1.0:
        raise VoxauditError(f"the false-discovery rate must lie between 0 and 1, not {fdr:g}")
    if examples < 0:
        raise VoxauditError(f"the number of examples must be 0 or more, not {examples}")
    rule = _rule(normalizer)
    trials = arrange(transcripts, where, attribute=attribute, exclude=exclude)
    allowed = _allowed(trials, rule, vocabulary, reference_only, where)
    options = Options(trials.speakers_known, trials.speakers_in_one_group, examples)
    work = _Work(trials, rule, allowed, options, _omega(omega), phonemes)
    for heard in trials.recognizers:
        work.hear(heard)
    if not work.words:
        raise VoxauditError(
            f"{where}: no word to count: all clean transcripts are empty, or hold none of the words asked for"
        )
    found = _adjusted(pl.concat(work.words))
    sounds = _adjusted(pl.concat(work.phonemes)) if work.phonemes else None
    return Localization(
        found,
        average_drops(found),
        sounds,
        _chosen_examples(pl.concat(work.examples), found, examples, fdr) if work.examples else None,
        {name: {key: tuple(value) for key, value in own.items()} for name, own in trials.settings.items()},
        tuple(work.left_out),
        (*_notes(trials, attribute), *work.notes),
        omega,
        fdr,
        rule.id,
    )


@dataclass
class _Work:
    """What gathers while the recognizers are gone through, one scenario at a time."""

    trials: Trials
    rule: Normalizer
    allowed: set[str] | None
    options: Options
    omega: float
    want_phonemes: bool
    words: list[pl.DataFrame] = field(default_factory=list)
    phonemes: list[pl.DataFrame] = field(default_factory=list)
    examples: list[pl.DataFrame] = field(default_factory=list)
    left_out: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def hear(self, heard: Heard) -> None:
        """Go through one recognizer's perturbations."""
        name, utterances = heard.recognizer, heard.utterances
        groups = utterances["group"].unique().sort()
        clean = clean_words(normalize_column(utterances["text"], self.rule), *speakers_of(utterances, groups))
        if not len(clean.vocabulary):
            self.notes.append(f"{name}: every clean transcript is empty: nothing can be lost")
            return
        sounds = self._sounds(name, clean)
        for perturbation, settings in self.trials.settings[name].items():
            texts = [self.trials.texts(heard, perturbation, setting, self.rule) for setting in settings]
            used = clean.texts.is_not_null().to_numpy().copy()
            for answers in texts:
                used &= answers.is_not_null().to_numpy()
            if not used.all():
                self.left_out.append(
                    {"recognizer": name, "perturbation": perturbation, "utterances": int((~used).sum())}
                )
            part = sample(clean, used)
            tally = Tally(part, groups, self._mask(clean), sounds, self.options)
            for setting, answers in zip(settings, texts, strict=True):
                tally.add(setting, hear(part, answers))
            if tally.is_empty:
                self.notes.append(f"{name}, {perturbation}: no clean word is left to count")
                continue
            labels = {"recognizer": name, "perturbation": perturbation}
            originals, counts = tally.counts(**labels)
            self.words.append(word_drops(originals, counts, self.omega).hstack(tally.losses()))
            lost = tally.examples(utterances["utterance"], **labels)
            self.examples.append(lost.join(heard.ids, on=["perturbation", "setting"], maintain_order="left"))
            if sounds is not None:
                self.phonemes.append(tally.phonemes(**labels))

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
    """Add `q` and `q_group`: the p-values adjusted over the whole table."""
    return table.with_columns(
        pl.Series(name, benjamini_hochberg(table[column].to_list()), dtype=pl.Float64)
        for name, column in (("q", "p"), ("q_group", "p_group"))
        if column in table.columns
    )


def _chosen_examples(examples: pl.DataFrame, words: pl.DataFrame, most: int, fdr: float) -> pl.DataFrame:
    """Keep the examples of words that are non-robust or significant; those of the worst setting come first."""
    significant = (pl.min_horizontal("q", "q_group") <= fdr).fill_null(False)
    wanted = words.filter(pl.col("non_robust") | significant)
    wanted = wanted.select(*CELL, "word", pl.col("lost_setting").alias("worst"))
    kept = examples.join(wanted, on=[*CELL, "word"], maintain_order="left")
    kept = kept.sort(pl.col("setting") != pl.col("worst"), maintain_order=True).drop("worst")
    return kept.group_by(*CELL, "word", maintain_order=True).head(most)


def _allowed(
    trials: Trials,
    rule: Normalizer,
    vocabulary: Iterable[str] | None,
    reference_only: bool,
    where: str | Path,
) -> set[str] | None:
    allowed = None if vocabulary is None else {part for word in vocabulary for part in rule(word).split()}
    if reference_only:
        spoken = reference_words(trials.table, rule)
        if not spoken:
            raise VoxauditError(
                f"{where}: no reference text there: words cannot be limited to those of the references"
            )
        allowed = spoken if allowed is None else allowed & spoken
    return allowed


def _notes(trials: Trials, attribute: str | None) -> Sequence[str]:
    notes = []
    if trials.ungrouped:
        notes.append(f"{trials.ungrouped} utterances have no value in column '{attribute}' and are left out")
    if not trials.speakers_known:
        notes.append("no tests: they compare speakers, and a speaker is not known for every utterance")
    elif not trials.speakers_in_one_group:
        notes.append("no tests between groups: some speakers are in several groups")
    return notes


def _rule(chosen: str | Normalizer | None) -> Normalizer:
    return normalizer(chosen or "basic")


def _omega(omega: float) -> float:
    if not omega >= 0:
        raise VoxauditError(f"omega must be 0 or more, not {omega:g}")
    return omega
