"""Tensor arrays as lists of Python."""

from __future__ import annotations

from typing import Any

from stillflow.graph.lazy import torch
from stillflow.graph.node import Call, Node
from stillflow.ops.torch_sources.parts import Text, source_of


def _versions(name: str) -> list[str]:
    """Return the operations of all versions of tensor arrays."""
    return [f"TensorArray{name}{version}" for version in ("", "V2", "V3")]


@source_of(*_versions(""))
def tensor_array_source(node: Node, size: Any) -> list[Any] | str:
    text = f"[None] * {size.number or f'int({size})'}"
    return [text, "torch.zeros(())"] if len(node.outputs) == 2 else text


@source_of("TensorArrayPack")
def pack_source(node: Node, array: Any, flow: Any) -> str:
    return f"torch.stack({array})"


@source_of("TensorArrayUnpack")
def unpack_source(node: Node, array: Any, value: Any, flow: Any) -> Call:
    return node.call(_unpack, array, value, flow)


def _unpack(array: Any, value: Any, flow: Any) -> Any:
    array[:] = value.unbind(0)
    return flow


@source_of(*_versions("Write"))
def write_source(node: Node, array: Any, index: Any, value: Any, flow: Any) -> Call:
    return node.call(_write, array, index, value, flow)


def _write(array: Any, index: Any, value: Any, flow: Any) -> Any:
    place = int(index)
    array.extend([None] * (place + 1 - len(array)))
    array[place] = value
    return flow


@source_of(*_versions("Read"))
def read_source(node: Node, array: Any, index: Any, flow: Any) -> str:
    return f"{array}[{index.number or f'int({index})'}]"


@source_of(*_versions("Gather"))
def gather_source(node: Node, array: Any, indices: Any, flow: Any) -> Call:
    return node.call(_gather, array, Text(indices.listed))


def _gather(array: Any, indices: Any) -> Any:
    return torch.stack([array[place] for place in indices])


@source_of(*_versions("Scatter"))
def scatter_source(node: Node, array: Any, indices: Any, value: Any, flow: Any) -> Call:
    return node.call(_scatter, array, Text(indices.listed), value, flow)


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
    lengths = f"torch.tensor([len(item) for item in {array}], device=self.device)"
    return [f"torch.cat({array})", lengths]


@source_of(*_versions("Split"))
def split_source(node: Node, array: Any, value: Any, lengths: Any, flow: Any) -> Call:
    return node.call(_split, array, value, lengths, flow)


def _split(array: Any, value: Any, lengths: Any, flow: Any) -> Any:
    array[:] = torch.split(value, lengths.tolist())
    return flow
