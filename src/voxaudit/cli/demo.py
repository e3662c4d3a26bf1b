"""`voxaudit demo`: a whole audit that needs no file, and no network but for the weights of one recognizer, once."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from voxaudit.cli.arguments import SHARED, add_run_arguments, options_as_asked, take
from voxaudit.cli.output import note
from voxaudit.errors import VoxauditError
from voxaudit.options import Option

EXAMPLE = "voxaudit demo"
RECOGNIZERS = ("moonshine", "pocketsphinx")
WEIGHTS = {"moonshine": "moonshine-tiny"}
"""Weights that are fetched if they are not there."""
STUTTERED = 16
"""Utterances that are made to stutter: one of each speaker."""
CASES = 3
"""Stuttered cases made of each of them."""
DOSE = (0.0, 10.0, 20.0)
"""Stuttered moments per 100 words at which the error rate is measured."""


_HOW_TO_READ = """
How to read this
- WER, the word error rate: wrong, missing and added words per word that was said; 0 % is perfect.
- The interval is where the rate would plausibly lie with other speakers like these.
- clean is the recording as it is; the other scenarios disturb it in a known way (voxaudit list scenarios)."""
_SYNTHETIC = """\
- These voices are synthetic, and how strong their accents are was our choice: the figures show how an
  audit works and say nothing about real people, nor about how well these recognizers serve them."""
_OWN = {
    "voices": Option(
        "synthetic ones that come along, or recordings of people fetched with pip under their own terms",
        choices=("synthetic", "human"),
    ),
    "out": SHARED["out"].noting("default: voxaudit-demo; give the same one again to resume"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    take(parser, "voices out", _OWN, voices="synthetic", out="voxaudit-demo")
    add_run_arguments(parser, "workers", "cache")
    take(parser, "json")


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    from voxaudit.cli.report import show
    from voxaudit.config import AuditConfig, CorpusConfig, StutterConfig
    from voxaudit.pipeline import run_audit

    out = Path(args.out)
    if args.voices == "synthetic":
        from voxaudit.speak.corpus import make_synthetic_corpus

        note("1. A corpus of synthetic voices: some native, some with a foreign accent ...")
        manifest = make_synthetic_corpus(out / "synthetic-voices")
        attributes: tuple[str, ...] = ("accent", "pitch")
    else:
        from voxaudit.speak.human import fetch_human_corpus

        note("1. Fetching human recordings; they belong to their makers, see TERMS.txt beside them ...")
        manifest = fetch_human_corpus(out / "human-voices")
        attributes = ("accent", "gender")
    listening = _listening()
    note(
        f"2. {' and '.join(listening)} listen: clean, in noise, in a room, by telephone, and to speech that"
        " stutters ..."
    )
    config = AuditConfig(
        corpus=CorpusConfig(manifest, attributes=attributes),
        recognizers={name: {} for name in listening},
        scenarios=("quick",),
        out=out / f"run-{args.voices}",
        options=options_as_asked(args),
        stutter=StutterConfig(utterances=STUTTERED, budget=CASES, dose=DOSE),
    )
    audit = run_audit(config)
    code = show(audit.report, audit.run.folder, audit.files, as_json=args.json)
    if not args.json:
        print(_HOW_TO_READ)
        if args.voices == "synthetic":
            print(_SYNTHETIC)
        _next(manifest, audit.run.folder, audit.files["report.html"])
    return code


def _listening() -> list[str]:
    """Return the recognizers that can listen here; weights that are missing are fetched, and what fails is said."""
    from voxaudit.cli.models import progress
    from voxaudit.recognize import RecognizerError, make_recognizer, require
    from voxaudit.recognize.weights.fetch import fetch, known_model

    there = []
    for name in RECOGNIZERS:
        try:
            try:
                require(make_recognizer(name))
            except RecognizerError:
                if name not in WEIGHTS:
                    raise
                fetch(known_model(WEIGHTS[name]), report=progress())
                require(make_recognizer(name))
            there.append(name)
        except VoxauditError as error:
            note(f"{name} does not take part: {error}")
    if not there:
        raise VoxauditError("no recognizer can listen here. Install them with: pip install 'voxaudit[demo]'")
    return there


def _next(manifest: Path, folder: Path, report: Path) -> None:
    where, run = shlex.quote(str(manifest)), shlex.quote(str(folder))
    print(f"\nOpen the report in a browser: {report.absolute().as_uri()}")
    print("\nNext")
    print(
        "- Your corpus:  voxaudit inspect manifest.csv; voxaudit init manifest.csv; voxaudit run audit.toml"
    )
    print(f"- Listen:       voxaudit review {run}")
    attack = f"voxaudit attack {where} --method blackbox --recognizers moonshine --snr 20 --utterances 8"
    print(
        f"- Attack it:    {attack} --out {run}/attack; on a cluster: voxaudit run audit.toml --executor ray"
    )
