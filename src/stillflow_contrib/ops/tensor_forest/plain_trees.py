"""Trees of TensorFlow's core, TensorForestTree...: they are made elsewhere, and only predict."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.graph import dims as dims_lib
from stillflow.graph.arrays import Array
from stillflow.graph.card import op
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.boosted_trees.ensemble import MESSAGES
from stillflow.ops.boosted_trees.resources import (
    Slot,
    handle_kernel,
    is_filled_kernel,
    refused,
    scalar_shape,
    string,
    tensor,
)
from stillflow.ops.io.stored import to_stored

tensor_forest_tree_resource_handle_op_op = op("""
    TensorForestTreeResourceHandleOp() -> resource: resource
    container: string = ""
    shared_name: string = ""
    flags: stateful
""")
tensor_forest_tree_is_initialized_op_op = op("""
    TensorForestTreeIsInitializedOp(tree_handle: resource) -> is_initialized: bool
    flags: stateful
""")
tensor_forest_create_tree_variable_op = op("""
    TensorForestCreateTreeVariable(tree_handle: resource, tree_config: string)
    flags: stateful
""")
tensor_forest_tree_serialize_op = op("""
    TensorForestTreeSerialize(tree_handle: resource) -> tree_config: string
    flags: stateful
""")
tensor_forest_tree_deserialize_op = op("""
    TensorForestTreeDeserialize(tree_handle: resource, tree_config: string)
    flags: stateful
""")
tensor_forest_tree_size_op = op("""
    TensorForestTreeSize(tree_handle: resource) -> tree_size: int32
    flags: stateful
""")
tensor_forest_tree_predict_op = op("""
    TensorForestTreePredict(tree_handle: resource, dense_features: float) -> logits: float
    logits_dimension: int
    flags: stateful
""")


class PlainTree:
    """A tree of tests of dense features.

    Args:
      serialized: a `Tree` message.

    Raises:
      InvalidArgumentError: if it is none.
    """

    def __init__(self, serialized: bytes = b"") -> None:
        self.message: Any = MESSAGES["Tree"]()
        try:
            self.message.ParseFromString(serialized)
        except Exception as error:
            raise refused("Unable to parse tree config.") from error

    def predict(self, features: Any, logits: int) -> Array:
        """Return the values of the leaves for the examples, float32 [examples, logits].

        Args:
          features: of the examples, float32 [examples, features].
          logits: how many values of a leaf are asked for.

        Raises:
          InvalidArgumentError: if the tree leads nowhere, or asks for what there is not.
        """
        nodes = self.message.nodes
        found = np.zeros((len(features), logits), np.float32)
        waiting = [(0, np.arange(len(features)))] if len(nodes) else []
        while waiting:
            number, rows = waiting.pop()
            node = nodes[number]
            if node.HasField("leaf"):
                found[rows] = self._values(node.leaf, logits)
                continue
            split = node.dense_split
            below = split.left_id, split.right_id
            if not all(number < child < len(nodes) for child in below):
                raise refused(f"Node {number} of a tree has the children {below}")
            if not 0 <= split.feature_id < features.shape[1]:
                raise refused(f"Node {number} of a tree asks for feature {split.feature_id}")
            left = features[rows, split.feature_id] <= np.float32(split.threshold)
            waiting += [
                (child, part)
                for child, part in zip(below, (rows[left], rows[~left]), strict=True)
                if len(part)
            ]
        return found

    @staticmethod
    def _values(leaf: Any, logits: int) -> list[float]:
        values = leaf.vector.value[:logits]
        if len(values) < logits:
            raise refused(f"A leaf of a tree has {len(values)} values of {logits}")
        return values


tensor_forest_tree_resource_handle_op_op.shape(scalar_shape)
tensor_forest_tree_resource_handle_op_op.kernel(handle_kernel("plain forest tree"))
tensor_forest_tree_is_initialized_op_op.kernel(is_filled_kernel)
tensor_forest_tree_serialize_op.shape(scalar_shape)
tensor_forest_tree_size_op.shape(scalar_shape)


@tensor_forest_tree_is_initialized_op_op.shape
@tensor_forest_tree_deserialize_op.check
def scalar_handle(node: Node) -> OutputDims:
    dims_lib.with_rank(node.dims(0), 0)
    return ()


@tensor_forest_create_tree_variable_op.kernel
def tensor_forest_create_tree_variable_kernel(node: Node) -> Kernel:
    def create(slot: Slot[PlainTree], config: Any) -> None:
        made = PlainTree(string(config, "tree_config"))
        slot.fill(lambda: made)

    return create


@tensor_forest_tree_serialize_op.kernel
def tensor_forest_tree_serialize_kernel(node: Node) -> Kernel:
    def write(slot: Slot[PlainTree]) -> Array:
        with slot.lock:
            return np.array(slot.state.message.SerializeToString(), object)

    return write


@tensor_forest_tree_deserialize_op.kernel
def tensor_forest_tree_deserialize_kernel(node: Node) -> Kernel:
    def read(slot: Slot[PlainTree], config: Any) -> None:
        with slot.lock:
            tree = slot.state
            tree.message = PlainTree().message  # unreadable data leave an empty tree
            tree.message = PlainTree(string(config, "tree_config")).message

    return read


@tensor_forest_tree_size_op.kernel
def tensor_forest_tree_size_kernel(node: Node) -> Kernel:
    def size(slot: Slot[PlainTree]) -> Any:
        with slot.lock:
            return tensor(len(slot.state.message.nodes), np.int32)

    return size


@tensor_forest_tree_predict_op.shape
def tensor_forest_tree_predict_shape(node: Node) -> OutputDims:
    return dims_lib.with_rank(node.dims(1), 2)[0], node.logits_dimension


@tensor_forest_tree_predict_op.kernel
def tensor_forest_tree_predict_kernel(node: Node) -> Kernel:
    logits = node.logits_dimension

    def predict(slot: Slot[PlainTree], features: Any) -> torch.Tensor:
        with slot.lock:
            return tensor(slot.state.predict(to_stored(features), logits), np.float32)

    return predict
