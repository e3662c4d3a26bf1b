"""`voxaudit run`: audit a corpus as `audit.toml` says."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from voxaudit.audits.sequential import AUDIT as SEQUENTIAL
from voxaudit.cli import ask
from voxaudit.cli.arguments import SHARED, add_run_arguments, as_asked, take
from voxaudit.cli.output import note
from voxaudit.errors import VoxauditError
from voxaudit.options import Option
from voxaudit.wording import counted, listed

if TYPE_CHECKING:
    from voxaudit.config import AuditConfig
    from voxaudit.run.estimate import Estimate

EXAMPLE = "voxaudit run audit.toml"
_GOAL = ("precision", "against", "margin", "per_speaker", "alpha", "each", "patient")
"""What the sequential audit can be told besides the attribute that it decides on."""
_OWN = {
    **SEQUENTIAL.options,
    "out": SHARED["out"].noting("default: as in audit.toml"),
    "dry_run": Option(
        "print how many trials, minutes of audio, minutes of waiting and dollars it would take; start no run",
        "flag",
    ),
    "download": Option("fetch models that are not on this machine", "flag"),
    "decide": SEQUENTIAL.options["attribute"],
    "log": Option("also log the report in a tracker of experiments", choices=("mlflow", "wandb")),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "config", type=Path, metavar="audit.toml", help="what to audit; `voxaudit init` writes one"
    )
    take(parser, "out dry_run download log json", _OWN)
    add_run_arguments(parser.add_argument_group("options of the run (audit.toml may set other defaults)"))
    take(
        parser.add_argument_group("stop early (see: voxaudit sequential)"), f"decide {' '.join(_GOAL)}", _OWN
    )


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from voxaudit.cli.report import show
    from voxaudit.config import load_config
    from voxaudit.pipeline import run_audit

    config = as_asked(load_config(args.config), args)
    if args.download:
        from voxaudit.cli.models import progress
        from voxaudit.pipeline import recognizers_of
        from voxaudit.recognize.weights.fetch import obtain

        for recognizer in recognizers_of(config).values():
            obtain(recognizer, progress())
    if args.dry_run:
        return _dry_run(config, args)
    if args.precision is not None or args.decide is not None:
        return _stop_early(config, args)
    audit = run_audit(config)
    code = show(audit.report, audit.run.folder, audit.files, as_json=args.json)
    if args.log is not None:
        from voxaudit.report.trackers import log_report

        note(f"Logged in {args.log}: {log_report(audit.report, audit.files, args.log, name=config.out.name)}")
    return code


def _stop_early(config: AuditConfig, args: argparse.Namespace) -> int:
    """Hear no more than the goals ask for, and print what was found."""
    from voxaudit.config import Gates
    from voxaudit.pipeline import STUTTER, run_sequential

    if args.log is not None:
        raise VoxauditError("a run that stops early makes no report that could be logged", see=("log",))
    if config.gates != Gates():
        note("No gate is judged: gates need the full grid. Run without --precision and --decide for them")
    goal = {name: value for name in _GOAL if (value := getattr(args, name)) not in (None, False)}
    ask.show(run_sequential(config, {"attribute": args.decide, **goal}, progress=not args.json), args)
    if config.stutter is not None:
        note(
            f"Stuttered speech, as [stutter] asks, is in {config.out / STUTTER}: voxaudit report {config.out}"
        )
    return 0


def _dry_run(config: AuditConfig, args: argparse.Namespace) -> int:
    from dataclasses import asdict

    from voxaudit.answer import Answer, Note, Tables, tabulate
    from voxaudit.pipeline import estimate_audit

    found = estimate_audit(config, test_speed=True)
    rows = [
        {
            **{name: value for name, value in asdict(one).items() if name not in ("left", "waiting")},
            "left": one.left.trials,
            "minutes": one.left.seconds / 60.0,
            "waiting_minutes": None if one.waiting is None else one.waiting / 60.0,
            "billed_minutes": one.left.billed_seconds / 60.0 if one.remote else None,
            "cost": one.left.cost if one.remote else None,
        }
        for one in found
    ]
    notes = []
    if config.stutter is not None:
        asked = config.stutter
        most = asked.utterances * (1 + asked.budget + len(asked.dose))
        text = f"in addition, [stutter] lets every recognizer hear at most {most:,} trials; services bill for them"
        notes.append(Note("stutter", text, {"trials_at_most": most}))
    if any(one.remote and one.left.cost is None for one in found):
        notes.append(
            Note("no_price", "the cost is unknown: set price_per_minute in a service's section to see it")
        )
    tested = [one.recognizer for one in found if one.speed_from == "a test"]
    if tested:
        notes.append(
            Note(
                "speed_tested",
                f"{listed(tested)} heard a few recordings to learn the speed",
                {"recognizers": tested},
            )
        )
    counts = [("finished", "done", "count"), ("cached", "known", "count"), ("left", "to hear", "count")]
    numbers = [
        ("minutes", "minutes of audio", "count"),
        ("waiting_minutes", "minutes of waiting", "count"),
        ("billed_minutes", "", "count"),
        ("cost", "US dollars", "ratio"),
    ]
    table = tabulate("estimate", "", rows, ["recognizer", "trials", *counts, *numbers])
    answer = Answer(
        "run",
        "What this run would hear (it was not started)",
        {"out": str(config.out)},
        tables=Tables([table]),
        notes=(Note("waiting", _waiting(found)), *notes),
    )
    ask.show(answer, args)
    return 0


def _waiting(found: list[Estimate]) -> str:
    """Return how much audio is left to hear and how long that takes, in one sentence."""
    left = [one for one in found if one.left.trials]
    if not left:
        return "Nothing is left to hear."
    audio = sum(one.left.seconds for one in left) / 60.0
    text = f"{spoken_minutes(audio)} of audio to hear"
    known = [one for one in left if one.waiting is not None]
    unknown = [one.recognizer for one in left if one.waiting is None]
    if not known:
        return f"{text}; how long that takes is not known before some of it is heard."
    waiting = spoken_minutes(sum(one.waiting or 0.0 for one in known) / 60.0)
    text += f", {waiting if waiting.startswith('less') else f'about {waiting}'} of waiting"
    return text + (f" (without {listed(unknown)}, whose speed is not known)." if unknown else ".")


def spoken_minutes(minutes: float) -> str:
    """Return a length of time as a person would say it.

    >>> spoken_minutes(0.2), spoken_minutes(1.4), spoken_minutes(300)
    ('less than a minute', '1 minute', '5.0 hours')
    """
    if minutes < 0.75:
        return "less than a minute"
    if minutes >= 120:
        return f"{minutes / 60:.1f} hours"
    return counted(round(minutes), "minute")
