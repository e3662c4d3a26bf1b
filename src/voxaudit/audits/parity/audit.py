"""The parity audit: a table and its attributes in, findings out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from voxaudit.audits.parity.balance import balance
from voxaudit.audits.parity.canary import canary
from voxaudit.audits.parity.checklist import every_check
from voxaudit.audits.parity.conditional import Conditional, conditional
from voxaudit.audits.parity.findings import Findings, own_first, with_cautions
from voxaudit.audits.parity.groups import assign_groups
from voxaudit.audits.parity.intersectional import empty_groups, intersectional
from voxaudit.audits.parity.measures import Measured, add_measures
from voxaudit.audits.parity.options import GAP, MEAN, Caution, Columns, Refusal, Settings
from voxaudit.audits.parity.outliers import outliers
from voxaudit.audits.parity.regression import regressions
from voxaudit.audits.parity.speakers import outlying_utterances, speaker_table
from voxaudit.audits.parity.trials import Trials, make_trials
from voxaudit.audits.parity.univariate import MOST_PAIRED, univariate
from voxaudit.errors import VoxauditError
from voxaudit.stats.speaker_means import pooled_sigma, summarize_groups


def parity(
    table: pl.DataFrame | Measured,
    attributes: Sequence[str],
    *,
    columns: Columns = Columns(),  # noqa: B008 (frozen)
    settings: Settings = Settings(),  # noqa: B008 (frozen)
    where: str = "table",
) -> Findings:
    """Audit a table of trials for parity between groups of speakers.

    `table` has one row a trial: speaker, errors, reference words, `attributes`, and perhaps a recognizer (see
    `Columns`). Columns called `snr` or named in `voxaudit.score.complexity.MEASURES` are checked for balance;
    `add_measures` makes them from audio and texts. `where` names the table in messages.
    """
    measured = table if isinstance(table, Measured) else add_measures(table)
    settings = settings.with_safe_names()
    trials = make_trials(measured.table, attributes, columns, settings, where)
    grouped = speaker_table(trials.table, trials.attributes, trials.measures, settings.outlier_z)
    assigned = assign_groups(grouped.raw, trials.attributes, settings)
    if not assigned.attributes:
        why = "; ".join(f"{one.what}: {one.why}" for one in assigned.refusals)
        raise VoxauditError(f"{where}: no attribute can be compared. {why}")
    order = assigned.order
    names = list(order)
    people = assigned.people.join(
        grouped.raw.select("speaker", *(pl.col(f"#{name}").alias(name) for name in trials.measures)),
        on="speaker",
    )
    speakers = grouped.table.join(assigned.people, on="speaker", how="left", maintain_order="left")
    asked = gaps_asked(speakers, settings)
    main = MEAN if MEAN in grouped.recognizers else grouped.recognizers[0]
    cells = summarize_groups(speakers, ["recognizer", *names])
    single = univariate(speakers, order, asked, settings)
    totals = single.groups.select("recognizer", "attribute", "group", "speakers")
    fixed = _conditional(cells, order, totals, asked, settings)
    crossed = intersectional(cells, names, asked, settings) if len(names) > 1 else pl.DataFrame()
    fits = regressions(cells, order, totals, settings)
    far = outliers(
        speakers, outlying_utterances(trials.table, settings.outlier_z), single.groups, order, asked, settings
    )
    even = balance(people, order, settings)
    cautions = (*_surrogate_caution(trials), *even.cautions)
    found = Findings(
        settings=settings,
        attributes=tuple(names),
        order=order,
        recognizers=grouped.recognizers,
        main=main,
        surrogate=trials.surrogate,
        age=assigned.age,
        merged=assigned.merged,
        gaps_asked=asked,
        left_out=trials.left_out,
        sources=measured.sources,
        missing=measured.missing,
        notes=(*trials.notes, *grouped.notes, *assigned.notes, *measured.notes, *_paired_notes(order)),
        speakers=speakers,
        people=people,
        sigma=_spread(cells, speakers),
        univariate=with_cautions(single.groups, cautions),
        gaps=with_cautions(single.gaps, cautions),
        pairs=with_cautions(single.pairs, cautions),
        conditional=with_cautions(fixed.groups, cautions),
        conditional_strata=fixed.strata,
        conditional_gaps=with_cautions(fixed.gaps, cautions),
        held=fixed.held,
        intersectional=with_cautions(crossed, cautions),
        regression=with_cautions(fits.terms, cautions),
        regression_tests=with_cautions(fits.tests, cautions),
        outlier_speakers=far.speakers,
        outlier_shares=far.shares,
        outlier_utterances=far.utterances,
        outlier_utterance_count=far.utterance_count,
        outlier_comparison=far.comparison,
        balance=even.distributions,
        balance_tests=even.tests,
        canary=canary(single.pairs, assigned.age, order, settings),
        cautions=cautions,
        refusals=(
            *assigned.refusals,
            *_group_refusals(single.groups.with_columns(rest=_rest()), speakers),
            *fixed.refusals,
            *(empty_groups(cells, order) if len(names) > 1 else ()),
            *fits.refusals,
        ),
    )
    found = own_first(found)
    return replace(found, checklist=every_check(found))


def _paired_notes(order: dict[str, tuple[str, ...]]) -> list[str]:
    return [
        f"'{name}' has {len(groups)} groups: only the {MOST_PAIRED} with the most speakers are compared pair by pair"
        for name, groups in order.items()
        if len(groups) > MOST_PAIRED
    ]


def gaps_asked(speakers: pl.DataFrame, settings: Settings) -> dict[str, float]:
    """Return the gap that each recognizer is asked about: as set, else 0.1 or half its word error rate if less."""
    means = speakers.group_by("recognizer", maintain_order=True).agg(pl.col("wer").mean())
    if settings.gap is not None:
        return dict.fromkeys(means["recognizer"].to_list(), settings.gap)
    return {name: min(GAP, wer / 2.0) if wer > 0.0 else GAP for name, wer in means.iter_rows()}


def _conditional(
    cells: pl.DataFrame,
    order: dict[str, tuple[str, ...]],
    totals: pl.DataFrame,
    asked: dict[str, float],
    settings: Settings,
) -> Conditional:
    if len(order) > 1:
        return conditional(cells, order, totals, asked, settings)
    empty = pl.DataFrame()
    why = Refusal(
        "conditional parity", "there is one attribute: no other can be held fixed", "more --attributes"
    )
    return Conditional(empty, empty, empty, {}, (why,))


def _spread(cells: pl.DataFrame, speakers: pl.DataFrame) -> pl.DataFrame:
    """Return sigma within the finest groups, and the part of it that more utterances a speaker would leave."""
    noise = speakers.group_by("recognizer", maintain_order=True).agg(
        wer_speaker_mean=pl.col("wer").mean(), noise=pl.col("noise").mean()
    )
    spread = pooled_sigma(cells, ["recognizer"]).join(noise, on="recognizer", maintain_order="left")
    floor = (pl.col("sigma") ** 2 - pl.col("noise")).clip(lower_bound=0.0).sqrt()
    return spread.select("recognizer", "wer_speaker_mean", "sigma", "sigma_df", floor.alias("sigma_floor"))


def _surrogate_caution(trials: Trials) -> list[Caution]:
    if not trials.surrogate:
        return []
    return [
        Caution(
            None,
            f"speakers are not known: combinations of {', '.join(trials.surrogate)} stand in for them. Each may be many"
            " people, so intervals and tests are not those of a speaker-level analysis",
        )
    ]


def _rest() -> pl.Expr:
    return pl.col("speakers").sum().over("recognizer", "attribute") - pl.col("speakers")


def _group_refusals(table: pl.DataFrame, speakers: pl.DataFrame) -> list[Refusal]:
    """Say which groups were not tested, and which recognizers made no error."""
    errors = speakers.group_by("recognizer", maintain_order=True).agg(pl.col("errors").sum())
    refusals = [
        Refusal(f"recognizer '{name}'", "it made no error at all: there is nothing to compare")
        for name in errors.filter(pl.col("errors") == 0)["recognizer"].to_list()
    ]
    untested = table.filter(pl.col("p").is_null())
    for (name, group), part in untested.group_by("attribute", "group", maintain_order=True):
        fewest, total = part.select(pl.col("speakers").min(), pl.col("rest").min()).row(0)
        more = max((int(number) for number in part["more_needed"].drop_nulls()), default=0)
        if fewest < 2:
            what, why = f"'{name}' = '{group}'", "one speaker: the group cannot be told from the person"
        elif total < 2:
            what, why = f"'{name}' = '{group}' against the rest", "everybody else is one speaker"
        else:
            what = f"'{name}' = '{group}' against the rest"
            why = (
                "within each side all speakers have the same word error rate: there is no spread to test with"
            )
        refusals.append(Refusal(what, why, f"{more} more speakers" if more else "more speakers"))
    return refusals
