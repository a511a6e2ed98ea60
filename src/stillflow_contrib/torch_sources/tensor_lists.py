"""Lists of tensors as lists of Python, which no operation changes in place."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.export.literals import UnwritableError
from stillflow.graph.lazy import torch
from stillflow.graph.node import Call, Node, Numbers
from stillflow.ops.torch_sources.parts import Text, source_of, torch_name


def _int(argument: Any) -> str:
    return argument.number or f"int({argument})"


def _shape(argument: Any) -> Text:
    """Return a shape with -1 for unknown sizes, as a tuple; () where it is unknown."""
    if argument.known is not None and argument.known.ndim == 0:
        return Text("()")
    return Text(argument.sizes if argument.known is None else repr(tuple(argument.known.tolist())))


@source_of("EmptyTensorList")
def empty_source(node: Node, shape: Any, most: Any) -> str:
    return "[]"


@source_of("TensorListReserve")
def reserve_source(node: Node, shape: Any, count: Any) -> str:
    return f"[None] * {_int(count)}"


@source_of("TensorListFromTensor")
def from_tensor_source(node: Node, value: Any, shape: Any) -> str:
    return f"list({value})" if node.dtype(0).name == "string" else f"list({value}.unbind(0))"


@source_of("TensorListStack")
def stack_source(node: Node, items: Any, shape: Any) -> Call:
    dtype = Text(torch_name(node.element_dtype))
    return node.call(_stacked, items, _shape(shape), dtype)


def _stacked(items: Any, shape: Any, dtype: Any) -> Any:
    """Return elements as one tensor; those that were never set are zeros."""
    known = [item for item in items if item is not None]
    if len(known) < len(items) or not items:
        shape = known[0].shape if known else [max(size, 0) for size in shape]
    return torch.stack([
        torch.zeros(shape, dtype=dtype) if item is None else item for item in items
    ]) if items else torch.empty((0, *shape), dtype=dtype)  # fmt: skip


@source_of("AddN")
def add_n_source(node: Node, *lists: Any) -> Call | None:
    return node.call(_added, *lists) if node.dtype(0).name == "variant" else None


def _added(first: Any, *others: Any) -> Any:
    """Return the sums of lists' elements; those that were never set are zeros."""
    found = list(first)
    for items in others:
        for place, item in enumerate(items):
            known = found[place]
            found[place] = item if known is None else known if item is None else known + item
    return found


@source_of("TensorListPushBackBatch")
def push_batch_source(node: Node, lists: Any, value: Any) -> Call:
    return node.call(_pushed, lists, value)


def _pushed(lists: Any, value: Any) -> Any:
    made = np.empty(lists.size, object)
    for place, items in enumerate(lists.reshape(-1)):
        made[place] = [*items, value.flatten(0, lists.ndim - 1)[place]]
    return made.reshape(lists.shape)


@source_of("TensorListElementShape")
def element_shape_source(node: Node, items: Any) -> str:
    dims = node.inputs[0]._handle_dims
    if dims is None:
        raise UnwritableError("a list whose elements have no known rank")
    sizes = [-1 if size is None else size for size in dims]
    return f"torch.tensor({sizes}, dtype={torch_name(node.shape_type)}, device=self.device)"


@source_of("TensorListGetItem")
def get_item_source(node: Node, items: Any, index: Any, shape: Any) -> Call:
    dtype = Text(torch_name(node.element_dtype))
    return node.call(_item, items, Text(_int(index)), _shape(shape), dtype)


def _item(items: Any, index: int, shape: Any, dtype: Any) -> Any:
    item = items[index]
    if item is not None:
        return item
    same = [each.shape for each in items if each is not None]
    return torch.zeros(same[0] if same else shape, dtype=dtype)


@source_of("TensorListSetItem")
def set_item_source(node: Node, items: Any, index: Any, item: Any) -> Call:
    return node.call(_with_item, items, Text(_int(index)), item)


def _with_item(items: Any, index: int, item: Any) -> Any:
    return [*items[:index], item, *items[index + 1 :]]


@source_of("TensorListPushBack")
def push_source(node: Node, items: Any, item: Any) -> str:
    return f"[*{items}, {item}]"


@source_of("TensorListPopBack")
def pop_source(node: Node, items: Any, shape: Any) -> list[Any]:
    dtype = torch_name(node.element_dtype)
    return [f"{items}[:-1]", node.call(_item, items, -1, _shape(shape), Text(dtype))]


@source_of("TensorListLength")
def length_source(node: Node, items: Any) -> Numbers:
    return Numbers(f"len({items})")


@source_of("TensorListResize")
def resize_source(node: Node, items: Any, size: Any) -> str:
    return f"({items} + [None] * {_int(size)})[:{_int(size)}]"


@source_of("TensorListGather")
def gather_source(node: Node, items: Any, indices: Any, shape: Any) -> Call:
    dtype = Text(torch_name(node.element_dtype))
    return node.call(_gathered, items, Text(indices.listed), _shape(shape), dtype)


def _gathered(items: Any, indices: Any, shape: Any, dtype: Any) -> Any:
    return _stacked([items[index] for index in indices], shape, dtype)


@source_of("TensorListScatter", "TensorListScatterV2")
def scatter_source(node: Node, value: Any, indices: Any, shape: Any, *count: Any) -> Call:
    size = Text(_int(count[0])) if count else Text("-1")
    return node.call(_scattered, [], value, Text(indices.listed), size)


@source_of("TensorListScatterIntoExistingList")
def scatter_into_source(node: Node, items: Any, value: Any, indices: Any) -> Call:
    return node.call(_scattered, items, value, Text(indices.listed), -1)


def _scattered(items: Any, value: Any, indices: Any, count: int) -> Any:
    found = [*items, *[None] * max(count - len(items), 0)]
    for index, item in zip(indices, value.unbind(0)):
        found.extend([None] * (index + 1 - len(found)))
        found[index] = item
    return found


@source_of("TensorListSplit")
def split_source(node: Node, value: Any, shape: Any, lengths: Any) -> str:
    return f"list(torch.split({value}, {lengths}.tolist()))"


@source_of("TensorListConcat", "TensorListConcatV2")
def concat_source(node: Node, items: Any, *shapes: Any) -> list[Any]:
    lengths = f"torch.tensor([len(item) for item in {items}], device=self.device)"
    return [f"torch.cat({items})", lengths]


@source_of("TensorListConcatLists")
def concat_lists_source(node: Node, first: Any, second: Any) -> str:
    return f"{first} + {second}"
