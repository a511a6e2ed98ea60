"""tf.compat: text and bytes, kinds of numbers, and the forward compatibility date."""

from __future__ import annotations

import collections.abc as collections_abc
import contextlib
import datetime
import numbers
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from stillflow._export import export, export_value

__all__ = [
    "as_bytes",
    "as_str",
    "as_str_any",
    "as_text",
    "bytes_or_text_types",
    "collections_abc",
    "complex_types",
    "forward_compatibility_horizon",
    "forward_compatible",
    "integral_types",
    "path_to_str",
    "real_types",
]

_HORIZON = datetime.date(2019, 8, 21)  # that of TensorFlow 1.15
_DELTA_DAYS = "TF_FORWARD_COMPATIBILITY_DELTA_DAYS"

integral_types = export_value("compat.integral_types", (numbers.Integral, np.integer))
real_types = export_value("compat.real_types", (numbers.Real, np.integer, np.floating))
complex_types = export_value("compat.complex_types", (numbers.Complex, np.number))
bytes_or_text_types = export_value("compat.bytes_or_text_types", (bytes, str))


@export("compat.as_bytes")
def as_bytes(bytes_or_text: bytes | bytearray | str, encoding: str = "utf-8") -> bytes:
    """Return text or bytes as bytes.

    Args:
      bytes_or_text: `str`, `bytes` or `bytearray`.
      encoding: how to encode text.

    Raises:
      TypeError: it is something else.
    """
    if isinstance(bytes_or_text, str):
        return bytes_or_text.encode(encoding)
    if isinstance(bytes_or_text, (bytes, bytearray)):
        return bytes(bytes_or_text)
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


@export("compat.as_text", "compat.as_str")
def as_text(bytes_or_text: bytes | str, encoding: str = "utf-8") -> str:
    """Return text or bytes as text.

    Args:
      bytes_or_text: `str` or `bytes`.
      encoding: how to decode bytes.

    Raises:
      TypeError: it is something else.
    """
    if isinstance(bytes_or_text, str):
        return bytes_or_text
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text.decode(encoding)
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


as_str = as_text


@export("compat.as_str_any")
def as_str_any(value: Any) -> str:
    """Return anything as text: bytes decoded, all else by `str()`."""
    return as_text(value) if isinstance(value, bytes) else str(value)


@export("compat.path_to_str")
def path_to_str(path: Any) -> Any:
    """Return a `PathLike` object as text, anything else as it is."""
    return as_str_any(path.__fspath__()) if hasattr(path, "__fspath__") else path


def _horizon() -> datetime.date:
    days = os.getenv(_DELTA_DAYS)
    return _HORIZON + datetime.timedelta(days=int(days)) if days else _HORIZON


_overridden: datetime.date | None = None
_default = _horizon()


def _order(year: int, month: int, day: int) -> int:
    """Return a number that orders dates, even such as do not exist."""
    return (year << 9) | (month << 5) | day


@export("compat.forward_compatible")
def forward_compatible(year: int, month: int, day: int) -> bool:
    """Return whether a TensorFlow from before a date need not read our graphs any more."""
    horizon = _overridden or _default
    return _order(horizon.year, horizon.month, horizon.day) > _order(year, month, day)


@export("compat.forward_compatibility_horizon")
@contextlib.contextmanager
def forward_compatibility_horizon(year: int, month: int, day: int) -> Iterator[None]:
    """Within this context `forward_compatible` compares with another date."""
    global _overridden, _default
    try:
        _overridden = datetime.date(year, month, day)
        yield
    finally:
        _overridden = None
        _default = _horizon()
