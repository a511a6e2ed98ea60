"""Input of replicas: datasets whose batches they share, and iterators over them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from stillflow import errors
from stillflow.data.dataset import (
    DatasetV2,
    get_legacy_output_classes,
    get_legacy_output_shapes,
    get_legacy_output_types,
)
from stillflow.data.multi_device import MultiDeviceIterator
from stillflow.data.options import Options
from stillflow.data.sharing import RebatchDataset, auto_shard, clone
from stillflow.distribute import devices as device_names
from stillflow.distribute.device_map import DeviceMap
from stillflow.distribute.input_context import InputContext
from stillflow.distribute.values import regroup
from stillflow.graph.api import device
from stillflow.graph.dtypes import DType
from stillflow.graph.eager_mode import executing_eagerly
from stillflow.graph.graph import get_default_graph
from stillflow.graph.operation import Operation
from stillflow.ops.control_flow.identity_and_group import group


class InputWorkers:
    """Devices that make input, and the devices that each of them feeds.

    Args:
      device_map: the devices of the replicas.
      worker_device_pairs: (device, devices that it feeds) for each worker; the CPU feeds all of
        them if None.
    """

    def __init__(
        self, device_map: DeviceMap, worker_device_pairs: Sequence[tuple[str, Any]] | None = None
    ) -> None:
        if worker_device_pairs is None:
            host = device_names.canonicalize("/device:CPU:0")
            worker_device_pairs = [(host, device_map.all_devices)]
        self.device_map = device_map
        self.worker_devices = tuple(worker for worker, _ in worker_device_pairs)
        self._fed = tuple(
            tuple(device_names.canonicalize(name) for name in fed) for _, fed in worker_device_pairs
        )

    @property
    def num_workers(self) -> int:
        return len(self.worker_devices)

    def compute_devices_for_worker(self, worker_index: int) -> tuple[str, ...]:
        """Return the devices that a worker feeds."""
        return self._fed[worker_index]


class _DatasetIterator:
    """A worker's walk through a dataset, whose elements go to the worker's devices in turn."""

    def __init__(self, dataset: Any, worker: str, names: Sequence[str]) -> None:
        self._worker = worker
        with device(worker):
            self._iterator = MultiDeviceIterator(dataset, list(names))

    def get_next_as_list(self) -> list[Any]:
        with device(self._worker):
            return list(self._iterator.get_next())

    def initialize(self) -> list[Any]:
        if executing_eagerly():
            self._iterator._eager_reset()
            return []
        return [self._iterator.initializer]

    @property
    def element_spec(self) -> Any:
        return self._iterator.element_spec


class _CallableIterator:
    """A function that a worker calls once for each of its devices."""

    def __init__(self, fn: Callable[[], Any], worker: str, names: Sequence[str]) -> None:
        self._fn, self._worker, self._names = fn, worker, names

    def get_next_as_list(self) -> list[Any]:
        with device(self._worker):
            return [self._fn() for _ in self._names]

    def initialize(self) -> list[Any]:
        return []


class DistributedIterator:
    """The iterators of all workers as one, whose elements have a part for each replica."""

    def __init__(self, input_workers: InputWorkers, iterators: Sequence[Any]) -> None:
        if not input_workers.worker_devices:
            raise ValueError("Should have at least one worker for input iterator.")
        self._input_workers, self._iterators = input_workers, list(iterators)

    def get_next(self, name: str | None = None) -> Any:
        """Return the next element of each replica."""
        del name
        parts: list[Any] = []
        for worker, iterator in zip(
            self._input_workers.worker_devices, self._iterators, strict=True
        ):
            with device(worker):
                parts.extend(iterator.get_next_as_list())
        return regroup(self._input_workers.device_map, parts)

    def initialize(self) -> Any:
        """Return the operation that starts all walks."""
        return group(*(op for iterator in self._iterators for op in iterator.initialize()))

    @property
    def initializer(self) -> Operation:
        return self.initialize()

    _initializer = initializer

    @property
    def element_spec(self) -> Any:
        return self._iterators[0].element_spec

    @property
    def output_classes(self) -> Any:
        return get_legacy_output_classes(self)

    @property
    def output_shapes(self) -> Any:
        return get_legacy_output_shapes(self)

    @property
    def output_types(self) -> dict[str, DType]:
        return get_legacy_output_types(self)

    def get_iterator(self, worker: str) -> Any:
        """Return the iterator of a worker; None if there is no such worker."""
        workers = self._input_workers.worker_devices
        return self._iterators[workers.index(worker)] if worker in workers else None

    def __iter__(self) -> DistributedIterator:
        return self

    def __next__(self) -> Any:
        try:
            return self.get_next()
        except errors.OutOfRangeError:
            raise StopIteration from None

    next = __next__


def _iterators_over(datasets: Sequence[Any], workers: InputWorkers) -> DistributedIterator:
    iterators = []
    for index, (worker, dataset) in enumerate(zip(workers.worker_devices, datasets, strict=True)):
        with device(worker):
            names = workers.compute_devices_for_worker(index)
            iterators.append(_DatasetIterator(dataset, worker, names))
    return DistributedIterator(workers, iterators)


def _stateless(dataset: Any) -> Any:
    options = Options()
    options.experimental_distribute._make_stateless = True
    return dataset.with_options(options)


class _Distributed:
    """Base of datasets of all workers."""

    element_spec: Any

    def _walk(self) -> DistributedIterator:
        raise NotImplementedError

    def make_initializable_iterator(self) -> DistributedIterator:
        """Return an iterator that starts whenever its `initializer` runs.

        Raises:
          ValueError: where operations run when they are called.
        """
        return self._make_initializable_iterator()

    def _make_initializable_iterator(self, shared_name: str | None = None) -> DistributedIterator:
        del shared_name
        if executing_eagerly():
            raise ValueError(
                "Cannot create initializable iterator in Eager mode. Please use `iter()` instead."
            )
        return self._walk()

    def make_one_shot_iterator(self) -> DistributedIterator:
        """Return an iterator that needs no initialization; only where operations run when called.

        Raises:
          ValueError: where graphs are built.
        """
        return self._make_one_shot_iterator()

    def _make_one_shot_iterator(self) -> DistributedIterator:
        if not executing_eagerly():
            raise ValueError(
                "Cannot create a one shot iterator. Please use `make_initializable_iterator()` "
                "instead."
            )
        return self._walk()

    def __iter__(self) -> DistributedIterator:
        if not executing_eagerly() and not get_default_graph().building_function:
            raise RuntimeError(
                "__iter__() is only supported inside of tf.function or when eager execution is "
                "enabled."
            )
        return self._walk()


class DistributedDataset(_Distributed):
    """A dataset whose batches the replicas share.

    Args:
      dataset: a dataset of batches.
      input_workers: which devices make input.
      replicas: how many parts each batch is cut into; None leaves batches whole.
      context: which share of the dataset is this process's, where each worker is a process.
    """

    def __init__(
        self, dataset: Any, input_workers: InputWorkers, replicas: int | None,
        context: InputContext | None = None,
    ) -> None:  # fmt: skip
        if replicas:
            dataset = RebatchDataset(dataset, replicas).prefetch(replicas)
        dataset = _stateless(dataset)
        self.element_spec = dataset.element_spec
        self._input_workers, self._datasets = input_workers, []
        if context is not None:
            share = context.num_input_pipelines, context.input_pipeline_id
            self._datasets.append(auto_shard(dataset, *share))
            return
        for index, worker in enumerate(input_workers.worker_devices):
            with device(worker):
                copy = dataset
                if not executing_eagerly():
                    copy = clone(dataset).with_options(dataset.options())
                self._datasets.append(auto_shard(copy, input_workers.num_workers, index))

    def _walk(self) -> DistributedIterator:
        return _iterators_over(self._datasets, self._input_workers)


class DistributedDatasetsFromFunction(_Distributed):
    """Datasets that a function makes for each worker, of batches for one replica each.

    Args:
      dataset_fn: `dataset_fn(input_context)` makes the dataset of a worker.
      input_workers: which devices make input.
      input_contexts: one for each worker.

    Raises:
      ValueError: if there is not one context for each worker.
    """

    def __init__(
        self, dataset_fn: Callable[[InputContext], Any], input_workers: InputWorkers,
        input_contexts: Sequence[InputContext],
    ) -> None:  # fmt: skip
        _check_contexts(input_workers, input_contexts)
        self._dataset_fn, self._input_workers = dataset_fn, input_workers
        self._input_contexts = input_contexts

    def _walk(self) -> DistributedIterator:
        iterators = []
        workers = self._input_workers
        for index, (worker, context) in enumerate(
            zip(workers.worker_devices, self._input_contexts, strict=True)
        ):
            with device(worker):
                dataset = _stateless(self._dataset_fn(context))
                names = workers.compute_devices_for_worker(index)
                iterators.append(_DatasetIterator(dataset, worker, names))
        return DistributedIterator(workers, iterators)


def _check_contexts(workers: InputWorkers, contexts: Sequence[InputContext]) -> None:
    if workers.num_workers != len(contexts):
        raise ValueError(
            f"Number of input workers ({workers.num_workers}) is not same as number of "
            f"input_contexts ({len(contexts)})"
        )


def input_function_iterator(
    input_fn: Callable[[InputContext], Any], workers: InputWorkers,
    contexts: Sequence[InputContext],
) -> DistributedIterator:  # fmt: skip
    """Return an iterator over the datasets of an input function for each worker.

    `input_fn` makes a dataset of a replica's batches, or a function that gives one.
    """
    _check_contexts(workers, contexts)
    iterators: list[Any] = []
    for index, (worker, context) in enumerate(zip(workers.worker_devices, contexts, strict=True)):
        with device(worker):
            made = input_fn(context)
            names = workers.compute_devices_for_worker(index)
            if isinstance(made, DatasetV2):
                iterators.append(_DatasetIterator(made, worker, names))
            elif callable(made):
                iterators.append(_CallableIterator(made, worker, names))
            else:
                raise ValueError("input_fn must return a tf.data.Dataset or a callable.")
    return DistributedIterator(workers, iterators)


class InputOfReplicas:
    """The methods of a `StrategyExtended` that make input for its replicas."""

    _input_workers: InputWorkers
    _num_replicas_in_sync: Any
    _splits_batches = True

    def _input_contexts(self) -> list[InputContext]:
        raise NotImplementedError

    def _shares(self) -> int | None:
        return self._num_replicas_in_sync if self._splits_batches else None

    def _make_dataset_iterator(self, dataset: Any) -> DistributedIterator:
        return self._experimental_distribute_dataset(dataset)._walk()

    def _make_input_fn_iterator(self, input_fn: Any, replication_mode: Any) -> DistributedIterator:
        del replication_mode
        return input_function_iterator(input_fn, self._input_workers, self._input_contexts())

    def _experimental_distribute_dataset(self, dataset: Any) -> DistributedDataset:
        return DistributedDataset(dataset, self._input_workers, self._shares())

    def _experimental_distribute_datasets_from_function(
        self, dataset_fn: Any
    ) -> DistributedDatasetsFromFunction:
        return DistributedDatasetsFromFunction(
            dataset_fn, self._input_workers, self._input_contexts()
        )
