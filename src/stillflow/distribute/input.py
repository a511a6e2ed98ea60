"""Input of replicas: datasets whose batches they share, and iterators over them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from stillflow import errors, nest
from stillflow.data import structure
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
from stillflow.distribute.device_map import DeviceMap, WorkerDeviceMap
from stillflow.distribute.input_context import InputContext
from stillflow.distribute.reduce_op import ReduceOp
from stillflow.distribute.values import PerReplica, regroup
from stillflow.graph import dtypes
from stillflow.graph.api import device
from stillflow.graph.dtypes import DType
from stillflow.graph.eager_mode import executing_eagerly
from stillflow.graph.graph import get_default_graph
from stillflow.graph.operation import Operation
from stillflow.graph.tensor_shape import TensorShape
from stillflow.ops.arrays.fill import zeros
from stillflow.ops.arrays.shape import reshape
from stillflow.ops.constants import constant
from stillflow.ops.control_flow.cond import cond
from stillflow.ops.control_flow.identity_and_group import group
from stillflow.ops.control_flow.while_loop import while_loop
from stillflow.ops.math.cast import cast


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
        self._worker, self._names = worker, list(names)
        with device(worker):
            self._iterator = MultiDeviceIterator(dataset, self._names)

    def get_next(self, name: str) -> Any:
        with device(self._worker):
            return self._iterator.get_next(name)

    def get_next_as_list(self) -> list[Any]:
        with device(self._worker):
            return list(self._iterator.get_next())

    def get_next_or_empty(self) -> tuple[Any, list[Any]]:
        """Return whether there is an element, and that of each device, of no rows if there is none.

        They are fetched in order: the first device tells whether the worker has one.
        """
        parts = []
        with device(self._worker):
            found = self._iterator.get_next_as_optional()
            for number, (each, name) in enumerate(zip(found, self._names, strict=True)):
                with device(name):
                    if number == 0:
                        is_there = each.has_value()
                    parts.append(cond(each.has_value(), each.get_value, lambda: self._empty()))
        return is_there, parts

    def _empty(self) -> Any:
        """Return an element without rows: unknown dimensions, or else the first one, are 0."""
        spec, parts = self.element_spec, []
        kinds = structure.get_flat_tensor_types(spec)
        for shape, kind in zip(structure.get_flat_tensor_shapes(spec), kinds, strict=True):
            dims = [0 if dim is None else dim for dim in shape.as_list()]
            if dims and shape.is_fully_defined():
                dims[0] = 0
            parts.append(zeros(TensorShape(dims), kind))
        return nest.pack_sequence_as(spec, parts)

    @property
    def is_static(self) -> bool:
        shapes = nest.flatten(get_legacy_output_shapes(self._iterator))
        return all(shape.is_fully_defined() for shape in shapes)

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

    is_static = True

    def __init__(self, fn: Callable[[], Any], worker: str, names: Sequence[str]) -> None:
        self._fn, self._worker, self._names = fn, worker, names

    def get_next_as_list(self) -> list[Any]:
        with device(self._worker):
            return [self._fn() for _ in self._names]

    def get_next(self, name: str) -> Any:
        del name
        with device(self._worker):
            return self._fn()

    def get_next_or_empty(self) -> tuple[Any, list[Any]]:
        with device(self._worker):
            return constant(True), [self._fn() for _ in self._names]

    def initialize(self) -> list[Any]:
        return []


class DistributedIterator:
    """The iterators of all workers as one, whose elements have a part for each replica.

    Where the strategy asks for it, and shapes are not known, replicas without a part of the last
    batch get one without rows.
    """

    def __init__(
        self, input_workers: InputWorkers, iterators: Sequence[Any], strategy: Any
    ) -> None:
        if not input_workers.worker_devices:
            raise ValueError("Should have at least one worker for input iterator.")
        self._input_workers, self._iterators = input_workers, list(iterators)
        self._strategy = strategy
        wanted = getattr(strategy.extended, "experimental_enable_get_next_as_optional", False)
        self._completes = wanted and not all(each.is_static for each in iterators)

    def get_next(self, name: str | None = None) -> Any:
        """Return the next element of each replica."""
        del name
        parts = self._complete_parts() if self._completes else self._parts()
        return regroup(self._input_workers.device_map, parts)

    def _by_worker(self) -> Any:
        return zip(self._input_workers.worker_devices, self._iterators, strict=True)

    def _parts(self) -> list[Any]:
        parts: list[Any] = []
        for worker, iterator in self._by_worker():
            with device(worker):
                parts.extend(iterator.get_next_as_list())
        return parts

    def _next_or_empty(self) -> tuple[Any, list[Any]]:
        """Return whether any worker has an element, and the parts of each worker's."""
        flags, elements = [], []
        for worker, iterator in self._by_worker():
            with device(worker):
                flag, parts = iterator.get_next_or_empty()
                with device("/cpu:0"):
                    flags.append(cast(flag, dtypes.int32))
                elements.append(parts)
        return reshape(cast(self._of_all_workers(flags), dtypes.bool), []), elements

    def _complete_parts(self) -> list[Any]:
        """Return the parts of all replicas; OutOfRangeError where no worker has one."""
        goes_on, elements = self._next_or_empty()
        results: list[Any] = []
        at_end: list[Any] = []
        for number, (worker, iterator) in enumerate(self._by_worker()):
            names = self._input_workers.compute_devices_for_worker(number)
            for part, name in zip(elements[number], names, strict=True):

                def fail(iterator: Any = iterator, name: str = name) -> Any:
                    at_end.append(iterator.get_next(name))
                    return at_end[-1]

                def keep(part: Any = part) -> Any:
                    return part

                with device(worker), device(name):
                    results.append(cond(goes_on, keep, fail))
        flat = nest.flatten(results)
        for result, other in zip(flat, nest.flatten(at_end), strict=False):
            result.set_shape(other.get_shape())  # which a branch without rows has made unknown
        return list(nest.pack_sequence_as(results, flat))

    def _of_all_workers(self, flags: Sequence[Any]) -> Any:
        extended = self._strategy.extended
        if not getattr(extended, "_support_per_replica_values", True):
            return flags[0]
        workers = WorkerDeviceMap([flag.device for flag in flags], len(extended.worker_devices))
        return self._strategy.reduce(ReduceOp.SUM, PerReplica(workers, flags), axis=None)

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


def _iterators_over(datasets: Sequence[Any], workers: InputWorkers) -> list[_DatasetIterator]:
    iterators = []
    for index, (worker, dataset) in enumerate(zip(workers.worker_devices, datasets, strict=True)):
        with device(worker):
            names = workers.compute_devices_for_worker(index)
            iterators.append(_DatasetIterator(dataset, worker, names))
    return iterators


def _stateless(dataset: Any) -> Any:
    options = Options()
    options.experimental_distribute._make_stateless = True
    return dataset.with_options(options)


class _Distributed:
    """Base of datasets of all workers."""

    element_spec: Any

    def _walk(self) -> DistributedIterator:
        raise NotImplementedError

    def reduce(self, initial_state: Any, reduce_fn: Callable[[Any, Any], Any]) -> Any:
        """Return the last state of `reduce_fn(state, element)`, from an initial one on.

        Raises:
          ValueError: if there are several workers.
        """
        iterator = iter(self)
        workers = iterator._input_workers
        if workers.num_workers > 1:
            raise ValueError(
                "Dataset iteration within a tf.function is not supported for multiple workers."
            )

        def body(goes_on: Any, parts: Any, state: Any) -> tuple[Any, ...]:
            del goes_on
            state = reduce_fn(state, regroup(workers.device_map, parts[0]))
            return (*iterator._next_or_empty(), state)

        start = [*iterator._next_or_empty(), initial_state]
        last = while_loop(lambda goes_on, *_: goes_on, body, start, parallel_iterations=1)
        return last[2]

    def _autograph_for_loop(self, extra_test: Any, body: Callable[..., Any], init_vars: Any) -> Any:
        if extra_test is not None:
            raise NotImplementedError(
                "break and return statements are not yet supported in for ... in distributed input "
                "loops."
            )
        if init_vars:
            return self.reduce(init_vars, lambda state, element: body(element, *state))

        def keep(state: Any, element: Any) -> Any:
            body(element)
            return state

        self.reduce((constant(0),), keep)  # a loop has to have a state
        return ()

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
      strategy: the replicas' strategy.
      split_batch_by: how many parts each batch is cut into; None leaves batches whole.
      input_context: which share of the dataset is this process's, where each worker is a process.
    """

    def __init__(
        self, dataset: Any, input_workers: InputWorkers, strategy: Any,
        split_batch_by: int | None = None, input_context: InputContext | None = None,
    ) -> None:  # fmt: skip
        if split_batch_by:
            dataset = RebatchDataset(dataset, split_batch_by).prefetch(split_batch_by)
        dataset = _stateless(dataset)
        self.element_spec, self._strategy = dataset.element_spec, strategy
        self._input_workers, self._datasets = input_workers, []
        if input_context is not None:
            share = input_context.num_input_pipelines, input_context.input_pipeline_id
            self._datasets.append(auto_shard(dataset, *share))
            return
        for index, worker in enumerate(input_workers.worker_devices):
            with device(worker):
                copy = dataset
                if not executing_eagerly():
                    copy = clone(dataset).with_options(dataset.options())
                self._datasets.append(auto_shard(copy, input_workers.num_workers, index))

    def _walk(self) -> DistributedIterator:
        iterators = _iterators_over(self._datasets, self._input_workers)
        return DistributedIterator(self._input_workers, iterators, self._strategy)


class DistributedDatasetsFromFunction(_Distributed):
    """Datasets that a function makes for each worker, of batches for one replica each.

    Args:
      dataset_fn: `dataset_fn(input_context)` makes the dataset of a worker.
      input_workers: which devices make input.
      input_contexts: one for each worker.
      strategy: the replicas' strategy.

    Raises:
      ValueError: if there is not one context for each worker.
    """

    def __init__(
        self, dataset_fn: Callable[[InputContext], Any], input_workers: InputWorkers,
        input_contexts: Sequence[InputContext], strategy: Any,
    ) -> None:  # fmt: skip
        _check_contexts(input_workers, input_contexts)
        self._dataset_fn, self._input_workers = dataset_fn, input_workers
        self._input_contexts, self._strategy = input_contexts, strategy

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
        return DistributedIterator(workers, iterators, self._strategy)


def _check_contexts(workers: InputWorkers, contexts: Sequence[InputContext]) -> None:
    if workers.num_workers != len(contexts):
        raise ValueError(
            f"Number of input workers ({workers.num_workers}) is not same as number of "
            f"input_contexts ({len(contexts)})"
        )


class InputFunctionIterator(DistributedIterator):
    """An iterator over the datasets of an input function for each worker.

    `input_fn` makes a dataset of a replica's batches, or a function that gives one.
    """

    def __init__(
        self, input_fn: Callable[[InputContext], Any], input_workers: InputWorkers,
        input_contexts: Sequence[InputContext], strategy: Any,
    ) -> None:  # fmt: skip
        _check_contexts(input_workers, input_contexts)
        iterators: list[Any] = []
        workers = zip(input_workers.worker_devices, input_contexts, strict=True)
        for index, (worker, context) in enumerate(workers):
            with device(worker):
                made = input_fn(context)
                names = input_workers.compute_devices_for_worker(index)
                if isinstance(made, DatasetV2):
                    iterators.append(_DatasetIterator(made, worker, names))
                elif callable(made):
                    iterators.append(_CallableIterator(made, worker, names))
                else:
                    raise ValueError("input_fn must return a tf.data.Dataset or a callable.")
        super().__init__(input_workers, iterators, strategy)


class DatasetIterator(DistributedIterator):
    """An iterator over a dataset whose batches the replicas share; see `DistributedDataset`."""

    def __init__(
        self, dataset: Any, input_workers: InputWorkers, strategy: Any,
        split_batch_by: int | None = None, input_context: InputContext | None = None,
    ) -> None:  # fmt: skip
        shared = DistributedDataset(dataset, input_workers, strategy, split_batch_by, input_context)
        super().__init__(input_workers, _iterators_over(shared._datasets, input_workers), strategy)


class InputOfReplicas:
    """The methods of a `StrategyExtended` that make input for its replicas."""

    _input_workers: InputWorkers
    _num_replicas_in_sync: Any
    _splits_batches = True
    _strategy: Any

    def _input_contexts(self) -> list[InputContext]:
        raise NotImplementedError

    def _shares(self) -> int | None:
        return self._num_replicas_in_sync if self._splits_batches else None

    def _make_dataset_iterator(self, dataset: Any) -> DistributedIterator:
        return self._experimental_distribute_dataset(dataset)._walk()

    def _make_input_fn_iterator(self, input_fn: Any, replication_mode: Any) -> DistributedIterator:
        del replication_mode
        return InputFunctionIterator(
            input_fn, self._input_workers, self._input_contexts(), self._strategy
        )

    def _experimental_distribute_dataset(self, dataset: Any) -> DistributedDataset:
        return DistributedDataset(dataset, self._input_workers, self._strategy, self._shares())

    def _experimental_distribute_datasets_from_function(
        self, dataset_fn: Any
    ) -> DistributedDatasetsFromFunction:
        return DistributedDatasetsFromFunction(
            dataset_fn, self._input_workers, self._input_contexts(), self._strategy
        )
