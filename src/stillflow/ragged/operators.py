"""The Python operators of ragged tensors: those of the functions of the same meaning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.ops.math import binary, comparison, division, unary
from stillflow.ragged.tensor import RaggedTensor

# Operator without underscores -> the function of two tensors; also of the reflected operator.
_BINARY = {
    "add": binary.add,
    "and": comparison.logical_and,
    "div": division.div,
    "floordiv": division.floordiv,
    "mod": division.floormod,
    "mul": binary.multiply,
    "or": comparison.logical_or,
    "pow": binary.pow,
    "sub": binary.subtract,
    "truediv": division.truediv,
    "xor": comparison.logical_xor,
}
_OTHERS = {
    "abs": unary.abs,
    "ge": comparison.greater_equal,
    "gt": comparison.greater,
    "invert": comparison.logical_not,
    "le": comparison.less_equal,
    "lt": comparison.less,
    "neg": unary.negative,
}


def _reflected(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda y, x: function(x, y)


def _reject_bool(x: RaggedTensor) -> bool:
    raise TypeError("RaggedTensor may not be used as a boolean.")


def attach() -> None:
    """Attach the operators of ragged tensors."""
    for operator, function in {**_BINARY, **_OTHERS}.items():
        setattr(RaggedTensor, f"__{operator}__", function)
    for operator, function in _BINARY.items():
        setattr(RaggedTensor, f"__r{operator}__", _reflected(function))
    for name in ("__bool__", "__nonzero__"):
        setattr(RaggedTensor, name, _reject_bool)
