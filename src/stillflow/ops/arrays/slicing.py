"""Slices: Slice, StridedSlice and its gradient."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from stillflow.graph import dims as dims_lib
from stillflow.graph.arrays import Array
from stillflow.graph.card import op
from stillflow.graph.dims import Dims
from stillflow.graph.export import export, export_value
from stillflow.graph.lazy import torch
from stillflow.graph.node import Call, Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients, Kernel, OutputDims
from stillflow.ops.arrays.shape import rank, reshape, shape
from stillflow.ops.arrays.stack import stack
from stillflow.ops.arrays.strides import (
    Masks,
    Resolved,
    check_vectors,
    resolve,
    resolve_again,
    sliced_dims,
)
from stillflow.ops.kernels import flip, ints, is_object
from stillflow.ops.samples import Bad, Sample, Samples

newaxis = None
export_value("newaxis", newaxis)

_MASKS = """
    T: type
    Index: {int32, int64}
    begin_mask: int = 0
    end_mask: int = 0
    ellipsis_mask: int = 0
    new_axis_mask: int = 0
    shrink_axis_mask: int = 0
"""

# ---- Slice

slice_op = op(
    "Slice(input: T, begin: Index, size: Index) -> output: T; T: type; Index: {int32, int64}",
    view=True,
    numbers=("begin", "size"),
    batching="vmap",
)


@slice_op.shape
def slice_shape(node: Node) -> OutputDims:
    dims = node.dims(0)
    if node.planning:
        _check_vectors(dims, node.dims(1), node.dims(2))
    begin_dims = dims_lib.with_rank(node.dims(1), 1)
    size_dims = dims_lib.with_rank(node.dims(2), 1)
    sizes = node.value(2)
    if node.planning and dims_lib.is_known(dims):
        begin = node.value(1)
        if begin is not None and sizes is not None:
            return run_time_extent(dims, begin.tolist(), sizes.tolist())
    (count,) = dims_lib.merge(begin_dims, size_dims) or (None,)
    if count is not None:
        dims = dims_lib.with_rank(dims, count)
    if sizes is not None:
        start = node.shape_value(1)
        return _slice_dims(dims, start, sizes.tolist())
    partial = node.shape_value(2)
    return partial if partial is not None else dims_lib.unknown(dims_lib.rank(dims))


def _check_vectors(dims: Dims, begin: Dims, size: Dims) -> None:
    if dims is None or begin is None or size is None:
        return
    if len(begin) != 1 or len(size) != 1 or {begin[0], size[0]} - {len(dims), None}:
        raise ValueError(
            f"Expected begin and size arguments to be 1-D tensors of size {len(dims)}, but got "
            f"shapes {dims_lib.to_string(begin)} and {dims_lib.to_string(size)} instead."
        )


def _slice_dims(dims: Any, begin: Any, sizes: Sequence[int]) -> tuple[int | None, ...]:
    result: list[int | None] = []
    for axis, size in enumerate(sizes):
        if size == -1:
            start = None if begin is None else begin[axis]
            result.append(dims_lib.subtract(None if dims is None else dims[axis], start))
        else:
            result.append(size)
    return tuple(result)


def run_time_extent(
    dims: Sequence[int], begin: Sequence[int], sizes: Sequence[int]
) -> tuple[int, ...]:
    """Return the sizes of a slice with -1 resolved, checked with the message of TF's kernel."""
    if len(begin) != len(dims) or len(sizes) != len(dims):
        raise ValueError(
            f"Expected begin and size arguments to be 1-D tensors of size {len(dims)}, but got "
            f"shapes [{len(begin)}] and [{len(sizes)}] instead."
        )
    result = []
    for axis, (dim, start, size) in enumerate(zip(dims, begin, sizes, strict=True)):
        extent = dim - start if size == -1 else size
        if dim == 0:
            if start or extent:
                raise ValueError(
                    f"Expected begin[{axis}] == 0 (got {start}) and size[{axis}] == 0 (got "
                    f"{extent}) when input.dim_size({axis}) == 0"
                )
        elif not 0 <= start <= dim:
            raise ValueError(f"Expected begin[{axis}] in [0, {dim}], but got {start}")
        elif not 0 <= extent <= dim - start:
            raise ValueError(f"Expected size[{axis}] in [0, {dim - start}], but got {extent}")
        result.append(extent)
    return tuple(result)


def _extent_index(begin: Sequence[int], sizes: Sequence[int]) -> tuple[Any, ...]:
    bounds = zip(begin, sizes, strict=True)
    return (*[slice(start, start + size) for start, size in bounds], Ellipsis)


@slice_op.value
def slice_value(node: Node) -> Array | None:
    value, begin, dims = node.value(0), node.value(1), node.out_dims()
    if value is None or begin is None or not dims_lib.is_known(dims):
        return None
    return value[_extent_index(begin.tolist(), dims)]


def _slice_numbers(x: Any, begin: Any, sizes: Any) -> torch.Tensor:
    start = ints(begin)
    extent = run_time_extent(x.shape, start, ints(sizes))
    for axis, size in enumerate(extent):
        if size != x.shape[axis]:
            x = x.narrow(axis, start[axis], size)
    return x


def _slice_strings(x: Any, begin: Any, sizes: Any) -> Array:
    start = ints(begin)
    return x[_extent_index(start, run_time_extent(x.shape, start, ints(sizes)))]


@slice_op.kernel
def slice_kernel(node: Node) -> Kernel:
    if is_object(node):
        return _slice_strings
    dims, extent, begin = node.dims(0), node.out_dims(), node.value(1)
    if begin is None or not (dims_lib.is_known(dims) and dims_lib.is_known(extent)):
        return _slice_numbers
    start = begin.tolist()
    if extent == dims:
        return node.same(0)
    index = _extent_index(start, extent)[:-1]
    return node.call(operator.getitem, node.inputs[0], index[0] if len(index) == 1 else index)


@slice_op.gradient
def slice_gradient(node: Node, grad: Any) -> Gradients:
    from stillflow.ops.arrays.concat import concat
    from stillflow.ops.arrays.pad import pad

    x, begin = node.inputs[0], node.inputs[1]
    input_rank = rank(x)
    extent = shape(node.outputs[0])
    column = stack([input_rank, 1])
    before = reshape(begin, column)
    after = reshape(shape(x) - extent - begin, column)
    return [pad(grad, concat([before, after], 1)), None, None]


@slice_op.samples
def slice_samples() -> Samples:
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    yield Sample(x, [1, 0], [2, -1], fixed=(1, 2))
    yield Sample(x, [1, 2], [1, 1], fixed=(1, 2))
    yield Sample(np.array([b"a", b"b"], object), [1], [1], fixed=(1, 2))
    yield Bad(x, [0, 0], [4, 1], match=r"size\[0\]")


@export("slice")
def slice_(input_: Any, begin: Any, size: Any, name: str | None = None) -> Tensor:
    """Return a contiguous part of a tensor.

    Args:
      input_: a tensor.
      begin: where the part begins, one number for each dimension.
      size: its sizes; -1 takes all that remains.
      name: of the operation.

    Raises:
      ValueError: if the part is known not to lie within the tensor.

    Example:
      >>> print(tf.Session().run(tf.slice([[1, 2, 3], [4, 5, 6]], begin=[0, 1], size=[2, -1])))
      [[2 3]
       [5 6]]
    """
    return slice_op(input_, begin, size, name=name)


# ---- StridedSlice

strided_slice_op = op(
    "StridedSlice(input: T, begin: Index, end: Index, strides: Index) -> output: T" + _MASKS,
    view=True,
    numbers=("begin", "end", "strides"),
    batching="vmap",
)


@strided_slice_op.shape
def strided_slice_shape(node: Node) -> OutputDims:
    vectors = [node.dims(1), node.dims(2), node.dims(3)]
    if node.planning and all(dims_lib.is_known(dims) for dims in vectors):
        check_vectors(vectors)
    begin_dims, end_dims, stride_dims = [dims_lib.with_rank(dims, 1) for dims in vectors]
    merged = dims_lib.merge(dims_lib.merge(begin_dims, end_dims), stride_dims)
    dims, strides = node.dims(0), node.value(3)
    if dims is None or strides is None or merged == (None,):
        return None
    begin, end = node.value(1), node.value(2)
    return sliced_dims(
        dims,
        None if begin is None else begin.tolist(),
        None if end is None else end.tolist(),
        strides.tolist(),
        Masks.of(node),
    )


def known_slice(node: Node, dims: Any, first: int = 1) -> Resolved | None:
    """Return the slice that inputs `first`, `first` + 1 and `first` + 2 say, where all is known."""
    bounds = node.values(range(first, first + 3))
    if bounds is None or not dims_lib.is_known(dims):
        return None
    begin, end, strides = (bound.tolist() for bound in bounds)
    return resolve(dims, begin, end, strides, Masks.of(node))


@strided_slice_op.value
def strided_slice_value(node: Node) -> Array | None:
    value = node.value(0)
    if value is None:
        return _known_sizes(node) if node.planning else None
    try:
        found = known_slice(node, value.shape)
    except ValueError:  # that it fails is for those to hear who run it: branches may not
        return None
    return None if found is None else take_array(value, found)


def _known_sizes(node: Node) -> Array | None:
    """Return the known part of a sliced shape: the batch of sequences of any length.

    For plans only: TF's static shapes know only the results of TF's own rules.
    """
    # Only integers are read as a shape: 2.7 would be 2.
    sizes = node.shape_value(0) if node.T.is_integer and len(node.dims(0) or ()) == 1 else None
    found = None if sizes is None else known_slice(node, (len(sizes),))
    if sizes is None or found is None:
        return None
    part = take_array(np.array([-1 if size is None else size for size in sizes]), found)
    return None if (part < 0).any() else part.astype(node.T.as_numpy_dtype)


def take_array(x: np.ndarray, found: Resolved) -> Array:
    """Return the slice of a numpy array; a single element stays an array."""
    part = x[(*found.index, Ellipsis)]
    return np.flip(part, found.flips).copy() if found.flips else part  # torch strides are positive


def take_tensor(x: Any, found: Resolved) -> torch.Tensor:
    """Return the slice of a torch tensor, a view unless something is reversed."""
    part = x[found.index]
    return flip(part, found.flips) if found.flips else part


@strided_slice_op.kernel
def strided_slice_kernel(node: Node) -> Kernel:
    found = known_slice(node, node.dims(0))
    strings = is_object(node)
    if found is not None:
        if strings:
            return node.call(take_array, node.inputs[0], found)
        if found.plain and all(part is None for part in found.parts):
            return node.same(0)
        if found.flips:
            return node.call(take_tensor, node.inputs[0], found)
        index = found.index[0] if len(found.index) == 1 else found.index
        return node.call(operator.getitem, node.inputs[0], index)
    masks, take = Masks.of(node), take_array if strings else take_tensor

    def take_at_run_time(x: Any, begin: Any, end: Any, strides: Any) -> torch.Tensor | Array:
        check_vectors([begin.shape, end.shape, strides.shape])
        bounds = (tuple(ints(part)) for part in (begin, end, strides))
        return take(x, resolve_again(tuple(x.shape), *bounds, masks))

    return take_at_run_time


def _masks_of(node: Node) -> dict[str, Any]:
    names = ("begin", "end", "ellipsis", "new_axis", "shrink_axis")
    return {f"{name}_mask": getattr(node, f"{name}_mask") for name in names}


@strided_slice_op.gradient
def strided_slice_gradient(node: Node, grad: Any) -> Gradients:
    x, begin, end, strides = node.inputs
    sizes = shape(x, out_type=begin.dtype)
    result = strided_slice_grad_op(sizes, begin, end, strides, grad, **_masks_of(node))
    return [result, None, None, None]


@strided_slice_op.samples
def strided_slice_samples() -> Samples:
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    yield Sample(x, [0, 1], [1, 3], [1, 1], fixed=(1, 2, 3), shrink_axis_mask=1)
    yield Sample(x, [0, 0, 3], [2, 0, -5], [1, 1, -2], fixed=(1, 2, 3), end_mask=2)
    yield Sample(x, [0, 0, 1], [0, 0, 3], [1, 1, 1], fixed=(1, 2, 3), ellipsis_mask=1,
                 new_axis_mask=2)  # fmt: skip
    yield Sample(np.array([b"a", b"b"], object), [1], [2], [1], fixed=(1, 2, 3),
                 shrink_axis_mask=1)  # fmt: skip
    yield Bad(x, [2], [3], [1], shrink_axis_mask=1, match="slice index 2 of dimension 0 out of")
    yield Bad(x, [0], [1], [0], match=r"strides\[0\] must be non-zero")


# ---- StridedSliceGrad

strided_slice_grad_op = op(
    "StridedSliceGrad(shape: Index, begin: Index, end: Index, strides: Index, dy: T) -> output: T"
    + _MASKS,
    numbers=("shape", "begin", "end", "strides"),
    batching="vmap",
)


@strided_slice_grad_op.shape
def strided_slice_grad_shape(node: Node) -> OutputDims:
    vectors = [node.dims(1), node.dims(2), node.dims(3)]
    if node.planning and all(map(dims_lib.is_known, vectors)):
        check_vectors(vectors)
    dims_lib.with_rank(node.dims(0), 1)
    return node.shape_value(0)


def _spread(dy: Any, found: Resolved, dims: Sequence[int]) -> torch.Tensor | Array:
    """Return a tensor of zeros, or empty strings, but for the slice, which is `dy`."""
    if isinstance(dy, np.ndarray):
        strings = np.full(dims, b"", object)
        strings[tuple(found.index)] = np.flip(dy, found.flips) if found.flips else dy
        return strings
    result = torch.zeros(dims, dtype=dy.dtype, device=dy.device)
    result[found.index].copy_(flip(dy, found.flips) if found.flips else dy)
    return result


def _check_dy(found: Resolved, dims: Any) -> None:
    if dims != found.dims:
        raise ValueError(
            f"shape of dy was {dims_lib.to_string(dims)} instead of "
            f"{dims_lib.to_string(found.dims)}"
        )


def _spread_one(node: Node, found: Resolved, dims: tuple[int, ...]) -> Call | None:
    """Return the kernel where a single dimension was cut."""
    if is_object(node, 4):
        return None
    touched = [axis for axis, part in enumerate(found.parts) if part is not None]
    if not touched and found.plain:
        return node.same(4)
    if len(touched) != 1 or not found.plain or found.flips:
        return None
    (axis,) = touched
    part = found.parts[axis]
    assert part is not None
    dy, aten = node.inputs[4], torch.ops.aten
    if axis in found.drops:
        return node.call(aten.select_backward.default, dy, dims, axis, part.start)
    stop = part.start + (part.count - 1) * part.step + 1
    if part.count == 0:
        return None
    return node.call(aten.slice_backward.default, dy, dims, axis, part.start, stop, part.step)


@strided_slice_grad_op.kernel
def strided_slice_grad_kernel(node: Node) -> Kernel:
    dims = node.out_dims()
    found = known_slice(node, dims)
    if found is not None and dims_lib.is_known(node.dims(4)) and dims_lib.is_known(dims):
        _check_dy(found, node.dims(4))
        simple = _spread_one(node, found, dims)
        return simple or node.call(_spread, node.inputs[4], found, dims)
    masks = Masks.of(node)

    def spread_at_run_time(sizes: Any, begin: Any, end: Any, strides: Any, dy: Any) -> torch.Tensor:
        target = ints(sizes)
        bounds = (tuple(ints(part)) for part in (begin, end, strides))
        found = resolve_again(tuple(target), *bounds, masks)
        _check_dy(found, tuple(dy.shape))
        return _spread(dy, found, target)

    return spread_at_run_time


@strided_slice_grad_op.gradient
def strided_slice_grad_gradient(node: Node, grad: Any) -> Gradients:
    _, begin, end, strides, _ = node.inputs
    sliced = strided_slice(grad, begin, end, strides, **_masks_of(node))
    return [None, None, None, None, sliced]


@strided_slice_grad_op.samples
def strided_slice_grad_samples() -> Samples:
    dy = np.ones((2, 2), np.float32)
    yield Sample([2, 4], [0, 1], [2, 4], [1, 2], dy, fixed=(0, 1, 2, 3))
    yield Bad([2, 4], [0, 1], [2, 4], [1, 1], dy, match="shape of dy was")


@export("strided_slice")
def strided_slice(
    input_: Any,
    begin: Any,
    end: Any,
    strides: Any = None,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    var: Any = None,
    name: str | None = None,
) -> Tensor:
    """Return a part of a tensor, in steps: the result of `tensor[...]`.

    Args:
      input_: a tensor.
      begin, end, strides: integer vectors, one entry for each part of the index.
      begin_mask, end_mask: bits of the entries whose range is open on that side.
      ellipsis_mask: the bit of the entry that stands for all dimensions not mentioned.
      new_axis_mask: bits of the entries that add a dimension.
      shrink_axis_mask: bits of the entries that take a single element and drop the dimension.
      var: the variable of which `input_` is the value; its slice can then be assigned to.
      name: of the operation.

    Raises:
      ValueError: if the slice is known not to fit.
    """
    if strides is None:
        from stillflow.ops.arrays.fill import ones_like

        strides = ones_like(begin)
    masks = {
        "begin_mask": begin_mask, "end_mask": end_mask, "ellipsis_mask": ellipsis_mask,
        "new_axis_mask": new_axis_mask, "shrink_axis_mask": shrink_axis_mask,
    }  # fmt: skip
    result = strided_slice_op(input_, begin, end, strides, name=name, **masks)
    given = {"begin": begin, "end": end, "strides": strides, **masks}
    result.assign = functools.partial(_assign_slice, var, name, given)
    return result


def _assign_slice(var: Any, scope: str | None, given: Any, value: Any, name: Any = None) -> Any:
    if var is None:
        raise ValueError("Sliced assignment is only supported for variables")
    if name is None:
        name = f"{scope}_assign" if scope is not None else None
    return var._strided_slice_assign(value=value, name=name, **given)
