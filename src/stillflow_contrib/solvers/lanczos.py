"""Bidiagonal matrices that have the largest singular values of an operator, by Lanczos."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow_contrib.solvers.util import l2norm, l2normalize

if TYPE_CHECKING:
    from stillflow.ops.tensor_array.tensor_array import TensorArray


_LOST = 0.7071  # a vector that is shorter by more than this needs to be made orthogonal again


class LanczosBidiagState(NamedTuple):
    """The vectors of both sides, the diagonal, and the diagonal below it."""

    u: Any
    v: Any
    alpha: Any
    beta: Any


def _array(size: Any, dtype: Any, name: str) -> TensorArray:
    return tf.TensorArray(dtype=dtype, size=size, tensor_array_name=name, clear_after_read=False)


def _read_column(array: Any, place: Any) -> Tensor:
    return tf.expand_dims(array.read(place), -1)


def _write_column(array: Any, column: Any, place: Any) -> Any:
    return array.write(place, tf.squeeze(column))


def _project(place: Any, basis: Any, vector: Any) -> tuple[Any, Any, Any]:
    """Subtract from a column its projection to a vector of the basis."""
    shape = vector.get_shape()
    other = _read_column(basis, place)
    vector -= tf.matmul(other, vector, adjoint_a=True) * other
    vector.set_shape(shape)
    return place + 1, basis, vector


def _orthogonal_once(last: Any, basis: Any, vector: Any) -> tuple[Any, Any]:
    first = tf.constant(0, dtype=tf.int32)
    _, _, vector = tf.while_loop(
        lambda place, basis, vector: place < last, _project, [first, basis, vector]
    )
    return l2normalize(vector)


def _orthogonal(last: Any, basis: Any, vector: Any) -> tuple[Tensor, Tensor]:
    """Return a unit column orthogonal to a basis's first vectors, and its former length."""
    before = l2norm(vector)
    found, after = _orthogonal_once(last, basis, vector)
    return tf.cond(
        after < _LOST * before,
        lambda: _orthogonal_once(last, basis, vector),
        lambda: (found, after),
    )


def _step(
    operator: Any, orthogonalize: bool, i: Any, state: LanczosBidiagState
) -> tuple[Tensor, LanczosBidiagState]:
    """One more vector for each side."""

    def normal(last: Any, basis: Any, vector: Any) -> tuple[Tensor, Tensor]:
        return _orthogonal(last(), basis, vector) if orthogonalize else l2normalize(vector)

    left = _read_column(state.u, i)
    rest = operator.apply_adjoint(left)
    shape = rest.get_shape()
    rest = tf.cond(
        i > 0,
        lambda: rest - state.beta.read(i - 1) * _read_column(state.v, i - 1),
        lambda: rest,
    )
    rest.set_shape(shape)
    right, alpha = normal(lambda: i - 1, state.v, rest)
    image = operator.apply(right) - alpha * left
    left, beta = normal(lambda: i, state.u, image)
    return i + 1, LanczosBidiagState(
        _write_column(state.u, left, i + 1),
        _write_column(state.v, right, i),
        state.alpha.write(i, alpha),
        state.beta.write(i, beta),
    )


@export("contrib.solvers.lanczos.lanczos_bidiag")
def lanczos_bidiag(
    operator: Any,
    k: Any,
    orthogonalize: bool = True,
    starting_vector: Any = None,
    name: str = "lanczos_bidiag",
) -> LanczosBidiagState:
    """Make an operator A bidiagonal: A V = U B and Aᴴ U[:, :-1] = V B[:-1, :]ᴴ.

    Args:
      operator: has `shape`, `dtype`, `apply` and `apply_adjoint`, as those of
        `tf.contrib.solvers.util.create_operator`; a matrix [m, n].
      k: the number of steps, an integer or an int32 scalar.
      orthogonalize: whether each vector is made orthogonal to all before it; else rounding makes
        them less so from step to step.
      starting_vector: the first column of U, of any length: numbers [m]; None draws one.
      name: of the scope.

    Returns:
      A named tuple of the operator's dtype: `u` [m, k + 1] and `v` [n, k], whose columns are
      orthogonal and as long as one; `alpha` [k], the diagonal of B, and `beta` [k], the one below.
    """
    with tf.name_scope(name):
        dtype = operator.dtype
        if starting_vector is None:
            starting_vector = tf.random_uniform(operator.shape[:1], -1, 1, dtype=dtype)
        first, _ = l2normalize(starting_vector)
        state = LanczosBidiagState(
            _write_column(_array(k + 1, dtype, "u"), first, 0),
            _array(k, dtype, "v"),
            _array(k, dtype, "alpha"),
            _array(k, dtype, "beta"),
        )
        _, state = tf.while_loop(
            lambda i, _: i < k,
            lambda i, state: _step(operator, orthogonalize, i, state),
            [tf.constant(0, dtype=tf.int32), state],
        )
        return LanczosBidiagState(
            tf.matrix_transpose(state.u.stack()),
            tf.matrix_transpose(state.v.stack()),
            state.alpha.stack(),
            state.beta.stack(),
        )


@export("contrib.solvers.lanczos.bidiag_matmul")
def bidiag_matmul(
    matrix: Any, alpha: Any, beta: Any, adjoint_b: bool = False, name: str = "bidiag_matmul"
) -> Tensor:
    """Return the product of a matrix with a bidiagonal one B [k + 1, k].

    Args:
      matrix: numbers [m, k + 1], or [m, k] with `adjoint_b`.
      alpha: the diagonal of B [k].
      beta: the diagonal below it [k].
      adjoint_b: whether to multiply with the conjugate transpose of B without its last row.
      name: of the scope.

    Returns:
      Numbers [m, k].
    """
    with tf.name_scope(name):
        diagonal = tf.expand_dims(alpha, 0)
        below = tf.expand_dims(beta if adjoint_b is False else beta[:-1], 0)
        if adjoint_b is False:
            return matrix[:, :-1] * diagonal + matrix[:, 1:] * below
        rows = tf.shape(matrix)[:1]
        nothing = tf.expand_dims(tf.zeros(rows, dtype=matrix.dtype), 1)
        scaled = matrix * diagonal
        return scaled + tf.concat([nothing, matrix[:, :-1] * below], 1)
