"""`voxaudit recognizers check`: does a recognizer answer the same whatever the batch, order or history?"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from voxaudit.audio import Audio
    from voxaudit.recognize.check import Check, CheckResult

EXAMPLE = "voxaudit recognizers check moonshine"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("action", choices=("check",), help="what to do")
    parser.add_argument(
        "name",
        metavar="NAME",
        help="a recognizer: moonshine, 'command:my-asr {audio}', python:my.py:hear ...",
    )
    parser.add_argument(
        "--audio",
        type=Path,
        metavar="PATH",
        help="a recording or a folder of them (default: clips of our own)",
    )
    parser.add_argument(
        "--limit", type=int, default=12, metavar="N", help="clips to use at most (default: 12)"
    )
    parser.add_argument(
        "--long",
        type=float,
        default=60.0,
        metavar="SECONDS",
        help="length of the long recording (default: 60)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace) -> int:
    """Run the command: 0 if all checks pass, 1 if one fails."""
    from voxaudit.cli.output import note, print_json
    from voxaudit.errors import VoxauditError
    from voxaudit.recognize import make_recognizer, require
    from voxaudit.recognize.check import check_recognizer

    if args.limit < 2:
        raise VoxauditError(f"--limit must be at least 2, not {args.limit}")
    if not 0 < args.long <= 3600:
        raise VoxauditError(f"--long must be above 0 and at most 3600 seconds, not {args.long:g}")
    recognizer = make_recognizer(args.name)
    require(recognizer)
    clips = _clips(args.audio, args.limit)
    note(f"{args.name}: hearing {len(clips)} clips again and again ...")
    result = check_recognizer(recognizer, clips, long_seconds=args.long, report=None if args.json else _show)
    if args.json:
        print_json(_document(args.name, result))
    else:
        _summarise(args.name, result)
    return 0 if result.passed else 1


def _clips(path: Path | None, limit: int) -> dict[str, Audio]:
    from voxaudit.audio import SUFFIXES, read
    from voxaudit.errors import VoxauditError
    from voxaudit.recognize.signals import check_clips

    if path is None:
        return dict(list(check_clips().items())[:limit])
    if not path.is_dir():
        # One recording is enough: its halves and its quieter self are other audio.
        return _variants(path.name, read(path))
    files = sorted(file for file in path.rglob("*") if file.suffix.lower() in SUFFIXES and file.is_file())
    if len(files) < 2:
        raise VoxauditError(f"{path}: {len(files)} recordings there; checking takes at least 2")
    step = max(1, len(files) // limit)
    return {str(file.relative_to(path)): read(file) for file in files[::step][:limit]}


def _variants(name: str, audio: Audio) -> dict[str, Audio]:
    from voxaudit.audio import Audio

    samples, half = audio.samples, max(1, len(audio.samples) // 2)
    cuts = {
        name: samples,
        f"{name}, first half": samples[:half],
        f"{name}, second half": samples[half:] * 0.5,
    }
    return {key: Audio(cut, audio.rate) for key, cut in cuts.items() if len(cut)}


def _show(check: Check) -> None:
    from voxaudit.cli.output import printable

    print(f"{'pass' if check.passed else 'FAIL'}  {printable(check.name)}", flush=True)
    for problem in check.problems[:5]:
        print(f"        {printable(problem)}")
    if len(check.problems) > 5:
        print(f"        and {len(check.problems) - 5} more")


def _summarise(name: str, result: CheckResult) -> None:
    failed = sum(not check.passed for check in result.checks)
    print()
    if result.distinct_answers < 2:
        print("Note: the answers hardly differ, so little was shown. Give speech with --audio.")
    print(
        f"loaded in {result.load_seconds:.1f} s; {result.rtf:.3f} s per second of audio"
        f" ({result.cpu_rtf:.3f} s of CPU); {result.clips} clips, {result.distinct_answers} different answers"
    )
    verdict = "every check passed" if not failed else f"{failed} of {len(result.checks)} checks failed"
    print(f"{name}: {verdict}")


def _document(name: str, result: CheckResult) -> dict[str, Any]:
    return {
        "recognizer": name,
        "passed": result.passed,
        "clips": result.clips,
        "audio_seconds": result.audio_seconds,
        "distinct_answers": result.distinct_answers,
        "load_seconds": result.load_seconds,
        "rtf": result.rtf,
        "cpu_rtf": result.cpu_rtf,
        "checks": [
            {"check": check.name, "passed": check.passed, "problems": list(check.problems)}
            for check in result.checks
        ],
    }
