"""Taking back splits of a finished tree that brought nothing."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class _Change(NamedTuple):
    """Replacement of a removed node, and the change for its examples."""

    parent: int
    logits: Any


def post_prune(tree: Any, metadata: Any) -> None:
    """Make leaves of splits with negative gain above leaves; tell `metadata` where nodes went.

    `TreeMetadata` corrects cached predictions at the removed nodes.
    """
    changes: dict[int, _Change] = {}
    _prune(tree, 0, changes)
    if not changes:
        return
    new_numbers: dict[int, int] = {}
    for number in range(len(tree.nodes)):
        update = metadata.post_pruned_nodes_meta.add()
        if number in changes:
            kept, moved = _moved(number, changes)
            update.new_node_id = new_numbers[kept]
            update.logit_change.append(moved)
        else:
            new_numbers[number] = update.new_node_id = len(new_numbers)
            update.logit_change.append(0.0)
    _renumber(tree, new_numbers)


def _value(node: Any) -> np.float32:
    return np.float32(node.leaf.scalar)


def _prune(tree: Any, number: int, changes: dict[int, _Change]) -> None:
    node = tree.nodes[number]
    if node.WhichOneof("node") == "leaf":
        return
    split = getattr(node, node.WhichOneof("node"))
    children = split.left_id, split.right_id
    for child in children:
        _prune(tree, child, changes)
    leaves = all(tree.nodes[child].WhichOneof("node") == "leaf" for child in children)
    if node.metadata.gain >= 0 or not leaves:
        return
    before = type(node.leaf)()
    before.CopyFrom(node.metadata.original_leaf)
    node.leaf.SetInParent()
    node.leaf.CopyFrom(before)
    for child in children:
        changes[child] = _Change(number, _value(node) - _value(tree.nodes[child]))
    node.ClearField("metadata")


def _moved(number: int, changes: dict[int, _Change]) -> tuple[int, Any]:
    """Return the node that is left, and the sum of the changes on the way there."""
    total = np.float32(0.0)
    while number in changes:
        number, change = changes[number]
        total += change
    return number, total


def _renumber(tree: Any, new_numbers: dict[int, int]) -> None:
    kept = [type(tree.nodes[0])() for _ in new_numbers]
    for node, old in zip(kept, new_numbers, strict=True):
        node.CopyFrom(tree.nodes[old])
        kind = node.WhichOneof("node")
        if kind != "leaf":
            split = getattr(node, kind)
            split.left_id, split.right_id = new_numbers[split.left_id], new_numbers[split.right_id]
    del tree.nodes[:]
    tree.nodes.extend(kept)
