"""Normalization of quantized images."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.graph import dims, dtypes
from stillflow.graph.card import op
from stillflow.graph.dtypes import DType
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.graph.traits import Cost
from stillflow.ops.quantization import scales
from stillflow.ops.quantization.arithmetic import to_result
from stillflow.ops.quantization.linear import floats, quantized, scalars
from stillflow.ops.quantization.scales import QUANTIZED, Range, number, quantize_number, scalar
from stillflow.ops.samples import Bad, Sample, Samples

quantized_batch_norm_with_global_normalization_op = op(
    f"""
    QuantizedBatchNormWithGlobalNormalization(
        t: Tinput, t_min: float, t_max: float, m: Tinput, m_min: float, m_max: float,
        v: Tinput, v_min: float, v_max: float, beta: Tinput, beta_min: float, beta_max: float,
        gamma: Tinput, gamma_min: float, gamma_max: float
    ) -> (result: out_type, result_min: float, result_max: float)
    Tinput: {QUANTIZED}
    out_type: {QUANTIZED}
    variance_epsilon: float
    scale_after_normalization: bool
""",
    devices="host",
    cost=Cost("unknown"),
)


@quantized_batch_norm_with_global_normalization_op.shape
def quantized_batch_norm_with_global_normalization_shape(node: Node) -> OutputDims:
    image = dims.with_rank(node.dims(0), 4)
    depth = image[3]
    for index in (3, 6, 9, 12):
        (size,) = dims.with_rank(node.dims(index), 1)
        depth = dims.merge_dim(depth, size)
    return [(*image[:3], depth), (), ()]


def _ranged(values: Any, low: Any, high: Any, dtype: DType) -> tuple[Any, Range]:
    return values, Range(number(low), number(high), dtype)


def _numbers_of(values: Any, given: Range) -> np.ndarray:
    """Real numbers, each computed by itself as TF does."""
    reals = scales.dequantize_number(values.numpy().astype(np.int64), *given)
    return np.broadcast_to(reals, values.shape)


def _normalize(
    inputs: Any, source: DType, target: DType, epsilon: np.float32, scaled: bool
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Normalize in integers of the result's range, where 2 ** 11 means one (32 bits)."""
    (image, given), *vectors = [
        _ranged(*inputs[i : i + 3], source)  # type: ignore[call-arg]
        for i in range(0, 15, 3)
    ]
    mean, variance, beta, gamma = [_numbers_of(*vector) for vector in vectors]
    total = Range(np.float32(-(1 << 20)), np.float32(1 << 20), target)
    scale = np.float32(1) / np.sqrt(variance + epsilon)
    if scaled:
        scale = scale * gamma
    offset = -mean * scale + beta
    factors, offsets = (
        torch.from_numpy(scales.quantize_numbers(vector, *total)).to(image.device)
        for vector in (scale, offset)
    )
    one = quantize_number(1.0, *total)
    real = _requantized(image, given, total)
    products = (real * factors).to(torch.int32).to(torch.int64)  # 32-bit products wrap
    result = torch.div(products, one, rounding_mode="trunc").add_(offsets)
    like = inputs[1]
    return to_result(result, target), scalar(total.low, like), scalar(total.high, like)


def _requantized(image: Any, given: Range, total: Range) -> torch.Tensor:
    """Move integers of few bits to another range, each by itself: one look-up for each."""
    lowest, _, steps = scales.levels(given.dtype)
    if steps > 1 << 16:
        return scales.requantize(image, given, total).to(torch.int64)
    reals = scales.dequantize_number(np.arange(lowest, lowest + steps), *given)
    table = scales.quantize_numbers(np.broadcast_to(reals, steps), *total)
    return torch.from_numpy(table).to(image.device)[image.to(torch.int64) - lowest]


@quantized_batch_norm_with_global_normalization_op.kernel
def quantized_batch_norm_with_global_normalization_kernel(node: Node) -> Kernel:
    how = node.Tinput, node.out_type, np.float32(node.variance_epsilon)
    scaled = node.scale_after_normalization
    return lambda *inputs: _normalize(inputs, *how, scaled)


@quantized_batch_norm_with_global_normalization_op.samples
def quantized_batch_norm_with_global_normalization_samples() -> Samples:
    image, vector = quantized(dtypes.quint8, 2, 2, 3, 3), quantized(dtypes.quint8, 5)[1:4]
    args = [image, *floats(-3, 8), vector, *floats(-1, 1), vector, *floats(0.1, 3)]
    args += [vector, *floats(-2, 2), vector, *floats(-1, 4)]
    attrs: dict[str, Any] = {"variance_epsilon": 0.01, "out_type": dtypes.qint32}
    for scaled in (True, False):
        yield Sample(*args, scale_after_normalization=scaled, **attrs)
    attrs["scale_after_normalization"] = True
    yield Bad(image[0], *args[1:], **attrs, match="must be rank 4|must be 4-dimensional")
    args[3] = vector[1:]
    yield Bad(*args, **attrs, match="must be equal|Incompatible")


quantized_instance_norm_op = op(
    f"""
    QuantizedInstanceNorm(x: T, x_min: float, x_max: float) -> (y: T, y_min: float, y_max: float)
    T: {QUANTIZED}
    output_range_given: bool = false
    given_y_min: float = 0
    given_y_max: float = 0
    variance_epsilon: float = 9.9999997e-06
    min_separation: float = 0.001
""",
    devices="host",
    cost=Cost("unknown"),
)


@quantized_instance_norm_op.shape
def quantized_instance_norm_shape(node: Node) -> OutputDims:
    dims.with_rank(node.dims(0), 4)
    scalars(node, 1, 2)
    return [node.dims(0), (), ()]


def _instance_norm(
    image: Any, low: Any, high: Any, wanted: Any, epsilon: float, apart: np.float32, dtype: DType
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    first, last = number(low), number(high)
    if not first < last:
        raise ValueError(f"input_min must be less than input_max : {first:g} >= {last:g}")
    _, _, steps = scales.levels(dtype)
    unit = float((last - first) / np.float32(steps - 1))
    values = image.to(torch.float32)
    centred = (values - values.mean((1, 2), keepdim=True)).mul_(unit)
    variance = centred.square().mean((1, 2), keepdim=True)
    normal = centred.mul_(variance.add_(epsilon).rsqrt_())
    start, end = wanted or (np.float32(bound.item()) for bound in normal.aminmax())
    if end - start < apart:
        end = start + apart
    result = scales.quantize(normal, start, end, dtype)
    return result, scalar(start, low), scalar(end, low)


@quantized_instance_norm_op.kernel
def quantized_instance_norm_kernel(node: Node) -> Kernel:
    wanted = None
    if node.output_range_given:
        wanted = np.float32(node.given_y_min), np.float32(node.given_y_max)
        if not wanted[0] < wanted[1]:
            raise ValueError(
                f"given_y_min must be less than given_y_max : {wanted[0]:g} >= {wanted[1]:g}"
            )
    apart = np.float32(node.min_separation)
    return node.call(_instance_norm, *node.inputs, wanted, node.variance_epsilon, apart, node.T)


@quantized_instance_norm_op.samples
def quantized_instance_norm_samples() -> Samples:
    image = quantized(dtypes.quint8, 2, 3, 4, 2)
    yield Sample(image, *floats(-3.3, 8.1))
    given: dict[str, Any] = {"output_range_given": True, "given_y_min": -1.5, "given_y_max": 2.0}
    yield Sample(image, *floats(0, 1), **given)
    yield Sample(image[:1, :1, :1], *floats(0, 1))
    given["given_y_max"] = -1.5
    yield Bad(image, *floats(0, 1), **given, match="given_y_min must be less than given_y_max")
    yield Bad(image, *floats(1, 1), match="input_min must be less than input_max : 1 >= 1")
    yield Bad(image[0], *floats(0, 1), match="must be rank 4")
