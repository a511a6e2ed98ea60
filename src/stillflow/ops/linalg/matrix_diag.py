"""Matrices with given diagonals, and the diagonals of matrices: MatrixDiag and its relatives.

The ops of version 2 take a range of diagonals `(lower, upper)`, counted from the main one upwards;
several diagonals stand in rows, the uppermost first, each filled up on its right.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.graph import dims as dims_lib
from stillflow.graph.card import op
from stillflow.graph.lazy import torch
from stillflow.graph.node import Call, Node
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.kernels import ints
from stillflow.ops.samples import Bad, Sample, Samples

# ---- Cards

matrix_diag_op = op("MatrixDiag(diagonal: T) -> output: T; T: type")
matrix_diag_v2_op = op(
    "MatrixDiagV2(diagonal: T, k: int32, num_rows: int32, num_cols: int32, padding_value: T) "
    "-> output: T; T: type",
    numbers=("k", "num_rows", "num_cols"),
)
matrix_diag_part_op = op("MatrixDiagPart(input: T) -> diagonal: T; T: type")
matrix_diag_part_v2_op = op(
    "MatrixDiagPartV2(input: T, k: int32, padding_value: T) -> diagonal: T; T: type", numbers=("k",)
)
matrix_set_diag_op = op("MatrixSetDiag(input: T, diagonal: T) -> output: T; T: type")
matrix_set_diag_v2_op = op(
    "MatrixSetDiagV2(input: T, diagonal: T, k: int32) -> output: T; T: type", numbers=("k",)
)
# The names of these ops in the oldest graphs.
batch_matrix_diag_op = op("BatchMatrixDiag(diagonal: T) -> output: T; T: type")
batch_matrix_diag_part_op = op("BatchMatrixDiagPart(input: T) -> diagonal: T; T: type")
batch_matrix_set_diag_op = op("BatchMatrixSetDiag(input: T, diagonal: T) -> output: T; T: type")


def _at_least(node: Node, index: int, rank: int, name: str) -> tuple[int | None, ...] | None:
    """Return the shape of an input with a minimum rank, checked by the kernel at run time."""
    dims = node.dims(index)
    if node.planning and dims is not None and len(dims) < rank:
        raise ValueError(
            f"{name} must be at least {rank}-dim, received shape: {dims_lib.to_string(dims)}"
        )
    return dims_lib.with_rank_at_least(dims, rank)


def _range(k: list[int]) -> tuple[int, int]:
    """Return the lowest and the uppermost diagonal that `k` names."""
    if not 1 <= len(k) <= 2:
        raise ValueError(
            f"diag_index must have only one or two elements, received {len(k)} elements."
        )
    lower, upper = k[0], k[-1]
    if lower > upper:
        raise ValueError(
            f"lower_diag_index must not be larger than upper_diag_index: {lower} > {upper}"
        )
    return lower, upper


def _known_range(node: Node, index: int) -> tuple[int, int] | None:
    if len(node.inputs) <= index:
        return 0, 0
    given = node.dims(index)
    if node.planning and given is not None and len(given) > 1:
        raise ValueError(
            f"diag_index must be a scalar or vector, received shape: {dims_lib.to_string(given)}"
        )
    dims_lib.with_rank_at_most(given, 1)
    value = node.value(index)
    if value is None:
        return None
    k = value.ravel().tolist()
    if node.planning:
        return _range(k)
    if not 1 <= len(k) <= 2:
        raise ValueError(
            f"diag_index must be a vector with one or two elements. It has {len(k)} elements."
        )
    if k[0] > k[-1]:
        raise ValueError("lower_diag_index is greater than upper_diag_index")
    return k[0], k[-1]


def _check_bounds(lower: int, upper: int, rows: int, columns: int, dot: str = "") -> None:
    for name, index, end in (("lower", lower, dot), ("upper", upper, "")):
        if index and not -rows < index < columns:
            raise ValueError(
                f"{name}_diag_index is out of bound: {index}{end} It must be between "
                f"{-rows} and {columns}"
            )


def _check_static_bounds(lower: int, upper: int, dims: Any) -> None:
    """Raise an error for diagonals outside of matrices of known size, at graph construction."""
    if None in dims[-2:]:
        return
    for name, index in (("lower", lower), ("upper", upper)):
        if index and not -dims[-2] < index < dims[-1]:
            raise ValueError(f"{name}_diag_index is out of bound.")


def longest(lower: int, upper: int, rows: int, columns: int) -> int:
    """Return the length of the longest diagonal of a range."""
    return min(rows + min(upper, 0), columns - max(lower, 0))


# ---- MatrixDiag


def matrix_diag_shape(node: Node) -> Any:
    dims = _at_least(node, 0, 1, "diagonal")
    return None if dims is None else (*dims, dims[-1])


def _matrix_size(length: int, lower: int, upper: int, rows: int, columns: int) -> tuple[int, int]:
    """Return the size of the matrix that holds diagonals; -1 takes the least."""
    least_rows, least_columns = length - min(upper, 0), length + max(lower, 0)
    if rows == -1 and columns == -1:
        rows = columns = max(least_rows, least_columns)
    rows = least_rows if rows == -1 else rows
    columns = least_columns if columns == -1 else columns
    if rows < least_rows:
        raise ValueError("The number of rows is too small.")
    if columns < least_columns:
        raise ValueError("The number of columns is too small.")
    if rows != least_rows and columns != least_columns:
        raise ValueError(
            "The number of rows or columns is not consistent with the specified d_lower, "
            "d_upper, and diagonal."
        )
    return rows, columns


@matrix_diag_v2_op.shape
def matrix_diag_v2_shape(node: Node) -> OutputDims:
    dims = _at_least(node, 0, 1, "diagonal")
    found = _known_range(node, 1)
    for index in (2, 3, 4):
        dims_lib.with_rank(node.dims(index), 0)
    rows, columns = node.value(2), node.value(3)
    if not node.planning:
        return None if dims is None or found is None else _static_size(dims, *found, rows, columns)
    length = None if dims is None else dims[-1]
    if dims is None or found is None or rows is None or columns is None or length is None:
        return None
    lower, upper = found
    if lower < upper:
        dims = dims_lib.with_rank_at_least(dims, 2) or ()
        if dims[-2] not in (None, upper - lower + 1):
            raise ValueError(
                "The number of diagonals provided in the input does not match the "
                "lower_diag_index and upper_diag_index range."
            )
    size = _matrix_size(length, lower, upper, int(rows), int(columns))
    return (*(dims[:-1] if lower == upper else dims[:-2]), *size)


def _static_size(dims: Any, lower: int, upper: int, rows: Any, columns: Any) -> tuple[int, ...]:
    """Return the shape that TF's graphs tell of; they take a size that is not known for -1."""
    known = [-1 if dim is None else dim for dim in dims]
    if lower < upper and (len(known) > 1 and known[-2]) != upper - lower + 1:
        raise ValueError(
            "The number of rows of `diagonal` doesn't match the number of diagonals implied from "
            f"`d_lower` and `d_upper`.\nnum_diags = {known[-2]}, d_lower = {lower}, d_upper = "
            f"{upper} {len(known)} {known[-1]}"
        )
    height, width = (-1 if size is None else int(size) for size in (rows, columns))
    least = known[-1] - min(upper, 0), known[-1] + max(lower, 0)
    if height == -1 and width == -1:
        height = width = max(least)
    height = least[0] if height == -1 else height
    width = least[1] if width == -1 else width
    if height < least[0]:
        raise ValueError("num_rows is too small")
    if width < least[1]:
        raise ValueError("num_cols is too small.")
    if (height, width) != least and height != least[0] and width != least[1]:
        raise ValueError(
            "num_rows and num_cols are not consistent with lower_diag_index, upper_diag_index, "
            f"and the length of the given diagonals.\nnum_rows = {height} != min_num_rows = "
            f"{least[0]}, num_cols = {width} != min_num_cols = {least[1]}"
        )
    size = [None if size == -1 else size for size in (height, width)]
    return (*dims[: -1 if lower == upper else -2], *size)


def _place(target: Any, diagonals: Any, lower: int, upper: int) -> None:
    """Write diagonals into matrices."""
    for index in range(lower, upper + 1):
        line = target.diagonal(index, -2, -1)
        source = diagonals if lower == upper else diagonals[..., upper - index, :]
        line.copy_(source[..., : line.shape[-1]])


def _make_matrix(
    diagonals: Any, lower: int, upper: int, rows: int, columns: int, padding: Any
) -> torch.Tensor:
    if lower > upper:
        raise ValueError(
            f"lower_diag_index must not be larger than upper_diag_index: {lower} > {upper}"
        )
    if lower < upper and diagonals.shape[-2] != upper - lower + 1:
        raise ValueError(
            "The number of diagonals provided in the input does not match the lower_diag_index "
            "and upper_diag_index range."
        )
    size = _matrix_size(diagonals.shape[-1], lower, upper, rows, columns)
    batch = diagonals.shape[:-1] if lower == upper else diagonals.shape[:-2]
    result = torch.empty((*batch, *size), dtype=diagonals.dtype, device=diagonals.device)
    if padding is None:
        result.zero_()
    else:
        result.copy_(padding)
    _place(result, diagonals, lower, upper)
    return result


def matrix_diag_kernel(node: Node) -> Call:
    return node.call(_make_matrix, node.inputs[0], 0, 0, -1, -1, None)


@matrix_diag_v2_op.kernel
def matrix_diag_v2_kernel(node: Node) -> Kernel:
    def make(diagonals: Any, k: Any, rows: Any, columns: Any, padding: Any) -> torch.Tensor:
        lower, upper = _range(ints(k))
        return _make_matrix(diagonals, lower, upper, int(rows), int(columns), padding)

    return make


# ---- MatrixDiagPart


def matrix_diag_part_shape(node: Node) -> tuple[int | None, ...] | None:
    dims = _at_least(node, 0, 2, "input")
    if len(node.inputs) == 3:
        dims_lib.with_rank(node.dims(2), 0)
    found = _known_range(node, 1)
    if dims is None or found is None:
        return None
    lower, upper = found
    if not node.planning:
        _check_static_bounds(lower, upper, dims)
    rows, columns = dims[-2], dims[-1]
    if len(node.inputs) == 1:
        return (*dims[:-2], dims_lib.minimum(rows, columns))
    batch = dims[:-2] if lower == upper else (*dims[:-2], upper - lower + 1)
    if rows is None or columns is None:
        return (*batch, None)
    _check_bounds(lower, upper, rows, columns, ".")
    return (*batch, longest(lower, upper, rows, columns))


def _take_diagonals(x: Any, lower: int, upper: int, padding: Any) -> torch.Tensor:
    rows, columns = x.shape[-2:]
    _check_bounds(lower, upper, rows, columns, ".")
    if lower == upper:
        return x.diagonal(lower, -2, -1).clone(memory_format=torch.contiguous_format)
    length = longest(lower, upper, rows, columns)
    count = upper - lower + 1
    result = torch.empty((*x.shape[:-2], count, length), dtype=x.dtype, device=x.device)
    result.copy_(padding)
    for index in range(lower, upper + 1):
        line = x.diagonal(index, -2, -1)
        result[..., upper - index, : line.shape[-1]].copy_(line)
    return result


def matrix_diag_part_kernel(node: Node) -> Call:
    return node.call(_take_diagonals, node.inputs[0], 0, 0, None)


@matrix_diag_part_v2_op.kernel
def matrix_diag_part_v2_kernel(node: Node) -> Kernel:
    return lambda x, k, padding: _take_diagonals(x, *_range(ints(k)), padding)


# ---- MatrixSetDiag


def matrix_set_diag_shape(node: Node) -> tuple[int | None, ...] | None:
    dims = _at_least(node, 0, 2, "input")
    diagonal = _at_least(node, 1, 1, "diagonal")
    found = _known_range(node, 2)
    if node.planning:
        return dims  # the kernel has words of its own
    if dims is not None and found is not None:
        single = found[0] == found[1]
        diagonal = dims_lib.with_rank(node.dims(1), len(dims) - (1 if single else 0))
        _check_static_bounds(*found, dims)
    elif dims is not None:
        diagonal = dims_lib.with_rank_at_least(node.dims(1), len(dims) - 1)
        diagonal = dims_lib.with_rank_at_most(diagonal, len(dims))
    if len(node.inputs) == 2 and dims is not None:
        least = dims_lib.minimum(dims[-2], dims[-1])
        dims_lib.merge_dim(least, dims_lib.dim(diagonal, -1))
    if diagonal is None or dims_lib.is_known(dims):
        return dims
    # TF infers this once before it looks at which diagonals there are.
    merged = dims_lib.merge(dims, (*diagonal[:-1], None, None))
    single = found is None or found[0] == found[1]
    return merged if single else dims_lib.merge(dims, (*diagonal[:-2], None, None))


def _set_diagonals(x: Any, diagonals: Any, lower: int, upper: int) -> torch.Tensor:
    rows, columns = x.shape[-2:]
    _check_bounds(lower, upper, rows, columns)
    count = () if lower == upper else (upper - lower + 1,)
    if count and diagonals.ndim >= x.ndim - 1 and diagonals.shape[x.ndim - 2] != count[0]:
        raise ValueError(
            "The number of diagonals provided in `diag` is not consistent with `lower_diag_index` "
            "and `upper_diag_index`"
        )
    expected = (*x.shape[:-2], *count, longest(lower, upper, rows, columns))
    if tuple(diagonals.shape) != expected:
        raise ValueError(
            "Either first dimensions of diagonal don't match input.shape[:-2], or "
            "diagonal.shape[:-1] is not equal to the longests diagonal in range [lower_diag_index:"
            f"upper_diag_index].\nInput shape: {dims_lib.to_string(tuple(x.shape))}\nDiagonal "
            f"shape: {dims_lib.to_string(tuple(diagonals.shape))}\nExpected diagonal shape: "
            f"{dims_lib.to_string(expected)}"
        )
    result = x.clone(memory_format=torch.contiguous_format)
    _place(result, diagonals, lower, upper)
    return result


def matrix_set_diag_kernel(node: Node) -> Call:
    return node.call(_set_diagonals, *node.inputs, 0, 0)


@matrix_set_diag_v2_op.kernel
def matrix_set_diag_v2_kernel(node: Node) -> Kernel:
    return lambda x, diagonals, k: _set_diagonals(x, diagonals, *_range(ints(k)))


for _cards, _shape, _kernel in (
    ((matrix_diag_op, batch_matrix_diag_op), matrix_diag_shape, matrix_diag_kernel),
    (
        (matrix_diag_part_op, batch_matrix_diag_part_op),
        matrix_diag_part_shape,
        matrix_diag_part_kernel,
    ),
    (
        (matrix_set_diag_op, batch_matrix_set_diag_op),
        matrix_set_diag_shape,
        matrix_set_diag_kernel,
    ),
):
    for _card in _cards:
        _card.shape(_shape)
        _card.kernel(_kernel)
matrix_diag_part_v2_op.shape(matrix_diag_part_shape)
matrix_set_diag_v2_op.shape(matrix_set_diag_shape)


@matrix_diag_op.samples
@batch_matrix_diag_op.samples
def matrix_diag_samples() -> Samples:
    yield Sample(np.arange(6, dtype=np.float32).reshape(2, 3))
    yield Bad(np.float32(1), match="at least rank 1")


@matrix_diag_v2_op.samples
def matrix_diag_v2_samples() -> Samples:
    x, one = np.arange(6, dtype=np.float32).reshape(2, 3), np.float32(0)
    size = (np.int32(-1), np.int32(-1))
    fixed = (1, 2, 3, 4)
    yield Sample(x, np.int32(1), *size, one, fixed=fixed)
    yield Sample(x, np.array([-1, 0], np.int32), *size, np.float32(9), fixed=fixed)
    yield Bad(x, np.array([1, 0], np.int32), *size, one, match="lower_diag_index")
    yield Bad(x, np.array([0, 2], np.int32), *size, one, match="num_diags = 2|does not match")
    yield Bad(x, np.int32(0), np.int32(2), np.int32(2), one, match="num_rows is too small")


@matrix_diag_part_op.samples
@batch_matrix_diag_part_op.samples
def matrix_diag_part_samples() -> Samples:
    yield Sample(np.arange(12, dtype=np.float32).reshape(2, 2, 3))
    yield Bad(np.zeros(3, np.float32), match="at least rank 2")


@matrix_diag_part_v2_op.samples
def matrix_diag_part_v2_samples() -> Samples:
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    yield Sample(x, np.int32(-1), np.float32(0), fixed=(1, 2))
    yield Sample(x, np.array([-1, 1], np.int32), np.float32(7), fixed=(1, 2))
    yield Bad(x, np.int32(4), np.float32(0), match="out of bound")
    yield Bad(x, np.int32(1), np.array([0], np.float32), match="must be rank 0")
    yield Bad(x, np.array([0, 1, 1], np.int32), np.float32(0), match="It has 3 elements|received 3")


@matrix_set_diag_op.samples
@batch_matrix_set_diag_op.samples
def matrix_set_diag_samples() -> Samples:
    yield Sample(np.zeros((2, 3, 2), np.float32), np.ones((2, 2), np.float32))
    yield Bad(np.zeros((2, 3), np.float32), np.ones(3, np.float32), match="must be equal|match")


@matrix_set_diag_v2_op.samples
def matrix_set_diag_v2_samples() -> Samples:
    x = np.zeros((3, 4), np.float32)
    yield Sample(x, np.ones(3, np.float32), np.int32(1), fixed=(2,))
    yield Sample(x, np.ones((2, 3), np.float32), np.array([0, 1], np.int32), fixed=(2,))
