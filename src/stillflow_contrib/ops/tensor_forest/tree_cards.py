"""Operations on trees: making, reading and writing them, finding leaves, predictions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stillflow.graph.arrays import Array
from stillflow.graph.card import op
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.boosted_trees.resources import (
    Slot,
    handle_kernel,
    is_filled_kernel,
    refused,
    scalar_shape,
    tensor,
)
from stillflow.ops.io.stored import to_stored
from stillflow_contrib.ops.tensor_forest.examples import Examples, Specification, Targets
from stillflow_contrib.ops.tensor_forest.parameters import parameters_of
from stillflow_contrib.ops.tensor_forest.tree import Tree

decision_tree_resource_handle_op = op("""
    DecisionTreeResourceHandleOp() -> resource: resource
    container: string = ""
    shared_name: string = ""
    flags: stateful
""")
tree_is_initialized_op_op = op("""
    TreeIsInitializedOp(tree_handle: resource) -> is_initialized: bool
    flags: stateful
""")
create_tree_variable_op = op("""
    CreateTreeVariable(tree_handle: resource, tree_config: string)
    params: string
    flags: stateful
""")
tree_serialize_op = op(
    """
    TreeSerialize(tree_handle: resource) -> tree_config: string
    flags: stateful
""",
    differentiable=False,
)
tree_deserialize_op = op(
    """
    TreeDeserialize(tree_handle: resource, tree_config: string)
    params: string
    flags: stateful
""",
    differentiable=False,
)
tree_size_op = op(
    """
    TreeSize(tree_handle: resource) -> tree_size: int32
    flags: stateful
""",
    differentiable=False,
)
tree_predictions_v4_op = op(
    """
    TreePredictionsV4(tree_handle: resource, input_data: float, sparse_input_indices: int64,
                      sparse_input_values: float, sparse_input_shape: int64)
        -> (predictions: float, tree_paths: string)
    input_spec: string
    params: string
    flags: stateful
""",
    differentiable=False,
)
traverse_tree_v4_op = op("""
    TraverseTreeV4(tree_handle: resource, input_data: float, sparse_input_indices: int64,
                   sparse_input_values: float, sparse_input_shape: int64) -> leaf_ids: int32
    input_spec: string
    params: string
    flags: stateful
""")
update_model_v4_op = op("""
    UpdateModelV4(tree_handle: resource, leaf_ids: int32, input_labels: float,
                  input_weights: float)
    params: string
    flags: stateful
""")
feature_usage_counts_op = op(
    """
    FeatureUsageCounts(tree_handle: resource) -> feature_counts: int32
    params: string
    flags: stateful
""",
    differentiable=False,
)

decision_tree_resource_handle_op.shape(scalar_shape)
decision_tree_resource_handle_op.kernel(handle_kernel("forest tree"))
tree_is_initialized_op_op.shape(scalar_shape)
tree_is_initialized_op_op.kernel(is_filled_kernel)
tree_serialize_op.shape(scalar_shape)
tree_size_op.shape(scalar_shape)


# ---- stored state


def creating_kernel(make: Callable[[Any, bytes], Any], described: str) -> Callable[[Node], Any]:
    """Return the kernel of an operation that fills a place, unless it is filled already.

    `make` takes a forest's parameters and what is stored, which errors call `described`.
    """

    def kernel(node: Node) -> Callable[..., Any]:
        parameters = parameters_of(node.params)

        def create(slot: Slot[Any], stored: Any) -> None:
            made = make(parameters, stored_message(stored, described))
            slot.fill(lambda: made)

        return create

    return kernel


def deserializing_kernel(described: str) -> Callable[[Node], Any]:
    """Return the kernel of an operation that replaces a resource by its stored form."""

    def kernel(node: Node) -> Callable[..., Any]:
        def read(slot: Slot[Any], stored: Any) -> None:
            with slot.lock:
                slot.state.read(stored_message(stored, described))

        return read

    return kernel


def serializing_kernel(node: Node) -> Callable[..., Any]:
    """Return the kernel of an operation that stores a resource."""

    def write(slot: Slot[Any]) -> Array:
        with slot.lock:
            return np.array(slot.state.write(), object)

    return write


def stored_message(value: Any, described: str) -> bytes:
    """Return a scalar argument that is a message; InvalidArgumentError for other ranks."""
    if value.ndim:
        raise refused(f"{described} must be a scalar.")
    return value[()]


create_tree_variable_op.kernel(creating_kernel(Tree, "Tree config"))
tree_serialize_op.kernel(serializing_kernel)
tree_deserialize_op.kernel(deserializing_kernel("Tree config"))


@tree_size_op.kernel
def tree_size_kernel(node: Node) -> Kernel:
    def size(slot: Slot[Tree]) -> Any:
        with slot.lock:
            return tensor(slot.state.size, np.int32)

    return size


# ---- examples


def known_rows(dims: Any) -> int | None:
    """Return the static number of examples of dense features."""
    return dims[0] or None if dims else None


@tree_predictions_v4_op.shape
def tree_predictions_v4_shape(node: Node) -> OutputDims:
    return [(known_rows(node.dims(1)), None), (None,)]


@tree_predictions_v4_op.kernel
def tree_predictions_v4_kernel(node: Node) -> Kernel:
    spec, parameters = Specification(node.input_spec), parameters_of(node.params)

    def predict(slot: Slot[Tree], *features: Any) -> tuple[torch.Tensor, Array]:
        examples = Examples(spec, *features)
        with slot.lock:
            tree = slot.state
            leaves = tree.find(examples)
            outputs = tree.leaves.outputs(leaves)
            paths = tree.paths(leaves) if parameters.inference_tree_paths else []
        if not parameters.is_regression and outputs.shape[1]:
            outputs = _shares(outputs)
        return tensor(outputs, np.float32), np.array(paths, object)

    return predict


def _shares(counts: Any) -> Array:
    """Return counts of classes as shares of their sum; all-zero counts stay unchanged."""
    sums = np.cumsum(counts, 1, dtype=np.float32)[:, -1:]
    divided = (sums > 0) & (sums != 1)
    return counts / np.where(divided, sums, np.float32(1))


@traverse_tree_v4_op.shape
def traverse_tree_v4_shape(node: Node) -> OutputDims:
    return (known_rows(node.dims(1)),)


@traverse_tree_v4_op.kernel
def traverse_tree_v4_kernel(node: Node) -> Kernel:
    spec = Specification(node.input_spec)

    def find(slot: Slot[Tree], *features: Any) -> torch.Tensor:
        examples = Examples(spec, *features)
        with slot.lock:
            return tensor(slot.state.find(examples), np.int32)

    return find


@update_model_v4_op.kernel
def update_model_v4_kernel(node: Node) -> Kernel:
    parameters = parameters_of(node.params)

    def update(slot: Slot[Tree], leaves: Any, labels: Any, weights: Any) -> None:
        if parameters.is_regression:
            return  # the leaves keep the values of the time of the examples
        targets = Targets(labels, weights, False)
        classes = targets.classes(parameters.num_outputs)
        numbers = leaf_numbers(leaves, targets.count)
        with slot.lock:
            slot.state.leaves.add(numbers, classes, targets.weights)

    return update


def leaf_numbers(leaves: Any, count: int) -> Array:
    """Return the leaf of each example, int64 [n].

    InvalidArgumentError if there is not one for each.
    """
    found = to_stored(leaves).reshape(-1).astype(np.int64)
    if len(found) != count:
        raise refused(f"There are {count} labels, but leaves of {len(found)} examples")
    return found


@feature_usage_counts_op.shape
def feature_usage_counts_shape(node: Node) -> OutputDims:
    return (None,)


@feature_usage_counts_op.kernel
def feature_usage_counts_kernel(node: Node) -> Kernel:
    features = parameters_of(node.params).num_features

    def count(slot: Slot[Tree]) -> Any:
        with slot.lock:
            return tensor(slot.state.feature_counts(features), np.int32)

    return count
