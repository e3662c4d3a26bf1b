"""Who may have spoken where nobody wrote it down: voices of recordings, clustered into speakers that are estimated.

The encoder is Resemblyzer's (Wan et al. 2018, *Generalized end-to-end loss for speaker verification*): three LSTM
layers and a projection over mel spectra of 1.6 s. Its weights are fetched (`voxaudit models fetch resemblyzer`); its
code is never run, and of its file only tensors are read.
"""

from __future__ import annotations

import pickle
from collections import OrderedDict
from functools import cache
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from voxaudit.audio import Audio, resample
from voxaudit.errors import VoxauditError
from voxaudit.recognize.weights.fetch import fetched, known_model
from voxaudit.score.quality.dnsmos import mel_filters

MODEL = "resemblyzer"
RATE, SIZE, HOP, BANDS = 16_000, 400, 160, 40
PART, STEP = 160, 77
"""Spectra that the encoder hears at a time (1.6 s), and from one such part to the next."""
LEVEL = -30.0
"""dB of full scale that quiet recordings are raised to: spectra are not logarithmic."""
_PAUSE = 30.0  # dB below the loud moments; pauses would be heard as everybody's voice
_LAYERS = 3
WIDTH = 256
"""Numbers that a voice is."""
ALIKE = 0.78
"""Mean cosine between two voices down to which they are taken for one (see docs/parity.md for how often rightly)."""

Floats = NDArray[np.float32]


# The weights: a file of torch's first format, three pickles, the tensors, and their bytes.


class _Tensors(pickle.Unpickler):
    """Reads tensors and nothing else: whatever a pickle asks for beyond them is refused."""

    def find_class(self, module: str, name: str) -> Any:
        known = {
            ("collections", "OrderedDict"): OrderedDict,
            ("torch._utils", "_rebuild_tensor_v2"): lambda storage, offset, shape, *_: (
                storage,
                offset,
                shape,
            ),
            ("torch", "FloatStorage"): "float32",
        }
        if (module, name) not in known:
            raise VoxauditError(f"weights that ask for {module}.{name} are not read")
        return known[module, name]

    def persistent_load(self, pid: Any) -> str:
        return str(pid[2])


def read_tensors(file: IO[bytes]) -> dict[str, Floats]:
    """Return the tensors of `model_state` in a file that torch wrote before 1.6; nothing in it is run."""
    for _ in range(3):  # a magic number, a version, the machine's sizes
        _Tensors(file).load()
    state = _Tensors(file).load()["model_state"]
    stored: dict[str, Floats] = {}
    for key in _Tensors(file).load():
        count = int(np.frombuffer(file.read(8), "<i8")[0])
        stored[str(key)] = np.frombuffer(file.read(4 * count), "<f4")
    return {
        name: stored[key][start : start + int(np.prod(shape))].reshape(shape)
        for name, (key, start, shape) in state.items()
    }


@cache
def _weights() -> dict[str, Floats]:
    folder = fetched(known_model(MODEL))
    if folder is None:
        raise VoxauditError(
            f"the speaker encoder is not on this machine. Fetch it: voxaudit models fetch {MODEL}"
        )
    with (folder / "pretrained.pt").open("rb") as file:
        return read_tensors(file)


# The encoder


def lstm(x: Floats, into: Floats, back: Floats, bias: Floats) -> Floats:
    """Return the hidden states of an LSTM layer, time x batch x units: gates in, forget, cell, out (as torch's)."""
    ahead = x @ into.T + bias
    units = back.shape[1]
    hidden, cell = np.zeros((2, x.shape[1], units), dtype=np.float32)
    found = np.empty((*x.shape[:2], units), dtype=np.float32)
    for moment, gates in enumerate(ahead):
        gates = gates + hidden @ back.T
        with np.errstate(over="ignore"):
            let_in, keep, out = (
                1.0 / (1.0 + np.exp(-gates[:, place * units : (place + 1) * units])) for place in (0, 1, 3)
            )
        cell = keep * cell + let_in * np.tanh(gates[:, 2 * units : 3 * units])
        hidden = out * np.tanh(cell)
        found[moment] = hidden
    return found


def embed(audio: Audio) -> Floats | None:
    """Return what a voice is like, 256 numbers of length 1; None where there are no 0.4 s of speech."""
    samples = _spoken(resample(audio, RATE).samples)
    if len(samples) < PART * HOP // 4:
        return None
    padded = np.pad(samples, SIZE // 2)
    frames = np.lib.stride_tricks.sliding_window_view(padded, SIZE)[::HOP]
    power = np.abs(np.fft.rfft(frames * np.hanning(SIZE + 1)[:-1], axis=1)) ** 2
    spectra = np.asarray((mel_filters(BANDS, SIZE, RATE) @ power.T).T, dtype=np.float32)
    starts = range(0, max(1, len(spectra) - 3 * PART // 4), STEP)
    spectra = np.pad(spectra, ((0, max(0, starts[-1] + PART - len(spectra))), (0, 0)))
    own = _weights()
    x = np.stack([spectra[start : start + PART] for start in starts], axis=1)
    for layer in range(_LAYERS):
        into, back, *biases = (
            own[f"lstm.{name}_l{layer}"] for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        )
        x = lstm(x, into, back, biases[0] + biases[1])
    parts = np.maximum(x[-1] @ own["linear.weight"].T + own["linear.bias"], 0.0)
    mean = (parts / np.linalg.norm(parts, axis=1, keepdims=True)).mean(axis=0)
    return np.asarray(mean / np.linalg.norm(mean), dtype=np.float32)


def _spoken(samples: Floats) -> Floats:
    """Return the samples without pauses, raised to `LEVEL` where they are quieter."""
    block = 3 * HOP
    parts = samples[: len(samples) // block * block].reshape(-1, block)
    level = 10.0 * np.log10((parts.astype(np.float64) ** 2).mean(axis=1) + 1e-12)
    if len(level) < 8 or level.max() < -100.0:
        return samples[:0]
    loud = level > np.quantile(level, 0.95) - _PAUSE
    kept = parts[np.convolve(loud, np.ones(7), "same") > 0].ravel()
    return np.asarray(
        kept * max(1.0, 10.0 ** ((LEVEL - 10.0 * np.log10((kept**2).mean() + 1e-12)) / 20.0)), np.float32
    )


# Speakers


def cluster(voices: NDArray[Any], count: int | None = None) -> NDArray[np.int64]:
    """Return the number of the estimated speaker of each voice: average linkage by cosine.

    `count` is how many there are; None stops where the voices of two clusters are less than `ALIKE`.

    >>> cluster(np.array([[1.0, 0.0], [0.0, 1.0], [0.99, 0.14]])).tolist()
    [0, 1, 0]
    """
    from scipy.cluster.hierarchy import fcluster, linkage

    if len(voices) < 2:
        return np.zeros(len(voices), dtype=np.int64)
    tree = linkage(voices, "average", "cosine")
    found = fcluster(tree, count, "maxclust") if count else fcluster(tree, 1.0 - ALIKE, "distance")
    return np.asarray(np.unique(found, return_inverse=True)[1], dtype=np.int64)
