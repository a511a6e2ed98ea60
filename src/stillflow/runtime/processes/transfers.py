"""Collective operations on tensors, by torch.distributed: gloo for CPUs, NCCL for CUDA.

Each function takes this rank's tensors, which it does not change, and returns its results.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from stillflow.ops.kernels import Memory

# Reductions by their numbers in Horovod's operations, and more of TensorFlow's.
AVERAGE, SUM, ADASUM, MIN, MAX, PRODUCT = range(6)
_PIECE = 1 << 22  # elements of large tensors that are moved at once


class Transfers:
    """The operations of one group.

    Args:
      group: of torch.distributed; None for a single process.
      rank: of this process in the group.
      size: the number of processes in it.
      on_cuda: whether the group moves CUDA's tensors itself.
    """

    def __init__(self, group: Any, rank: int, size: int, on_cuda: bool) -> None:
        self._group, self._rank, self._size, self._on_cuda = group, rank, size, on_cuda
        self._memory = Memory()

    def run(self, kind: str, tensors: list[torch.Tensor], detail: Any, facts: Any) -> list[Any]:
        """Return the results of a batch of operations with the same detail."""
        device = tensors[0].device
        if device.type != "cpu" and not self._on_cuda:
            results = self.run(kind, [each.cpu() for each in tensors], detail, facts)
            return [each.to(device) for each in results]
        if kind == "allreduce":
            return self._all_reduce(tensors, *detail)
        (tensor,) = tensors
        if kind == "allgather":
            return [self._gather(tensor, facts)]
        if kind == "broadcast":
            return [self._broadcast(tensor, facts[0])]
        return [self._all_to_all(tensor, facts)]

    def _all_reduce(
        self, tensors: Sequence[torch.Tensor], reduction: int, before: float, after: float
    ) -> list[torch.Tensor]:
        if reduction == ADASUM:
            return [_scaled(self._adasum(_scaled(t.clone(), before)), after) for t in tensors]
        if reduction == AVERAGE:
            after /= self._size
        flat = [tensor.reshape(-1) for tensor in tensors]
        bucket = self._memory.empty(sum(map(len, flat)), flat[0])
        if len(flat) == 1:
            # A piece is reduced while the next one is copied, and read while it is in a cache.
            works = []
            for piece, part in zip(bucket.split(_PIECE), flat[0].split(_PIECE), strict=True):
                works += self._begin_sum(_scaled(piece.copy_(part), before), reduction)
        else:
            works = self._begin_sum(_scaled(torch.cat(flat, out=bucket), before), reduction)
        for work in works:
            work.wait()
        parts = _scaled(bucket, after).split([len(each) for each in flat])
        return [part.view(t.shape) for part, t in zip(parts, tensors, strict=True)]

    def _begin_sum(self, tensor: torch.Tensor, reduction: int) -> list[Any]:
        """Begin to reduce a tensor over the ranks, in its place; return what to wait for."""
        if self._size == 1:
            return []
        import torch.distributed as dist

        ops = {MIN: dist.ReduceOp.MIN, MAX: dist.ReduceOp.MAX, PRODUCT: dist.ReduceOp.PRODUCT}
        op = ops.get(reduction, dist.ReduceOp.SUM)
        return [dist.all_reduce(tensor, op, group=self._group, async_op=True)]

    def _adasum(self, tensor: torch.Tensor) -> torch.Tensor:
        """Return the adaptive sum: of two gradients less of what they have in common."""
        parts = list(self._gather(tensor.reshape(1, -1), [1] * self._size).double())
        while len(parts) > 1:
            parts = [_adaptive_sum(*parts[at : at + 2]) for at in range(0, len(parts), 2)]
        return parts[0].to(tensor.dtype).view(tensor.shape)

    def _gather(self, tensor: torch.Tensor, rows: Sequence[int]) -> torch.Tensor:
        if self._size == 1:
            return tensor.clone(memory_format=torch.contiguous_format)
        import torch.distributed as dist

        result = tensor.new_empty((sum(rows), *tensor.shape[1:]))
        if not result.numel():
            return result
        most = max(rows)
        own = tensor.contiguous()
        if rows[self._rank] < most:  # all send pieces of one size
            own = tensor.new_zeros((most, *tensor.shape[1:]))
            own[: rows[self._rank]] = tensor
        # Named so since torch 2.13.
        gather = getattr(dist, "all_gather_single", None) or dist.all_gather_into_tensor
        if min(rows) == most:
            gather(_bytes(result), _bytes(own), group=self._group)
            return result
        every = tensor.new_empty((self._size, *own.shape))
        gather(_bytes(every), _bytes(own), group=self._group)
        return torch.cat([part[:count] for part, count in zip(every, rows, strict=True)])

    def _broadcast(self, tensor: torch.Tensor, root: int) -> torch.Tensor:
        result = tensor.clone(memory_format=torch.contiguous_format)
        if self._size > 1 and result.numel():
            import torch.distributed as dist

            dist.broadcast(_bytes(result), group_src=root, group=self._group)
        return result

    def _all_to_all(self, tensor: torch.Tensor, splits: Sequence[Sequence[int]]) -> torch.Tensor:
        if self._size == 1:
            return tensor.clone(memory_format=torch.contiguous_format)
        import torch.distributed as dist

        incoming = [row[self._rank] for row in splits]
        result = tensor.new_empty((sum(incoming), *tensor.shape[1:]))
        width = tensor[:1].numel() * tensor.element_size() if len(tensor) else 0
        width = width or result[:1].numel() * result.element_size()
        sent = tensor[: sum(splits[self._rank])].contiguous()
        dist.all_to_all_single(
            _bytes(result), _bytes(sent), [n * width for n in incoming],
            [n * width for n in splits[self._rank]], group=self._group,
        )  # fmt: skip
        return result


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    """Return a contiguous tensor's memory as bytes: some types have no transfers of their own."""
    if not tensor.numel():
        return tensor.new_empty(0, dtype=torch.uint8)
    return tensor.reshape(-1).view(torch.uint8)


def _scaled(tensor: torch.Tensor, factor: float) -> torch.Tensor:
    """Multiply a tensor by a factor, in its place, and return it."""
    if factor == 1.0:
        return tensor
    if tensor.is_floating_point():
        return tensor.mul_(factor)
    return tensor.copy_(tensor.double().mul_(factor))


def _adaptive_sum(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    both = torch.dot(first, second)
    norms = [torch.dot(each, each) for each in (first, second)]
    shares = [1.0 - both / (2 * norm) if norm > 0 else 1.0 for norm in norms]
    return first * shares[0] + second * shares[1]
