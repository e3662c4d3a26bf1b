"""Quality measures: DNSMOS beside the wrapper of the package speechmos, and PESQ and SNR, at one thread.

All four scores of DNSMOS (P.808; overall, signal, background of P.835) with the same weights; the wrapper gets its
sessions ready-made as ours are. Scores are compared before a time is reported.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from benchmarks.measure import Row, Settings, absent, named, race, row_of, skipped
from benchmarks.speech import joined

from voxaudit.audio import Audio

RATE = 16_000
SCORES = ("p808_mos", "ovrl_mos", "sig_mos", "bak_mos")


def wrapper() -> Any:
    """Return the package's own class with sessions of one thread."""
    import onnxruntime
    from speechmos.dnsmos import DNSMOS

    from voxaudit.score.quality import load_dnsmos

    folder = load_dnsmos().folder
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    package = DNSMOS(str(folder / "sig_bak_ovr.onnx"), str(folder / "model_v8.onnx"))
    package.onnx_sess = onnxruntime.InferenceSession(str(folder / "sig_bak_ovr.onnx"), options)
    package.p808_onnx_sess = onnxruntime.InferenceSession(str(folder / "model_v8.onnx"), options)
    return package


def measure(settings: Settings) -> Iterator[Row]:
    warnings.simplefilter("ignore")
    lengths = settings.pick(np.array([3.0, 9.0]), np.arange(3.0, 15.01, 2.0), np.arange(3.0, 15.01, 0.5))
    clips = joined(settings.audio, lengths, RATE)
    seconds, rounds = float(lengths.sum()), settings.pick(1, 3)
    unit, scale = "CPU ms per second of audio", 1e3 / seconds
    peer = f"{named('speechmos')}: its own wrapper"
    if missing := absent("speechmos", "onnxruntime", "librosa"):
        yield skipped("DNSMOS, all four scores", unit, peer, missing)
    else:
        yield from dnsmos(clips, unit, scale, rounds, peer)
    from voxaudit.score.snr import estimate_snr

    found = race({"": lambda: [estimate_snr(clip) for clip in clips]}, rounds)
    yield row_of("SNR", unit, [scale * one.cpu for one in found[""]])
    if missing := absent("pesq"):
        yield skipped("PESQ", unit, "", missing)
        return
    from voxaudit.score.quality import pesq_score

    draw = np.random.default_rng(0)
    noisy = [
        Audio(clip.samples + 0.01 * draw.standard_normal(len(clip.samples)).astype(np.float32), RATE)
        for clip in clips
    ]
    found = race({"": lambda: [pesq_score(*pair) for pair in zip(clips, noisy, strict=True)]}, rounds)
    yield row_of("PESQ", unit, [scale * one.cpu for one in found[""]])


def dnsmos(clips: list[Audio], unit: str, scale: float, rounds: int, peer: str) -> Iterator[Row]:
    from voxaudit.score.quality import load_dnsmos

    package, ours = wrapper(), load_dnsmos("speechmos")
    worst = 0.0
    for clip in clips:
        expected, p835 = package(clip.samples, RATE, False), ours.p835(clip)
        found = (ours.p808(clip), p835.overall, p835.signal, p835.background)
        worst = max(worst, *(abs(float(expected[n]) - one) for n, one in zip(SCORES, found, strict=True)))
    if worst > 1e-4:
        raise ValueError(f"scores differ from the wrapper's by {worst:.1e}")
    found = race(
        {
            "theirs": lambda: [package(clip.samples, RATE, False) for clip in clips],
            "all four scores": lambda: [(ours.p808(clip), ours.p835(clip)) for clip in clips],
            "P.808 alone, the default": lambda: [ours.p808(clip) for clip in clips],
        },
        rounds,
        warm=False,
    )
    values = {name: [scale * one.cpu for one in each] for name, each in found.items()}
    theirs = values.pop("theirs")
    for name, costs in values.items():
        note = f"largest difference {worst:.0e}" if "four" in name else "theirs computes all four"
        yield row_of(f"DNSMOS, {name}", unit, costs, theirs, peer=peer, note=note)
