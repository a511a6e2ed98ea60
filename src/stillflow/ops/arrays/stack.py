"""Stacking: Pack, `tf.stack`, and lists of tensors that become tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow import nest
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
from stillflow.graph.tensor_like import is_dense_tensor_like
from stillflow.ops.constants import constant
from stillflow.ops.dispatch import dispatchable
from stillflow.ops.kernels import either, is_handle
from stillflow.ops.samples import Bad, Sample, Samples

pack_op = op(
    """
    Pack(values: N*T) -> output: T
    N: int >= 1
    T: type
    axis: int = 0
""",
    batching="vmap",
)


@pack_op.shape
def pack_shape(node: Node) -> OutputDims:
    count = node.N
    if node.planning:
        _check_same([node.dims(index) for index in range(count)])
        rank = dims_lib.rank(node.dims(0))
        if rank is not None and not -rank - 1 <= node.axis <= rank:
            raise ValueError(f"axis = {node.axis} not in [{-rank - 1}, {rank + 1})")
    current = node.dims(count - 1)
    for index in range(count - 2, -1, -1):
        text = f"From merging shape {index} with other shapes."
        current = dims_lib.in_context(text, dims_lib.merge, node.dims(index), current)
    if current is None:
        return None
    axis = pack_axis(node.axis, len(current) + 1)
    return (*current[:axis], count, *current[axis:])


def _check_same(shapes: list[Any]) -> None:
    """Raise an error for known shapes that differ, with the message of TF's kernel."""
    first = shapes[0]
    if not dims_lib.is_known(first):
        return
    for index, dims in enumerate(shapes):
        if dims_lib.is_known(dims) and dims != first:
            raise ValueError(
                "Shapes of all inputs must match: values[0].shape = "
                f"{dims_lib.to_string(first)} != values[{index}].shape = "
                f"{dims_lib.to_string(dims)}"
            )


def pack_axis(axis: int, rank: int) -> int:
    """Return the axis along which tensors are stacked or unstacked, counted from the front."""
    if not -rank <= axis < rank:
        raise ValueError(f"Invalid axis: {axis}; must be in [{-rank},{rank})")
    return axis % rank


@pack_op.value
def pack_value(node: Node) -> Array | None:
    values = node.values(range(node.N))
    if values is None:
        return None
    return np.stack(values, axis=node.axis)


def _handles(*values: Any) -> np.ndarray:
    """Return handles as an array of objects."""
    made = np.empty(len(values), dtype=object)
    made[:] = values
    return made


@pack_op.kernel
def pack_kernel(node: Node) -> Kernel:
    if is_handle(node.T) and node.dims(0) == ():
        return _handles
    axis = node.axis
    join = np.stack if is_handle(node.T) else either(node, torch.stack, np.stack)
    if all(dims_lib.is_known(node.dims(index)) for index in range(node.N)):
        return lambda *values: join(values, axis)

    def stack_at_run_time(*values: Any) -> torch.Tensor | Array:
        _check_same([tuple(value.shape) for value in values])
        return join(values, pack_axis(axis, values[0].ndim + 1))

    return stack_at_run_time


@pack_op.gradient
def pack_gradient(node: Node, grad: Any) -> Gradients:
    from stillflow.ops.arrays.splitting import unstack

    return unstack(grad, num=node.N, axis=node.axis)


@pack_op.samples
def pack_samples() -> Samples:
    x = np.arange(3, dtype=np.float32)
    yield Sample([x, x + 1])
    yield Sample([x, x + 1, x], axis=-1)
    yield Sample([np.array(b"a", object), np.array(b"b", object)])
    yield Bad([x, x[:2]], match="must be equal|must match")
    yield Bad([x, x], axis=2, match="axis")


@export("stack")
@dispatchable
def stack(values: Any, axis: int = 0, name: str = "stack") -> Tensor:
    """Stacks tensors of one shape along a new dimension.

    Args:
      values: a list of tensors.
      axis: where the new dimension stands in the result; negative counts from the back.
      name: of the operation.

    Raises:
      ValueError: if `axis` is out of range.

    Example:
      >>> print(tf.Session().run(tf.stack([[1, 2], [3, 4]], axis=1)))
      [[1 3]
       [2 4]]
    """
    if axis == 0:
        try:
            return convert_to_tensor(values, name=name)
        except (TypeError, ValueError, NotImplementedError):
            pass  # not one list of constants and tensors
    dims = convert_to_tensor(values[0], name=name)._dims
    if dims is not None:
        rank = len(dims) + 1
        if not -rank <= axis < rank:
            raise ValueError(f"axis = {axis} not in [{-rank}, {rank})")
    return pack_op(values, axis=axis, name=name)


# ---- Lists that hold tensors


def _pack_list(values: Any, dtype: Any, name: str) -> Any:
    """Nested lists as a tensor if there are tensors in them, else as they are."""
    with name_scope(name) as scope:
        items = []
        must_pack = False
        for i, item in enumerate(values):
            if is_dense_tensor_like(item):
                if item.dtype.base_dtype != dtype:
                    raise TypeError(
                        f"Cannot convert a list containing a tensor of dtype {item.dtype} to "
                        f"{dtype} (Tensor is: {item!r})"
                    )
            elif isinstance(item, (list, tuple)):
                item = _pack_list(item, dtype, str(i))
            must_pack = must_pack or is_dense_tensor_like(item)
            items.append(item)
        if not must_pack:
            return items
        for i, item in enumerate(items):
            if not is_dense_tensor_like(item):
                items[i] = constant(item, dtype=dtype, name=str(i))
        return pack_op(items, name=scope)


def autopack(values: Any, inside: Any, dtype: Any, name: str | None) -> Tensor:
    """Pack nested lists into a tensor of `dtype`, by default of `inside`, the first tensor's."""
    if dtype is None:
        dtype = inside
    elif dtype != inside:
        from stillflow.ops.math.cast import cast_op

        def matching(item: Any) -> Any:
            if is_dense_tensor_like(item) and item.dtype.base_dtype != dtype:
                return cast_op(item, DstT=dtype)
            return item

        values = nest.map_structure(matching, values)
    return _pack_list(values, dtype, name or "packed")
