"""Gradients of TensorArrays: written values are read back from an array of gradients.

Each call of `tf.gradients` has arrays of its own, told apart by the name of its scope.
"""

from __future__ import annotations

import re
from typing import Any

from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.ops.tensor_array import cards
from stillflow.ops.tensor_array.tensor_array import TensorArray

# A name up to the last scope that a call of `tf.gradients` has opened.
_GRADIENTS = re.compile("(?:.*/)?gradients[^/]*")


def _source(tensor: Tensor) -> str:
    """Return the scope of the call of `tf.gradients` that made `tensor`."""
    source = _GRADIENTS.match(tensor.name)
    if source:
        return source[0]
    raise ValueError(
        "Expected op/tensor name to start with gradients (excluding scope), got: "
        f"{tensor.name}. This means that a tf.gradients op with this op in its dependency "
        "path has a custom name that does not start with 'gradients'. Please make sure all "
        "calls to tf.gradients that have non-empty 'name' arguments use names that start "
        "with 'gradients'."
    )


def _gradients_of(node: Node, dtype: Any, grad: Tensor, flow: Tensor) -> TensorArray:
    """Return the array of gradients, which may be made only after `flow`."""
    source = _source(grad)
    array = TensorArray(
        dtype=dtype, handle=node.inputs[0], flow=flow, colocate_with_first_write_call=False
    )
    return array.grad(source=source, flow=flow)


def read_gradient(node: Node, grad: Tensor) -> list[Tensor | None]:
    _, index, flow = node.inputs
    written = _gradients_of(node, node.op.attrs["dtype"], grad, flow).write(index, grad)
    return [None, None, written.flow]


def write_gradient(node: Node, flow: Tensor) -> list[Tensor | None]:
    grad = _gradients_of(node, node.T, flow, flow).read(node.inputs[1])
    return [None, None, grad, flow]


def gather_gradient(node: Node, grad: Tensor) -> list[Tensor | None]:
    _, indices, flow = node.inputs
    written = _gradients_of(node, node.op.attrs["dtype"], grad, flow).scatter(indices, grad)
    return [None, None, written.flow]


def scatter_gradient(node: Node, flow: Tensor) -> list[Tensor | None]:
    grad = _gradients_of(node, node.T, flow, flow).gather(node.inputs[1])
    return [None, None, grad, flow]


def concat_gradient(node: Node, grad: Tensor, lengths_grad: Any) -> list[Tensor | None]:
    del lengths_grad
    flow, lengths = node.inputs[1], node.outputs[1]
    array = _gradients_of(node, node.op.attrs["dtype"], grad, flow)
    return [None, array.split(grad, lengths=lengths).flow]


def split_gradient(node: Node, flow: Tensor) -> list[Tensor | None]:
    grad = _gradients_of(node, node.T, flow, flow).concat()
    return [None, grad, None, flow]


for _cards, _gradient in (
    (cards.read_ops, read_gradient),
    (cards.write_ops, write_gradient),
    (cards.gather_ops, gather_gradient),
    (cards.scatter_ops, scatter_gradient),
    (cards.concat_ops, concat_gradient),
    (cards.split_ops, split_gradient),
):
    for _card in _cards:
        _card.gradient(_gradient)
