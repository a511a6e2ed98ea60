"""Quantizing and back in one op: QuantizeAndDequantize and its versions."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.graph.card import op
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients, Kernel, OutputDims
from stillflow.ops.quantization.linear import single_numbers
from stillflow.ops.samples import Bad, Sample, Samples

_TYPES = "T: {bfloat16, half, float, double}"


def _check_bits(num_bits: int, signed: bool) -> None:
    if not 0 < num_bits < (62 if signed else 63):
        raise ValueError(f"num_bits is out of range: {num_bits} with signed_input_ {int(signed)}")


def _check_range(low: float, high: float) -> None:
    if not low <= high:
        raise ValueError(f"Invalid range: input_min {low:g} > input_max {high:g}")


def _scales(low: Any, high: Any, lowest: int, highest: int) -> tuple[Any, Any, Any, Any]:
    """Return the end that needs the coarser scale decides: (scale, its inverse, low, high)."""
    number = type(low)
    greatest = number(np.finfo(number).max)
    first, last = number(lowest), number(highest)
    with np.errstate(all="ignore"):
        by_low = first / low if first * low > 0 else greatest
        by_high = last / high if last * high > 0 else greatest
        if by_low < by_high:
            inverse = low / first
            return by_low, inverse, low, last * inverse
        inverse = high / last
        return by_high, inverse, first * inverse, high


def _round_half_up_(values: Any) -> torch.Tensor:
    return values.add_(0.5).floor_()


def _round_trip(
    values: Any,
    low: Any,
    high: Any,
    num_bits: int,
    signed: bool,
    narrow: bool = False,
    half_up: bool = False,
) -> torch.Tensor:
    """Quantizes and dequantizes; a range of None is that of the values."""
    number = np.float64 if values.dtype == torch.float64 else np.float32
    half = values.dtype in (torch.float16, torch.bfloat16)
    work = values.float() if half else values
    given = low is not None
    if not given:
        if not values.numel():
            return values.clone()
        low, high = (bound.item() for bound in work.aminmax())
    lowest = (-(1 << (num_bits - 1)) + int(narrow)) if signed else 0
    highest = (1 << (num_bits - 1)) - 1 if signed else (1 << num_bits) - 1
    scale, inverse, low, high = _scales(number(low), number(high), lowest, highest)
    if given:  # the ends may have changed places; then the lower one wins, unlike in clamp
        work = work.clamp(max=float(high)).clamp_(min=float(low))
    scaled = work * float(scale)
    rounded = _round_half_up_(scaled) if half_up else scaled.round_()
    return rounded.mul_(float(inverse)).to(values.dtype)


def _bound(value: Any) -> float:
    return value.reshape(-1)[0].item()


def _sample_values() -> np.ndarray:
    return np.array([-1, -0.5, 0, 0.3, 0.8, 0.555, 0.5, -1.7], np.float32).reshape(2, 4)


# --- attributes say the range ---------------------------------------------------------------

quantize_and_dequantize_op = op(f"""
    QuantizeAndDequantize(input: T) -> output: T
    signed_input: bool = true
    num_bits: int = 8
    range_given: bool = false
    input_min: float = 0
    input_max: float = 0
    {_TYPES}
""")


@quantize_and_dequantize_op.shape
def quantize_and_dequantize_shape(node: Node) -> OutputDims:
    return node.dims(0)


@quantize_and_dequantize_op.kernel
def quantize_and_dequantize_kernel(node: Node) -> Kernel:
    _check_bits(node.num_bits, node.signed_input)
    low = high = None
    if node.range_given:
        low, high = node.input_min, node.input_max
        _check_range(low, high)
    return node.call(_round_trip, node.inputs[0], low, high, node.num_bits, node.signed_input)


@quantize_and_dequantize_op.gradient
def quantize_and_dequantize_gradient(node: Node, grad: Tensor) -> Gradients:
    return grad


@quantize_and_dequantize_op.samples
def quantize_and_dequantize_samples() -> Samples:
    yield Sample(_sample_values(), grad=False)
    yield Sample(_sample_values(), signed_input=False, grad=False)
    yield Sample(
        _sample_values(), num_bits=4, range_given=True, input_min=-1.5, input_max=0.5, grad=False
    )
    given = {"range_given": True, "input_min": 1.0, "input_max": 0.0}
    yield Bad(_sample_values(), **given, match="Invalid range: input_min 1 > input_max 0")
    yield Bad(_sample_values(), num_bits=62, match="num_bits is out of range: 62 with signed_inp")


# --- tensors say the range ------------------------------------------------------------------

quantize_and_dequantize_v2_op = op(f"""
    QuantizeAndDequantizeV2(input: T, input_min: T, input_max: T) -> output: T
    signed_input: bool = true
    num_bits: int = 8
    range_given: bool = false
    {_TYPES}
    round_mode: {{"HALF_TO_EVEN", "HALF_UP"}} = "HALF_TO_EVEN"
    narrow_range: bool = false
""")


def _scalar_ends(node: Node) -> tuple[int | None, ...] | None:
    single_numbers(node, *range(1, len(node.inputs)))
    return node.dims(0)


@quantize_and_dequantize_v2_op.shape
def quantize_and_dequantize_v2_shape(node: Node) -> OutputDims:
    return _scalar_ends(node)


def _with_range(values: Any, low: Any, high: Any, given: bool, *how: Any) -> torch.Tensor:
    if not given:
        return _round_trip(values, None, None, *how)
    low, high = _bound(low), _bound(high)
    _check_range(low, high)
    return _round_trip(values, low, high, *how)


@quantize_and_dequantize_v2_op.kernel
def quantize_and_dequantize_v2_kernel(node: Node) -> Kernel:
    _check_bits(node.num_bits, node.signed_input)
    half_up = node.round_mode == b"HALF_UP"
    how = (node.num_bits, node.signed_input, node.narrow_range, half_up)
    return node.call(_with_range, *node.inputs, node.range_given, *how)


@quantize_and_dequantize_v2_op.gradient
def quantize_and_dequantize_v2_gradient(node: Node, grad: Tensor) -> Gradients:
    return [grad, None, None]


def _range_samples(*more: Any, **attrs: Any) -> Samples:
    values = _sample_values()
    for low, high in ((-1.0, 1.0), (-0.2, 0.3), (0.0, 0.6), (-1.5, -0.5)):
        ends = (np.float32(low), np.float32(high))
        yield Sample(values, *ends, *more, range_given=True, grad=False, **attrs)
        yield Sample(
            values, *ends, *more, range_given=True, signed_input=False, grad=False, **attrs
        )
    ends = (np.float32(0), np.float32(0))
    yield Sample(values, *ends, *more, range_given=False, narrow_range=True, grad=False)
    yield Sample(np.abs(values), *ends, *more, range_given=False, grad=False, **attrs)
    ends = (np.float32(1), np.float32(0))
    yield Bad(values, *ends, *more, range_given=True, match="Invalid range: input_min 1 > input_m")
    yield Bad(values, values, ends[0], *more, match="must be rank 0")


@quantize_and_dequantize_v2_op.samples
def quantize_and_dequantize_v2_samples() -> Samples:
    yield from _range_samples()
    for sample in _range_samples(num_bits=3, round_mode="HALF_UP"):
        if isinstance(sample, Sample):
            yield sample
    ends = (np.float32(0), np.float32(1))
    yield Bad(_sample_values(), *ends, num_bits=0, match="num_bits is out of range: 0 with")


# --- a tensor says the number of bits -------------------------------------------------------

quantize_and_dequantize_v3_op = op(
    f"""
    QuantizeAndDequantizeV3(input: T, input_min: T, input_max: T, num_bits: int32) -> output: T
    signed_input: bool = true
    range_given: bool = true
    {_TYPES}
    narrow_range: bool = false
""",
    numbers=("num_bits",),
)


@quantize_and_dequantize_v3_op.shape
def quantize_and_dequantize_v3_shape(node: Node) -> OutputDims:
    return _scalar_ends(node)


def _with_bits(
    values: Any, low: Any, high: Any, num_bits: Any, given: bool, signed: bool, narrow: bool
) -> torch.Tensor:
    bits = int(num_bits)
    _check_bits(bits, signed)
    return _with_range(values, low, high, given, bits, signed, narrow)


@quantize_and_dequantize_v3_op.kernel
def quantize_and_dequantize_v3_kernel(node: Node) -> Kernel:
    how = (node.range_given, node.signed_input, node.narrow_range)
    return node.call(_with_bits, *node.inputs, *how)


@quantize_and_dequantize_v3_op.gradient
def quantize_and_dequantize_v3_gradient(node: Node, grad: Tensor) -> Gradients:
    return [grad, None, None, None]


@quantize_and_dequantize_v3_op.samples
def quantize_and_dequantize_v3_samples() -> Samples:
    yield from _range_samples(np.int32(8))
    ends = (np.float32(0), np.float32(1))
    yield Bad(_sample_values(), *ends, np.int32(0), match="num_bits is out of range: 0 with")


@export("quantization.quantize_and_dequantize")
def quantize_and_dequantize(
    input: Any,
    input_min: Any,
    input_max: Any,
    signed_input: bool = True,
    num_bits: int = 8,
    range_given: bool = False,
    round_mode: str = "HALF_TO_EVEN",
    name: str | None = None,
    narrow_range: bool = False,
) -> Tensor:
    """Quantize and dequantize numbers; gradients pass unchanged.

    Args:
      input: floating-point tensor.
      input_min, input_max: scalars, ends of the range if `range_given`.
      signed_input: whether the integers are signed.
      num_bits: how many bits an integer has.
      range_given: whether the range is given; else it is that of `input`.
      round_mode: "HALF_TO_EVEN" or "HALF_UP".
      narrow_range: whether the lowest signed integer is left out.

    Returns:
      A tensor of the type and shape of `input`.
    """
    return quantize_and_dequantize_v2_op(
        input,
        input_min,
        input_max,
        signed_input=signed_input,
        num_bits=num_bits,
        range_given=range_given,
        round_mode=round_mode,
        narrow_range=narrow_range,
        name=name,
    )
