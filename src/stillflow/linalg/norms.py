"""Norms of vectors and matrices, ranks and pseudo-inverses."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.functional.map_fn import map_fn
from stillflow.graph import dtypes
from stillflow.graph.api import control_dependencies, name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import dimension_value
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.select import where_v2
from stillflow.ops.arrays.sequences import range as range_
from stillflow.ops.arrays.shape import expand_dims, shape, squeeze
from stillflow.ops.arrays.shape import rank as rank_of
from stillflow.ops.arrays.transpose import transpose
from stillflow.ops.arrays.unique import setdiff1d
from stillflow.ops.control_flow.cond import cond
from stillflow.ops.control_flow.identity_and_group import identity
from stillflow.ops.debugging.ranks import assert_rank_at_least
from stillflow.ops.linalg.decompositions import svd, svd_op
from stillflow.ops.linalg.matmul import matmul
from stillflow.ops.math.binary import maximum
from stillflow.ops.math.binary import pow as pow_
from stillflow.ops.math.cast import cast
from stillflow.ops.math.comparison import equal
from stillflow.ops.math.complex import conj
from stillflow.ops.math.reductions import reduce_max, reduce_sum
from stillflow.ops.math.unary import abs as abs_
from stillflow.ops.math.unary import sqrt
from stillflow.util.renamed import renamed_argument

_MATRIX_NORMS = ["euclidean", "fro", 1, 2, np.inf]
_VECTOR_NORMS = ["euclidean", 1, 2, np.inf]
_BAD_AXIS = "'axis' must be None, an integer, or a tuple of 2 unique integers"


def _axes(ord: Any, axis: Any) -> tuple[bool, Any]:
    """Return True for matrix norms, and the axes as a tuple or None."""
    if isinstance(axis, (tuple, list)) and len(axis) == 2:
        axes = tuple(axis)
        if not all(isinstance(number, int) for number in axes) or axes[0] == axes[1]:
            raise ValueError(_BAD_AXIS)
        if ord not in _MATRIX_NORMS:
            raise ValueError(f"'ord' must be a supported matrix norm in {_MATRIX_NORMS}, got {ord}")
        return True, axes
    if not (isinstance(axis, int) or axis is None):
        raise ValueError(_BAD_AXIS)
    if (not np.isreal(ord) or ord <= 0) and ord not in _VECTOR_NORMS:
        raise ValueError(f"'ord' must be a supported vector norm, got {ord}")
    return False, None if axis is None else (axis,)


@export("norm", "linalg.norm")
def norm(
    tensor: Any,
    ord: Any = "euclidean",
    axis: Any = None,
    keepdims: bool | None = None,
    name: str | None = None,
    keep_dims: bool | None = None,
) -> Tensor:
    """Return the norm of vectors or matrices, or of all elements as one vector.

    Args:
      tensor: real or complex.
      ord: "euclidean", "fro" (matrices only), a positive number, or `np.inf`.
      axis: None for all elements, an integer for vectors, two for matrices.
      keepdims: whether reduced dimensions stay, with size 1.
      name: of the operation.
      keep_dims: the old name of `keepdims`.

    Raises:
      ValueError: for an order or an axis that there is not.
    """
    keepdims = renamed_argument("keepdims", keepdims, "keep_dims", keep_dims)
    matrix, axes = _axes(ord, axis)
    with name_scope(name, "norm", [tensor]):
        tensor = convert_to_tensor(tensor)
        if ord not in ("fro", "euclidean", 2, 2.0):
            result = _of_absolute_values(abs_(tensor), ord, axes, matrix)
        elif matrix and ord in (2, 2.0):
            result = _largest_singular_value(tensor, axes)
        else:
            result = sqrt(reduce_sum(tensor * conj(tensor), axes, keepdims=True))
        return result if keepdims else squeeze(result, axes)


def _largest_singular_value(tensor: Any, axes: tuple[int, ...]) -> Any:
    rank = rank_of(tensor)

    def from_start(axis: Any) -> Any:
        return cond(axis >= 0, lambda: axis, lambda: axis + rank)

    matrix = map_fn(from_start, convert_to_tensor(axes))
    every = range_(rank)
    batch, _ = setdiff1d(every, matrix)
    order = concat([batch, matrix], axis=0)

    def place(axis: Any) -> Any:
        return cast(squeeze(where_v2(equal(order, axis))), dtype=dtypes.int32)

    inverse = map_fn(place, every)
    values, *_ = svd_op(transpose(tensor, perm=order), compute_uv=False)
    largest = reduce_max(abs_(values), axis=-1, keepdims=True)
    return transpose(expand_dims(largest, axis=-1), perm=inverse)


def _of_absolute_values(values: Any, ord: Any, axes: Any, matrix: bool) -> Tensor:
    first = None if axes is None else axes[0]
    if ord == 1:
        sums = reduce_sum(values, first, keepdims=True)
        return reduce_max(sums, axes[-1], keepdims=True) if matrix else sums
    if ord == np.inf:
        if matrix:
            values = reduce_sum(values, axes[1], keepdims=True)
        return reduce_max(values, first, keepdims=True)
    return pow_(reduce_sum(pow_(values, ord), axes, keepdims=True), 1.0 / ord)


@export("linalg.normalize")
def normalize(
    tensor: Any, ord: Any = "euclidean", axis: Any = None, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """`tensor` divided by its norm, and the norm; see `norm` for the arguments."""
    with name_scope(name, "normalize", [tensor]):
        tensor = convert_to_tensor(tensor)
        length = cast(norm(tensor, ord, axis, keepdims=True), tensor.dtype)
        return tensor / length, length


def _checked_matrix(a: Any, validate_args: bool) -> Any:
    if not a.dtype.is_floating:
        raise TypeError(f"Input `a` must have `float`-like `dtype` (saw {a.dtype.name}).")
    rank = a.shape.ndims
    if rank is not None:
        if rank < 2:
            raise ValueError(f"Input `a` must have at least 2 dimensions (saw: {rank}).")
    elif validate_args:
        check = assert_rank_at_least(
            a, rank=2, message="Input `a` must have at least 2 dimensions."
        )
        with control_dependencies([check]):
            return identity(a)
    return a


@export("linalg.matrix_rank")
def matrix_rank(
    a: Any, tol: Any = None, validate_args: bool = False, name: str | None = None
) -> Tensor:
    """Return the number of singular values of matrices that are larger than `tol`.

    Args:
      a: `[..., M, N]`, real.
      tol: by default a bound of rounding errors.
      validate_args: whether the graph checks the rank of `a`.

    Raises:
      TypeError: for other types.
      ValueError: for fewer than two dimensions.
    """
    with name_scope(name or "matrix_rank"):
        a = convert_to_tensor(a, preferred_dtype=dtypes.float32, name="a")
        a = _checked_matrix(a, validate_args)
        values = svd(a, compute_uv=False)
        if tol is None:
            sides = a.shape[-2:]
            if sides.is_fully_defined():
                longest = np.max(sides.as_list())
            else:
                longest = reduce_max(shape(a)[-2:])
            epsilon = np.finfo(a.dtype.as_numpy_dtype).eps
            tol = epsilon * cast(longest, a.dtype) * reduce_max(values, axis=-1, keepdims=True)
        return reduce_sum(cast(values > tol, dtypes.int32), axis=-1)


@export("linalg.pinv")
def pinv(a: Any, rcond: Any = None, validate_args: bool = False, name: str | None = None) -> Tensor:
    """Return the Moore-Penrose pseudo-inverses of matrices.

    Args:
      a: `[..., M, N]`, real.
      rcond: singular values below `rcond` times the largest count as zero.
      validate_args: whether the graph checks the rank of `a`.

    Raises:
      TypeError: for other types.
      ValueError: for fewer than two dimensions.
    """
    with name_scope(name or "pinv"):
        a = _checked_matrix(convert_to_tensor(a, name="a"), validate_args)
        dtype = a.dtype.as_numpy_dtype
        if rcond is None:
            rcond = 10.0 * _longest_side(a, dtype) * np.finfo(dtype).eps
        rcond = convert_to_tensor(rcond, dtype=dtype, name="rcond")
        values, left, right = svd(a, full_matrices=False, compute_uv=True)
        cutoff = rcond * reduce_max(values, axis=-1)
        kept = values > expand_dims(cutoff, -1)
        values = where_v2(kept, values, np.array(np.inf, dtype))
        result = matmul(right / expand_dims(values, -2), left, adjoint_b=True)
        if a.shape.ndims is not None:
            result.set_shape(a.shape[:-2].concatenate([a.shape[-1], a.shape[-2]]))
        return result


def _longest_side(a: Any, dtype: Any) -> float | Tensor:
    rows, columns = (
        shape(a)[axis] if dimension_value(a.shape[axis]) is None else dimension_value(a.shape[axis])
        for axis in (-2, -1)
    )
    if isinstance(rows, int) and isinstance(columns, int):
        return float(max(rows, columns))
    return cast(maximum(rows, columns), dtype)
