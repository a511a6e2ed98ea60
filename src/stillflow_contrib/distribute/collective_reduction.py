"""Reduction by collective operations: over devices of this process, and over processes."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Sequence
from typing import Any

from stillflow.distribute import slices
from stillflow.distribute.cross_device_ops import (
    AllReduceCrossDeviceOps,
    grouped,
    map_of,
    mirrored,
)
from stillflow.distribute.device_map import SingleDeviceMap
from stillflow.distribute.reduce_op import ReduceOp
from stillflow.distribute.values import Mirrored, regroup
from stillflow.functional.polymorphic import function
from stillflow.graph.api import control_dependencies, device, name_scope
from stillflow.graph.device import DeviceSpecV2
from stillflow.graph.eager_mode import executing_eagerly
from stillflow.graph.indexed_slices import IndexedSlices
from stillflow.ops import collective
from stillflow.platform import tf_logging as logging


class CollectiveKeys:
    """The numbers by which members of a group of devices, and what they reduce, are matched.

    All workers build the same graphs, so that they count alike.

    Args:
      group_key_start: the first number of groups.
      op_instance_key_start: the first number of reductions, which each thread counts for itself.
      variable_instance_key_start: the first number of variables.
    """

    def __init__(
        self, group_key_start: int = 1, op_instance_key_start: int = 100,
        variable_instance_key_start: int = 1_000_000,
    ) -> None:  # fmt: skip
        assert op_instance_key_start != variable_instance_key_start
        self._groups: dict[str, int] = {}
        self._first_group, self._first_op = group_key_start, op_instance_key_start
        self._variables = itertools.count(variable_instance_key_start)
        self._of_thread, self._lock = threading.local(), threading.Lock()

    def __deepcopy__(self, memo: Any) -> CollectiveKeys:
        return self  # copies of a strategy go on counting

    def get_group_key(self, devices: Sequence[str]) -> int:
        """Return the number of the group of devices, whichever task they are of."""
        specs = [DeviceSpecV2.from_string(name) for name in devices]
        names = ",".join(sorted(f"{spec.device_type}:{spec.device_index}" for spec in specs))
        with self._lock:
            return self._groups.setdefault(names, self._first_group + len(self._groups))

    def get_op_instance_key(self) -> int:
        """Return the next number of a reduction."""
        if not hasattr(self._of_thread, "ops"):
            self._of_thread.ops = itertools.count(self._first_op)
        return next(self._of_thread.ops)

    def get_variable_instance_key(self) -> int:
        """Return the next number of a variable."""
        return next(self._variables)


def _together(
    build: Callable[..., Any], tensors: Sequence[Any], workers: int, keys: CollectiveKeys
) -> list[Any]:
    """Return the results of the devices: `build(tensor, group_size, group_key, instance_key)`.

    Of one tensor alone it is the result.
    """
    size = len(tensors) * workers
    if size < 2:
        return list(tensors)
    names = [tensor.device for tensor in tensors]
    numbers = size, keys.get_group_key(names), keys.get_op_instance_key()

    def on_all() -> list[Any]:
        results = []
        for tensor, name in zip(tensors, names, strict=True):
            with device(name):
                results.append(build(tensor, *numbers))
        return results

    # Members wait for each other: they have to be in one run.
    return list(function(on_all)() if executing_eagerly() else on_all())


def _added(tensor: Any, size: int, group: int, instance: int) -> Any:
    return collective.all_reduce(tensor, size, group, instance, "Add", "Id")


class CollectiveAllReduce(AllReduceCrossDeviceOps):
    """All-reduce over the devices of all workers.

    Args:
      num_workers: how many workers there are.
      num_gpus_per_worker: how many GPUs each has.
      all_reduce_merge_scope: how many tensors are reduced in one name scope.
      collective_keys: the numbers of groups and reductions.
    """

    def __init__(
        self, num_workers: int = 1, num_gpus_per_worker: int = 0,
        all_reduce_merge_scope: int = 32, collective_keys: CollectiveKeys | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self._num_between_graph_workers = num_workers
        self._num_gpus_per_worker, self._merge_scope = num_gpus_per_worker, all_reduce_merge_scope
        self._collective_keys = collective_keys or CollectiveKeys()

    def reduce_implementation(
        self, reduce_op: ReduceOp, per_replica_value: Any, destinations: Any
    ) -> Any:
        reduced = self._batch_all_reduce(reduce_op, [per_replica_value])[0]
        device_map, logical = map_of(destinations)
        if not isinstance(reduced, Mirrored):
            reduced = Mirrored(SingleDeviceMap(reduced.device), [reduced])
        elif reduced.device_map is device_map and reduced.logical_device == logical:
            return reduced
        copies = []
        with control_dependencies(reduced.values):
            for name in device_map.logical_to_actual_devices(logical):
                is_there = name in reduced.devices
                copies.append(
                    slices.copy_to(reduced.get(name) if is_there else reduced.primary, name)
                )
        return regroup(device_map, copies, Mirrored)

    def _dense(self, reduce_op: ReduceOp, values: Sequence[Any]) -> list[Any]:
        logging.log_first_n(
            logging.INFO, "Collective batch_all_reduce: %d all-reduces, num_workers = %d", 10,
            len(values), self._num_between_graph_workers,
        )  # fmt: skip
        return self._in_scopes(reduce_op, values, lambda parts: self._each(_added, parts))

    def _sparse(self, reduce_op: ReduceOp, values: Sequence[Any]) -> list[Any]:
        logging.log_first_n(
            logging.INFO,
            "Collective batch_all_reduce for IndexedSlices: %d all-reduces, num_workers = %d", 10,
            len(values), self._num_between_graph_workers,
        )  # fmt: skip

        def gather(parts: Sequence[Any]) -> list[Any]:
            rows = self._each(collective.all_gather, [part.values for part in parts])
            indices = self._each(collective.all_gather, [part.indices for part in parts])
            return [
                IndexedSlices(row, index, part.dense_shape)
                for row, index, part in zip(rows, indices, parts, strict=True)
            ]

        return self._in_scopes(reduce_op, values, gather)

    def _each(self, build: Callable[..., Any], tensors: Sequence[Any]) -> list[Any]:
        return _together(build, tensors, self._num_between_graph_workers, self._collective_keys)

    def _in_scopes(
        self, reduce_op: ReduceOp, values: Sequence[Any], reduce: Callable[[Any], list[Any]]
    ) -> list[Any]:
        reduced = []
        by_value = list(zip(*grouped(values), strict=True))
        for first in range(0, len(by_value), self._merge_scope):
            with name_scope("allreduce"):
                for parts in by_value[first : first + self._merge_scope]:
                    reduced.append(reduce(parts))
        by_device = list(zip(*reduced, strict=True))
        return mirrored(by_device, values[0], reduce_op, self._num_between_graph_workers)
