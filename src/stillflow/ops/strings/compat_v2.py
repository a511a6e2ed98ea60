"""The functions of `tf.compat.v2.strings` whose arguments differ from those of `tf.strings`."""

from __future__ import annotations

from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.ops.strings import elementwise, joining, parts
from stillflow.ops.strings import numbers as text_numbers
from stillflow.util.newer_arguments import handed_on

string_length = export("compat.v2.strings.length")(
    handed_on('input, unit="BYTE", name=None', elementwise, "string_length")
)


substr = export("compat.v2.strings.substr")(
    handed_on('input, pos, len, unit="BYTE", name=None', parts, "substr")
)


reduce_join = export("compat.v2.strings.reduce_join")(
    handed_on('inputs, axis=None, keepdims=False, separator="", name=None', joining, "reduce_join")
)


@export("compat.v2.strings.to_hash_bucket")
def string_to_hash_bucket(input: Any, num_buckets: int, name: str | None = None) -> Tensor:
    """See `tf.strings.to_hash_bucket`."""
    return elementwise.string_to_hash_bucket(input, num_buckets, name)


@export("compat.v2.strings.to_number")
def string_to_number(input: Any, out_type: Any = dtypes.float32, name: str | None = None) -> Tensor:
    """See `tf.strings.to_number`."""
    return text_numbers.string_to_number(input, out_type, name)
