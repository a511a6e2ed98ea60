"""Reduction and broadcast across devices: `tf.distribute.CrossDeviceOps`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from stillflow.distribute import devices as device_names
from stillflow.distribute import packing, slices
from stillflow.distribute.device_map import DeviceMap, LogicalDeviceSpec, SingleDeviceMap
from stillflow.distribute.reduce_op import ReduceOp
from stillflow.distribute.values import DistributedValues, Mirrored, PerReplica, regroup
from stillflow.graph.api import device
from stillflow.graph.export import export
from stillflow.graph.indexed_slices import IndexedSlices
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_like import is_tensor
from stillflow.ops.control_flow.identity_and_group import identity
from stillflow.ops.math.reductions import add_n
from stillflow.platform import tf_logging as logging
from stillflow.variables.base import VariableV2


def _names_devices(destinations: Any) -> bool:
    """Return True if destinations are said, rather than left open."""
    if isinstance(destinations, (VariableV2, Tensor)) and not isinstance(
        destinations, DistributedValues
    ):
        return bool(destinations.device)
    return not isinstance(destinations, str) or bool(destinations)


def validate_destinations(destinations: Any) -> None:
    """Raise ValueError if something names no devices."""
    kinds = (DistributedValues, VariableV2, Tensor, str, LogicalDeviceSpec)
    if not isinstance(destinations, kinds):
        raise ValueError(
            "destinations must be one of a `DistributedValues` object, a tf.Variable object, or a "
            "device string."
        )
    if not _names_devices(destinations):
        raise ValueError("destinations can not be empty")


def devices_of(destinations: Any) -> tuple[str, ...]:
    """Return the names of the devices that destinations stand for."""
    if isinstance(destinations, (DistributedValues, LogicalDeviceSpec)):
        return destinations.device_map.logical_to_actual_devices(destinations.logical_device)
    name = destinations if isinstance(destinations, str) else destinations.device
    return (device_names.resolve(name),)


def map_of(destinations: Any) -> tuple[DeviceMap, int]:
    """Return the device map, and the logical device in it, of destinations."""
    if isinstance(destinations, (DistributedValues, LogicalDeviceSpec)):
        return destinations.device_map, destinations.logical_device
    if isinstance(destinations, str):
        return SingleDeviceMap(device_names.resolve(destinations)), 0
    return SingleDeviceMap(destinations.device), 0


def _same_devices(left: Any, right: Any) -> bool:
    return set(devices_of(left)) == set(devices_of(right))


def _all_same_devices(pairs: Sequence[tuple[Any, Any]]) -> bool:
    first = pairs[0][0]
    return all(_same_devices(value, to) and _same_devices(value, first) for value, to in pairs)


def reduce_non_distributed_value(
    reduce_op: ReduceOp, device_map: DeviceMap, value: Any, destinations: Any
) -> Any:
    """Return the reduction of a value that all replicas share; ValueError if it needs a sum."""
    if isinstance(value, DistributedValues):
        raise ValueError(
            "You are passing a `DistributedValue` to `reduce_non_distributed_value`, which is not "
            "allowed."
        )
    if not is_tensor(value) and value == 0:
        return 0
    if reduce_op == ReduceOp.MEAN:
        return value
    validate_destinations(destinations)
    if device_map.num_replicas_in_graph != 1:
        raise ValueError(
            f"A non-DistributedValues value {value} cannot be reduced with the given reduce op "
            f"{reduce_op}."
        )
    return simple_broadcast(value, destinations)


def simple_broadcast(value: Any, destinations: Any, always_mirrored: bool = False) -> Any:
    """Return a copy of a value on each device; of one device the copy itself."""
    device_map, logical_device = map_of(destinations)
    names = device_map.logical_to_actual_devices(logical_device)
    copies = [slices.copy_to(value, name) for name in names]
    if len(names) == 1 and not always_mirrored:
        return copies[0]
    return regroup(device_map, copies, Mirrored)


def _as_per_replica(value: Any) -> DistributedValues:
    if isinstance(value, (tuple, list)):
        raise ValueError(
            f"Cannot convert `input_tensor` to a `PerReplica` object, got {value!r} but expected a "
            "object that is not a tuple or list."
        )
    if isinstance(value, PerReplica):
        return value
    try:
        name = value.device
    except AttributeError:
        raise ValueError(
            "Cannot convert `input_tensor` to a `PerReplica` object because it doesn't have device "
            "set."
        ) from None
    return PerReplica(SingleDeviceMap(name), (value,))


def _as_pairs(value_destination_pairs: Any) -> list[tuple[DistributedValues, Any]]:
    pairs = list(value_destination_pairs)
    for pair in pairs:
        if not isinstance(pair, tuple):
            raise ValueError("Each element of `value_destination_pairs` should be a tuple.")
        if len(pair) != 2:
            raise ValueError(
                "Each element of `value_destination_pairs` should be a tuple of size 2."
            )
    return [(_as_per_replica(value), destination) for value, destination in pairs]


@export("distribute.CrossDeviceOps", "contrib.distribute.CrossDeviceOps")
class CrossDeviceOps:
    """Base of the ways in which values of several devices become one.

    A subclass makes operations in `reduce_implementation` and `batch_reduce_implementation`.
    """

    _num_between_graph_workers = 1
    reduces_over_tasks = False  # values of devices of several tasks

    def reduce(self, reduce_op: ReduceOp, per_replica_value: Any, destinations: Any) -> Any:
        """One value of those of all replicas.

        Args:
          reduce_op: a `ReduceOp`.
          per_replica_value: a `PerReplica` value, or something on one device.
          destinations: the place of the result: the name of a device, or a value on it.

        Returns:
          A `Mirrored` value, or a tensor if there is one destination.

        Raises:
          ValueError: if `destinations` names no devices.
        """
        if not isinstance(per_replica_value, DistributedValues):
            per_replica_value = _as_per_replica(per_replica_value)
        validate_destinations(destinations)
        if self._is_there([(per_replica_value, destinations)]):
            return regroup(per_replica_value.device_map, per_replica_value.values, Mirrored)
        return self.reduce_implementation(reduce_op, per_replica_value, destinations)

    def batch_reduce(self, reduce_op: ReduceOp, value_destination_pairs: Any) -> list[Any]:
        """`reduce` of several values, given with their destinations as pairs."""
        pairs = _as_pairs(value_destination_pairs)
        for _, destination in pairs:
            validate_destinations(destination)
        if not pairs:
            return []
        if self._is_there(pairs):
            return [regroup(value.device_map, value.values, Mirrored) for value, _ in pairs]
        return list(self.batch_reduce_implementation(reduce_op, pairs))

    def _is_there(self, pairs: Sequence[tuple[Any, Any]]) -> bool:
        """Return True if values of one replica are where they shall be."""
        alone = self._num_between_graph_workers == 1 and len(pairs[0][0].values) == 1
        return alone and _all_same_devices(pairs)

    def broadcast(self, tensor: Any, destinations: Any) -> Any:
        """Return a copy of a tensor on each device."""
        validate_destinations(destinations)
        return self.broadcast_implementation(tensor, destinations)

    def reduce_implementation(
        self, reduce_op: ReduceOp, per_replica_value: Any, destinations: Any
    ) -> Any:
        """Implement `reduce` for values on other devices than the destinations."""
        raise NotImplementedError("_reduce method must be implemented in descendants.")

    def batch_reduce_implementation(
        self, reduce_op: ReduceOp, value_destination_pairs: Any
    ) -> list[Any]:
        """Implement `batch_reduce` for values on other devices than the destinations."""
        raise NotImplementedError("_batch_reduce method must be implemented in descendants.")

    def broadcast_implementation(self, tensor: Any, destinations: Any) -> Any:
        """Implement `broadcast`."""
        return simple_broadcast(tensor, destinations, always_mirrored=True)


def simple_reduce(
    per_replica_value: DistributedValues, where: str, accumulate: Any, reduce_op: ReduceOp
) -> Any:
    """Return the sum of all parts by `accumulate`, or their mean, on a device.

    ValueError if there are no parts, or `reduce_op` is another one.
    """
    values = per_replica_value.values
    if not values:
        raise ValueError("`per_replica_value` must be non-empty")
    if len(values) == 1 and values[0].device == where:
        return values[0]
    with device(where):
        reduced = slices.aggregate(values, accumulate)
        if reduce_op == ReduceOp.MEAN:
            return slices.divide_by(reduced, len(values))
        if reduce_op != ReduceOp.SUM:
            raise ValueError("`reduce_op` must be Reduce.SUM or Reduce.MEAN.")
    return reduced


@export("distribute.ReductionToOneDevice")
class ReductionToOneDevice(CrossDeviceOps):
    """Reduction by copying all values to one device, adding them, and copying the sum back.

    Args:
      reduce_to_device: the device; the first destination by default.
      accumulation_fn: adds up a list of tensors; `tf.add_n` by default.
    """

    def __init__(
        self,
        reduce_to_device: str | None = None,
        accumulation_fn: Callable[[Any], Any] | None = None,
    ) -> None:
        self.reduce_to_device = reduce_to_device
        self.accumulation_fn = accumulation_fn or add_n

    def reduce_implementation(
        self, reduce_op: ReduceOp, per_replica_value: Any, destinations: Any
    ) -> Any:
        given = destinations if _names_devices(destinations) else per_replica_value
        names = devices_of(given)
        where = self.reduce_to_device or names[0]
        logging.log_first_n(logging.INFO, "Reduce to %s then broadcast to %r.", 10, where, names)
        reduced = simple_reduce(per_replica_value, where, self.accumulation_fn, reduce_op)
        return self.broadcast(reduced, destinations)

    def batch_reduce_implementation(
        self, reduce_op: ReduceOp, value_destination_pairs: Any
    ) -> list[Any]:
        return [
            self.reduce_implementation(reduce_op, value, destination)
            for value, destination in value_destination_pairs
        ]


def _is_sparse(value: DistributedValues) -> bool:
    return all(isinstance(part, IndexedSlices) for part in value.values)


@export("contrib.distribute.AllReduceCrossDeviceOps")
class AllReduceCrossDeviceOps(CrossDeviceOps):
    """All-reduce: each device gets the sum; gradients are packed together first.

    Args:
      all_reduce_alg: "nccl" or "hierarchical_copy".
      num_packs: how many tensors all gradients together are packed into; 0 packs none.
      agg_small_grads_max_bytes: gradients up to this size are packed with their neighbours.
      agg_small_grads_max_group: at most so many of them.
    """

    def __init__(
        self,
        all_reduce_alg: str = "nccl",
        num_packs: int = 1,
        agg_small_grads_max_bytes: int = 0,
        agg_small_grads_max_group: int = 10,
    ) -> None:
        self._all_reduce_alg, self._num_packs = all_reduce_alg, num_packs
        self._agg_small_grads_max_bytes = agg_small_grads_max_bytes
        self._agg_small_grads_max_group = agg_small_grads_max_group
        self._simple = ReductionToOneDevice()

    def reduce_implementation(
        self, reduce_op: ReduceOp, per_replica_value: Any, destinations: Any
    ) -> Tensor:
        if _same_devices(per_replica_value, destinations):
            return self._batch_all_reduce(reduce_op, [per_replica_value])[0]
        return self._simple.reduce(reduce_op, per_replica_value, destinations)

    def batch_reduce_implementation(
        self, reduce_op: ReduceOp, value_destination_pairs: Any
    ) -> list[Any]:
        if _all_same_devices(value_destination_pairs):
            return self._batch_all_reduce(reduce_op, [v for v, _ in value_destination_pairs])
        return [
            self.reduce_implementation(reduce_op, value, destination)
            for value, destination in value_destination_pairs
        ]

    def _batch_all_reduce(self, reduce_op: ReduceOp, values: Sequence[Any]) -> list[Any]:
        """Dense values together, IndexedSlices each for itself."""
        dense = [value for value in values if not _is_sparse(value)]
        sparse = [value for value in values if _is_sparse(value)]
        reduced = iter(self._dense(reduce_op, dense) if dense else [])
        slowly = iter(self._sparse(reduce_op, sparse) if sparse else [])
        return [next(slowly) if _is_sparse(value) else next(reduced) for value in values]

    def _sparse(self, reduce_op: ReduceOp, values: Sequence[Any]) -> list[Any]:
        logging.log_first_n(
            logging.WARN,
            "Efficient allreduce is not supported for %d IndexedSlices", 10, len(values),
        )  # fmt: skip
        return self._simple.batch_reduce(reduce_op, [(value, value) for value in values])

    def _dense(self, reduce_op: ReduceOp, values: Sequence[Any]) -> list[Any]:
        logging.log_first_n(
            logging.INFO,
            "batch_all_reduce: %d all-reduces with algorithm = %s, num_packs = %d, "
            "agg_small_grads_max_bytes = %d and agg_small_grads_max_group = %d",
            10, len(values), self._all_reduce_alg, self._num_packs,
            self._agg_small_grads_max_bytes, self._agg_small_grads_max_group,
        )  # fmt: skip
        names = values[0].devices

        def reduce(packs: Any) -> list[Any]:
            if self._all_reduce_alg == "nccl":
                return [_nccl_sum(parts) for parts in packs]
            return [hierarchical_sum(names, parts, index) for index, parts in enumerate(packs)]

        return mirrored(self._packed(grouped(values), reduce), values[0], reduce_op)

    def _packed(self, by_device: Any, reduce: Callable[[Any], Any]) -> Any:
        """Return the sums of each device by `reduce`, which is given the packs of all devices."""
        packer = packing.packer(
            self._num_packs, self._agg_small_grads_max_bytes, self._agg_small_grads_max_group
        )
        reduced = reduce(list(zip(*packer.pack(by_device), strict=True)))
        return packer.unpack([list(parts) for parts in zip(*reduced, strict=True)])


def grouped(values: Sequence[Any]) -> list[list[Any]]:
    """Return the parts of distributed values by device."""
    return [list(parts) for parts in zip(*(value.values for value in values), strict=True)]


def mirrored(
    by_device: Sequence[Sequence[Any]], like: Any, reduce_op: ReduceOp, workers: int = 1
) -> list[Any]:
    """Return mirrored values of sums by device, or of means of so many workers' replicas."""
    device_map, _ = map_of(like)
    count = device_map.num_replicas_in_graph * workers
    columns: list[list[Any]] = [[] for _ in by_device[0]]
    for sums in by_device:
        for column, value in zip(columns, sums, strict=True):
            if reduce_op == ReduceOp.MEAN:
                with device(value.device):
                    value = slices.divide_by(value, count)
            column.append(value)
    return [regroup(device_map, column, Mirrored) for column in columns]


def _nccl_sum(parts: Sequence[Any]) -> list[Any]:
    from stillflow.ops.nccl import all_sum

    return list(all_sum(list(parts)))


def hierarchical_sum(names: Sequence[str], parts: Sequence[Any], index: int) -> list[Any]:
    """Add values within two halves of the devices, then both sums, and copy the other way.

    `parts` has a tensor on each device; several begin on different ones in turn, by `index`.
    """
    half = len(names) // 2
    main = index % len(names)
    other = (main + half) % len(names)
    begins = (0, half) if main < half else (half, 0)
    sums = []
    for leader, begin in zip((main, other), begins, strict=True):
        with device(names[leader]):
            sums.append(add_n(parts[begin : begin + half]))
    with device(names[main]):
        total = add_n(sums)
    copies = []
    for leader in (main, other):
        with device(names[leader]):
            copies.append(identity(total))
    result = []
    for place, name in enumerate(names):
        with device(name):
            near = (main < half) == (place < half)
            result.append(identity(copies[0 if near else 1]))
    return result


def _checked(num_packs: int, what: str) -> int:
    if num_packs < 0:
        raise ValueError(f"{what} requires num_packs >= 0, but {num_packs} is specified")
    return num_packs


@export("distribute.NcclAllReduce")
class NcclAllReduce(AllReduceCrossDeviceOps):
    """All-reduce of GPUs' values with NCCL.

    Args:
      num_packs: how many tensors all gradients together are packed into; 0 packs none.

    Raises:
      ValueError: if `num_packs` is negative.
    """

    def __init__(self, num_packs: int = 1) -> None:
        super().__init__("nccl", _checked(num_packs, "NCCL all-reduce"))


@export("distribute.HierarchicalCopyAllReduce")
class HierarchicalCopyAllReduce(AllReduceCrossDeviceOps):
    """All-reduce within halves of the devices and then between them.

    Args:
      num_packs: how many tensors all gradients together are packed into; 0 packs none.

    Raises:
      ValueError: if `num_packs` is negative.
    """

    def __init__(self, num_packs: int = 1) -> None:
        super().__init__("hierarchical_copy", _checked(num_packs, "HierarchicalCopy"))


def choose_the_best(names: Sequence[str]) -> CrossDeviceOps:
    """Return the reduction for devices: by one of them, with a note on the absence of NCCL."""
    from stillflow.platform.config import list_local_devices

    wanted = {device_names.canonicalize(name) for name in names}
    visible = {each.name for each in list_local_devices()}
    using = {name for name in visible if device_names.canonicalize(name) in wanted}
    if len(using) != len(wanted):
        logging.warning(
            "Some requested devices in `tf.distribute.Strategy` are not visible to TensorFlow: %s",
            ",".join(sorted(wanted - using)),
        )
    elif any("gpu" not in name.lower() for name in using):
        logging.warning(
            "There is non-GPU devices in `tf.distribute.Strategy`, not using nccl allreduce."
        )
    else:
        logging.warning("Nccl kernel is not found, not using nccl allreduce.")
    return ReductionToOneDevice()
