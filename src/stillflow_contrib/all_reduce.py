"""Graphs that add up tensors of several devices so that each of them has the sum.

Each builder takes one tensor of each device, which it stays on, and returns as many. `red_op` makes
one tensor of two (rings, halving) or of a list (shuffles); `un_op` is applied to its result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from stillflow.graph.api import colocate_with, control_dependencies, device
from stillflow.graph.device import DeviceSpecV2
from stillflow.graph.operation import Tensor
from stillflow.ops import nccl
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.fill import zeros
from stillflow.ops.arrays.shape import reshape
from stillflow.ops.arrays.slicing import slice_
from stillflow.ops.arrays.splitting import split
from stillflow.ops.control_flow.identity_and_group import identity
from stillflow.ops.math.binary import add

Tensors = list[Any]


# ---- shapes


def flatten_tensors(tensors: Sequence[Any]) -> tuple[Any, Any]:
    """Return tensors of one shape as vectors, and the shape, which must be known."""
    if not tensors:
        raise ValueError("tensors cannot be empty")
    shape = tensors[0].shape
    for tensor in tensors:
        shape = shape.merge_with(tensor.shape)
    if not shape.is_fully_defined():
        raise ValueError("Tensors must have statically known shape.")
    if len(shape) == 1:
        return tensors, shape
    return _each(lambda tensor: reshape(tensor, [-1]), tensors), shape


def _each(build: Callable[[Any], Any], tensors: Sequence[Any]) -> Tensors:
    """Apply `build` to each tensor, on its device."""
    made = []
    for tensor in tensors:
        with colocate_with(tensor):
            made.append(build(tensor))
    return made


def _shaped(tensors: Any, shape: Any) -> list[Tensor]:
    if len(shape) == 1:
        return tensors
    return _each(lambda tensor: reshape(tensor, shape), tensors)


def _length(tensor: Any) -> int:
    if len(tensor.shape) != 1:
        raise ValueError("input tensor must be 1D")
    return int(tensor.shape.as_list()[0])


def padded_split(tensor: Any, pieces: int) -> tuple[Tensors, int]:
    """Return a vector cut into pieces of one length, and how many zeros that took at the end."""
    length = _length(tensor)
    with colocate_with(tensor):
        if length % pieces == 0:
            return split(tensor, pieces), 0
        each = 1 + length // pieces
        if pieces > length or (pieces - 1) * each >= length:
            padding = pieces - length if pieces > length else pieces * each % length
            longer = concat([tensor, zeros([padding], dtype=tensor.dtype)], 0)
            return split(longer, pieces), padding
        last = length - (pieces - 1) * each
        padding = each - last
        parts = split(tensor, [each] * (pieces - 1) + [last])
        parts[-1] = concat([parts[-1], zeros([padding], dtype=tensor.dtype)], 0)
        return parts, padding


def strip_padding(tensors: Sequence[Any], pad_len: int) -> Tensors:
    """Return vectors without their last elements."""
    if not tensors:
        raise ValueError("tensors cannot be empty")
    if len(tensors[0].shape) > 1:
        raise ValueError("tensors must be 1D")
    length = _length(tensors[0]) - pad_len
    if length < 0:
        raise ValueError("pad_len longer than tensor")
    return _each(lambda tensor: slice_(tensor, [0], [length]), tensors)


def ragged_split(tensor: Any, pieces: int) -> Tensors:
    """Return a vector cut into pieces of one length, but for a longer last one."""
    length = _length(tensor)
    each = length // pieces
    with colocate_with(tensor):
        if length == pieces * each:
            return list(split(tensor, pieces))
        return list(split(tensor, [each] * (pieces - 1) + [length - (pieces - 1) * each]))


# ---- rings


def ring_permutations(
    num_workers: int, num_subchunks: int, gpu_perm: Sequence[int]
) -> tuple[list[list[int]], list[list[int]]]:
    """Return for each ring and device its predecessor, and its place in the ring.

    There are `num_subchunks` rings, at most as many as devices of a worker, whose order is
    `gpu_perm`.
    """
    count = len(gpu_perm)
    if num_workers * count == 0:
        return [], []
    if num_subchunks > count:
        raise ValueError(f"num_subchunks {num_subchunks} must be <= num_gpus {count}")
    step = max(1, count // num_subchunks)
    before, places = [], []
    for ring in range(num_subchunks):
        order = []
        for worker in range(num_workers):
            own = [worker * count + index for index in gpu_perm]
            order += own[ring * step :] + own[: ring * step]
        places.append([order.index(each) for each in range(len(order))])
        before.append([order[place - 1] for place in places[-1]])
    return before, places


class _Ring:
    """Chunks of vectors that go round, each device handing on to the next one."""

    def __init__(
        self, before: list[list[int]], places: list[list[int]], chunks: list[Tensors]
    ) -> None:
        self.before, self.places, self.chunks = before, places, chunks
        self.rings = len(before)

    def _moves(self, behind: int) -> list[tuple[int, int, int]]:
        """Return (device, the one before it, chunk) of each transfer, so far behind its place."""
        count = len(self.chunks)
        return [
            (each, self.before[ring][each],
             (self.places[ring][each] + count - behind) % count * self.rings + ring)
            for each in range(count)
            for ring in range(self.rings)
        ]  # fmt: skip

    def go_round(self, first: int, hand_on: Callable[[int, Any, Any], Any]) -> None:
        """Pass each chunk through all devices; `hand_on(device, before, own)` makes the new one."""
        for tick in range(len(self.chunks) - 1):
            moves = self._moves(first + tick)
            made = [
                hand_on(each, self.chunks[source][chunk], self.chunks[each][chunk])
                for each, source, chunk in moves
            ]
            for (each, _, chunk), value in zip(moves, made, strict=True):
                self.chunks[each][chunk] = value


def build_ring_gather(
    tensors: Sequence[Any], names: Sequence[str], num_subchunks: int, before: list[list[int]],
    places: list[list[int]], red_op: Callable[[Any, Any], Any],
) -> Any:  # fmt: skip
    """Add up along rings, so that each device has the sums of some chunks.

    Return the chunks of each device, and their padding; one vector alone as it is.
    """
    if len(tensors) < 2:
        return tensors
    chunks, padding = [], 0
    for tensor, name in zip(tensors, names, strict=True):
        with device(name):
            parts, padding = padded_split(tensor, len(tensors) * num_subchunks)
            chunks.append(list(parts))
    ring = _Ring(before, places, chunks)

    def reduce(each: int, from_before: Any, own: Any) -> Tensor:
        with device(names[each]):
            return red_op(from_before, own)

    ring.go_round(2, reduce)
    return ring.chunks, padding


def build_ring_all_reduce(
    input_tensors: Sequence[Any], num_workers: int, num_subchunks: int, gpu_perm: Sequence[int],
    red_op: Callable[[Any, Any], Any], un_op: Callable[[Any], Any] | None = None,
) -> Tensors:  # fmt: skip
    """Add up along rings through all devices; return the sum, on each.

    Tensors are one of each device, of one known shape; for the others see `ring_permutations`, and
    above.
    """
    if len(input_tensors) < 2:
        raise ValueError("input_tensors must be length 2 or longer")
    tensors, shape = flatten_tensors(input_tensors)
    names = [tensor.device for tensor in tensors]
    before, places = ring_permutations(num_workers, num_subchunks, gpu_perm)
    chunks, padding = build_ring_gather(tensors, names, num_subchunks, before, places, red_op)
    ring = _Ring(before, places, chunks)

    def copy(each: int, from_before: Any, own: Any) -> Any:
        del own
        with colocate_with(ring.chunks[each][0]):
            return identity(from_before)

    if un_op:
        for parts in ring.chunks:
            with colocate_with(parts[0]):
                parts[:] = [un_op(part) for part in parts]
    ring.go_round(1, copy)
    outputs = []
    for parts in ring.chunks:
        with colocate_with(parts[0]):
            outputs.append(concat(parts, 0))
    if padding > 0:
        outputs = strip_padding(outputs, padding)
    return list(_shaped(outputs, shape))


# ---- halving and doubling


def build_recursive_hd_all_reduce(
    input_tensors: Sequence[Any], red_op: Callable[[Any, Any], Any],
    un_op: Callable[[Any], Any] | None = None,
) -> Tensors:  # fmt: skip
    """Add up by halves that devices exchange, twice as far at each step; return sums.

    Tensors are one of each device, of one known shape; their number is a power of 2.
    """
    names = [tensor.device for tensor in input_tensors]
    chunks, shape = flatten_tensors(input_tensors)
    hops = int(math.log(len(names), 2))
    if len(names) != 2**hops:
        raise ValueError("num_devices must be a power of 2")
    chunks = list(chunks)
    for hop in range(hops):
        for left, right in _pairs(len(names), 2**hop):
            halves = split(chunks[left], 2), split(chunks[right], 2)
            for place, each in enumerate((left, right)):
                with device(names[each]):
                    chunks[each] = red_op(halves[0][place], halves[1][place])
    if un_op:
        chunks = [un_op(chunk) for chunk in chunks]
    for hop in reversed(range(hops)):
        for left, right in _pairs(len(names), 2**hop):
            both = [chunks[left], chunks[right]]
            for each in (left, right):
                with device(names[each]):
                    chunks[each] = concat(both, 0)
    return list(_shaped(chunks, shape))


def _pairs(count: int, span: int) -> list[tuple[int, int]]:
    return [(left, left + span) for left in range(count) if left % (2 * span) < span]


# ---- shuffles


def build_shuffle_all_reduce(
    input_tensors: Sequence[Any], gather_devices: Sequence[str], red_op: Callable[[Any], Any],
    un_op: Callable[[Any], Any] | None = None,
) -> Tensors:  # fmt: skip
    """Add up shards on `gather_devices`, and copy them back; return the sum, on each device."""
    tensors, shape = flatten_tensors(input_tensors)
    names = [tensor.device for tensor in tensors]
    shards = _gathered(tensors, gather_devices, red_op, un_op)
    return list(_shaped(_scattered(shards, names), shape))


def _gathered(
    tensors: Sequence[Any], names: Sequence[str], red_op: Any, un_op: Any = None
) -> Tensors:
    parts = [ragged_split(tensor, len(names)) for tensor in tensors]
    shards = []
    for name, shard in zip(names, zip(*parts, strict=True), strict=True):
        with device(name):
            reduced = red_op(list(shard))
            shards.append(un_op(reduced) if un_op else reduced)
    return shards


def _scattered(shards: Sequence[Any], names: Sequence[str]) -> Tensors:
    copies = []
    for name in names:
        with device(name):
            copies.append(concat(list(shards), 0))
    return copies


# ---- within tasks, and then between them


def build_nccl_all_reduce(
    input_tensors: Sequence[Any], red_op: Any, un_op: Callable[[Any], Any] | None = None
) -> Tensors:
    """Add up with NCCL; ValueError if `red_op` is not `tf.add`."""
    if red_op is not add:
        raise ValueError("red_op not supported by NCCL all-reduce: ", red_op)
    outputs = nccl.all_sum(input_tensors)
    return _each(un_op, outputs) if un_op else outputs


def split_by_task(
    devices: Sequence[str], values: Sequence[Any]
) -> tuple[list[list[str]], list[Tensors]]:
    """Return the devices, and their values, of each task."""
    if len(devices) != len(values):
        raise ValueError("len(devices) must equal len(values)")
    found: dict[Any, tuple[list[str], Tensors]] = {}
    for name, value in zip(devices, values, strict=True):
        spec = DeviceSpecV2.from_string(name)
        assert spec.task is not None, f"failed to parse device {name}"
        names, own = found.setdefault((spec.job, spec.replica or 0, spec.task), ([], []))
        names.append(name)
        own.append(value)
    return [names for names, _ in found.values()], [own for _, own in found.values()]


def _between(build: Callable[[Any], Any], un_op: Any) -> Callable[[Any], Any]:
    """Return a function that adds the sums of tasks, if there are several."""

    def reduce(tensors: Any) -> Any:
        if len(tensors) > 1:
            return build(tensors)
        return _each(un_op, tensors) if un_op else tensors

    return reduce


def _nccl_and(input_tensors: Sequence[Any], red_op: Any, between: Callable[[Any], Any]) -> Tensors:
    tensors, shape = flatten_tensors(input_tensors)
    names, values = split_by_task([tensor.device for tensor in tensors], tensors)
    sums = []
    for own in values:
        reduced = build_nccl_all_reduce(own, red_op)
        with control_dependencies(reduced), device(reduced[0].device):
            sums.append(identity(reduced[0]))
    outputs = []
    for own_names, total in zip(names, between(sums), strict=True):
        with device(own_names[0]):
            source = nccl.broadcast(identity(total))
        for name in own_names:
            with device(name):
                outputs.append(identity(source))
    return list(_shaped(outputs, shape))


def _shuffle_and(
    input_tensors: Sequence[Any], gather_devices: Sequence[str], red_op: Any,
    between: Callable[[Any], Any],
) -> Tensors:  # fmt: skip
    tensors, shape = flatten_tensors(input_tensors)
    names, values = split_by_task([tensor.device for tensor in tensors], tensors)
    if len(gather_devices) != len(names):
        raise ValueError("For shuffle hybrid, gather_devices must contain one device per worker. ")
    pairs = zip(values, gather_devices, strict=True)
    sums = [_gathered(own, [where], red_op)[0] for own, where in pairs]
    outputs: Tensors = []
    for own_names, total in zip(names, between(sums), strict=True):
        outputs += _scattered([total], own_names)
    return list(_shaped(outputs, shape))


def build_nccl_then_ring(
    input_tensors: Sequence[Any], subdiv: int, red_op: Any, un_op: Any = None
) -> Tensors:
    """Add up with NCCL in each task, and along a ring between them."""

    def build(tensors: Any) -> list[Tensor]:
        return build_ring_all_reduce(tensors, len(tensors), subdiv, [0], red_op, un_op)

    return _nccl_and(input_tensors, red_op, _between(build, un_op))


def build_nccl_then_recursive_hd(
    input_tensors: Sequence[Any], red_op: Any, un_op: Any = None
) -> Tensors:
    """Add up with NCCL in each task, and by halves between them."""
    return _nccl_and(
        input_tensors, red_op, lambda sums: build_recursive_hd_all_reduce(sums, red_op, un_op)
    )


def build_nccl_then_shuffle(
    input_tensors: Sequence[Any], gather_devices: Sequence[str], nccl_red_op: Any,
    shuffle_red_op: Any, un_op: Any = None,
) -> Tensors:  # fmt: skip
    """Add up with NCCL in each task, and shards on some devices between them."""

    def between(sums: Any) -> list[Tensor]:
        return build_shuffle_all_reduce(sums, gather_devices, shuffle_red_op, un_op)

    return _nccl_and(input_tensors, nccl_red_op, between)


def build_shuffle_then_ring(
    input_tensors: Sequence[Any], gather_devices: Sequence[str], subdiv: int, red_n_op: Any,
    red_op: Any, un_op: Any = None,
) -> Tensors:  # fmt: skip
    """Add up on one device of each task, and along a ring between them."""

    def build(tensors: Any) -> list[Tensor]:
        return build_ring_all_reduce(tensors, len(tensors), subdiv, [0], red_op, un_op)

    return _shuffle_and(input_tensors, gather_devices, red_n_op, _between(build, un_op))


def build_shuffle_then_shuffle(
    input_tensors: Sequence[Any], first_gather_devices: Sequence[str],
    second_gather_devices: Sequence[str], red_op: Any, un_op: Any = None,
) -> Tensors:  # fmt: skip
    """Add up on one device of each task, and shards on some devices between them."""

    def build(tensors: Any) -> list[Tensor]:
        return build_shuffle_all_reduce(tensors, second_gather_devices, red_op, un_op)

    return _shuffle_and(input_tensors, first_gather_devices, red_op, _between(build, un_op))
