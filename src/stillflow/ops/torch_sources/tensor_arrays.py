"""Tensor arrays as lists of Python."""

from __future__ import annotations

from typing import Any

from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.ops.torch_sources.parts import Text, source_of


@source_of("TensorArrayV3")
def tensor_array_source(node: Node, size: Any) -> Any:
    count = size.number or f"int({size})"
    return [f"[None] * {count}", "torch.zeros(())"]


@source_of("TensorArrayWriteV3")
def write_source(node: Node, array: Any, index: Any, value: Any, flow: Any) -> Any:
    return node.call(_write, array, index, value, flow)


def _write(array: Any, index: Any, value: Any, flow: Any) -> Any:
    place = int(index)
    array.extend([None] * (place + 1 - len(array)))
    array[place] = value
    return flow


@source_of("TensorArrayReadV3")
def read_source(node: Node, array: Any, index: Any, flow: Any) -> Any:
    return f"{array}[{index.number or f'int({index})'}]"


@source_of("TensorArrayGatherV3")
def gather_source(node: Node, array: Any, indices: Any, flow: Any) -> Any:
    return node.call(_gather, array, Text(indices.listed))


def _gather(array: Any, indices: Any) -> Any:
    return torch.stack([array[place] for place in indices])


@source_of("TensorArrayScatterV3")
def scatter_source(node: Node, array: Any, indices: Any, value: Any, flow: Any) -> Any:
    return node.call(_scatter, array, Text(indices.listed), value, flow)


def _scatter(array: Any, indices: Any, value: Any, flow: Any) -> Any:
    for place, item in zip(indices, value.unbind(0)):
        array.extend([None] * (place + 1 - len(array)))
        array[place] = item
    return flow


@source_of("TensorArraySizeV3")
def size_source(node: Node, array: Any, flow: Any) -> Any:
    return f"torch.tensor(len({array}), dtype=torch.int32, device=self.device)"


@source_of("TensorArrayConcatV3")
def concat_source(node: Node, array: Any, flow: Any) -> Any:
    lengths = f"torch.tensor([len(item) for item in {array}], device=self.device)"
    return [f"torch.cat({array})", lengths]


@source_of("TensorArraySplitV3")
def split_source(node: Node, array: Any, value: Any, lengths: Any, flow: Any) -> Any:
    return node.call(_split, array, value, lengths, flow)


def _split(array: Any, value: Any, lengths: Any, flow: Any) -> Any:
    array[:] = torch.split(value, lengths.tolist())
    return flow
