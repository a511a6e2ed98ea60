"""Tensor arrays as lists of Python; where a graph has gradients, they are lists with gradients."""

from __future__ import annotations

from typing import Any

from stillflow.graph.lazy import torch
from stillflow.graph.node import Call, Node
from stillflow.ops.torch_sources.parts import Text, source_of


def _versions(name: str) -> list[str]:
    """Return the operations of all versions of tensor arrays."""
    return [f"TensorArray{name}{version}" for version in ("", "V2", "V3")]


class Array(list[Any]):
    """A tensor array.

    Attributes:
      grads: arrays of gradients by their sources.
      forward: in an array of gradients, the one that it is of, and sizes before its elements'.
    """

    def __init__(self, size: Any, forward: Any = None) -> None:
        super().__init__([None] * int(size))
        self.grads: dict[Any, Any] = {}
        self.forward = forward

    def gradient(self, source: Any, sizes: Any) -> Array:
        """Return the array of the gradients for a source."""
        if source not in self.grads:
            self.grads[source] = Array(len(self), (self, sizes))
        found: Array = self.grads[source]
        return found

    def get(self, place: int) -> Any:
        """Return an element; gradients that were never written are zeros."""
        found = self[place]
        if found is None and self.forward is not None:
            like = self.forward[0][place]
            found = torch.zeros_like(like).expand(*self.forward[1], *like.shape)
        return found

    def put(self, place: int, value: Any) -> None:
        """Set an element; gradients are added to those that are there."""
        self.extend([None] * (place + 1 - len(self)))
        known = self[place]
        self[place] = value if known is None or self.forward is None else known + value


def _has_gradients(node: Node) -> bool:
    return any(op.type.startswith("TensorArrayGrad") for op in node.op.graph.get_operations())


@source_of(*_versions(""))
def tensor_array_source(node: Node, size: Any) -> list[Any] | str | Call:
    made: Any = f"[None] * {size.number or f'int({size})'}"
    if _has_gradients(node):
        made = node.call(Array, size)
    return [made, "torch.zeros(())"] if len(node.outputs) == 2 else made


@source_of(*_versions("Grad"), "TensorArrayGradWithShape")
def gradient_source(node: Node, array: Any, flow: Any, sizes: Any = None) -> list[Any] | Call:
    made = node.call(_gradient, array, node.source, () if sizes is None else Text(sizes.listed))
    return [made, "torch.zeros(())"] if len(node.outputs) == 2 else made


def _gradient(array: Any, source: Any, sizes: Any) -> Any:
    return array.gradient(source, sizes)


@source_of(*_versions("Close"))
def close_source(node: Node, array: Any) -> str:
    return f"{array}.clear()"


@source_of("TensorArrayPack")
def pack_source(node: Node, array: Any, flow: Any) -> str:
    items = f"[{array}.get(i) for i in range(len({array}))]" if _has_gradients(node) else array
    return f"torch.stack({items})"


@source_of("TensorArrayUnpack")
def unpack_source(node: Node, array: Any, value: Any, flow: Any) -> Call:
    return node.call(_unpack_all if _has_gradients(node) else _unpack, array, value, flow)


def _unpack_all(array: Any, value: Any, flow: Any) -> Any:
    for place, item in enumerate(value.unbind(0)):
        array.put(place, item)
    return flow


def _unpack(array: Any, value: Any, flow: Any) -> Any:
    array[:] = value.unbind(0)
    return flow


@source_of(*_versions("Write"))
def write_source(node: Node, array: Any, index: Any, value: Any, flow: Any) -> Call:
    return node.call(_put if _has_gradients(node) else _write, array, index, value, flow)


def _put(array: Any, index: Any, value: Any, flow: Any) -> Any:
    array.put(int(index), value)
    return flow


def _write(array: Any, index: Any, value: Any, flow: Any) -> Any:
    place = int(index)
    array.extend([None] * (place + 1 - len(array)))
    array[place] = value
    return flow


@source_of(*_versions("Read"))
def read_source(node: Node, array: Any, index: Any, flow: Any) -> str:
    place = index.number or f"int({index})"
    return f"{array}.get({place})" if _has_gradients(node) else f"{array}[{place}]"


@source_of(*_versions("Gather"))
def gather_source(node: Node, array: Any, indices: Any, flow: Any) -> Call:
    return node.call(_got if _has_gradients(node) else _gather, array, Text(indices.listed))


def _got(array: Any, indices: Any) -> Any:
    return _stacked([array.get(place) for place in indices], array)


def _gather(array: Any, indices: Any) -> Any:
    return _stacked([array[place] for place in indices], array)


def _stacked(items: Any, array: Any) -> Any:
    """Return elements as one tensor; those that were never written are zeros."""
    if any(item is None for item in items):
        like = next(item for item in array if item is not None)
        items = [torch.zeros_like(like) if item is None else item for item in items]
    return torch.stack(items)


@source_of(*_versions("Scatter"))
def scatter_source(node: Node, array: Any, indices: Any, value: Any, flow: Any) -> Call:
    function = _put_all if _has_gradients(node) else _scatter
    return node.call(function, array, Text(indices.listed), value, flow)


def _put_all(array: Any, indices: Any, value: Any, flow: Any) -> Any:
    for place, item in zip(indices, value.unbind(0)):
        array.put(place, item)
    return flow


def _scatter(array: Any, indices: Any, value: Any, flow: Any) -> Any:
    for place, item in zip(indices, value.unbind(0)):
        array.extend([None] * (place + 1 - len(array)))
        array[place] = item
    return flow


@source_of(*_versions("Size"))
def size_source(node: Node, array: Any, flow: Any) -> str:
    return f"torch.tensor(len({array}), dtype=torch.int32, device=self.device)"


@source_of(*_versions("Concat"))
def concat_source(node: Node, array: Any, flow: Any) -> list[Any]:
    items = f"[{array}.get(i) for i in range(len({array}))]" if _has_gradients(node) else array
    lengths = f"torch.tensor([len(item) for item in {items}], device=self.device)"
    return [f"torch.cat({items})", lengths]


@source_of(*_versions("Split"))
def split_source(node: Node, array: Any, value: Any, lengths: Any, flow: Any) -> Call:
    return node.call(_split_all if _has_gradients(node) else _split, array, value, lengths, flow)


def _split_all(array: Any, value: Any, lengths: Any, flow: Any) -> Any:
    for place, item in enumerate(torch.split(value, lengths.tolist())):
        array.put(place, item)
    return flow


def _split(array: Any, value: Any, lengths: Any, flow: Any) -> Any:
    array[:] = torch.split(value, lengths.tolist())
    return flow
