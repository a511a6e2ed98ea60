"""The functions of `tf.compat.v2.math` whose arguments differ from those of `tf.math`."""

from __future__ import annotations

from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.ops.math import argmax as positions
from stillflow.ops.math import binary, counting, reductions
from stillflow.util.newer_arguments import handed_on

_REDUCTION = "input_tensor, axis=None, keepdims=False, name=None"
reduce_sum = export("compat.v2.reduce_sum", "compat.v2.math.reduce_sum")(
    handed_on(_REDUCTION, reductions, "reduce_sum")
)


reduce_prod = export("compat.v2.reduce_prod", "compat.v2.math.reduce_prod")(
    handed_on(_REDUCTION, reductions, "reduce_prod")
)


reduce_max = export("compat.v2.reduce_max", "compat.v2.math.reduce_max")(
    handed_on(_REDUCTION, reductions, "reduce_max")
)


reduce_min = export("compat.v2.reduce_min", "compat.v2.math.reduce_min")(
    handed_on(_REDUCTION, reductions, "reduce_min")
)


reduce_mean = export("compat.v2.reduce_mean", "compat.v2.math.reduce_mean")(
    handed_on(_REDUCTION, reductions, "reduce_mean")
)


reduce_all = export("compat.v2.reduce_all", "compat.v2.math.reduce_all")(
    handed_on(_REDUCTION, reductions, "reduce_all")
)


reduce_any = export("compat.v2.reduce_any", "compat.v2.math.reduce_any")(
    handed_on(_REDUCTION, reductions, "reduce_any")
)


reduce_logsumexp = export("compat.v2.reduce_logsumexp", "compat.v2.math.reduce_logsumexp")(
    handed_on(_REDUCTION, reductions, "reduce_logsumexp")
)


argmax = export("compat.v2.argmax", "compat.v2.math.argmax")(
    handed_on(
        "input, axis=None, output_type=..., name=None",
        positions,
        "argmax",
        output_type=dtypes.int64,
    )
)


argmin = export("compat.v2.argmin", "compat.v2.math.argmin")(
    handed_on(
        "input, axis=None, output_type=..., name=None",
        positions,
        "argmin",
        output_type=dtypes.int64,
    )
)


@export("compat.v2.math.count_nonzero")
def count_nonzero(
    input: Any,
    axis: Any = None,
    keepdims: Any = None,
    dtype: Any = dtypes.int64,
    name: str | None = None,
) -> Tensor:
    """See `tf.math.count_nonzero`."""
    return reductions.count_nonzero(input, axis, bool(keepdims), dtype, name)


scalar_mul = export("compat.v2.scalar_mul", "compat.v2.math.scalar_mul")(
    handed_on("scalar, x, name=None", binary, "scalar_mul")
)


@export("compat.v2.math.bincount")
def bincount(
    arr: Any,
    weights: Any = None,
    minlength: Any = None,
    maxlength: Any = None,
    dtype: Any = dtypes.int32,
    name: str | None = None,
) -> Tensor:
    """See `tf.math.bincount`.

    Args:
      name: of the scope.
    """
    counts: Tensor = counting.named_bincount(arr, weights, minlength, maxlength, dtype, name)
    return counts
