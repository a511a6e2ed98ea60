"""Real numbers to quantized ones and back: QuantizeV2 and Dequantize."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.graph import dims, dtypes
from stillflow.graph.card import op
from stillflow.graph.dtypes import DType
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.quantization import scales
from stillflow.ops.quantization.scales import QUANTIZED, levels, number, scalar
from stillflow.ops.samples import Bad, Sample, Samples

_SIGNED = (dtypes.qint8, dtypes.qint16, dtypes.qint32)


def scalars(node: Node, *indices: int) -> None:
    """Require inputs to be scalars; ValueError for others."""
    for index in indices:
        dims.with_rank(node.dims(index), 0)


def single_numbers(node: Node, *indices: int) -> None:
    """Raise ValueError unless inputs are scalars; kernels take one element of any rank."""
    for index in indices:
        shape = node.dims(index)
        if not (node.planning and dims.is_known(shape) and dims.num_elements(shape) == 1):
            dims.with_rank(shape, 0)


quantize_v2_op = op(
    f"""
    QuantizeV2(input: float, min_range: float, max_range: float)
        -> (output: T, output_min: float, output_max: float)
    T: {QUANTIZED}
    mode: {{"MIN_COMBINED", "MIN_FIRST", "SCALED"}} = "MIN_COMBINED"
    round_mode: {{"HALF_AWAY_FROM_ZERO", "HALF_TO_EVEN"}} = "HALF_AWAY_FROM_ZERO"
    """,
    devices="host",
)


@quantize_v2_op.shape
def quantize_v2_shape(node: Node) -> OutputDims:
    scalars(node, 1, 2)
    return [node.dims(0), (), ()]


def _clip(values: Any, low: Any, high: Any) -> torch.Tensor:
    return values.clamp(float(low), float(high))


def _combined(
    values: Any, low: Any, high: Any, dtype: DType, to_even: bool
) -> tuple[torch.Tensor, np.float32, np.float32]:
    """Spreads the range over all integers."""
    lowest, highest, steps = levels(dtype)
    scale = np.float32((highest - lowest) / float(high - low))
    spread = _clip(values, low, high).sub_(float(low)).mul_(float(scale))
    if dtype not in _SIGNED:
        return spread.add_(0.5), low, high
    return scales.round_half_away_(spread.sub_(steps / 2)), low, high


def _scaled(
    values: Any, low: Any, high: Any, dtype: DType, to_even: bool
) -> tuple[torch.Tensor, np.float32, np.float32]:
    """Keep zero at zero; the end that needs the coarser scale decides."""
    lowest, highest, _ = levels(dtype)
    first, last = np.float32(lowest), np.float32(highest)
    by_low = first / low if first * low > 0 else scales.FLOAT_MAX
    by_high = last / high if last * high > 0 else scales.FLOAT_MAX
    scale = min(by_low, by_high)
    low, high = first / scale, last / scale
    scaled = _clip(values, low, high).mul_(float(scale))
    rounded = scaled.round_() if to_even else scales.round_half_away_(scaled)
    return rounded, low, high


def _minimum_first(
    values: Any, low: Any, high: Any, dtype: DType, to_even: bool
) -> tuple[torch.Tensor, np.float32, np.float32]:
    return scales.quantize(values, low, high, dtype), low, high


_MODES = {b"MIN_COMBINED": _combined, b"SCALED": _scaled, b"MIN_FIRST": _minimum_first}


def _quantize(
    values: Any, low: Any, high: Any, mode: Any, dtype: DType, to_even: bool
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    given_low, given_high = number(low), number(high)
    if given_high < given_low:
        raise ValueError("input_max_range must be larger than input_min_range.")
    zero = np.float32(0)
    start = min(zero, given_low)
    # Ends that are too close together would make all integers stand for the same number.
    apart = max(np.float32(1), abs(given_low), abs(given_high)) / np.float32(100)
    end = max(zero, max(given_high, start + apart))
    integers, start, end = mode(values, start, end, dtype, to_even)
    if integers.is_floating_point():
        integers = scales.to_integers(integers, dtype)
    return integers, scalar(start, low), scalar(end, high)


@quantize_v2_op.kernel
def quantize_v2_kernel(node: Node) -> Kernel:
    to_even = node.round_mode == b"HALF_TO_EVEN"
    if to_even and node.mode != b"SCALED":
        raise ValueError(
            "Round mode 'HALF_TO_EVEN' only supported for mode 'SCALED', but mode is "
            f"'{node.mode.decode()}'."
        )
    return node.call(_quantize, *node.inputs, _MODES[node.mode], node.T, to_even)


def _real() -> np.ndarray:
    return np.array([-1.3, -0.5, 0, 0.25, 1, 1.25, 1.75, 127, 255, 500], np.float32)


@quantize_v2_op.samples
def quantize_v2_samples() -> Samples:
    ends = (np.float32(-2), np.float32(255))
    for dtype in (dtypes.quint8, dtypes.qint8, dtypes.qint16, dtypes.quint16, dtypes.qint32):
        for mode in ("MIN_COMBINED", "MIN_FIRST", "SCALED"):
            yield Sample(_real(), *ends, T=dtype, mode=mode)
        yield Sample(_real(), *ends, T=dtype, mode="SCALED", round_mode="HALF_TO_EVEN")
    yield Sample(_real(), np.float32(1), np.float32(1), T=dtypes.quint8)
    yield Sample(_real().reshape(2, 5), np.float32(0), np.float32(0), T=dtypes.qint8)
    low, high = np.float32(1), np.float32(0)
    yield Bad(_real(), low, high, T=dtypes.qint8, match="must be larger than input_min_range")
    even = {"mode": "MIN_FIRST", "round_mode": "HALF_TO_EVEN", "T": dtypes.qint8}
    yield Bad(_real(), *ends, **even, match="only supported for mode 'SCALED', but mode is 'MIN_F")
    yield Bad(_real(), _real(), high, T=dtypes.qint8, match="must be rank 0")


dequantize_op = op(
    f"""
    Dequantize(input: T, min_range: float, max_range: float) -> output: float
    T: {QUANTIZED}
    mode: {{"MIN_COMBINED", "MIN_FIRST", "SCALED"}} = "MIN_COMBINED"
    """,
    devices="host",
)


@dequantize_op.shape
def dequantize_shape(node: Node) -> OutputDims:
    scalars(node, 1, 2)
    return node.dims(0)


def _from_combined(values: Any, low: Any, high: Any, dtype: DType) -> torch.Tensor:
    lowest, highest, steps = levels(dtype)
    scale = (high - low) / (np.float32(highest) - np.float32(lowest))
    real = values.to(torch.float32)
    if dtype in _SIGNED:
        real = real.add_(steps / 2)
    return real.mul_(float(scale)).add_(float(low))


def _from_scaled(values: Any, low: Any, high: Any, dtype: DType) -> torch.Tensor:
    lowest, highest, _ = levels(dtype)
    scale = high / np.float32(highest)
    if lowest:
        scale = max(low / np.float32(lowest), scale)
    return values.to(torch.float32).mul_(float(scale))


_FROM = {b"MIN_COMBINED": _from_combined, b"SCALED": _from_scaled, b"MIN_FIRST": scales.dequantize}


def _dequantize(values: Any, low: Any, high: Any, mode: Any, dtype: DType) -> torch.Tensor:
    return mode(values, number(low), number(high), dtype)


@dequantize_op.kernel
def dequantize_kernel(node: Node) -> Kernel:
    return node.call(_dequantize, *node.inputs, _FROM[node.mode], node.T)


def quantized(dtype: DType, *shape: int) -> np.ndarray:
    """Integers of a quantized type that take in both ends, for samples."""
    lowest, highest, _ = levels(dtype)
    count = int(np.prod(shape))
    spread = np.linspace(lowest, highest, count).round().astype(np.int64)
    kind = dtype.as_numpy_dtype
    return spread.astype(kind[0]).view(kind).reshape(shape)


def floats(*values: float) -> list[np.float32]:
    """Single-precision scalars, for samples."""
    return [np.float32(value) for value in values]


@dequantize_op.samples
def dequantize_samples() -> Samples:
    for dtype in (dtypes.quint8, dtypes.qint8, dtypes.qint16, dtypes.quint16, dtypes.qint32):
        for mode in ("MIN_COMBINED", "MIN_FIRST", "SCALED"):
            # TF loses the sign of the greatest 32-bit integers when it scales them.
            values = quantized(dtype, 3, 4)[:, :3]
            yield Sample(values, np.float32(-3.1), np.float32(5.9), mode=mode)
    same = np.float32(2)
    yield Sample(quantized(dtypes.qint8, 5), same, same, mode="MIN_FIRST")
    yield Bad(quantized(dtypes.qint8, 5), same, _real(), match="must be rank 0")


@export("quantization.quantize", "quantize")
def quantize(
    input: Any,
    min_range: Any,
    max_range: Any,
    T: Any,
    mode: str = "MIN_COMBINED",
    round_mode: str = "HALF_AWAY_FROM_ZERO",
    name: str | None = None,
) -> Any:
    """Quantizes real numbers.

    Args:
      input: float32 tensor.
      min_range, max_range: scalars, ends of the range.
      T: qint8, quint8, qint16, quint16 or qint32.
      mode: "MIN_COMBINED" and "MIN_FIRST" spread the range over all integers, the latter rounding
        the minimum too; "SCALED" keeps zero at zero.
      round_mode: "HALF_AWAY_FROM_ZERO", or "HALF_TO_EVEN" (mode "SCALED" only).

    Returns:
      The integers, and the ends of the range that was used.
    """
    return quantize_v2_op(
        input, min_range, max_range, T=T, mode=mode, round_mode=round_mode, name=name
    )


@export("quantize_v2")
def quantize_v2(
    input: Any,
    min_range: Any,
    max_range: Any,
    T: Any,
    mode: str = "MIN_COMBINED",
    name: str | None = None,
    round_mode: str = "HALF_AWAY_FROM_ZERO",
) -> Any:
    """Quantize; deprecated form of `quantize`."""
    return quantize(input, min_range, max_range, T, mode, round_mode, name)


@export("quantization.dequantize", "dequantize")
def dequantize(
    input: Any,
    min_range: Any,
    max_range: Any,
    mode: str = "MIN_COMBINED",
    name: str | None = None,
) -> Tensor:
    """Return the real numbers that quantized ones stand for; see `quantize`."""
    return dequantize_op(input, min_range, max_range, mode=mode, name=name)
