"""Gradients of the ops on lists: a list of gradients goes the way back that the list came."""

from __future__ import annotations

from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.fill import zeros_like
from stillflow.ops.arrays.shape import shape as shape_of
from stillflow.ops.arrays.slicing import slice_
from stillflow.ops.tensor_list.cards import cards
from stillflow.ops.tensor_list.public import (
    empty_tensor_list,
    tensor_list_from_tensor,
    tensor_list_get_item,
    tensor_list_reserve,
    tensor_list_scatter,
    tensor_list_split,
)


def _element_shape(handle: Tensor) -> Tensor:
    made: Tensor = cards["TensorListElementShape"](handle, shape_type=dtypes.int32)
    return made


def _rows_shape(tensor: Tensor) -> Tensor:
    return slice_(shape_of(tensor), [1], [-1])


def _push_gradient(node: Node, grad: Tensor) -> list[Tensor]:
    return list(
        cards["TensorListPopBack"](grad, shape_of(node.inputs[1]), element_dtype=node.element_dtype)
    )


def _pop_gradient(node: Node, list_grad: Any, grad: Tensor) -> list[Tensor | None]:
    if list_grad is None:
        list_grad = empty_tensor_list(_element_shape(node.outputs[0]), grad.dtype)
    return [cards["TensorListPushBack"](list_grad, grad), None]


def _stack_gradient(node: Node, grad: Tensor) -> list[Tensor | None]:
    return [tensor_list_from_tensor(grad, element_shape=grad.shape[1:]), None]


def _concat_gradient(node: Node, grad: Tensor, lengths_grad: Any) -> list[Tensor | None]:
    del lengths_grad
    made = tensor_list_split(grad, _element_shape(node.inputs[0]), node.outputs[1])
    return [made] + [None] * (len(node.inputs) - 1)


def _split_gradient(node: Node, grad: Tensor) -> list[Tensor | None]:
    tensor, _, lengths = node.inputs
    element = concat([[-1], _rows_shape(tensor)], axis=0)
    made = cards["TensorListConcatV2"](grad, element, lengths, element_dtype=tensor.dtype)
    return [made[0], None, None]


def _from_tensor_gradient(node: Node, grad: Any) -> list[Tensor | None]:
    tensor = node.inputs[0]
    if grad is None:
        grad = empty_tensor_list(_element_shape(node.outputs[0]), tensor.dtype)
    dims = tensor._dims
    count = dims[0] if dims and dims[0] is not None else None
    made = cards["TensorListStack"](
        grad, _rows_shape(tensor), element_dtype=tensor.dtype, num_elements=count
    )
    return [made, None]


def _get_gradient(node: Node, grad: Tensor) -> list[Tensor | None]:
    size = cards["TensorListLength"](node.inputs[0])
    made = tensor_list_reserve(_element_shape(node.inputs[0]), size, grad.dtype)
    return [cards["TensorListSetItem"](made, node.inputs[1], grad), None, None]


def _set_gradient(node: Node, grad: Tensor) -> list[Tensor | None]:
    _, index, item = node.inputs
    made = cards["TensorListSetItem"](grad, index, zeros_like(item))
    return [made, None, tensor_list_get_item(grad, index, item.dtype, shape_of(item))]


def _resize_gradient(node: Node, grad: Tensor) -> list[Tensor | None]:
    return [cards["TensorListResize"](grad, cards["TensorListLength"](node.inputs[0])), None]


def _gather_gradient(node: Node, grad: Tensor) -> list[Tensor | None]:
    values, indices, _ = node.inputs
    element = _element_shape(values)
    made = tensor_list_reserve(element, cards["TensorListLength"](values), grad.dtype)
    return [tensor_list_scatter(grad, indices, input_handle=made), None, None]


def _scatter_gradient(node: Node, grad: Tensor) -> list[Any]:
    tensor, indices = node.inputs[:2]
    element = _rows_shape(tensor)
    made = cards["TensorListGather"](grad, indices, element, element_dtype=tensor.dtype)
    return [made] + [None] * (len(node.inputs) - 1)


def _scatter_into_gradient(node: Node, grad: Tensor) -> list[Any]:
    _, tensor, indices = node.inputs
    element = _rows_shape(tensor)
    made = cards["TensorListGather"](grad, indices, element, element_dtype=tensor.dtype)
    rest = tensor_list_scatter(zeros_like(tensor), indices, indices, input_handle=grad)
    return [rest, made, None]


for _name, _gradient in (
    ("PushBack", _push_gradient), ("PopBack", _pop_gradient), ("Stack", _stack_gradient),
    ("Concat", _concat_gradient), ("ConcatV2", _concat_gradient), ("Split", _split_gradient),
    ("FromTensor", _from_tensor_gradient), ("GetItem", _get_gradient),
    ("SetItem", _set_gradient), ("Resize", _resize_gradient), ("Gather", _gather_gradient),
    ("Scatter", _scatter_gradient), ("ScatterV2", _scatter_gradient),
    ("ScatterIntoExistingList", _scatter_into_gradient),
):  # fmt: skip
    cards[f"TensorList{_name}"].gradient(_gradient)
