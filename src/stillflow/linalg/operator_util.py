"""Shared parts of operators: checks, hints, and solvers that broadcast over batches."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any, overload

import numpy as np

from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.dtypes import DType
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow.ops.arrays import fill
from stillflow.ops.arrays.broadcast import (
    broadcast_dynamic_shape,
    broadcast_static_shape,
    broadcast_to,
)
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.shape import reshape
from stillflow.ops.arrays.shape import shape as shape_of
from stillflow.ops.arrays.transpose import transpose
from stillflow.ops.control_flow.identity_and_group import no_op
from stillflow.ops.debugging.comparisons import assert_equal, assert_less
from stillflow.ops.debugging.types import assert_proper_iterable
from stillflow.ops.linalg.decompositions import adjoint as adjoint_of
from stillflow.ops.linalg.solvers import cholesky_solve, matrix_solve, matrix_triangular_solve
from stillflow.ops.math.complex import imag
from stillflow.ops.math.unary import abs as abs_
from stillflow.variables.base import VariableV2
from stillflow.variables.module import Module


@overload
def convert_nonref_to_tensor(
    value: None, dtype: Any = ..., dtype_hint: Any = ..., name: str | None = ...
) -> None: ...
@overload
def convert_nonref_to_tensor(
    value: object, dtype: Any = ..., dtype_hint: Any = ..., name: str | None = ...
) -> Tensor: ...
def convert_nonref_to_tensor(
    value: Any, dtype: Any = None, dtype_hint: Any = None, name: str | None = None
) -> Tensor | None:
    """Return a tensor of `value`; variables, which change, and None stay as they are.

    TypeError if a variable has another type than `dtype`.
    """
    if value is None:
        return None
    if not is_ref(value):
        return convert_to_tensor(value, dtype=dtype, preferred_dtype=dtype_hint, name=name)
    if dtype is not None and base_dtype(dtype) != base_dtype(value.dtype):
        wanted, found = dtype_name(base_dtype(dtype)), dtype_name(base_dtype(value.dtype))
        raise TypeError(f'Mutable type must be of dtype "{wanted}" but is "{found}".')
    return value


def base_dtype(dtype: Any) -> Any:
    """Return the type without reference."""
    return dtypes.as_dtype(dtype).base_dtype


def dtype_name(dtype: Any) -> str:
    """Return the name of a type."""
    return dtypes.as_dtype(dtype).name


def is_ref(x: Any) -> bool:
    """Return True if `x` is a variable, or a module that acts as a tensor."""
    if isinstance(x, VariableV2):
        return True
    return isinstance(x, Module) and hasattr(x, "dtype") and hasattr(x, "shape")


def assert_not_ref_type(x: Any, arg_name: str) -> None:
    """Raise TypeError for variables."""
    if is_ref(x):
        raise TypeError(f"Argument {arg_name} cannot be reference type. Found: {type(x)}")


def _real_zero(x: Any) -> Tensor:
    """Return zero in the type of the real parts."""
    return convert_to_tensor(0, dtype=x.dtype.base_dtype.real_dtype)


def assert_no_entries_with_modulus_zero(
    x: Any, message: str | None = None, name: str = "assert_no_entries_with_modulus_zero"
) -> Operation:
    """Return an op that fails where an element is zero."""
    with name_scope(name, values=[x]):
        tensor = convert_to_tensor(x, name="x")
        modulus = abs_(tensor)
        return assert_less(_real_zero(tensor), modulus, message=message)


def assert_zero_imag_part(
    x: Any, message: str | None = None, name: str = "assert_zero_imag_part"
) -> Any:
    """Return an op that fails where an element has an imaginary part."""
    with name_scope(name, values=[x]):
        tensor: Any = convert_to_tensor(x, name="x")
        if tensor.dtype.base_dtype.is_floating:
            return no_op()
        return assert_equal(_real_zero(tensor), imag(tensor), message=message)


def self_adjoint_if_real(values: Any, hint: bool | None, message: str = "") -> bool | None:
    """Return the hint `is_self_adjoint` of an operator with these eigenvalues.

    Raises:
      ValueError: if they are real and the hint is False.
    """
    if values.dtype.is_complex:
        return hint
    if hint is False:
        raise ValueError(message or "A real diagonal operator is always self adjoint.")
    return True


def assert_rank_at_least(rank: int, tensor: Any, argument: str) -> None:
    """Raise an error for a tensor that is known to have fewer dimensions.

    Raises:
      ValueError: if it has.
    """
    if tensor.shape.ndims is not None and tensor.shape.ndims < rank:
        dimensions = "1 dimension" if rank == 1 else f"{rank} dimensions"
        raise ValueError(f"Argument {argument} must have at least {dimensions}.  Found: {tensor}")


def assert_compatible_matrix_dimensions(operator: Any, x: Any) -> Operation | None:
    """Return an op that fails if `operator` cannot be applied to `x`."""
    return assert_equal(
        shape_of(x)[-2],
        operator.domain_dimension_tensor(),
        message="Dimensions are not compatible.  shape[-2] of argument to be the same as this "
        "operator",
    )


def assert_is_batch_matrix(tensor: Any) -> None:
    """Raise ValueError for vectors and scalars."""
    if tensor.shape.ndims is not None and tensor.shape.ndims < 2:
        raise ValueError(
            f"Expected [batch] matrix to have at least two dimensions.  Found: {tensor}"
        )


def shape_tensor(shape: Any, name: str | None = None) -> Tensor:
    """Return a shape as a tensor, of int32 where it is empty."""
    empty = isinstance(shape, (tuple, list)) and not shape
    return convert_to_tensor(shape, dtype=dtypes.int32 if empty else None, name=name)


def broadcast_matrix_batch_dims(batch_matrices: Any, name: str | None = None) -> list[Any]:
    """Broadcast the batch dimensions of matrices `[..., rows, columns]` against each other."""
    with name_scope(name or "broadcast_matrix_batch_dims", values=batch_matrices):
        assert_proper_iterable(batch_matrices)
        matrices: list[Any] = [convert_to_tensor(matrix) for matrix in batch_matrices]
        for matrix in matrices:
            assert_is_batch_matrix(matrix)
        if len(matrices) < 2:
            return matrices
        known = reduce(broadcast_static_shape, (matrix.shape[:-2] for matrix in matrices))
        if known.is_fully_defined():
            return [
                matrix if matrix.shape[:-2] == known else _with_batch(matrix, known.as_list())
                for matrix in matrices
            ]
        batches = (shape_of(matrix)[:-2] for matrix in matrices)
        batch = reduce(broadcast_dynamic_shape, batches)
        return [_with_batch(matrix, batch) for matrix in matrices]


def _with_batch(matrix: Any, batch: Any) -> Tensor:
    return broadcast_to(matrix, concat([batch, shape_of(matrix)[-2:]], axis=0))


def cholesky_solve_with_broadcast(chol: Any, rhs: Any, name: str | None = None) -> Tensor:
    """`cholesky_solve` for batches of different shapes."""
    with name_scope(name, "CholeskySolveWithBroadcast", [chol, rhs]):
        chol, rhs = broadcast_matrix_batch_dims([chol, rhs])
        return cholesky_solve(chol, rhs)


def _solve(matrix: Any, rhs: Any, adjoint: bool, solver: Callable[..., Any]) -> Tensor:
    """Return `solver(matrix, rhs, transposed, adjoint)`, batches broadcast and made small.

    `transposed` says that the solver is given the transpose instead of being asked for it.
    """
    matrix = convert_to_tensor(matrix, name="matrix")
    rhs = convert_to_tensor(rhs, name="rhs", dtype=matrix.dtype)
    matrix, rhs, restore, reshaped = _reshape_for_efficiency(matrix, rhs, adjoint)
    operands = broadcast_matrix_batch_dims([matrix, rhs])
    return restore(solver(*operands, adjoint and reshaped, adjoint and not reshaped))


def matrix_solve_with_broadcast(
    matrix: Any, rhs: Any, adjoint: bool = False, name: str | None = None
) -> Tensor:
    """`matrix_solve` for batches of different shapes."""

    def solver(a: Any, b: Any, _: bool, adjoint: bool) -> Tensor:
        return matrix_solve(a, b, adjoint=adjoint)

    with name_scope(name, "MatrixSolveWithBroadcast", [matrix, rhs]):
        return _solve(matrix, rhs, adjoint, solver)


def matrix_triangular_solve_with_broadcast(
    matrix: Any, rhs: Any, lower: bool = True, adjoint: bool = False, name: str | None = None
) -> Tensor:
    """`matrix_triangular_solve` for batches of different shapes."""

    def solver(a: Any, b: Any, transposed: bool, adjoint: bool) -> Tensor:
        is_lower = not lower if transposed else lower
        return matrix_triangular_solve(a, b, lower=is_lower, adjoint=adjoint)

    with name_scope(name, "MatrixTriangularSolve", [matrix, rhs]):
        return _solve(matrix, rhs, adjoint, solver)


def _unchanged(x: Any) -> Tensor:
    return x


def _reshape_for_efficiency(
    a: Any, b: Any, adjoint: bool
) -> tuple[Any, Any, Callable[[Any], Any], bool]:
    """Make batch dimensions that only `b` has further columns of it, which saves copies of `a`.

    Returns:
      `a`, transposed if it was reshaped, `b`, what turns a solution back, and whether reshaped.
    """
    same = (a, b, _unchanged, False)
    if a.shape.ndims is None or b.shape.ndims is None or a.shape.ndims >= b.shape.ndims:
        return same
    extra = b.shape.ndims - a.shape.ndims
    # The graph that is compared against has these nodes twice.
    shape_of(b)[:extra]
    shape_of(b)[extra:]
    outer = b.shape[:extra]
    if outer.is_fully_defined():
        rows = a.shape[-2 if adjoint else -1]
        if np.prod(outer.as_list()) < 2 or rows <= b.shape[-1]:
            return same
    if adjoint:
        a = adjoint_of(a)
    extra_sizes, main_sizes = shape_of(b)[:extra], shape_of(b)[extra:]
    order = np.concatenate((np.arange(extra, b.shape.ndims), np.arange(0, extra)), 0)
    at_end = transpose(b, perm=order)
    squashed = reshape(at_end, concat((main_sizes[:-1], [-1]), 0))

    def restore(y: Any) -> Tensor:
        sizes = concat((shape_of(y)[:-1], [main_sizes[-1]], extra_sizes), 0)
        return transpose(reshape(y, sizes), perm=np.argsort(order))

    return a, squashed, restore, True


def use_operator_or_provided_hint_unless_contradicting(
    operator: Any, hint_attr_name: str, provided_hint_value: Any, message: str
) -> bool | None:
    """Merge an operator's own hint with the user's; ValueError if they contradict each other."""
    own = getattr(operator, hint_attr_name)
    hints = (own, provided_hint_value)
    if (own is False and provided_hint_value) or (own and provided_hint_value is False):
        raise ValueError(message)
    if any(hints):
        return True
    return False if any(hint is False for hint in hints) else None


def common_dtype(operators: list[Any]) -> DType:
    """Return the type that all operators have; TypeError if they differ."""
    dtype = operators[0].dtype
    if any(operator.dtype != dtype for operator in operators):
        found = "   ".join(str((operator.name, operator.dtype)) for operator in operators)
        raise TypeError(f"Expected all operators to have the same dtype.  Found {found}")
    return dtype


def graph_parents(operators: list[Any]) -> list[Any]:
    """Return the tensors that operators are made from."""
    return [parent for operator in operators for parent in operator.graph_parents]


def implied(operators: list[Any], hint: str, given: bool | None, message: str) -> bool | None:
    """Return a hint that holds for a combination if it holds for all its operators.

    ValueError with `message`, if the user denies it.
    """
    if not all(getattr(operator, hint) for operator in operators):
        return given
    if given is False:
        raise ValueError(message)
    return True


def broadcast_batch_shape(operators: list[Any]) -> TensorShape:
    """Return the static batch shape of a combination of operators."""
    shape = operators[0].batch_shape
    for operator in operators[1:]:
        shape = broadcast_static_shape(shape, operator.batch_shape)
    return shape


def batch_shape_by_addition(operators: list[Any]) -> Any:
    """Return the batch shape of a combination, found by adding zeros."""
    zeros = fill.zeros(shape=operators[0].batch_shape_tensor())
    for operator in operators[1:]:
        zeros += fill.zeros(shape=operator.batch_shape_tensor())
    return shape_of(zeros)
