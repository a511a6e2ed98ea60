"""Evenly spaced numbers: Range, LinSpace."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stillflow.graph import dims as dims_lib
from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.arrays import Array
from stillflow.graph.card import op
from stillflow.graph.constant_value import MAX_ELEMENTS
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.input_ranks import checked_rank
from stillflow.ops.kernels import torch_type
from stillflow.ops.memory_limits import require_room
from stillflow.ops.samples import Bad, Sample, Samples

_TYPES = (dtypes.int32, dtypes.int64, dtypes.float32, dtypes.float64)


def _check_scalars(node: Node, names: tuple[str, ...]) -> None:
    for index, name in enumerate(names):
        refusal = f"{name} must be a scalar, not shape "
        dims_lib.in_context(
            "" if node.planning else f" for '{name}'", checked_rank, node, index, 0, refusal
        )


# ---- Range

range_op = op(
    """
    Range(start: Tidx, limit: Tidx, delta: Tidx) -> output: Tidx
    Tidx: {bfloat16, float, double, int32, int64} = int32
""",
    differentiable=False,
    numbers=("start", "limit", "delta"),
)


@range_op.shape
def range_shape(node: Node) -> OutputDims:
    _check_scalars(node, ("start", "limit", "delta"))
    values = [node.value(index) for index in (0, 1, 2)]
    if any(value is None for value in values):
        return (None,)
    if values[2] == 0 and not node.planning:
        raise ValueError("Requires delta != 0")
    return (range_length(*values),)


def _shown(*numbers: Any) -> str:
    return "/".join(str(number).removesuffix(".0") for number in numbers)


_MANY = 1 << 20  # elements, from where on memory is looked at


def range_length(start: Any, limit: Any, delta: Any) -> int:
    """Return the length of a range."""
    if delta == 0:
        raise ValueError(f"Requires delta != 0: {delta}")
    if start > limit and delta > 0:
        raise ValueError(f"Requires start <= limit when delta > 0: {_shown(start, limit)}")
    if start < limit and delta < 0:
        raise ValueError(f"Requires start >= limit when delta < 0: {_shown(start, limit)}")
    if np.asarray(start).dtype.kind in "iu":
        return (abs(int(limit) - int(start)) + abs(int(delta)) - 1) // abs(int(delta))
    with np.errstate(over="ignore"):
        length = abs(float((limit - start) / delta))
    if not length < 2**63:  # in C++ the number has wrapped
        raise dims_lib.InvalidSize(f"Dimension {-(2**63)} must be >= 0")
    return math.ceil(length)


def range_array(start: Any, limit: Any, delta: Any) -> np.ndarray:
    """Return the numbers; those of a floating-point range are added up one by one, as TF does."""
    count = range_length(start, limit, delta)
    dtype = np.asarray(start).dtype
    require_room((count,), dtypes.as_dtype(dtype))
    if dtype.kind in "iu":
        first, step = int(start), int(delta)
        return np.arange(first, first + count * step, step, dtype=dtype)
    steps = np.full(count, delta, dtype)
    steps[:1] = start
    return np.add.accumulate(steps, dtype=dtype)


@range_op.value
def range_value(node: Node) -> Array | None:
    dims = node.out_dims()
    if dims is None or dims[0] is None or dims[0] > MAX_ELEMENTS:
        return None
    return range_array(*[node.value(index) for index in (0, 1, 2)])


@range_op.kernel
def range_kernel(node: Any) -> Kernel:
    dtype = node.Tidx
    if dtype.is_integer:
        kind = torch_type(dtype)

        def integers(start: Any, limit: Any, delta: Any) -> torch.Tensor:
            first, end, step = int(start), int(limit), int(delta)
            if step == 0 or (end - first) * step < 0:
                range_length(first, end, step)  # raises the error
            if abs(end - first) > _MANY:
                require_room((range_length(first, end, step),), dtype)
            return torch.arange(first, end, step, dtype=kind)

        return integers
    kind = torch_type(dtype)

    def floats(start: Any, limit: Any, delta: Any) -> torch.Tensor:
        numbers = [np.asarray(x.item(), dtype.as_numpy_dtype)[()] for x in (start, limit, delta)]
        return torch.from_numpy(range_array(*numbers).astype(np.float64)).to(kind)

    return floats


@range_op.samples
def range_samples() -> Samples:
    yield Sample(np.int32(1), np.int32(7), np.int32(2), fixed=(0, 1, 2))
    yield Sample(np.float32(1), np.float32(0), np.float32(-0.1), fixed=(0, 1, 2), grad=False)
    yield Bad(np.int32(1), np.int32(7), np.int32(0), match="Requires delta != 0")
    yield Bad(np.int32(9), np.int32(7), np.int32(1), match="Requires start <= limit")
    yield Bad(np.float32(0), np.float32(1e30), np.float32(1e-10), match="must be >= 0")


@export("range")
def range(
    start: Any, limit: Any = None, delta: Any = 1, dtype: Any = None, name: str = "range"
) -> Tensor:
    """Return the numbers from `start` up to, but not including, `limit`, in steps of `delta`.

    Args:
      start: the first number; the limit if `limit` is not given, and the first is 0 then.
      limit: scalar.
      delta: scalar, by default 1.
      dtype: of the result; by default the widest of the arguments' types.
      name: of the operation.

    Example:
      >>> print(tf.Session().run(tf.range(3)), tf.Session().run(tf.range(1, 10, delta=4)))
      [0 1 2] [1 5 9]
    """
    from stillflow.ops.math.cast import cast

    if limit is None:
        start, limit = 0, start
    with name_scope(name, "Range", [start, limit, delta]) as scope:
        start = convert_to_tensor(start, dtype=dtype, name="start")
        limit = convert_to_tensor(limit, dtype=dtype, name="limit")
        delta = convert_to_tensor(delta, dtype=dtype, name="delta")
        if dtype is None:
            given = [start, limit, delta]
            assert all(item.dtype in _TYPES for item in given)
            widest = max((item.dtype for item in given), key=_TYPES.index)
            start, limit, delta = [cast(item, widest) for item in given]
        return range_op(start, limit, delta, name=scope)


# ---- LinSpace

lin_space_op = op(
    """
    LinSpace(start: T, stop: T, num: Tidx) -> output: T
    T: {bfloat16, float, double}
    Tidx: {int32, int64} = int32
""",
    differentiable=False,
    numbers=("num",),
)


@lin_space_op.shape
def lin_space_shape(node: Node) -> OutputDims:
    _check_scalars(node, ("start", "stop", "num"))
    num = node.value(2)
    if num is None:
        return (None,)
    if num <= 0:
        raise ValueError(f"Requires num > 0: {num}")
    return (int(num),)


@lin_space_op.kernel
def lin_space_kernel(node: Node) -> Kernel:
    dtype = node.T.as_numpy_dtype
    kind = torch_type(node.T)

    def space(start: Any, stop: Any, num: Any) -> torch.Tensor:
        count = int(num)
        if count <= 0:
            raise ValueError(f"Requires num > 0: {count}")
        require_room((count,), node.T)
        first, last = dtype(start.item()), dtype(stop.item())
        points = torch.empty(count, dtype=kind)
        step = dtype(0) if count == 1 else (last - first) / dtype(count - 1)
        begin = 0
        while begin < count:  # in pieces, as each takes more memory than it gives
            places = np.arange(begin, min(begin + _MANY, count)).astype(dtype)
            piece = (first + step * places).astype(np.float64)
            points[begin : begin + _MANY] = torch.from_numpy(piece).to(kind)
            begin += _MANY
        points[0] = float(first)
        if count > 1:
            points[-1] = float(last)
        return points

    return space


@lin_space_op.samples
def lin_space_samples() -> Samples:
    yield Sample(np.float32(1), np.float32(2), np.int32(4), fixed=(2,), grad=False)
    yield Bad(np.float32(1), np.float32(2), np.int32(0), match="Requires num > 0")


@export("linspace", "lin_space")
def linspace(start: Any, stop: Any, num: Any, name: str | None = None) -> Tensor:
    """`num` evenly spaced numbers from `start` to `stop`, both included.

    Args:
      start: scalar: bfloat16, float32 or float64.
      stop: scalar of the same type.
      num: how many, int32 or int64, at least 1.
      name: of the operation.
    """
    return lin_space_op(start, stop, num, name=name)
