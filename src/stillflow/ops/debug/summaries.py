"""Debug ops of TensorFlow 1.15: summaries of watched tensors."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from stillflow import native
from stillflow.graph import dtypes


def identity(value: np.ndarray) -> np.ndarray:
    """DebugIdentity: the value itself."""
    return value


def nan_count(value: np.ndarray) -> np.ndarray | None:
    """Count NaN elements for DebugNanCount; None for types without NaN."""
    if value.dtype.kind not in "biufc":
        return None
    return np.array([np.isnan(value).sum() if value.dtype.kind in "fc" else 0], np.int64)


def numeric_summary(
    value: np.ndarray,
    lower_bound: float = -np.inf,
    upper_bound: float = np.inf,
    mute_if_healthy: bool = False,
) -> np.ndarray | None:
    """DebugNumericSummary: counts and moments of the elements.

    Args:
      value: the tensor.
      lower_bound: at and below this, elements count as minus infinity.
      upper_bound: at and above this, they count as infinity.
      mute_if_healthy: gives None if there is neither NaN nor what counts as infinite.

    Returns:
      float64: whether there is a value; how many elements there are, are NaN, minus infinity,
      negative, zero, positive, infinity; their minimum, maximum, mean, variance, NaN and infinities
      aside; the dtype's number, the rank, and the shape. None of what is no real number.
    """
    if value.dtype.kind not in "biuf":
        return None
    numbers = np.ascontiguousarray(value if value.dtype == np.float32 else value.astype(np.float64))
    found = np.empty(10)
    if (library := native.library()) is None:
        found[:] = _counts_and_moments(numbers.astype(np.float64).ravel(), lower_bound, upper_bound)
    else:
        library.summarize_numbers(
            numbers.ctypes.data, numbers.dtype == np.float64, numbers.size,
            lower_bound, upper_bound, found.ctypes.data,
        )  # fmt: skip
    if mute_if_healthy and not found[[0, 1, 5]].any():
        return None
    kind = dtypes.as_dtype(value.dtype).as_datatype_enum
    return np.array([1, value.size, *found, kind, value.ndim, *value.shape], np.float64)


def _counts_and_moments(numbers: np.ndarray, lower: float, upper: float) -> list[Any]:
    """Return what `numeric_summary` does from the count of NaN to the variance."""
    nan, low, high = np.isnan(numbers), numbers <= lower, numbers >= upper
    between = numbers[~(nan | low | high)]
    signs = [(between < 0).sum(), (between == 0).sum(), (between > 0).sum()]
    finite = numbers[np.isfinite(numbers)]
    moments = [np.inf, -np.inf, np.nan, np.nan]
    if finite.size:  # sums of one number after the other, as in TensorFlow
        mean = np.cumsum(finite)[-1] / finite.size
        variance = np.cumsum((finite - mean) ** 2)[-1] / finite.size
        moments = [finite.min(), finite.max(), mean, variance]
    return [nan.sum(), low.sum(), *signs, high.sum(), *moments]


DEBUG_OPS: dict[str, Callable[..., np.ndarray | None]] = {
    "DebugIdentity": identity, "DebugNanCount": nan_count, "DebugNumericSummary": numeric_summary,
}  # fmt: skip


def parse(debug_op: str) -> tuple[str, dict[str, Any]]:
    """Return a debug op as named in a watch: `Name` or `Name(key=value; key=value)`."""
    match = re.fullmatch(r"\s*(\w+)\s*(?:\((.*)\))?\s*", debug_op)
    if match is None or match[1] not in DEBUG_OPS:
        raise ValueError(f"there is no debug op {debug_op}")
    attributes = {}
    for part in filter(str.strip, (match[2] or "").split(";")):
        key, _, text = (piece.strip() for piece in part.partition("="))
        if match[1] != "DebugNumericSummary" or key not in numeric_summary.__annotations__:
            raise ValueError(f"debug op {match[1]} has no attribute {key}")
        attributes[key] = text.lower() in ("true", "1") if key == "mute_if_healthy" else float(text)
    return match[1], attributes
