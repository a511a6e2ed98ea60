"""Wishart distributions: of positive definite matrices."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import stillflow as tf
from stillflow.distributions.checks import assert_symmetric
from stillflow.distributions.distribution import FULLY_REPARAMETERIZED, Distribution
from stillflow.distributions.parameters import gen_new_seed
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.static_value import static_value
from stillflow.graph.tensor_shape import TensorShape
from stillflow.ops.control_flow.identity_and_group import with_dependencies
from stillflow_contrib.distributions.moved import moved_from_contrib


def _lower_triangular(tril: Any) -> Any:
    return tf.linalg.LinearOperatorLowerTriangular(
        tril=tril, is_non_singular=True, is_positive_definite=True, is_square=True
    )


class _WishartLinearOperator(Distribution):
    """Wishart distributions of a scale that an operator is the square root of.

    Args:
      df: degrees of freedom, not fewer than the matrices have rows.
      scale_operator: a square `tf.linalg.LinearOperator`.
      cholesky_input_output_matrices: whether samples, means and values are Cholesky factors.
      validate_args: whether the graph checks degrees of freedom.
      allow_nan_stats: see `Distribution`.
      name: of the scope.

    Raises:
      TypeError: if the operator is of no floating-point type.
      ValueError: if it is not square, or if there are known to be too few degrees of freedom.
    """

    def __init__(
        self,
        df: Any,
        scale_operator: Any,
        cholesky_input_output_matrices: bool = False,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str | None = None,
    ) -> None:
        parameters = dict(locals())
        self._cholesky_input_output_matrices = cholesky_input_output_matrices
        with (
            tf.name_scope(name) as scope,
            tf.name_scope("init", values=[df, scale_operator]),
        ):
            dtype = scale_operator.dtype
            if not dtype.is_floating:
                raise TypeError(f"scale_operator.dtype={dtype} is not a floating-point type")
            if not scale_operator.is_square:
                raise ValueError("scale_operator must be square.")
            self._scale_operator = scale_operator
            self._df = convert_to_tensor(df, dtype=dtype, name="df")
            tf.debugging.assert_same_float_dtype((self._df, scale_operator))
            self._dimension = self._rows(scale_operator, dtype)
            self._check_df(validate_args)
        super().__init__(
            dtype=dtype,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            reparameterization_type=FULLY_REPARAMETERIZED,
            parameters=parameters,
            graph_parents=[self._df, self._dimension, *scale_operator.graph_parents],
            name=scope,
        )

    @staticmethod
    def _rows(operator: Any, dtype: Any) -> Tensor:
        shape = operator.shape
        if shape.ndims is None or shape.dims[-1].value is None:
            return tf.cast(operator.domain_dimension_tensor(), dtype=dtype, name="dimension")
        return convert_to_tensor(shape.dims[-1].value, dtype=dtype, name="dimension")

    def _check_df(self, validate_args: bool) -> None:
        few = "Degrees of freedom (df = {}) cannot be less than dimension of scale matrix "
        few += "(scale.dimension = {})"
        df, rows = static_value(self._df), static_value(self._dimension)
        if df is not None and rows is not None:
            df = np.asarray(df)
            if (df < rows).any():
                raise ValueError(few.format(df if df.shape else [df], rows))
        elif validate_args:
            message = few.format(self._dimension, self._df)
            enough = tf.assert_less_equal(self._dimension, self._df, message=message)
            self._df = with_dependencies([enough], self._df)

    @property
    def df(self) -> Tensor:
        """The degrees of freedom."""
        return self._df

    @property
    def scale_operator(self) -> Any:
        """The square root of the scale."""
        return self._scale_operator

    @property
    def cholesky_input_output_matrices(self) -> bool:
        """True if samples, means and values are Cholesky factors."""
        return self._cholesky_input_output_matrices

    @property
    def dimension(self) -> Tensor:
        """The number of rows of matrices, in their dtype."""
        return self._dimension

    def _square(self) -> Tensor:
        return self.scale_operator.matmul(self.scale_operator.to_dense(), adjoint_arg=True)

    def scale(self) -> Any:
        """Return the scale, or its Cholesky factor, as `cholesky_input_output_matrices` says."""
        if self._cholesky_input_output_matrices:
            return self.scale_operator.to_dense()
        return self._square()

    def _event_shape_tensor(self) -> Tensor:
        rows = self.scale_operator.domain_dimension_tensor()
        return tf.stack([rows, rows])

    def _event_shape(self) -> TensorShape:
        rows = self.scale_operator.domain_dimension
        return TensorShape([rows, rows])

    def _batch_shape_tensor(self) -> Tensor:
        return self.scale_operator.batch_shape_tensor()

    def _batch_shape(self) -> TensorShape:
        return self.scale_operator.batch_shape

    def _sample_n(self, n: Any, seed: Any = None) -> Tensor:
        batch, event = self.batch_shape_tensor(), self.event_shape_tensor()
        ndims = tf.shape(batch)[0] + 3
        x = self._bartlett(n, tf.concat([[n], batch, event], 0), seed)
        x = tf.transpose(x, tf.concat([tf.range(1, ndims), [0]], 0))
        # The samples of one distribution are columns of one matrix for the operator.
        x = tf.reshape(x, tf.concat([batch, [event[0]], [-1]], 0))
        x = self.scale_operator.matmul(x)
        x = tf.reshape(x, tf.concat([batch, event, [n]], 0))
        x = tf.transpose(x, tf.concat([[ndims - 1], tf.range(0, ndims - 1)], 0))
        if not self.cholesky_input_output_matrices:
            x = tf.matmul(x, x, adjoint_b=True)
        return x

    def _bartlett(self, n: Any, shape: Any, seed: Any) -> Tensor:
        """Cholesky factors of samples whose scale is the identity (Bartlett's decomposition)."""
        x = tf.random_normal(shape=shape, mean=0.0, stddev=1.0, dtype=self.dtype, seed=seed)
        batch = self.scale_operator.batch_shape_tensor()
        df = self.df * tf.ones(batch, dtype=self.df.dtype.base_dtype)
        squares = tf.random_gamma(
            shape=[n],
            alpha=self._multi_gamma_sequence(0.5 * df, self.dimension),
            beta=0.5,
            dtype=self.dtype,
            seed=gen_new_seed(seed, "wishart"),
        )
        return tf.matrix_set_diag(tf.matrix_band_part(x, -1, 0), tf.sqrt(squares))

    def _log_prob(self, x: Any) -> Tensor:
        root = x if self.cholesky_input_output_matrices else tf.cholesky(x)
        trace = tf.reduce_sum(tf.square(self._solved(root)), axis=[-2, -1])
        half_log_det = tf.reduce_sum(tf.log(tf.matrix_diag_part(root)), axis=[-1])
        weighted = (self.df - self.dimension - 1.0) * half_log_det
        result = weighted - 0.5 * trace - self.log_normalization()
        if x.shape.ndims is not None:
            result.set_shape(x.shape[:-2])
        return result

    def _solved(self, root: Any) -> Tensor:
        """Return the inverse of the operator times Cholesky factors of values."""
        batch, event = self.batch_shape_tensor(), self.event_shape_tensor()
        ndims = tf.rank(root)
        samples = ndims - tf.shape(batch)[0] - 2
        sample_shape = tf.strided_slice(tf.shape(root), [0], [samples])
        perm = tf.concat([tf.range(samples, ndims), tf.range(0, samples)], 0)
        x = tf.transpose(root, perm)
        x = tf.reshape(x, tf.concat((batch, (tf.cast(self.dimension, dtype=tf.int32), -1)), 0))
        x = self.scale_operator.solve(x)
        x = tf.reshape(x, tf.concat([batch, event, sample_shape], 0))
        perm = tf.concat([tf.range(ndims - samples, ndims), tf.range(0, ndims - samples)], 0)
        return tf.transpose(x, perm)

    def _entropy(self) -> Tensor:
        rows = self.dimension
        middle = 0.5 * rows + 0.5
        half_df = 0.5 * self.df
        entropy = rows * (half_df + middle * math.log(2.0))
        entropy += 2 * middle * self.scale_operator.log_abs_determinant()
        entropy += self._multi_lgamma(half_df, rows)
        return entropy + (middle - half_df) * self._multi_digamma(half_df, rows)

    def _mean(self) -> Tensor:
        if self.cholesky_input_output_matrices:
            return tf.sqrt(self.df) * self.scale_operator.to_dense()
        return self.df * self._square()

    def _variance(self) -> Tensor:
        x = tf.sqrt(self.df) * self._square()
        diagonal = tf.expand_dims(tf.matrix_diag_part(x), -1)
        variance = tf.square(x) + tf.matmul(diagonal, diagonal, adjoint_b=True)
        return tf.cholesky(variance) if self.cholesky_input_output_matrices else variance

    def _stddev(self) -> Tensor:
        if self.cholesky_input_output_matrices:
            raise ValueError(
                "Computing std. dev. when is cholesky_input_output_matrices=True does not make "
                "sense."
            )
        return tf.cholesky(self.variance())

    def _mode(self) -> Tensor:
        factor = self.df - self.dimension - 1.0
        exists = tf.less(factor, 0.0)
        nan = tf.constant(float("NaN"), dtype=self.dtype, name="nan")
        factor = tf.where_v2(exists, nan, factor)
        if self.cholesky_input_output_matrices:
            return tf.sqrt(factor) * self.scale_operator.to_dense()
        return factor * self._square()

    def mean_log_det(self, name: str = "mean_log_det") -> Tensor:
        """Return the mean of the logarithm of determinants."""
        with self._name_scope(name):
            return (
                self._multi_digamma(0.5 * self.df, self.dimension)
                + self.dimension * math.log(2.0)
                + 2 * self.scale_operator.log_abs_determinant()
            )

    def log_normalization(self, name: str = "log_normalization") -> Tensor:
        """Return the logarithm of the densities' normalization."""
        with self._name_scope(name):
            return (
                self.df * self.scale_operator.log_abs_determinant()
                + 0.5 * self.df * self.dimension * math.log(2.0)
                + self._multi_lgamma(0.5 * self.df, self.dimension)
            )

    def _multi_gamma_sequence(self, a: Any, p: Any, name: str = "multi_gamma_sequence") -> Tensor:
        """Return the arguments a, a - 1/2, ... of the p gamma functions of a multivariate one."""
        with self._name_scope(name, values=[a, p]):
            zero = tf.constant(0.0, dtype=self.dtype)
            steps = tf.linspace(zero, 0.5 - 0.5 * p, tf.cast(p, tf.int32))
            return steps + tf.expand_dims(a, [-1])

    def _multi_lgamma(self, a: Any, p: Any, name: str = "multi_lgamma") -> Tensor:
        with self._name_scope(name, values=[a, p]):
            arguments = self._multi_gamma_sequence(a, p)
            constant = 0.25 * p * (p - 1.0) * math.log(math.pi)
            return constant + tf.reduce_sum(tf.lgamma(arguments), axis=[-1])

    def _multi_digamma(self, a: Any, p: Any, name: str = "multi_digamma") -> Tensor:
        with self._name_scope(name, values=[a, p]):
            arguments = self._multi_gamma_sequence(a, p)
            return tf.reduce_sum(tf.digamma(arguments), axis=[-1])


@export("contrib.distributions.WishartCholesky")
class WishartCholesky(_WishartLinearOperator):
    """Wishart distributions of a scale whose Cholesky factor is given.

    Args:
      df: degrees of freedom, not fewer than the matrices have rows.
      scale: Cholesky factors [..., n, n] of the scale.
      cholesky_input_output_matrices: whether samples, means and values are Cholesky factors.
      validate_args: whether the graph checks the scale and degrees of freedom.
      allow_nan_stats: see `Distribution`.
      name: of the scope.

    Raises:
      TypeError: if the scale is of no floating-point type.
      ValueError: if there are known to be too few degrees of freedom.
    """

    @moved_from_contrib
    def __init__(
        self, df: Any, scale: Any, cholesky_input_output_matrices: bool = False,
        validate_args: bool = False, allow_nan_stats: bool = True, name: str = "WishartCholesky",
    ) -> None:  # fmt: skip
        parameters = dict(locals())
        with tf.name_scope(name, values=[scale]) as scope:
            with tf.name_scope("init", values=[scale]):
                scale = convert_to_tensor(scale)
                if validate_args:
                    scale = with_dependencies(_checks_of_factor(scale), scale)
            super().__init__(
                df=df, scale_operator=_lower_triangular(scale),
                cholesky_input_output_matrices=cholesky_input_output_matrices,
                validate_args=validate_args, allow_nan_stats=allow_nan_stats, name=scope,
            )  # fmt: skip
        self._parameters = parameters


def _checks_of_factor(scale: Any) -> list[Any]:
    positive = "scale must be positive definite"
    square = "scale must be square"
    return [
        tf.assert_positive(tf.matrix_diag_part(scale), message=positive),
        tf.assert_equal(tf.shape(scale)[-1], tf.shape(scale)[-2], message=square),
    ]


@export("contrib.distributions.WishartFull")
class WishartFull(_WishartLinearOperator):
    """Wishart distributions of a given scale.

    Args:
      df: degrees of freedom, not fewer than the matrices have rows.
      scale: symmetric and positive definite [..., n, n].
      cholesky_input_output_matrices, ...: as of `WishartCholesky`.

    Raises:
      TypeError: if the scale is of no floating-point type.
      ValueError: if there are known to be too few degrees of freedom.
    """

    @moved_from_contrib
    def __init__(
        self, df: Any, scale: Any, cholesky_input_output_matrices: bool = False,
        validate_args: bool = False, allow_nan_stats: bool = True, name: str = "WishartFull",
    ) -> None:  # fmt: skip
        parameters = dict(locals())
        with tf.name_scope(name) as scope, tf.name_scope("init", values=[scale]):
            scale = convert_to_tensor(scale)
            if validate_args:
                scale = assert_symmetric(scale)
            factor = tf.cholesky(scale)
            checks = [tf.assert_positive(tf.matrix_diag_part(factor))] if validate_args else []
            factor = with_dependencies(checks, factor)
        super().__init__(
            df=df, scale_operator=_lower_triangular(factor),
            cholesky_input_output_matrices=cholesky_input_output_matrices,
            validate_args=validate_args, allow_nan_stats=allow_nan_stats, name=scope,
        )  # fmt: skip
        self._parameters = parameters
