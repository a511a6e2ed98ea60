"""Batch normalization, by single ops and by the fused one."""

from __future__ import annotations

from typing import Any

from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.ops.constants import constant
from stillflow.ops.math.cast import cast
from stillflow.ops.math.unary import rsqrt
from stillflow.ops.nn.batch_norm import fused_batch_norm_v3_op
from stillflow.util.renamed import renamed_argument

# TF raises smaller values to this, cuDNN's minimum.
_MIN_EPSILON = 1.001e-5


@export("nn.batch_normalization")
def batch_normalization(
    x: Any,
    mean: Any,
    variance: Any,
    offset: Any,
    scale: Any,
    variance_epsilon: float,
    name: str | None = None,
) -> Tensor:
    """`(x - mean) / sqrt(variance + variance_epsilon) * scale + offset`.

    Args:
      offset, scale: or None for none.

    Example:
      >>> x = tf.constant([[1.0], [3.0]])
      >>> y = tf.nn.batch_normalization(x, 2.0, 4.0, offset=10.0, scale=2.0, variance_epsilon=0.0)
      >>> print(tf.Session().run(y).ravel())
      [ 9. 11.]
    """
    with name_scope(name, "batchnorm", [x, mean, variance, scale, offset]):
        inv = rsqrt(variance + variance_epsilon)
        if scale is not None:
            inv *= scale
        scaled = x * cast(inv, x.dtype)
        rest = offset - mean * inv if offset is not None else -mean * inv
        return scaled + cast(rest, x.dtype)


@export("nn.fused_batch_norm")
def fused_batch_norm(
    x: Any,
    scale: Any,
    offset: Any,
    mean: Any = None,
    variance: Any = None,
    epsilon: float = 0.001,
    data_format: str = "NHWC",
    is_training: bool = True,
    name: str | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Batch normalization of images in one op.

    Args:
      x: [batch, height, width, channels], or [batch, channels, height, width] under "NCHW".
      scale, offset: vectors with one number per channel.
      mean, variance: what to normalize by where `is_training` is False, None otherwise.

    Returns:
      (normalized x, the batch's mean, the batch's unbiased variance).

    Raises:
      ValueError: if mean or variance is given in training.
    """
    x = convert_to_tensor(x, name="input")
    scale = convert_to_tensor(scale, name="scale")
    offset = convert_to_tensor(offset, name="offset")
    if is_training and (mean is not None or variance is not None):
        raise ValueError("Both 'mean' and 'variance' must be None if is_training is True.")
    if mean is None:
        mean = constant([])
    if variance is None:
        variance = constant([])
    result = fused_batch_norm_v3_op(
        x, scale, offset, mean, variance, epsilon=max(epsilon, _MIN_EPSILON),
        data_format=data_format, is_training=is_training, name=name,
    )  # fmt: skip
    return result[0], result[1], result[2]


@export("nn.batch_norm_with_global_normalization")
def batch_norm_with_global_normalization(
    t: Any = None,
    m: Any = None,
    v: Any = None,
    beta: Any = None,
    gamma: Any = None,
    variance_epsilon: Any = None,
    scale_after_normalization: Any = None,
    name: str | None = None,
    input: Any = None,
    mean: Any = None,
    variance: Any = None,
) -> Tensor:
    """`batch_normalization` with other names: `gamma` scales if `scale_after_normalization`.

    Args:
      input, mean, variance: the newer names of `t`, `m` and `v`.
    """
    t = renamed_argument("input", input, "t", t)
    m = renamed_argument("mean", mean, "m", m)
    v = renamed_argument("variance", variance, "v", v)
    scale = gamma if scale_after_normalization else None
    return batch_normalization(t, m, v, beta, scale, variance_epsilon, name)
