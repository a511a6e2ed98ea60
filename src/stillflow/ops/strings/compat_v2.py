"""The functions of `tf.compat.v2.strings` whose arguments differ from those of `tf.strings`."""

from __future__ import annotations

from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.export import export
from stillflow.graph.lazy import LazyModule
from stillflow.graph.operation import Tensor

# By path, since public functions of the packages hide modules of their names.
elementwise: Any = LazyModule("stillflow.ops.strings.elementwise")
parts: Any = LazyModule("stillflow.ops.strings.parts")
joining: Any = LazyModule("stillflow.ops.strings.joining")
text_numbers: Any = LazyModule("stillflow.ops.strings.numbers")


@export("compat.v2.strings.length")
def string_length(input: Any, unit: str = "BYTE", name: str | None = None) -> Tensor:
    """See `tf.strings.length`."""
    return elementwise.string_length(input, name, unit)  # type: ignore[no-any-return]


@export("compat.v2.strings.substr")
def substr(input: Any, pos: Any, len: Any, unit: str = "BYTE", name: str | None = None) -> Tensor:
    """See `tf.strings.substr`."""
    return parts.substr(input, pos, len, name, unit)  # type: ignore[no-any-return]


@export("compat.v2.strings.reduce_join")
def reduce_join(
    inputs: Any,
    axis: Any = None,
    keepdims: bool = False,
    separator: str = "",
    name: str | None = None,
) -> Tensor:
    """See `tf.strings.reduce_join`."""
    return joining.reduce_join(inputs, axis, keepdims=keepdims, separator=separator, name=name)  # type: ignore[no-any-return]


@export("compat.v2.strings.to_hash_bucket")
def string_to_hash_bucket(input: Any, num_buckets: int, name: str | None = None) -> Tensor:
    """See `tf.strings.to_hash_bucket`."""
    return elementwise.string_to_hash_bucket(input, num_buckets, name)  # type: ignore[no-any-return]


@export("compat.v2.strings.to_number")
def string_to_number(input: Any, out_type: Any = dtypes.float32, name: str | None = None) -> Tensor:
    """See `tf.strings.to_number`."""
    return text_numbers.string_to_number(input, out_type, name)  # type: ignore[no-any-return]
