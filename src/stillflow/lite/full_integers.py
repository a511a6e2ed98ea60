"""Whole models in integers of 8 bits: ranges are measured, and everything is stored in them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

import stillflow as tf
from stillflow.lite.draft import Draft, Step
from stillflow.lite.model_tensors import Array, Quantization, whole
from stillflow.lite.schema import read_model
from stillflow.lite.translation import Subgraph
from stillflow.lite.weights import symmetric

Ranges = dict[str, tuple[np.float32, np.float32]]

_LEAST, _GREATEST = -128, 127


class _Manner(NamedTuple):
    """Integer form of an operator.

    Attributes:
      version: of the operator that does.
      inputs: those that are real values; None for all.
      has_output: whether its first output is a real value.
      axis: the dimension of its weights, its second input, that has a scale for each index.
      has_bias: whether its third input is a bias.
      keeps_scale: whether it only moves values.
      fixed: scale and zero point of its output, where these are always the same.
    """

    version: int
    inputs: tuple[int, ...] | None = (0,)
    has_output: bool = True
    axis: int | None = None
    has_bias: bool = False
    keeps_scale: bool = False
    fixed: tuple[float, int] | None = None


_BINARY = _Manner(2, inputs=(0, 1))
_MOVING = _Manner(2, keeps_scale=True)
_JOINING = _Manner(2, inputs=None, keeps_scale=True)

_MANNERS = {
    "ADD": _BINARY, "MUL": _BINARY, "SUB": _BINARY, "MEAN": _Manner(2),
    "AVERAGE_POOL_2D": _MOVING, "BATCH_TO_SPACE_ND": _MOVING, "GATHER": _MOVING,
    "MAX_POOL_2D": _MOVING, "PAD": _MOVING, "RESIZE_BILINEAR": _MOVING, "SLICE": _MOVING,
    "SPACE_TO_BATCH_ND": _MOVING, "SPACE_TO_DEPTH": _MOVING, "TRANSPOSE": _MOVING,
    "RESHAPE": _Manner(1, keeps_scale=True), "SQUEEZE": _Manner(1, keeps_scale=True),
    "CONCATENATION": _JOINING, "MAXIMUM": _JOINING, "MINIMUM": _JOINING,
    "ARG_MAX": _Manner(2, has_output=False),
    "CONV_2D": _Manner(3, inputs=(0, 1), axis=0, has_bias=True),
    "DEPTHWISE_CONV_2D": _Manner(3, inputs=(0, 1), axis=3, has_bias=True),
    "FULLY_CONNECTED": _Manner(4, inputs=(0, 1), has_bias=True),
    "LOGISTIC": _Manner(2, fixed=(1 / 256, -128)), "SOFTMAX": _Manner(2, fixed=(1 / 256, -128)),
    "TANH": _Manner(2, fixed=(1 / 128, 0)),
}  # fmt: skip


def measure(draft: Draft, samples: Iterable[Any]) -> Ranges:
    """Return the bounds of a model's real values for samples, lists with an array per input."""
    graph = Subgraph(read_model(draft.content()))
    ranges: Ranges = {}
    with tf.Graph().as_default(), tf.Session() as session:
        values = graph.build({})
        fetched = {
            graph.tensors[index].name: value
            for index, value in values.items()
            if isinstance(value, tf.Tensor) and value.dtype == tf.float32
        }
        inputs = [values[index] for index in graph.inputs]
        for sample in samples:
            if len(sample) != len(inputs):
                raise ValueError(f"A sample has {len(sample)} values for {len(inputs)} inputs")
            for name, value in session.run(fetched, dict(zip(inputs, sample))).items():
                low, high = ranges.get(name, (np.float32(np.inf), np.float32(-np.inf)))
                ranges[name] = (min(low, value.min()), max(high, value.max()))
    return ranges


def quantize(
    draft: Draft, ranges: Ranges, keeps_reals: bool, input_type: Any, output_type: Any
) -> None:
    """Make a model compute in integers; `ranges` are the bounds of its values.

    Operators that cannot do so compute with reals if `keeps_reals`; else RuntimeError, as for a
    value without bounds. The types, float32, int8 or uint8, are of feeds and fetches.
    """
    for step in draft.steps:  # inputs first: a reader of one then knows that it holds integers
        manner = _MANNERS.get(step.kind)
        for name in _reals(step, manner) if manner is not None else ():
            if name in draft.inputs and name not in draft.quantizations:
                _mark(draft, name, _activation(ranges, name, step))
    for step in list(draft.steps):
        manner = _MANNERS.get(step.kind)
        if manner is not None:
            _quantize_step(draft, step, manner, ranges)
        elif keeps_reals:
            for name in dict.fromkeys(step.inputs):
                if name in draft.quantizations:
                    _convert(draft, step, name, f"{name}_float", "DEQUANTIZE", None)
        else:
            raise RuntimeError(f"Quantization not yet supported for op: {step.kind}")
    for step in list(draft.steps):
        manner = _MANNERS.get(step.kind)
        if manner is not None:
            _finish_step(draft, step, manner)
    for name in list(draft.inputs):
        _set_end(draft, name, np.dtype(input_type), draft.inputs)
    for name in list(draft.outputs):
        _set_end(draft, name, np.dtype(output_type), draft.outputs)


def _asymmetric(bounds: tuple[np.float32, np.float32]) -> Quantization:
    low, high = min(bounds[0], np.float32(0)), max(bounds[1], np.float32(0))
    scale = (high - low) / np.float32(_GREATEST - _LEAST)
    zero_point = np.float32(_LEAST) - low / scale if scale else np.float32(_LEAST)
    zero_point = np.clip(whole(zero_point), _LEAST, _GREATEST)
    return Quantization(np.array([scale], np.float32), int(zero_point), 0)


def _activation(ranges: Ranges, name: str, step: Step) -> Quantization:
    if name not in ranges:
        raise RuntimeError(f"Unable to find min/max value for {name} in {step.kind}")
    return _asymmetric(ranges[name])


def _reals(step: Step, manner: _Manner) -> list[str]:
    """Return the inputs of an operator that hold real values."""
    return step.inputs if manner.inputs is None else [step.inputs[i] for i in manner.inputs]


def _quantize_step(draft: Draft, step: Step, manner: _Manner, ranges: Ranges) -> None:
    for name in _reals(step, manner):
        if name in draft.quantizations:
            continue
        if name in draft.constants:
            axis = manner.axis if name == step.inputs[1] else None
            draft.constants[name], draft.quantizations[name] = symmetric(
                draft.constants[name], axis
            )
        else:
            found = _activation(ranges, name, step)
            _convert(draft, step, name, f"{name}_int8", "QUANTIZE", found)
    output = step.outputs[0]
    if not manner.has_output:
        return
    if manner.fixed is not None:
        scale, zero_point = manner.fixed
        _mark(draft, output, Quantization(np.array([scale], np.float32), zero_point, 0))
    elif manner.keeps_scale and manner.inputs is not None:
        _mark(draft, output, draft.quantizations[step.inputs[0]])
    else:
        _mark(draft, output, _activation(ranges, output, step))


def _mark(draft: Draft, name: str, quantization: Quantization) -> None:
    draft.quantizations[name], draft.dtypes[name] = quantization, np.dtype(np.int8)


def _convert(
    draft: Draft, step: Step, name: str, new: str, kind: str, quantization: Quantization | None
) -> None:
    """Put a step before another, which then read a value in another form."""
    new = draft.declare(draft.free_name(new), draft.shape(name), np.float32)
    if quantization is not None:
        _mark(draft, new, quantization)
    version = 2 if kind == "DEQUANTIZE" else 1
    draft.steps.insert(draft.steps.index(step), Step(kind, [name], [new], version=version))
    step.inputs = [new if source == name else source for source in step.inputs]


def _finish_step(draft: Draft, step: Step, manner: _Manner) -> None:
    """Give concatenated inputs one scale, and a bias that of the products it is added to."""
    step.version = manner.version
    if manner.keeps_scale and manner.inputs is None:
        wanted = draft.quantizations[step.outputs[0]]
        for name in dict.fromkeys(step.inputs):
            found = draft.quantizations[name]
            if (found.scale, found.zero_point) != (wanted.scale, wanted.zero_point):
                _convert(draft, step, name, f"{name}_requantized", "QUANTIZE", wanted)
    bias = draft.constants.get(step.inputs[2]) if manner.has_bias else None
    if bias is not None and bias.dtype == np.float32:
        x, weights = (draft.quantizations[name] for name in step.inputs[:2])
        scales = x.scale * weights.scales
        factors = np.where(scales == 0, 0, 1.0 / np.where(scales == 0, 1, scales))
        name = draft.constant(step.inputs[2], _words(bias * factors.astype(np.float32)))
        step.inputs[2] = name
        draft.quantizations[name] = Quantization(scales.astype(np.float32), 0, 0)


def _words(values: Array) -> Array:
    limit = np.iinfo(np.int32).max
    return np.clip(whole(values).astype(np.float64), -limit, limit).astype(np.int32)


def _set_end(draft: Draft, name: str, dtype: np.dtype[Any], ends: list[str]) -> None:
    """Make an integer input or output be fed or fetched as another type."""
    found = draft.quantizations.get(name)
    if dtype == np.int8 or found is None:
        if found is None and dtype != np.float32:
            raise RuntimeError(f"Unsupported type {dtype} for tensor {name} of reals")
        return
    inner = draft.free_name(f"{name}_int8")
    draft.rename(name, inner)
    draft.declare(name, draft.shapes[inner], dtype)
    if dtype == np.uint8:
        draft.quantizations[name] = found._replace(zero_point=found.zero_point + 128)
    ends[ends.index(inner)] = name
    if ends is draft.inputs:
        draft.steps.insert(0, Step("QUANTIZE", [name], [inner]))
    elif dtype == np.uint8:
        draft.steps.append(Step("QUANTIZE", [inner], [name]))
    else:
        draft.steps.append(Step("DEQUANTIZE", [inner], [name], version=2))
