"""The leaves of a tree that may grow, each with its statistics, as a session keeps them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from stillflow.ops.boosted_trees.resources import refused
from stillflow.protos import file
from stillflow_contrib.ops.tensor_forest.examples import Examples, Targets
from stillflow_contrib.ops.tensor_forest.gini import DenseGini, SparseGini
from stillflow_contrib.ops.tensor_forest.growth import Growth
from stillflow_contrib.ops.tensor_forest.hash_order import hash_order
from stillflow_contrib.ops.tensor_forest.parameters import MESSAGES
from stillflow_contrib.ops.tensor_forest.regression import LeastSquares
from stillflow_contrib.ops.tensor_forest.splits import ROW, split_of, splits_of
from stillflow_contrib.ops.tensor_forest.tree import Tree
from stillflow_contrib.ops.tensor_forest.words import Words

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
        # One by one, where something may be decided after each example.
        self._in_bulk = self._kind.in_bulk and not (
            parameters.pruning_type.type or parameters.finish_type.type
        )
        self.read(serialized)

    def read(self, serialized: bytes) -> None:
        """Load stored statistics.

        Raises:
          InvalidArgumentError: as above.
        """
        message: Any = _STATS["FertileStats"]()
        try:
            message.ParseFromString(serialized)
        except Exception as error:
            raise refused("Unable to parse stats config.") from error
        self._slots: dict[int, Growth] = {}
        self._rows = np.full(16, -1)  # of the shelf, by leaf
        self._shelf = self._kind.shelf_of(self.parameters)
        for slot in message.node_to_slot:
            self.allocate(slot.node_id, slot.depth).read(slot)
        if not self._slots:
            self.allocate(0, 0)

    def allocate(self, node: int, depth: int) -> Growth:
        """Begins the statistics of a leaf."""
        if node >= len(self._rows):
            more = max(len(self._rows), node + 1 - len(self._rows))
            self._rows = np.pad(self._rows, (0, more), constant_values=-1)
        self._clear(node)
        made = self._slots[node] = self._kind(self.parameters, depth, self._shelf)
        self._rows[node] = made.row
        return made

    def _clear(self, node: int) -> None:
        """Release the statistics of a leaf, if there are any."""
        known = self._slots.pop(node, None)
        if known is not None:
            self._shelf.release(known.row)
            self._rows[node] = -1

    def _slot(self, node: int) -> Growth:
        if node not in self._slots:
            raise refused(f"Node {node} is no leaf that grows")
        return self._slots[node]

    def write(self) -> bytes:
        """Return the statistics as a `FertileStats` message.

        Only depths, unless all are asked for.
        """
        message: Any = _STATS["FertileStats"]()
        for node, growth in self._slots.items():
            slot = message.node_to_slot.add()
            slot.node_id, slot.depth = node, growth.depth
            if self.parameters.checkpoint_stats:
                growth.write(slot)
        return message.SerializeToString()

    # ---- examples

    def process(self, examples: Examples, targets: Targets, leaves: Any, words: Words) -> list[int]:
        """Process a batch.

        Args:
          examples, targets: the batch.
          leaves: the leaf of each example, int64 [n].
          words: what tests are drawn from.

        Returns:
          The leaves that have seen enough, in the order in which they are to grow.
        """
        unknown = leaves[(leaves < 0) | (leaves >= len(self._rows))]
        unknown = unknown if len(unknown) else leaves[self._rows[leaves] < 0]
        if len(unknown):
            raise refused(f"Node {unknown[0]} is no leaf that grows")
        if self.parameters.collate_examples:
            return hash_order(self._process_leaves(examples, targets, _groups(leaves), words))
        first = self._process_rows(examples, targets, leaves, words)
        return hash_order(leaf for _, leaf in sorted((row, leaf) for leaf, row in first.items()))

    def _process_rows(
        self, examples: Examples, targets: Targets, leaves: Any, words: Words
    ) -> dict[int, int]:
        """Process example by example; return finished leaves, each with its last example."""
        counted = self._shelf["is_initialized"][self._rows[leaves]]
        found: dict[int, int] = {}
        drawn = self._draw_all(examples, leaves, np.flatnonzero(~counted), words)
        if drawn is not None:
            counted = ~drawn
        for row in np.flatnonzero(~counted).tolist() if drawn is None else ():
            leaf = int(leaves[row])
            growth = self._slots[leaf]
            if growth.is_initialized:
                counted[row] = True
                continue
            self._draw(growth, examples, targets, row, words)
            if growth.split_after <= 0 and growth.is_finished:  # without any example counted
                found.setdefault(leaf, row)
        places = np.flatnonzero(counted)
        add = self._add_all if self._in_bulk else self._add_each
        for leaf, row in add(examples, targets, leaves, places):
            found.setdefault(leaf, row)
        return found

    def _add_each(
        self, examples: Examples, targets: Targets, leaves: Any, places: Any
    ) -> Iterator[tuple[int, int]]:
        """Count examples leaf by leaf; yield finished leaves, each with its last example."""
        for leaf, chosen in _groups(leaves[places]).items():
            first = self._slots[leaf].add(examples, places[chosen], targets)
            if first is not None:
                yield leaf, int(places[chosen][first])

    def _add_all(
        self, examples: Examples, targets: Targets, leaves: Any, places: Any
    ) -> Iterator[tuple[int, int]]:
        """Count the examples of all leaves at once; yield like `_add_each`."""
        if not len(places):
            return
        kind, shelf = self._kind, self._shelf
        there = np.unique(leaves[places])
        rows = self._rows[there]
        state, were_finished = kind.state(shelf, rows), kind.finished(shelf, rows)
        kind.count(shelf, self._rows[leaves[places]], examples, places, targets)
        finished = np.flatnonzero(kind.finished(shelf, rows))
        groups = _groups(leaves[places]) if len(finished) else {}
        for number in finished.tolist():
            leaf = int(there[number])
            chosen, first = places[groups[leaf]], 0
            if not were_finished[number]:
                after, outputs = int(shelf["split_after"][rows[number]]), self._slots[leaf].outputs
                first = kind.first_finished(state[number], after, chosen, targets, outputs)
            yield leaf, int(chosen[first])

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
        """Make a test of one of the features of an example."""
        comparison = self.parameters.inequality_test_type
        split = split_of(*examples.draw(row, words), comparison)
        growth.add_split(split, examples, targets, row)

    def _draw_all(self, examples: Examples, leaves: Any, rows: Any, words: Words) -> Any:
        """Make tests of features of all examples whose leaves have room for more.

        Returns:
          The examples that tests were made of, bool [n]; None if they have to come one by one.
        """
        drawn = np.zeros(len(leaves), bool)
        groups = _groups(leaves[rows])
        growths = [self._slots[leaf] for leaf in groups]
        if (
            self.parameters.initialize_average_splits
            or not self._in_bulk
            or any(growth.split_after <= 0 or growth.weight > 0 for growth in growths)
        ):
            return None
        chosen = [
            rows[each[: max(0, growth.wanted - len(growth.splits))]]
            for growth, each in zip(growths, groups.values(), strict=True)
        ]
        for each in chosen:
            drawn[each] = True
        found = examples.draw_each(np.flatnonzero(drawn), words)
        if found is None:
            return None
        tests = np.empty(len(leaves), ROW)
        tests[drawn] = splits_of(*found, self.parameters.inequality_test_type)
        for growth, each in zip(growths, chosen, strict=True):
            if len(each):
                growth.add_splits(tests[each])
        return drawn

    # ---- growth

    def grow(self, tree: Tree, finished: list[int]) -> None:
        """Put tests at leaves that have seen enough, as long as there is room in the tree."""
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
            self._clear(node)


def _groups(leaves: Any) -> dict[int, Any]:
    """Return the examples of each leaf, leaves in the order in which they come first."""
    if not len(leaves):
        return {}
    order = np.argsort(leaves, kind="stable")
    distinct, starts = np.unique(leaves[order], return_index=True)
    ends = [*starts.tolist(), len(order)]
    parts = [order[start:end] for start, end in itertools.pairwise(ends)]
    firsts = order[starts].argsort().tolist()
    return {leaf: parts[n] for n, leaf in zip(firsts, distinct[firsts].tolist(), strict=True)}
