"""Tridiagonal matrices: products and systems of equations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.graph import dims, dtypes
from stillflow.graph.card import op
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients, Kernel, OutputDims
from stillflow.graph.tensor_shape import dimension_value
from stillflow.ops.arrays import fill
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.gather_nd import gather_nd
from stillflow.ops.arrays.pad import pad
from stillflow.ops.arrays.shape import expand_dims, squeeze
from stillflow.ops.arrays.shape import rank as rank_of
from stillflow.ops.arrays.stack import stack
from stillflow.ops.arrays.transpose import matrix_transpose, transpose
from stillflow.ops.constants import constant
from stillflow.ops.linalg.diagonal import matrix_diag_part
from stillflow.ops.linalg.operands import diagonals_product, diagonals_system
from stillflow.ops.math.complex import conj
from stillflow.ops.math.reductions import reduce_sum
from stillflow.ops.samples import Bad, Sample, Samples

_RHS = np.array([[1.0, 2.0], [0.5, -1.0], [3.0, 1.5]])
_DIAGONALS = np.array([[1.0, 2.0, 0.0], [4.0, 5.0, 6.0], [0.0, 1.0, -1.0]])

# ---- systems of equations

tridiagonal_solve_op = op("""
    TridiagonalSolve(diagonals: T, rhs: T) -> output: T
    partial_pivoting: bool = true
    T: {double, float, complex64, complex128}
""")

tridiagonal_solve_op.check(diagonals_system)


@tridiagonal_solve_op.shape
def tridiagonal_solve_shape(node: Node) -> OutputDims:
    diagonals = dims.with_rank_at_least(node.dims(0), 2)
    rhs = dims.with_rank_at_least(node.dims(1), 2)
    if diagonals is None or rhs is None:
        return rhs
    batch = dims.merge(diagonals[:-2], rhs[:-2])
    assert batch is not None
    size = dims.merge_dim(diagonals[-1], rhs[-2])
    dims.with_value(diagonals[-2], 3)
    return (*batch, size, rhs[-1])


@tridiagonal_solve_op.kernel
def tridiagonal_solve_kernel(node: Node) -> Kernel:
    return _solve_pivoting if node.partial_pivoting else _solve_thomas


def _dense(diagonals: Any) -> torch.Tensor:
    upper, main, lower = diagonals.unbind(-2)
    return (
        torch.diag_embed(main)
        + torch.diag_embed(upper[..., :-1], 1)
        + torch.diag_embed(lower[..., 1:], -1)
    )


def _refuse(singular: bool, main: Any, pivoting: bool) -> None:
    if not singular:
        return
    message = "The matrix is not invertible."
    if main.shape[-1] == 1:
        message = "The matrix is not invertible: it is a scalar with value zero."
    elif not pivoting:
        message = (
            "The matrix is either not invertible, or requires pivoting. Try setting "
            "partial_pivoting = True."
        )
    raise errors.invalid_argument(message)


def _solve_pivoting(diagonals: Any, rhs: Any) -> Any:
    if rhs.numel() == 0:
        return rhs.clone()
    result, info = torch.linalg.solve_ex(_dense(diagonals), rhs)
    _refuse(bool(info.any()), diagonals, pivoting=True)
    return result.contiguous()


def _solve_thomas(diagonals: Any, rhs: Any) -> Any:
    """Elimination without pivoting, forward and back."""
    upper, main, lower = diagonals.unbind(-2)
    count = main.shape[-1]
    if rhs.numel() == 0:
        return rhs.clone()
    factors: list[Any] = []
    values: list[Any] = []
    for i in range(count):
        pivot, value = main[..., i], rhs[..., i, :]
        if i:
            pivot = pivot - lower[..., i] * factors[-1]
            value = value - lower[..., i, None] * values[-1]
        _refuse(bool((pivot == 0).any()), main, pivoting=False)
        factors.append(upper[..., i] / pivot)
        values.append(value / pivot[..., None])
    for i in range(count - 2, -1, -1):
        values[i] = values[i] - factors[i][..., None] * values[i + 1]
    return torch.stack(values, -2)


@tridiagonal_solve_op.gradient
def tridiagonal_solve_gradient(node: Node, grad: Tensor) -> Gradients:
    transposed = _transposed(node.inputs[0])
    grad_rhs = tridiagonal_solve_op(transposed, grad, partial_pivoting=node.partial_pivoting)
    return [-_three_diagonals_of_product(grad_rhs, node.outputs[0]), grad_rhs]


def _transposed(diagonals: Any) -> Any:
    main, filled = diagonals[..., 1, :], _zero_filler(diagonals, [])
    upper = filled(lambda: diagonals[..., 2, 1:], 1)
    lower = filled(lambda: diagonals[..., 0, :-1], -1)
    return stack([upper, main, lower], axis=-2)


def _zero_filler(like: Any, behind: list[Any]) -> Callable[[Callable[[], Any], int], Any]:
    """Return a function that adds zeros at the end, or the start for -1, of the last axis.

    Args:
      like: a tensor with the batch and the type of those that get zeros.
      behind: the sizes of their axes behind the one that is meant.
    """
    if like.shape.is_fully_defined():
        zeros = fill.zeros([*like.shape[:-2], 1, *behind], dtype=like.dtype)
        return lambda part, end: concat((part(), zeros)[::end], axis=-1 - len(behind))
    of_batch = fill.zeros((rank_of(like) - 2, 2), dtype=dtypes.int32)

    def padded(part: Callable[[], Any], end: int) -> Any:
        others = [[0, 1][::end], *([0, 0] for _ in behind)]
        padding = concat((of_batch, constant(others)), axis=0)
        return pad(part(), padding)

    return padded


def _three_diagonals_of_product(x: Any, y: Any) -> Any:
    """Return the diagonals of `x @ y^T`."""
    main, filled = reduce_sum(x * y, axis=-1), _zero_filler(y, [y.shape[-1]])
    upper = reduce_sum(x * filled(lambda: y[..., 1:, :], 1), axis=-1)
    lower = reduce_sum(x * filled(lambda: y[..., :-1, :], -1), axis=-1)
    return stack([upper, main, lower], axis=-2)


@tridiagonal_solve_op.samples
def tridiagonal_solve_samples() -> Samples:
    yield Sample(_DIAGONALS, _RHS, grad=False)
    yield Sample(_DIAGONALS, _RHS, partial_pivoting=False, grad=False)
    yield Bad(_DIAGONALS[:2], _RHS, match="must be 3")


# ---- products

tridiagonal_mat_mul_op = op(
    """
    TridiagonalMatMul(superdiag: T, maindiag: T, subdiag: T, rhs: T) -> output: T
    T: {double, float, complex64, complex128}
""",
    latency="long",
)


@tridiagonal_mat_mul_op.shape
def tridiagonal_mat_mul_shape(node: Node) -> OutputDims:
    *rows, rhs = [dims.with_rank_at_least(node.dims(i), 2) for i in range(4)]
    upper, main, lower = rows
    row = dims.merge(upper, main)
    batch = None if rhs is None else rhs[:-2]
    for diagonal in (main, lower):
        batch = dims.merge(diagonal and diagonal[:-2], batch)
    row = dims.merge(lower, row)
    if row is not None:
        if rhs is not None:
            dims.merge_dim(row[-1], rhs[-2])
        dims.with_value(row[-2], 1)
    return rhs


tridiagonal_mat_mul_op.check(diagonals_product)


@tridiagonal_mat_mul_op.kernel
def tridiagonal_mat_mul_kernel(node: Node) -> Kernel:
    def product(upper: Any, main: Any, lower: Any, rhs: Any) -> torch.Tensor:
        result = main.mT * rhs
        result[..., :-1, :] += upper.mT[..., :-1, :] * rhs[..., 1:, :]
        result[..., 1:, :] += lower.mT[..., 1:, :] * rhs[..., :-1, :]
        return result

    return product


def _shift(x: Any, left: bool) -> Any:
    """Rows moved by one, zeros coming in."""
    zeros = fill.zeros((rank_of(x) - 2, 2), dtype=dtypes.int32)
    ends = constant([[0, 1] if left else [1, 0], [0, 0]])
    padding = concat([zeros, ends], axis=0)
    return pad(x[..., 1:, :] if left else x[..., :-1, :], padding)


@tridiagonal_mat_mul_op.gradient
def tridiagonal_mat_mul_gradient(node: Node, grad: Any) -> Gradients:
    upper, main, lower = [
        matrix_transpose(diagonal, conjugate=True) for diagonal in node.inputs[:3]
    ]
    rhs = conj(node.inputs[3])
    grads = [
        reduce_sum(_shift(rhs, left=True) * grad, axis=-1),
        reduce_sum(rhs * grad, axis=-1),
        reduce_sum(_shift(rhs, left=False) * grad, axis=-1),
    ]
    grad_rhs = _shift(upper * grad, left=False) + main * grad + _shift(lower * grad, left=True)
    return [*[expand_dims(diagonal, -2) for diagonal in grads], grad_rhs]


@tridiagonal_mat_mul_op.samples
def tridiagonal_mat_mul_samples() -> Samples:
    upper, main, lower = _DIAGONALS[:, None]
    yield Sample(upper, main, lower, _RHS, grad=False)


# ---- public functions


def _side(diagonals: Any) -> int | None:
    """Return the static size of matrices that are given whole."""
    columns, rows = dimension_value(diagonals.shape[-1]), dimension_value(diagonals.shape[-2])
    if columns and rows and columns != rows:
        raise ValueError(
            f"Expected last two dimensions of diagonals to be same, got {columns} and {rows}"
        )
    return columns or rows


def _stacked(diagonals: Any) -> Any:
    """Three diagonals in one tensor, shorter ones padded."""
    if not isinstance(diagonals, (tuple, list)) or len(diagonals) != 3:
        raise ValueError("Expected diagonals to be a sequence of length 3.")
    upper, main, lower = diagonals
    batch = main.shape[:-1]
    if not all(other.shape[:-1].is_compatible_with(batch) for other in (lower, upper)):
        raise ValueError(
            "Tensors representing the three diagonals must have the same shape,except for the "
            f"last dimension, got {lower.shape}, {main.shape}, {upper.shape}"
        )
    size = dimension_value(main.shape[-1])

    def padded(diagonal: Any, name: str, padding: list[int]) -> Any:
        length = dimension_value(diagonal.shape[-1])
        if not length or length == size:
            return diagonal
        if length == size - 1:
            return pad(diagonal, [[0, 0]] * (len(diagonal.shape) - 1) + [padding])
        raise ValueError(f"Expected {name} to be have length {size} or {size - 1}, got {length}.")

    lower = padded(lower, "subdiagonal", [1, 0])
    upper = padded(upper, "superdiagonal", [0, 1])
    return stack((upper, main, lower), axis=-2)


def _gathered(diagonals: Any) -> Any:
    """Return the three diagonals of matrices that are given whole."""
    size = _side(diagonals)
    if not size:
        raise ValueError('The size of the matrix needs to be known for diagonals_format="matrix"')
    unused, last = [0, 0], size - 1
    indices = [[[1, 0], [0, 0], unused]]
    indices += [[[i + 1, i], [i, i], [i - 1, i]] for i in range(1, last)]
    indices += [[unused, [last, last], [last - 1, last]]]
    return transpose(gather_nd(transpose(diagonals), indices))


@export("linalg.tridiagonal_solve")
def tridiagonal_solve(
    diagonals: Any,
    rhs: Any,
    diagonals_format: str = "compact",
    transpose_rhs: bool = False,
    conjugate_rhs: bool = False,
    name: str | None = None,
    partial_pivoting: bool = True,
) -> Tensor:
    """Solves tridiagonal systems of equations.

    Args:
      diagonals: "compact": `[..., 3, M]`, above, on and below the diagonal; "sequence": these three
        in a list; "matrix": `[..., M, M]`.
      rhs: `[..., M]` or `[..., M, K]`.
      diagonals_format: as above.
      transpose_rhs: whether `rhs` and the solution are transposed.
      conjugate_rhs: whether `rhs` is conjugated.
      name: of the operation.
      partial_pivoting: whether rows are swapped for stability.

    Raises:
      ValueError: if shapes do not fit.
    """
    if diagonals_format == "sequence":
        diagonals = _stacked(diagonals)
    elif diagonals_format == "matrix":
        diagonals = _gathered(diagonals)
    elif diagonals_format != "compact":
        raise ValueError(f"Unrecognized diagonals_format: {diagonals_format}")
    _check_shapes(diagonals, rhs)

    def solve(right: Any) -> Any:
        rows, wanted = right.shape[-2], diagonals.shape[-1]
        if wanted and rows and wanted != rows:
            raise ValueError(
                "Expected number of left-hand sided and right-hand sides to be equal, got "
                f"{wanted} and {rows}"
            )
        return tridiagonal_solve_op(diagonals, right, partial_pivoting=partial_pivoting, name=name)

    if len(rhs.shape) == len(diagonals.shape) - 1:
        rhs = conj(rhs) if conjugate_rhs else rhs
        return squeeze(solve(expand_dims(rhs, -1)), -1)
    if transpose_rhs:
        right = matrix_transpose(rhs, conjugate=conjugate_rhs)
        return matrix_transpose(solve(right))
    return solve(conj(rhs) if conjugate_rhs else rhs)


def _check_shapes(diagonals: Any, rhs: Any) -> None:
    rank, rhs_rank = len(diagonals.shape), len(rhs.shape)
    if rank < 2:
        raise ValueError(f"Expected diagonals to have rank at least 2, got {rank}")
    if rhs_rank not in (rank, rank - 1):
        raise ValueError(f"Expected the rank of rhs to be {rank - 1} or {rank}, got {rhs_rank}")
    if diagonals.shape[-2] and diagonals.shape[-2] != 3:
        raise ValueError(f"Expected 3 diagonals got {diagonals.shape[-2]}")
    batch, rhs_batch = diagonals.shape[:-2], rhs.shape[: rank - 2]
    if not batch.is_compatible_with(rhs_batch):
        raise ValueError(f"Batch shapes {batch} and {rhs_batch} are incompatible")


@export("linalg.tridiagonal_matmul")
def tridiagonal_matmul(
    diagonals: Any, rhs: Any, diagonals_format: str = "compact", name: str | None = None
) -> Tensor:
    """Return the products of tridiagonal matrices with matrices; see `tridiagonal_solve`.

    Raises:
      ValueError: for an unknown format or a matrix that is not square.
    """
    if diagonals_format == "compact":
        three = [diagonals[..., i, :] for i in range(3)]
    elif diagonals_format == "sequence":
        three = list(diagonals)
    elif diagonals_format == "matrix":
        three = _diagonals_of(diagonals)
    else:
        raise ValueError(f"Unrecognized diagonals_format: {diagonals_format}")
    upper, main, lower = [expand_dims(diagonal, -2) for diagonal in three]
    return tridiagonal_mat_mul_op(upper, main, lower, rhs, name=name)


def _diagonals_of(matrix: Any) -> list[Any]:
    columns, rows = dimension_value(matrix.shape[-1]), dimension_value(matrix.shape[-2])
    if not columns or not rows:
        raise ValueError('The size of the matrix needs to be known for diagonals_format="matrix"')
    size = _side(matrix)
    assert size is not None
    main = matrix_diag_part(matrix)
    transposed = transpose(matrix)
    above = [[i + 1, i] for i in range(size - 1)] + [[0, 0]]
    below = [[0, 0]] + [[i - 1, i] for i in range(1, size)]
    upper = transpose(gather_nd(transposed, above))
    lower = transpose(gather_nd(transposed, below))
    return [upper, main, lower]
