"""`voxaudit stutter`: can people who stutter use it?"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from voxaudit.cli.arguments import (
    add_corpus_arguments,
    add_run_arguments,
    names,
    options_as_asked,
    read_corpus_as_asked,
    recognizer_list,
)
from voxaudit.options import ON_DEMAND

if TYPE_CHECKING:
    from voxaudit.audits.stutter.audit import Stutter

EXAMPLE = "voxaudit stutter manifest.csv --recognizers moonshine,pocketsphinx --budget 20 --out runs/stutter"
MAKE_EXAMPLE = (
    'voxaudit stutter make in.wav out.wav --kinds word_repetition,block --text "how is the weather"'
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "corpus", metavar="CORPUS", help="a corpus; or `make`, to stutter one file (see below)"
    )
    parser.add_argument("files", nargs="*", metavar="FILE", help="for `make`: IN.wav OUT.wav")
    parser.add_argument(
        "--recognizers",
        metavar="A,B",
        default="moonshine,pocketsphinx",
        help="default: moonshine,pocketsphinx; `voxaudit list recognizers` shows more",
    )
    parser.add_argument(
        "--budget", type=int, default=50, metavar="N", help="new cases an utterance (default: 50)"
    )
    parser.add_argument(
        "--kinds",
        metavar="A,...",
        help="of stuttering: block, prolongation, sound_repetition, word_repetition, interjection (default: all;"
        " for make: required)",
    )
    parser.add_argument(
        "--selection",
        choices=("moo", "random"),
        default="moo",
        help="seeds of further cases: the Pareto front (default), or all",
    )
    parser.add_argument(
        "--severity", type=int, metavar="1-4", help="how strong each moment is (default: any)"
    )
    parser.add_argument(
        "--dose",
        metavar="RATE,...",
        default="",
        help="also measure the response to these rates, in events per 100 words, such as 0,5,10,20,40",
    )
    parser.add_argument(
        "--mixture",
        choices=("even", "sep28k", "fluencybank"),
        default="sep28k",
        help="shares of the kinds in --dose: alike, or as published for people who stutter (default: sep28k)",
    )
    parser.add_argument(
        "--threshold", type=float, default=0.8, metavar="X", help="less similar is suspicious (default: 0.8)"
    )
    parser.add_argument(
        "--embeddings",
        default="minilm",
        metavar="MODEL",
        help="minilm (default) or a sentence-transformers model",
    )
    parser.add_argument(
        "--timings",
        metavar="PATH",
        help="timings by another aligner: a folder of TextGrids, a CTM or a lhotse file (default: PocketSphinx aligns)",
    )
    parser.add_argument(
        "--filler-voice",
        action="store_true",
        help="where a recording has no filler of its own, interject one of a synthetic voice (extra speak)",
    )
    parser.add_argument(
        "--only-agreed", action="store_true", help="only recordings that all recognizers hear as their text"
    )
    parser.add_argument(
        "--labels", metavar="FILE", help="a labelled suspicious.jsonl: gives the false-positive rate"
    )
    parser.add_argument("--text", metavar="TEXT", help="for make: what is said in the file")
    parser.add_argument("--out", type=Path, metavar="DIR", help="the audit's folder; the same again resumes")
    add_corpus_arguments(parser)
    add_run_arguments(parser, *ON_DEMAND)
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")
    parser.epilog = f"{parser.epilog or ''}\nOne file: {MAKE_EXAMPLE}"


def run(args: argparse.Namespace) -> int:
    """Run the command."""
    return _make(args) if args.corpus == "make" and args.files else _audit(args)


def _audit(args: argparse.Namespace) -> int:
    from voxaudit.align import read_alignments
    from voxaudit.audits.stutter.audit import stutter
    from voxaudit.audits.stutter.cases import Settings
    from voxaudit.cli.output import note, print_json
    from voxaudit.errors import VoxauditError
    from voxaudit.perturb.stutter import KINDS
    from voxaudit.recognize import make_recognizer
    from voxaudit.run.progress import Progress

    if args.files:
        raise VoxauditError("one corpus at a time; for one file: " + MAKE_EXAMPLE)
    if args.out is None:
        raise VoxauditError("name a folder for what is found: --out DIR")
    options = options_as_asked(args)
    settings = Settings(
        budget=args.budget,
        kinds=names(args.kinds) or tuple(KINDS),
        selection=args.selection,
        seed=options.seed,
        threshold=args.threshold,
        severity=args.severity,
        embeddings=args.embeddings,
    )
    doses = _rates(args.dose)
    corpus = read_corpus_as_asked(args.corpus, args)
    recognizers = {name: make_recognizer(name) for name in recognizer_list(args.recognizers)}
    with Progress(not args.json and sys.stderr.isatty()) as bars:
        bars.begin("stuttered cases", len(corpus) * settings.budget)
        audit = stutter(
            corpus,
            recognizers,
            out=args.out,
            settings=settings,
            doses=doses,
            mixture=args.mixture,
            clips=_filler_clips() if args.filler_voice else (),
            options=options,
            timings=read_alignments(args.timings) if args.timings else None,
            labels=args.labels,
            only_agreed=args.only_agreed,
            progress=lambda count: bars.advance(count, heard=True),
            say=lambda text: None if args.json else note(text),
        )
    if args.json:
        print_json(audit.findings)
    else:
        _show(audit, args.out)
    return 0


def _show(audit: Stutter, out: Path) -> None:
    from voxaudit.cli.output import note, print_table, printable
    from voxaudit.report.numbers import percent
    from voxaudit.wording import p_cell

    found = audit.findings
    rows = []
    for name, one in found["recognizers"].items():
        rows += [
            [name, "original", *(_rate(one[f"{rate}_original"]) for rate in ("wer", "mer", "wil")), "", ""],
            [
                name,
                "stuttered",
                *(_rate(one[rate]) for rate in ("wer", "mer", "wil")),
                _gain(one),
                p_cell(one.get("p")),
            ],
        ]
    print_table(
        f"{found['utterances']} utterances, {found['cases']} stuttered cases: errors against what is meant",
        ["recognizer", "speech", "WER", "MER", "WIL", "change of WER (95 %, percentage points)", "p"],
        rows,
    )
    rows = [
        [
            kind,
            name,
            one["cases"],
            _rate(one["wer_original"]),
            _rate(one["wer"]),
            _gain(one),
            p_cell(one.get("p")),
        ]
        for kind, by in found["kinds"].items()
        for name, one in by.items()
        if one["cases"]
    ]
    if rows:
        columns = [
            "kind alone",
            "recognizer",
            "cases",
            "WER before",
            "WER after",
            "change (95 %, percentage points)",
            "p",
        ]
        print_table("Cases with one kind of stuttering only", columns, rows)
    if found["dose"]:
        rows = [
            [
                p["recognizer"],
                f"{p['rate']:g}",
                f"{p['events']:.1f}",
                _rate(p["wer"]),
                _limits(p["low"], p["high"]),
            ]
            for p in found["dose"]
        ]
        print_table(
            f"Dose and response ({audit.dose.mixture if audit.dose else ''} mixture)",
            ["recognizer", "asked, per 100 words", "put in", "WER", "95 %"],
            rows,
        )
    rows = [
        [fault.replace("_", " "), *(by[fault] for by in found["faults_by_recognizer"].values())]
        for fault in found["faults"]
    ]
    correct = [
        sum(one.fault is None for one in audit.suspicious if one.recognizer == name)
        for name in found["faults_by_recognizer"]
    ]
    if any(correct):
        rows.append(["none: the text is right, the original's was not", *correct])
    print_table(
        f"{len(audit.suspicious)} suspicious answers (similarity below {audit.settings.threshold:g}), by kind of fault",
        ["kind of fault", *found["faults_by_recognizer"]],
        rows,
    )
    for one in audit.suspicious[:3]:
        note(
            f"  {printable(one.recognizer)} heard '{printable(one.transcript)}' for '{printable(one.intended)}'"
        )
        note(
            f"    stuttered: '{printable(one.surface)}' ({printable(one.chain)}), similarity {one.similarity:.2f}"
        )
    labels = found["labels"]
    if labels["labelled"]:
        note(
            f"Of {labels['labelled']} labelled cases {percent(labels['rate'])} were no fault of the recognizer."
        )
    reasons: dict[str, int] = {}
    for reason in found["skipped"].values():
        reasons[reason] = reasons.get(reason, 0) + 1
    for reason, count in sorted(reasons.items(), key=lambda item: -item[1])[:5]:
        note(f"left out: {count} utterance{'' if count == 1 else 's'} ({printable(reason)})")
    note(f"Written to {out}: cases.parquet, suspicious.jsonl (for people to label), stutter.json")


def _make(args: argparse.Namespace) -> int:
    from voxaudit.align import PocketSphinxAligner
    from voxaudit.audio import Audio, read, write
    from voxaudit.audits.stutter.cases import check_kinds
    from voxaudit.cli.output import note, print_json
    from voxaudit.errors import VoxauditError
    from voxaudit.perturb import trial_generator
    from voxaudit.perturb.stutter import Chain, sample_operation

    if len(args.files) != 2 or not args.kinds or not args.text:
        raise VoxauditError(f"make needs two files, --kinds and --text: {MAKE_EXAMPLE}")
    kinds = names(args.kinds)
    check_kinds(kinds)
    source, target = map(Path, args.files)
    audio = read(source)
    timings = PocketSphinxAligner().align(audio, args.text)
    generator = trial_generator(options_as_asked(args).seed, "stutter-make", source.stem)
    clips = _filler_clips() if args.filler_voice else ()
    chain = Chain()
    for kind in kinds:
        chain = chain.then(sample_operation(kind, timings, generator, args.severity, clips=clips))
    samples, after = chain(audio.samples, audio.rate, timings, clips)
    write(target, Audio(samples, audio.rate))
    if args.json:
        print_json(
            {
                "file": str(target),
                "chain": str(chain),
                "intended": timings.text,
                "surface": after.surface,
                "seconds_before": audio.duration,
                "seconds": len(samples) / audio.rate,
            }
        )
    else:
        note(f"{target}: {after.surface}\n  {chain}")
    return 0


def _filler_clips() -> tuple[Any, ...]:
    from voxaudit.perturb.stutter import Clip
    from voxaudit.speak.base import Voice, speak

    return tuple(Clip(text, speak(Voice(), spelt)) for text, spelt in (("um", "um"), ("uh", "uh")))


def _rates(text: str) -> tuple[float, ...]:
    from voxaudit.errors import VoxauditError

    try:
        rates = tuple(float(part) for part in names(text))
    except ValueError as error:
        raise VoxauditError(f"--dose takes numbers, events per 100 words, not '{text}'") from error
    if any(not 0 <= rate <= 500 for rate in rates):
        raise VoxauditError("--dose takes rates from 0 to 500 events per 100 words")
    return rates


def _rate(value: float | None) -> str:
    from voxaudit.report.numbers import percent

    return "-" if value is None else percent(value)


def _gain(one: dict[str, Any]) -> str:
    if one.get("werd") is None:
        return "-"
    return f"{100 * one['werd']:+.1f}{_limits(one['low'], one['high'])}"


def _limits(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f" ({100 * low:.1f} to {100 * high:.1f})"
