"""Values of a tree's leaves: counts of classes, or means."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.ops.boosted_trees.resources import refused
from stillflow_contrib.ops.tensor_forest.parameters import MESSAGES


class DenseLeaves:
    """Leaves with one number for each output.

    Args:
      outputs: how many.
      is_regression: whether they are means, which examples do not move.
    """

    def __init__(self, outputs: int, is_regression: bool) -> None:
        self._outputs = outputs
        self._is_regression = is_regression
        self._values = np.zeros((1, outputs), np.float32)
        self._given = np.zeros((1, outputs), bool)  # messages tell 0 from nothing

    def _make_room(self, node: int) -> None:
        count = len(self._values)
        if node >= count:
            size = ((0, max(count, node + 1 - count)), (0, 0))
            self._values, self._given = np.pad(self._values, size), np.pad(self._given, size)

    def set(self, node: int, values: Any) -> None:
        """Set the numbers of a leaf."""
        self._make_room(node)
        self._values[node], self._given[node] = values, True

    def add(self, leaves: Any, classes: Any, weights: Any) -> None:
        """Add examples of classes to the counts."""
        if not self._is_regression:
            np.add.at(self._values, (leaves, classes), weights)
            self._given[leaves, classes] = True

    def outputs(self, leaves: Any) -> Any:
        """Return the numbers of leaves, float32 [n, outputs]."""
        return self._values[leaves]

    def read(self, node: int, leaf: Any) -> None:
        """Load a `Leaf` message."""
        self._make_room(node)
        found = leaf.vector.value
        if len(found) != self._outputs:
            raise refused(f"A leaf has {len(found)} values, not {self._outputs}")
        self._values[node] = [each.float_value for each in found]
        self._given[node] = [each.HasField("float_value") for each in found]

    def write(self, node: int, leaf: Any) -> None:
        """Fill a `Leaf` message."""
        leaf.vector.SetInParent()
        del leaf.vector.value[:]
        for value, given in zip(self._values[node], self._given[node], strict=True):
            stored = leaf.vector.value.add()
            if given:
                stored.float_value = value


class SparseLeaves:
    """Leaves with counts of the classes of their examples.

    Args:
      outputs: how many classes there are.
    """

    def __init__(self, outputs: int) -> None:
        self._outputs = outputs
        self._counts: dict[int, dict[int, Any]] = {}

    def set(self, node: int, values: dict[int, Any]) -> None:
        """Set the counts of a leaf."""
        self._counts[node] = dict(values)

    def add(self, leaves: Any, classes: Any, weights: Any) -> None:
        """Add examples of classes to the counts."""
        found = zip(leaves.tolist(), classes.tolist(), weights, strict=True)
        for leaf, label, weight in found:
            counts = self._counts.setdefault(leaf, {})
            counts[label] = counts[label] + weight if label in counts else weight

    def outputs(self, leaves: Any) -> Any:
        """Return the counts of leaves, float32 [n, classes]."""
        found = np.zeros((len(leaves), self._outputs), np.float32)
        for row, leaf in enumerate(leaves.tolist()):
            for label, count in self._counts.get(leaf, {}).items():
                found[row, label] = count
        return found

    def read(self, node: int, leaf: Any) -> None:
        """Load a `Leaf` message."""
        stored = leaf.sparse_vector.sparse_value
        self._counts[node] = {label: np.float32(stored[label].float_value) for label in stored}

    def write(self, node: int, leaf: Any) -> None:
        """Fill a `Leaf` message."""
        if node not in self._counts:
            return
        leaf.sparse_vector.SetInParent()
        stored = leaf.sparse_vector.sparse_value
        stored.clear()
        for label, count in self._counts[node].items():
            stored[label].float_value = count


Leaves = DenseLeaves | SparseLeaves


def leaves_of(parameters: Any) -> Leaves:
    """Return the kind of leaves for a forest's parameters, or raise InvalidArgumentError."""
    kind = MESSAGES["LeafModelType"].Name(parameters.leaf_type)
    if kind == "MODEL_SPARSE_CLASSIFICATION":
        return SparseLeaves(parameters.num_outputs)
    if kind in ("MODEL_DENSE_CLASSIFICATION", "MODEL_REGRESSION"):
        return DenseLeaves(parameters.num_outputs, kind == "MODEL_REGRESSION")
    raise refused(f"Forests whose leaves are of the kind {kind} are not supported")
