"""Graph transforms of large constants: rounded, or stored as integers of 8 bits."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.graph import dtypes
from stillflow.protos import NodeDef
from stillflow.tools.graph_transforms.context import Context, transforms
from stillflow.tools.graph_transforms.nodes import CONST, Match, constant, replaced, value_of

_LEAST_ROUNDED = 16  # elements; smaller ones do not make a file smaller
_STEPS = 256
# TensorFlow's initial value of the search for the largest value.
_SMALLEST = np.finfo(np.float32).tiny


def _range(values: np.ndarray[Any, Any]) -> tuple[np.float32, np.float32]:
    return values.min(), np.maximum(values.max(), _SMALLEST)


@transforms("round_weights")
def round_weights(graph_def: Any, context: Context) -> Any:
    """Round constants to a number of values, which compress better."""
    steps = context.number("num_steps", _STEPS)

    def replace(match: Match, read: Any) -> list[Any]:
        values = value_of(match.node)
        if values.dtype != np.float32 or values.size < _LEAST_ROUNDED:
            return [match.node]
        low, high = _range(values)
        if low == high:
            if abs(low) < 1e-6:
                high = low + np.float32(1)
            elif low > 0:
                high = np.float32(2) * low
            else:
                low = np.float32(2) * high
        width = (high - low) / np.float32(steps)
        buckets = np.floor((values - low) / width).astype(np.int32).astype(np.float32)
        return [constant(match.node.name, low + width * (buckets + np.float32(0.5)))]

    return replaced(graph_def, CONST, replace)


@transforms("quantize_weights")
def quantize_weights(graph_def: Any, context: Context) -> Any:
    """Store constants as bytes between two bounds, from which the graph makes reals again."""
    least = context.number("minimum_size", 1024)

    def replace(match: Match, read: Any) -> list[Any]:
        values = value_of(match.node)
        if values.dtype != np.float32 or values.size < least:
            return [match.node]
        low, high = _range(values)
        low, high = min(low, np.float32(0)), max(high, np.float32(0))
        if low == high:
            high = low + np.float32(1) if abs(low) < 1e-6 else low / np.float32(2)
        return _dequantized(match.node.name, values, low, high)

    return replaced(graph_def, CONST, replace)


def _dequantized(
    name: str, values: np.ndarray[Any, Any], low: np.float32, high: np.float32
) -> list[Any]:
    span = np.float64(high - low) * (_STEPS / (_STEPS - 1.0))
    scale = _STEPS / span
    steps = _rounded(values * scale) - _rounded(low * scale)
    quantized = np.clip(steps, 0, _STEPS - 1).astype(np.uint8)
    parts = [
        constant(f"{name}_quantized_const", quantized, dtypes.quint8),
        constant(f"{name}_quantized_min", low),
        constant(f"{name}_quantized_max", high),
    ]
    node = NodeDef(op="Dequantize", name=name, input=[part.name for part in parts])
    node.attr["T"].type = dtypes.quint8.as_datatype_enum
    node.attr["mode"].s = b"MIN_FIRST"
    return [*parts, node]


def _rounded(values: Any) -> Any:
    return np.copysign(np.floor(np.abs(values) + 0.5), values)
