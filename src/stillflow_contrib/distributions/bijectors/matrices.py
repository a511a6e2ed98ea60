"""Matrices: their products with themselves, their inverses, their triangles and diagonals."""

from __future__ import annotations

from typing import Any

import numpy as np

import stillflow as tf
from stillflow.distributions.layout import pick_vector
from stillflow.distributions.parameters import fill_triangular, fill_triangular_inverse
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import dimension_value
from stillflow.ops.control_flow.identity_and_group import with_dependencies
from stillflow_contrib.distributions.bijectors.affine import AffineScalar
from stillflow_contrib.distributions.bijectors.bijector import Bijector
from stillflow_contrib.distributions.bijectors.chain import Chain
from stillflow_contrib.distributions.bijectors.elementwise import Softplus, _moved


@export("contrib.distributions.bijectors.CholeskyOuterProduct")
class CholeskyOuterProduct(Bijector):
    """Y = X @ X.T of lower triangles X.

    Args:
      validate_args: whether the graph checks that X is square, and its diagonal positive.
      name: of the scope.
    """

    @_moved
    def __init__(self, validate_args: bool = False, name: str = "cholesky_outer_product") -> None:
        self._graph_parents = []
        self._name = name
        super().__init__(forward_min_event_ndims=2, validate_args=validate_args, name=name)

    def _forward(self, x: Any) -> Tensor:
        if self.validate_args:
            is_matrix, shape = tf.assert_rank_at_least(x, 2), tf.shape(x)
            rows, columns = (shape[axis] for axis in (-2, -1))
            x = with_dependencies([is_matrix, tf.assert_equal(rows, columns)], x)
        triangle = tf.matrix_band_part(x, -1, 0)
        return tf.matmul(triangle, triangle, adjoint_b=True)

    def _inverse(self, y: Any) -> Tensor:
        return tf.cholesky(y)

    def _forward_log_det_jacobian(self, x: Any) -> Tensor:
        # Each number of the diagonal has as many derivatives as rows from its own on.
        diagonal = self._as_rows(tf.matrix_diag_part(x))
        if self.validate_args:
            x = with_dependencies(self._checks(x, diagonal), x)
        rows: Any
        count: Any
        if x.shape.ndims is None or x.shape.dims[-1].value is None:
            rows = tf.shape(x)[-1]
            count = tf.cast(rows, dtype=x.dtype)
        else:
            rows = x.shape.dims[-1].value
            count = np.array(rows, dtype=x.dtype.as_numpy_dtype)
        exponents = tf.linspace(count, 1.0, rows)
        weighted = tf.matmul(tf.log(diagonal), exponents[..., tf.newaxis])
        # In 64 bits, as NumPy 1 multiplies a number of an array's type by one of Python's.
        constant = np.float64(count) * np.log(2.0) if isinstance(count, np.ndarray) else None
        summed = tf.squeeze(weighted, axis=-1)
        result = (count * np.log(2.0) if constant is None else constant) + summed
        return self._without_row(result, x)

    @staticmethod
    def _checks(x: Any, diagonal: Any) -> list[Any]:
        matrix = "Input must be a (batch of) matrix."
        is_matrix = tf.assert_rank_at_least(x, 2, message=matrix)
        shape = tf.shape(x)
        square = "Input must be a (batch of) square matrix."
        is_square = tf.assert_equal(shape[-2], shape[-1], message=square)
        positive = tf.assert_positive(diagonal, message="Input must be positive definite.")
        return [is_matrix, is_square, positive]

    @staticmethod
    def _without_row(result: Any, x: Any) -> Tensor:
        """Remove the batch that `_as_rows` adds to a single matrix."""
        if x.shape.ndims is not None:
            return tf.squeeze(result, axis=-1) if x.shape.ndims == 2 else result
        shape = tf.shape(result)
        batch, single = shape[:-1], tf.equal(tf.rank(x), 2)
        row = pick_vector(single, np.array([], dtype=np.int32), shape[-1:])
        return tf.reshape(result, tf.concat([batch, row], 0))

    @staticmethod
    def _as_rows(x: Any) -> Tensor:
        if x.shape.ndims is not None:
            return x[tf.newaxis, :] if x.shape.ndims == 1 else x
        shape = tf.shape(x)
        batch, single = shape[:-1], tf.equal(tf.rank(x), 1)
        one = pick_vector(single, [1], np.array([], dtype=np.int32))
        return tf.reshape(x, tf.concat([batch, one, shape[-1:]], 0))


@export("contrib.distributions.bijectors.MatrixInverseTriL")
class MatrixInverseTriL(Bijector):
    """The inverses of lower triangles, float32.

    Args:
      validate_args: whether the graph checks that they are such, and can be inverted.
      name: of the scope.
    """

    @_moved
    def __init__(self, validate_args: bool = False, name: str = "matrix_inverse_tril") -> None:
        self._graph_parents = []
        self._name = name
        super().__init__(forward_min_event_ndims=2, validate_args=validate_args, name=name)

    def _forward(self, x: Any) -> Tensor:
        with tf.control_dependencies(self._assertions(x)):
            shape = tf.shape(x)
            identity = tf.eye(shape[-1], batch_shape=shape[:-2])
            return tf.matrix_triangular_solve(x, identity, lower=True)

    def _inverse(self, y: Any) -> Tensor:
        return self._forward(y)

    def _forward_log_det_jacobian(self, x: Any) -> Tensor:
        with tf.control_dependencies(self._assertions(x)):
            factor = -2.0 * tf.cast(tf.shape(x)[-1], x.dtype.base_dtype)
            logs = tf.log(tf.abs(tf.matrix_diag_part(x)))
            return factor * tf.reduce_sum(logs, axis=-1)

    def _assertions(self, x: Any) -> list[Any]:
        if not self.validate_args:
            return []
        shape = tf.shape(x)
        is_matrix = tf.assert_rank_at_least(x, 2, message="Input must have rank at least 2.")
        square = "Input must be a square matrix."
        is_square = tf.assert_equal(shape[-2], shape[-1], message=square)
        without_diagonal = tf.matrix_set_diag(x, tf.zeros(shape[:-1], dtype=tf.float32))
        above = tf.matrix_band_part(without_diagonal, 0, -1)
        triangular = "Input must be lower triangular."
        is_triangular = tf.assert_equal(above, tf.zeros_like(above), message=triangular)
        diagonal = tf.matrix_diag_part(x)
        message = "Input must have all diagonal entries nonzero."
        invertible = tf.assert_none_equal(diagonal, tf.zeros_like(diagonal), message=message)
        return [is_matrix, is_square, is_triangular, invertible]


@export("contrib.distributions.bijectors.FillTriangular")
class FillTriangular(Bijector):
    """Vectors of n (n + 1) / 2 numbers as triangles of n rows.

    Args:
      upper: whether triangles are upper ones.
      validate_args: whether the graph checks shapes.
      name: of the scope.
    """

    @_moved
    def __init__(
        self, upper: bool = False, validate_args: bool = False, name: str = "fill_triangular"
    ) -> None:
        self._upper = upper
        super().__init__(
            forward_min_event_ndims=1,
            inverse_min_event_ndims=2,
            validate_args=validate_args,
            name=name,
        )

    def _forward(self, x: Any) -> Tensor:
        return fill_triangular(x, upper=self._upper)

    def _inverse(self, y: Any) -> Tensor:
        return fill_triangular_inverse(y, upper=self._upper)

    def _forward_log_det_jacobian(self, x: Any) -> Tensor:
        return tf.zeros_like(x[..., 0])

    def _inverse_log_det_jacobian(self, y: Any) -> Tensor:
        return tf.zeros_like(y[..., 0, 0])

    def _forward_event_shape(self, input_shape: Any) -> Any:
        size = dimension_value(input_shape[-1])
        rows = None if size is None else _known_rows(size)
        return input_shape[:-1].concatenate([rows, rows])

    def _inverse_event_shape(self, output_shape: Any) -> Any:
        rows, columns = (dimension_value(output_shape[i]) for i in (-2, -1))
        size = None
        if rows is not None and columns is not None:
            if rows != columns:
                raise ValueError(f"Matrix must be square. (saw [{rows}, {columns}])")
            size = rows * (rows + 1) // 2
        return output_shape[:-2].concatenate([size])

    def _forward_event_shape_tensor(self, input_shape: Any) -> Tensor:
        batch, size = input_shape[:-1], input_shape[-1]
        rows = self._rows(size)
        return tf.concat([batch, [rows, rows]], axis=0)

    def _inverse_event_shape_tensor(self, output_shape: Any) -> Tensor:
        outer, rows = output_shape[:-2], output_shape[-1]
        if self.validate_args:
            rows = _if_equal(rows, output_shape[-2], "Matrix must be square.", rows)
        numbers = tf.cast(rows * (rows + 1) / 2, output_shape.dtype)
        return tf.concat([outer, [numbers]], axis=0)

    def _rows(self, size: Any) -> Tensor:
        with tf.name_scope("vector_size_to_square_matrix_size", values=[size]):
            rows = (-1.0 + tf.sqrt(1 + 8.0 * tf.cast(size, tf.float32))) / 2.0
            if self.validate_args:
                whole = tf.cast(tf.cast(rows, tf.int32), tf.float32)
                words = "Vector length is not a triangular number"
                rows = _if_equal(whole, rows, words, rows)
            return tf.cast(rows, size.dtype)


def _if_equal(first: Any, second: Any, message: str, result: Any) -> Tensor:
    """Return `result`, after a check that the others are equal."""
    with tf.control_dependencies([tf.assert_equal(first, second, message=message)]):
        return tf.identity(result)


def _known_rows(size: int) -> int:
    rows = (-1 + np.sqrt(1 + 8 * size)) / 2.0
    if float(int(rows)) != rows:
        raise ValueError("Vector length is not a triangular number.")
    return int(rows)


@export("contrib.distributions.bijectors.TransformDiagonal")
class TransformDiagonal(Bijector):
    """Matrices whose diagonals another transformation takes.

    Args:
      diag_bijector: the other.
      validate_args: whether the graph checks arguments.
      name: of the scope.
    """

    @_moved
    def __init__(
        self, diag_bijector: Any, validate_args: bool = False, name: str = "transform_diagonal"
    ) -> None:
        self._diag_bijector = diag_bijector
        super().__init__(
            forward_min_event_ndims=2,
            inverse_min_event_ndims=2,
            validate_args=validate_args,
            name=name,
        )

    def _forward(self, x: Any) -> Tensor:
        diagonal = self._diag_bijector.forward(tf.matrix_diag_part(x))
        return tf.matrix_set_diag(x, diagonal)

    def _inverse(self, y: Any) -> Tensor:
        diagonal = self._diag_bijector.inverse(tf.matrix_diag_part(y))
        return tf.matrix_set_diag(y, diagonal)

    def _forward_log_det_jacobian(self, x: Any) -> Tensor:
        # Of the whole diagonal as one event.
        return self._diag_bijector.forward_log_det_jacobian(tf.matrix_diag_part(x), event_ndims=1)

    def _inverse_log_det_jacobian(self, y: Any) -> Tensor:
        return self._diag_bijector.inverse_log_det_jacobian(tf.matrix_diag_part(y), event_ndims=1)


@export("contrib.distributions.bijectors.ScaleTriL")
class ScaleTriL(Chain):
    """Vectors as lower triangles of positive diagonals.

    Args:
      diag_bijector: makes numbers of the diagonal positive; softplus if None.
      diag_shift: added to them afterwards; nothing if None.
      validate_args: whether the graph checks arguments.
      name: of the scope.
    """

    @_moved
    def __init__(
        self,
        diag_bijector: Any = None,
        diag_shift: Any = 1e-5,
        validate_args: bool = False,
        name: str = "scale_tril",
    ) -> None:
        if diag_bijector is None:
            diag_bijector = Softplus(validate_args=validate_args)
        if diag_shift is not None:
            diag_bijector = Chain([AffineScalar(shift=diag_shift), diag_bijector])
        steps = [TransformDiagonal(diag_bijector=diag_bijector), FillTriangular()]
        super().__init__(steps, validate_args=validate_args, name=name)
