"""DNSMOS: what listeners would say of a recording's quality, 1 (bad) to 5 (excellent), without a clean twin.

Two models of Reddy et al. (2021, 2022), whose weights come inside the package `speechmos`; its code is never imported.
`P808` gives one overall score; `P835` gives speech signal, background and overall, at 12 times the cost. The windows
of P835 overlap by 8 of 9 seconds: its convolutions are computed once over all of them, and only the frames at a
window's two ends, where the model sees the padding, again for each window. Scores differ from window-by-window ones by
rounding (1e-6).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voxaudit.audio import Audio, Samples, resample
from voxaudit.errors import VoxauditError, missing_extra, one_line
from voxaudit.recognize.files import installed, package_folder, sha256
from voxaudit.score.quality.mel import band_levels, window_features
from voxaudit.score.quality.onnx_cut import cut
from voxaudit.score.quality.windows import LENGTH, RATE, check_rule, repeat_short, window_hops

EXTRA = "quality"

# Values inside the P.835 model where it is cut: frames of 320 samples in, half as many frames of 32 channels out.
_FRAMES = "mos_estimator_logpow/concat:0"
_TRUNK = "mos_estimator_logpow/conv2d_3/Relu:0_pooling0"
_SCORES = "Identity:0"
_CHANNELS, _BINS = 32, 80

_HOP = 160
_FRAME = 320
_WINDOW = 900  # frames of a window
_SECOND = RATE // _HOP  # frames from one window to the next
_REACH = 4  # frames that four 3 x 3 convolutions look to either side
_BLOCK = 512  # frames of which the trunk is computed at a time: bounds memory, costs nothing
_GROUP = 64  # windows whose trunk is held at a time

# Polynomials from the model's outputs to MOS, published with it: highest power first.
_SIGNAL = (-0.08397278, 1.22083953, 0.0052439)
_BACKGROUND = (-0.13166888, 1.60915514, -0.39604546)
_OVERALL = (-0.06766283, 1.11546468, 0.04602535)

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class P835:
    """Scores of the P.835 model: the speech itself, the background, and both together."""

    signal: float
    background: float
    overall: float


@dataclass(frozen=True)
class Dnsmos:
    """The two models, loaded when first asked. `rule` says which windows count: see `windows.RULES`."""

    folder: Path
    rule: str = "every"

    def p808(self, audio: Audio) -> float:
        """Return the overall MOS by the P.808 model: the mean over windows."""
        samples = _prepared(audio)
        scores = []
        hops = window_hops(len(samples), self.rule)
        for group in _groups(hops):
            first = group[0] * _SECOND
            span = band_levels(samples, first, (group[-1] - group[0]) * _SECOND + _WINDOW)
            for hop in group:
                at = hop * _SECOND - first
                levels = span[at : at + _WINDOW].copy()
                # The window's first and last frame reach beyond it, where the model expects silence.
                window = samples[hop * RATE : hop * RATE + _WINDOW * _HOP]
                levels[0] = band_levels(window, 0, 1)[0]
                levels[-1] = band_levels(window, _WINDOW - 1, 1)[0]
                features = window_features(levels)[np.newaxis]
                scores.append(float(self._p808.run(None, {"input_1": features})[0][0, 0]))
        return float(np.mean(scores))

    def p835(self, audio: Audio) -> P835:
        """Return signal, background and overall MOS by the P.835 model: means over windows."""
        samples = _prepared(audio)
        raw = np.concatenate(
            [self._score_group(samples, group) for group in _groups(window_hops(len(samples), self.rule))]
        ).astype(np.float64)
        return P835(
            signal=float(np.polyval(_SIGNAL, raw[:, 0]).mean()),
            background=float(np.polyval(_BACKGROUND, raw[:, 1]).mean()),
            overall=float(np.polyval(_OVERALL, raw[:, 2]).mean()),
        )

    def _score_group(self, samples: Samples, hops: list[int]) -> Floats:
        """Return the model's raw outputs for windows that overlap, windows x 3."""
        first = hops[0] * _SECOND
        count = (hops[-1] - hops[0]) * _SECOND + _WINDOW
        frames = np.lib.stride_tricks.sliding_window_view(
            samples[first * _HOP : (first + count) * _HOP + _FRAME - _HOP], _FRAME
        )[::_HOP]
        trunk = self._trunk_of(frames)
        starts = [(hop - hops[0]) * _SECOND for hop in hops]
        left = self._run_trunk(np.stack([frames[at : at + 2 * _REACH] for at in starts]))
        right = self._run_trunk(np.stack([frames[at + _WINDOW - 2 * _REACH : at + _WINDOW] for at in starts]))
        kept = _REACH // 2  # of the strip's frames, after pooling, only these saw the end but not the cut
        scores = []
        for number, at in enumerate(starts):
            window = trunk[:, :, at // 2 : (at + _WINDOW) // 2].copy()
            window[0, :, :kept] = left[number, :, :kept]
            window[0, :, -kept:] = right[number, :, -kept:]
            scores.append(self._tail.run(None, {_TRUNK: window})[0])
        return np.concatenate(scores)

    def _trunk_of(self, frames: NDArray[np.float32]) -> Floats:
        """Return the trunk over all frames, computed in blocks that overlap by what the convolutions reach."""
        whole = np.empty((1, _CHANNELS, len(frames) // 2, _BINS), np.float32)
        for start in range(0, len(frames), _BLOCK):
            end = min(start + _BLOCK, len(frames))
            before, after = max(start - _REACH, 0), min(end + _REACH, len(frames))
            block = self._run_trunk(frames[np.newaxis, before:after])
            whole[:, :, start // 2 : end // 2] = block[:, :, (start - before) // 2 :][
                :, :, : (end - start) // 2
            ]
        return whole

    def _run_trunk(self, frames: NDArray[np.float32]) -> Floats:
        result: Floats = self._trunk.run(None, {_FRAMES: np.ascontiguousarray(frames)})[0]
        return result

    @cached_property
    def _p808(self) -> Any:
        return _session((self.folder / "model_v8.onnx").read_bytes())

    @cached_property
    def _model(self) -> bytes:
        return (self.folder / "sig_bak_ovr.onnx").read_bytes()

    @cached_property
    def _trunk(self) -> Any:
        shape = ("windows", _CHANNELS, "half", _BINS)
        return _session(cut(self._model, {_FRAMES: ("windows", "frames", _FRAME)}, _TRUNK, shape))

    @cached_property
    def _tail(self) -> Any:
        shape = ("windows", _CHANNELS, "half", _BINS)
        return _session(cut(self._model, {_TRUNK: shape}, _SCORES, ("windows", 3)))

    def fingerprint(self) -> str:
        """Return what decides the scores: the weights and the window rule."""
        weights = sha256(self.folder / "model_v8.onnx", self.folder / "sig_bak_ovr.onnx")
        return f"dnsmos {weights[:16]} windows {self.rule}"


@cache
def load_dnsmos(rule: str = "every") -> Dnsmos:
    """Return the models of the installed package `speechmos`; where it is missing, one line says what to install."""
    check_rule(rule)
    if not installed("onnxruntime"):
        raise missing_extra("onnxruntime", EXTRA)
    package = package_folder("speechmos")
    if package is None:
        raise missing_extra("speechmos", EXTRA)
    folder = package / "dnsmos_models"
    for name in ("model_v8.onnx", "sig_bak_ovr.onnx"):
        if not (folder / name).is_file():
            raise VoxauditError(f"{folder}: no {name} there. Install speechmos==0.0.1.1, which has it")
    return Dnsmos(folder, rule)


def _prepared(audio: Audio) -> Samples:
    samples = resample(audio, RATE).samples
    if not np.isfinite(samples).all():
        raise VoxauditError("the audio has NaN or infinite samples")
    # What exceeds full scale saturates, as it would in a file.
    return repeat_short(np.clip(samples, np.float32(-1.0), np.float32(1.0)))


def _groups(hops: Iterable[int]) -> Iterator[list[int]]:
    """Yield the windows in groups that overlap, none so large that memory grows with the recording."""
    group: list[int] = []
    for hop in hops:
        if group and (len(group) == _GROUP or (hop - group[-1]) * RATE >= LENGTH):
            yield group
            group = []
        group.append(hop)
    yield group


def _session(model: bytes) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # processes share the work, one recording each
    options.inter_op_num_threads = 1
    options.enable_mem_pattern = False
    options.log_severity_level = 4
    try:
        return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise VoxauditError(f"onnxruntime cannot load a DNSMOS model ({one_line(error)})") from error
