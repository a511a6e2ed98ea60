"""Padding: Pad, PadV2, MirrorPad."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stillflow.errors import internal
from stillflow.graph import dims as dims_lib
from stillflow.graph import dtypes
from stillflow.graph.arrays import Array
from stillflow.graph.card import op
from stillflow.graph.dims import Dims
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Call, Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients, Kernel, OutputDims
from stillflow.graph.static_value import static_value
from stillflow.graph.tensor_like import is_tensor
from stillflow.graph.tensor_shape import shape_from_dims
from stillflow.ops.arrays.shape import rank, reshape, shape
from stillflow.ops.arrays.slicing import slice_
from stillflow.ops.arrays.stack import stack
from stillflow.ops.input_ranks import checked_rank
from stillflow.ops.kernels import is_object, moving
from stillflow.ops.memory_limits import require_room
from stillflow.ops.samples import Bad, Sample, Samples

Pairs = list[list[int]]

# ---- Pad, PadV2

pad_op = op(
    """
    Pad(input: T, paddings: Tpaddings) -> output: T
    T: type
    Tpaddings: {int32, int64} = int32
""",
    numbers=("paddings",),
    batching="vmap",
)
pad_v2_op = op(
    """
    PadV2(input: T, paddings: Tpaddings, constant_values: T) -> output: T
    T: type
    Tpaddings: {int32, int64} = int32
""",
    numbers=("paddings",),
)
_MIRROR = 'T: type; Tpaddings: {int32, int64} = int32; mode: {"REFLECT", "SYMMETRIC"}'
mirror_pad_op = op(
    "MirrorPad(input: T, paddings: Tpaddings) -> output: T\n" + _MIRROR,
    gpu_types="fractions",
    numbers=("paddings",),
)
mirror_pad_grad_op = op(
    "MirrorPadGrad(input: T, paddings: Tpaddings) -> output: T\n" + _MIRROR,
    gpu_types="fractions",
    numbers=("paddings",),
)


def pad_shape(node: Node) -> Any:
    if node.planning:
        _check_ranks(node.dims(0), node.dims(1), "," * (node.op.type == "MirrorPad"))
        if len(node.inputs) == 3:
            checked_rank(node, 2, 0, "constant_values must be a scalar. Found: ")
    rows, columns = dims_lib.with_rank(node.dims(1), 2)
    dims_lib.with_value(columns, 2)
    dims, value = node.dims(0), node.value(1)
    if rows is not None:
        dims = dims_lib.with_rank(dims, rows)
    elif dims is not None:
        rows = dims_lib.with_value(rows, len(dims))
    if value is None:
        return dims_lib.unknown(rows)
    pairs = value.tolist()
    dims = dims_lib.with_rank(dims, len(pairs))
    if node.planning:
        _check(node.op.type, pairs, dims, _offset(node))
    for before, after in pairs:
        if before < 0 or after < 0:
            raise ValueError("Paddings must be non-negative")
    sums = value.sum(1, dtype=None if node.planning else value.dtype).tolist()  # may overflow
    for dim, extra in zip(dims, sums, strict=True):
        if dim is not None and dim + extra < 0:
            raise ValueError(f"Dimension size overflow from adding {dim} and {extra}")
    result = tuple([dims_lib.add(dim, extra) for dim, extra in zip(dims, sums, strict=True)])
    if node.planning and (dims_lib.num_elements(result) or 0) >= 1 << 63:
        raise internal(f"Encountered overflow when padding to {dims_lib.to_string(result)}")
    return result


def _check_ranks(dims: Dims, paddings: Dims, comma: str = "") -> None:
    """Raise an error for invalid paddings, with the message of TF's kernels."""
    if paddings is None:
        return
    if len(paddings) != 2 or paddings[1] != 2:
        raise ValueError(
            f"paddings must be a matrix with 2 columns: {dims_lib.to_string(paddings)}"
        )
    if dims is not None and paddings[0] not in (None, len(dims)):
        raise ValueError(
            "The first dimension of paddings must be the rank of inputs"
            f"{dims_lib.to_string(paddings)}{comma} {dims_lib.to_string(dims)}"
        )


def _check(kind: str, pairs: Pairs, dims: Sequence[int | None], offset: int) -> None:
    """Raise an error for invalid paddings, with the message of TF's kernels."""
    for (before, after), dim in zip(pairs, dims, strict=True):
        if before < 0 or after < 0:
            word = "paddings" if kind == "MirrorPad" else "Paddings"
            raise ValueError(f"{word} must be non-negative: {before} {after}")
        if kind != "MirrorPad" or dim is None:
            continue
        if max(before, after) > dim - offset:
            limit, relation = (
                ("less than", "not less than") if offset else ("no greater than", "greater than")
            )
            raise ValueError(
                f"paddings must be {limit} the dimension size: {before}, {after} {relation} {dim}"
            )


def _offset(node: Node) -> int:
    """1 where the edge itself is not repeated."""
    return int(node.op.attrs.get("mode") == b"REFLECT")


def _run_time_pairs(paddings: Any, x: Any, comma: str = "") -> Pairs:
    _check_ranks(tuple(x.shape), tuple(paddings.shape), comma)
    return paddings.tolist()


def torch_order(pairs: Pairs) -> list[int]:
    """Return paddings in torch's form: last dimension first, and no further than needed."""
    flat = [number for pair in reversed(pairs) for number in pair]
    while len(flat) > 2 and flat[-1] == 0 and flat[-2] == 0:
        del flat[-2:]
    return flat


def _check_scalar(value: Any) -> None:
    if value is not None and np.ndim(value):
        text = dims_lib.to_string(tuple(value.shape))
        raise ValueError(f"constant_values must be a scalar. Found: {text}")


def _pad_numbers(x: Any, paddings: Any, value: Any = None) -> torch.Tensor:
    pairs = _run_time_pairs(paddings, x)
    _check_scalar(value)
    _check("Pad", pairs, x.shape, 0)
    return torch.constant_pad_nd(x, torch_order(pairs), 0 if value is None else value.item())


def _pad_strings(x: Any, paddings: Any, value: Any = b"") -> Array:
    pairs = _run_time_pairs(paddings, x)
    _check_scalar(value)
    _check("Pad", pairs, x.shape, 0)
    sizes = [dim + sum(pair) for dim, pair in zip(x.shape, pairs, strict=True)]
    require_room((*sizes, np.dtype(object).itemsize), dtypes.uint8)
    result = np.full(sizes, value, object)
    inner = [slice(low, low + dim) for dim, (low, _) in zip(x.shape, pairs, strict=True)]
    place: tuple[Any, ...] = (..., *inner)
    result[place] = x  # "...": else a scalar is put in as an array
    return result


def pad_kernel(node: Node) -> Call | Callable[..., Any]:
    if is_object(node):
        return _pad_strings
    pairs, dims = node.value(1), node.dims(0)
    value = node.value(2) if len(node.inputs) == 3 else np.zeros(())
    if pairs is None or dims is None or value is None or not dims:
        return _pad_numbers
    if value.dtype.kind not in "biufc":
        return _pad_numbers
    if not pairs.any():
        return node.same(0)
    order = torch_order(pairs.tolist())
    return node.call(torch.constant_pad_nd, node.inputs[0], order, value.item())


def pad_gradient(node: Node, grad: Any) -> list[Tensor | None]:
    x, paddings = node.inputs[0], node.inputs[1]
    before = slice_(paddings, [0, 0], stack([rank(x), 1]))
    begin = reshape(before, [-1])
    result = slice_(grad, begin, shape(x))
    return [result, *[None] * (len(node.inputs) - 1)]


for _card in (pad_op, pad_v2_op):
    _card.shape(pad_shape)
    _card.kernel(pad_kernel)
    _card.gradient(pad_gradient)


@pad_op.samples
def pad_samples() -> Samples:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    yield Sample(x, [[0, 1], [2, 0]], fixed=(1,))
    yield Sample(np.array([b"a"], object), [[1, 1]], fixed=(1,))
    yield Bad(x, [[0, -1], [0, 0]], match="Paddings must be non-negative")
    yield Bad(x, [[0, 1]], match="rank 1|rank of inputs")


@pad_v2_op.samples
def pad_v2_samples() -> Samples:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    yield Sample(x, [[0, 1], [2, 0]], np.float32(7), fixed=(1,), grad=False)
    yield Bad(x, [[0, 1], [2, 0]], np.array([7], np.float32), match="must be a scalar. Found: .1.")


# ---- MirrorPad


@mirror_pad_grad_op.shape
def mirror_pad_grad_shape(node: Node) -> OutputDims:
    if node.planning:
        _check_ranks(node.dims(0), node.dims(1))
    rows, columns = dims_lib.with_rank(node.dims(1), 2)
    if rows is None:
        return None
    dims = dims_lib.with_rank(node.dims(0), rows)
    dims_lib.merge((rows, columns), (rows, 2))
    value = node.value(1)
    if value is None:
        return dims_lib.unknown(rows)
    result = []
    for (before, after), dim in zip(value.tolist(), dims, strict=True):
        if before < 0 or after < 0:
            raise ValueError("Paddings must be non-negative")
        if node.planning and dim is not None and before + after > dim:
            return dims_lib.unknown(rows)  # the kernel has words of its own
        result.append(dims_lib.subtract(dim, before + after))
    return tuple(result)


def _mirrored(size: int, before: int, after: int, offset: int) -> list[int]:
    """Return the source index of each element of a padded dimension."""
    front = [index + offset for index in range(before)][::-1]
    back = [size - 1 - offset - index for index in range(after)]
    return [*front, *range(size), *back]


def mirror(x: Any, paddings: Any, offset: int) -> torch.Tensor | Array:
    """Pad with the mirrored neighbourhood of the edges; an offset of 1 leaves the edge out."""
    pairs = _run_time_pairs(paddings, x, ",")
    _check("MirrorPad", pairs, x.shape, offset)
    for axis, (before, after) in enumerate(pairs):
        if before or after:
            source = _mirrored(x.shape[axis], before, after, offset)
            if isinstance(x, np.ndarray):
                x = np.take(x, source, axis)
            else:
                x = x.index_select(axis, torch.tensor(source, device=x.device))
    return x


def _fold(grad: Any, paddings: Any, offset: int) -> torch.Tensor:
    """Add mirrored elements to their sources."""
    for axis, (before, after) in enumerate(_run_time_pairs(paddings, grad)):
        if not before and not after:
            continue
        size = grad.shape[axis] - before - after
        if max(before, after) > size - offset:
            limit, relation = (
                ("less than", "not less than") if offset else ("no greater than", "greater than")
            )
            raise ValueError(
                f"paddings must be {limit} the output dimension size: {before}, {after} "
                f"{relation} {size}"
            )
        inner = grad.narrow(axis, before, size).clone()
        last = size - offset - after
        for start, count, to in ((0, before, offset), (before + size, after, last)):
            inner.narrow(axis, to, count).add_(grad.narrow(axis, start, count).flip(axis))
        grad = inner
    return grad


@mirror_pad_op.kernel
def mirror_pad_kernel(node: Node) -> Kernel:
    return node.call(moving(node.T, mirror), *node.inputs, _offset(node))


@mirror_pad_grad_op.kernel
def mirror_pad_grad_kernel(node: Node) -> Kernel:
    return node.call(moving(node.T, _fold), *node.inputs, _offset(node))


@mirror_pad_op.gradient
def mirror_pad_gradient(node: Node, grad: Any) -> Gradients:
    return [mirror_pad_grad_op(grad, node.inputs[1], mode=node.mode), None]


@mirror_pad_grad_op.gradient
def mirror_pad_grad_gradient(node: Node, grad: Any) -> Gradients:
    return [mirror_pad_op(grad, node.inputs[1], mode=node.mode), None]


mirror_pad_op.shape(pad_shape)


@mirror_pad_op.samples
def mirror_pad_samples() -> Samples:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    yield Sample(x, [[1, 1], [2, 0]], mode="REFLECT", fixed=(1,))
    yield Sample(x, [[2, 1], [0, 3]], mode="SYMMETRIC", fixed=(1,))
    yield Bad(x, [[2, 0], [0, 0]], mode="REFLECT", match="paddings must be less than")


@mirror_pad_grad_op.samples
def mirror_pad_grad_samples() -> Samples:
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    yield Sample(x, [[1, 0], [1, 1]], mode="SYMMETRIC", fixed=(1,))
    yield Sample(x, [[1, 0], [1, 0]], mode="REFLECT", fixed=(1,))


# ---- Public function


@export("pad")
def pad(
    tensor: Any,
    paddings: Any,
    mode: str = "CONSTANT",
    name: str | None = None,
    constant_values: Any = 0,
) -> Tensor:
    """Add elements before and after each dimension.

    Args:
      tensor: what to pad.
      paddings: how many before and after, shape `[rank, 2]`, int32 or int64.
      mode: "CONSTANT", "REFLECT" (mirrored, the edge not repeated) or "SYMMETRIC" (repeated).
      name: of the operation.
      constant_values: a scalar, what "CONSTANT" fills in.

    Raises:
      ValueError: if the mode does not exist or the paddings are known not to fit.

    Example:
      >>> print(tf.Session().run(tf.pad([[1, 2]], paddings=[[0, 1], [1, 2]])))
      [[0 1 2 0 0]
       [0 0 0 0 0]]
    """
    mode = mode.upper()
    if mode == "CONSTANT":
        if not is_tensor(constant_values) and constant_values == 0:
            result: Tensor = pad_op(tensor, paddings, name=name)
        else:
            result = pad_v2_op(tensor, paddings, constant_values, name=name)
    elif mode in ("REFLECT", "SYMMETRIC"):
        result = mirror_pad_op(tensor, paddings, mode=mode, name=name)
    else:
        raise ValueError(f"Unknown padding mode: {mode}")
    if result.shape.is_fully_defined():
        return result
    dims = result.op._inputs[0]._dims
    known = static_value(result.op._inputs[1], partial=True)
    if dims is not None and known is not None:
        result.set_shape(shape_from_dims(_partly_padded(known, dims)))
    return result


def _partly_padded(paddings: Any, dims: Sequence[int | None]) -> tuple[int | None, ...]:
    sizes: list[int | None] = []
    for pair, dim in zip(paddings, dims, strict=False):
        if pair is None or dim is None or any(number is None for number in pair):
            sizes.append(None)
        else:
            sizes.append(int(sum(pair)) + dim)
    return tuple(sizes)
