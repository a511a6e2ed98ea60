"""Trees as arrays, through which many examples walk at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from stillflow.graph.arrays import Array
from stillflow.ops.boosted_trees.resources import internal, refused

# How many pairs of a tree and an example are held at once.
_PAIRS = 1 << 20


class Nodes(NamedTuple):
    """Nodes, each by its number. Leaves lead to themselves.

    Attributes:
      feature: which feature a node asks for.
      threshold: which of its buckets are on the left.
      equal: whether only this bucket is on the left, or lower ones too.
      left, right: the nodes below.
      leaf: whether a node is one.
      valued: whether a node has values, as leaves and most nodes that were leaves before do.
      values: of the nodes that have some, [nodes, logits].
    """

    feature: Any
    threshold: Any
    equal: Any
    left: Any
    right: Any
    leaf: Any
    valued: Any
    values: Any

    @property
    def depth(self) -> int:
        """The number of steps from the first node to the farthest leaf."""
        steps, reached = 0, np.zeros(1, np.int64)
        while not self.leaf[reached].all():
            inner = reached[~self.leaf[reached]]
            reached = np.concatenate([self.left[inner], self.right[inner]])
            steps += 1
            if steps > len(self.leaf):
                raise refused("A tree of the ensemble has a cycle")
        return steps


def nodes_of(tree: Any) -> Nodes:
    """Return the nodes of a `Tree` message.

    InternalError for different numbers of values in nodes, InvalidArgumentError for a node that
    leads nowhere.
    """
    rows = [_row(number, node) for number, node in enumerate(tree.nodes)]
    feature, threshold, equal, left, right, leaf, values = zip(*rows, strict=True)
    width = max(map(len, values))
    if any(len(value) not in (0, width) for value in values):
        raise internal("Nodes of a tree have different numbers of logits")
    below = np.array([left, right], np.int64)
    if below.min() < 0 or below.max() >= len(rows):
        raise refused("A node of a tree leads to a missing node")
    filled = [value or (0.0,) * width for value in values]
    return Nodes(
        np.array(feature, np.int64), np.array(threshold, np.int32), np.array(equal), below[0],
        below[1], np.array(leaf), np.array([bool(value) for value in values]),
        np.array(filled, np.float32).reshape(len(rows), width),
    )  # fmt: skip


def _row(number: int, node: Any) -> tuple[Any, ...]:
    kind = node.WhichOneof("node")
    if kind == "leaf":
        return 0, 0, False, number, number, True, _leaf_values(node.leaf)
    before = node.metadata
    values = _leaf_values(before.original_leaf) if before.HasField("original_leaf") else ()
    if kind == "bucketized_split":
        split = node.bucketized_split
        return (split.feature_id, split.threshold, False, split.left_id, split.right_id, False,
                values)  # fmt: skip
    if kind == "categorical_split":
        split = node.categorical_split
        return split.feature_id, split.value, True, split.left_id, split.right_id, False, values
    raise refused(f"Nodes of the kind {kind} are not supported in trees of buckets")


def _leaf_values(leaf: Any) -> tuple[float, ...]:
    return tuple(leaf.vector.value) if leaf.HasField("vector") else (leaf.scalar,)


class Forest:
    """Several trees, one behind the other.

    Args:
      trees: their nodes.
      weights: of the trees, float32.
    """

    def __init__(self, trees: Sequence[Nodes], weights: Any) -> None:
        sizes = np.array([len(tree.leaf) for tree in trees])
        self.roots = np.cumsum(sizes) - sizes
        self.weights = weights
        self.depth = max(tree.depth for tree in trees)
        parts = [np.concatenate(column) for column in zip(*trees, strict=True)]
        self.nodes = Nodes(*parts)
        shift = np.repeat(self.roots, sizes)
        self.nodes = self.nodes._replace(
            left=self.nodes.left + shift, right=self.nodes.right + shift
        )

    def check(self, features: Any, width: int) -> None:
        """Raise an error unless nodes ask for features there are, and have so many values."""
        if self.nodes.feature.max(initial=0) >= len(features):
            raise refused(
                f"The trees use feature {self.nodes.feature.max()}, but there are "
                f"{len(features)} features"
            )
        found = self.nodes.values.shape[1]
        if found != width:
            raise internal(
                f"Expected leaf_logits.size() == logits_dimension_, got {found} vs {width}"
            )

    def step(self, at: Any, features: Any, examples: Any) -> Array:
        """Return the nodes that follow on nodes, for examples that are there."""
        nodes = self.nodes
        bucket = features[nodes.feature[at], examples]
        threshold = nodes.threshold[at]
        left = np.where(nodes.equal[at], bucket == threshold, bucket <= threshold)
        return np.where(left, nodes.left[at], nodes.right[at])

    def leaves(self, features: Any, first: int, start: Any) -> Array:
        """Return the leaves that examples reach in each tree from the `first` on.

        Args:
          features: buckets, int32 [features, examples].
          first: number of a tree.
          start: from which of its nodes on, for each example; in all others it is the root.

        Returns:
          Numbers of nodes, [trees, examples].
        """
        at = np.repeat(self.roots[first:, None], features.shape[1], 1)
        at[0] += start
        examples = np.arange(features.shape[1])
        for _ in range(self.depth):
            at = self.step(at, features, examples)
        return at


def blocks(examples: int, trees: int) -> list[slice]:
    """Slices of the examples, few enough at once."""
    size = max(1, _PAIRS // max(1, trees))
    return [slice(begin, begin + size) for begin in range(0, examples, size)]
