"""`voxaudit localize`: which words get lost, for whom, when speech is disturbed?"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from voxaudit.audits.localize import Localization
    from voxaudit.audits.localize.validate import Validation
    from voxaudit.recognize import Recognizer

EXAMPLE = "voxaudit localize runs/mine --attribute gender --exclude scale:0.6 scale:0.5"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "input",
        metavar="INPUT",
        help="a run folder, a table of transcripts, or of word counts (recognizer, perturbation, setting, group, word,"
        " count)",
    )
    parser.add_argument(
        "--attribute", metavar="COL", help="the column of groups (default: all utterances are one group)"
    )
    parser.add_argument(
        "--omega",
        type=float,
        default=2.0,
        metavar="N",
        help="non-robust: dropped more than N times (default: 2)",
    )
    parser.add_argument(
        "--exclude",
        nargs="+",
        action="extend",
        default=[],
        metavar="SCENARIO",
        help="leave these out: scale:0.6 scale:0.5, or a whole perturbation",
    )
    parser.add_argument("--normalizer", metavar="NAME", help="default: basic (voxaudit list normalizers)")
    parser.add_argument("--vocabulary", metavar="FILE", help="count only these words, one a line")
    parser.add_argument(
        "--reference-words", action="store_true", help="count only words that occur in the reference texts"
    )
    parser.add_argument(
        "--fdr",
        type=float,
        default=0.05,
        metavar="Q",
        help="false-discovery rate of the tests (default: 0.05)",
    )
    parser.add_argument("--no-phonemes", action="store_true", help="words only")
    parser.add_argument(
        "--examples",
        type=int,
        default=5,
        metavar="N",
        help="utterances listed for a non-robust word (default: 5)",
    )
    parser.add_argument(
        "--top", type=int, default=20, metavar="N", help="rows of the printed lists (default: 20)"
    )
    checks = parser.add_argument_group(
        "validation: speak new sentences with robust and non-robust words in noise"
    )
    checks.add_argument("--validate", action="store_true", help="make the experiment; takes a minute or two")
    checks.add_argument(
        "--validate-with",
        action="append",
        default=[],
        metavar="NAME=SPEC",
        help="the recognizer that NAME in the input stands for (default: the run's own, or the engine of that name)",
    )
    checks.add_argument(
        "--validate-perturbation",
        default="noise",
        metavar="NAME",
        help="choose words by it (default: noise)",
    )
    checks.add_argument(
        "--validate-scenario",
        default="noise:theta=2",
        metavar="ID",
        help="hear them in it (default: %(default)s)",
    )
    checks.add_argument(
        "--validate-by",
        choices=("loss", "drop"),
        help="choose words by aligned losses or by Algorithm 2's drop (default: loss; drop for word counts)",
    )
    checks.add_argument(
        "--validate-words", type=int, default=8, metavar="K", help="words of each kind (default: 8)"
    )
    checks.add_argument(
        "--validate-sentences", type=int, default=6, metavar="N", help="for each word (default: 6)"
    )
    checks.add_argument(
        "--voice", choices=("hibari", "pico"), help="default: hibari where installed, else pico"
    )
    checks.add_argument(
        "--validate-out",
        type=Path,
        default=Path("voxaudit-validation"),
        metavar="DIR",
        help="default: %(default)s",
    )
    checks.add_argument(
        "--workers", type=int, metavar="N", help="recognizer processes (default: one per core)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from voxaudit.audits.localize import localize_file
    from voxaudit.cli.output import note, print_json
    from voxaudit.errors import VoxauditError

    if args.top < 1:
        raise VoxauditError(f"--top must be at least 1, not {args.top}")
    found = localize_file(
        args.input,
        attribute=args.attribute,
        omega=args.omega,
        exclude=args.exclude,
        normalizer=args.normalizer,
        vocabulary=_words(args.vocabulary),
        reference_only=args.reference_words,
        phonemes=not args.no_phonemes,
        examples=args.examples,
        fdr=args.fdr,
    )
    checked = [_validate(args, found, name) for name in _names(found)] if args.validate else []
    if args.json:
        document = {"input": args.input, "attribute": args.attribute, **found.to_dict()}
        if args.validate:
            document["validation"] = [result.to_dict() for result in checked]
        print_json(document)
        return 0
    from voxaudit.cli.localize_tables import show, show_validation

    for line in found.notes:
        note(f"note: {line}")
    show(found, top=args.top)
    for result in checked:
        show_validation(result)
    return 0


def _words(path: str | None) -> list[str] | None:
    from voxaudit.errors import VoxauditError

    if path is None:
        return None
    try:
        words = Path(path).read_text(encoding="utf-8").split()
    except (OSError, UnicodeError) as error:
        raise VoxauditError(f"{path}: cannot read this list of words ({error})") from error
    if not words:
        raise VoxauditError(f"{path}: no words there; write one a line")
    return words


def _names(found: Localization) -> list[str]:
    names: list[str] = found.words["recognizer"].unique(maintain_order=True).to_list()
    return names


def _validate(args: argparse.Namespace, found: Localization, name: str) -> Validation:
    from voxaudit.audits.localize.choose import By, choose_words
    from voxaudit.audits.localize.validate import validate
    from voxaudit.cli.output import note
    from voxaudit.errors import VoxauditError
    from voxaudit.recognize.files import installed
    from voxaudit.speak.base import Voice

    for option, value in (
        ("--validate-words", args.validate_words),
        ("--validate-sentences", args.validate_sentences),
    ):
        if value < 1:
            raise VoxauditError(f"{option} must be at least 1, not {value}")
    recognizer = _recognizer(args, name)
    by: By = args.validate_by or ("loss" if found.normalizer else "drop")
    chosen = choose_words(found, name, args.validate_perturbation, by=by, count=args.validate_words)
    engine = args.voice or ("hibari" if installed("hibari") else "pico")
    note(
        f"{name}: speaking {len(chosen) * args.validate_sentences} sentences ({engine}), clean and in noise ..."
    )
    return validate(
        recognizer,
        name,
        chosen,
        out=args.validate_out / _folder(name),
        each=args.validate_sentences,
        voice=Voice(engine),
        scenario=args.validate_scenario,
        rule=found.normalizer or "basic",
        workers=args.workers,
    )


def _recognizer(args: argparse.Namespace, name: str) -> Recognizer:
    from voxaudit.audits.inputs import is_run
    from voxaudit.audits.localize.validate import recognizer_settings
    from voxaudit.errors import VoxauditError, one_line
    from voxaudit.recognize import ENGINES, make_recognizer
    from voxaudit.run import open_run

    given: dict[str, str] = {}
    for text in args.validate_with:
        key, equals, spec = text.partition("=")
        if not equals:
            raise VoxauditError(
                f"--validate-with takes NAME=SPEC (mine=moonshine), not '{one_line(text, 60)}'"
            )
        given[key] = spec
    if name in given:
        return make_recognizer(given[name])
    settings: dict[str, Any] = {"engine": name}
    if is_run(args.input):
        settings = recognizer_settings(open_run(args.input).config, name)
    if settings["engine"] not in ENGINES.names():
        raise VoxauditError(
            f"cannot validate: it is not known how to hear with '{one_line(name, 60)}'."
            f" Say so: --validate-with '{one_line(name, 60)}=moonshine'"
        )
    return make_recognizer(settings)


def _folder(name: str) -> str:
    return (
        "".join(character if character.isalnum() or character in "-_" else "_" for character in name)
        or "recognizer"
    )
