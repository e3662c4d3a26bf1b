"""`voxaudit study`: listening studies in the browser, from choosing recordings to the analysis."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from voxaudit.cli.arguments import add_corpus_arguments, natural, read_corpus_as_asked

if TYPE_CHECKING:
    from voxaudit.review.study.analyze import Analysis
    from voxaudit.review.study.ratings import Comprehensibility
    from voxaudit.review.study.realism import Realism
    from voxaudit.review.study.study import Study

EXAMPLE = "voxaudit study create manifest.csv --scenarios aequevox --out studies/first"
MORE = """
  voxaudit study create --kind realism --real stuttered/ --generated made/ --pairs 10 --out studies/real
  voxaudit study serve studies/first --participants 20
  voxaudit study analyze studies/first --ratings ratings.csv"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.epilog = f"{parser.epilog or ''}{MORE}"
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    create = actions.add_parser("create", help="choose recordings and make the study", allow_abbrev=False)
    create.add_argument("corpus", nargs="?", metavar="CORPUS", help="for comprehensibility: what people hear")
    create.add_argument(
        "--kind",
        choices=("comprehensibility", "realism"),
        default="comprehensibility",
        help="rate disturbed speech 1 to 10 (default), or tell generated recordings from real ones",
    )
    create.add_argument(
        "--scenarios",
        nargs="+",
        action="extend",
        metavar="ID",
        help="scenario ids and suites to rate (default: quick)",
    )
    create.add_argument(
        "--utterances",
        type=int,
        default=1,
        metavar="N",
        help="utterances heard in every scenario (default: 1)",
    )
    create.add_argument("--real", metavar="CORPUS", help="for realism: real recordings")
    create.add_argument("--generated", metavar="CORPUS", help="for realism: generated recordings")
    create.add_argument("--pairs", type=int, default=10, metavar="N", help="for realism (default: 10)")
    create.add_argument("--each", type=int, metavar="N", help="questions for one participant (default: all)")
    create.add_argument("--seed", type=natural, default=0, metavar="N", help="default: 0")
    create.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder of the study")
    add_corpus_arguments(create)
    serve = actions.add_parser("serve", help="let people take part in their browsers", allow_abbrev=False)
    serve.add_argument("study", metavar="STUDY", help="the study's folder")
    serve.add_argument(
        "--participants", type=int, default=1, metavar="N", help="links to give out (default: 1)"
    )
    serve.add_argument("--port", type=int, default=0, metavar="N", help="default: any free one")
    serve.add_argument(
        "--host", default="127.0.0.1", metavar="H", help="default: 127.0.0.1, this machine only"
    )
    serve.add_argument(
        "--allow-remote", action="store_true", help="with --host: let other machines take part"
    )
    serve.add_argument(
        "--public-url",
        metavar="URL",
        help="the address people see, where a proxy stands in front of the server",
    )
    analyze = actions.add_parser(
        "analyze", help="what the answers say, also while it runs", allow_abbrev=False
    )
    analyze.add_argument(
        "study",
        metavar="STUDY",
        help="the study's folder, or a table: perturbation, setting, participant, rating",
    )
    analyze.add_argument(
        "--ratings", type=Path, metavar="FILE", help="write the ratings for voxaudit differential"
    )
    analyze.add_argument(
        "--exclude",
        nargs="+",
        action="extend",
        default=[],
        metavar="SCENARIO",
        help="leave these out: a scenario (amp:2.0) or a perturbation (amp)",
    )
    analyze.add_argument(
        "--keep-inattentive", action="store_true", help="count those who failed more than one attention check"
    )
    analyze.add_argument("--json", action="store_true", help="print one JSON document")


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    return {"create": _create, "serve": _serve, "analyze": _analyze}[args.action](args)


def _create(args: argparse.Namespace) -> int:
    from voxaudit.cli.output import note
    from voxaudit.errors import VoxauditError
    from voxaudit.review.study.create import create_comprehensibility, create_realism

    if args.kind == "comprehensibility":
        if args.corpus is None or args.real or args.generated:
            raise VoxauditError(f"a study of comprehensibility needs one corpus: {EXAMPLE}")
        corpus = read_corpus_as_asked(args.corpus, args)
        study = create_comprehensibility(
            corpus,
            args.scenarios or ["quick"],
            out=args.out,
            utterances=args.utterances,
            each=args.each,
            seed=args.seed,
        )
    else:
        if args.corpus is not None or not args.real or not args.generated:
            raise VoxauditError("a study of realism needs --real CORPUS and --generated CORPUS")
        real, generated = (read_corpus_as_asked(path, args) for path in (args.real, args.generated))
        study = create_realism(
            real, generated, out=args.out, pairs=args.pairs, each=args.each, seed=args.seed
        )
    asked = f"{study.each} questions and {len(study.checks)} attention checks each"
    print(f"{study.folder}: {len(study.questions)} questions; a participant gets {asked}")
    note(f"next: voxaudit study serve {study.folder} --participants 20")
    return 0


def _serve(args: argparse.Namespace) -> int:
    from urllib.parse import urlsplit

    from voxaudit.cli.output import note
    from voxaudit.errors import VoxauditError
    from voxaudit.review.study.answers import open_answers
    from voxaudit.review.study.app import by_link, study_app
    from voxaudit.review.study.study import participants, read_study
    from voxaudit.review.web import running, until_interrupted

    if not 1 <= args.participants <= 10_000:
        raise VoxauditError(f"a study has 1 to 10,000 participants, not {args.participants}")
    study = read_study(args.study)
    people = participants(study, args.participants)
    public = urlsplit(args.public_url or "")
    if args.public_url and (public.scheme not in ("http", "https") or not public.hostname):
        raise VoxauditError(f"--public-url must start with http:// or https://, not '{args.public_url}'")

    with (
        open_answers(study.folder) as answers,
        running(
            study_app(study, people, answers),
            host=args.host,
            port=args.port,
            authorize=by_link(people),
            names=(public.netloc,) if public.netloc else (),
            any_host=args.allow_remote,
            log=note,
        ) as server,
    ):
        base = args.public_url.rstrip("/") + "/" if args.public_url else server.url
        for one in people:
            print(f"{one.name}\t{base}?token={one.token}", flush=True)
        note(
            "One link for each participant; answers are kept as they come. Ctrl-C ends the server, not the study."
        )
        until_interrupted()
    return 0


def _analyze(args: argparse.Namespace) -> int:
    from voxaudit.cli.output import note, print_json
    from voxaudit.errors import VoxauditError
    from voxaudit.review.study.analyze import analyze_study, write_ratings
    from voxaudit.review.study.ratings import Comprehensibility, analyze_ratings, read_ratings_table
    from voxaudit.review.study.study import read_study

    if Path(args.study).is_dir():
        study = read_study(args.study)
        found = analyze_study(study, keep_inattentive=args.keep_inattentive, exclude=args.exclude)
        result, ratings, document = found.result, found.ratings, found.to_dict()
        _note_people(study, found)
    else:
        ratings = read_ratings_table(args.study)
        result = analyze_ratings(ratings, args.exclude)
        document = result.to_dict()
    if args.ratings is not None:
        if ratings is None:
            raise VoxauditError("only a study of comprehensibility has ratings to write")
        write_ratings(ratings, args.ratings)
        note(
            f"Ratings written to {args.ratings}; use them with: voxaudit differential RUN --ratings {args.ratings}"
        )
    if args.json:
        print_json(document)
    elif isinstance(result, Comprehensibility):
        _print_ratings(result)
    else:
        _print_realism(result)
    return 0


def _note_people(study: Study, found: Analysis) -> None:
    from voxaudit.cli.output import note

    note(f"{_people(found.started)} began, {found.finished} answered everything")
    if found.inattentive:
        note(f"failed more than one attention check: {', '.join(found.inattentive)} (see --keep-inattentive)")


def _print_ratings(found: Comprehensibility) -> None:
    from voxaudit.cli.output import print_table, printable
    from voxaudit.wording import p_cell

    rows = [
        [
            cell.perturbation,
            cell.setting or "-",
            f"{cell.mean:.2f}",
            _range(cell.low, cell.high, 2),
            f"{cell.degradation:.2f} %",
            cell.participants,
        ]
        for cell in found.cells
    ]
    head = ["perturbation", "setting", "mean rating, 1 to 10", "95 % interval", "degradation", "participants"]
    print_table("How comprehensible people find it", head, rows)
    steps = [
        [
            drop.perturbation,
            f"{drop.mildest} to {drop.strongest}",
            f"{drop.degradation_mildest:.2f} %",
            f"{drop.degradation_strongest:.2f} %",
            f"{drop.drop:.2f}",
            _range(drop.low, drop.high, 2),
            "-" if drop.t is None else f"{drop.t:.2f}",
            p_cell(drop.p),
        ]
        for drop in found.drops
        if drop.mildest != drop.strongest  # one setting alone is neither mild nor strong
    ]
    head = [
        "perturbation",
        "setting",
        "mildest",
        "strongest",
        "points lost",
        "95 % interval",
        "t",
        "p (Holm)",
    ]
    if steps:
        print_table("Degradation from the mildest to the strongest setting (paired t-test)", head, steps)
    low = found.lowest
    print(f"- {found.ratings} ratings by {_people(found.participants)} of {len(found.cells)} scenarios.")
    print(printable(f"- Lowest mean rating: {low.mean:.2f}, {f'{low.perturbation} {low.setting}'.strip()}."))
    print(f"- {100 * found.above:.1f} % of the scenarios have a mean rating above 7.")
    if steps:
        drop = found.degradation_strongest - found.degradation_mildest
        print(
            f"- Mean degradation over perturbations: {found.degradation_mildest:.2f} % at the mildest setting,"
            f" {found.degradation_strongest:.2f} % at the strongest, a drop of {drop:.2f} points."
        )
    for name, kappa in (("linear", found.kappa_linear), ("quadratic", found.kappa_quadratic)):
        value = "-" if kappa.value is None else f"{kappa.value:.3f}"
        why = f" ({kappa.refusal})" if kappa.refusal else f" ({_range(kappa.low, kappa.high, 3)})"
        print(f"- Agreement of participants, Fleiss' kappa with {name} weights: {value}{why}.")


def _print_realism(found: Realism) -> None:
    from voxaudit.cli.output import print_table
    from voxaudit.wording import p_value

    rows: list[list[Any]] = [
        [
            one.pair,
            f"{100 * one.correct:.0f} %",
            f"{100 * one.low:.0f} to {100 * one.high:.0f}",
            one.judgements,
        ]
        for one in found.pairs
    ]
    print_table("Who found the real recording", ["pair", "correct", "95 % interval", "judgements"], rows)
    limits = (
        ""
        if found.low is None or found.high is None
        else f" ({100 * found.low:.1f} to {100 * found.high:.1f})"
    )
    p = "" if found.p is None else f", {p_value(found.p)} against 50 %"
    print(
        f"- {_people(found.participants)}: the real recording was found in {100 * found.accuracy:.1f} %{limits}{p}."
    )
    verdict = "cannot be judged (one participant, or all alike)"
    if found.p is not None:
        told = (
            "can tell them apart" if found.accuracy > 0.5 else "take generated recordings for the real ones"
        )
        verdict = f"people {told if found.p < 0.05 else 'are not shown to tell them apart'}"
    print(f"- Generated against real: {verdict}.")
    kappa = "-" if found.kappa is None else f"{found.kappa:.3f}"
    print(
        f"- Agreement, Fleiss' kappa weighted by confidence: {kappa}; mean confidence {found.confidence:.2f} of 1."
    )
    if found.t_scores is not None and found.p_scores is not None:
        print(
            f"- Taken for real: {100 * found.real_score:.1f} % of real and {100 * found.generated_score:.1f} % of"
            f" generated recordings (t-test over pairs: t = {found.t_scores:.3f}, {p_value(found.p_scores)})."
        )


def _people(count: int) -> str:
    return f"{count} participant{'' if count == 1 else 's'}"


def _range(low: float | None, high: float | None, digits: int) -> str:
    return "-" if low is None or high is None else f"{low:.{digits}f} to {high:.{digits}f}"
