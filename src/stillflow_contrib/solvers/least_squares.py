"""Linear least squares by conjugate gradients."""

from __future__ import annotations

from typing import Any, NamedTuple

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow_contrib.solvers.util import l2norm_squared


class CGLSState(NamedTuple):
    """State of `cgls`: steps done, solution, residual, next direction, squared gradient."""

    i: Any
    x: Any
    r: Any
    p: Any
    gamma: Any


@export("contrib.solvers.least_squares.cgls")
def cgls(
    operator: Any, rhs: Any, tol: float = 1e-6, max_iter: int = 20, name: str = "cgls"
) -> CGLSState:
    """Find the x for which the product with an operator is closest to a vector.

    Args:
      operator: has `shape`, `dtype`, `apply` and `apply_adjoint`, as those of
        `tf.contrib.solvers.util.create_operator`; a matrix [m, n].
      rhs: the vector [m], of the operator's dtype.
      tol: it ends when the norm of the residual of the normal equations is this part of what it
        was first.
      max_iter: after how many steps it ends anyway.
      name: of the scope.

    Returns:
      A named tuple: `i`, the number of steps (int32); `x` [n]; `r`, the residual [m]; `p`, the next
      direction [n]; `gamma`, the square of the norm of the normal equations' residual.
    """

    def gradient_of(residual: Any) -> tuple[Any, Any]:
        """Return the residual of the normal equations, and the square of its norm."""
        gradient = operator.apply_adjoint(residual)
        return gradient, l2norm_squared(gradient)

    def is_far(i: Any, state: CGLSState) -> Tensor:
        return tf.logical_and(i < max_iter, state.gamma > limit)

    def move(i: Any, state: CGLSState) -> tuple[Any, CGLSState]:
        image = operator.apply(state.p)
        length = state.gamma / l2norm_squared(image)
        x, r = state.x + length * state.p, state.r - length * image
        gradient, gamma = gradient_of(r)
        conjugate = gamma / state.gamma
        p = gradient + conjugate * state.p
        return i + 1, CGLSState(i + 1, x, r, p, gamma)

    with tf.name_scope(name):
        columns, r = operator.shape[1:], tf.expand_dims(rhs, -1)
        p, gamma = gradient_of(r)
        limit = tol * tol * gamma
        x = tf.expand_dims(tf.zeros(columns, dtype=r.dtype.base_dtype), -1)
        i = tf.constant(0, dtype=tf.int32)
        _, found = tf.while_loop(is_far, move, [i, CGLSState(i, x, r, p, gamma)])
        vectors = {part: tf.squeeze(getattr(found, part)) for part in ("x", "r", "p")}
        return found._replace(**vectors)
