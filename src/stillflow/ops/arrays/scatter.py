"""Putting slices at tuples of indices: ScatterNd, TensorScatterUpdate and their relatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from stillflow.errors import InvalidArgumentError
from stillflow.graph import dims as dims_lib
from stillflow.graph.arrays import Array
from stillflow.graph.card import op
from stillflow.graph.dims import shape_text
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients, Kernel, OutputDims
from stillflow.ops.arrays.fill import zeros_like
from stillflow.ops.arrays.gather_nd import gather_nd
from stillflow.ops.arrays.rows import change_rows, first_outside, flat_rows
from stillflow.ops.control_flow.identity_and_group import identity
from stillflow.ops.kernels import ints
from stillflow.ops.samples import Bad, Sample, Samples

# ---- Shapes


def check_nd_dims(target: Any, indices: Any, updates: Any, what: str) -> None:
    """Raise an error for known shapes that do not fit; `what` names the target in messages."""
    dims_lib.with_rank_at_least(indices, 1)
    dims_lib.with_rank_at_least(updates, 1)
    if dims_lib.num_elements(target) == 0 and (
        dims_lib.num_elements(indices) or dims_lib.num_elements(updates)
    ):
        raise ValueError("Indices and updates specified for empty output shape")
    if indices is None or updates is None or indices[-1] is None:
        return
    outer, depth = len(indices) - 1, indices[-1]
    in_text, up_text = dims_lib.to_string(indices), dims_lib.to_string(updates)
    try:
        front = dims_lib.subshape(updates, 0, outer)
        dims_lib.merge(dims_lib.subshape(indices, 0, outer), front)
    except ValueError as error:
        raise ValueError(
            f"The outer {outer} dimensions of indices.shape={in_text} must match the outer "
            f"{outer} dimensions of updates.shape={up_text}: {error}"
        ) from None
    inner = dims_lib.subshape(target, depth)
    try:
        dims_lib.merge(inner, dims_lib.subshape(updates, outer))
    except ValueError as error:
        raise ValueError(
            f"The inner {len(target) - depth} dimensions of {what}.shape="
            f"{dims_lib.to_string(target)} must match the inner {len(updates) - outer} "
            f"dimensions of updates.shape={up_text}: {error}"
        ) from None


def _are_empty_alike(target: Sequence[int], indices: Sequence[int], updates: Any) -> bool:
    """Return True if the updates and the target are both empty or both not."""
    sizes = prod(target), prod(indices), prod(updates)
    return all(sizes) or not any(sizes[1:])


def check_nd_at_run_time(target: Sequence[int], indices: Any, updates: Any) -> None:
    """Raise an error for shapes that do not fit, with the message of TF's kernels."""
    for name, given in (("Indices", indices), ("Updates", updates)):
        if len(given) < 1:
            raise ValueError(f"{name} shape must have rank at least one. Found:{shape_text(given)}")
    if not _are_empty_alike(target, indices, updates):
        raise ValueError("Indices and updates specified for empty output shape")
    outer, depth = len(indices) - 1, indices[-1]
    if tuple(indices[:outer]) != tuple(updates[:outer]):
        raise ValueError(
            f"Outer dimensions of indices and update must match. Indices shape: "
            f"{shape_text(indices)}, updates shape:{shape_text(updates)}"
        )
    if len(updates) - outer != len(target) - depth:
        raise ValueError(
            "Inner dimensions of output shape must match inner dimensions of updates shape. "
            f"Output: {shape_text(target)} updates: {shape_text(updates)}"
        )
    if tuple(updates[outer:]) != tuple(target[depth:]):
        raise ValueError(
            f"The inner {len(target) - depth} dimensions of output.shape={shape_text(target)} "
            f"must match the inner {len(updates) - outer} dimensions of "
            f"updates.shape={shape_text(updates)}"
        )


def check_nd_of_variable(target: Sequence[int], indices: Any, updates: Any) -> None:
    """Raise an error for shapes that do not fit, as TF's kernels that change variables do."""
    if len(target) < 1:
        raise ValueError(f"Output must be at least 1-D, got shape: {shape_text(target)}")
    if not _are_empty_alike(target, indices, updates):
        raise ValueError(
            f"Indices and updates specified for empty output.  indices shape: {shape_text(indices)}"
        )
    if updates and indices[:1] != updates[:1]:
        raise ValueError(
            "The outermost dimension of updates and indices must match. Got indices.shape "
            f"{shape_text(indices)}, updates.shape {shape_text(updates)}"
        )
    depth = indices[-1] if len(indices) > 1 else 1
    batch = len(indices) - 1 if len(indices) > 1 else 1
    if tuple(updates) != (*indices[:batch], *target[depth:]) or depth > len(target):
        raise ValueError(
            "Must have updates.shape = indices.shape[:batch_dim] + params_shape[slice_dim:], got "
            f"updates.shape: {shape_text(updates)}, indices.shape: {shape_text(indices)}, "
            f"params_shape: {shape_text(target)}, slice_dim: {depth}, and batch_dim: {batch}"
        )


def scatter_into_variable(target: Any, indices: Any, updates: Any, how: str) -> None:
    """`scatter_into` for variables: updates before an index that is out of range are applied.

    A vector of indices holds one for each update here. Messages are those of such kernels.
    """
    check_nd_of_variable(target.shape, indices.shape, updates.shape)
    if indices.ndim == 1:
        indices = indices.reshape(-1, 1)
    try:
        _scatter(target, indices, updates, how)
    except InvalidArgumentError:
        depth = indices.shape[-1]
        table = indices.reshape(-1, depth)
        first = first_outside(table, target.shape[:depth])
        rows = updates.reshape(table.shape[0], *target.shape[depth:])
        _scatter(target, table[:first], rows[:first], how)
        raise


def scatter_into(target: Any, indices: Any, updates: Any, how: str) -> None:
    """Change slices of a contiguous `target` in place; InvalidArgumentError if out of range.

    ValueError if the shapes do not fit.
    """
    check_nd_at_run_time(target.shape, indices.shape, updates.shape)
    _scatter(target, indices, updates, how)


def _scatter(target: Any, indices: Any, updates: Any, how: str) -> None:
    depth = indices.shape[-1]
    sizes, inner = tuple(target.shape[:depth]), tuple(target.shape[depth:])
    message = f"does not index into shape {shape_text(target.shape)}"
    rows = flat_rows(indices, sizes, message)
    width = prod(inner)
    table = target.reshape(prod(sizes), width)
    change_rows(table, rows, updates.reshape(rows.shape[0], width), how)


# ---- Cards

scatter_nd_op = op(
    """
    ScatterNd(indices: Tindices, updates: T, shape: Tindices) -> output: T
    T: type
    Tindices: {int32, int64}
""",
    apple="no int64",
    numbers=("indices", "shape"),
)


@scatter_nd_op.shape
def scatter_nd_shape(node: Node) -> OutputDims:
    dims_lib.with_rank(node.dims(2), 1)
    target = node.shape_value(2)
    all_dims = [target, node.dims(0), node.dims(1)]
    if node.planning and dims_lib.all_known(all_dims):
        check_nd_at_run_time(*all_dims)
        return target
    check_nd_dims(target, node.dims(0), node.dims(1), "output")
    return target


def _blank(sizes: Sequence[int], like: Any) -> torch.Tensor | Array:
    if isinstance(like, np.ndarray):
        return np.full(sizes, b"", object)
    return torch.zeros(sizes, dtype=like.dtype, device=like.device)


@scatter_nd_op.kernel
def scatter_nd_kernel(node: Node) -> Kernel:
    def scatter(indices: Any, updates: Any, shape: Any) -> torch.Tensor | Array:
        result = _blank(ints(shape), updates)
        scatter_into(result, indices, updates, "add")
        return result

    return scatter


@scatter_nd_op.gradient
def scatter_nd_gradient(node: Node, grad: Any) -> Gradients:
    return [None, gather_nd(grad, node.inputs[0]), None]


_TENSOR = """(tensor: T, indices: Tindices, updates: T) -> output: T
    T: type
    Tindices: {int32, int64}
"""
tensor_scatter_update_op = op("TensorScatterUpdate" + _TENSOR, apple="no int64")
tensor_scatter_add_op = op("TensorScatterAdd" + _TENSOR, apple="no int64")
tensor_scatter_sub_op = op("TensorScatterSub" + _TENSOR, apple="no int64")
scatter_nd_non_aliasing_add_op = op(
    """
    ScatterNdNonAliasingAdd(input: T, indices: Tindices, updates: T) -> output: T
    T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, \
bfloat16, uint16, complex128, half, uint32, uint64, bool}
    Tindices: {int32, int64}
""",
    apple="no int64",
    numbers=("indices",),
)


def _tensor_shape(node: Node) -> Any:
    all_dims = [node.dims(index) for index in (0, 1, 2)]
    if node.planning and dims_lib.all_known(all_dims):
        as_variable = node.op.type == "ScatterNdNonAliasingAdd"
        check = check_nd_of_variable if as_variable else check_nd_at_run_time
        check(*all_dims)
        return all_dims[0]
    input_name = "input" if node.op.type == "ScatterNdNonAliasingAdd" else "output"
    if input_name == "output":
        dims_lib.with_rank_at_least(all_dims[0], 1)
    check_nd_dims(all_dims[0], all_dims[1], all_dims[2], input_name)
    return all_dims[0]


def _tensor_kernel(how: str) -> Callable[[Node], Any]:
    def kernel(node: Node) -> Callable[..., Any]:
        as_variable = node.op.type == "ScatterNdNonAliasingAdd"
        change = scatter_into_variable if as_variable else scatter_into

        def scatter(tensor: Any, indices: Any, updates: Any) -> torch.Tensor | Array:
            if isinstance(tensor, np.ndarray):
                result = tensor.copy()
            else:
                result = tensor.clone(memory_format=torch.contiguous_format)
            change(result, indices, updates, how)
            return result

        return scatter

    return kernel


for _card, _how in (
    (tensor_scatter_update_op, "update"), (tensor_scatter_add_op, "add"),
    (tensor_scatter_sub_op, "sub"), (scatter_nd_non_aliasing_add_op, "add"),
):  # fmt: skip
    _card.shape(_tensor_shape)
    _card.kernel(_tensor_kernel(_how))


@tensor_scatter_update_op.gradient
def tensor_scatter_update_gradient(node: Node, grad: Any) -> Gradients:
    indices, updates = node.inputs[1], node.inputs[2]
    updates_grad = gather_nd(grad, indices)
    kept = identity(grad)
    blank = zeros_like(updates, dtype=grad.dtype)
    tensor_grad = tensor_scatter_update(kept, indices, blank)
    return [tensor_grad, None, updates_grad]


@tensor_scatter_add_op.gradient
def tensor_scatter_add_gradient(node: Node, grad: Any) -> Gradients:
    updates_grad = gather_nd(grad, node.inputs[1])
    return [identity(grad), None, updates_grad]


@tensor_scatter_sub_op.gradient
def tensor_scatter_sub_gradient(node: Node, grad: Any) -> Gradients:
    updates_grad: Any = gather_nd(grad, node.inputs[1])
    tensor_grad = identity(grad)
    return [tensor_grad, None, -updates_grad]


@scatter_nd_non_aliasing_add_op.gradient
def scatter_nd_non_aliasing_add_gradient(node: Node, grad: Any) -> Gradients:
    return [grad, None, gather_nd(grad, node.inputs[1])]


@scatter_nd_op.samples
def scatter_nd_samples() -> Samples:
    updates = np.arange(4, dtype=np.float32).reshape(2, 2)
    yield Sample(np.array([[1], [1]], np.int32), updates, np.array([3, 2], np.int32), fixed=(2,))
    yield Sample(np.array([[0, 1], [2, 0]]), updates[0], np.array([3, 2]), fixed=(2,))
    yield Bad(
        np.array([[3], [1]]), updates, np.array([3, 2]),
        match=r"indices\[0\] = \[3\] does not index into shape \[3,2\]",
    )  # fmt: skip


def _tensor_samples() -> Samples:
    x, updates = np.ones((3, 2), np.float32), np.arange(4, dtype=np.float32).reshape(2, 2)
    yield Sample(x, np.array([[2], [0]], np.int32), updates)
    yield Bad(x, np.array([[2], [0]]), updates[:1], match="must match")


for _card in (tensor_scatter_update_op, tensor_scatter_add_op, tensor_scatter_sub_op,
              scatter_nd_non_aliasing_add_op):  # fmt: skip
    _card.samples(_tensor_samples)

# ---- Public functions


@export("scatter_nd", "manip.scatter_nd")
def scatter_nd(indices: Any, updates: Any, shape: Any, name: str | None = None) -> Tensor:
    """Return a tensor of zeros to which slices are added.

    Args:
      indices: tuples of indices in the last dimension, int32 or int64.
      updates: the slices, of shape `indices.shape[:-1] + shape[indices.shape[-1]:]`.
      shape: of the result.
      name: of the operation.
    """
    return scatter_nd_op(indices, updates, shape, name=name)


@export("tensor_scatter_update", "tensor_scatter_nd_update")
def tensor_scatter_update(
    tensor: Any, indices: Any, updates: Any, name: str | None = None
) -> Tensor:
    """Return a copy of `tensor` with slices replaced; of several for one place, the last counts."""
    return tensor_scatter_update_op(tensor, indices, updates, name=name)


@export("tensor_scatter_add", "tensor_scatter_nd_add")
def tensor_scatter_add(tensor: Any, indices: Any, updates: Any, name: str | None = None) -> Tensor:
    """Return a copy of `tensor` to which slices are added."""
    return tensor_scatter_add_op(tensor, indices, updates, name=name)


@export("tensor_scatter_sub", "tensor_scatter_nd_sub")
def tensor_scatter_sub(tensor: Any, indices: Any, updates: Any, name: str | None = None) -> Tensor:
    """Return a copy of `tensor` from which slices are subtracted."""
    return tensor_scatter_sub_op(tensor, indices, updates, name=name)
