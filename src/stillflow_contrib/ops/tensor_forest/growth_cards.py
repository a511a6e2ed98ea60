"""Operations that let trees grow: statistics of leaves, batches of examples, tests at leaves."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow import errors
from stillflow.graph.card import op
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.boosted_trees.resources import (
    Slot,
    handle_kernel,
    is_filled_kernel,
    scalar_shape,
    tensor,
)
from stillflow.ops.io.stored import to_stored
from stillflow_contrib.ops.tensor_forest.examples import Examples, Specification, Targets
from stillflow_contrib.ops.tensor_forest.parameters import parameters_of
from stillflow_contrib.ops.tensor_forest.slots import Slots
from stillflow_contrib.ops.tensor_forest.tree import Tree
from stillflow_contrib.ops.tensor_forest.tree_cards import (
    creating_kernel,
    deserializing_kernel,
    leaf_numbers,
    serializing_kernel,
)
from stillflow_contrib.ops.tensor_forest.words import Words

fertile_stats_resource_handle_op = op("""
    FertileStatsResourceHandleOp() -> resource: resource
    container: string = ""
    shared_name: string = ""
    flags: stateful
""")
fertile_stats_is_initialized_op_op = op("""
    FertileStatsIsInitializedOp(stats_handle: resource) -> is_initialized: bool
    flags: stateful
""")
create_fertile_stats_variable_op = op("""
    CreateFertileStatsVariable(stats_handle: resource, stats_config: string)
    params: string
    flags: stateful
""")
fertile_stats_serialize_op = op(
    """
    FertileStatsSerialize(stats_handle: resource) -> stats_config: string
    params: string
    flags: stateful
""",
    differentiable=False,
)
fertile_stats_deserialize_op = op(
    """
    FertileStatsDeserialize(stats_handle: resource, stats_config: string)
    params: string
    flags: stateful
""",
    differentiable=False,
)
process_input_v4_op = op(
    """
    ProcessInputV4(tree_handle: resource, stats_handle: resource, input_data: float,
        sparse_input_indices: int64, sparse_input_values: float, sparse_input_shape: int64,
        input_labels: float, input_weights: float, leaf_ids: int32) -> finished_nodes: int32
    random_seed: int
    input_spec: string
    params: string
    flags: stateful
""",
    differentiable=False,
)
grow_tree_v4_op = op(
    """
    GrowTreeV4(tree_handle: resource, stats_handle: resource, finished_nodes: int32)
    params: string
    flags: stateful
""",
    differentiable=False,
)
finalize_tree_op = op(
    """
    FinalizeTree(tree_handle: resource, stats_handle: resource)
    params: string
    flags: stateful
""",
    differentiable=False,
)

fertile_stats_resource_handle_op.shape(scalar_shape)
fertile_stats_resource_handle_op.kernel(handle_kernel("forest statistics"))
fertile_stats_is_initialized_op_op.shape(scalar_shape)
fertile_stats_is_initialized_op_op.kernel(is_filled_kernel)
fertile_stats_serialize_op.shape(scalar_shape)
create_fertile_stats_variable_op.kernel(creating_kernel(Slots, "Stats config"))
fertile_stats_serialize_op.kernel(serializing_kernel)
fertile_stats_deserialize_op.kernel(deserializing_kernel("Stats config"))


@process_input_v4_op.shape
def process_input_v4_shape(node: Node) -> OutputDims:
    return (None,)


@process_input_v4_op.kernel
def process_input_v4_kernel(node: Node) -> Kernel:
    spec, parameters = Specification(node.input_spec), parameters_of(node.params)
    seed = node.random_seed

    def process(tree: Slot[Tree], stats: Slot[Slots], *given: Any) -> torch.Tensor:
        *features, labels, weights, leaves = given
        examples = Examples(spec, *features)
        targets = Targets(labels, weights, parameters.is_regression)
        numbers = leaf_numbers(leaves, examples.count)
        with stats.lock:
            # The same words at every step: TensorFlow restarts its stream each time.
            finished = stats.state.process(examples, targets, numbers, Words(seed))
        return tensor(finished, np.int32)

    return process


@grow_tree_v4_op.kernel
def grow_tree_v4_kernel(node: Node) -> Kernel:
    def grow(tree: Slot[Tree], stats: Slot[Slots], finished: Any) -> None:
        with stats.lock, tree.lock:
            stats.state.grow(tree.state, to_stored(finished).reshape(-1).tolist())

    return grow


@finalize_tree_op.kernel
def finalize_tree_kernel(node: Node) -> Kernel:
    is_regression = parameters_of(node.params).is_regression

    def finalize(tree: Slot[Tree], stats: Slot[Slots]) -> None:
        if not is_regression:  # TensorFlow ends the process here
            raise errors.unimplemented("FinalizeTreeOp is disabled for now.")

    return finalize
