"""Recognizers head to head: the same trials, paired by utterance, speakers as the sample, all comparisons a family."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Any, Unpack

import polars as pl

from voxaudit.answer import (
    Answer,
    Cell,
    Column,
    Figure,
    Finding,
    Forest,
    ForestRow,
    Note,
    Points,
    Table,
    Tables,
    finding_id,
    of_row,
    refuse,
    tabulate,
)
from voxaudit.audits.accuracy.audit import error_rates
from voxaudit.audits.audit import asks
from voxaudit.audits.compare.audit import (
    check_levels,
    comparable_columns,
    every_trial,
    not_excluded,
    points,
    signed_points,
    slice_finding,
    too_few,
)
from voxaudit.audits.heard import ASKED, is_table, join_tables, score_texts
from voxaudit.audits.keywords.audit import weighed, weights_of
from voxaudit.audits.scores import Filters, Names, Scores, Source, Transcripts, is_run
from voxaudit.errors import VoxauditError, one_line
from voxaudit.perturb import CLEAN
from voxaudit.perturb.settings import describe
from voxaudit.registry import unknown
from voxaudit.score.pairs import Pairs
from voxaudit.stats.paired_trials import Slice, Way, by_group, judge_slices
from voxaudit.stats.quantiles import quantile
from voxaudit.stats.theil_sen import pareto_front
from voxaudit.tables import mean_of
from voxaudit.wording import counted, listed, p_value, percent, percent_interval, speakers_of

BEST = "versus/best"
"""The finding that says which recognizer to take, or which share the first place."""
FAMILY = "pairs"
OVERALL, DISTURBED = "overall", "disturbed"


@dataclass(frozen=True)
class Versus:
    """What `Answer.detail` holds: the slices of every pair, and each recognizer's rank over all trials.

    In a slice, `recognizer` stands against `against`: `difference` is the first one's WER less the second one's,
    `ratio` the first over the second; `wer_after` and `wer_before` are theirs.
    """

    slices: tuple[Slice, ...]
    ranks: Mapping[str, int]
    """1 and the number of recognizers that are shown to make fewer errors; in the order of the error rates."""
    rates: pl.DataFrame
    scenarios: tuple[str, ...]
    trials: int
    left_out: Mapping[str, int]
    """Scored trials of each recognizer that another one does not have."""
    alpha: float
    margin: float
    parts: int = 1
    """How many answers like this one share the level, and are counted in `p_adjusted`."""
    worst: str | None = None
    """The disturbed scenario in which all recognizers together make most errors, where several were heard."""

    @property
    def judged(self) -> int:
        """How many comparisons have enough speakers to show a difference."""
        return sum(one.verdict != "refused" for one in self.slices)

    @property
    def asked(self) -> str:
        """The comparisons that are taken together, in words."""
        number = counted(self.judged, "comparison")
        return (
            number
            if self.parts == 1
            else f"{number} here and those of {counted(self.parts - 1, 'more part')}"
        )

    @property
    def whole(self) -> tuple[Slice, ...]:
        """The comparisons over all trials, one for each pair."""
        return tuple(one for one in self.slices if one.whole)


@asks("versus", names=2)
def versus(
    source: Source,
    first: str | None = None,
    second: str | None = None,
    *,
    attributes: Sequence[str] = (),
    by: Names = None,
    margin: float = 0.0,
    alpha: float = 0.05,
    normalizer: str | None = None,
    seed: int = 0,
    **filters: Unpack[Filters],
) -> Answer:
    """Compare recognizers on the trials that all of them heard: two of them (`first`, `second`), or all.

    Trials are paired by utterance and scenario, speakers are the sample. A recognizer is shown to be better where its
    word error rate is lower by more than `margin` (a fraction of the words) beyond chance: the signs of whole speakers'
    differences are flipped (see `stats.sign_flips`). P-values hold for all pairs and slices together; all trials are
    asked about first, with four fifths of `alpha`, then clean and disturbed speech, the worst scenario, categories of
    scenarios and groups of `attributes`. Recognizers that are not shown to differ share a rank; they are alike only
    within a `margin`.

    The source is a run, a table of scores, or a table of transcripts with the columns utterance, speaker, reference,
    recognizer, text, and scenario where there are several; or a list: a table of what was said (utterance, speaker,
    reference) and a table of what each recognizer wrote (utterance, text). `normalizer` makes texts alike (default: the
    spoken form of each language). Of transcripts, character errors, errors that matter, empty answers, failures,
    waiting (`seconds` or `latency_ms`), `cost` and repeated answers stand beside the WER. `by` (such as language)
    answers for each value of a column by itself, `alpha` being shared among them.

    >>> import polars as pl
    >>> rows = [
    ...     {"utterance": n, "speaker": n, "recognizer": name, "reference": "turn the lamp off", "text": text}
    ...     for name, text in (("ours", "turn the lamp off"), ("theirs", "turn a lamp of"))
    ...     for n in range(8)
    ... ]
    >>> answer = versus(pl.DataFrame(rows))
    >>> answer.finding("versus/best").recognizer, answer.finding("versus/best").verdict
    ('ours', 'shown')
    >>> answer.finding("versus/ours/theirs/clean/wer_difference").estimate
    -0.5
    """
    check_levels(alpha, margin)
    source, first, second = _named(source, first, second)
    scores, notes = _read(source, filters.pop("columns", None), normalizer)
    scores = Scores.of(scores, **filters)
    parts = _parts_by(scores, by)
    options: dict[str, Any] = {"margin": margin, "alpha": alpha, "seed": seed, "parts": len(parts)}
    answers = {
        value: _answer(part, _chosen(part, first, second), attributes, notes, **options)
        for value, part in parts.items()
    }
    return _together(by if isinstance(by, str) else ", ".join(by), answers) if by else answers[""]


def _answer(
    scores: Scores,
    names: Sequence[str],
    attributes: Sequence[str],
    notes: Sequence[Note],
    *,
    alpha: float,
    margin: float,
    seed: int,
    parts: int,
) -> Answer:
    """Answer for one of `parts` parts, which share `alpha`: a p-value shown counts the questions of all of them."""
    alpha /= parts
    groups, refusals = comparable_columns(scores, attributes)
    scores, repeats = _once(scores, names)
    trials, left_out = _common(scores, names, groups)
    worst = _worst(trials)
    sums = _summed(trials, worst)
    slices = judge_slices(
        _pairs(sums, names),
        _ways(sums, list(groups), worst),
        alpha=alpha,
        margin=margin,
        ratios=True,
        seed=seed,
    )
    slices = [
        one if one.p_adjusted is None else replace(one, p_adjusted=min(1.0, one.p_adjusted * parts))
        for one in slices
    ]
    rates = _rates(trials, names, 1.0 - alpha)
    found = Versus(
        slices=tuple(slices),
        parts=parts,
        ranks=_ranks(names, slices, rates),
        rates=rates,
        scenarios=tuple(trials["scenario"].unique(maintain_order=True)),
        trials=trials.height,
        left_out=left_out,
        alpha=alpha,
        margin=margin,
        worst=worst,
    )
    beside = _beside(scores, trials, found, repeats)
    return Answer(
        audit="versus",
        title="Head to head: " + listed(names),
        findings=(
            _best(found, scores.on_whom),
            *_wers(found),
            *(_finding(one, found) for one in _in_order(found)),
        ),
        tables=Tables([_ranking(found), *([beside] if beside else []), _differences(found)]),
        figures=(*_figures(found), *(_fronts(beside.frame) if beside else ())),
        notes=(_shared_note(found, names), *notes, *_more_notes(scores, found, names)),
        refusals=(*too_few(found.slices, alpha, "difference"), *refusals),
        lead=_method(found),
        detail=found,
    )


def _parts_by(scores: Scores, by: Names) -> dict[str, Scores]:
    """Return the scores by value of a column, where two or more recognizers have it; under "" where none is named."""
    if not by:
        return {"": scores}
    asked = [by] if isinstance(by, str) else list(by)
    columns = [name if name in scores.frame.columns else scores.column(name) for name in asked]
    values = scores.frame.select(pl.concat_str(pl.col(columns).cast(pl.String), separator=", ")).to_series()
    parts = {
        value: replace(scores, frame=scores.frame.filter(values == value))
        for value in values.drop_nulls().unique(maintain_order=True).to_list()
    }
    parts = {value: part for value, part in parts.items() if len(part.recognizers) > 1}
    if not parts:
        raise refuse(
            "too_few_recognizers", f"no value of {listed(asked)} has two recognizers", about=scores.where
        )
    return parts


def _together(by: str, answers: Mapping[str, Answer]) -> Answer:
    """Return the answers of several parts as one: every finding, row and figure says which part it is about."""
    findings: list[Finding] = []
    figures: list[Figure] = []
    tables: dict[str, list[tuple[str, Table]]] = {}
    for value, answer in answers.items():
        for one in answer.findings:
            id_ = finding_id("versus", value) + one.id.removeprefix("versus")
            about = {by: value} if by in ("language", "corpus") else {"attribute": by, "group": value}
            findings.append(replace(one, id=id_, sentence=f"{by} {value}: {one.sentence}", **about))  # type: ignore[arg-type]
        figures += [
            replace(one, id=f"{one.id}-{value}", title=f"{one.title} ({value})") for one in answer.figures
        ]
        for table in answer.tables.shown:
            tables.setdefault(table.id, []).append((value, table))
    joined = [
        replace(
            rows[0][1],
            frame=pl.concat(
                [table.frame.with_columns(pl.lit(value).alias(by)) for value, table in rows],
                how="diagonal_relaxed",
            ),
            columns=(Column(by), *max((table.columns for _, table in rows), key=len)),
        )
        for rows in tables.values()
    ]
    first = next(iter(answers.values()))
    notes = [(value, note) for value, answer in answers.items() for note in answer.notes]
    same = {note.text: note for value, note in notes if note in first.notes}
    own = [
        replace(note, text=f"{by} {value}: {note.text}")
        for value, note in notes
        if note.text not in same or note.code == "common"
    ]
    return Answer(
        audit="versus",
        title=f"Head to head, by {by}",
        findings=tuple(findings),
        tables=Tables(joined),
        figures=tuple(figures),
        notes=(*(note for note in same.values() if note.code != "common"), *own),
        refusals=tuple(refusal for answer in answers.values() for refusal in answer.refusals),
        lead=first.lead,
        detail={value: answer.detail for value, answer in answers.items()},
    )


# The trials that all recognizers have


def _named(source: Source, first: str | None, second: str | None) -> tuple[Source, str | None, str | None]:
    """Return the source, and two names of recognizers that stood behind it on a command line."""
    if not isinstance(source, list | tuple):
        return source, first, second
    head, *rest = source
    if not rest:
        return head, first, second
    if len(rest) <= 2 and all(isinstance(one, str) and not is_table(one) and not is_run(one) for one in rest):
        return head, rest[0], rest[1] if len(rest) == 2 else None
    return source, first, second


def _read(
    source: Source, columns: Mapping[str, str] | None, normalizer: str | None
) -> tuple[Scores, list[Note]]:
    """Return scores, and what was done to get them: texts with their references are scored first."""
    notes: list[Note] = []
    if isinstance(source, list | tuple) and all(map(is_table, source)):
        texts, notes = join_tables(source, columns)
    elif not isinstance(source, Scores | list | tuple) and not is_run(source):
        texts = Transcripts.of(source, columns=columns, more=ASKED)
    else:
        return Scores.of(source, columns=columns), []
    if not {"text", "reference"} <= set(texts.names) or "words" in texts.names:
        return Scores.of(source, columns=columns), []
    scores, more = score_texts(texts.require("speaker", "recognizer"), normalizer)
    return scores, [*more, *notes]


def _chosen(scores: Scores, first: str | None, second: str | None) -> list[str]:
    """Return the recognizers to compare, two or more, in the order in which they were named, or the run's."""
    scores.require("utterance", "speaker", "recognizer")
    there = scores.recognizers
    if first is None and second is None:
        if len(there) < 2:
            text = f"only {there[0]} was scored" if there else "no recognizer was scored"
            raise refuse("too_few_recognizers", text, about=scores.where, recognizers=len(there))
        return there
    if first is None or second is None or first == second:
        raise VoxauditError("name two different recognizers to compare, or none to compare all of them")
    for name in (first, second):
        if name not in there:
            raise unknown(f"{scores.where}: no recognizer", name, there)
    return [first, second]


def _common(
    scores: Scores, names: Sequence[str], groups: Mapping[str, str]
) -> tuple[pl.DataFrame, dict[str, int]]:
    """Return the trials that all recognizers have: utterance, scenario, speaker, words, the errors of each (`errors_0`
    and so on), and the groups of attributes (`group_0`); and how many of each recognizer's others lack.
    """
    frame = scores.frame
    if "scenario" not in frame.columns:
        frame = frame.with_columns(scenario=pl.lit(CLEAN))
    own = frame["recognizer"].cast(pl.String).is_in(list(names)).fill_null(value=False)
    kept = Scores(frame if own.all() else frame.filter(own), scores.where, scores.run)
    about = {f"group_{place}": pl.col(column).cast(pl.String) for place, column in enumerate(groups.values())}
    rows = every_trial(kept, speaker=pl.col("speaker").cast(pl.String), **about)
    heard = dict(rows.group_by("recognizer").agg(pl.col("words").count()).iter_rows())
    keys = ["utterance", "scenario"]
    errors = {
        f"errors_{place}": pl.when(pl.col("recognizer") == name).then("errors")
        for place, name in enumerate(names)
    }
    scored = pl.col("words").is_not_null()
    trials = (
        rows.with_columns(**errors, _row=pl.when(scored).then(pl.int_range(pl.len())))
        .group_by(keys, maintain_order=True)
        .agg(
            pl.col("speaker", *about).first(),
            pl.col("words").min(),
            pl.col(*errors).max(),
            _most=pl.col("words").max(),
            _scored=pl.col("words").count(),
            _row=pl.col("_row").min(),
        )
    )
    apart = trials.filter(pl.col("words") != pl.col("_most"))
    if apart.height:
        raise VoxauditError(
            f"{scores.where}: {counted(apart.height, 'trial')} (such as utterance"
            f" '{one_line(str(apart['utterance'][0]), 60)}') count other reference words for one recognizer than for"
            " another: score all with the same references and normalizer"
        )
    common = trials.filter(pl.col("_scored") == len(names)).drop_nulls(keys).sort("_row")
    common = common.drop("_most", "_scored", "_row")
    if common.is_empty():
        raise refuse(
            "not_heard_alike",
            f"{listed(names)} have no scored trial in common",
            about=scores.where,
            remedy="compare them part by part, such as by language, or leave out those that heard other recordings",
            see=("by", "recognizers"),
        )
    if common["speaker"].null_count():
        raise refuse(
            "no_speakers",
            "speakers are the sample of a comparison, and some utterances have none",
            about=scores.where,
        )
    return common, {name: heard[name] - common.height for name in names}


def _once(scores: Scores, names: Sequence[str]) -> tuple[Scores, pl.DataFrame | None]:
    """Return the first answer to every trial, and how far repeated answers of a recognizer to the same audio differ.

    Columns of the latter: recognizer, `repeats`, `repeat_sd` (the standard deviation of its WER from one time to the
    next, over trials that have all repeats) and `changed` (the share of those trials whose texts are not all the same).
    """
    keys = ["utterance", "scenario", "recognizer"]
    if "heard" not in scores.frame.columns:  # counts cannot be told apart from a mistake in the table
        return scores, None
    frame = scores.frame.with_columns(repeat=pl.int_range(pl.len()).over(keys))
    if int(frame["repeat"].max() or 0) == 0:  # type: ignore[arg-type]
        return scores, None
    answered = frame.filter(~pl.col("failed"), pl.col("recognizer").is_in(list(names)))
    times = answered.with_columns(times=pl.len().over(keys)).filter(pl.col("times") > 1)
    full = times.filter(pl.col("times") == pl.col("times").max().over("recognizer"))
    rates = full.group_by("recognizer", "repeat").agg(wer=pl.col("errors").sum() / pl.col("words").sum())
    changed = full.group_by(keys).agg(changed=pl.col("heard").n_unique() > 1)
    found = (
        rates.group_by("recognizer")
        .agg(repeats=pl.len(), repeat_sd=pl.col("wer").std())
        .join(changed.group_by("recognizer").agg(pl.col("changed").mean()), on="recognizer")
    )
    once = answered.unique(keys, keep="first", maintain_order=True)
    never = frame.filter(pl.col("failed")).join(once, on=keys, how="anti").unique(keys, maintain_order=True)
    return replace(scores, frame=pl.concat([once, never]).drop("repeat")), found


def _summed(trials: pl.DataFrame, worst: str | None) -> pl.DataFrame:
    """Return trials summed over the scenarios that no question tells apart: of a category, under the name of its first.

    `trials` says how many a row stands for.
    """
    first: dict[str, str] = {}
    named_as = {
        name: name if name in (CLEAN, worst) else first.setdefault(describe(name).category, name)
        for name in trials["scenario"].unique(maintain_order=True).to_list()
    }
    return (
        trials.with_columns(pl.col("scenario").replace_strict(named_as, return_dtype=pl.String))
        .group_by(pl.exclude("words", "^errors_.*$"), maintain_order=True)
        .agg(pl.col("words", "^errors_.*$").sum(), trials=pl.len().cast(pl.Int64))
    )


def _pairs(trials: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """Return every trial once for each pair: recognizer, against, and the errors of both (`after`, `before`)."""
    return pl.concat(
        trials.select(
            pl.exclude("^errors_.*$"),
            recognizer=pl.lit(names[one]),
            against=pl.lit(names[other]),
            after=f"errors_{one}",
            before=f"errors_{other}",
        )
        for one, other in combinations(range(len(names)), 2)
    )


def _worst(trials: pl.DataFrame) -> str | None:
    """Return the disturbed scenario with the highest error rate of all recognizers together; None where it is the only
    one. Flipping who made which errors leaves that sum as it is, so that the choice favors nobody.
    """
    rates = (
        trials.filter(pl.col("scenario") != CLEAN)
        .group_by("scenario", maintain_order=True)
        .agg(wer=pl.sum_horizontal(pl.col("^errors_.*$").sum()) / pl.col("words").sum())
        .filter(pl.col("wer").is_finite())
        .sort("wer", descending=True, maintain_order=True)
    )
    return str(rates["scenario"][0]) if rates.height > 1 else None


def _ways(trials: pl.DataFrame, attributes: Sequence[str], worst: str | None) -> list[Way]:
    """Return how each pair's trials are cut: all, clean and disturbed, the worst, categories of scenarios, groups."""
    whole: Way = {"recognizer": pl.col("recognizer"), "against": pl.col("against")}
    ways = [whole]
    scenarios = trials["scenario"].unique().to_list()
    categories = {name: describe(name).category for name in scenarios if name != CLEAN}
    if CLEAN in scenarios and categories:
        clean = pl.col("scenario") == CLEAN
        ways += [
            {**whole, "scenario": pl.when(clean).then(pl.lit(CLEAN))},
            {**whole, "scenario": pl.when(~clean).then(pl.lit(DISTURBED))},
        ]
    if worst is not None and worst not in categories.values():
        ways.append({**whole, "scenario": pl.when(pl.col("scenario") == worst).then(pl.lit(worst))})
    if len(set(categories.values())) > 1:
        category = pl.col("scenario").replace_strict(categories, default=None, return_dtype=pl.String)
        ways.append({**whole, "scenario": category})
    return [*ways, *(by_group(whole, place, name) for place, name in enumerate(attributes))]


def _rates(trials: pl.DataFrame, names: Sequence[str], confidence: float) -> pl.DataFrame:
    """Return the error rates of every recognizer on the common trials: all of them, clean and disturbed ones."""
    clean = pl.col("scenario") == CLEAN
    parts = [trials.with_columns(scenario=pl.lit(_whole_name(trials["scenario"].unique().to_list())))]
    if trials["scenario"].n_unique() > 1 and CLEAN in trials["scenario"]:
        parts += [trials.filter(clean), trials.filter(~clean).with_columns(scenario=pl.lit(DISTURBED))]
    # One after the other: all rates of all trials at once would be several times the table.
    return pl.concat(
        error_rates(
            Scores(
                part.select(
                    "utterance",
                    "scenario",
                    "speaker",
                    "words",
                    recognizer=pl.lit(name),
                    errors=f"errors_{place}",
                )
            ),
            ["recognizer", "scenario"],
            confidence=confidence,
        )
        for place, name in enumerate(names)
        for part in parts
    )


def _whole_name(scenarios: Sequence[str]) -> str:
    """Return what all trials together are called: by the scenario, where there is only one."""
    return scenarios[0] if len(scenarios) == 1 else OVERALL


def _ranks(names: Sequence[str], slices: Sequence[Slice], rates: pl.DataFrame) -> dict[str, int]:
    beaten = dict.fromkeys(names, 0)
    for one in slices:
        if one.whole and one.verdict == "shown":
            beaten[_worse(one)] += 1
    wer = dict(
        rates.unique("recognizer", keep="first", maintain_order=True).select("recognizer", "wer").iter_rows()
    )
    return {
        name: 1 + beaten[name] for name in sorted(names, key=lambda name: (beaten[name], wer[name] or 0.0))
    }


# What is said of it


def _better(one: Slice) -> str:
    """Return the recognizer with the lower error rate; the first one where they are equal."""
    return str(one.recognizer if (one.difference or 0.0) <= 0.0 else one.against)


def _worse(one: Slice) -> str:
    return str(one.against if (one.difference or 0.0) <= 0.0 else one.recognizer)


def _in_order(found: Versus) -> list[Slice]:
    """Return the slices pair by pair, what is asked first in front."""
    pairs = [(one.recognizer, one.against) for one in found.whole]
    return sorted(found.slices, key=lambda one: pairs.index((one.recognizer, one.against)))


def _scenario(one: Slice, found: Versus) -> str:
    return one.scenario or _whole_name(found.scenarios)


def _on(scenario: str, found: Versus) -> str:
    if scenario == OVERALL and len(found.scenarios) > 1:
        return f"over {counted(len(found.scenarios), 'scenario')}"
    known = {CLEAN: "on clean speech", DISTURBED: "on disturbed speech"}
    if found.worst is not None:
        known[found.worst] = f"under {found.worst}, the worst scenario"
    return known.get(scenario, f"under {scenario}")


def _where(one: Slice, found: Versus) -> str:
    on = _on(_scenario(one, found), found)
    return on if one.attribute is None else f"for {speakers_of(one.group, one.attribute)} {on}"


def _finding(one: Slice, found: Versus) -> Finding:
    against, scenario = str(one.against), _scenario(one, found)
    finding = slice_finding(one, "versus", FAMILY, found.alpha, _sentence(one, found), scenario, against)
    return replace(finding, against=against)


def _sentence(one: Slice, found: Versus) -> str:
    both, where = f"{one.recognizer} and {one.against}", _where(one, found)
    if one.verdict == "refused":
        people = counted(one.speakers, "speaker")
        return f"Which of {both} is better {where} cannot be judged: {people}, too few to ever show it."
    if one.verdict == "shown":
        fewer = f"{_better(one)} makes fewer errors than {_worse(one)} {where}"
        return f"{fewer}: {_how_much(one)}, {_sure(one, found)}.{_rests(one)}"
    rates = f"WER {percent(one.wer_after)} and {percent(one.wer_before)}"
    if one.verdict == "alike":
        size = f"{100 * found.margin:g} percentage points"
        return f"{both} are alike {where} within {size}: {rates}, {signed_points(one)}."
    if one.low == one.high == 0.0:
        return (
            f"{both} tie {where}: both make as many errors, for every speaker (WER {percent(one.wer_after)})."
        )
    largest = not_excluded([one], "difference")
    return (
        f"{both} cannot be told apart {where}: {rates}, {signed_points(one)}, {_sure(one, found)}; {largest}."
    )


def _sure(one: Slice, found: Versus) -> str:
    several = f", {found.asked} taken together" if found.judged * found.parts > 1 else ""
    return f"{p_value(one.p_adjusted)}{several}"


def _how_much(one: Slice) -> str:
    """Return both rates, the better one first, the points between them and the share of errors saved."""
    turned = (one.difference or 0.0) > 0.0
    rates = (one.wer_before, one.wer_after) if turned else (one.wer_after, one.wer_before)
    ends = [limit for limit in (one.low, one.high) if limit is not None]
    near, far = (min(map(abs, ends)), max(map(abs, ends))) if len(ends) == 2 else (None, None)
    limits = "" if near is None or far is None else f" ({100 * near:.1f} to {100 * far:.1f})"
    text = (
        f"WER {percent(rates[0])} against {percent(rates[1])}, {100 * abs(one.difference or 0.0):.1f} percentage"
        f" points less{limits}"
    )
    shares = [_saved(value, turned=turned) for value in (one.ratio, one.ratio_low, one.ratio_high)]
    if shares[0] is None:
        return text
    ends = sorted(share for share in shares[1:] if share is not None)
    limits = f" ({100 * ends[0]:.0f} to {100 * ends[1]:.0f})" if len(ends) == 2 else ""
    return f"{text}, or {100 * shares[0]:.0f} %{limits} fewer errors"


def _saved(ratio: float | None, *, turned: bool) -> float | None:
    """Return the share of errors that the better one saves, from the ratio of the first one's to the second one's."""
    if ratio is None or (turned and ratio == 0.0):
        return None
    return 1.0 - (1.0 / ratio if turned else ratio)


def _rests(one: Slice) -> str:
    """Return a sentence that says what is left without one utterance; nothing where it rests on none."""
    if not one.rests_on_one or one.difference_without is None:
        return ""
    errors = one.utterance_errors or 0
    who = one.recognizer if errors > 0 else one.against
    more = f"in which {who} makes {counted(abs(errors), 'error')} more"
    utterance = f"the utterance {one_line(one.utterance or '', 60)}, {more}"
    left = abs(one.difference_without)
    if errors * (one.difference or 0.0) < 0.0:
        return f" Against it stands {utterance}: without it the difference is {points(left)}."
    if one.holds:
        return f" Most of it is {utterance}: without it the difference is {points(left)}, still shown."
    return f" It rests on {utterance}: without it a difference of {points(left)} is left, which is not shown."


def _best(found: Versus, on_whom: str) -> Finding:
    """Return which recognizer makes the fewest errors over all trials, or which cannot be told apart there."""
    names, whole = list(found.ranks), found.whole
    first = [name for name, rank in found.ranks.items() if rank == 1]
    judged = [one for one in whole if one.verdict != "refused"]
    about: dict[str, Any] = {
        "id": BEST,
        "measure": "best",
        "unit": "count",
        "estimate": float(len(first)),
        "scenario": _whole_name(found.scenarios),
        "speakers": whole[0].speakers,
        "utterances": whole[0].trials,
        "words": whole[0].words,
        "headline": True,
    }
    if len(judged) < len(whole):
        refused = next(one for one in whole if one.verdict == "refused")
        about |= {"estimate": None, "code": "too_few_speakers"}
        return Finding(verdict="refused", sentence=_sentence(refused, found), **about)
    if len(names) == 2:
        about |= {"p": whole[0].p, "p_adjusted": whole[0].p_adjusted, "family": FAMILY}
        if whole[0].verdict == "shown":
            about |= {"recognizer": first[0], "against": _worse(whole[0])}
        elif whole[0].verdict == "not_shown":
            about["excludes"] = whole[0].excludes
        return Finding(verdict=whole[0].verdict, sentence=_of_two(whole[0], found, on_whom), **about)
    wer = dict(found.rates.unique("recognizer", keep="first").select("recognizer", "wer").iter_rows())
    where = _on(_whole_name(found.scenarios), found) + on_whom
    behind = [f"{name} {percent(wer[name])}" for name in names if name not in first]
    if len(first) == 1:
        own = [one for one in whole if first[0] in (one.recognizer, one.against)]
        sure = max(own, key=lambda one: one.p_adjusted or 0.0)
        sentence = (
            f"{first[0]} makes the fewest errors of {counted(len(names), 'recognizer')} {where}: WER"
            f" {percent(wer[first[0]])}, against {listed(behind)}; fewer than each of them,"
            f" {p_value(sure.p_adjusted)} or less, {found.asked} taken together."
        )
        about |= {"recognizer": first[0], "p_adjusted": sure.p_adjusted, "family": FAMILY}
        return Finding(verdict="shown", sentence=sentence, **about)
    tied = [one for one in whole if {one.recognizer, one.against} <= set(first)]
    alike = all(one.verdict == "alike" for one in tied)
    largest = f"; {not_excluded(tied, 'difference between them')}"
    if alike:
        largest = f"; they are alike within {100 * found.margin:g} percentage points"
    rates = listed(f"{name} {percent(wer[name])}" for name in first)
    sentence = (
        f"{len(first)} of {counted(len(names), 'recognizer')} share the first place {where}: WER {rates}{largest}."
        + (f" Behind: {listed(behind)}." if behind else "")
    )
    return Finding(verdict="alike" if alike else "not_shown", sentence=sentence, **about)


def _of_two(one: Slice, found: Versus, on_whom: str) -> str:
    """Return which of two recognizers to take: over all trials, then on parts of them, then in how many comparisons."""
    better, worse = _better(one), _worse(one)
    where = _where(one, found) + on_whom
    rates = sorted((one.wer_after or 0.0, one.wer_before or 0.0))
    about = f"WER {percent(rates[0])} and {percent(rates[1])}, {p_value(one.p_adjusted)}"
    if one.verdict == "shown":
        first = f"{better} is better than {worse} {where}: {_how_much(one)}, {p_value(one.p_adjusted)}."
        first += _rests(one)
    elif one.verdict == "alike":
        within = f"{100 * found.margin:g} percentage points"
        first = f"{better} and {worse} are alike {where} within {within} ({about})."
    elif one.low == one.high == 0.0:
        return f"{better} and {worse} tie {where}: both make as many errors, for every speaker ({about})."
    else:
        first = f"{better} and {worse} tie {where}: {about}; {not_excluded([one], 'difference')}."
    wins = [_better(other) for other in found.slices if other.verdict == "shown"]
    counts = ""
    if found.judged > 1 and wins:
        in_all = f"{wins.count(better) or 'none'} of {counted(found.judged, 'comparison')}"
        counts = f" {better} is shown to be better in {in_all}, {worse} in {wins.count(worse) or 'none'}."
    elif found.judged > 1:
        counts = f" Neither is shown to be better in any of {counted(found.judged, 'comparison')}."
    return f"{first}{_parts(found, better if one.verdict == 'shown' else '')}{counts}"


def _parts(found: Versus, best: str) -> str:
    """Return who is better on clean speech, on disturbed speech and in the worst scenario, where they were heard."""
    sentences: dict[str, list[str]] = {}
    for one in found.slices:
        if one.attribute is not None or one.scenario not in (CLEAN, DISTURBED, found.worst) or one.whole:
            continue
        rates = sorted((one.wer_after or 0.0, one.wer_before or 0.0))
        part = f"{_where(one, found)} ({percent(rates[0])} against {percent(rates[1])}"
        if one.verdict == "shown":
            claim = "It is also better" if _better(one) == best else f"{_better(one)} is better"
            sentences.setdefault(claim, []).append(f"{part})")
        elif one.verdict == "not_shown":
            largest = not_excluded([one], "difference")
            sentences.setdefault("No difference is shown", []).append(f"{part}; {largest})")
    return "".join(
        f" {claim} {' and '.join(filter(None, (', '.join(parts[:-1]), parts[-1])))}."
        for claim, parts in sentences.items()
    )


def _wers(found: Versus) -> Iterator[Finding]:
    for row in found.rates.iter_rows(named=True):
        name, scenario = row["recognizer"], row["scenario"]
        rate = percent_interval(row["wer"], row["low"], row["high"])
        common = f"{counted(row['utterances'], 'trial')} that all recognizers heard"
        yield Finding(
            id=finding_id("versus", name, scenario, "wer"),
            measure="wer",
            verdict="measured",
            sentence=f"{name} gets {rate} of the words wrong {_on(scenario, found)} ({common}).",
            estimate=row["wer"],
            level=1.0 - found.alpha,
            recognizer=name,
            scenario=scenario,
            **of_row(row),
        )


def _ranking(found: Versus) -> Table:
    rows = []
    for name, rank in found.ranks.items():
        own = {row["scenario"]: row for row in found.rates.filter(pl.col("recognizer") == name).to_dicts()}
        whole = own.pop(_whole_name(found.scenarios))
        row = {"rank": rank, **{key: whole[key] for key in ("recognizer", "wer", "low", "high")}}
        for part, values in own.items():
            row |= {part: values["wer"], f"{part}_low": values["low"], f"{part}_high": values["high"]}
        rows.append({**row, **{key: whole[key] for key in ("speakers", "utterances", "words")}})
    parts = [part for part in (CLEAN, DISTURBED) if part in rows[0]]
    columns = [
        ("rank", "", "count"),
        ("recognizer",),
        ("wer", f"WER {_on(_whole_name(found.scenarios), found)}", "percent", "low", "high"),
        *((part, part, "percent", f"{part}_low", f"{part}_high") for part in parts),
        *(("speakers", "", "count"), ("words", "", "count")),
    ]
    note = "Recognizers share a rank unless one is shown to make fewer errors than the other."
    return tabulate("ranking", "Ranks by word error rate", rows, columns, note=note)


def _beside(
    scores: Scores, trials: pl.DataFrame, found: Versus, repeats: pl.DataFrame | None
) -> Table | None:
    """Return what else transcripts tell of each recognizer; None where there are no texts.

    Errors are those of the common trials; empty answers, failures, waiting and cost those of all that it was asked.
    """
    if "heard" not in scores.frame.columns:
        return None
    frame = scores.frame.filter(pl.col("recognizer").is_in(list(found.ranks)))
    common = frame.filter(~pl.col("failed")).join(
        trials.select("utterance", "scenario"), on=("utterance", "scenario"), how="semi"
    )
    weighty, _, _ = weighed(common, weights_of(common), Pairs.of(common["said"], common["heard"]))
    seconds = next((name for name in ("seconds", "latency_ms") if name in frame.columns), None)
    asked = [pl.len().alias("asked"), pl.col("failed").mean().alias("failures")]
    asked.append(((pl.col("heard") == "") & (pl.col("said") != "") & ~pl.col("failed")).mean().alias("empty"))
    if seconds:
        scale = 1000.0 if seconds == "latency_ms" else 1.0
        times = pl.Series(replace(scores, frame=frame).numbers(seconds)).fill_nan(None) / scale
        frame = frame.with_columns(_seconds=times)
        # What never came is later than all that did, as in `waiting`.
        longest = pl.col("_seconds").max().over("recognizer")
        frame = frame.with_columns(_seconds=pl.when("failed").then(longest).otherwise("_seconds"))
        asked.append(pl.col("_seconds").drop_nulls().sort().alias("waits"))
    if "cost" in frame.columns:
        frame = frame.with_columns(_cost=pl.Series(replace(scores, frame=frame).numbers("cost")))
        asked.append((1000.0 * mean_of("_cost")).alias("cost"))
    table = (
        pl.DataFrame({"recognizer": list(found.ranks), "rank": list(found.ranks.values())})
        .join(
            found.rates.filter(pl.col("scenario") == _whole_name(found.scenarios)).select(
                "recognizer", "wer", "low", "high"
            ),
            on="recognizer",
            maintain_order="left",
        )
        .join(
            weighty.group_by("recognizer").agg(
                cer=pl.col("character_errors").sum() / pl.col("characters").sum(),
                serious=pl.col("serious").mean(),
                keyword=pl.col("keyword_errors").sum() / pl.col("keyword_said").sum(),
            ),
            on="recognizer",
            maintain_order="left",
        )
        .join(frame.group_by("recognizer").agg(asked), on="recognizer", maintain_order="left")
        .with_columns(pl.col("cer", "keyword").fill_nan(None))
    )
    if seconds:
        waits = [one.to_numpy() for one in table["waits"]]
        for name, share in (("p50", 0.5), ("p95", 0.95)):
            values = [quantile(one, share) if len(one) else None for one in waits]
            table = table.with_columns(pl.Series(name, values, dtype=pl.Float64))
        table = table.drop("waits")
    columns = (
        "rank: rank, count; recognizer; wer[low,high]; cer; serious: errors that matter, percent; keyword: keywords,"
        " percent; empty: empty, percent; failures: failures, percent"
    )
    columns += "; p50: p50, s, ratio; p95: p95, s, ratio" if seconds else ""
    columns += "; cost: $ per 1,000, ratio" if "cost" in table.columns else ""
    note = "Errors that matter: of the utterances. Empty answers, failures, waiting, cost: of all that it was asked."
    if repeats is not None:
        # Speakers: the standard error that belongs to the interval.
        table = table.join(repeats, on="recognizer", how="left", maintain_order="left").with_columns(
            speakers_se=(pl.col("high") - pl.col("low")) / 3.92
        )
        columns += "; repeats: repeats, count; repeat_sd: s.d. of repeats, percent"
        columns += "; speakers_se: s.e. of speakers, percent; changed: answers that changed, percent"
        note += " Only the first of repeated answers is compared."
    return tabulate("services", "What else they differ in", table, columns, note=note)


def _fronts(table: pl.DataFrame) -> Iterator[Figure]:
    """Yield errors against waiting and against cost; a line joins those that no other beats in both."""
    for name, id_, title, axis in (
        ("p50", "waiting", "Errors and waiting", "seconds per answer, median"),
        ("cost", "cost", "Errors and cost", "US dollars per 1,000 answers"),
    ):
        if name not in table.columns or table[name].drop_nulls().len() < 2:
            continue
        rows = table.drop_nulls([name, "wer"])
        x, y = rows[name].to_numpy(), 100.0 * rows["wer"].to_numpy()
        best = pareto_front(x, y)
        line = tuple(sorted(zip(x[best].tolist(), y[best].tolist(), strict=True)))
        names = tuple(rows["recognizer"].to_list())
        on = [one for one, optimal in zip(names, best, strict=True) if optimal]
        alt = f"A point for each recognizer, by {axis} and WER; no other beats {listed(on)} in both."
        points = Points(tuple(x.tolist()), tuple(y.tolist()), names, axis, "WER, %", line, names)
        yield Figure(id_, title, alt, points, "services")


def _outcome(one: Slice) -> str:
    if one.verdict == "shown":
        return f"{_better(one)} better"
    return {"not_shown": "not shown", "alike": "alike"}.get(one.verdict, "too few speakers")


def _differences(found: Versus) -> Table:
    renamed = {"wer_after": "wer", "wer_before": "wer_against"}
    rows = [
        {renamed.get(name, name): value for name, value in asdict(one).items()}
        | {"slice": one.label, "outcome": _outcome(one), "family": None if one.p is None else FAMILY}
        for one in _in_order(found)
    ]
    columns = (
        "recognizer; against; slice; wer; wer_against: against, percent; difference[low,high];"
        " ratio[ratio_low,ratio_high]; visible: visible from, percent; p_adjusted: p adj., p;"
        " outcome: verdict; speakers"
    )
    note = (
        "Difference and ratio: the first recognizer's error rate less, and over, the other's. Visible from: the"
        " smallest difference that would have been shown four times in five, in percent of the words."
    )
    return tabulate("differences", "Differences of the word error rate", rows, columns, note=note)


def _figures(found: Versus) -> Iterator[Figure]:
    several = len(found.ranks) > 2
    rows = tuple(
        ForestRow(
            f"{one.recognizer} - {one.against}" if several else one.label,
            Cell(one.difference, one.low, one.high),
            one.verdict == "shown",
            _outcome(one),
        )
        for one in _in_order(found)
        if one.difference is not None and (one.whole or not several)
    )
    if not rows:
        return
    names = list(found.ranks)
    first = found.whole[0]
    axis = "difference of WER in percentage points"
    if not several:
        axis = f"WER of {first.recognizer} minus {first.against}, in percentage points"
    title = "Differences of the word error rate" + (
        "" if several else f", {first.recognizer} - {first.against}"
    )
    alt = (
        f"Differences of WER between {listed(names)} with {100 * (1 - found.alpha):g} % intervals;"
        f" {sum(row.shown for row in rows)} of {len(rows)} are shown."
    )
    yield Figure("differences", title, alt, Forest(rows, axis, no_difference=0.0, log=False), "differences")


def _shared_note(found: Versus, names: Sequence[str]) -> Note:
    text = (
        f"{found.trials:,} trials that {'both' if len(names) == 2 else 'all'} recognizers heard are compared"
    )
    lost = {name: count for name, count in found.left_out.items() if count}
    if lost:
        each = ", ".join(f"{count:,} of {name}" for name, count in lost.items())
        text += f"; trials that another one lacks (not heard, failed or not scored) are left out: {each}"
    return Note("common", text, {"trials": found.trials, "left_out": dict(found.left_out)})


def _more_notes(scores: Scores, found: Versus, names: Sequence[str]) -> Iterator[Note]:
    if scores.run is not None:
        failed = dict(scores.run.failures.group_by("recognizer").len().iter_rows())
        if lost := {name: failed[name] for name in names if failed.get(name)}:
            each = ", ".join(f"{count:,} of {name}" for name, count in lost.items())
            text = f"trials failed ({each}): who fails where it is bad looks better than it is"
            yield Note("failures", text, lost)
    if len(found.scenarios) > 1:
        text = (
            "ranks are by errors made; who loses least by disturbance, weighed by how hard each scenario is (Speech"
            " Robust Bench), is what the audit `robustness` ranks"
        )
        yield Note("robustness", text)
    yield from (Note("filter", text) for text in scores.notes)


def _method(found: Versus) -> str:
    beyond = f" by more than {100 * found.margin:g} percentage points" if found.margin else ""
    together = ", also with all pairs and parts taken together" if found.judged > 1 else ""
    return (
        "All recognizers heard the same trials, which are compared in pairs; speakers are the sample. One is called"
        f" better where its error rate is lower{beyond} beyond what flipping the signs of whole speakers' differences"
        f" explains{together}. All trials are asked about first, with four fifths of the level; parts have the rest,"
        " and all of it where every pair differs over all trials. What cannot be told apart is a tie, not a proof of"
        " likeness: each says the largest difference that is not excluded."
    )
