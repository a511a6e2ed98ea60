"""Statistics of a leaf whose examples have classes for labels: the impurity of Gini."""

from __future__ import annotations

import heapq
import math
from typing import Any

import numpy as np

from stillflow.ops.boosted_trees.resources import refused
from stillflow.ops.tensor_forest.examples import Examples, Targets
from stillflow.ops.tensor_forest.growth import (
    Choice,
    Growth,
    in_turn,
    read_vector,
    write_vector,
)
from stillflow.ops.tensor_forest.parameters import MESSAGES, at_depth
from stillflow.ops.tensor_forest.splits import Split

_PRUNED = {"SPLIT_PRUNE_HALF": 0.5, "SPLIT_PRUNE_QUARTER": 0.25, "SPLIT_PRUNE_10_PERCENT": 0.1}
_LARGEST = np.finfo(np.float32).max


class DenseGini(Growth):
    """Counts of all classes, in total and on the left side of each test."""

    def __init__(self, parameters: Any, depth: int) -> None:
        super().__init__(parameters, depth)
        self._total = np.zeros(self.outputs, np.float32)
        self._left = np.zeros((0, self.outputs), np.float32)
        self._seen: set[int] = set()
        self._finished_early = False
        self._half: dict[int, int] = {}  # tests made of one class so far, and which
        self._begin_finishing()
        self._begin_pruning()

    def _begin_finishing(self) -> None:
        self._finish = _name("SplitFinishStrategyType", self.parameters.finish_type.type)
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
        self._prune = _name("SplitPruningStrategyType", self.parameters.pruning_type.type)
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

    @property
    def is_finished(self) -> bool:
        enough = self.weight >= self.split_after and len(self._seen) > 1
        return bool(enough) or self._finished_early

    # ---- tests

    def add_split(
        self, split: Split, examples: Examples | None, targets: Targets | None, row: int
    ) -> None:
        count = len(self.splits)
        super().add_split(split, examples, targets, row)
        if not self.parameters.initialize_average_splits or examples is None or targets is None:
            return
        label = int(targets.outputs[row, 0])
        if len(self.splits) > count and split.is_inequality:
            self._half[count] = label
        for number in [each for each, first in self._half.items() if first != label]:
            old = self.splits[number]
            middle = (old.threshold + examples.value(row, old.feature)) / np.float32(2)
            # What examples are sent by stays as it was, as in TensorFlow; only the tree gets this.
            self.splits[number] = old._replace(threshold=middle)
            del self._half[number]

    def _add_statistics(self) -> None:
        self._left = np.pad(self._left, ((0, 1), (0, 0)))

    def _remove_statistics(self, number: int) -> None:
        self._left = np.delete(self._left, number, 0)

    # ---- examples

    def add(self, examples: Examples, rows: Any, targets: Targets) -> int | None:
        if self._finish == "SPLIT_FINISH_BASIC" and self._prune == "SPLIT_PRUNE_NONE":
            return self._count(examples, rows, targets)
        first = None
        for place in range(len(rows)):
            self._count(examples, rows[place : place + 1], targets)
            self._check_finish()
            self._check_prune()
            if first is None and self.is_finished:
                first = place
        return first

    def _count(self, examples: Examples, rows: Any, targets: Targets) -> int | None:
        labels = targets.classes(self.outputs)[rows]
        weights = targets.weights[rows]
        columns = self._columns(labels)
        which, tests = np.nonzero(self.passed(examples, rows))
        np.add.at(self._left, (tests, columns[which]), weights[which])
        np.add.at(self._total, columns, weights)
        distinct = self._distinct(labels, weights)
        weight = in_turn(self.weight, weights)
        self.weight = weight[-1]
        finished = (weight[1:] >= self.split_after) & (distinct > 1)
        return int(np.argmax(finished)) if finished.any() else None

    def _columns(self, labels: Any) -> Any:
        """Where the counts of classes are."""
        return labels

    def _distinct(self, labels: Any, weights: Any) -> Any:
        """How many classes there are after each example."""
        counted = np.flatnonzero(self._counts_as_seen(weights))
        classes, firsts = np.unique(labels[counted], return_index=True)
        new = np.zeros(len(labels), np.int64)
        before = len(self._seen)
        for label, first in zip(classes.tolist(), firsts, strict=True):
            if label not in self._seen:
                self._seen.add(label)
                new[counted[first]] = 1
        return before + np.cumsum(new)

    def _counts_as_seen(self, weights: Any) -> Any:
        return weights > 0

    # ---- choosing

    def _scores(self) -> tuple[Any, Any, Any]:
        """The impurity that each test leaves, and the weights on both sides of it."""
        left, left_weight = self._impurity(self._left)
        right, right_weight = self._impurity(self._total - self._left)
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
        """What the leaves on both sides of a test will say."""
        return self._left[number], self._total - self._left[number]

    # ---- deciding early, giving tests up

    def _check_finish(self) -> None:
        if self._finish == "SPLIT_FINISH_BASIC" or self.weight < self._least:
            return
        if self.weight < self._finish_epoch * self._finish_every:
            return
        self._finish_epoch += 1
        if self._finish == "SPLIT_FINISH_DOMINATE_HOEFFDING":
            self._finished_early = self._dominates()
        # "Bootstrap" never decides: TensorFlow asks for 0 to be below a negative number there.

    def _dominates(self) -> bool:
        """Whether the best test is better than the second by more than chance allows."""
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
        write_vector(stats.classification.dense_counts, self._total)

    def _write_left(self, number: int, stats: Any) -> None:
        write_vector(stats.classification.dense_counts, self._left[number])

    def _read_total(self, stats: Any) -> None:
        self._total = read_vector(stats.classification.dense_counts)
        self._seen = set(np.flatnonzero(self._total).tolist())

    def _read_left(self, number: int, stats: Any) -> None:
        self._left[number] = read_vector(stats.classification.dense_counts)


class SparseGini(DenseGini):
    """Counts of those classes only that there were."""

    def __init__(self, parameters: Any, depth: int) -> None:
        super().__init__(parameters, depth)
        self._places: dict[int, int] = {}
        self._total, self._left = self._total[:0], self._left[:, :0]

    def _columns(self, labels: Any) -> Any:
        found = [self._places.setdefault(each, len(self._places)) for each in labels.tolist()]
        more = len(self._places) - len(self._total)
        self._total = np.pad(self._total, (0, more))
        self._left = np.pad(self._left, ((0, 0), (0, more)))
        return np.array(found, np.int64)

    def _counts_as_seen(self, weights: Any) -> Any:
        return np.ones(len(weights), bool)

    def _sides(self, number: int) -> tuple[Any, Any]:
        right = self._total - self._left[number]
        return self._present(self._left[number]), self._present(right)

    def _present(self, counts: Any) -> dict[int, Any]:
        return {label: counts[place] for label, place in self._places.items() if counts[place] > 0}

    def _write_total(self, stats: Any) -> None:
        self._write(stats, self._total)

    def _write_left(self, number: int, stats: Any) -> None:
        self._write(stats, self._left[number])

    def _write(self, stats: Any, counts: Any) -> None:
        stats.classification.sparse_counts.SetInParent()
        stored = stats.classification.sparse_counts.sparse_value
        for label, count in self._present(counts).items():
            stored[label].float_value = count

    def _read_total(self, stats: Any) -> None:
        self._total = self._stored(stats)
        self._seen = set(self._places)

    def _read_left(self, number: int, stats: Any) -> None:
        self._left[number] = self._stored(stats)

    def _stored(self, stats: Any) -> Any:
        stored = stats.classification.sparse_counts.sparse_value
        columns = self._columns(np.array(sorted(stored), np.int64))
        counts = np.zeros(len(self._places), np.float32)
        counts[columns] = [stored[label].float_value for label in sorted(stored)]
        return counts


def _name(enum: str, number: int) -> str:
    """What a value of an enum is called.

    Raises:
      InvalidArgumentError: if there is none.
    """
    if number not in MESSAGES[enum].values():
        raise refused(f"{number} is no {enum}")
    return str(MESSAGES[enum].Name(number))
