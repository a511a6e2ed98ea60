"""The leaves of a tree that may grow, each with its statistics, as a session keeps them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from stillflow.ops.boosted_trees.resources import refused
from stillflow.ops.tensor_forest.examples import Examples, Targets
from stillflow.ops.tensor_forest.gini import DenseGini, SparseGini
from stillflow.ops.tensor_forest.growth import Growth
from stillflow.ops.tensor_forest.hash_order import hash_order
from stillflow.ops.tensor_forest.parameters import MESSAGES
from stillflow.ops.tensor_forest.regression import LeastSquares
from stillflow.ops.tensor_forest.splits import split_of
from stillflow.ops.tensor_forest.tree import Tree
from stillflow.ops.tensor_forest.words import Words
from stillflow.protos import file

_STATS = file("tensorflow/contrib/tensor_forest/proto/fertile_stats.proto")
_KINDS: dict[str, type[Growth]] = {
    "STATS_DENSE_GINI": DenseGini,
    "STATS_SPARSE_GINI": SparseGini,
    "STATS_LEAST_SQUARES_REGRESSION": LeastSquares,
}


class Slots:
    """The statistics of all leaves of a tree.

    Args:
      parameters: a `TensorForestParams` message.
      serialized: a `FertileStats` message; an empty one is for a tree that is one leaf.

    Raises:
      InvalidArgumentError: if it is none, or if the parameters are not supported.
    """

    def __init__(self, parameters: Any, serialized: bytes) -> None:
        self.parameters = parameters
        kind = MESSAGES["StatsModelType"].Name(parameters.stats_type)
        if kind not in _KINDS:
            raise refused(f"Forests whose statistics are of the kind {kind} are not supported")
        collection = MESSAGES["SplitCollectionType"].Name(parameters.collection_type)
        if collection != "COLLECTION_BASIC":
            raise refused(f"Forests with tests of the kind {collection} are not supported")
        self._kind = _KINDS[kind]
        self.read(serialized)

    def read(self, serialized: bytes) -> None:
        """Takes over stored statistics.

        Raises:
          InvalidArgumentError: as above.
        """
        message: Any = _STATS["FertileStats"]()
        try:
            message.ParseFromString(serialized)
        except Exception as error:
            raise refused("Unable to parse stats config.") from error
        self._slots: dict[int, Growth] = {}
        for slot in message.node_to_slot:
            self.allocate(slot.node_id, slot.depth).read(slot)
        if not self._slots:
            self.allocate(0, 0)

    def allocate(self, node: int, depth: int) -> Growth:
        """Begins the statistics of a leaf."""
        self._slots[node] = self._kind(self.parameters, depth)
        return self._slots[node]

    def _slot(self, node: int) -> Growth:
        if node not in self._slots:
            raise refused(f"Node {node} is no leaf that grows")
        return self._slots[node]

    def write(self) -> bytes:
        """The statistics as a `FertileStats` message; only depths, unless all are asked for."""
        message: Any = _STATS["FertileStats"]()
        for node, growth in self._slots.items():
            slot = message.node_to_slot.add()
            slot.node_id, slot.depth = node, growth.depth
            if self.parameters.checkpoint_stats:
                growth.write(slot)
        return message.SerializeToString()  # type: ignore[no-any-return]

    # ---- examples

    def process(self, examples: Examples, targets: Targets, leaves: Any, words: Words) -> list[int]:
        """Takes a batch.

        Args:
          examples, targets: the batch.
          leaves: the leaf of each example, int64 [n].
          words: what tests are drawn from.

        Returns:
          The leaves that have seen enough, in the order in which they are to grow.
        """
        groups = _groups(leaves)
        if self.parameters.collate_examples:
            finished = self._process_leaves(examples, targets, groups, words)
        else:
            first = dict(self._process_rows(examples, targets, groups, words))
            finished = [leaf for _, leaf in sorted((row, leaf) for leaf, row in first.items())]
        return hash_order(finished)

    def _process_rows(
        self, examples: Examples, targets: Targets, groups: dict[int, Any], words: Words
    ) -> Iterator[tuple[int, int]]:
        """Example by example; yields leaves, each with the first example that finds it finished."""
        drawing = [leaf for leaf in groups if not self._slot(leaf).is_initialized]
        rest = dict(groups)
        order = sorted((row, leaf) for leaf in drawing for row in groups[leaf].tolist())
        for leaf in drawing:
            rest[leaf] = []
        found: dict[int, int] = {}
        for row, leaf in order:
            growth = self._slots[leaf]
            if growth.is_initialized:
                rest[leaf].append(row)
                continue
            self._draw(growth, examples, targets, row, words)
            if growth.is_finished:
                found.setdefault(leaf, row)
        for leaf, rows in rest.items():
            if len(rows):
                first = self._slots[leaf].add(examples, np.array(rows, np.int64), targets)
                if first is not None:
                    found.setdefault(leaf, int(rows[first]))
        yield from found.items()

    def _process_leaves(
        self, examples: Examples, targets: Targets, groups: dict[int, Any], words: Words
    ) -> list[int]:
        """Leaf by leaf; a leaf whose tests become complete does not see the rest of the batch."""
        finished = []
        for leaf in hash_order(groups):
            growth = self._slot(leaf)
            if growth.is_initialized:
                growth.add(examples, groups[leaf], targets)
            else:
                for row in groups[leaf].tolist():
                    self._draw(growth, examples, targets, row, words)
                    if growth.is_initialized:
                        break
            if growth.is_finished:
                finished.append(leaf)
        return finished

    def _draw(
        self, growth: Growth, examples: Examples, targets: Targets, row: int, words: Words
    ) -> None:
        """Makes a test of one of the features of an example."""
        comparison = self.parameters.inequality_test_type
        split = split_of(*examples.draw(row, words), comparison)
        growth.add_split(split, examples, targets, row)

    # ---- growth

    def grow(self, tree: Tree, finished: list[int]) -> None:
        """Puts tests at leaves that have seen enough, as long as there is room in the tree."""
        for node in finished:
            if tree.size >= self.parameters.max_nodes:
                return
            growth = self._slot(node)
            choice = growth.best()
            if choice is None:
                self.allocate(node, growth.depth)  # other tests may do better
                continue
            for child in tree.split(node, *choice):
                self.allocate(child, growth.depth + 1)
            del self._slots[node]


def _groups(leaves: Any) -> dict[int, Any]:
    """The examples of each leaf, leaves in the order in which they come first."""
    if not len(leaves):
        return {}
    order = np.argsort(leaves, kind="stable")
    distinct, starts = np.unique(leaves[order], return_index=True)
    parts = dict(zip(distinct.tolist(), np.split(order, starts[1:]), strict=True))
    return dict(sorted(parts.items(), key=lambda item: item[1][0]))
