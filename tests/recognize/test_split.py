"""Long audio is cut where it is quiet; nothing is lost."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from voxaudit.recognize.pcm import split_at_pauses

RATE = 1000


def test_what_fits_is_not_cut():
    samples = np.ones(3 * RATE, np.float32)
    assert split_at_pauses(samples, RATE, 3.0)[0] is samples


def test_the_cut_is_in_the_pause():
    samples = np.ones(4 * RATE, np.float32)
    samples[2400:2700] = 0.0
    first, second = split_at_pauses(samples, RATE, 3.0)
    assert 2400 <= len(first) <= 2700
    assert len(first) + len(second) == 4 * RATE


def test_of_equal_places_the_last_one_is_taken():
    first, _ = split_at_pauses(np.zeros(4 * RATE, np.float32), RATE, 3.0)
    assert len(first) == 2900  # the middle of the last 0.2 s


@given(st.integers(0, 30_000), st.integers(0, 2**32 - 1), st.floats(1.0, 5.0))
def test_the_pieces_are_the_whole(length, seed, longest):
    samples = np.random.default_rng(seed).standard_normal(length).astype(np.float32)
    pieces = split_at_pauses(samples, RATE, longest)
    assert np.array_equal(np.concatenate(pieces), samples)
    assert all(len(piece) <= longest * RATE for piece in pieces)
    assert len(pieces) <= 1 + length // (longest * RATE / 2)
