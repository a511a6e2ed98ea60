"""What a leaf learns of the tests that may be put there."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from stillflow.ops.tensor_forest.examples import Examples, Targets
from stillflow.ops.tensor_forest.parameters import at_depth
from stillflow.ops.tensor_forest.splits import Split, passes_each, read_split, table_of


class Choice(NamedTuple):
    """A test, and what the leaves below it will say."""

    split: Split
    left: Any
    right: Any


class Growth:
    """The statistics of a leaf: first it gathers tests, then it counts where examples go.

    Args:
      parameters: a `TensorForestParams` message.
      depth: how far below the root the leaf is.
    """

    def __init__(self, parameters: Any, depth: int) -> None:
        self.parameters = parameters
        self.depth = depth
        self.outputs = parameters.num_outputs
        self.weight = np.float32(0)
        self.split_after = int(at_depth(parameters.split_after_samples, depth))
        self.wanted = int(at_depth(parameters.num_splits_to_consider, depth))
        self.splits: list[Split] = []
        self._tests = table_of([])

    @property
    def is_initialized(self) -> bool:
        """Whether the tests are there."""
        return bool(self.weight > 0) or len(self.splits) == self.wanted

    @property
    def is_finished(self) -> bool:
        """Whether it has seen enough to choose one."""
        raise NotImplementedError

    def add_split(
        self, split: Split, examples: Examples | None, targets: Targets | None, row: int
    ) -> None:
        """Adds a test, unless there are enough; `row` is the example that it was made of."""
        if len(self.splits) < self.wanted:
            self.splits.append(split)
            self._tests = table_of([*self._tests.tolist(), split])
            self._add_statistics()

    def add(self, examples: Examples, rows: Any, targets: Targets) -> int | None:
        """Counts examples.

        Args:
          examples, targets: a batch.
          rows: which of it, int64 [n].

        Returns:
          Of which one on, counted in `rows`, the leaf is finished; None if it is not.
        """
        raise NotImplementedError

    def best(self) -> Choice | None:
        """The test that parts the examples best, if any parts them."""
        raise NotImplementedError

    def passed(self, examples: Examples, rows: Any) -> Any:
        """Which tests examples pass, bool [n, tests]."""
        return passes_each(examples, rows, self._tests)

    def remove_split(self, number: int) -> None:
        """Gives a test up."""
        del self.splits[number]
        self._tests = np.delete(self._tests, number)
        self._remove_statistics(number)

    def _add_statistics(self) -> None:
        raise NotImplementedError

    def _remove_statistics(self, number: int) -> None:
        raise NotImplementedError

    # ---- messages

    def write(self, slot: Any) -> None:
        """Fills a `FertileSlot` message."""
        slot.post_init_leaf_stats.weight_sum = self.weight
        self._write_total(slot.post_init_leaf_stats)
        for number, split in enumerate(self.splits):
            candidate = slot.candidates.add()
            split.write(candidate.split)
            self._write_left(number, candidate.left_stats)

    def read(self, slot: Any) -> None:
        """Takes over a `FertileSlot` message; one without statistics says nothing."""
        if not slot.HasField("post_init_leaf_stats"):
            return
        self.weight = np.float32(slot.post_init_leaf_stats.weight_sum)
        self._read_total(slot.post_init_leaf_stats)
        for number, candidate in enumerate(slot.candidates):
            self.add_split(read_split(candidate.split), None, None, -1)
            self._read_left(number, candidate.left_stats)

    def _write_total(self, stats: Any) -> None:
        raise NotImplementedError

    def _write_left(self, number: int, stats: Any) -> None:
        raise NotImplementedError

    def _read_total(self, stats: Any) -> None:
        raise NotImplementedError

    def _read_left(self, number: int, stats: Any) -> None:
        raise NotImplementedError


def write_vector(vector: Any, values: Any) -> None:
    """Fills a `Vector` message."""
    for value in values:
        vector.value.add().float_value = value


def read_vector(vector: Any) -> Any:
    """A `Vector` message, float32 [n]."""
    return np.array([each.float_value for each in vector.value], np.float32)


def in_turn(start: Any, addends: Any) -> Any:
    """Sums after each addend, one after the other in float32, [n + 1, ...]."""
    return np.cumsum(np.concatenate([[start], addends]), 0, dtype=np.float32)
