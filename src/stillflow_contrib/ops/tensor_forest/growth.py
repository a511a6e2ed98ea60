"""Statistics of a leaf about its candidate tests."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np

from stillflow.graph.arrays import Array
from stillflow_contrib.ops.tensor_forest.examples import Examples, Targets
from stillflow_contrib.ops.tensor_forest.parameters import at_depth
from stillflow_contrib.ops.tensor_forest.shelf import Field, Shelf
from stillflow_contrib.ops.tensor_forest.splits import ROW, Split, passes_each, read_split


class Choice(NamedTuple):
    """Test, and the values of the leaves below it."""

    split: Split
    left: Any
    right: Any


class Growth:
    """The statistics of a leaf: first it gathers tests, then it counts where examples go.

    Args:
      parameters: a `TensorForestParams` message.
      depth: how far below the root the leaf is.
      shelf: where the numbers are, made by `shelf_of`.
    """

    in_bulk: ClassVar[bool] = True  # whether `count` takes examples of many leaves

    def __init__(self, parameters: Any, depth: int, shelf: Shelf) -> None:
        self.parameters = parameters
        self.depth = depth
        self.outputs = parameters.num_outputs
        self.wanted = int(at_depth(parameters.num_splits_to_consider, depth))
        self.splits: list[Split] = []
        self.shelf = shelf
        self.row = shelf.take(self.wanted)
        self.split_after = int(at_depth(parameters.split_after_samples, depth))
        shelf["split_after"][self.row] = self.split_after

    @classmethod
    def fields(cls, outputs: int) -> tuple[dict[str, Field], dict[str, Field]]:
        """Return the fields that leaves have, and their tests."""
        of_leaves: dict[str, Field] = {
            "weight": ((), np.float32), "split_after": ((), np.int64), "tests": ((), np.int64),
            "is_initialized": ((), bool), "is_early": ((), bool),
        }  # fmt: skip
        return of_leaves, {"test": ((), ROW)}

    @classmethod
    def shelf_of(cls, parameters: Any) -> Shelf:
        """Return the place for the numbers of all leaves of a tree."""
        return Shelf(*cls.fields(parameters.num_outputs))

    def _own(self, name: str) -> Array:
        """Return the shelf's row of this leaf; of its tests only the existing ones."""
        found = self.shelf[name][self.row]
        return found[: len(self.splits)] if name in self.shelf.of_tests else found

    @property
    def weight(self) -> Any:
        """The weight of all examples that were counted, float32."""
        return self.shelf["weight"][self.row]

    @property
    def is_initialized(self) -> bool:
        """True if the tests exist."""
        return bool(self.weight > 0) or len(self.splits) == self.wanted

    @property
    def is_finished(self) -> bool:
        """True if it has seen enough examples to choose a test."""
        return bool(self.finished(self.shelf, np.array([self.row]))[0])

    @classmethod
    def finished(cls, shelf: Shelf, rows: Any) -> Any:
        """Return the leaves that have seen enough examples, bool [n]."""
        raise NotImplementedError

    # ---- tests

    def add_split(
        self, split: Split, examples: Examples | None, targets: Targets | None, example: int
    ) -> None:
        """Add a test made of `example`, unless there are enough."""
        if len(self.splits) < self.wanted:
            self.shelf["test"][self.row, len(self.splits)] = tuple(split)
            self.splits.append(split)
            self.shelf["tests"][self.row] = len(self.splits)
        if len(self.splits) == self.wanted:
            self.settle()

    def add_splits(self, tests: Any) -> None:
        """Add tests, of `ROW`, for which there is room."""
        first = len(self.splits)
        self.splits += [Split(*test) for test in tests.tolist()]
        self.shelf["test"][self.row, first : len(self.splits)] = tests
        self.shelf["tests"][self.row] = len(self.splits)
        if len(self.splits) == self.wanted:
            self.settle()

    def remove_split(self, number: int) -> None:
        """Remove a test."""
        del self.splits[number]
        self.shelf.remove_test(self.row, number)
        self.shelf["tests"][self.row] = len(self.splits)

    def settle(self) -> None:
        """Record on the shelf whether the tests exist."""
        self.shelf["is_initialized"][self.row] = self.is_initialized

    # ---- examples

    @classmethod
    def count(
        cls, shelf: Shelf, rows: Any, examples: Examples, places: Any, targets: Targets
    ) -> None:
        """Add examples to the counts.

        Args:
          shelf: where the leaves are.
          rows: for each example the row of its leaf, int64 [n].
          examples, targets: a batch.
          places: which examples of it, int64 [n], those of a leaf in their order.
        """
        raise NotImplementedError

    @classmethod
    def passed(cls, shelf: Shelf, rows: Any, examples: Examples, places: Any) -> Any:
        """Return the passed tests for each example: its number, and that of the test."""
        tests = shelf["test"][rows]
        there = np.arange(shelf.width) < shelf["tests"][rows][:, None]
        return np.nonzero(passes_each(examples, places, tests) & there)

    def add(self, examples: Examples, places: Any, targets: Targets) -> int | None:
        """Add examples of this leaf alone to the counts.

        Returns:
          Of which one on, counted in `places`, the leaf is finished; None if it is not.
        """
        raise NotImplementedError

    @classmethod
    def state(cls, shelf: Shelf, rows: Any) -> Any:
        """Return the leaves' state for `first_finished`."""
        raise NotImplementedError

    @classmethod
    def first_finished(
        cls, state: Any, split_after: int, places: Any, targets: Targets, outputs: int
    ) -> int:
        """Return the example, counted in `places`, with which a leaf became finished."""
        raise NotImplementedError

    def best(self) -> Choice | None:
        """Return the test that parts the examples best, if any parts them."""
        raise NotImplementedError

    # ---- messages

    def write(self, slot: Any) -> None:
        """Fill a `FertileSlot` message."""
        slot.post_init_leaf_stats.weight_sum = self.weight
        self._write_total(slot.post_init_leaf_stats)
        for number, split in enumerate(self.splits):
            candidate = slot.candidates.add()
            split.write(candidate.split)
            self._write_left(number, candidate.left_stats)

    def read(self, slot: Any) -> None:
        """Load a `FertileSlot` message; one without statistics has no effect."""
        if not slot.HasField("post_init_leaf_stats"):
            return
        self.shelf["weight"][self.row] = slot.post_init_leaf_stats.weight_sum
        self._read_total(slot.post_init_leaf_stats)
        for number, candidate in enumerate(slot.candidates):
            self.add_split(read_split(candidate.split), None, None, -1)
            self._read_left(number, candidate.left_stats)
        self.settle()

    def _write_total(self, stats: Any) -> None:
        raise NotImplementedError

    def _write_left(self, number: int, stats: Any) -> None:
        raise NotImplementedError

    def _read_total(self, stats: Any) -> None:
        raise NotImplementedError

    def _read_left(self, number: int, stats: Any) -> None:
        raise NotImplementedError


def write_vector(vector: Any, values: Any) -> None:
    """Fill a `Vector` message."""
    for value in values:
        vector.value.add().float_value = value


def read_vector(vector: Any) -> Array:
    """Return a `Vector` message, float32 [n]."""
    return np.array([each.float_value for each in vector.value], np.float32)


def in_turn(start: Any, addends: Any) -> Array:
    """Return sums after each addend, one after the other in float32, [n + 1, ...]."""
    return np.cumsum(np.concatenate([[start], addends]), 0, dtype=np.float32)


def add_at(array: Any, places: Any, values: Any) -> None:
    """Add to elements of an array, counted in memory, one after the other."""
    np.add.at(array.reshape(-1), places, values)
