"""Gradients of element-wise operations between sparse and dense tensors."""

from __future__ import annotations

from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients
from stillflow.graph.sparse_tensor import SparseTensor
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.fill import ones, zeros_like
from stillflow.ops.arrays.gather_nd import gather_nd
from stillflow.ops.arrays.shape import expand_dims, shape, size
from stillflow.ops.arrays.slicing import slice_
from stillflow.ops.math.cast import cast
from stillflow.ops.math.unary import square
from stillflow.ops.sparse.arithmetic import sparse_add
from stillflow.ops.sparse.dense import CWISE_CARDS


def _places(node: Node) -> tuple[Tensor, Tensor]:
    """Return the index of the dense element for each value, and the shape of the dense tensor."""
    indices, _, sparse_shape, dense = node.inputs
    dense_shape = cast(shape(dense), dtypes.int64)
    added = expand_dims(size(sparse_shape) - size(dense_shape), 0)
    augmented = concat([ones(added, dtypes.int64), dense_shape], 0)
    places = indices // (sparse_shape // augmented)
    return slice_(places, concat([[0], added], 0), [-1, -1]), dense_shape


def _gradients(node: Node, grad: Tensor, is_product: bool) -> list[Any]:
    values, dense = node.inputs[1], node.inputs[3]
    places, dense_shape = _places(node)
    met = gather_nd(dense, places)
    if is_product:
        of_values, of_dense = grad * met, grad * values
    else:
        of_values, of_dense = grad / met, grad * (-values / square(met))
    total = sparse_add(zeros_like(dense), SparseTensor(places, of_dense, dense_shape))
    return [None, of_values, None, total]


@CWISE_CARDS["Mul"].gradient
def sparse_dense_cwise_mul_gradient(node: Node, grad: Tensor) -> Gradients:
    return _gradients(node, grad, is_product=True)


@CWISE_CARDS["Div"].gradient
def sparse_dense_cwise_div_gradient(node: Node, grad: Tensor) -> Gradients:
    return _gradients(node, grad, is_product=False)


@CWISE_CARDS["Add"].gradient
def sparse_dense_cwise_add_gradient(node: Node, grad: Tensor) -> Gradients:
    raise NotImplementedError("Gradient for SparseDenseCwiseAdd is currently not implemented yet.")
