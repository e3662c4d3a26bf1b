"""Speed of DNSMOS: voxaudit against the wrapper of the package `speechmos`, in one run, at one thread.

    pip install 'voxaudit[quality]' librosa requests
    python benchmarks/quality.py DATA              about two minutes; DATA: a folder of recordings
    python benchmarks/quality.py DATA --json results.json

CPU seconds of this process on the same 16 kHz clips of 3 to 15 s: one of every whole and half second, cut from the
recordings joined end to end. Both compute the same four scores (P.808; overall, signal, background of P.835) with the
weights of `speechmos` and onnxruntime limited to one thread; the largest difference is printed. The wrapper is given
its sessions ready-made, as ours are; loading counts for neither. Both take their windows by the package's rule.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime

from voxaudit import audio
from voxaudit.audio import SUFFIXES, Audio, Samples
from voxaudit.score.quality import load_dnsmos, pesq_score
from voxaudit.score.snr import estimate_snr

RATE = 16_000
SCORES = ("p808_mos", "ovrl_mos", "sig_mos", "bak_mos")


def clips(folder: Path) -> list[Audio]:
    lengths = np.arange(3.0, 15.01, 0.5)
    joined: list[Samples] = []
    for file in sorted(path for path in folder.rglob("*") if path.suffix.lower() in SUFFIXES):
        joined.append(audio.read(file, rate=RATE).samples)
        if sum(map(len, joined)) >= lengths.sum() * RATE:
            break
    samples = np.resize(np.concatenate(joined), int(lengths.sum() * RATE) + 1)
    ends = np.cumsum(lengths * RATE).astype(int)
    return [Audio(part, RATE) for part in np.split(samples, ends)[: len(lengths)]]


def wrapper() -> Any:
    """Return the package's own class with sessions of one thread."""
    from speechmos.dnsmos import DNSMOS

    folder = load_dnsmos().folder
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    package = DNSMOS(str(folder / "sig_bak_ovr.onnx"), str(folder / "model_v8.onnx"))
    package.onnx_sess = onnxruntime.InferenceSession(str(folder / "sig_bak_ovr.onnx"), options)
    package.p808_onnx_sess = onnxruntime.InferenceSession(str(folder / "model_v8.onnx"), options)
    return package


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, metavar="DATA")
    parser.add_argument("--json", type=Path)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    package, ours = wrapper(), load_dnsmos("speechmos")
    heard = clips(args.data)
    package(heard[0].samples, RATE, False), ours.p808(heard[0]), ours.p835(heard[0])  # warm up
    spent = dict.fromkeys(("speechmos", "p835", "p808", "pesq", "snr"), 0.0)
    worst = 0.0

    def timed(name: str, call: Any, *arguments: Any) -> Any:
        start = time.process_time()
        result = call(*arguments)
        spent[name] += time.process_time() - start
        return result

    generator = np.random.default_rng(0)
    for clip in heard:
        expected = timed("speechmos", package, clip.samples, RATE, False)
        p835, p808 = timed("p835", ours.p835, clip), timed("p808", ours.p808, clip)
        found = (p808, p835.overall, p835.signal, p835.background)
        worst = max(worst, *(abs(float(expected[n]) - one) for n, one in zip(SCORES, found, strict=True)))
        noisy = clip.samples + 0.01 * generator.standard_normal(len(clip.samples)).astype(np.float32)
        timed("pesq", pesq_score, clip, Audio(noisy, RATE))
        timed("snr", estimate_snr, clip)
    seconds = sum(clip.duration for clip in heard)
    results = {
        "clips": len(heard),
        "audio_seconds": seconds,
        "cpu_seconds_per_audio_second": {name: used / seconds for name, used in spent.items()},
        "same_scores_times_faster": spent["speechmos"] / (spent["p835"] + spent["p808"]),
        "p808_alone_times_faster": spent["speechmos"] / spent["p808"],
        "largest_difference": worst,
        "versions": {name: version(name) for name in ("speechmos", "onnxruntime", "librosa", "numpy")},
    }
    for name, used in spent.items():
        print(f"{name:<10}{used / seconds:8.4f} CPU seconds a second of audio")
    print(f"all four scores: {results['same_scores_times_faster']:.2f} times the wrapper's speed")
    print(f"P.808 alone:     {results['p808_alone_times_faster']:.1f} times the wrapper's speed")
    print(f"largest difference of any score: {worst:.1e}")
    if args.json:
        args.json.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
