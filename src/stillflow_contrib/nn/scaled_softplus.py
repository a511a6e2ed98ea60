"""Softplus as soft as asked for, with a gradient by its softness."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import stillflow as tf
from stillflow.functional.defun import Defun
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor

if TYPE_CHECKING:
    from stillflow.functional.defun import DefinedFunction


def _like(grad: Any, tensor: Any) -> Tensor:
    """Return a gradient, summed to the shape of a tensor that broadcast."""
    shape = tf.shape(tensor)
    summed, _ = tf.raw_ops.BroadcastGradientArgs(s0=shape, s1=tf.shape(grad))
    return tf.reshape(tf.reduce_sum(grad, summed), shape)


def _gradients(op: Any, grad: Any) -> list[Any]:
    """Gradients by y, x, alpha and, if there is one, the bound; y itself has none."""
    y, x, alpha, *bound = op.inputs
    with tf.control_dependencies([grad]):
        y = tf.identity(y)
    of_bound = []
    if bound:
        below = tf.cast(y < bound[0], grad.dtype)
        of_bound = [_like(grad * (1.0 - below), bound[0])]
        grad *= below
    y /= alpha
    decay = tf.exp(-y)
    slope = 1.0 - decay
    by_alpha = y * decay - slope * tf.log(slope + 1e-8)
    return [None, _like(grad * slope, x), _like(grad * by_alpha, alpha), *of_bound]


def _returns_first(dtype: Any, count: int, name: str) -> DefinedFunction:
    """Return a function of the library that gives its first argument, and those gradients."""

    def first(y: Any, *unused: Any) -> Any:
        return y

    def of_three(y: Any, x: Any, alpha: Any) -> Tensor:
        return first(y, x, alpha)

    def of_four(y: Any, x: Any, alpha: Any, clip: Any) -> Tensor:
        return first(y, x, alpha, clip)

    made = Defun(
        *[dtype] * count,
        func_name=f"{name}_{dtype.name}",
        shape_func=lambda op: [op.inputs[0].shape],
        python_grad_func=_gradients,
    )
    return made(of_four if count == 4 else of_three)


@export("contrib.nn.scaled_softplus")
def scaled_softplus(x: Any, alpha: Any, clip: Any = None, name: str | None = None) -> Tensor:
    """`alpha * softplus(x / alpha)`, no larger than `clip`.

    Args:
      x: floating-point numbers.
      alpha: how soft the bend at 0 is; broadcasts.
      clip: the largest result; none if None.
      name: of the scope.
    """
    given = [x, alpha] if clip is None else [x, alpha, clip]
    with tf.name_scope(name, "scaled_softplus", given):
        x = convert_to_tensor(x, name="x")
        dtype = x.dtype
        alpha = convert_to_tensor(alpha, dtype=dtype, name="alpha")
        y = alpha * tf.nn.softplus(x / alpha)
        if clip is None:
            return _returns_first(dtype, 3, "ScaledSoftplusHelper")(y, x, alpha)
        clip = convert_to_tensor(clip, dtype=dtype, name="clip")
        y = tf.minimum(y, clip)
        return _returns_first(dtype, 4, "ScaledSoftplusHelper_clip")(y, x, alpha, clip)
