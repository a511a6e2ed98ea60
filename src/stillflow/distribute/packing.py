"""Packing the tensors of each device into fewer ones before they are added up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.api import colocate_with, device, name_scope
from stillflow.graph.operation import Tensor
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.shape import reshape, shape, size
from stillflow.ops.arrays.splitting import split

ByDevice = list[list[Any]]


class NoPacker:
    """Leaves tensors as they are."""

    def pack(self, by_device: ByDevice) -> ByDevice:
        return by_device

    def unpack(self, by_device: ByDevice) -> ByDevice:
        return by_device


class ConcatAndSplitPacker:
    """Packs all tensors of a device, end to end, into some tensors of about one size.

    Args:
      num_packs: how many.

    Raises:
      ValueError: if that is not positive.
    """

    def __init__(self, num_packs: int = 1) -> None:
        if num_packs <= 0:
            raise ValueError("num_packs must be greater than zero.")
        self.num_packs = num_packs
        self._shapes: ByDevice = []
        self._sizes: ByDevice = []

    def pack(self, by_device: ByDevice) -> ByDevice:
        """Return the packs of each device."""
        self._shapes, self._sizes = [], []
        return [self._pack_device(tensors) for tensors in by_device]

    def _pack_device(self, tensors: Sequence[Any]) -> list[Any]:
        with colocate_with(tensors[0]):
            flat = [reshape(tensor, [-1]) for tensor in tensors]
            self._shapes.append([shape(tensor) for tensor in tensors])
            self._sizes.append([size(tensor) for tensor in tensors])
            joined = concat(flat, 0)
            if all(tensor.shape.is_fully_defined() for tensor in tensors):
                total: Any = sum(tensor.shape.num_elements() for tensor in tensors)
            else:
                total = size(joined)
            each = total // self.num_packs
            last = total - each * (self.num_packs - 1)
            return list(split(joined, [each] * (self.num_packs - 1) + [last]))

    def unpack(self, by_device: ByDevice) -> ByDevice:
        """Return the tensors of each device, of its packs."""
        result = []
        for packs, shapes, sizes in zip(by_device, self._shapes, self._sizes, strict=True):
            with colocate_with(packs[0]):
                parts = split(concat(packs, 0), sizes)
                pairs = zip(parts, shapes, strict=True)
                result.append([reshape(part, its_shape) for part, its_shape in pairs])
        return result


class SmallTensorPacker:
    """Packs runs of small neighbours into one tensor each.

    Args:
      max_bytes: up to which size a tensor is small.
      max_group: how many neighbours go into one, at most.

    Raises:
      ValueError: if one of them is not positive.
    """

    def __init__(self, max_bytes: int = 1048576, max_group: int = 16) -> None:
        if max_bytes <= 0 or max_group <= 0:
            raise ValueError(
                "agg_small_grads_max_bytes and agg_small_grads_max_group should both be greater "
                "than zero."
            )
        self.max_bytes, self.max_group = max_bytes, max_group
        self._runs: list[tuple[int, int]] = []
        self._shapes: ByDevice = []

    def pack(self, by_device: ByDevice) -> ByDevice:
        """Return the packs of each device, followed by the tensors that are not packed."""
        small = [index for index, tensor in enumerate(by_device[0]) if self._is_small(tensor)]
        self._runs, _ = runs(small, self.max_group)
        self._shapes = [[tensor.shape for tensor in tensors] for tensors in by_device]
        if not self._runs:
            return by_device
        return [
            [_joined(tensors[first : last + 1]) for first, last in self._runs]
            + [tensor for index, tensor in enumerate(tensors) if not self._is_packed(index)]
            for tensors in by_device
        ]

    def _is_small(self, tensor: Any) -> bool:
        return bool(
            tensor.dtype == dtypes.float32 and 4 * tensor.shape.num_elements() <= self.max_bytes
        )

    def _is_packed(self, index: int) -> bool:
        return any(first <= index <= last for first, last in self._runs)

    def unpack(self, by_device: ByDevice) -> ByDevice:
        """Return the tensors of each device, from its packs and the unpacked ones."""
        if not self._runs:
            return by_device
        result = []
        for tensors, shapes in zip(by_device, self._shapes, strict=True):
            whole = list(tensors[len(self._runs) :])
            for pack, (first, last) in zip(tensors, self._runs, strict=False):
                whole[first:first] = _parted(pack, shapes[first : last + 1])
            result.append(whole)
        return result


def runs(indices: Sequence[int], limit: int = 32) -> tuple[list[tuple[int, int]], list[int]]:
    """Return runs of increasing numbers as (first, last), and the numbers that stand alone.

    A run that spans more than `limit` ends.
    """
    found: list[list[int]] = []
    for index in indices:
        if found and index == found[-1][1] + 1 and found[-1][1] - found[-1][0] <= limit:
            found[-1][1] = index
        else:
            found.append([index, index])
    alone = [first for first, last in found if first == last]
    return [(first, last) for first, last in found if first != last], alone


def _joined(tensors: Sequence[Any]) -> Tensor:
    with name_scope("pack"):
        flat = []
        for tensor in tensors:
            with device(tensor.device):
                flat.append(reshape(tensor, [-1]))
        with device(flat[0].device):
            return concat(flat, 0)


def _parted(pack: Any, shapes: Sequence[Any]) -> list[Any]:
    with device(pack.device), name_scope("unpack"):
        parts = split(pack, [its_shape.num_elements() for its_shape in shapes])
        return [reshape(part, its_shape) for part, its_shape in zip(parts, shapes, strict=True)]


def packer(num_packs: int, max_bytes: int, max_group: int) -> Any:
    """Return the packer of tensors for settings of all-reduce."""
    if num_packs > 0:
        return ConcatAndSplitPacker(num_packs)
    if max_bytes > 0 and max_group > 0:
        return SmallTensorPacker(max_bytes, max_group)
    return NoPacker()
