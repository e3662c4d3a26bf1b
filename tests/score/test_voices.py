"""Voices: weights are read without running anything, the layers are torch's, and voices become speakers."""

import collections
import io
import pickle

import numpy as np
import pytest
from benchmarks.studies.voices import purity

from voxaudit.audio import Audio
from voxaudit.errors import VoxauditError
from voxaudit.score import voices
from voxaudit.score.voices import cluster, embed, lstm, read_tensors


class Storage:
    """A stand-in that pickles as torch writes a tensor's storage."""

    def __init__(self, key, count):
        self.key, self.count = key, count


class Named:
    """Pickles as a name of another package, which need not be there."""

    def __init__(self, name, *arguments):
        self.name, self.arguments = name, arguments


class Writer(pickle._Pickler):
    def persistent_id(self, thing):
        return ("storage", "f", thing.key, "cpu", thing.count, None) if isinstance(thing, Storage) else None

    def save(self, thing, save_persistent_id=True):
        if isinstance(thing, Named):
            module, _, name = thing.name.rpartition(".")
            self.write(pickle.GLOBAL + f"{module}\n{name}\n".encode())
            super().save(thing.arguments)
            self.write(pickle.REDUCE)
            return
        super().save(thing, save_persistent_id)


def written(state, numbers):
    file = io.BytesIO()
    for plain in (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True}):
        pickle.dump(plain, file, 2)
    Writer(file, 2).dump({"step": 3, "model_state": state})
    pickle.dump(["7"], file, 2)
    file.write(np.int64(len(numbers)).tobytes() + np.asarray(numbers, "<f4").tobytes())
    file.seek(0)
    return file


def test_tensors_are_read_as_they_were_written():
    tensor = Named(
        "torch._utils._rebuild_tensor_v2",
        Storage("7", 8),
        2,
        (2, 3),
        (3, 1),
        False,
        collections.OrderedDict(),
    )
    found = read_tensors(written({"w": tensor}, np.arange(8)))
    assert found["w"].tolist() == [[2.0, 3.0, 4.0], [5.0, 6.0, 7.0]]


@pytest.mark.parametrize("name", ["os.system", "builtins.eval", "torch._utils._rebuild_parameter"])
def test_weights_that_ask_for_anything_else_are_refused(name, tmp_path):
    with pytest.raises(VoxauditError, match="are not read"):
        read_tensors(written({"w": Named(name, f"touch {tmp_path}/ran")}, [0.0]))
    assert not list(tmp_path.iterdir())


def test_a_layer_by_hand():
    """One unit, two moments: i = f = o = sigmoid(a), g = tanh(a), a = x w + h u + b."""
    into, back, bias = (
        np.array([[0.5], [0.1], [-0.3], [0.8]]),
        np.array([[0.2], [0.4], [0.6], [-0.1]]),
        np.zeros(4),
    )
    x = np.array([1.0, -2.0])
    hidden = cell = 0.0
    expected = []
    for one in x:
        i, f, g, o = into[:, 0] * one + back[:, 0] * hidden + bias
        cell = cell / (1 + np.exp(-f)) + np.tanh(g) / (1 + np.exp(-i))
        hidden = np.tanh(cell) / (1 + np.exp(-o))
        expected.append(hidden)
    found = lstm(x.astype(np.float32)[:, None, None], *(one.astype(np.float32) for one in (into, back, bias)))
    assert found[:, 0, 0] == pytest.approx(expected, abs=1e-6)


def test_a_voice_is_a_direction_and_silence_is_none(monkeypatch):
    generator = np.random.default_rng(1)
    sizes = {"weight_ih": (1024, 40), "weight_hh": (1024, 256), "bias_ih": (1024,), "bias_hh": (1024,)}
    own = {"linear.weight": generator.normal(0, 0.1, (256, 256)), "linear.bias": np.full(256, 0.1)}
    for layer in range(3):
        shapes = sizes if layer == 0 else sizes | {"weight_ih": (1024, 256)}
        own |= {f"lstm.{name}_l{layer}": generator.normal(0, 0.1, shape) for name, shape in shapes.items()}
    monkeypatch.setattr(
        voices, "_weights", lambda: {name: one.astype(np.float32) for name, one in own.items()}
    )
    noise = generator.normal(0, 0.05, 20_000).astype(np.float32)
    voice = embed(Audio(noise, 16_000))
    assert voice.shape == (256,)
    assert np.linalg.norm(voice) == pytest.approx(1.0, abs=1e-5)
    assert embed(Audio(np.zeros(20_000, dtype=np.float32), 16_000)) is None
    assert embed(Audio(noise[:1000], 16_000)) is None


def test_clusters_are_the_speakers():
    generator = np.random.default_rng(2)
    people = generator.normal(size=(6, 32))
    who = np.repeat(np.arange(6), 5)
    heard = people[who] + 0.1 * generator.normal(size=(30, 32))
    found = cluster(heard)
    assert purity(found.tolist(), [str(one) for one in who]) == 1.0
    assert len(set(found)) == 6
    assert len(set(cluster(heard, 3))) == 3
    assert cluster(heard[:1]).tolist() == [0]
