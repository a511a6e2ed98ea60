"""Joining and reshaping quantized numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.graph import dtypes
from stillflow.graph.card import op
from stillflow.graph.dtypes import DType
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.graph.traits import Cost
from stillflow.ops.arrays.concat import concat_shape, joined_shape
from stillflow.ops.arrays.shape import reshape_shape, resolve_shape
from stillflow.ops.kernels import ints
from stillflow.ops.math.kernels import no_kernel
from stillflow.ops.quantization import scales
from stillflow.ops.quantization.linear import floats, quantized, scalars
from stillflow.ops.quantization.scales import Range, number, scalar
from stillflow.ops.samples import Bad, Sample, Samples

quantized_concat_op = op(
    """
    QuantizedConcat(concat_dim: int32, values: N*T, input_mins: N*float, input_maxes: N*float)
        -> (output: T, output_min: float, output_max: float)
    N: int >= 2
    T: type
""",
    devices="host",
    cost=Cost("unknown"),
)


@quantized_concat_op.shape
def quantized_concat_shape(node: Node) -> OutputDims:
    result = concat_shape(node)
    scalars(node, *range(node.N + 1, len(node.inputs)))
    return [result, (), ()]


def _common_range(lows: Any, highs: Any, dtype: DType) -> Range:
    """Return a range around all ranges and zero; symmetric for signed 32-bit integers."""
    low, high = min(np.float32(0), *lows), max(highs)
    if dtype == dtypes.qint32:
        end = scales.largest(low, high)
        return Range(-end, end, dtype)
    return Range(low, high, dtype)


def _concat(
    axis: Any, count: int, dtype: DType, inputs: Any
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    values = inputs[:count]
    lows = [number(value) for value in inputs[count : 2 * count]]
    highs = [number(value) for value in inputs[2 * count :]]
    chosen = int(axis)
    rank = values[0].dim()
    if not 0 <= chosen < rank:
        raise ValueError(
            f"ConcatOp : Expected concatenating dimensions in the range [0, {rank}), but got "
            f"{chosen}"
        )
    joined_shape([value.shape for value in values], chosen)
    common = _common_range(lows, highs, dtype)
    parts = []
    for value, low, high in zip(values, lows, highs):
        given = Range(low, high, dtype)
        parts.append(value if given == common else _requantize(value, given, common))
    like = inputs[count]
    return torch.cat(parts, chosen), scalar(common.low, like), scalar(common.high, like)


def _requantize(values: Any, given: Range, common: Range) -> torch.Tensor:
    real = scales.dequantize(values, *given)
    return scales.quantize(real, *common)


@quantized_concat_op.kernel
def quantized_concat_kernel(node: Node) -> Kernel:
    count, dtype = node.N, node.T
    if dtype not in (dtypes.quint8, dtypes.qint32):
        raise no_kernel(node)
    return lambda axis, *inputs: _concat(axis, count, dtype, inputs)


@quantized_concat_op.samples
def quantized_concat_samples() -> Samples:
    for kind in (dtypes.quint8, dtypes.qint32):
        parts = [quantized(kind, 2, 3), quantized(kind, 2, 3)]
        yield Sample(1, parts, floats(-1, -1), floats(2, 2), fixed=(0,))
        yield Sample(0, parts, floats(-1, 0.5), floats(2, 3.7), fixed=(0,))
    yield Bad(2, parts, floats(-1, 0.5), floats(2, 3), match="must be at least rank 3|range")
    yield Bad(1, [parts[0], parts[0][:1]], floats(-1, 0), floats(2, 3), match="equal|match")
    yield Bad(
        1, [np.zeros([2, 3], np.int8)] * 2, floats(-1, 0), floats(2, 3), match="No OpKernel was"
    )


quantized_reshape_op = op(
    """
    QuantizedReshape(tensor: T, shape: Tshape, input_min: float, input_max: float)
        -> (output: T, output_min: float, output_max: float)
    T: type
    Tshape: {int32, int64} = int32
    """,
    view=True,
    devices="host",
    cost=Cost("unknown"),
)


@quantized_reshape_op.shape
def quantized_reshape_shape(node: Node) -> OutputDims:
    result = reshape_shape(node)
    scalars(node, 2, 3)
    return [result, (), ()]


def _reshape(
    values: Any, shape: Any, low: Any, high: Any
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    return values.reshape(resolve_shape(values.shape, ints(shape))), low, high


@quantized_reshape_op.kernel
def quantized_reshape_kernel(node: Node) -> Kernel:
    return node.call(_reshape, *node.inputs)


@quantized_reshape_op.samples
def quantized_reshape_samples() -> Samples:
    for kind in (dtypes.quint8, dtypes.qint32):
        yield Sample(quantized(kind, 2, 3), [3, -1], *floats(-1, 2), fixed=(1,))
    yield Bad(quantized(kind, 2, 3), [4, -1], *floats(-1, 2), match="divisible by 4|multiple")


@export("quantization.quantized_concat", "quantized_concat")
def quantized_concat(
    concat_dim: Any, values: Any, input_mins: Any, input_maxes: Any, name: str | None = None
) -> Any:
    """Join quantized tensors along an existing dimension.

    Args:
      concat_dim: scalar int32, which dimension.
      values: quantized tensors of one type.
      input_mins, input_maxes: scalars, the ends of the range of each.

    Returns:
      The joined integers, in a range that takes in all, and the ends of that range.
    """
    return quantized_concat_op(concat_dim, values, input_mins, input_maxes, name=name)
