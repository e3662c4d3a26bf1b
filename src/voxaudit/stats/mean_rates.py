"""A mean of error rates over scenarios, written as errors over words, so that speakers can be shuffled with it.

Where all speakers were heard in all scenarios the mean of rates is the sum of weighted errors over the words. Where
some trials are missing, a scenario's errors count as if all words had been heard there, and a speaker's words count by
the share of the errors that the scenario makes: the ratio of the sums still is the mean of the rates, and every speaker
pulls it, `e_i/E - w_i/W`, as he pulls that mean.
"""

from __future__ import annotations

import numpy as np

from voxaudit.stats.cells import FloatArray


def as_one_rate(errors: FloatArray, words: FloatArray, weights: FloatArray) -> FloatArray:
    """Return errors and words, 2 x speakers x means, of weighted means of rates (`weights`: scenarios x means).

    `errors` and `words` are those of one group, speakers x scenarios. A mean with a scenario that has no words is nan.

    >>> errors, words = np.array([[1.0, 3.0], [2.0, 0.0]]), np.array([[10.0, 10.0], [20.0, 0.0]])
    >>> sums = as_one_rate(errors, words, np.array([[0.5], [0.5]])).sum(axis=1)
    >>> (sums[0] / sums[1]).round(6).tolist(), (0.1 + 0.3) / 2
    ([0.2], 0.2)
    """
    total = words.sum(axis=0)
    silent = total <= 0.0
    each = 1.0 / np.where(silent, 1.0, total)
    made = (errors.sum(axis=0) * each)[:, None] * weights
    mean = made.sum(axis=0)
    # The share of the mean that a scenario makes; without errors there is nothing to share.
    shares = np.where(mean > 0.0, made / np.where(mean > 0.0, mean, 1.0), weights)
    scale = total @ shares
    sums = np.stack([(errors * each) @ weights, (words * each) @ shares]) * scale
    unknown = (weights[silent] != 0.0).any(axis=0)
    return np.where(unknown, np.nan, sums)
