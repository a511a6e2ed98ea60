"""A decision tree as a session keeps it."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow import native
from stillflow.graph.arrays import Array
from stillflow.ops.boosted_trees.resources import refused
from stillflow.protos import file
from stillflow_contrib.ops.tensor_forest.examples import Examples
from stillflow_contrib.ops.tensor_forest.leaves import leaves_of
from stillflow_contrib.ops.tensor_forest.splits import ROW, TREES, Split, passes, read_split

_PATHS = file("tensorflow/contrib/tensor_forest/proto/fertile_stats.proto")
# A node: its test, where that leads to, and whether there is none.
_NODE = np.dtype([*ROW.descr, ("left", np.int64), ("right", np.int64), ("is_leaf", bool)])


class Tree:
    """A tree that grows at its leaves.

    Args:
      parameters: a `TensorForestParams` message.
      serialized: a `Model` message; an empty one is for a tree that is one leaf.

    Raises:
      InvalidArgumentError: if it is none, or something of it is not supported.
    """

    def __init__(self, parameters: Any, serialized: bytes) -> None:
        self._parameters = parameters
        self.read(serialized)

    def read(self, serialized: bytes) -> None:
        """Load a stored tree.

        Raises:
          InvalidArgumentError: as above.
        """
        message: Any = TREES["Model"]()
        try:
            message.ParseFromString(serialized)
        except Exception as error:
            raise refused("Unable to parse tree  config.") from error
        leaves = leaves_of(self._parameters)
        stored = message.decision_tree.nodes
        is_new = not stored
        if is_new:
            stored.add().leaf.SetInParent()
        nodes = np.zeros(max(16, len(stored)), _NODE)
        for number, node in enumerate(stored):
            nodes[number]["is_leaf"] = node.HasField("leaf")
            if not node.HasField("leaf"):
                children = (
                    node.binary_node.left_child_id.value,
                    node.binary_node.right_child_id.value,
                )
                if not all(number < child < len(stored) for child in children):
                    raise refused(f"Node {number} of a tree has the children {children}")
                nodes[number] = (*read_split(node.binary_node), *children, False)
            elif not is_new:
                leaves.read(number, node.leaf)
        self.leaves, self._message, self._nodes = leaves, message, nodes
        self._most_feature = int(nodes["feature"].max())

    @property
    def size(self) -> int:
        """The number of nodes, including leaves."""
        return len(self._message.decision_tree.nodes)

    def find(self, examples: Examples) -> Array:
        """Return the number of the leaf in which each example ends, int64 [n]."""
        found = np.zeros(examples.count, np.int64)
        rows, library = examples.rows(self._most_feature), native.library()
        if rows is not None and library is not None:
            addresses = self._nodes.ctypes.data, rows.ctypes.data
            library.find_leaves(*addresses, *rows.shape, found.ctypes.data)
            return found
        moving = np.arange(examples.count)
        while True:
            moving = moving[~self._nodes["is_leaf"][found[moving]]]
            if not len(moving):
                return found
            nodes = self._nodes[found[moving]]
            to_left = passes(examples, moving, nodes)
            found[moving] = np.where(to_left, nodes["left"], nodes["right"])

    def split(self, number: int, split: Split, left: Any, right: Any) -> tuple[int, int]:
        """Put a test at a leaf.

        Args:
          number: of the leaf.
          split: the test.
          left, right: values of the new leaves.

        Returns:
          The numbers of the new leaves.
        """
        stored, first = self._message.decision_tree.nodes, self.size
        node = stored[number].binary_node  # takes the place of the leaf
        split.write(node)
        node.left_child_id.value, node.right_child_id.value = first, first + 1
        if first + 2 > len(self._nodes):
            self._nodes = np.concatenate([self._nodes, np.zeros_like(self._nodes)])
        for child, values in ((first, left), (first + 1, right)):
            stored.add().node_id.value = child
            stored[child].leaf.SetInParent()
            self.leaves.set(child, values)
            self._nodes[child]["is_leaf"] = True
        self._nodes[number] = (*split, first, first + 1, False)
        self._most_feature = max(self._most_feature, split.feature)
        return first, first + 1

    def write(self) -> bytes:
        """Return the tree as a `Model` message."""
        for number, node in enumerate(self._message.decision_tree.nodes):
            if self._nodes[number]["is_leaf"]:
                self.leaves.write(number, node.leaf)
        return self._message.SerializeToString()

    def paths(self, leaves: Any) -> list[bytes]:
        """`TreePath` messages: the nodes from the root to each of some leaves."""
        self.write()
        inner = np.flatnonzero(~self._nodes["is_leaf"][: self.size])
        parents = np.zeros(self.size, np.int64)
        parents[self._nodes["left"][inner]] = parents[self._nodes["right"][inner]] = inner
        distinct, places = np.unique(leaves, return_inverse=True)
        made = [self._path(int(leaf), parents) for leaf in distinct]
        return [made[place] for place in places]

    def _path(self, leaf: int, parents: Any) -> bytes:
        way = [leaf]
        while way[-1]:
            way.append(int(parents[way[-1]]))
        path = _PATHS["TreePath"]()
        path.nodes_visited.extend(self._message.decision_tree.nodes[each] for each in way[::-1])
        return path.SerializeToString()

    def feature_counts(self, features: int) -> Array:
        """Return the number of tests of each feature, int32 [features]."""
        nodes = self._nodes[: self.size]
        tested = nodes["feature"][~nodes["is_leaf"]]
        return np.bincount(tested, minlength=features)[:features].astype(np.int32)
