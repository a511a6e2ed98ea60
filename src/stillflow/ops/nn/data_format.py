"""Between the orders NHWC and NCHW: DataFormatDimMap, DataFormatVecPermute."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.graph import dims
from stillflow.graph.card import op
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.samples import Bad, Sample, Samples

_ATTRS = """
    T: {int32, int64} = int32
    src_format: string = "NHWC"
    dst_format: string = "NCHW"
"""


def _formats(node: Node) -> tuple[str, str]:
    """Both formats, which must have the same four or five letters."""
    source, target = node.src_format.decode(), node.dst_format.decode()
    for what, short, text in (("Source", "src", source), ("Destination", "dst", target)):
        if len(text) not in (4, 5):
            raise ValueError(
                f"{what} format must be of length 4 or 5, received {short}_format = {text}"
            )
    if sorted(source) != sorted(target) or len(set(source)) != len(source):
        raise ValueError(
            f"Destination and source format must determine a permutation, got {source} and {target}"
        )
    return source, target


data_format_dim_map_op = op(f"DataFormatDimMap(x: T) -> y: T\n{_ATTRS}", differentiable=False)


@data_format_dim_map_op.shape
def data_format_dim_map_shape(node: Node) -> OutputDims:
    return node.dims(0)


def _map(x: Any, places: tuple[int, ...]) -> torch.Tensor:
    table = torch.tensor(places, dtype=x.dtype, device=x.device)
    return table[x.long().remainder(len(places))]


@data_format_dim_map_op.kernel
def data_format_dim_map_kernel(node: Node) -> Kernel:
    source, target = _formats(node)
    return node.call(_map, node.inputs[0], tuple(target.index(letter) for letter in source))


@data_format_dim_map_op.samples
def data_format_dim_map_samples() -> Samples:
    yield Sample(np.array([0, 1, 2, 3, -1, 6], np.int32), grad=False)
    yield Sample(np.array([[1], [-4]], np.int32), src_format="NCHW", dst_format="NHWC", grad=False)


data_format_vec_permute_op = op(
    f"DataFormatVecPermute(x: T) -> y: T\n{_ATTRS}", differentiable=False
)


@data_format_vec_permute_op.shape
def data_format_vec_permute_shape(node: Node) -> OutputDims:
    return node.dims(0)


@data_format_vec_permute_op.check
def data_format_vec_permute_check(node: Node) -> None:
    found = node.dims(0)
    if not (node.planning and dims.is_known(found)):
        return
    _formats(node)
    assert found is not None
    shown = dims.to_string(found)
    if len(found) not in (1, 2):
        raise ValueError(f"input must be a vector or 2D tensor, but got shape {shown}")
    count = len(node.src_format)
    if len(found) == 1 and found[0] != count:
        raise ValueError(f"1D input must be of size {count}, but got shape {shown}")
    if len(found) == 2 and found[0] != count:
        raise ValueError(
            f"First dimension of 2D input must be of size {count}, but got shape {shown}"
        )
    if len(found) == 2 and found[1] != 2:
        raise ValueError(f"Second dimension of 2D input must be of size 2, but got shape {shown}")


def _permute(x: Any, places: tuple[int, ...]) -> torch.Tensor:
    return x[list(places)]


@data_format_vec_permute_op.kernel
def data_format_vec_permute_kernel(node: Node) -> Kernel:
    source, target = _formats(node)
    return node.call(_permute, node.inputs[0], tuple(source.index(letter) for letter in target))


@data_format_vec_permute_op.samples
def data_format_vec_permute_samples() -> Samples:
    yield Sample(np.array([7, 4, 9, 3], np.int32), grad=False)
    yield Sample(
        np.array([[7, 4], [9, 3], [4, 5], [5, 1]], np.int32), dst_format="HWNC", grad=False
    )
    yield Bad(np.array([1, 2, 3], np.int32), match="1D input must be of size 4")
