"""Counts reduced to what a Poisson likelihood needs: utterances of a speaker that share covariates become one cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True)
class Cells:
    """Sufficient statistics of word errors, sorted by speaker.

    A *cell* is one speaker under one combination of covariates; a *block* is a run of cells that share a random
    effect. Speakers whose cells are alike in every number are one block with `weight` above 1: what they contribute
    to the likelihood is equal.
    """

    errors: FloatArray
    """Word errors, one entry per cell."""
    words: FloatArray
    """Reference words, one entry per cell."""
    design: FloatArray
    """The covariates of the cells: one row per cell."""
    weight: FloatArray
    """How many speakers a cell stands for."""
    starts: IntArray
    """The first cell of each block."""
    block_of_speaker: IntArray
    """The block of every speaker, by the speaker's code; -1 for a speaker all of whose cells were left out."""
    squares: FloatArray
    """Sum of errors^2 / words over a cell's utterances: what a Pearson statistic needs beside the totals."""
    count: FloatArray
    """Utterances of a cell (of one of the speakers it stands for, on average)."""
    constant: float
    """The part of the log-likelihood without parameters: sum of errors * log(words) - log(errors!)."""

    @property
    def speakers(self) -> int:
        """The number of speakers."""
        return len(self.block_of_speaker)

    @cached_property
    def one_cell_each(self) -> bool:
        """Whether all covariates are constant within speakers."""
        return len(self.starts) == len(self.errors)

    @cached_property
    def _cells_each(self) -> IntArray:
        return np.diff(self.starts, append=len(self.errors))

    @cached_property
    def orthonormal(self) -> tuple[FloatArray, FloatArray]:
        """The design as an orthonormal basis times a triangle."""
        design = self.design
        if len(design) > 500:
            # Long and well conditioned: by Cholesky's way, in a third of the time of a QR decomposition.
            gram = design.T @ design
            size = np.sqrt(gram.diagonal())
            try:
                factor = np.linalg.cholesky(gram / np.outer(size, size))
            except np.linalg.LinAlgError:
                factor = np.zeros((1, 1))
            if factor.diagonal().min() > 0.05:
                triangle = factor.T * size
                return design @ np.linalg.inv(triangle), triangle
        basis, triangle = np.linalg.qr(design)
        return basis, triangle

    @property
    def utterances(self) -> int:
        """The number of utterances."""
        return round(float(self.weight @ self.count))

    @property
    def constant_within(self) -> NDArray[np.bool_]:
        """Which columns of the design have one value per speaker."""
        if self.one_cell_each:
            return np.ones(self.design.shape[1], dtype=bool)
        first = np.repeat(self.design[self.starts], self._cells_each, axis=0)
        return np.asarray((first == self.design).all(axis=0))

    @cached_property
    def block_errors(self) -> FloatArray:
        """Word errors of one speaker of each block."""
        return self.errors if self.one_cell_each else np.add.reduceat(self.errors, self.starts)

    @cached_property
    def block_weight(self) -> FloatArray:
        """How many speakers each block stands for."""
        return self.weight[self.starts]

    def per_block(self, values: FloatArray) -> FloatArray:
        """Sum `values` (one row per cell) within blocks."""
        return values if self.one_cell_each else np.add.reduceat(values, self.starts, axis=0)

    def per_block_of_rows(self, values: FloatArray) -> FloatArray:
        """Sum `values` (one column per cell) within blocks."""
        return values if self.one_cell_each else np.add.reduceat(values, self.starts, axis=1)

    def to_cells(self, values: FloatArray) -> FloatArray:
        """Repeat `values` (one entry a block) for every cell."""
        if self.one_cell_each:
            return values
        return np.repeat(values, self._cells_each)

    def without(self, cells: NDArray[np.bool_], columns: Sequence[int]) -> Cells:
        """Leave out `cells` (a mask; they must have no errors) and keep the design's `columns` only."""
        keep = ~cells
        block = self.to_cells(np.arange(len(self.starts), dtype=np.float64))[keep].astype(np.int64)
        left, starts = np.unique(block, return_index=True)
        renumber = np.full(len(self.starts) + 1, -1)
        renumber[left] = np.arange(len(left))
        return Cells(
            errors=self.errors[keep],
            words=self.words[keep],
            design=self.design[np.ix_(keep, np.asarray(columns, dtype=np.int64))],
            weight=self.weight[keep],
            starts=starts,
            block_of_speaker=renumber[self.block_of_speaker],
            squares=self.squares[keep],
            count=self.count[keep],
            constant=self.constant,
        )


def collapse(errors: FloatArray, words: FloatArray, speaker: IntArray, design: FloatArray) -> Cells:
    """Collapse utterances to cells.

    `errors` and `words` are counts (words above 0), `speaker` codes 0..n-1 that all occur, `design` one row an
    utterance. The result is exact: no likelihood, score or standard error changes by it.
    """
    errors = np.ascontiguousarray(errors, dtype=np.float64)
    words = np.ascontiguousarray(words, dtype=np.float64)
    speakers = int(speaker.max()) + 1
    squares = errors * errors / words
    constant = _constant(errors, words)
    anyone = np.empty(speakers, dtype=np.int64)
    anyone[speaker] = np.arange(len(speaker))
    rows = design[anyone]
    if _constant_columns(design, rows, speaker):  # nothing varies within a speaker: totals are enough
        cell_errors, cell_words, cell_squares = (
            _sums(speaker, values, speakers) for values in (errors, words, squares)
        )
        first, member, count = _alike(np.column_stack([cell_errors, cell_words, rows]))
        return Cells(
            errors=cell_errors[first],
            words=cell_words[first],
            design=rows[first],
            weight=count.astype(np.float64),
            starts=np.arange(len(first)),
            block_of_speaker=member,
            squares=_sums(member, cell_squares, len(first)) / count,
            count=np.bincount(member, np.bincount(speaker, minlength=speakers), len(first)) / count,
            constant=constant,
        )
    if _all_different(design):  # a continuous covariate: every utterance is a cell of its own
        order = (
            np.arange(len(errors)) if (np.diff(speaker) >= 0).all() else np.argsort(speaker, kind="stable")
        )
        return Cells(
            errors=errors[order],
            words=words[order],
            design=design[order],
            weight=np.ones(len(order)),
            starts=np.searchsorted(speaker[order], np.arange(speakers)),
            block_of_speaker=np.arange(speakers),
            squares=squares[order],
            count=np.ones(len(order)),
            constant=constant,
        )
    first, member, _ = _alike(np.column_stack([speaker, design]))
    order = np.lexsort((first, speaker[first]))
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    first, member = first[order], rank[member]
    return Cells(
        errors=_sums(member, errors, len(first)),
        words=_sums(member, words, len(first)),
        design=design[first],
        weight=np.ones(len(first)),
        starts=np.searchsorted(speaker[first], np.arange(speakers)),
        block_of_speaker=np.arange(speakers),
        squares=_sums(member, squares, len(first)),
        count=np.bincount(member, minlength=len(first)).astype(np.float64),
        constant=constant,
    )


def _sums(group: IntArray, values: FloatArray, groups: int) -> FloatArray:
    return np.bincount(group, values, groups).astype(np.float64, copy=False)


def _alike(rows: FloatArray) -> tuple[IntArray, IntArray, IntArray]:
    """Return the first row of each group of equal rows, the group of every row, and the groups' sizes."""
    # One sort of a mixed key instead of one sort a column; a clash of keys would show in the comparison below.
    mix = np.random.default_rng(len(rows)).uniform(0.5, 1.5, rows.shape[1])
    with np.errstate(over="ignore", invalid="ignore"):
        key = (rows * mix).sum(axis=1)
    _, first, member, count = np.unique(key, return_index=True, return_inverse=True, return_counts=True)
    if not np.array_equal(rows[first[member]], rows):
        _, first, member, count = np.unique(
            rows, axis=0, return_index=True, return_inverse=True, return_counts=True
        )
    return first, member.reshape(-1), count


def _all_different(design: FloatArray, sample: int = 64) -> bool:
    """Guess from a sample whether no two rows are alike; a wrong guess costs time, never exactness."""
    rows = design[:: max(1, len(design) // sample)][:sample]
    return len(rows) == sample and len(_alike(rows)[0]) == sample


def _constant_columns(design: FloatArray, rows: FloatArray, speaker: IntArray) -> bool:
    return all(
        np.array_equal(rows[:, column][speaker], design[:, column]) for column in range(design.shape[1])
    )


def _constant(errors: FloatArray, words: FloatArray) -> float:
    from voxaudit.numeric import gammaln

    if max(words.max(), errors.max()) > 10_000:
        return float(errors @ np.log(words) - gammaln(errors + 1.0).sum())
    # Counts are small integers: look the few different values up instead of taking every logarithm.
    by_words = np.bincount(words.astype(np.int64), errors)
    used = np.flatnonzero(by_words)
    histogram = np.bincount(errors.astype(np.int64))
    return float(by_words[used] @ np.log(used) - histogram @ gammaln(np.arange(len(histogram)) + 1.0))
