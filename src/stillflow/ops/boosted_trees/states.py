"""Making, reading and writing ensembles of trees."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.graph import dims as dims_lib
from stillflow.graph.arrays import Array
from stillflow.graph.card import op
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.boosted_trees.ensemble import Ensemble
from stillflow.ops.boosted_trees.resources import (
    handle_kernel,
    is_filled_kernel,
    number,
    scalar_shape,
    string,
    tensor,
)

ensemble_handle_op = op(
    """
    BoostedTreesEnsembleResourceHandleOp() -> resource: resource
    container: string = ""
    shared_name: string = ""
    flags: stateful
""",
    differentiable=False,
    devices="host",
)
is_ensemble_initialized_op = op(
    """
    IsBoostedTreesEnsembleInitialized(tree_ensemble_handle: resource) -> is_initialized: bool
    flags: stateful
""",
    differentiable=False,
)
create_ensemble_op = op(
    """
    BoostedTreesCreateEnsemble(tree_ensemble_handle: resource, stamp_token: int64,
                               tree_ensemble_serialized: string)
    flags: stateful
""",
    differentiable=False,
    devices="host",
)
deserialize_ensemble_op = op(
    """
    BoostedTreesDeserializeEnsemble(tree_ensemble_handle: resource, stamp_token: int64,
                                    tree_ensemble_serialized: string)
    flags: stateful
""",
    differentiable=False,
    devices="host",
)
serialize_ensemble_op = op(
    """
    BoostedTreesSerializeEnsemble(tree_ensemble_handle: resource)
        -> (stamp_token: int64, tree_ensemble_serialized: string)
    flags: stateful
""",
    differentiable=False,
    devices="host",
)
get_ensemble_states_op = op(
    """
    BoostedTreesGetEnsembleStates(tree_ensemble_handle: resource)
        -> (stamp_token: int64, num_trees: int32, num_finalized_trees: int32,
            num_attempted_layers: int32, last_layer_nodes_range: int32)
    flags: stateful
""",
    differentiable=False,
    devices="host",
)

ensemble_handle_op.shape(scalar_shape)
ensemble_handle_op.kernel(handle_kernel("boosted trees"))


def _check_scalars(node: Node) -> None:
    for index in range(len(node.inputs)):
        if node.inputs[index].dtype.name == "resource" and node.planning:
            continue
        dims_lib.with_rank(node.dims(index), 0)


for _card in (
    is_ensemble_initialized_op, create_ensemble_op, deserialize_ensemble_op, serialize_ensemble_op,
    get_ensemble_states_op,
):  # fmt: skip
    _card.check(_check_scalars)

is_ensemble_initialized_op.shape(scalar_shape)
is_ensemble_initialized_op.kernel(is_filled_kernel)


@create_ensemble_op.kernel
def create_ensemble_kernel(node: Node) -> Kernel:
    def create(slot: Any, stamp: Any, serialized: Any) -> None:
        made = Ensemble(int(number(stamp, "stamp_token")), _serialized(serialized))
        slot.fill(lambda: made)

    return create


def _serialized(value: Any) -> bytes:
    return string(value, "tree_ensemble_serialized")


@deserialize_ensemble_op.kernel
def deserialize_ensemble_kernel(node: Node) -> Kernel:
    def read(slot: Any, stamp: Any, serialized: Any) -> None:
        with slot.lock:
            slot.state.read(int(number(stamp, "stamp_token")), _serialized(serialized))

    return read


@serialize_ensemble_op.shape
def serialize_ensemble_shape(node: Node) -> OutputDims:
    return [(), ()]


@serialize_ensemble_op.kernel
def serialize_ensemble_kernel(node: Node) -> Kernel:
    def write(slot: Any) -> tuple[torch.Tensor, Array]:
        with slot.lock:
            ensemble = slot.state
            serialized = np.array(ensemble.message.SerializeToString(), object)
            return torch.tensor(ensemble.stamp), serialized

    return write


@get_ensemble_states_op.shape
def get_ensemble_states_shape(node: Node) -> OutputDims:
    return [(), (), (), (), (2,)]


@get_ensemble_states_op.kernel
def get_ensemble_states_kernel(node: Node) -> Kernel:
    def states(slot: Any) -> Any:
        with slot.lock:
            stamp, *others = slot.state.states()
        return (tensor(stamp, np.int64), *(tensor(each, np.int32) for each in others))

    return states
