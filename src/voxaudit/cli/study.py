"""`voxaudit study`: listening studies in the browser, from choosing recordings to the analysis."""

from __future__ import annotations

import argparse
from pathlib import Path

from voxaudit.cli.arguments import CORPUS, SHARED, read_corpus_as_asked, take
from voxaudit.cli.ask import show
from voxaudit.cli.output import note
from voxaudit.errors import VoxauditError
from voxaudit.options import Option

EXAMPLE = "voxaudit study create manifest.csv --scenarios aequevox --out studies/first"
MORE = """
  voxaudit study create --kind realism --real stuttered/ --generated made/ --pairs 10 --practice 2 --out studies/real
  voxaudit study serve studies/first --participants 20
  voxaudit study analyze studies/first --export ratings.csv"""
_OWN = {
    "kind": Option(
        "rate disturbed speech 1 to 10, or tell generated recordings from real ones",
        choices=("comprehensibility", "realism"),
    ),
    "utterances": SHARED["utterances"].noting("each is heard in every scenario; default: 1"),
    "real": Option("for realism: real recordings", "file", "CORPUS"),
    "generated": Option("for realism: generated recordings", "file", "CORPUS"),
    "pairs": Option("for realism: pairs of a real and a generated recording", "count", "N", at_least=1),
    "practice": Option(
        "for realism: pairs that everybody starts with and that do not count", "count", "N", at_least=0
    ),
    "questions": Option("questions for one participant (default: all)", "count", "N"),
    "out": SHARED["out"].noting("a new one for the study"),
    "participants": Option("links to give out", "count", "N", at_least=1, at_most=10_000),
    "public_url": Option(
        "the address people see, where a proxy stands in front of the server (http:// or https://)",
        metavar="URL",
    ),
    "export": SHARED["export"].noting("the ratings, as a .csv that `voxaudit differential` takes"),
    "keep_inattentive": Option("count those who failed the attention checks", "flag"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.epilog = f"{parser.epilog or ''}{MORE}"
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    create = actions.add_parser("create", help="choose recordings and make the study")
    create.add_argument("corpus", nargs="?", metavar="CORPUS", help="for comprehensibility: what people hear")
    flags = f"kind scenarios utterances real generated pairs practice questions seed out! {CORPUS}"
    usual = {
        "kind": "comprehensibility",
        "scenarios": ("quick",),
        "utterances": 1,
        "pairs": 10,
        "practice": 0,
        "seed": 0,
    }
    take(create, flags, _OWN, **usual)
    serve = actions.add_parser("serve", help="let people take part in their browsers")
    serve.add_argument("study", metavar="STUDY", help="the study's folder")
    flags = "participants port host allow_remote public_url"
    take(serve, flags, _OWN, participants=1, port=0, host="127.0.0.1")
    analyze = actions.add_parser("analyze", help="what the answers say, also while it runs")
    analyze.add_argument(
        "study",
        metavar="STUDY",
        help="the study's folder, or a table: perturbation, setting, participant, rating",
    )
    take(analyze, "export exclude keep_inattentive json", _OWN, exclude=())


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    return {"create": _create, "serve": _serve, "analyze": _analyze}[args.action](args)


def _create(args: argparse.Namespace) -> int:
    from voxaudit.review.study.create import create_comprehensibility, create_realism

    settings = {"out": args.out, "each": args.questions, "seed": args.seed}
    if args.kind == "comprehensibility":
        if args.corpus is None or args.real or args.generated:
            raise VoxauditError(f"a study of comprehensibility needs one corpus: {EXAMPLE}")
        corpus = read_corpus_as_asked(args.corpus, args)
        study = create_comprehensibility(corpus, args.scenarios, utterances=args.utterances, **settings)
    else:
        if args.corpus is not None or not args.real or not args.generated:
            raise VoxauditError("a study of realism needs --real CORPUS and --generated CORPUS")
        real, generated = (read_corpus_as_asked(path, args) for path in (args.real, args.generated))
        study = create_realism(real, generated, pairs=args.pairs, practice=args.practice, **settings)
    first = f"{len(study.practice)} practice pairs, " if study.practice else ""
    asked = f"{first}{study.each} questions and {len(study.checks)} attention checks each"
    print(f"{study.folder}: {len(study.questions)} questions; a participant gets {asked}")
    note(f"next: voxaudit study serve {study.folder} --participants 20")
    return 0


def _serve(args: argparse.Namespace) -> int:
    from urllib.parse import urlsplit

    from voxaudit.review.study.app import by_link, study_app
    from voxaudit.review.study.study import open_answers, participants, read_study
    from voxaudit.review.web import running, until_interrupted

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
            allow_remote=args.allow_remote,
            log=note,
        ) as server,
    ):
        base = args.public_url.rstrip("/") + "/" if args.public_url else server.url
        for one in people:
            print(f"{one.name}\t{base}?token={one.token}", flush=True)
        note(
            "One link for each participant; answers are saved as they come. Ctrl-C ends the server, not the study."
        )
        until_interrupted()
    return 0


def _analyze(args: argparse.Namespace) -> int:
    from voxaudit.review.study.analyze import analyze_study, write_ratings
    from voxaudit.review.study.ratings import analyze_ratings, read_ratings_table
    from voxaudit.review.study.study import read_study

    if Path(args.study).is_dir():
        found = analyze_study(
            read_study(args.study), keep_inattentive=args.keep_inattentive, exclude=args.exclude
        )
        ratings, answer = found.ratings, found.answer()
    else:
        ratings = read_ratings_table(args.study)
        answer = analyze_ratings(ratings, args.exclude).answer()
    if args.export is not None:
        if ratings is None:
            raise VoxauditError("only a study of comprehensibility has ratings to write")
        write_ratings(ratings, args.export)
        note(
            f"Ratings written to {args.export}; to use them: voxaudit differential RUN --ratings {args.export}"
        )
    show(answer, args)
    return 0
