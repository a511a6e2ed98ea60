"""Requests of ranks for collective operations: how they have to agree, and which run together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

from stillflow.graph.dtypes import as_dtype


class Request(NamedTuple):
    """One rank's wish to take part in a collective operation.

    Attributes:
      name: by which the ranks' requests are matched.
      kind: "allreduce", "allgather", "broadcast", "alltoall" or "barrier".
      dtype: TensorFlow's name of the type.
      shape: of this rank's tensor.
      detail: of an allreduce the reduction and the factors before and after it; of a broadcast
        the root, -1 where another rank tells it; of an alltoall the rows for each rank.
    """

    name: str
    kind: str
    dtype: str
    shape: list[int]
    detail: list[Any]

    @property
    def bytes(self) -> int:
        return prod(self.shape) * as_dtype(self.dtype).size


def disagreement(requests: Mapping[int, Request]) -> str | None:
    """Return a sentence on two ranks that do not agree, or a request that none can agree to."""
    first_rank, *others = sorted(requests)
    first = requests[first_rank]
    for rank in others:
        other = requests[rank]
        text = _difference(first, other, first_rank, rank)
        if text is not None:
            return f"{text} ({first.name})"
    size, root = len(requests), _root(requests)
    if first.kind in ("allgather", "alltoall") and not first.shape:
        return f"Rank {first_rank} tried to {first.kind[3:]} a scalar, which has no rows: {first}"
    if root is not None and not 0 <= root < size:
        return f"Broadcast {first.name} has root rank {root}, of {size} ranks"
    return None


def _root(requests: Mapping[int, Request]) -> int | None:
    """Return the root of a broadcast."""
    kind = next(iter(requests.values())).kind
    return max(each.detail[0] for each in requests.values()) if kind == "broadcast" else None


def _difference(first: Request, other: Request, here: int, there: int) -> str | None:
    if first.kind != other.kind:
        return (
            f"Mismatched operations: rank {here} did an {first.kind}, but rank {there} did an "
            f"{other.kind}"
        )
    if first.dtype != other.dtype:
        return (
            f"Mismatched data types: rank {here} had type {first.dtype}, but rank {there} had type "
            f"{other.dtype}"
        )
    free = first.kind in ("allgather", "alltoall")  # whose first dimensions may differ
    same_rank = len(first.shape) == len(other.shape)
    if not same_rank or first.shape[free:] != other.shape[free:]:
        return (
            f"Mismatched {first.kind} tensor shapes: rank {here} sent a tensor of shape "
            f"{first.shape}, but rank {there} sent a tensor of shape {other.shape}"
        )
    told = [-1] not in (first.detail, other.detail)
    if first.kind in ("allreduce", "broadcast") and first.detail != other.detail and told:
        what = "root ranks" if first.kind == "broadcast" else "reductions or factors"
        return (
            f"Mismatched {first.kind} {what}: rank {here} gave {first.detail}, but rank {there} "
            f"gave {other.detail}"
        )
    return None


def shared_facts(requests: Mapping[int, Request]) -> list[Any]:
    """Return the facts about all ranks that each needs: their rows, or who sends whom how many."""
    in_order = [requests[rank] for rank in sorted(requests)]
    if in_order[0].kind == "allgather":
        return [each.shape[0] for each in in_order]
    if in_order[0].kind == "broadcast":
        return [_root(requests)]
    if in_order[0].kind == "alltoall":
        return [each.detail for each in in_order]
    return []


def next_batch(ready: Sequence[Request], threshold: int) -> list[Request]:
    """Return the first request, with others that are reduced in one piece with it.

    Args:
      ready: requests of all ranks, in the order in which they were complete.
      threshold: bytes that a batch of several may have.
    """
    first = ready[0]
    if first.kind != "allreduce":
        return [first]
    batch, total = [first], first.bytes
    for other in ready[1:]:
        alike = (other.kind, other.dtype, other.detail) == (first.kind, first.dtype, first.detail)
        if alike and total + other.bytes <= threshold:
            batch.append(other)
            total += other.bytes
    return batch
