"""The assertions of `tf.compat.v2.debugging`, whose arguments differ from those of TF 1."""

from __future__ import annotations

from typing import Any

from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.ops.debugging import comparisons, numerics, ranks, types
from stillflow.util.newer_arguments import handed_on

_PAIR = "x, y, message=None, summarize=None, name=None"
_ONE = "x, message=None, summarize=None, name=None"
assert_equal = export("compat.v2.assert_equal", "compat.v2.debugging.assert_equal")(
    handed_on(_PAIR, comparisons, "assert_equal")
)


assert_greater = export("compat.v2.assert_greater", "compat.v2.debugging.assert_greater")(
    handed_on(_PAIR, comparisons, "assert_greater")
)


assert_less = export("compat.v2.assert_less", "compat.v2.debugging.assert_less")(
    handed_on(_PAIR, comparisons, "assert_less")
)


assert_greater_equal = export("compat.v2.debugging.assert_greater_equal")(
    handed_on(_PAIR, comparisons, "assert_greater_equal")
)


assert_less_equal = export("compat.v2.debugging.assert_less_equal")(
    handed_on(_PAIR, comparisons, "assert_less_equal")
)


assert_none_equal = export("compat.v2.debugging.assert_none_equal")(
    handed_on("x, y, summarize=None, message=None, name=None", comparisons, "assert_none_equal")
)


assert_near = export("compat.v2.debugging.assert_near")(
    handed_on(
        "x, y, rtol=None, atol=None, message=None, summarize=None, name=None",
        comparisons,
        "assert_near",
    )
)


assert_negative = export("compat.v2.debugging.assert_negative")(
    handed_on(_ONE, comparisons, "assert_negative")
)


assert_positive = export("compat.v2.debugging.assert_positive")(
    handed_on(_ONE, comparisons, "assert_positive")
)


assert_non_negative = export("compat.v2.debugging.assert_non_negative")(
    handed_on(_ONE, comparisons, "assert_non_negative")
)


assert_non_positive = export("compat.v2.debugging.assert_non_positive")(
    handed_on(_ONE, comparisons, "assert_non_positive")
)


assert_rank = export("compat.v2.assert_rank", "compat.v2.debugging.assert_rank")(
    handed_on("x, rank, message=None, name=None", ranks, "assert_rank")
)


assert_rank_at_least = export("compat.v2.debugging.assert_rank_at_least")(
    handed_on("x, rank, message=None, name=None", ranks, "assert_rank_at_least")
)


assert_rank_in = export("compat.v2.debugging.assert_rank_in")(
    handed_on("x, ranks, message=None, name=None", ranks, "assert_rank_in")
)


assert_shapes = export("compat.v2.debugging.assert_shapes")(
    handed_on("shapes, data=None, summarize=None, message=None, name=None", ranks, "assert_shapes")
)


@export("compat.v2.debugging.assert_all_finite")
def assert_all_finite(x: Any, message: Any, name: str | None = None) -> Tensor:
    """See `tf.debugging.assert_all_finite`."""
    checked: Tensor = numerics.verify_tensor_all_finite(x=x, message=message, name=name)
    return checked


@export("compat.v2.debugging.assert_integer")
def assert_integer(x: Any, message: str | None = None, name: str | None = None) -> None:
    """See `tf.debugging.assert_integer`; gives nothing."""
    types.assert_integer(x, message=message, name=name)


@export("compat.v2.debugging.assert_type")
def assert_type(
    tensor: Any, tf_type: Any, message: str | None = None, name: str | None = None
) -> None:
    """See `tf.debugging.assert_type`; gives nothing."""
    types.assert_type(tensor, tf_type, message=message, name=name)


@export("compat.v2.debugging.assert_scalar")
def assert_scalar(tensor: Any, message: str | None = None, name: str | None = None) -> None:
    """See `tf.debugging.assert_scalar`; gives nothing."""
    ranks.assert_scalar(tensor, message=message, name=name)
