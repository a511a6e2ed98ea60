"""Ensembles of trees in a session: prediction and growth."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from stillflow.ops.boosted_trees.forest import Forest, Nodes, nodes_of
from stillflow.ops.boosted_trees.pruning import post_prune
from stillflow.ops.boosted_trees.resources import internal, refused
from stillflow.platform import tf_logging as logging
from stillflow.protos import file

MESSAGES = file("tensorflow/core/kernels/boosted_trees/boosted_trees.proto")
SPLIT_TYPES = ("INEQUALITY_DEFAULT_LEFT", "INEQUALITY_DEFAULT_RIGHT", "EQUALITY_DEFAULT_RIGHT")
_LEFT, _RIGHT, _EQUAL = SPLIT_TYPES
_NO_PRUNING, _PRE_PRUNING, _POST_PRUNING = range(3)
# Gains that differ by less are taken for equal.
TOLERANCE = 1e-15
# A bias that moves by less, relative to itself, is in the middle.
_LEAST_MOVE = 0.01


class Candidate(NamedTuple):
    """A way to split a node.

    Attributes:
      feature, dimension: what decides.
      gain: its gain.
      threshold: the last bucket of the left side, or the only one.
      left, right: values of the new leaves.
      split_type: one of `SPLIT_TYPES`.
    """

    feature: int
    dimension: int
    gain: float
    threshold: int
    left: Any
    right: Any
    split_type: str


class Ensemble:
    """Trees that are grown layer by layer.

    Args:
      stamp: the number of the state.
      serialized: a `TreeEnsemble` message.

    Raises:
      InvalidArgumentError: if it is none.
    """

    def __init__(self, stamp: int, serialized: bytes) -> None:
        self.stamp = stamp
        self.message: Any = MESSAGES["TreeEnsemble"]()
        self._nodes: list[Nodes] = []
        self._forest: Forest | None = None
        self.read(stamp, serialized)

    def read(self, stamp: int, serialized: bytes) -> None:
        """Load a stored state.

        Raises:
          InvalidArgumentError: if it is none.
        """
        message: Any = MESSAGES["TreeEnsemble"]()
        try:
            message.ParseFromString(serialized)
        except Exception as error:
            raise refused("Unable to parse tree ensemble proto.") from error
        self.stamp, self.message = stamp, message
        self._nodes, self._forest = [], None

    @property
    def num_trees(self) -> int:
        return len(self.message.trees)

    def is_finalized(self, tree: int) -> bool:
        """Return True if a tree grows no more."""
        return bool(self.message.tree_metadata[tree].is_finalized)

    def forest(self) -> Forest:
        """Return the trees as arrays."""
        if self._forest is None:
            known = len(self._nodes)
            self._nodes += [nodes_of(tree) for tree in self.message.trees[known:]]
            self._forest = Forest(self._nodes, np.float32(self.message.tree_weights))
        return self._forest

    def _changed(self, tree: int) -> None:
        """Forget the arrays of a tree and of those behind it."""
        del self._nodes[tree:]
        self._forest = None

    def add_tree(self, logits: Any = 0.0) -> int:
        """Add a tree that is one leaf; give its number."""
        self.message.trees.add().nodes.add().leaf.scalar = logits
        self.message.tree_weights.append(1.0)
        self.message.tree_metadata.add()
        self._changed(self.num_trees - 1)
        return self.num_trees - 1

    def states(self) -> tuple[int, int, int, int, tuple[int, int]]:
        """Stamp, numbers of trees, of finalized ones, of layers tried, and the last layer's nodes.

        The nodes are a range; one that is empty ends behind the first node all the same.
        """
        count, growing = self.num_trees, self.message.growing_metadata
        done = count if count <= 0 or self.is_finalized(count - 1) else count - 1
        nodes = growing.last_layer_node_start, max(1, growing.last_layer_node_end)
        return self.stamp, count, done, growing.num_layers_attempted, nodes

    # ---- growth

    def grow(self, splits: dict[int, Candidate], max_depth: int, pruning: int) -> None:
        """Add a layer to the last tree.

        Args:
          splits: for each node that may be split, how.
          max_depth: with so many layers a tree is done, and another one begins.
          pruning: whether splits without gain are left out (1), or taken back (2) in the end.
        """
        tree = self._begin_layer()
        if not splits:
            logging.warning("Not growing tree ensemble as no good splits were found.")
            return
        nodes = self.message.trees[tree].nodes
        first, done = len(nodes), False
        for node in sorted(splits):
            candidate = splits[node]
            if pruning == _PRE_PRUNING and candidate.gain < 0:
                continue
            self._split(tree, node, candidate)
            done = True
        if not done:
            return  # the same nodes are tried again, with other examples
        self._changed(tree)
        metadata = self.message.tree_metadata[tree]
        metadata.num_layers_grown += 1
        last = len(nodes)
        if metadata.num_layers_grown >= max_depth:
            first, last = 0, 1  # the next tree begins at its root
            metadata.is_finalized = True
            if pruning == _POST_PRUNING:
                post_prune(self.message.trees[tree], metadata)
            self.add_tree()
        growing = self.message.growing_metadata
        growing.last_layer_node_start, growing.last_layer_node_end = first, last

    def _begin_layer(self) -> int:
        """Count an attempt and return the number of the tree that grows."""
        growing, count = self.message.growing_metadata, self.num_trees
        growing.num_layers_attempted += 1
        is_new = count <= 0 or (
            (count == 1 or self.is_finalized(count - 2))
            and len(self.message.trees[count - 1].nodes) == 1
        )
        if is_new:
            growing.num_trees_attempted += 1
        return self.add_tree() if count <= 0 else count - 1

    def _split(self, tree: int, number: int, candidate: Candidate) -> None:
        nodes = self.message.trees[tree].nodes
        if not 0 <= number < len(nodes) or nodes[number].WhichOneof("node") != "leaf":
            raise refused(f"Node {number} of tree {tree} is no leaf that could be split")
        node = nodes[number]
        before = np.float32(node.leaf.scalar)
        if number != 0 or node.leaf.scalar != 0:
            node.metadata.original_leaf.SetInParent()
            node.metadata.original_leaf.CopyFrom(node.leaf)
        node.metadata.gain = candidate.gain
        left, right = len(nodes), len(nodes) + 1
        nodes.add().leaf.scalar = before + candidate.left
        nodes.add().leaf.scalar = before + candidate.right
        if candidate.split_type == _EQUAL:
            split = node.categorical_split
            split.value = candidate.threshold
        else:
            split = node.bucketized_split
            split.threshold = candidate.threshold
            split.default_direction = int(candidate.split_type == _RIGHT)
        split.SetInParent()
        split.feature_id, split.dimension_id = candidate.feature, candidate.dimension
        split.left_id, split.right_id = left, right

    def center(self, logits: Any) -> bool:
        """Move the first leaf; give whether that was still a move worth mentioning."""
        if self.num_trees == 0:
            self.add_tree(logits)
            return True
        root = self.message.trees[0].nodes[0]
        if root.WhichOneof("node") != "leaf":
            raise internal("The bias of an ensemble that has grown cannot be centered")
        bias = np.float32(root.leaf.scalar)
        with np.errstate(divide="ignore", invalid="ignore"):
            goes_on = bool(np.abs(logits / bias) > np.float32(_LEAST_MOVE))
        root.leaf.scalar = bias + logits
        self._changed(0)
        return goes_on
