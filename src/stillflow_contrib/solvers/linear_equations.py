"""Systems of linear equations by conjugate gradients."""

from __future__ import annotations

from typing import Any, NamedTuple

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow_contrib.solvers.util import dot


class CGState(NamedTuple):
    """State of `conjugate_gradient`: steps, solution, residual, next direction, its measure."""

    i: Any
    x: Any
    r: Any
    p: Any
    gamma: Any


@export("contrib.solvers.linear_equations.conjugate_gradient")
def conjugate_gradient(
    operator: Any,
    rhs: Any,
    preconditioner: Any = None,
    x: Any = None,
    tol: float = 1e-4,
    max_iter: int = 20,
    name: str = "conjugate_gradient",
) -> CGState:
    """Solves a system whose matrix is self-adjoint and positive definite.

    Args:
      operator: has `shape`, `dtype` and `apply`, as those of
        `tf.contrib.solvers.util.create_operator`; a matrix [n, n].
      rhs: the right-hand side [n], of the operator's dtype.
      preconditioner: an operator close to the inverse of `operator`, and cheaper; None is none.
      x: where it begins [n]; None is at zero.
      tol: it ends when the norm of the residual is this part of what it was first.
      max_iter: after how many steps it ends anyway.
      name: of the scope.

    Returns:
      A named tuple: `i`, the number of steps (int32); `x` [n]; `r`, the residual [n]; `p`, the next
      direction [n]; `gamma`, the product of the residual with what the preconditioner makes of it.
    """

    def preconditioned(r: Any) -> Tensor:
        return r if preconditioner is None else preconditioner.apply(r)

    def wanted(i: Any, state: CGState) -> Any:
        return tf.logical_and(i < max_iter, tf.norm(state.r) > limit)

    def step(i: Any, state: CGState) -> tuple[Any, CGState]:
        image = operator.apply(state.p)
        length = state.gamma / dot(state.p, image)
        x = state.x + length * state.p
        r = state.r - length * image
        direction = preconditioned(r)
        gamma = dot(r, direction)
        growth = gamma / state.gamma
        p = direction + growth * state.p
        return i + 1, CGState(i + 1, x, r, p, gamma)

    with tf.name_scope(name):
        columns = operator.shape[1:]
        r = rhs = tf.expand_dims(rhs, -1)
        if x is None:
            x = tf.expand_dims(tf.zeros(columns, dtype=rhs.dtype.base_dtype), -1)
        else:
            x = tf.expand_dims(x, -1)
            r = rhs - operator.apply(x)
        p = preconditioned(r)
        gamma = dot(r, p)
        limit = tol * tf.norm(r)
        i = tf.constant(0, dtype=tf.int32)
        _, state = tf.while_loop(wanted, step, [i, CGState(i, x, r, p, gamma)])
        return CGState(
            state.i, tf.squeeze(state.x), tf.squeeze(state.r), tf.squeeze(state.p), state.gamma
        )
