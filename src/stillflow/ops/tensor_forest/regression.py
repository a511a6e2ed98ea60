"""Statistics of a leaf whose examples have numbers for labels: least squares."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.ops.tensor_forest.examples import Examples, Targets
from stillflow.ops.tensor_forest.growth import (
    Choice,
    Growth,
    in_turn,
    read_vector,
    write_vector,
)


class LeastSquares(Growth):
    """Sums of labels and of their squares; weights of examples have no effect."""

    def __init__(self, parameters: Any, depth: int) -> None:
        super().__init__(parameters, depth)
        self._sums = np.zeros(self.outputs, np.float32)
        self._squares = np.zeros(self.outputs, np.float32)
        self._left_sums = np.zeros((0, self.outputs), np.float32)
        self._left_squares = np.zeros((0, self.outputs), np.float32)
        self._left_counts = np.zeros(0, np.int64)

    @property
    def is_finished(self) -> bool:
        return bool(self.weight >= self.split_after)

    def _add_statistics(self) -> None:
        self._left_sums = np.pad(self._left_sums, ((0, 1), (0, 0)))
        self._left_squares = np.pad(self._left_squares, ((0, 1), (0, 0)))
        self._left_counts = np.pad(self._left_counts, (0, 1))

    def _remove_statistics(self, number: int) -> None:
        self._left_sums = np.delete(self._left_sums, number, 0)
        self._left_squares = np.delete(self._left_squares, number, 0)
        self._left_counts = np.delete(self._left_counts, number)

    def add(self, examples: Examples, rows: Any, targets: Targets) -> int | None:
        labels = targets.outputs[rows]
        squares = labels * labels
        passed = self.passed(examples, rows)
        chosen, zero = passed[:, :, None], np.float32(0)
        self._left_sums = in_turn(self._left_sums, np.where(chosen, labels[:, None], zero))[-1]
        self._left_squares = in_turn(self._left_squares, np.where(chosen, squares[:, None], zero))[
            -1
        ]
        self._left_counts = self._left_counts + passed.sum(0)
        self._sums = in_turn(self._sums, labels)[-1]
        self._squares = in_turn(self._squares, squares)[-1]
        weights = in_turn(self.weight, np.ones(len(rows), np.float32))
        self.weight = weights[-1]
        finished = np.flatnonzero(weights[1:] >= self.split_after)
        return int(finished[0]) if len(finished) else None

    def best(self) -> Choice | None:
        counts = self._left_counts.astype(np.float32)
        others = self.weight - counts
        allowed = (counts > 0) & (others > 0)
        if not allowed.any():
            return None
        with np.errstate(all="ignore"):
            variances = self._variances(counts[:, None], others[:, None])
        variances = np.where(allowed & ~np.isnan(variances), variances, np.inf)
        number = int(np.argmin(variances))
        if not variances[number] < np.finfo(np.float32).max:
            return None
        left, right = self._left_sums[number], self._sums - self._left_sums[number]
        return Choice(self.splits[number], left / counts[number], right / others[number])

    def _variances(self, counts: Any, others: Any) -> Any:
        """The variances on both sides of each test, summed over outputs."""
        left = self._left_sums / counts
        right = (self._sums - self._left_sums) / others
        left_squares = self._left_squares / counts
        right_squares = (self._squares - self._left_squares) / others
        parts = np.stack([left_squares - left * left, right_squares - right * right], 2)
        return np.cumsum(parts.reshape(len(parts), -1), 1, dtype=np.float32)[:, -1]

    def _write_total(self, stats: Any) -> None:
        write_vector(stats.regression.mean_output, self._sums)
        write_vector(stats.regression.mean_output_squares, self._squares)

    def _write_left(self, number: int, stats: Any) -> None:
        write_vector(stats.regression.mean_output, self._left_sums[number])
        write_vector(stats.regression.mean_output_squares, self._left_squares[number])
        stats.weight_sum = self._left_counts[number]

    def _read_total(self, stats: Any) -> None:
        self._sums = read_vector(stats.regression.mean_output)
        self._squares = read_vector(stats.regression.mean_output_squares)

    def _read_left(self, number: int, stats: Any) -> None:
        self._left_sums[number] = read_vector(stats.regression.mean_output)
        self._left_squares[number] = read_vector(stats.regression.mean_output_squares)
        self._left_counts[number] = int(stats.weight_sum)
