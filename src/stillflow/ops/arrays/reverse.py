"""Reversing and rolling elements along dimensions: ReverseV2, ReverseSequence, Roll."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stillflow.graph import dims as dims_lib
from stillflow.graph.arrays import Array
from stillflow.graph.card import op
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients, Kernel, OutputDims
from stillflow.ops.kernels import either, flip, ints, is_object, moving
from stillflow.ops.samples import Bad, Sample, Samples
from stillflow.util.renamed import renamed_argument

# ---- Reverse, ReverseV2

reverse_op = op("""
    Reverse(tensor: T, dims: bool) -> output: T
    T: {uint8, int8, uint16, int16, int32, int64, bool, half, float, double, complex64, \
complex128, string}
""")
reverse_v2_op = op(
    """
    ReverseV2(tensor: T, axis: Tidx) -> output: T
    Tidx: {int32, int64} = int32
    T: {uint8, int8, uint16, int16, int32, int64, bool, bfloat16, half, float, double, \
complex64, complex128, string}
""",
    numbers=("axis",),
    batching="vmap",
)


def _check_rank(dims: Any) -> None:
    if dims is not None and len(dims) > 8:
        raise ValueError("reverse does not work on tensors with more than 8 dimensions")


@reverse_op.shape
def reverse_shape(node: Node) -> OutputDims:
    (count,) = dims_lib.with_rank(node.dims(1), 1)
    dims = node.dims(0)
    if node.planning and dims is not None and count is not None and len(dims) != count:
        raise ValueError(
            "'dims' must have the same number of values as 'input' has dimensions. 'input' has "
            f"{len(dims)}'dims' has {count} values"
        )
    if count is not None:
        dims = dims_lib.with_rank(dims, count)
    _check_rank(dims)
    return dims


@reverse_v2_op.shape
def reverse_v2_shape(node: Node) -> OutputDims:
    dims_lib.with_rank(node.dims(1), 1)
    dims, axes = node.dims(0), node.value(1)
    _check_rank(dims)
    if axes is not None and dims is not None:
        check_axes(axes.tolist(), len(dims))
    return dims


def check_axes(axes: Sequence[int], rank: int) -> list[int]:
    """Distinct axes counted from the front; ValueError where they are not."""
    found: list[int] = []
    for index, axis in enumerate(axes):
        if not -rank <= axis < rank:
            raise ValueError(f"'axis'[{index}] = {axis} is out of valid range [0, {rank - 1}")
        if axis % rank in found:
            raise ValueError(f"axis {axis % rank} specified more than once.")
        found.append(axis % rank)
    return found


@reverse_op.kernel
def reverse_kernel(node: Node) -> Kernel:
    reversed_along = either(node, flip, _flip_strings)

    def reverse_marked(x: Any, marks: Any) -> torch.Tensor | Array:
        return reversed_along(x, [axis for axis, mark in enumerate(ints(marks)) if mark])

    return reverse_marked


def _flip_strings(x: Any, axes: Any) -> Array:
    return np.flip(x, tuple(axes)).copy() if len(axes) else x


@reverse_v2_op.kernel
def reverse_v2_kernel(node: Node) -> Kernel:
    reversed_along = either(node, flip, _flip_strings)
    axes, dims = node.value(1), node.dims(0)
    if axes is not None and dims is not None:
        return node.call(reversed_along, node.inputs[0], check_axes(axes.tolist(), len(dims)))
    return lambda x, axes: reversed_along(x, check_axes(ints(axes), x.ndim))


@reverse_op.gradient
def reverse_gradient(node: Node, grad: Any) -> Gradients:
    return [reverse_op(grad, node.inputs[1]), None]


@reverse_v2_op.gradient
def reverse_v2_gradient(node: Node, grad: Any) -> Gradients:
    return [reverse(grad, node.inputs[1]), None]


@reverse_v2_op.samples
def reverse_v2_samples() -> Samples:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    yield Sample(x, [-1], fixed=(1,))
    yield Sample(x, [0, 1], fixed=(1,))
    yield Sample(np.array([b"a", b"b"], object), [0], fixed=(1,))
    yield Bad(x, [2], match=r"'axis'\[0\] = 2 is out of valid range")
    yield Bad(x, [0, -2], match="axis 0 specified more than once")


@reverse_op.samples
def reverse_samples() -> Samples:
    yield Sample(np.arange(6, dtype=np.float32).reshape(2, 3), [False, True], fixed=(1,))


@export("reverse", "manip.reverse", "reverse_v2")
def reverse(tensor: Any, axis: Any, name: str | None = None) -> Tensor:
    """Reverses the order of elements along dimensions.

    Args:
      tensor: up to 8 dimensions.
      axis: a vector of distinct dimensions; negative ones count from the back.
      name: of the operation.

    Example:
      >>> print(tf.Session().run(tf.reverse([[1, 2], [3, 4]], axis=[1])))
      [[2 1]
       [4 3]]
    """
    return reverse_v2_op(tensor, axis, name=name)


# ---- ReverseSequence

reverse_sequence_op = op("""
    ReverseSequence(input: T, seq_lengths: Tlen) -> output: T
    seq_dim: int
    batch_dim: int = 0
    T: type
    Tlen: {int32, int64} = int64
""")


@reverse_sequence_op.shape
def reverse_sequence_shape(node: Node) -> OutputDims:
    dims, seq, batch = node.dims(0), node.seq_dim, node.batch_dim
    lengths = node.dims(1)
    if node.planning and lengths is not None and len(lengths) != 1:
        raise ValueError(f"seq_lens input must be 1-dim, not {len(lengths)}")
    lengths = dims_lib.with_rank(lengths, 1)
    if dims is None:
        return None
    rank = len(dims)
    for name, axis in (("batch_dim", batch), ("seq_dim", seq)):
        if axis >= rank:
            if node.planning:
                raise ValueError(f"{name} must be < input.dims()( {axis} vs. {rank})")
            raise ValueError(f"{name} must be < input rank: {axis} vs. {rank}")
    if batch < 0:
        raise ValueError(f"batch_dim must be >=0, got {batch}")
    if node.planning:
        if batch == seq:
            raise ValueError(f"batch_dim == seq_dim == {seq}")
        if None not in (lengths[0], dims[batch]) and lengths[0] != dims[batch]:
            raise ValueError(
                f"len(seq_lens) != input.dims({batch}), ({lengths[0]} vs. {dims[batch]})"
            )
    return dims_lib.replace_dim(dims, batch, dims_lib.merge_dim(dims[batch], lengths[0]))


def _check_lengths(lengths: Any, limit: int, axis: int) -> None:
    if not lengths.numel():
        return
    low, high = torch.aminmax(lengths)
    if low >= 0 and high <= limit:
        return
    place = int(((lengths < 0) | (lengths > limit)).int().argmax())
    what = "< 0" if lengths[place] < 0 else f"> input.dims({axis})"
    raise ValueError(f"seq_lens({place}) {what}")


def reverse_sequences(x: Any, lengths: Any, seq: int, batch: int) -> Any:
    """Return the first `lengths[b]` elements along `seq` of each batch element, reversed."""
    if batch == seq:
        raise ValueError(f"batch_dim == seq_dim == {seq}")
    if lengths.shape[0] != x.shape[batch]:
        raise ValueError(
            f"len(seq_lens) != input.dims({batch}), ({lengths.shape[0]} vs. {x.shape[batch]})"
        )
    limit = x.shape[seq]
    on_host = lengths.device.type == "cpu"  # nothing waits for other devices
    if on_host:
        _check_lengths(lengths, limit, seq)
    position = torch.arange(limit, device=lengths.device)[None, :]
    ends = lengths.long()[:, None]
    source = torch.where(position < ends, ends - 1 - position, position)
    if not on_host and limit:
        source = source.clamp_(0, limit - 1)
    numbers = torch.arange(x.shape[batch], device=lengths.device)[:, None]
    if isinstance(x, np.ndarray):
        moved = np.moveaxis(x, (batch, seq), (0, 1))
        return np.moveaxis(moved[numbers.numpy(), source.numpy()], (0, 1), (batch, seq))
    if batch + seq == 1:
        count = x.shape[batch]
        rows = numbers * limit + source if seq else (source * count + numbers).T
        return x.reshape(-1, *x.shape[2:]).index_select(0, rows.reshape(-1)).view(x.shape)
    moved = x.movedim((batch, seq), (0, 1))
    return moved[numbers, source].movedim((0, 1), (batch, seq)).contiguous()


@reverse_sequence_op.kernel
def reverse_sequence_kernel(node: Node) -> Kernel:
    seq = node.seq_dim
    dims = node.dims(0)
    if seq < 0 and dims is not None:
        seq += len(dims)
    return node.call(reverse_sequences, *node.inputs, seq, node.batch_dim)


@reverse_sequence_op.gradient
def reverse_sequence_gradient(node: Node, grad: Any) -> Gradients:
    return [
        reverse_sequence(grad, node.inputs[1], seq_axis=node.seq_dim, batch_axis=node.batch_dim),
        None,
    ]


@reverse_sequence_op.samples
def reverse_sequence_samples() -> Samples:
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    yield Sample(x, np.array([1, 3]), seq_dim=1)
    yield Sample(x, np.array([1, 4, 0], np.int32), seq_dim=2, batch_dim=1)
    yield Bad(x, np.array([1, 4]), seq_dim=1, match=r"seq_lens\(1\) > input.dims\(1\)")
    yield Bad(x, np.array([1, 2, 3]), seq_dim=1, match="must be equal|len\\(seq_lens\\)")


@export("reverse_sequence")
def reverse_sequence(
    input: Any,
    seq_lengths: Any,
    seq_axis: int | None = None,
    batch_axis: int | None = None,
    name: str | None = None,
    seq_dim: int | None = None,
    batch_dim: int | None = None,
) -> Tensor:
    """Reverses the beginning of each sequence of a batch.

    Args:
      input: a tensor.
      seq_lengths: how many elements of each sequence are reversed, int32 or int64.
      seq_axis: the dimension along which sequences run.
      batch_axis: the dimension that tells sequences apart, 0 by default.
      name: of the operation.
      seq_dim, batch_dim: older names of the axes.
    """
    seq_axis = renamed_argument("seq_axis", seq_axis, "seq_dim", seq_dim)
    batch_axis = renamed_argument("batch_axis", batch_axis, "batch_dim", batch_dim)
    return reverse_sequence_op(
        input, seq_lengths, seq_dim=seq_axis, batch_dim=batch_axis, name=name
    )


# ---- Roll

roll_op = op(
    """
    Roll(input: T, shift: Tshift, axis: Taxis) -> output: T
    T: type
    Tshift: {int32, int64}
    Taxis: {int32, int64}
""",
    numbers=("shift", "axis"),
)


@roll_op.shape
def roll_shape(node: Node) -> OutputDims:
    if node.planning:
        _check_roll(node.dims(0), node.dims(1), node.dims(2))
    dims_lib.with_rank_at_least(node.dims(0), 1)
    dims_lib.with_rank_at_most(node.dims(1), 1)
    dims_lib.with_rank_at_most(node.dims(2), 1)
    dims_lib.merge(node.dims(1), node.dims(2))
    return node.dims(0)


def _check_roll(dims: Any, shift: Any, axis: Any) -> None:
    """Raise an error for invalid shapes with the message of TF's kernel."""
    if dims == ():
        raise ValueError("input must be 1-D or higher")
    for name, given in (("shift", shift), ("axis", axis)):
        if given is not None and len(given) > 1:
            raise ValueError(
                f"{name} must be a scalar or a 1-D vector. Found: {dims_lib.to_string(given)}"
            )
    if dims_lib.is_known(shift) and dims_lib.is_known(axis) and shift != axis:
        raise ValueError("shift and axis must have the same size")


def _roll(x: Any, shift: Any, axis: Any) -> torch.Tensor | Array:
    _check_roll(tuple(x.shape), tuple(shift.shape), tuple(axis.shape))
    axes = [a + x.ndim if a < 0 else a for a in ints(axis)]
    for a in axes:
        if not 0 <= a < x.ndim:
            raise ValueError(f"axis {a} is out of range")
    if isinstance(x, np.ndarray):
        return np.roll(x, ints(shift), axes)
    return torch.roll(x, ints(shift), axes) if axes else x.clone()


@roll_op.kernel
def roll_kernel(node: Node) -> Kernel:
    return _roll if is_object(node) else moving(node.T, _roll)


@roll_op.gradient
def roll_gradient(node: Node, grad: Any) -> Gradients:
    _, shift, axis = node.inputs
    return [roll(grad, -shift, axis), None, None]


@roll_op.samples
def roll_samples() -> Samples:
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    yield Sample(x, 1, -1)
    yield Sample(x, [1, -4], [0, 1])
    yield Sample(x, np.array([], np.int32), np.array([], np.int32))
    yield Bad(x, [1], [2], match="axis 2 is out of range")


@export("roll", "manip.roll")
def roll(input: Any, shift: Any, axis: Any, name: str | None = None) -> Tensor:
    """Move elements along dimensions; those that leave at one end come in at the other.

    Args:
      input: a tensor.
      shift: how far, a scalar or one number for each axis.
      axis: a dimension or several; one named twice is moved by both shifts.
      name: of the operation.
    """
    return roll_op(input, shift, axis, name=name)
