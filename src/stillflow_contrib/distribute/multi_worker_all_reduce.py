"""All-reduce over the devices of several tasks, of one graph."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from stillflow.distribute.cross_device_ops import AllReduceCrossDeviceOps, grouped, mirrored
from stillflow.distribute.reduce_op import ReduceOp
from stillflow.graph.api import name_scope
from stillflow.graph.export import export
from stillflow.ops import nccl
from stillflow.ops.math.binary import add
from stillflow.ops.math.reductions import add_n
from stillflow.platform import tf_logging as logging
from stillflow_contrib import all_reduce


class AllReduceSpecTuple(NamedTuple):
    """An algorithm, its number of shards, and up to how many elements it is for; -1 for all."""

    alg: str
    shards: int = 1
    limit: int = -1


def _spec(given: Any, whole: Any) -> AllReduceSpecTuple:
    if not isinstance(given, tuple):
        raise ValueError(f"A tuple is expected for all-reduce spec: {whole!r}")
    if not given or len(given) > 3:
        raise ValueError(f"Too many elements in the all-reduce spec tuple: {given!r}")
    return AllReduceSpecTuple(*given)


@export("contrib.distribute.MultiWorkerAllReduce")
class MultiWorkerAllReduce(AllReduceCrossDeviceOps):
    """All-reduce for `MirroredStrategy` over the workers of a cluster.

    Args:
      worker_devices: the names of the workers' devices, "/job:worker/task:0".
      num_gpus_per_worker: how many GPUs each has.
      all_reduce_spec: a tuple of an algorithm, its number of shards, and the size of a tensor up to
        which it is used; or a list of them in the order of the sizes, of which the last is -1.
        Algorithms: "nccl", "nccl/xring", "nccl/rechd", "nccl/pscpu", "xring", "pscpu", "psgpu",
        "pscpu/pscpu"; of two, the first one adds within a worker.
      num_packs: see `AllReduceCrossDeviceOps`, as for the other arguments.
      agg_small_grads_max_bytes: see there.
      agg_small_grads_max_group: see there.

    Raises:
      ValueError: if an element of `all_reduce_spec` is no tuple of one to three.
    """

    reduces_over_tasks = True

    def __init__(
        self, worker_devices: Sequence[str], num_gpus_per_worker: int,
        all_reduce_spec: Any = ("pscpu/pscpu", 2, -1), num_packs: int = 0,
        agg_small_grads_max_bytes: int = 0, agg_small_grads_max_group: int = 10,
    ) -> None:  # fmt: skip
        super().__init__(
            num_packs=num_packs, agg_small_grads_max_bytes=agg_small_grads_max_bytes,
            agg_small_grads_max_group=agg_small_grads_max_group,
        )  # fmt: skip
        self._worker_devices, self._num_gpus_per_worker = worker_devices, num_gpus_per_worker
        if isinstance(all_reduce_spec, str):
            all_reduce_spec = (all_reduce_spec,)
        given = all_reduce_spec if isinstance(all_reduce_spec, list) else [all_reduce_spec]
        self._all_reduce_spec = [_spec(each, all_reduce_spec) for each in given]

    def _batch_all_reduce(self, reduce_op: ReduceOp, values: Sequence[Any]) -> list[Any]:
        logging.log_first_n(
            logging.INFO,
            "Distributed batch_all_reduce: %d all-reduces with allreduce_spec = %r, num_packs = "
            "%d, agg_small_grads_max_bytes = %d, and agg_small_grads_max_group = %d", 10,
            len(values), self._all_reduce_spec, self._num_packs, self._agg_small_grads_max_bytes,
            self._agg_small_grads_max_group,
        )  # fmt: skip
        by_device = grouped(values)
        for tensor in (tensor for tensors in by_device for tensor in tensors):
            if not tensor.shape.is_fully_defined():
                raise ValueError(f"Shape is unknown for node {tensor!r}")
        left = list(range(len(values)))
        reduced: list[list[Any]] = [[None] * len(values) for _ in by_device]
        for spec in self._all_reduce_spec:
            fitting = [at for at in left if spec.limit < 0 or _length(values[at]) <= spec.limit]
            left = [at for at in left if at not in fitting]
            if not fitting:
                continue
            chosen = [[tensors[at] for at in fitting] for tensors in by_device]
            sums = self._packed(chosen, functools.partial(self._reduced, spec))
            for row, own in zip(reduced, sums, strict=True):
                for at, total in zip(fitting, own, strict=True):
                    row[at] = total
        assert not left, f"no algorithm is for {[values[at] for at in left]}"
        return mirrored(reduced, values[0], reduce_op)

    def _reduced(self, spec: AllReduceSpecTuple, packs: Sequence[Any]) -> list[Any]:
        groups = self._helpers(spec)
        results = []
        for index, tensors in enumerate(packs):
            with name_scope("allreduce"):
                reduce = self._algorithm(spec, groups[index % len(groups)])
                results.append(reduce(list(tensors)))
        return results

    def _helpers(self, spec: AllReduceSpecTuple) -> list[list[str]]:
        """Return the devices that add shards, in groups that take turns."""
        names = ["/job:localhost/cpu:0"]
        if "pscpu" in spec.alg:
            names = [f"{worker}/cpu:0" for worker in self._worker_devices]
        elif "psgpu" in spec.alg:
            gpus = range(self._num_gpus_per_worker)
            names = [f"{worker}/gpu:{gpu}" for gpu in gpus for worker in self._worker_devices]
        if "/" in spec.alg:
            return [names]
        size = spec.shards if spec.alg in ("pscpu", "psgpu") else 1
        if size > len(names):
            raise ValueError(f"only {len(names)} devices, but group_size={size}")
        count = -(-len(names) // size)
        all_places = range(count * size)
        return [
            [names[at % len(names)] for at in all_places[group::count]] for group in range(count)
        ]

    def _algorithm(self, spec: AllReduceSpecTuple, helpers: list[str]) -> Callable[[Any], Any]:
        shards, gpus = spec.shards, list(range(self._num_gpus_per_worker))
        workers = len(self._worker_devices)
        known: dict[str, Callable[[Any], Any]] = {
            "nccl": nccl.all_sum,
            "xring": lambda x: all_reduce.build_ring_all_reduce(x, workers, shards, gpus, add),
            "nccl/xring": lambda x: all_reduce.build_nccl_then_ring(x, shards, add),
            "nccl/rechd": lambda x: all_reduce.build_nccl_then_recursive_hd(x, add),
            "nccl/pscpu": lambda x: all_reduce.build_nccl_then_shuffle(x, helpers, add, add_n),
            "pscpu/pscpu": lambda x: all_reduce.build_shuffle_then_shuffle(
                x, helpers, helpers[:shards], add_n
            ),
            "pscpu": lambda x: all_reduce.build_shuffle_all_reduce(x, helpers, add_n),
            "psgpu": lambda x: all_reduce.build_shuffle_all_reduce(x, helpers, add_n),
        }
        if spec.alg not in known:
            raise ValueError("unsupported all_reduce alg: ", spec.alg)
        return known[spec.alg]


def _length(value: Any) -> int:
    return int(value.primary.shape.num_elements())
