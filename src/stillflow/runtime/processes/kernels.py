"""Kernels of collective operations: they begin in one step of a plan and are awaited in another."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch

from stillflow.runtime.processes import settings, world
from stillflow.runtime.processes.requests import Request
from stillflow.runtime.processes.settings import Settings
from stillflow.runtime.processes.world import World

if TYPE_CHECKING:
    from stillflow.runtime.processes.process_group import Begun, ProcessGroup


def _group(ranks: World, limits: Settings) -> ProcessGroup:
    # Plans of every program import this module; few of them have ranks.
    from stillflow.runtime.processes import process_group

    return process_group.of_world(ranks, limits)


def of_launcher() -> ProcessGroup:
    """Return the group of all processes that the launcher started with this one."""
    return _group(world.from_environment(), settings.from_environment())


def cluster() -> World:
    """Return the workers of the cluster that TF_CONFIG describes, or else the launcher's ranks."""
    return world.from_tf_config() or world.from_environment()


def of_cluster() -> Callable[[], ProcessGroup]:
    """Return the function that gives the group of the workers of `cluster()`, as they are now."""
    ranks, limits = cluster(), settings.from_environment()
    return lambda: _group(ranks, limits)


class Collective:
    """The kernel of one collective operation.

    Args:
      node: the operation.
      group: returns the group that runs it.
      kind: see `Request`.
      detail: see `Request`; of an alltoall the rows are a second input.
      name: by which the ranks match it; that of the operation by default.
      dtype: of its tensors; that of its input by default.
    """

    def __init__(
        self, node: Any, group: Any, kind: str, detail: list[Any], name: str = "", dtype: str = ""
    ) -> None:
        self._group, self._kind, self._detail = group, kind, detail
        self._name, self._dtype = name or node.name, dtype or node.dtype(0).name
        self._waits = None if node.is_eager else node.waits()
        # The ranks match operations, so they may run in any order that the program leaves open.
        self.is_ordered = bool(node.op._control_inputs)

    def begin(self, tensor: torch.Tensor, splits: torch.Tensor | None = None) -> Begun:
        """Begin the operation on this rank's tensor."""
        group: ProcessGroup = self._group()
        detail = self._detail
        if splits is not None:
            detail = rows_for_each(tensor, splits, group.world.size)
        request = Request(self._name, self._kind, self._dtype, list(tensor.shape), detail)
        return group.submit(request, tensor, self._waits)

    def __call__(self, *inputs: torch.Tensor) -> Any:
        return self.begin(*inputs).result()


def rows_for_each(tensor: torch.Tensor, splits: torch.Tensor, size: int) -> list[int]:
    """Return the rows that each rank gets, equal parts if none are named.

    Raises:
      ValueError: if the parts are not all of the rows.
    """
    rows = [int(count) for count in splits.tolist()] if splits.ndim == 1 else []
    if splits.ndim == 1 and not rows and tensor.ndim:
        if len(tensor) % size:
            raise ValueError(f"{len(tensor)} rows are no equal parts for {size} ranks")
        return [len(tensor) // size] * size
    total = len(tensor) if tensor.ndim else 0
    if len(rows) != size or min(rows) < 0 or sum(rows) > total:
        raise ValueError(f"splits {splits.tolist()} are no parts of {total} rows for {size} ranks")
    return rows
