"""Strategies whose one replica is on a device by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from stillflow import nest
from stillflow.data.dataset_v1 import DatasetV1Adapter
from stillflow.distribute import context
from stillflow.distribute import devices as device_names
from stillflow.distribute.device_map import SingleDeviceMap
from stillflow.distribute.input import InputOfReplicas, InputWorkers
from stillflow.distribute.input_context import InputContext
from stillflow.distribute.numpy_dataset import SingleDevice, one_host_numpy_dataset
from stillflow.distribute.one_replica import OneReplicaExtended
from stillflow.distribute.replica_context import ReplicaContext
from stillflow.distribute.steps import MultiStepContext, run_steps
from stillflow.distribute.strategy import Strategy, StrategyV2, require_variable_of
from stillflow.graph.api import colocate_with, device
from stillflow.graph.export import export
from stillflow.ops.constants import constant


class OneDeviceExtended(InputOfReplicas, OneReplicaExtended):
    """Extension of a strategy on one device for libraries."""

    _splits_batches = _support_per_replica_values = False

    def __init__(self, container_strategy: StrategyV2, name: str) -> None:
        super().__init__(container_strategy)
        self._device = device_names.canonicalize(name)
        host = self._device.rpartition("/")[0] + "/device:CPU:0"
        self._input_device = host
        self._input_workers = InputWorkers(SingleDeviceMap(name), [(host, [self._device])])

    # ---- variables

    def _create_variable(self, next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        beside = kwargs.pop("colocate_with", None)
        if beside is None:
            with device(self._device):
                return next_creator(**kwargs)
        if isinstance(beside, SingleDevice):
            with device(beside.device):
                return next_creator(**kwargs)
        with colocate_with(beside):
            return next_creator(**kwargs)

    def _validate_colocate_with_variable(self, colocate_with_variable: Any) -> None:
        is_one = hasattr(colocate_with_variable, "_distribute_strategy")
        require_variable_of(self._strategy, colocate_with_variable, is_one)

    def non_slot_devices(self, var_list: Sequence[Any]) -> tuple[str]:
        del var_list
        return (self._device,)

    # ---- the replica

    def _call_for_each_replica(self, fn: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        with device(self._device), _OneDeviceReplicaContext(self._strategy, constant(0)):
            return fn(*args, **kwargs)

    def _update_non_slot(
        self, colocate_with: Any, fn: Any, args: Any, kwargs: Any, group: bool
    ) -> Any:
        del colocate_with
        with device(self._device), context.updating(self._device):
            result = fn(*args, **kwargs)
        return result if group else nest.map_structure(self._local_results, result)

    @property
    def worker_devices(self) -> tuple[str, ...]:
        return (self._device,)

    @property
    def parameter_devices(self) -> tuple[str, ...]:
        return (self._device,)

    # ---- input

    def _experimental_run_steps_on_iterator(
        self, fn: Any, iterator: Any, iterations: Any, initial_loop_values: Any
    ) -> MultiStepContext:
        def only(parts: Any) -> Any:
            (part,) = parts
            return part

        return run_steps(self, fn, iterator, iterations, initial_loop_values, only)

    def _input_contexts(self) -> list[InputContext]:
        return [InputContext()]

    def _experimental_make_numpy_dataset(self, numpy_input: Any, session: Any) -> DatasetV1Adapter:
        return one_host_numpy_dataset(numpy_input, SingleDevice(self._input_device), session)


class _OneDeviceReplicaContext(ReplicaContext):
    @property
    def devices(self) -> tuple[str]:
        return self._strategy.extended.worker_devices


@export("distribute.OneDeviceStrategy", "contrib.distribute.OneDeviceStrategy")
class OneDeviceStrategy(Strategy):
    """Strategy with one replica, whose variables and operations are on a device.

    Args:
      device: the device's name.
    """

    def __init__(self, device: str) -> None:
        super().__init__(OneDeviceExtended(self, device))
