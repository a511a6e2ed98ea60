"""Permuting dimensions: Transpose, ConjugateTranspose, InvertPermutation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stillflow.graph import dims as dims_lib
from stillflow.graph.api import name_scope
from stillflow.graph.arrays import Array
from stillflow.graph.card import op
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients, Kernel, OutputDims
from stillflow.graph.tensor_shape import shape_from_dims
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.sequences import range_op
from stillflow.ops.arrays.shape import rank, rank_op
from stillflow.ops.kernels import either, index_tensor, int_array, ints
from stillflow.ops.samples import Bad, Sample, Samples

_FEW = 64  # longest permutation that is processed number by number

_SIGNATURE = "(x: T, perm: Tperm) -> y: T; T: type; Tperm: {int32, int64} = int32"
transpose_op = op("Transpose" + _SIGNATURE, view=True, numbers=("perm",), batching="vmap")
conjugate_transpose_op = op("ConjugateTranspose" + _SIGNATURE, view=True, numbers=("perm",))


def transpose_shape(node: Node) -> tuple[int | None, ...] | None:
    dims, perm_dims, value = node.dims(0), node.dims(1), node.value(1)
    if node.planning and perm_dims is not None and len(perm_dims) != 1:
        raise ValueError(f"perm must be a vector, not {dims_lib.to_string(perm_dims)}")
    if node.planning and dims_lib.is_known(dims) and value is not None:
        assert dims is not None
        order = check_permutation(value, len(dims))
        return tuple([dims[axis] for axis in order])
    count = dims_lib.num_elements(perm_dims) if perm_dims is not None else None
    if dims is None and count is None:
        return None
    size = len(dims) if dims is not None else count
    assert size is not None
    if dims is None and size < 2:
        return None  # a permutation of one element may belong to a scalar
    dims = dims_lib.with_rank(dims, size)
    dims_lib.with_rank(perm_dims, 1)
    if count is not None:
        dims_lib.with_value(count, size)
    if value is None:
        return dims_lib.unknown(size)
    for axis in value.tolist():
        if not -size < axis < size:
            raise ValueError(f"perm dim {axis} is out of range of input rank {size}")
    return tuple([dims[axis] for axis in value.tolist()])


def check_permutation(given: Any, size: int) -> tuple[int, ...]:
    """Return the permutation that a tensor holds, checked as TF's kernel does."""
    if given.ndim != 1:
        raise ValueError(f"perm must be a vector, not {dims_lib.to_string(tuple(given.shape))}")
    perm = given.tolist()
    if len(perm) != size:
        if size == 0 and len(perm) == 1:
            return ()
        raise ValueError(
            f"transpose expects a vector of size {size}. But input(1) is a vector of size "
            f"{len(perm)}"
        )
    for axis in perm:
        if not 0 <= axis < size:
            raise ValueError(f"{axis} is out of range [0 .. {size})")
    for axis in range(size):
        if axis not in perm:
            raise ValueError(f"{axis} is missing from {{{','.join(str(a) for a in perm)}}}.")
    return tuple(perm)


def _permute(x: Any, perm: Any) -> torch.Tensor:
    return x.permute(check_permutation(perm, x.ndim))


def _permute_strings(x: Any, perm: Any) -> Any:
    return x.transpose(check_permutation(perm, x.ndim))


def _conjugate(x: Any, order: Any) -> torch.Tensor:
    moved = x.permute(order)
    return moved.conj_physical() if moved.is_complex() else moved


def _permute_conjugate(x: Any, perm: Any) -> torch.Tensor:
    return _conjugate(x, check_permutation(perm, x.ndim))


def _known_order(node: Node) -> tuple[int, ...] | None:
    value, size = node.value(1), dims_lib.rank(node.dims(0))
    if value is None or size is None:
        return None
    return check_permutation(value, size)


@transpose_op.kernel
def transpose_kernel(node: Node) -> Kernel:
    order = _known_order(node)
    if order is None:
        return either(node, _permute, _permute_strings)
    if order == tuple(range(len(order))):
        return node.same(0)
    return node.call(either(node, torch.permute, np.transpose), node.inputs[0], order)


@conjugate_transpose_op.kernel
def conjugate_transpose_kernel(node: Node) -> Kernel:
    order = _known_order(node)
    if order is None:
        return either(node, _permute_conjugate, _permute_strings)
    return node.call(either(node, _conjugate, np.transpose), node.inputs[0], order)


@transpose_op.value
def transpose_value(node: Node) -> Array | None:
    value, perm = node.value(0), node.value(1)
    if value is None or perm is None:
        return None
    try:
        return value.transpose(check_permutation(perm, value.ndim))
    except ValueError:
        return None


@transpose_op.gradient
def transpose_gradient(node: Node, grad: Any) -> Gradients:
    return [transpose(grad, invert_permutation(node.inputs[1])), None]


@conjugate_transpose_op.gradient
def conjugate_transpose_gradient(node: Node, grad: Any) -> Gradients:
    return [transpose(grad, invert_permutation(node.inputs[1]), conjugate=True), None]


@transpose_op.samples
def transpose_samples() -> Samples:
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    yield Sample(x, [2, 0, 1], fixed=(1,))
    yield Sample(np.array([[b"a", b"b"]], object), [1, 0], fixed=(1,))
    yield Bad(x, [0, 1], match="must be 3|vector of size 3")
    yield Bad(x, [0, 1, 1], match="2 is missing from")


@conjugate_transpose_op.samples
def conjugate_transpose_samples() -> Samples:
    yield Sample(np.array([[1 + 2j, 3 - 1j]], np.complex64), [1, 0], fixed=(1,))


for _card in (transpose_op, conjugate_transpose_op):
    _card.shape(transpose_shape)

# ---- InvertPermutation

invert_permutation_op = op(
    "InvertPermutation(x: T) -> y: T; T: {int32, int64} = int32", differentiable=False
)


@invert_permutation_op.shape
def invert_permutation_shape(node: Node) -> OutputDims:
    dims = node.dims(0)
    if node.planning and dims is not None and len(dims) != 1:
        raise ValueError("invert_permutation expects a 1D vector.")
    return dims_lib.with_rank(node.dims(0), 1)


def inverse(perm: Sequence[int]) -> list[int]:
    """Return the inverse of a permutation; ValueError if it is none."""
    size = len(perm)
    result = [-1] * size
    for position, item in enumerate(perm):
        if not 0 <= item < size:
            raise ValueError(f"{item} is not between 0 and {size}")
        if result[item] != -1:
            raise ValueError(f"{item} is duplicated in the input.")
        result[item] = position
    return result


@invert_permutation_op.value
def invert_permutation_value(node: Node) -> Array | None:
    value = node.value(0)
    if value is None:
        return None
    try:
        return int_array(inverse(value.tolist()), node.T)
    except ValueError:
        return None


@invert_permutation_op.kernel
def invert_permutation_kernel(node: Node) -> Kernel:
    dtype = node.T
    return lambda perm: index_tensor(_inverse_of(perm), dtype)


def _inverse_of(perm: Any) -> Any:
    """Return the same of a tensor."""
    size, array = perm.numel(), perm.cpu().numpy()
    if size <= _FEW or array.min() < 0 or array.max() >= size:
        return inverse(ints(perm))
    result = np.full(size, -1)
    result[array] = np.arange(size)
    return inverse(ints(perm)) if (result < 0).any() else result


@invert_permutation_op.samples
def invert_permutation_samples() -> Samples:
    yield Sample(np.array([2, 0, 1], np.int32))
    yield Bad(np.array([2, 0, 3], np.int32), match="3 is not between 0 and 3")
    yield Bad(np.array([1, 1], np.int32), match="1 is duplicated in the input")


@export("invert_permutation", "math.invert_permutation")
def invert_permutation(x: Any, name: str | None = None) -> Tensor:
    """Return the inverse of a permutation: `y[x[i]] = i`.

    Args:
      x: an integer vector that holds each of `0 ... n - 1` once.
      name: of the operation.
    """
    return invert_permutation_op(x, name=name)


# ---- Public functions


@export("transpose")
def transpose(
    a: Any, perm: Any = None, name: str | None = "transpose", conjugate: bool = False
) -> Tensor:
    """Permutes dimensions.

    Args:
      a: a tensor.
      perm: which dimension of `a` each dimension of the result is; by default all reversed.
      name: of the operation.
      conjugate: whether complex numbers are conjugated too.

    Raises:
      ValueError: if `perm` is known not to be a permutation.

    Example:
      >>> print(tf.Session().run(tf.transpose([[1, 2, 3], [4, 5, 6]])))
      [[1 4]
       [2 5]
       [3 6]]
      >>> tf.transpose(tf.ones([8, 28, 32, 3]), perm=[0, 3, 1, 2]).shape.as_list()
      [8, 3, 28, 32]
    """
    with name_scope(name, "transpose", [a]) as scope:
        card = transpose_op
        if conjugate and a.dtype.is_complex:
            card = conjugate_transpose_op
        if perm is not None:
            return card(a, perm, name=scope)
        a = convert_to_tensor(a, name="a")
        order: Any
        if not a._dims:
            size: Any = rank_op(a)
            order = (size - 1) - range_op(0, size, 1)
        else:
            order = len(a._dims) - 1 - np.arange(len(a._dims))
            if a.holds_value:  # eager execution finds a kernel sooner
                order = order.tolist()
        result: Tensor = card(a, order, name=scope)
        if a._dims is not None:
            result.set_shape(shape_from_dims(a._dims[::-1]))
        return result


@export("linalg.transpose", "linalg.matrix_transpose", "matrix_transpose")
def matrix_transpose(a: Any, name: str = "matrix_transpose", conjugate: bool = False) -> Tensor:
    """Swap the last two dimensions.

    Args:
      a: a matrix or a batch of matrices.
      name: of the scope.
      conjugate: whether complex numbers are conjugated too.

    Raises:
      ValueError: if the rank is known to be below 2.
    """
    with name_scope(name, values=[a]):
        a = convert_to_tensor(a, name="a")
        perm: Any
        if a._dims is not None:
            size = len(a._dims)
            if size < 2:
                raise ValueError(
                    "Argument 'a' should be a (batch) matrix, with rank >= 2.  Found: "
                    f"{a.get_shape()}"
                )
            perm = [*range(size - 2), size - 1, size - 2]
        else:
            a_rank: Any = rank(a)
            perm = concat((range_op(0, a_rank - 2, 1), [a_rank - 1, a_rank - 2]), 0)
        return transpose(a, perm=perm, conjugate=conjugate)
