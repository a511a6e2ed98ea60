"""Between sparse and dense tensors: to_dense, from_dense, sums and products."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stillflow.graph import dims, dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.arrays import Array
from stillflow.graph.card import op
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.dims import shape_text
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients, Kernel, OutputDims
from stillflow.graph.sparse_tensor import SparseTensor
from stillflow.ops.arrays.fill import zeros, zeros_like
from stillflow.ops.arrays.gather import gather
from stillflow.ops.arrays.gather_nd import gather_nd
from stillflow.ops.arrays.select import where_v2
from stillflow.ops.arrays.shape import shape
from stillflow.ops.arrays.transpose import transpose
from stillflow.ops.constants import constant
from stillflow.ops.input_ranks import checked_rank
from stillflow.ops.kernels import as_signed
from stillflow.ops.math.comparison import not_equal
from stillflow.ops.math.reductions import reduce_sum
from stillflow.ops.samples import Bad, Sample, Samples
from stillflow.ops.sparse import native_kernels
from stillflow.ops.sparse.conversion import as_sparse, parts
from stillflow.ops.sparse.rows import check_inside, check_rows, first_outside, row_numbers

NUMBERS = (
    "T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, "
    "bfloat16, uint16, complex128, half, uint32, uint64}"
)
sparse_to_dense_op = op(
    """
    SparseToDense(sparse_indices: Tindices, output_shape: Tindices, sparse_values: T,
                  default_value: T) -> dense: T
    validate_indices: bool = true
    T: type
    Tindices: {int32, int64}
""",
    numbers=("output_shape",),
)
sparse_tensor_dense_add_op = op(
    "SparseTensorDenseAdd(a_indices: Tindices, a_values: T, a_shape: Tindices, b: T) -> output: T\n"
    f"{NUMBERS}\nTindices: {{int32, int64}}",
    devices="host",
)
sparse_tensor_dense_mat_mul_op = op(
    """
    SparseTensorDenseMatMul(a_indices: Tindices, a_values: T, a_shape: int64, b: T) -> product: T
    T: type
    Tindices: {int32, int64} = int64
    adjoint_a: bool = false
    adjoint_b: bool = false
""",
    gpu_types="fractions",
    numbers=("a_shape",),
    latency="long",
)


# ---- SparseToDense


@sparse_to_dense_op.shape
def sparse_to_dense_shape(node: Node) -> OutputDims:
    indices = node.dims(0)
    if node.planning and indices is not None and len(indices) > 2:
        raise ValueError(
            f"sparse_indices should be a scalar, vector, or matrix, got shape {shape_text(indices)}"
        )
    checked_rank(node, 1, 1, "output_shape should be a vector, got shape ")
    return node.shape_value(1)


def _index_matrix(indices: Any, size: Any, values: Any) -> torch.Tensor:
    if indices.ndim > 2:
        raise ValueError(
            "sparse_indices should be a scalar, vector, or matrix, "
            f"got shape {shape_text(indices.shape)}"
        )
    matrix = indices.reshape(-1, 1) if indices.ndim < 2 else indices
    if size.ndim != 1:
        raise ValueError(f"output_shape should be a vector, got shape {shape_text(size.shape)}")
    if len(size) != matrix.shape[1]:
        raise ValueError(
            f"output_shape has incorrect number of elements: {len(size)} "
            f"should be: {matrix.shape[1]}"
        )
    if values.ndim and tuple(values.shape) != (len(matrix),):
        raise ValueError(
            f"sparse_values has incorrect shape {shape_text(values.shape)}, "
            f"should be [] or [{len(matrix)}]"
        )
    return matrix.long()


@sparse_to_dense_op.kernel
def sparse_to_dense_kernel(node: Node) -> Kernel:
    validate = node.validate_indices

    def run(indices: Any, size: Any, values: Any, default: Any) -> torch.Tensor | Array:
        rows = _index_matrix(indices, size, values)
        if default.ndim:
            raise ValueError("default_value should be a scalar.")
        sizes = size.tolist()
        if validate:
            check_rows(rows, sizes)
        else:
            check_inside(rows, sizes)
        if isinstance(values, np.ndarray):
            dense: Any = np.full(sizes, default.item(), object)
            dense[tuple(rows.numpy().T)] = values
            return dense
        dense = default.expand(sizes).clone()
        as_signed(dense)[tuple(rows.T)] = as_signed(values)
        return dense

    return run


@sparse_to_dense_op.gradient
def sparse_to_dense_gradient(node: Node, grad: Tensor) -> Gradients:
    indices, output_shape = node.inputs[:2]
    values_grad = gather_nd(grad, indices)
    default_grad = reduce_sum(grad) - reduce_sum(values_grad)
    return [zeros_like(indices), zeros_like(output_shape), values_grad, default_grad]


@sparse_to_dense_op.samples
def sparse_to_dense_samples() -> Samples:
    rows = np.array([[0, 1], [1, 0]])
    size, values = np.array([2, 2]), np.array([1.0, 2.0], np.float32)
    yield Sample(rows, size, values, np.float32(0))
    yield Bad(rows[::-1].copy(), size, values, np.float32(0), match="out of order")
    yield Bad(rows, np.array([2]), values, np.float32(0), match="incorrect number|must be")


@export("sparse_to_dense")
def sparse_to_dense(
    sparse_indices: Any,
    output_shape: Any,
    sparse_values: Any,
    default_value: Any = 0,
    validate_indices: bool = True,
    name: str | None = None,
) -> Tensor:
    """Return a dense tensor with some elements given.

    Args:
      sparse_indices: which ones: a scalar, a vector, or a matrix of one row for each.
      output_shape: the shape of the result.
      sparse_values: a scalar or one value for each.
      default_value: value of all other elements.
      validate_indices: whether the order of the indices is checked.
    """
    result: Tensor = sparse_to_dense_op(
        sparse_indices,
        output_shape,
        sparse_values,
        default_value,
        validate_indices=validate_indices,
        name=name,
    )
    return result


@export("sparse.to_dense", "sparse_tensor_to_dense")
def sparse_tensor_to_dense(
    sp_input: Any,
    default_value: Any = None,
    validate_indices: bool = True,
    name: str | None = None,
) -> Tensor:
    """Return the dense tensor of a sparse one, other elements being `default_value` or zero."""
    sp_input = as_sparse(sp_input)
    if default_value is None:
        default_value = zeros([], dtype=sp_input.dtype)
    return sparse_to_dense(
        sp_input.indices, sp_input.dense_shape, sp_input.values, default_value,
        validate_indices, name,
    )  # fmt: skip


@export("sparse.from_dense")
def from_dense(tensor: Any, name: str | None = None) -> SparseTensor:
    """Return the sparse tensor of the elements of a dense one that are not zero."""
    with name_scope(name, "dense_to_sparse"):
        dense = convert_to_tensor(tensor)
        places = where_v2(not_equal(dense, constant(0, dense.dtype)))
        values = gather_nd(dense, places)
        return SparseTensor(places, values, shape(dense, out_type=dtypes.int64))


# ---- SparseTensorDenseAdd


@sparse_tensor_dense_add_op.shape
def sparse_tensor_dense_add_shape(node: Node) -> OutputDims:
    return node.dims(3)


@sparse_tensor_dense_add_op.kernel
def sparse_tensor_dense_add_kernel(node: Node) -> Kernel:
    def run(indices: Any, values: Any, size: Any, dense: Any) -> torch.Tensor:
        if tuple(size.tolist()) != tuple(dense.shape):
            raise ValueError(
                f"Dimensions of a and b must match: {shape_text(size)} vs. "
                f"{shape_text(dense.shape)}"
            )
        rows = indices.long()
        outside = first_outside(rows, dense.shape)
        if outside is not None:
            raise ValueError(
                f"Sparse tensor has some invalid index on dimension {outside}; "
                f"dense tensor shape: {shape_text(dense.shape)}"
            )
        return dense.index_put(tuple(rows.T), values, accumulate=True)

    return run


@sparse_tensor_dense_add_op.gradient
def sparse_tensor_dense_add_gradient(node: Node, grad: Tensor) -> Gradients:
    return [None, gather_nd(grad, node.inputs[0]), None, grad]


# ---- SparseTensorDenseMatMul


_PRODUCT_RANKS = (("a_indices", 2), ("a_values", 1), ("a_shape", 1), ("b", 2))


def _check_entries(indices: dims.Dims, values: dims.Dims, size: dims.Dims) -> None:
    """Raise an error for inconsistent parts of a sparse matrix, with the message of TF's kernel."""
    if size not in (None, (None,), (2,)):
        raise ValueError("Tensor 'a_shape' must have 2 elements")
    if indices is None:
        return
    if values is not None and not dims.is_compatible(indices[:1], values):
        raise ValueError("Number of rows of a_indices does not match number of entries in a_values")
    if size is not None and not dims.is_compatible(indices[1:], size):
        raise ValueError(
            "Number of columns of a_indices does not match number of entries in a_shape"
        )


@sparse_tensor_dense_mat_mul_op.shape
def sparse_tensor_dense_mat_mul_shape(node: Node) -> OutputDims:
    for index, (name, rank) in enumerate(_PRODUCT_RANKS):
        given = node.dims(index)
        if node.planning and given is not None and len(given) != rank:
            raise ValueError(f"Tensor '{name}' is not a {'vector' if rank == 1 else 'matrix'}")
        dims.with_rank(given, rank)
    if node.planning:
        _check_entries(node.dims(0), node.dims(1), node.dims(2))
    size = node.shape_value(2)
    left = dims.with_rank(size, 2)
    right = dims.with_rank(node.dims(3), 2)
    inner_left, outer_left = (left[0], left[1]) if node.adjoint_a else (left[1], left[0])
    inner_right, outer_right = (right[1], right[0]) if node.adjoint_b else (right[0], right[1])
    dims.merge_dim(inner_left, inner_right)
    return (outer_left, outer_right)


@sparse_tensor_dense_mat_mul_op.kernel
def sparse_tensor_dense_mat_mul_kernel(node: Node) -> Kernel:
    adjoint_a, adjoint_b = node.adjoint_a, node.adjoint_b

    def run(indices: Any, values: Any, size: Any, dense: Any) -> torch.Tensor:
        right = dense.mH if adjoint_b else dense
        rows = indices.long()
        left = size.tolist()
        to, of = (1, 0) if adjoint_a else (0, 1)
        if left[of] != right.shape[0]:
            raise ValueError(
                "Cannot multiply A and B because inner dimension does not match: "
                f"{left[of]} vs. {right.shape[0]}.  Did you forget a transpose?  "
                f"Dimensions of A: [{left[0]}, {left[1]}).  Dimensions of B: "
                f"{shape_text(dense.shape)}"
            )
        found = native_kernels.product(rows, values, left[to], right, adjoint_a)
        if found is not None:
            return found
        _check_product(rows, left, of)
        factors = values.conj() if adjoint_a else values
        product = torch.zeros((left[to], right.shape[1]), dtype=dense.dtype, device=dense.device)
        return product.index_add_(0, rows[:, to], factors[:, None] * right[rows[:, of]])

    return run


def _check_product(rows: Any, size: list[int], of: int) -> None:
    for letter, column in (("k", of), ("m", 1 - of)):
        numbers = rows[:, column]
        outside = (numbers < 0) | (numbers >= size[column])
        if bool(outside.any()):
            row = int(outside.int().argmax())
            raise ValueError(
                f"{letter} ({int(numbers[row])}) from index[{row},{column}] out of bounds "
                f"(>={size[column]})"
            )


@sparse_tensor_dense_mat_mul_op.gradient
def sparse_tensor_dense_mat_mul_gradient(node: Node, grad: Tensor) -> Gradients:
    indices, values, size, dense = node.inputs
    if values.dtype.is_complex:
        raise NotImplementedError("SparseTensorDenseMatMul op does not support complex gradients.")
    adjoint_a, adjoint_b = node.adjoint_a, node.adjoint_b
    dense_grad = sparse_tensor_dense_mat_mul_op(
        indices, values, size, grad, adjoint_a=not adjoint_a
    )
    if adjoint_b:
        dense_grad = transpose(dense_grad)
    rows, columns = indices[:, 0], indices[:, 1]
    of_grad = gather(grad, columns if adjoint_a else rows)
    of_dense = gather(transpose(dense) if adjoint_b else dense, rows if adjoint_a else columns)
    return [None, reduce_sum(of_grad * of_dense, axis=1), None, dense_grad]


@sparse_tensor_dense_mat_mul_op.samples
def sparse_tensor_dense_mat_mul_samples() -> Samples:
    rows, values = np.array([[0, 1], [1, 0]]), np.array([1.0, 2.0])
    yield Sample(rows, values, np.array([2, 2]), np.array([[1.0, 2.0], [3.0, 4.0]]))


@export("sparse.sparse_dense_matmul", "sparse.matmul", "sparse_tensor_dense_matmul")
def sparse_tensor_dense_matmul(
    sp_a: Any, b: Any, adjoint_a: bool = False, adjoint_b: bool = False, name: str | None = None
) -> Tensor:
    """Return the product of a sparse and a dense matrix.

    Args:
      sp_a: sparse, shape `[n, k]`.
      b: dense, of the same type, shape `[k, m]`.
      adjoint_a, adjoint_b: whether a factor is conjugated and transposed first.
      name: of the operation.

    Returns:
      Dense, shape `[n, m]`.
    """
    sp_a = as_sparse(sp_a)
    with name_scope(name, "SparseTensorDenseMatMul", [sp_a.indices, sp_a.values, b]):
        b = convert_to_tensor(b, name="b")
        result: Tensor = sparse_tensor_dense_mat_mul_op(
            *parts(sp_a), b, adjoint_a=adjoint_a, adjoint_b=adjoint_b
        )
        return result


# ---- SparseDenseCwiseAdd, SparseDenseCwiseMul, SparseDenseCwiseDiv


def _divide(x: Any, y: Any) -> torch.Tensor:
    if x.is_floating_point() or x.is_complex():
        return x / y
    if bool((y == 0).any()):
        raise ValueError("Integer division by zero")
    return torch.div(x, y, rounding_mode="trunc")


def _values_shape(node: Node) -> Any:
    return dims.with_rank(node.dims(0), 2)[:1]  # as many as there are indices


def _check_parts(indices: Any, values: Any, sizes: list[int]) -> None:
    """Raise ValueError for parts that are no sparse tensor together."""
    if indices.shape[0] != values.shape[0]:
        raise ValueError(
            f"There must be as many values as indices, got {values.shape[0]} and {indices.shape[0]}"
        )
    if indices.shape[1] != len(sizes):
        raise ValueError(
            f"Indices must have a column for each dimension, got {indices.shape[1]} for shape "
            f"{shape_text(sizes)}"
        )


def _cwise_kernel(combine: Callable[[Any, Any], Any]) -> Callable[[Node], Any]:
    def kernel(node: Node) -> Callable[..., Any]:
        def run(indices: Any, values: Any, size: Any, dense: Any) -> torch.Tensor:
            sizes = size.tolist()
            _check_parts(indices, values, sizes)
            fits = dense.ndim <= len(sizes) and all(
                d in (1, s) for d, s in zip(reversed(dense.shape), reversed(sizes), strict=False)
            )
            if not fits:
                raise ValueError(
                    "SparseDenseBinaryOpShared broadcasts dense to sparse only; "
                    f"got incompatible shapes: {shape_text(sizes)} vs. {shape_text(dense.shape)}"
                )
            check_inside(indices, sizes)
            return combine(values, dense.expand(sizes).flatten()[row_numbers(indices, sizes)])

        return run

    return kernel


_CWISE = {
    "Add": lambda x, y: x + y,
    "Mul": lambda x, y: x * y,
    "Div": _divide,
}
CWISE_CARDS = {
    name: op(
        f"SparseDenseCwise{name}(sp_indices: int64, sp_values: T, sp_shape: int64, dense: T) "
        f"-> output: T\n{NUMBERS}",
        devices="host",
    )
    for name in _CWISE
}
for _name, _card in CWISE_CARDS.items():
    _card.shape(_values_shape)
    _card.kernel(_cwise_kernel(_CWISE[_name]))
