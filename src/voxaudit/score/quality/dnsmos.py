"""DNSMOS: what listeners would say of a recording's quality, 1 (bad) to 5 (excellent), without a clean twin.

Two models of Reddy et al. (2021, 2022), whose weights come inside the package `speechmos`; its code is never imported.
`P808` gives one overall score; `P835` gives speech signal, background and overall, at 12 times the cost. The windows
of P835 overlap by 8 of 9 seconds: its convolutions are computed once over all of them, and only the frames at a
window's two ends, where the model sees the padding, again for each window. Scores differ from window-by-window ones by
rounding (1e-6).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voxaudit.audio import Audio, Samples, resample
from voxaudit.errors import VoxauditError, missing_extra, one_line
from voxaudit.numeric import rfft
from voxaudit.recognize.files import installed, package_folder, sha256
from voxaudit.registry import suggest

# Which windows of a recording DNSMOS looks at. Its models take 9.01 s, one window per second.

SECONDS = 9.01
LENGTH = 144_160
"""Samples of a window."""

RULES = {
    "every": "every hop of one second",
    "speechmos": "as the package speechmos: hops lost to rounding are left out (from 17 s on)",
}
"""Rules by name. They agree on recordings under 17 s."""


def repeat_short(samples: Samples) -> Samples:
    """Return the samples doubled until they fill a window, as DNSMOS's authors do."""
    if len(samples) == 0:
        raise VoxauditError("no samples to measure")
    doublings = max(0, int(np.ceil(np.log2(LENGTH / len(samples)))))
    return np.tile(samples, 2**doublings) if doublings else samples


def window_hops(length: int, rule: str = "every") -> list[int]:
    """Return the second at which each window starts, for a recording of `length` samples that fills at least one."""
    check_rule(rule)
    hops = range(max(0, int(length // RATE - SECONDS)) + 1)
    if rule == "every":
        return list(hops)
    # The package asks for [i, i + 9.01) seconds in floating point; where that is a sample short it drops the window.
    return [hop for hop in hops if int((hop + SECONDS) * RATE) - hop * RATE >= LENGTH]


def check_rule(rule: str) -> None:
    """Raise one line unless `rule` is the name of a window rule."""
    if rule not in RULES:
        raise VoxauditError(
            f"Unknown window rule '{rule}'.{suggest(rule, list(RULES))} Available: {', '.join(RULES)}"
        )


# Log-mel spectra as the P.808 model of DNSMOS expects them: 120 bands every 10 ms, relative to a window's loudest.

RATE = 16_000
HOP = 160
SIZE = 321
BANDS = 120

_BEFORE = SIZE // 2  # samples of a frame that lie before its center
_QUIETEST = 1e-10
_RANGE = 80.0  # dB under the loudest band at which everything is cut off

Spectra = NDArray[np.float32]


def band_levels(samples: Samples, first: int, count: int) -> Spectra:
    """Return the level (dB) of every mel band in `count` frames, of which `first` is the first: count x 120.

    Frame i is centered on sample `160 i`; what lies outside `samples` is zero.
    """
    start = first * HOP - _BEFORE
    length = (count - 1) * HOP + SIZE
    inside = samples[max(start, 0) : max(start + length, 0)]
    before = max(-start, 0)
    padded = np.pad(inside, (before, length - before - len(inside)))
    frames = np.lib.stride_tricks.sliding_window_view(padded, SIZE)[::HOP]
    spectrum = rfft(frames * _window())
    power = spectrum.real**2 + spectrum.imag**2
    # A sparse product adds up in one order; a dense one depends on how many threads the machine gives it.
    energy = np.ascontiguousarray((mel_filters(BANDS, SIZE, RATE) @ power.T).T)
    levels: Spectra = 10.0 * np.log10(np.maximum(energy, _QUIETEST))
    return levels


def window_features(levels: Spectra) -> Spectra:
    """Return what the model is fed for the levels of one window: 1 for its loudest band, -1 for 80 dB below."""
    loudest = levels.max()
    features: Spectra = (np.maximum(levels - loudest, -_RANGE) + 40.0) / np.float32(40.0)
    return features


@cache
def _window() -> Samples:
    # Periodic: the frame's length is the period.
    return (0.5 - 0.5 * np.cos(2.0 * np.pi * np.arange(SIZE) / SIZE)).astype(np.float32)


@cache
def mel_filters(bands: int, size: int, rate: int) -> Any:
    """Return mel filters, bands x bins of a spectrum of `size` samples: triangles of equal area on Slaney's scale."""
    from scipy.sparse import csr_array

    edges = _hertz(np.linspace(0.0, _mel(rate / 2), bands + 2))
    bins = np.arange(size // 2 + 1) * (rate / size)
    rising = (bins[:, np.newaxis] - edges[:-2]) / np.diff(edges)[:-1]
    falling = (edges[2:] - bins[:, np.newaxis]) / np.diff(edges)[1:]
    triangles = np.maximum(0.0, np.minimum(rising, falling))
    return csr_array((triangles * (2.0 / (edges[2:] - edges[:-2]))).astype(np.float32).T)


# Slaney's scale: linear to 1 kHz, then 27 steps for every factor 6.4.
_LINEAR = 200.0 / 3.0
_KNEE = 1000.0
_STEP = np.log(6.4) / 27.0


def _mel(hertz: float) -> float:
    return float(_KNEE / _LINEAR + np.log(hertz / _KNEE) / _STEP) if hertz > _KNEE else hertz / _LINEAR


def _hertz(mel: NDArray[np.float64]) -> NDArray[np.float64]:
    knee = _KNEE / _LINEAR
    above = _KNEE * np.exp(_STEP * (np.maximum(mel, knee) - knee))
    return np.where(mel > knee, above, mel * _LINEAR)


# Cut a part out of an ONNX model, with no package but the standard library.
#
# An ONNX file is a protobuf message. The nodes and weights of the part are copied byte for byte, so its arithmetic is
# the model's; only the declaration of what goes in and out is written anew, with free lengths where the model had fixed
# ones.

# Field numbers of onnx.proto: ModelProto, GraphProto, NodeProto, TensorProto, ValueInfoProto and what it holds.
_IR_VERSION, _GRAPH, _OPSETS = 1, 7, 8
_NODE, _GRAPH_NAME, _INITIALIZER, _INPUT, _OUTPUT = 1, 2, 5, 11, 12
_NODE_INPUT, _NODE_OUTPUT = 1, 2
_TENSOR_NAME = 8
_FLOAT = 1

Shape = Sequence[int | str]
"""Lengths of the dimensions; a name stands for a length that is free."""


def cut(model: bytes, inputs: Mapping[str, Shape], output: str, shape: Shape) -> bytes:
    """Return the model that computes the value `output` (float, of `shape`) from the float values `inputs`."""
    fields = list(_read(model))
    graph = [field for number, field in fields if number == _GRAPH]
    if len(graph) != 1 or not isinstance(graph[0], bytes):
        raise VoxauditError("not an ONNX model: it has no graph")
    parts = [(number, field) for number, field in _read(graph[0]) if isinstance(field, bytes)]
    weights = {_text(field, _TENSOR_NAME)[0]: field for number, field in parts if number == _INITIALIZER}
    needed, nodes = {output}, []
    for node in reversed([field for number, field in parts if number == _NODE]):
        made = set(_text(node, _NODE_OUTPUT))
        if needed & made:
            nodes.append(node)
            needed = (needed - made) | (set(_text(node, _NODE_INPUT)) - set(inputs))
    if lost := sorted(needed - set(weights)):
        raise VoxauditError(f"this ONNX model is not the one expected: nothing in it makes '{lost[0]}'")
    part = b"".join(
        [
            *(_write(_NODE, node) for node in reversed(nodes)),
            _write(_GRAPH_NAME, b"part"),
            *(_write(_INITIALIZER, tensor) for name, tensor in weights.items() if name in needed),
            *(_write(_INPUT, _declare(name, lengths)) for name, lengths in inputs.items()),
            _write(_OUTPUT, _declare(output, shape)),
        ]
    )
    header = [_write(number, field) for number, field in fields if number in (_IR_VERSION, _OPSETS)]
    return b"".join([*header, _write(_GRAPH, part)])


def _declare(name: str, shape: Shape) -> bytes:
    """Return the ValueInfoProto of a float tensor."""
    lengths = (_write(1, n) if isinstance(n, int) else _write(2, n.encode()) for n in shape)
    dimensions = b"".join(_write(1, length) for length in lengths)
    return _write(1, name.encode()) + _write(2, _write(1, _write(1, _FLOAT) + _write(2, dimensions)))


def _text(message: bytes, number: int) -> list[str]:
    return [field.decode() for n, field in _read(message) if n == number and isinstance(field, bytes)]


def _read(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield (field number, value) of a protobuf message: numbers as int, everything else as bytes."""
    position = 0
    try:
        while position < len(message):
            tag, position = _number(message, position)
            kind = tag & 7
            if kind == 0:
                value, position = _number(message, position)
                yield tag >> 3, value
                continue
            if kind == 2:
                size, position = _number(message, position)
            elif kind in (1, 5):
                size = 8 if kind == 1 else 4
            else:
                raise ValueError
            if position + size > len(message):
                raise ValueError
            yield tag >> 3, message[position : position + size]
            position += size
    except (IndexError, ValueError):
        raise VoxauditError("not an ONNX model: the file is damaged") from None


def _number(message: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[position]
        position += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, position
        shift += 7


def _write(number: int, value: int | bytes) -> bytes:
    if isinstance(value, int):
        return _bits(number << 3) + _bits(value)
    return _bits(number << 3 | 2) + _bits(len(value)) + value


def _bits(value: int) -> bytes:
    written = bytearray()
    while value > 127:
        written.append(value & 127 | 128)
        value >>= 7
    written.append(value)
    return bytes(written)


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
