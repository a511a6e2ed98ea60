"""Comparisons that are checked when they are called, and their error messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stillflow import errors

# How much of each tensor is shown if nothing is said.
_SHOWN = 3


def check_now(
    symbol: str,
    x: Any,
    y: Any,
    holds: Any,
    data: Any,
    summarize: int | None,
    message: str | None,
) -> None:
    """Raise InvalidArgumentError for tensors whose values fail the comparison.

    `data` is printed instead of the tensors, `summarize` elements of each, after `message`.
    """
    if np.all(holds.numpy()):
        return
    shown = _SHOWN if summarize is None else summarize
    if shown < 0:
        shown = int(1e9)
    if data is None:
        data = _differences(symbol, x, y, ~holds.numpy(), shown)
    parts = data if message is None else [message, *data]
    raise errors.invalid_argument("\n".join(_text(part, shown) for part in parts))


def _differences(symbol: str, x: Any, y: Any, wrong: Any, shown: int) -> Sequence[Any]:
    parts: list[Any] = [f"Condition x {symbol} y did not hold."]
    if shown <= 0:
        return parts
    one, other = x.numpy(), y.numpy()
    if x.shape == y.shape and x.shape.as_list():
        places = np.argwhere(wrong)[:shown]
        parts += [
            f"Indices of first {len(places)} different values:", places,
            "Corresponding x values:", one[wrong][:shown],
            "Corresponding y values:", other[wrong][:shown],
        ]  # fmt: skip
    for name, array in (("x", np.ravel(one)), ("y", np.ravel(other))):
        first = array[:shown]
        parts += [f"First {len(first)} elements of {name}:", first]
    return parts


def _text(part: Any, shown: int) -> str:
    if not hasattr(part, "holds_value"):
        return str(part)
    value = part.numpy()
    if np.ndim(value) == 0:
        return str(value)
    first = [str(item) for item in value.ravel()[:shown]]
    return str(first if len(first) == value.size else [*first, "..."])
