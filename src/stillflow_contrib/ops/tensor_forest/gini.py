"""Statistics of a leaf whose examples have classes for labels: the impurity of Gini."""

from __future__ import annotations

import heapq
import math
from typing import Any

import numpy as np

from stillflow.graph.arrays import Array
from stillflow.ops.boosted_trees.resources import refused
from stillflow_contrib.ops.tensor_forest.examples import Examples, Targets
from stillflow_contrib.ops.tensor_forest.growth import (
    Choice,
    Growth,
    add_at,
    in_turn,
    read_vector,
    write_vector,
)
from stillflow_contrib.ops.tensor_forest.parameters import MESSAGES, at_depth
from stillflow_contrib.ops.tensor_forest.shelf import Field, Shelf
from stillflow_contrib.ops.tensor_forest.splits import Split

_PRUNED = {"SPLIT_PRUNE_HALF": 0.5, "SPLIT_PRUNE_QUARTER": 0.25, "SPLIT_PRUNE_10_PERCENT": 0.1}
_LARGEST = np.finfo(np.float32).max


class DenseGini(Growth):
    """Counts of all classes, in total and on the left side of each test."""

    def __init__(self, parameters: Any, depth: int, shelf: Shelf) -> None:
        super().__init__(parameters, depth, shelf)
        self._half: dict[int, int] = {}  # tests made of one class so far, and which
        self._begin_finishing()
        self._begin_pruning()

    @classmethod
    def fields(cls, outputs: int) -> tuple[dict[str, Field], dict[str, Field]]:
        of_leaves, of_tests = super().fields(outputs)
        of_leaves.update(total=((outputs,), np.float32), seen=((outputs,), bool))
        of_tests.update(left=((outputs,), np.float32))
        return of_leaves, of_tests

    def _begin_finishing(self) -> None:
        self._finish = _name(MESSAGES["SplitFinishStrategyType"], self.parameters.finish_type.type)
        if self._finish == "SPLIT_FINISH_BASIC":
            return
        settings = self.parameters
        if not (settings.HasField("dominate_fraction") and settings.HasField("min_split_samples")):
            raise refused(
                "dominate_fraction and min_split_samples required for early-finish strategy."
            )
        self._least = int(at_depth(settings.min_split_samples, self.depth))
        self._finish_every = int(at_depth(settings.finish_type.check_every_steps, self.depth))
        if self._finish_every <= 0:
            raise refused("finish_type.check_every_steps must be positive")
        self._finish_epoch = self._least // self._finish_every
        self._dominate = self._dominating()

    def _begin_pruning(self) -> None:
        self._prune = _name(MESSAGES["SplitPruningStrategyType"], self.parameters.pruning_type.type)
        if self._prune == "SPLIT_PRUNE_NONE":
            return
        every = self.parameters.pruning_type.prune_every_samples
        self._prune_every = int(at_depth(every, self.depth))
        self._prune_epoch = 1
        if self._prune == "SPLIT_PRUNE_HOEFFDING":
            self._dominate = self._dominating()

    def _dominating(self) -> float:
        found = at_depth(self.parameters.dominate_fraction, self.depth)
        if not 0 < found <= 1:
            raise refused(f"Invalid dominate fraction {found}")
        return float(found)

    @property
    def is_initialized(self) -> bool:
        return bool(self.weight > 0) or (len(self.splits) == self.wanted and not self._half)

    @classmethod
    def finished(cls, shelf: Shelf, rows: Any) -> Array:
        enough = shelf["weight"][rows] >= shelf["split_after"][rows]
        return (enough & (cls._classes_seen(shelf, rows) > 1)) | shelf["is_early"][rows]

    @classmethod
    def _classes_seen(cls, shelf: Shelf, rows: Any) -> Array:
        """Return the number of classes of the examples in leaves, int64 [n]."""
        return shelf["seen"][rows].sum(1)

    # ---- tests

    def add_split(
        self, split: Split, examples: Examples | None, targets: Targets | None, example: int
    ) -> None:
        count = len(self.splits)
        super().add_split(split, examples, targets, example)
        if not self.parameters.initialize_average_splits or examples is None or targets is None:
            return
        label = int(targets.outputs[example, 0])
        if len(self.splits) > count and split.is_inequality:
            self._half[count] = label
        for number in [each for each, first in self._half.items() if first != label]:
            old = self.splits[number]
            middle = (old.threshold + examples.value(example, old.feature)) / np.float32(2)
            # The test of examples stays unchanged, as in TensorFlow; only the tree gets this.
            self.splits[number] = old._replace(threshold=middle)
            del self._half[number]
        self.settle()

    # ---- examples

    @classmethod
    def count(
        cls, shelf: Shelf, rows: Any, examples: Examples, places: Any, targets: Targets
    ) -> None:
        outputs = shelf["total"].shape[1]
        labels, weights = targets.classes(outputs)[places], targets.weights[places]
        which, tests = cls.passed(shelf, rows, examples, places)
        left = (rows[which] * shelf.width + tests) * outputs + labels[which]
        add_at(shelf["left"], left, weights[which])
        add_at(shelf["total"], rows * outputs + labels, weights)
        add_at(shelf["weight"], rows, weights)
        shelf["seen"][rows[weights > 0], labels[weights > 0]] = True

    @classmethod
    def state(cls, shelf: Shelf, rows: Any) -> Any:
        return list(zip(shelf["weight"][rows], shelf["seen"][rows], strict=True))

    @classmethod
    def first_finished(
        cls, state: Any, split_after: int, places: Any, targets: Targets, outputs: int
    ) -> int:
        weight, seen = state[0], set(np.flatnonzero(state[1]).tolist())
        labels, weights = targets.classes(outputs)[places], targets.weights[places]
        enough = in_turn(weight, weights)[1:] >= split_after
        return int(np.argmax(enough & (_distinct(seen, labels, weights > 0) > 1)))

    @property
    def _is_checked(self) -> bool:
        """True if each example is followed by a decision."""
        return self._finish != "SPLIT_FINISH_BASIC" or self._prune != "SPLIT_PRUNE_NONE"

    def add(self, examples: Examples, places: Any, targets: Targets) -> int | None:
        if not self._is_checked:
            return self._add(examples, places, targets)
        first = None
        for number in range(len(places)):
            self._add(examples, places[number : number + 1], targets)
            self._check_finish()
            self._check_prune()
            if first is None and self.is_finished:
                first = number
        return first

    def _add(self, examples: Examples, places: Any, targets: Targets) -> int | None:
        row = np.array([self.row])
        (state,) = self.state(self.shelf, row)
        self.count(self.shelf, row.repeat(len(places)), examples, places, targets)
        if not self.is_finished:
            return None
        return self.first_finished(state, self.split_after, places, targets, self.outputs)

    # ---- choosing

    @property
    def total(self) -> Any:
        """Counts of classes, float32 [classes]."""
        return self._own("total")

    @property
    def left(self) -> Any:
        """Those on the left side of each test, float32 [tests, classes]."""
        return self._own("left")

    def _scores(self) -> tuple[Any, Any, Any]:
        """Return the impurity that each test leaves, and the weights on both sides of it."""
        left, left_weight = self._impurity(self.left)
        right, right_weight = self._impurity(self.total - self.left)
        return left + right, left_weight, right_weight

    def _impurity(self, counts: Any) -> tuple[Any, Any]:
        """Weighted impurity, every class having one example more than it has; and the weight."""
        if not counts.shape[1]:
            counts = np.zeros((len(counts), 1), np.float32)
        weight = np.cumsum(counts, 1, dtype=np.float32)[:, -1]
        square = np.cumsum(counts * counts, 1, dtype=np.float32)[:, -1]
        classes = np.float32(self.outputs)
        smoothed = classes + weight
        inside = square + np.float32(2) * weight + classes
        return weight * (np.float32(1) - inside / (smoothed * smoothed)), weight

    def best(self) -> Choice | None:
        scores, left, right = self._scores()
        scores = np.where((left > 0) & (right > 0), scores, _LARGEST)
        if not (scores < _LARGEST).any():
            return None
        number = int(np.argmin(scores))
        return Choice(self.splits[number], *self._sides(number))

    def _sides(self, number: int) -> tuple[Any, Any]:
        """Return the values of the leaves on both sides of a test."""
        return self.left[number], self.total - self.left[number]

    # ---- deciding early, giving tests up

    def _check_finish(self) -> None:
        if self._finish == "SPLIT_FINISH_BASIC" or self.weight < self._least:
            return
        if self.weight < self._finish_epoch * self._finish_every:
            return
        self._finish_epoch += 1
        if self._finish == "SPLIT_FINISH_DOMINATE_HOEFFDING":
            self.shelf["is_early"][self.row] = self._dominates()
        # "Bootstrap" never decides: TensorFlow asks for 0 to be below a negative number there.

    def _dominates(self) -> bool:
        """Return True if the best test is significantly better than the second."""
        best = second = _LARGEST
        for score in self._scores()[0]:
            if score < best:
                best, second = score, best
            elif score < second:
                second = score
        spread = np.float32(0.25 * self.outputs * float(self.weight))
        inverse = 1 / (1 - self._dominate) if self._dominate < 1 else math.inf
        bound = np.float32(float(spread) * math.sqrt(math.log(inverse) / (2 * float(self.weight))))
        return bool(second - best > bound)

    def _check_prune(self) -> None:
        if self._prune == "SPLIT_PRUNE_NONE" or self.is_finished:
            return
        if self.weight < self._prune_epoch * self._prune_every:
            return
        self._prune_epoch += 1
        for number in sorted(self._hopeless(), reverse=True):
            self.remove_split(number)

    def _hopeless(self) -> list[int]:
        scores = self._scores()[0]
        if self._prune == "SPLIT_PRUNE_HOEFFDING":
            spread = np.float32(float(self.weight) * (1 - 1 / self.outputs))
            inverse = 1 / (1 - self._dominate) if self._dominate < 1 else math.inf
            half = np.float32(0.5 * math.log(inverse))
            bound = spread * np.sqrt(half / self.weight)
            best = min(scores, default=_LARGEST)
            return [number for number, score in enumerate(scores) if score - best > bound]
        count = int(np.float32(len(scores)) * np.float32(_PRUNED[self._prune]))
        worst: list[tuple[Any, int]] = []
        for number, score in enumerate(scores if count > 0 else ()):
            if len(worst) < count:
                heapq.heappush(worst, (score, number))
            elif worst[0][0] < score:
                heapq.heapreplace(worst, (score, number))
        return [number for _, number in worst]

    # ---- messages

    def _write_total(self, stats: Any) -> None:
        write_vector(stats.classification.dense_counts, self.total)

    def _write_left(self, number: int, stats: Any) -> None:
        write_vector(stats.classification.dense_counts, self.left[number])

    def _read_total(self, stats: Any) -> None:
        self.total[:] = read_vector(stats.classification.dense_counts)
        self._own("seen")[:] = self.total != 0

    def _read_left(self, number: int, stats: Any) -> None:
        self.left[number] = read_vector(stats.classification.dense_counts)


def _distinct(seen: set[int], labels: Any, counted: Any) -> Array:
    """Return the number of classes seen after each example, int64 [n], where some count."""
    places = np.flatnonzero(counted)
    classes, firsts = np.unique(labels[places], return_index=True)
    new = np.zeros(len(labels), np.int64)
    new[
        [places[first] for label, first in zip(classes, firsts, strict=True) if label not in seen]
    ] = 1
    return len(seen) + np.cumsum(new)


class SparseGini(DenseGini):
    """Counts of those classes only that there were."""

    in_bulk = False

    def __init__(self, parameters: Any, depth: int, shelf: Shelf) -> None:
        super().__init__(parameters, depth, shelf)
        self._places: dict[int, int] = {}  # where the counts of classes are
        self._total = np.zeros(0, np.float32)
        self._left = np.zeros((0, 0), np.float32)

    @classmethod
    def fields(cls, outputs: int) -> tuple[dict[str, Field], dict[str, Field]]:
        of_leaves, of_tests = Growth.fields(outputs)
        return {**of_leaves, "classes": ((), np.int64)}, of_tests

    @classmethod
    def _classes_seen(cls, shelf: Shelf, rows: Any) -> Array:
        return shelf["classes"][rows]

    @property
    def total(self) -> Any:
        return self._total

    @property
    def left(self) -> Any:
        missing = len(self.splits) - len(self._left)
        self._left = np.pad(self._left, ((0, max(0, missing)), (0, 0)))
        return self._left

    def remove_split(self, number: int) -> None:
        super().remove_split(number)
        self._left = np.delete(self._left, number, 0)

    def _columns(self, labels: Any) -> Array:
        found = [self._places.setdefault(each, len(self._places)) for each in labels.tolist()]
        more = len(self._places) - len(self._total)
        self._total = np.pad(self._total, (0, more))
        self._left = np.pad(self.left, ((0, 0), (0, more)))
        self.shelf["classes"][self.row] = len(self._places)
        return np.array(found, np.int64)

    def _add(self, examples: Examples, places: Any, targets: Targets) -> int | None:
        labels, weights = targets.classes(self.outputs)[places], targets.weights[places]
        state = self.weight.copy(), set(self._places)
        columns = self._columns(labels)
        rows = np.full(len(places), self.row)
        which, tests = self.passed(self.shelf, rows, examples, places)
        np.add.at(self._left, (tests, columns[which]), weights[which])
        np.add.at(self._total, columns, weights)
        add_at(self.shelf["weight"], rows, weights)
        if not self.is_finished:
            return None
        enough = in_turn(state[0], weights)[1:] >= self.split_after
        return int(np.argmax(enough & (_distinct(state[1], labels, labels >= 0) > 1)))

    def _sides(self, number: int) -> tuple[Any, Any]:
        right = self._total - self.left[number]
        return self._present(self.left[number]), self._present(right)

    def _present(self, counts: Any) -> dict[int, Any]:
        return {label: counts[place] for label, place in self._places.items() if counts[place] > 0}

    def _write_total(self, stats: Any) -> None:
        self._write(stats, self._total)

    def _write_left(self, number: int, stats: Any) -> None:
        self._write(stats, self.left[number])

    def _write(self, stats: Any, counts: Any) -> None:
        stats.classification.sparse_counts.SetInParent()
        stored = stats.classification.sparse_counts.sparse_value
        for label, count in self._present(counts).items():
            stored[label].float_value = count

    def _read_total(self, stats: Any) -> None:
        self._total = self._stored(stats)

    def _read_left(self, number: int, stats: Any) -> None:
        self.left[number] = self._stored(stats)

    def _stored(self, stats: Any) -> Array:
        stored = stats.classification.sparse_counts.sparse_value
        columns = self._columns(np.array(sorted(stored), np.int64))
        counts = np.zeros(len(self._places), np.float32)
        counts[columns] = [stored[label].float_value for label in sorted(stored)]
        return counts


def _name(enum: Any, number: int) -> str:
    """Return the name of an enum's value; InvalidArgumentError if there is none."""
    if number not in enum.values():
        raise refused(f"{number} is none of {enum.keys()}")
    return str(enum.Name(number))
