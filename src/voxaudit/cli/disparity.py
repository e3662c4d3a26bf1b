"""`voxaudit disparity`: error rates of groups compared by a mixed-effects Poisson regression."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from voxaudit.cli.arguments import names, natural

if TYPE_CHECKING:
    import polars as pl

    from voxaudit.audits.disparity.result import Disparity, Effect, Fit, Interaction
    from voxaudit.audits.disparity.table import Numeric

EXAMPLE = "voxaudit disparity RUN --attribute gender --controls age --by recognizer,scenario"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "table",
        metavar="TABLE",
        help="a run's folder, or a table (csv, tsv, jsonl, parquet), one row an utterance",
    )
    parser.add_argument(
        "--attribute", required=True, metavar="COL", help="the sensitive attribute: whose gap is measured"
    )
    parser.add_argument("--reference", metavar="GROUP", help="the group all others are compared with")
    parser.add_argument(
        "--controls",
        default="",
        metavar="COL,...",
        help="control attributes, held fixed: numbers as they are, text as categories; C(COL) makes numbers categories",
    )
    parser.add_argument("--by", default="", metavar="COL,...", help="fit every combination of these apart")
    parser.add_argument(
        "--interaction", metavar="COL", help="ask whether this column (scenario, say) hurts some groups more"
    )
    parser.add_argument(
        "--interaction-reference",
        metavar="VALUE",
        help="its value to compare with (default: clean, or the first)",
    )
    parser.add_argument(
        "--errors", default="errors", metavar="COL", help="count of word errors (default: errors)"
    )
    parser.add_argument(
        "--words", default="words", metavar="COL", help="count of reference words (default: words)"
    )
    parser.add_argument("--speaker", default="speaker", metavar="COL", help="the speaker (default: speaker)")
    parser.add_argument(
        "--no-random",
        action="store_true",
        help="no speaker effect: plain Poisson regression, intervals too narrow",
    )
    parser.add_argument(
        "--nodes",
        type=_nodes,
        default=25,
        metavar="K",
        help="quadrature nodes a speaker (default: 25; 1 = Laplace); more are taken where K do not suffice",
    )
    parser.add_argument(
        "--interval",
        choices=("profile", "wald", "robust"),
        default="profile",
        help="which interval and p-value to show (default: profile likelihood); JSON has all",
    )
    parser.add_argument(
        "--text",
        metavar="COL",
        help="column of the reference text: hold fixed what is said, by sentence embeddings",
    )
    parser.add_argument("--plot", metavar="FILE", help="write a forest plot (.png or .svg)")
    parser.add_argument("--modes", action="store_true", help="add every speaker's own effect to the JSON")
    parser.add_argument(
        "--resamples",
        type=int,
        default=2000,
        metavar="N",
        help="bootstrap draws of the baseline (default: 2000)",
    )
    parser.add_argument(
        "--seed", type=natural, default=0, metavar="N", help="seed of the bootstrap (default: 0)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def _nodes(text: str) -> int:
    value = int(text)
    if not 1 <= value <= 200:
        raise argparse.ArgumentTypeError(f"must be between 1 and 200, not {value}")
    return value


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    # The matrices here are small: threads would only wait for each other. Set before numpy is loaded.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from voxaudit.audits.disparity import disparity
    from voxaudit.audits.disparity.plot import check_plot_path, forest_plot
    from voxaudit.audits.inputs import read_scores
    from voxaudit.cli.output import note, print_json

    if args.plot:
        check_plot_path(args.plot)
    path = Path(args.table)
    folder = path if path.is_dir() else None
    table = read_scores(path)
    ask = partial(
        disparity,
        table,
        attribute=args.attribute,
        errors=args.errors,
        words=args.words,
        speaker=args.speaker,
        reference=args.reference,
        controls=names(args.controls),
        by=names(args.by),
        interaction=args.interaction,
        interaction_reference=args.interaction_reference,
        random=not args.no_random,
        nodes=args.nodes,
        interval=args.interval,
        resamples=max(args.resamples, 0),
        seed=args.seed,
        modes=args.modes,
        where=str(path),
    )
    plain: Disparity | None = None
    extra: Sequence[Numeric] = ()
    said: Sequence[str] = ()
    if args.text:
        from voxaudit.audits.disparity.embeddings import embedding_controls

        speaker = None if args.no_random else args.speaker
        texts = _with_texts(table, args.text, folder)
        extra, said = embedding_controls(texts, args.text, speaker, where=str(path))
        plain = ask(resamples=0)
    result = ask(extra=extra)
    for line in (*said, *result.notes):
        note(f"note: {line}")
    if args.plot:
        forest_plot(result, args.plot)
        note(f"note: plot written to {args.plot}")
    if args.json:
        document = {"table": str(path), **result.as_dict()}
        if plain is not None:
            document |= {"text": said[0], "without_text": plain.as_dict()["fits"]}
        print_json(document)
    else:
        _print(result)
        if plain is not None:
            _print_source(plain, result)
    return 0


def _with_texts(table: pl.DataFrame, column: str, folder: Path | None) -> pl.DataFrame:
    """Return the table with the reference text; a run keeps it beside the scores, in its corpus."""
    if column in table.columns or folder is None:
        return table
    from voxaudit.tables import read_table, require_columns

    corpus = read_table(folder / "corpus.parquet")
    require_columns(corpus, ["id", column], folder / "corpus.parquet")
    texts = corpus.select(utterance="id", **{column: column})
    return table.join(texts, on="utterance", how="left", maintain_order="left")


def _print(result: Disparity) -> None:
    from voxaudit.cli.output import print_table, printable

    by = list(result.by)
    rows = [row for fit in result.fits if fit.effects for row in (_reference_row(fit), *_rows(fit))]
    adjusted = result.family["effects"] > 1
    print_table(
        f"Errors relative to {result.attribute} = {printable(result.reference)}",
        [
            *by,
            result.attribute,
            "speakers",
            "WER",
            "ratio",
            "95 % interval",
            "robust",
            "p",
            "p Holm",
            "p BH",
            "verdict",
        ]
        if adjusted
        else [*by, result.attribute, "speakers", "WER", "ratio", "95 % interval", "robust", "p", "verdict"],
        [row if adjusted else [*row[:-3], row[-1]] for row in rows],
    )
    if any(effect.baseline for fit in result.fits for effect in fit.effects):
        print_table(
            "The baseline beside it: ratio of raw word error rates, nothing controlled for",
            [*by, result.attribute, "raw ratio", "utterances resampled (too narrow)", "speakers resampled"],
            [_baseline_row(fit, effect) for fit in result.fits for effect in fit.effects if effect.baseline],
        )
    for fit in result.fits:
        _print_fit(fit, alone=len(result.fits) == 1)
    for line in _warnings(result.fits):
        print(f"- {printable(line)}")
    if adjusted:
        print(
            f"p Holm and p BH are adjusted for {result.family['effects']} comparisons. A gap counts as shown where"
            " both the likelihood's and the speaker-robust p-value stay below 0.05 after Holm."
        )


def _reference_row(fit: Fit) -> list[str]:
    return [*_observed(fit, fit.reference), "1", "reference", *["-"] * 4, ""]


def _observed(fit: Fit, group: str) -> list[str]:
    found = next(one for one in fit.groups if one.group == group)
    people = "-" if found.speakers is None else f"{found.speakers:,}"
    return [*(str(value) for value in fit.by.values()), group, people, f"{100 * found.wer:.1f} %"]


def _rows(fit: Fit) -> list[list[str]]:
    return [_row(fit, effect) for effect in fit.effects]


def _print_source(plain: Disparity, result: Disparity) -> None:
    from voxaudit.cli.output import print_table

    rows = []
    for before, after in zip(plain.fits, result.fits, strict=True):
        texts = {effect.group: effect for effect in after.effects}
        rows += [
            [
                *(str(value) for value in before.by.values()),
                effect.group,
                f"{effect.ratio:.2f} ({_span(effect.ci_low, effect.ci_high)})",
                f"{then.ratio:.2f} ({_span(then.ci_low, then.ci_high)})",
            ]
            for effect in before.effects
            if (then := texts.get(effect.group)) is not None
        ]
    print_table(
        "What is said, or how it is said? A gap that stays when the text is controlled for is one of acoustics",
        [*result.by, result.attribute, "as it is", "text controlled for"],
        rows,
    )


def _row(fit: Fit, effect: Effect) -> list[str]:
    from voxaudit.wording import p_cell

    return [
        *_observed(fit, effect.group),
        f"{effect.ratio:.2f}",
        _span(effect.ci_low, effect.ci_high),
        "-" if effect.robust is None else _span(effect.robust.ci_low, effect.robust.ci_high),
        p_cell(effect.p),
        p_cell(effect.p_holm),
        p_cell(effect.p_bh),
        effect.verdict,
    ]


def _baseline_row(fit: Fit, effect: Effect) -> list[str]:
    raw = effect.baseline
    spans = [None, None] if raw is None else [raw.utterances, raw.speakers]
    return [
        *(str(value) for value in fit.by.values()),
        effect.group,
        "-" if raw is None else f"{raw.ratio:.2f}",
        *("-" if span is None else _span(span.ci_low, span.ci_high) for span in spans),
    ]


def _print_fit(fit: Fit, *, alone: bool) -> None:
    from voxaudit.cli.output import print_table, printable
    from voxaudit.wording import p_value

    start = f"{printable(_part(fit))}: " if fit.by else ""
    if fit.refusal:
        print(f"{start}refused: {printable(fit.refusal)}")
        return
    if alone:
        people = "" if fit.speakers is None else f", {fit.speakers:,} speakers"
        print(f"{fit.utterances:,} utterances{people}. {_left_out(fit)}".rstrip())
        if fit.lrt is not None:
            print(
                f"Does {fit.attribute} matter at all? likelihood ratio {fit.lrt.chi2:.2f} on {fit.lrt.df} df,"
                f" {p_value(fit.lrt.p)}"
                + ("" if fit.robust is None else f"; speaker-robust {p_value(fit.robust.p)}")
            )
        if fit.sigma is not None and fit.dispersion is not None:
            print(
                f"Speakers differ by a factor of {2.718281828459045**fit.sigma:.2f} (one sigma = {fit.sigma:.3f} on"
                f" the log scale); dispersion {fit.dispersion['poisson']:.2f} against Poisson,"
                f" {fit.dispersion['mixed'] or float('nan'):.2f} within speakers."
            )
        if len(fit.controls) > 1:
            print_table(
                "Held fixed (log-ratios per unit, or against the first value)",
                ["term", "estimate", "standard error", "robust"],
                [[c.term, f"{c.estimate:+.4f}", _number(c.se), _number(c.robust_se)] for c in fit.controls],
            )
    if fit.interaction is not None:
        _print_interaction(fit.interaction, start, fit.reference)


def _part(fit: Fit) -> str:
    return ", ".join(f"{column} = {value}" for column, value in fit.by.items())


def _warnings(fits: Sequence[Fit]) -> list[str]:
    """Return what to know about the fits, each thing once: with its part, or with the number of parts it holds for.

    Warnings that differ in their figures alone are one, with the range of these. Names stand in quotes, and stay.
    """
    fitted = [fit for fit in fits if not fit.refusal]
    if len(fitted) == 1 and not fitted[0].by:
        return list(fitted[0].warnings)
    found: dict[str, list[tuple[Fit, list[str]]]] = {}
    for fit in fitted:
        for line in fit.warnings:
            form = _FIGURE.sub(lambda one: one["name"] or "\0", line)
            figures = [one["figure"] for one in _FIGURE.finditer(line) if one["figure"]]
            found.setdefault(form, []).append((fit, figures))
    lines = []
    for form, places in found.items():
        spans = map(_range, zip(*(figures for _, figures in places), strict=True))
        text = "".join(piece + next(spans, "") for piece in form.split("\0"))
        parts = len({_part(fit) for fit, _ in places})
        if parts == 1:
            lines.append(f"{_part(places[0][0])}: {text}")
        elif parts == len(fitted):
            lines.append(f"all {len(fitted)} parts: {text}")
        else:
            lines.append(f"{parts} of {len(fitted)} parts (--json says which): {text}")
    return lines


_FIGURE = re.compile(r"(?P<name>'[^']*')|(?P<figure>(?<!\S)\d+(?:,\d{3})*(?:\.\d+)?(?=[,;:.]?(?:\s|$)))")


def _range(figures: Sequence[str]) -> str:
    ranked = sorted(figures, key=lambda figure: float(figure.replace(",", "")))
    return ranked[0] if ranked[0] == ranked[-1] else f"{ranked[0]} to {ranked[-1]}"


def _left_out(fit: Fit) -> str:
    if not fit.left_out:
        return ""
    reasons = ", ".join(f"{count:,} {reason}" for reason, count in fit.left_out.items())
    return f"{sum(fit.left_out.values()):,} left out: {reasons}."


def _print_interaction(found: Interaction, start: str, reference: str) -> None:
    from voxaudit.cli.output import print_table, printable
    from voxaudit.wording import p_cell, p_value

    rows: Sequence[Sequence[str]] = [
        [c.at, c.group, f"{c.ratio:.2f}", _span(c.ci_low, c.ci_high), p_cell(c.p), p_cell(c.p_holm)]
        for c in found.contrasts
    ]
    print_table(
        f"{start}How much more {printable(found.column)} multiplies the errors of a group than those of"
        f" {printable(reference)} (from {printable(found.reference)})",
        [found.column, "group", "ratio of ratios", "95 % interval (robust)", "p", "p Holm"],
        rows,
    )
    robust = "" if found.robust is None else f"speaker-robust {p_value(found.robust.p)}; "
    print(
        f"{start}{found.verdict} ({robust}likelihood ratio {found.lrt.chi2:.2f} on {found.lrt.df} df,"
        f" {p_value(found.lrt.p)}, if all speakers of a group reacted alike)"
    )


def _span(low: float | None, high: float | None) -> str:
    def show(value: float | None) -> str:
        return "-" if value is None else "infinite" if value == float("inf") else f"{value:.2f}"

    return f"{show(low)} to {show(high)}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"
