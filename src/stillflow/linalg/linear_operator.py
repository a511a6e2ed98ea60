"""The base class of matrices that are known by their structure."""

from __future__ import annotations

import abc
import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.tensor_like import check_graph_parents, is_tensor
from stillflow.graph.tensor_shape import Dimension, TensorShape, dimension_at_index, dimension_value
from stillflow.linalg import algebra, operator_util
from stillflow.linalg.linear_operator_dispatch import register_operators
from stillflow.ops.arrays.shape import expand_dims, squeeze
from stillflow.ops.arrays.shape import size as size_of
from stillflow.ops.debugging.comparisons import assert_equal, assert_less, assert_positive
from stillflow.ops.linalg.decompositions import adjoint as adjoint_of
from stillflow.ops.linalg.decompositions import (
    cholesky,
    log_matrix_determinant,
    matrix_determinant,
    svd,
)
from stillflow.ops.linalg.diagonal import eye, matrix_diag_part
from stillflow.ops.math.cast import cast
from stillflow.ops.math.reductions import reduce_max, reduce_min, reduce_sum
from stillflow.ops.math.unary import exp, log
from stillflow.platform import tf_logging
from stillflow.variables.module import Module

_SLOW = "Using (possibly slow) default implementation of {}.  Requires conversion to a dense matrix"
_CUBIC = " and O(N^3) operations."


def _warn_slow(what: str, end: str = _CUBIC) -> None:
    tf_logging.warn(_SLOW.format(what) + end)


# What each hint implies.
_IMPLICATIONS = (
    ("positive definite", "non-singular"),
    ("non-singular", "square"),
    ("self-adjoint", "square"),
)


@export("linalg.LinearOperator")
class LinearOperator(Module, metaclass=abc.ABCMeta):
    """A batch of matrices `[..., M, N]` that may never be written out.

    Subclasses define `_shape`, `_shape_tensor` and `_matmul`, and all methods that they can do
    better than with the dense matrix.

    Args:
      dtype: of the elements, and of what the operator is applied to.
      graph_parents: the tensors that it is made from.
      is_non_singular: hints of what the user knows, None for nothing: it has an inverse,
      is_self_adjoint: it equals its conjugate transpose,
      is_positive_definite: the real part of `x^H A x` is positive for all x that are not zero,
      is_square: it has as many rows as columns.
      name: of the operator, and of the scope of its methods.

    Raises:
      ValueError: if hints contradict each other, or a graph parent is no tensor.
    """

    def __init__(
        self,
        dtype: Any,
        graph_parents: list[Any] | None = None,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        hints = {
            "positive definite": is_positive_definite,
            "non-singular": is_non_singular,
            "self-adjoint": is_self_adjoint,
            "square": is_square,
        }
        for hint, implied in _IMPLICATIONS:
            if hints[hint]:
                if hints[implied] is False:
                    raise ValueError(f"A {hint} matrix is always {implied}.")
                hints[implied] = True
        self._is_positive_definite, self._is_non_singular, self._is_self_adjoint, square = (
            hints.values()
        )
        self._is_square_set_or_implied_by_hints = square
        self._graph_parents = graph_parents or []
        check_graph_parents(
            self._graph_parents, lambda parent: operator_util.is_ref(parent) or is_tensor(parent)
        )
        self._dtype = dtype and dtypes.as_dtype(dtype).base_dtype
        self._name = name or type(self).__name__

    @contextlib.contextmanager
    def _name_scope(self, name: str | None = None) -> Iterator[str]:
        full = self.name if name is None else f"{self.name}/{name}"
        with name_scope(full) as scope:
            yield scope

    @property
    def dtype(self) -> Any:
        """The type of the elements."""
        return self._dtype

    @property
    def name(self) -> str:
        """The name that was given, or the class's."""
        return self._name

    @property
    def graph_parents(self) -> list[Any]:
        """The tensors that the operator is made from."""
        return self._graph_parents

    @property
    def is_non_singular(self) -> bool | None:
        """The hint whether there is an inverse."""
        return self._is_non_singular

    @property
    def is_self_adjoint(self) -> bool | None:
        """The hint whether this equals its adjoint."""
        return self._is_self_adjoint

    @property
    def is_positive_definite(self) -> bool | None:
        """The hint whether this is positive definite."""
        return self._is_positive_definite

    @property
    def is_square(self) -> Any:
        """True if there are as many rows as columns, by hint or by shape."""
        by_shape = self.domain_dimension == self.range_dimension
        hint = self._is_square_set_or_implied_by_hints
        if hint is False and by_shape:
            raise ValueError("User set is_square hint to False, but the operator was square.")
        return by_shape if hint is None else hint

    # ---- shapes

    @abc.abstractmethod
    def _shape(self) -> Any:
        raise NotImplementedError("_shape is not implemented.")

    @abc.abstractmethod
    def _shape_tensor(self) -> Any:
        raise NotImplementedError("_shape_tensor is not implemented.")

    @property
    def shape(self) -> TensorShape:
        """The static shape `[..., M, N]`."""
        return self._shape()

    def shape_tensor(self, name: str = "shape_tensor") -> Tensor:
        """Return the shape as a tensor."""
        with self._name_scope(name):
            if self.shape.is_fully_defined():
                return operator_util.shape_tensor(self.shape.as_list())
            return self._shape_tensor()

    @property
    def batch_shape(self) -> TensorShape:
        """The static shape without rows and columns."""
        return self.shape[:-2]

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Tensor:
        """Return the shape without rows and columns as a tensor."""
        with self._name_scope(name):
            if self.batch_shape.is_fully_defined():
                return operator_util.shape_tensor(self.batch_shape.as_list(), name="batch_shape")
            return self.shape_tensor()[:-2]

    @property
    def tensor_rank(self) -> int | None:
        """The static rank."""
        with self._name_scope("tensor_rank"):
            return self.shape.ndims

    def tensor_rank_tensor(self, name: str = "tensor_rank_tensor") -> Tensor:
        """Return the rank as a tensor."""
        with self._name_scope(name):
            rank = self.tensor_rank
            return size_of(self.shape_tensor()) if rank is None else convert_to_tensor(rank)

    @property
    def domain_dimension(self) -> Dimension:
        """The number of columns."""
        dims = self.shape.dims
        return Dimension(None) if dims is None else dims[-1]

    def domain_dimension_tensor(self, name: str = "domain_dimension_tensor") -> Tensor:
        """Return the number of columns as a tensor."""
        return self._size_tensor(name, -1)

    @property
    def range_dimension(self) -> Dimension:
        """The number of rows."""
        dims = self.shape.dims
        return dims[-2] if dims else Dimension(None)

    def range_dimension_tensor(self, name: str = "range_dimension_tensor") -> Tensor:
        """Return the number of rows as a tensor."""
        return self._size_tensor(name, -2)

    def _size_tensor(self, name: str, axis: int) -> Tensor:
        with self._name_scope(name):
            size = dimension_value(self.domain_dimension if axis == -1 else self.range_dimension)
            if size is not None:
                return convert_to_tensor(size)
            return self.shape_tensor()[axis]

    # ---- assertions

    def _assert_non_singular(self) -> Operation:
        _warn_slow("assert_non_singular")
        if self._can_use_cholesky():
            return self.assert_positive_definite()
        spectrum = svd(self.to_dense(), compute_uv=False)
        most, least = (reduce(spectrum, axis=-1) for reduce in (reduce_max, reduce_min))
        condition, limit = most / least, self._max_condition_number_to_be_non_singular()
        message = "Singular matrix up to precision epsilon."
        return assert_less(condition, limit, message=message)

    def _max_condition_number_to_be_non_singular(self) -> Any:
        with name_scope("max_nonsingular_condition_number"):
            epsilon = np.finfo(self.dtype.as_numpy_dtype).eps
            sizes = [
                100.0,
                cast(self.range_dimension_tensor(), self.dtype),
                cast(self.domain_dimension_tensor(), self.dtype),
            ]
            return 1.0 / (cast(reduce_max(sizes), self.dtype) * epsilon)

    def assert_non_singular(self, name: str = "assert_non_singular") -> Operation:
        """Return an op that fails if there is no inverse."""
        with self._name_scope(name):
            return self._assert_non_singular()

    def _assert_positive_definite(self) -> Operation:
        _warn_slow("assert_positive_definite")
        if not self.is_self_adjoint:
            raise NotImplementedError("assert_positive_definite is not implemented.")
        diagonal = matrix_diag_part(cholesky(self.to_dense()))
        return assert_positive(diagonal, message="Matrix was not positive definite.")

    def assert_positive_definite(self, name: str = "assert_positive_definite") -> Operation:
        """Return an op that fails if this is not positive definite."""
        with self._name_scope(name):
            return self._assert_positive_definite()

    def _assert_self_adjoint(self) -> Any:
        dense = self.to_dense()
        _warn_slow("assert_self_adjoint", ".")
        return assert_equal(
            dense, adjoint_of(dense), message="Matrix was not equal to its adjoint."
        )

    def assert_self_adjoint(self, name: str = "assert_self_adjoint") -> Any:
        """Return an op that fails if this is not its own adjoint."""
        with self._name_scope(name):
            return self._assert_self_adjoint()

    def _check_input_dtype(self, arg: Any) -> None:
        if arg.dtype.base_dtype != self.dtype:
            raise TypeError(
                f"Expected argument to have dtype {self.dtype}.  Found: {arg.dtype} in tensor {arg}"
            )

    # ---- products

    @abc.abstractmethod
    def _matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Any:
        raise NotImplementedError("_matmul is not implemented.")

    def _pair(self, other: Any, adjoint: bool, adjoint_arg: bool, label: str) -> tuple[Any, Any]:
        """Both operators, transposed as asked for, if they fit together."""
        left = self.adjoint() if adjoint else self
        right = other.adjoint() if adjoint_arg else other
        rows, columns = right.range_dimension, left.domain_dimension
        if rows is not None and columns is not None and rows != columns:
            raise ValueError(
                f"Operators are incompatible. Expected `{label}` to have dimension {columns} but "
                f"got {rows}."
            )
        return left, right

    def _argument(self, value: Any, name: str, own_axis: int, axis: int) -> Tensor:
        """Return an argument as a tensor, its size along `axis` checked against this operator's."""
        value = convert_to_tensor(value, name=name)
        self._check_input_dtype(value)
        own = dimension_at_index(self.shape, own_axis)
        own.assert_is_compatible_with(value.shape[axis])
        return value

    def matmul(
        self, x: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "matmul"
    ) -> Tensor:
        """Return the product with matrices.

        Args:
          x: a tensor `[..., N, R]` or another operator.
          adjoint: whether the adjoint of this is applied.
          adjoint_arg: whether to the adjoint of `x`.

        Returns:
          `[..., M, R]`, or an operator.
        """
        if isinstance(x, LinearOperator):
            left, right = self._pair(x, adjoint, adjoint_arg, "x")
            with self._name_scope(name):
                return algebra.matmul(left, right)
        with self._name_scope(name):
            x = self._argument(x, "x", -2 if adjoint else -1, -1 if adjoint_arg else -2)
            return self._matmul(x, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _matvec(self, x: Any, adjoint: bool = False) -> Tensor:
        return squeeze(self.matmul(expand_dims(x, axis=-1), adjoint=adjoint), axis=-1)

    def matvec(self, x: Any, adjoint: bool = False, name: str = "matvec") -> Tensor:
        """Return the product with vectors `[..., N]`."""
        with self._name_scope(name):
            x = self._argument(x, "x", -2 if adjoint else -1, -1)
            return self._matvec(x, adjoint=adjoint)

    # ---- determinants

    def _determinant(self) -> Tensor:
        _warn_slow("determinant")
        if self._can_use_cholesky():
            return exp(self.log_abs_determinant())
        return matrix_determinant(self.to_dense())

    def _check_determinant(self) -> None:
        if self.is_square is False:
            raise NotImplementedError(
                "Determinant not implemented for an operator that is expected to not be square."
            )

    def determinant(self, name: str = "det") -> Tensor:
        """Return the determinants, of the batch's shape."""
        self._check_determinant()
        with self._name_scope(name):
            return self._determinant()

    def _log_abs_determinant(self) -> Any:
        _warn_slow("determinant")
        if self._can_use_cholesky():
            diagonal = matrix_diag_part(cholesky(self.to_dense()))
            return 2 * reduce_sum(log(diagonal), axis=[-1])
        return log_matrix_determinant(self.to_dense())[1]

    def log_abs_determinant(self, name: str = "log_abs_det") -> Tensor:
        """Return the logarithms of the absolute determinants."""
        self._check_determinant()
        with self._name_scope(name):
            return self._log_abs_determinant()

    # ---- solving

    def _solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False) -> Tensor:
        if self.is_square is False:
            raise NotImplementedError("Solve is not yet implemented for non-square operators.")
        _warn_slow("solve")
        rhs = adjoint_of(rhs) if adjoint_arg else rhs
        if self._can_use_cholesky():
            factor = cholesky(self.to_dense())
            return operator_util.cholesky_solve_with_broadcast(factor, rhs)
        return operator_util.matrix_solve_with_broadcast(self.to_dense(), rhs, adjoint=adjoint)

    def solve(
        self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "solve"
    ) -> Tensor:
        """Return the solution X of `A X = rhs`.

        Args:
          rhs: a tensor `[..., M, R]` or another operator.
          adjoint: whether the adjoint of this is solved with.
          adjoint_arg: whether for the adjoint of `rhs`.

        Raises:
          NotImplementedError: if this is known not to be square or to be singular.
        """
        for hint, wrong in (
            (self.is_non_singular, "be singular"),
            (self.is_square, "not be square"),
        ):
            if hint is False:
                raise NotImplementedError(
                    f"Exact solve not implemented for an operator that is expected to {wrong}."
                )
        if isinstance(rhs, LinearOperator):
            left, right = self._pair(rhs, adjoint, adjoint_arg, "rhs")
            with self._name_scope(name):
                return algebra.solve(left, right)
        with self._name_scope(name):
            rhs = self._argument(rhs, "rhs", -1 if adjoint else -2, -1 if adjoint_arg else -2)
            return self._solve(rhs, adjoint=adjoint, adjoint_arg=adjoint_arg)

    def _solvevec(self, rhs: Any, adjoint: bool = False) -> Tensor:
        return squeeze(self.solve(expand_dims(rhs, axis=-1), adjoint=adjoint), axis=-1)

    def solvevec(self, rhs: Any, adjoint: bool = False, name: str = "solve") -> Tensor:
        """Return the solution x of `A x = rhs` for vectors `[..., M]`."""
        with self._name_scope(name):
            rhs = self._argument(rhs, "rhs", -1 if adjoint else -2, -1)
            return self._solvevec(rhs, adjoint=adjoint)

    # ---- other operators and tensors

    def adjoint(self, name: str = "adjoint") -> LinearOperator:
        """Return the conjugate transpose, itself if it is its own."""
        if self.is_self_adjoint is True:
            return self
        with self._name_scope(name):
            return algebra.adjoint(self)

    H = property(adjoint, None)

    def inverse(self, name: str = "inverse") -> LinearOperator:
        """Return the inverse.

        Raises:
          ValueError: if there is known to be none.
        """
        for hint, wrong in ((self.is_square, "non square"), (self.is_non_singular, "singular")):
            if hint is False:
                raise ValueError(
                    f"Cannot take the Inverse: This operator represents a {wrong} matrix."
                )
        with self._name_scope(name):
            return algebra.inverse(self)

    def cholesky(self, name: str = "cholesky") -> LinearOperator:
        """Return the Cholesky factor.

        Raises:
          ValueError: if this is not known to be self-adjoint and positive definite.
        """
        if not self._can_use_cholesky():
            raise ValueError(
                "Cannot take the Cholesky decomposition: Not a positive definite self adjoint "
                "matrix."
            )
        with self._name_scope(name):
            return algebra.cholesky(self)

    def _to_dense(self) -> Tensor:
        known = self.batch_shape.is_fully_defined()
        batch = self.batch_shape if known else self.batch_shape_tensor()
        size = dimension_value(self.domain_dimension)
        if size is None:
            size = self.domain_dimension_tensor()
        return self.matmul(eye(num_rows=size, batch_shape=batch, dtype=self.dtype))

    def to_dense(self, name: str = "to_dense") -> Tensor:
        """Return the matrices written out."""
        with self._name_scope(name):
            return self._to_dense()

    def _diag_part(self) -> Tensor:
        return matrix_diag_part(self.to_dense())

    def diag_part(self, name: str = "diag_part") -> Tensor:
        """Return the diagonals."""
        with self._name_scope(name):
            return self._diag_part()

    def _trace(self) -> Tensor:
        return reduce_sum(self.diag_part(), axis=-1)

    def trace(self, name: str = "trace") -> Tensor:
        """Return the sums of the diagonals."""
        with self._name_scope(name):
            return self._trace()

    def _add_to_tensor(self, x: Any) -> Any:
        return self.to_dense() + x

    def add_to_tensor(self, x: Any, name: str = "add_to_tensor") -> Tensor:
        """Return the sum with matrices."""
        with self._name_scope(name):
            x = convert_to_tensor(x, name="x")
            self._check_input_dtype(x)
            return self._add_to_tensor(x)

    def _can_use_cholesky(self) -> Any:
        return self.is_self_adjoint and self.is_positive_definite


register_operators(LinearOperator)
