"""Dropout: sets elements to zero at random."""

from __future__ import annotations

import numbers
from typing import Any

from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.static_value import static_value
from stillflow.graph.tensor_shape import TensorShape, as_shape
from stillflow.ops.arrays.shape import shape
from stillflow.ops.math.cast import cast
from stillflow.ops.random.basic import random_uniform
from stillflow.platform import tf_logging
from stillflow.util.renamed import renamed_argument


def _noise_shape(x: Tensor, noise_shape: Any) -> Any:
    """Return the shape of the random choices: None elements are those of x."""
    if noise_shape is None:
        return shape(x)
    try:
        given = as_shape(noise_shape)
    except (TypeError, ValueError):
        return noise_shape
    if x._dims is not None and given._dims is not None and len(x._dims) == len(given._dims):
        return TensorShape([a if b is None else b for a, b in zip(x._dims, given._dims)])
    return noise_shape


@export("nn.dropout")
def dropout(
    x: Any,
    keep_prob: Any = None,
    noise_shape: Any = None,
    seed: int | None = None,
    name: str | None = None,
    rate: Any = None,
) -> Tensor:
    """Set elements of `x` to zero with probability `rate` and scales up the others.

    Args:
      x: floating-point.
      keep_prob: the old way to say `1 - rate`.
      noise_shape: the shape of the random choices, which are broadcast over `x`.
      rate: a number in [0, 1), or a scalar tensor.

    Raises:
      ValueError: if the rate is missing, given twice or out of range, or `x` is not
        floating-point.

    Example:
      >>> kept = tf.Session().run(tf.nn.dropout(tf.ones([1000]), rate=0.75))
      >>> sorted(set(kept.tolist()))
      [0.0, 4.0]
    """
    dropped = None
    if keep_prob is not None:
        try:
            dropped = 1.0 - keep_prob
        except TypeError:
            message = "keep_prob must be a floating point number or Tensor"
            raise ValueError(f"{message} (got {keep_prob!r})") from None
    share = renamed_argument("rate", rate, "keep_prob", dropped)
    if share is None:
        raise ValueError("You must provide a rate to dropout.")
    return dropout_v2(x, share, noise_shape, seed, name)


@export("compat.v2.nn.dropout")
def dropout_v2(
    x: Any, rate: Any, noise_shape: Any = None, seed: int | None = None, name: str | None = None
) -> Tensor:
    """`dropout` by its rate alone."""
    with name_scope(name, "dropout", [x]):
        x = convert_to_tensor(x, name="x")
        if not x.dtype.is_floating:
            raise ValueError(
                "x has to be a floating point tensor since it's going to be scaled. Got a "
                f"{x.dtype} tensor instead."
            )
        if isinstance(rate, numbers.Real):
            _check_rate(rate)
            if rate == 0:
                return x
        rate = convert_to_tensor(rate, dtype=x.dtype, name="rate")
        rate.shape.assert_has_rank(0)
        known = static_value(rate)
        if known is not None and known == 0:
            return x
        noise = random_uniform(_noise_shape(x, noise_shape), seed=seed, dtype=x.dtype)
        scale = 1 / (1 - rate)
        kept = noise >= rate
        result = x * scale * cast(kept, x.dtype)
        result.set_shape(x.shape)
        return result


def _check_rate(rate: Any) -> None:
    if not 0 <= rate < 1:
        raise ValueError(
            f"rate must be a scalar tensor or a float in the range [0, 1), got {rate:g}"
        )
    if rate > 0.5:
        tf_logging.log_first_n(
            tf_logging.WARN,
            "Large dropout rate: %g (>0.5). In TensorFlow 2.x, dropout() uses dropout rate instead "
            "of keep_prob. Please ensure that this is intended.",
            5,
            rate,
        )
