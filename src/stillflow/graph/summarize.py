"""Values of tensors as TF's messages print them: `[1 2][3 4]...`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

# Bytes that C would escape in a string literal.
_ESCAPES = {9: "\\t", 10: "\\n", 13: "\\r", 34: '\\"', 39: "\\'", 92: "\\\\"}


def escape(text: bytes) -> str:
    """Return a byte string as the body of a C string literal."""
    return "".join(
        _ESCAPES.get(byte) or (chr(byte) if 32 <= byte < 127 else f"\\{byte:03o}") for byte in text
    )


def _float(short: int, long: int, kind: Any) -> Callable[[Any], str]:
    """Return the shorter of two precisions if it gives the number back, else the longer."""

    def text(value: Any) -> str:
        brief = f"{float(value):.{short}g}"
        return brief if kind(brief) == value else f"{float(value):.{long}g}"

    return text


def _printer(array: Any) -> Callable[[Any], str] | None:
    """Return the function that prints one element; None for types printed as question marks."""
    kind = array.dtype.kind
    if kind == "O" or kind == "S":
        return _object
    if kind == "b":
        return lambda value: str(int(value))
    if kind in "iu":
        return str
    if kind == "f":
        return _float(15, 17, float) if array.dtype.itemsize == 8 else _float(6, 9, np.float32)
    if kind == "V" and array.dtype.names:
        return lambda value: str(int(value[0]))  # quantized
    return None


def summarize(array: Any, max_entries: int, v2: bool = False) -> str:
    """Return the value of an array in one line, or in `tf.print`'s form, if `v2`.

    In the latter `max_entries` count at either end of each dimension; all are shown if negative.
    """
    count = array.size
    if max_entries < 0:
        max_entries = count
    limit = min(max_entries, count)
    element = _printer(array)
    if element is None:
        text = " ".join("?" * limit) + ("..." if max_entries < count else "")
        return f"[{text}]" if v2 else text
    if v2 and element is _object:
        element = _quoted
    if not array.ndim:
        return element(array[()]) if limit else "..."
    if v2:
        return _block(array, limit, element, 0, array.ndim)
    parts: list[str] = []
    _row(array, limit, element, 0, parts, [0])
    return "".join(parts) + ("..." if count > limit else "")


def _object(value: Any) -> str:
    """Return a string, or a variant, which tells itself how it is printed."""
    return escape(value) if isinstance(value, bytes) else str(value)


def _quoted(value: Any) -> str:
    return f'"{_object(value)}"'


def _row(
    array: Any, limit: int, element: Callable[[Any], str], depth: int, parts: list[str],
    printed: list[int],
) -> None:  # fmt: skip
    if printed[0] >= limit:
        return
    if array.ndim == 1:
        for index, item in enumerate(array):
            if printed[0] >= limit:
                if depth:
                    parts.append("...")
                return
            parts.append((" " if index else "") + element(item))
            printed[0] += 1
        return
    for row in array:
        inside = printed[0] < limit
        if inside:
            parts.append("[")
        _row(row, limit, element, depth + 1, parts, printed)
        if printed[0] < limit or inside:
            parts.append("]")


def _block(array: Any, ends: int, element: Callable[[Any], str], depth: int, rank: int) -> str:
    """Return the first and last elements of each dimension, rows on lines of their own."""
    if depth == rank:
        return element(array[()] if isinstance(array, np.ndarray) else array)
    between = " "
    if depth < rank - 1:
        between = "\n" * (rank - depth - 1) + " " * (depth + 1)
    size = len(array)
    shown = [*range(min(ends, size))]
    rest = [*range(max(ends, size - ends), size)]
    texts = [_block(array[index], ends, element, depth + 1, rank) for index in shown]
    if size > 2 * ends:
        texts.append("...")
    texts += [_block(array[index], ends, element, depth + 1, rank) for index in rest]
    text = between.join(texts)
    if not shown and texts:
        text = between + text
    return f"[{text}]"
