"""Statistics of a leaf whose examples have numbers for labels: least squares."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.graph.arrays import Array
from stillflow_contrib.ops.tensor_forest.examples import Examples, Targets
from stillflow_contrib.ops.tensor_forest.growth import (
    Choice,
    Growth,
    add_at,
    in_turn,
    read_vector,
    write_vector,
)
from stillflow_contrib.ops.tensor_forest.shelf import Field, Shelf


class LeastSquares(Growth):
    """Sums of labels and of their squares; weights of examples have no effect."""

    @classmethod
    def fields(cls, outputs: int) -> tuple[dict[str, Field], dict[str, Field]]:
        of_leaves, of_tests = super().fields(outputs)
        numbers: Field = (outputs,), np.float32
        of_leaves.update(sums=numbers, squares=numbers)
        of_tests.update(left_sums=numbers, left_squares=numbers, left_counts=((), np.int64))
        return of_leaves, of_tests

    @classmethod
    def finished(cls, shelf: Shelf, rows: Any) -> Array:
        return shelf["weight"][rows] >= shelf["split_after"][rows]

    @classmethod
    def count(
        cls, shelf: Shelf, rows: Any, examples: Examples, places: Any, targets: Targets
    ) -> None:
        labels = targets.outputs[places]
        squares, outputs = labels * labels, labels.shape[1]
        which, tests = cls.passed(shelf, rows, examples, places)
        left = rows[which] * shelf.width + tests
        add_at(shelf["left_counts"], left, 1)
        for output in range(outputs):
            add_at(shelf["sums"], rows * outputs + output, labels[:, output])
            add_at(shelf["squares"], rows * outputs + output, squares[:, output])
            add_at(shelf["left_sums"], left * outputs + output, labels[which, output])
            add_at(shelf["left_squares"], left * outputs + output, squares[which, output])
        add_at(shelf["weight"], rows, np.float32(1))

    @classmethod
    def state(cls, shelf: Shelf, rows: Any) -> Any:
        return shelf["weight"][rows]

    @classmethod
    def first_finished(
        cls, state: Any, split_after: int, places: Any, targets: Targets, outputs: int
    ) -> int:
        weights = in_turn(state, np.ones(len(places), np.float32))[1:]
        return int(np.argmax(weights >= split_after))

    def add(self, examples: Examples, places: Any, targets: Targets) -> int | None:
        before, rows = self.weight.copy(), np.full(len(places), self.row)
        self.count(self.shelf, rows, examples, places, targets)
        if not self.is_finished:
            return None
        return self.first_finished(before, self.split_after, places, targets, self.outputs)

    def best(self) -> Choice | None:
        counts = self._own("left_counts").astype(np.float32)
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
        left = self._own("left_sums")[number]
        right = self._own("sums") - left
        return Choice(self.splits[number], left / counts[number], right / others[number])

    def _variances(self, counts: Any, others: Any) -> Array:
        """Return the variances on both sides of each test, summed over outputs."""
        left_sums, left_squares = self._own("left_sums"), self._own("left_squares")
        left, right = left_sums / counts, (self._own("sums") - left_sums) / others
        squares = left_squares / counts
        other_squares = (self._own("squares") - left_squares) / others
        parts = np.stack([squares - left * left, other_squares - right * right], 2)
        return np.cumsum(parts.reshape(len(parts), -1), 1, dtype=np.float32)[:, -1]

    def _write_total(self, stats: Any) -> None:
        write_vector(stats.regression.mean_output, self._own("sums"))
        write_vector(stats.regression.mean_output_squares, self._own("squares"))

    def _write_left(self, number: int, stats: Any) -> None:
        write_vector(stats.regression.mean_output, self._own("left_sums")[number])
        write_vector(stats.regression.mean_output_squares, self._own("left_squares")[number])
        stats.weight_sum = self._own("left_counts")[number]

    def _read_total(self, stats: Any) -> None:
        self._own("sums")[:] = read_vector(stats.regression.mean_output)
        self._own("squares")[:] = read_vector(stats.regression.mean_output_squares)

    def _read_left(self, number: int, stats: Any) -> None:
        self._own("left_sums")[number] = read_vector(stats.regression.mean_output)
        self._own("left_squares")[number] = read_vector(stats.regression.mean_output_squares)
        self._own("left_counts")[number] = int(stats.weight_sum)
