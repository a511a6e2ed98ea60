"""Debug ops of TensorFlow 1.15: summaries of watched tensors."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np

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
    numbers = value.astype(np.float64).ravel()
    nan = np.isnan(numbers)
    low, high = numbers <= lower_bound, numbers >= upper_bound
    if mute_if_healthy and not (nan | low | high).any():
        return None
    between = numbers[~(nan | low | high)]
    finite = numbers[np.isfinite(numbers)]
    moments = [np.inf, -np.inf, np.nan, np.nan]
    if finite.size:
        moments = [finite.min(), finite.max(), finite.mean(), finite.var()]
    counts = [
        numbers.size, nan.sum(), low.sum(), (between < 0).sum(), (between == 0).sum(),
        (between > 0).sum(), high.sum(),
    ]  # fmt: skip
    kind = dtypes.as_dtype(value.dtype).as_datatype_enum
    return np.array([1, *counts, *moments, kind, value.ndim, *value.shape], np.float64)


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
