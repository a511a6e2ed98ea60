"""Sums, maxima, reductions and softmax of sparse tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.graph.api import name_scope
from stillflow.graph.card import op
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.dims import shape_text
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients, Kernel, OutputDims
from stillflow.graph.sparse_tensor import SparseTensor, is_sparse
from stillflow.ops.arrays.broadcast import broadcast_static_shape
from stillflow.ops.sparse.conversion import as_sparse, parts
from stillflow.ops.sparse.dense import CWISE_CARDS, NUMBERS, sparse_tensor_dense_add_op
from stillflow.ops.sparse.reductions import sparse_reduce_sum
from stillflow.ops.sparse.rows import at_rows, joined, row_numbers
from stillflow.util.renamed import renamed_argument

_TWO = (
    "(a_indices: int64, a_values: T, a_shape: int64, b_indices: int64, b_values: T, b_shape: int64"
)
_REAL = "{float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}"
sparse_add_op = op(
    f"SparseAdd{_TWO}, thresh: Treal) -> (sum_indices: int64, sum_values: T, sum_shape: int64)\n"
    f"{NUMBERS}\nTreal: {_REAL}",
    devices="host",
)
sparse_add_grad_op = op(
    "SparseAddGrad(backprop_val_grad: T, a_indices: int64, b_indices: int64, sum_indices: int64) "
    f"-> (a_val_grad: T, b_val_grad: T)\n{NUMBERS}",
    differentiable=False,
    devices="host",
)
sparse_sparse_maximum_op = op(
    f"SparseSparseMaximum{_TWO}) -> (output_indices: int64, output_values: T)\nT: {_REAL}",
    devices="host",
)
sparse_sparse_minimum_op = op(
    f"SparseSparseMinimum{_TWO}) -> (output_indices: int64, output_values: T)\n{NUMBERS}",
    devices="host",
)
sparse_softmax_op = op(
    """
    SparseSoftmax(sp_indices: int64, sp_values: T, sp_shape: int64) -> output: T
    T: {float, double}
""",
    devices="host",
)


def _check_same(a_shape: Any, b_shape: Any) -> None:
    if len(a_shape) != len(b_shape):
        shapes = [" ".join(map(str, shape.tolist())) for shape in (a_shape, b_shape)]
        raise ValueError(
            f"Operands do not have the same ranks; got shapes: [{shapes[0]}] and [{shapes[1]}]"
        )
    for dimension, (a, b) in enumerate(zip(a_shape.tolist(), b_shape.tolist())):
        if a != b:
            raise ValueError(
                f"Operands' shapes do not match: got {a} and {b} for dimension {dimension}"
            )


def _side_by_side(a_rows: Any, a: Any, b_rows: Any, b: Any) -> tuple[Any, Any, Any]:
    """All rows, and the values of both operands there, zero where one has none."""
    rows, a_places, b_places = joined(a_rows, b_rows)
    left = torch.zeros(len(rows), dtype=a.dtype, device=a.device)
    right = torch.zeros_like(left)
    left[a_places] = a
    right[b_places] = b
    return rows, left, right


@sparse_add_op.shape
def sparse_add_shape(node: Node) -> OutputDims:
    rank = (node.dims(2) or (None,))[0]
    return [(None, rank), (None,), (rank,)]


@sparse_add_op.kernel
def sparse_add_kernel(node: Node) -> Kernel:
    def run(
        a_rows: Any, a: Any, a_shape: Any, b_rows: Any, b: Any, b_shape: Any, threshold: Any
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        _check_same(a_shape, b_shape)
        if threshold.ndim:
            shape = shape_text(threshold.shape)
            raise ValueError(f"The magnitude threshold must be a scalar: got shape {shape}")
        rows, left, right = _side_by_side(a_rows, a, b_rows, b)
        total = left + right
        kept = total.abs() >= threshold
        return rows[kept], total[kept], a_shape.clone()

    return run


@sparse_add_op.gradient
def sparse_add_gradient(node: Node, *grads: Any) -> Gradients:
    a_grad, b_grad = sparse_add_grad_op(grads[1], node.inputs[0], node.inputs[3], node.outputs[0])
    a_grad.set_shape(node.inputs[1].get_shape())
    b_grad.set_shape(node.inputs[4].get_shape())
    return [None, a_grad, None, None, b_grad, None, None]


@sparse_add_grad_op.shape
def sparse_add_grad_shape(node: Node) -> OutputDims:
    return [(dims[0],) if dims else (None,) for dims in (node.dims(1), node.dims(2))]


@sparse_add_grad_op.kernel
def sparse_add_grad_kernel(node: Node) -> Kernel:
    def run(grad: Any, a_rows: Any, b_rows: Any, sums: Any) -> tuple[Any, Any]:
        return at_rows(a_rows, sums, grad), at_rows(b_rows, sums, grad)

    return run


def _two_shape(node: Node) -> list[tuple[int | None, ...]]:
    return [(None, None), (None,)]


def _two_kernel(combine: Callable[[Any, Any], Any]) -> Callable[[Node], Any]:
    def kernel(node: Node) -> Callable[..., Any]:
        def run(
            a_rows: Any, a: Any, a_shape: Any, b_rows: Any, b: Any, b_shape: Any
        ) -> tuple[torch.Tensor, torch.Tensor]:
            _check_same(a_shape, b_shape)
            rows, left, right = _side_by_side(a_rows, a, b_rows, b)
            return rows, combine(left, right)

        return run

    return kernel


def _no_gradient(node: Node, *grads: Any) -> Any:
    raise NotImplementedError(f"Gradient for {node.op.type} is currently not implemented yet.")


def _maximum(x: Any, y: Any) -> torch.Tensor:
    return torch.maximum(x, y)


def _minimum(x: Any, y: Any) -> torch.Tensor:
    return torch.minimum(x, y)


for _card, _combine in ((sparse_sparse_maximum_op, _maximum), (sparse_sparse_minimum_op, _minimum)):
    _card.shape(_two_shape)
    _card.kernel(_two_kernel(_combine))
    _card.gradient(_no_gradient)


@sparse_softmax_op.shape
def sparse_softmax_shape(node: Node) -> OutputDims:
    return node.dims(1)


@sparse_softmax_op.kernel
def sparse_softmax_kernel(node: Node) -> Kernel:
    def run(indices: Any, values: Any, size: Any) -> Any:
        sizes = size.tolist()
        if len(sizes) < 2:
            raise ValueError(
                "Input should have rank >= 2, but received shape: " + shape_text(sizes)
            )
        if not len(values):
            return values.clone()
        groups = row_numbers(indices[:, :-1], sizes[:-1])
        _, group = torch.unique(groups, return_inverse=True)
        count = int(group.max()) + 1
        largest = torch.full((count,), float("-inf"), dtype=values.dtype, device=values.device)
        largest.scatter_reduce_(0, group, values, "amax")
        powers = (values - largest[group]).exp()
        totals = torch.zeros(count, dtype=values.dtype, device=values.device)
        totals.index_add_(0, group, powers)
        return powers / totals[group]

    return run


@sparse_softmax_op.gradient
def sparse_softmax_gradient(node: Node, grad: Tensor) -> Gradients:
    indices, size, result = node.inputs[0], node.inputs[2], node.outputs[0]
    output = SparseTensor(indices, result, size)
    backward = SparseTensor(indices, grad, size)
    product = SparseTensor(indices, output.values * backward.values, size)
    total = -sparse_reduce_sum(product, [-1], keepdims=True)
    values = CWISE_CARDS["Add"](*parts(backward), total)
    shifted = SparseTensor(backward.indices, values, backward.dense_shape)
    return [None, shifted.values * output.values, None]


@export("sparse.add", "sparse_add")
def sparse_add(a: Any, b: Any, threshold: Any = None, thresh: Any = None) -> Tensor | SparseTensor:
    """Return the sum of two tensors, at least one of them sparse.

    Args:
      a, b: of one shape; sparse, or one of them dense.
      threshold: sums of a smaller magnitude are left out, if both are sparse; `thresh` is its
        old name.

    Returns:
      Sparse if both are, else dense.

    Raises:
      TypeError: if both are dense.
    """
    threshold = renamed_argument("threshold", threshold, "thresh", thresh)
    if not (is_sparse(a) or is_sparse(b)):
        raise TypeError("At least one input should be SparseTensor; do you mean to use tf.add()?")
    if not (is_sparse(a) and is_sparse(b)):
        sp, dense = (a, b) if is_sparse(a) else (b, a)
        return sparse_tensor_dense_add_op(sp.indices, sp.values, sp.dense_shape, dense)
    a, b = as_sparse(a), as_sparse(b)
    real = a.values.dtype.real_dtype.base_dtype
    threshold = convert_to_tensor(
        0 if threshold is None else threshold, dtype=real, name="threshold"
    )
    indices, values, size = sparse_add_op(*parts(a), *parts(b), threshold)
    a.get_shape().assert_is_compatible_with(b.get_shape())
    static = broadcast_static_shape(a.get_shape(), b.get_shape())
    if static.is_fully_defined():
        size = static.as_list()
    return SparseTensor(indices, values, size)


@export("sparse.softmax", "sparse_softmax")
def sparse_softmax(sp_input: Any, name: str | None = None) -> SparseTensor:
    """Softmax along the last dimension, of the given elements only.

    Args:
      sp_input: float or double, of rank >= 2, indices in row-major order.
    """
    with name_scope(name, "SparseSoftmax", [sp_input.indices, sp_input.values]):
        values = sparse_softmax_op(*parts(sp_input))
        return SparseTensor(sp_input.indices, values, sp_input.dense_shape)


def _either(card: Any, title: str, sp_a: Any, sp_b: Any, name: str | None) -> SparseTensor:
    with name_scope(name, title, [sp_a.indices, sp_a.values, sp_b.indices, sp_b.values]) as scope:
        indices, values = card(*parts(sp_a), *parts(sp_b), name=scope)
    return SparseTensor(indices, values, sp_a.dense_shape)


@export("sparse.maximum", "sparse_maximum")
def sparse_maximum(sp_a: Any, sp_b: Any, name: str | None = None) -> SparseTensor:
    """Return the larger of two sparse tensors of one shape; missing elements are zero."""
    return _either(sparse_sparse_maximum_op, "SparseSparseMaximum", sp_a, sp_b, name)


@export("sparse.minimum", "sparse_minimum")
def sparse_minimum(sp_a: Any, sp_b: Any, name: str | None = None) -> SparseTensor:
    """Return the smaller of two sparse tensors of one shape; missing elements are zero."""
    return _either(sparse_sparse_minimum_op, "SparseSparseMinimum", sp_a, sp_b, name)


def sparse_dense_cwise_add(sp_t: SparseTensor, dense_t: Any) -> SparseTensor:
    """Add the values of a dense tensor, broadcast, to the elements of a sparse one."""
    total = CWISE_CARDS["Add"](*parts(sp_t), dense_t)
    return SparseTensor(sp_t.indices, total, sp_t.dense_shape)
