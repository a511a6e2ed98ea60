"""One walk through a dataset whose elements go to several devices in turn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stillflow.data.dataset import DatasetV2
from stillflow.data.dataset_v1 import make_initializable_iterator, make_one_shot_iterator
from stillflow.data.iterator import get_next_as_optional
from stillflow.data.options import Options
from stillflow.data.remote_functions import HANDLE, SourceDevice
from stillflow.data.transforming import PrefetchDataset
from stillflow.functional.concrete import ConcreteFunction
from stillflow.functional.polymorphic import defun
from stillflow.graph import dtypes
from stillflow.graph.api import device
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.eager_mode import executing_eagerly
from stillflow.graph.graph import get_default_graph
from stillflow.graph.operation import Tensor
from stillflow.ops.constants import constant
from stillflow.ops.control_flow.identity_and_group import group, no_op
from stillflow.ops.data import multi_device as cards
from stillflow.ops.data.generators import generator_dataset_op


class _PerDeviceGenerator(DatasetV2):
    """The elements that go to one device, the `shard`th.

    The functions of a generator there call the iterator on the source device by its string handle.
    `incarnation` is the number of the walk, a tensor, as is the source's name.
    """

    def __init__(
        self, shard: int, iterator: Any, incarnation: Any, source: Any, element_spec: Any
    ) -> None:
        self._element_spec, self._source = element_spec, SourceDevice(source)
        handle = cards.multi_device_iterator_to_string_handle_op(iterator)
        self.init_func = self._init(handle)
        self.next_func = self._next(shard, incarnation)
        self.finalize_func = self._finalize()
        for function in (self.init_func, self.next_func, self.finalize_func):
            function.add_to_graph(get_default_graph())
        super().__init__(self._generator(list(self.next_func.captured_inputs)))

    def _generator(self, next_inputs: Any) -> Tensor:
        return generator_dataset_op(
            self.init_func.captured_inputs, next_inputs, self.finalize_func.captured_inputs,
            init_func=self.init_func, next_func=self.next_func, finalize_func=self.finalize_func,
            **self._flat_structure,
        )  # fmt: skip

    def _init(self, handle: Any) -> ConcreteFunction:
        @defun
        def _init_func() -> Any:
            return handle

        return self._source.init_function(_init_func.get_concrete_function())

    def _next(self, shard: int, incarnation: Any) -> ConcreteFunction:
        @defun(input_signature=HANDLE)
        def _next_func(string_handle: Any) -> Any:
            iterator = cards.multi_device_iterator_from_string_handle_op(
                string_handle, **self._flat_structure
            )
            return cards.multi_device_iterator_get_next_from_shard_op(
                iterator, shard, incarnation, **self._flat_structure
            )

        local = _next_func.get_concrete_function()
        return self._source.next_function(local, self._flat_types)

    def _finalize(self) -> ConcreteFunction:
        @defun(input_signature=HANDLE)
        def _finalize_func(unused_string_handle: Any) -> Tensor:
            return constant(0, dtypes.int64)

        return self._source.finalize_function(_finalize_func.get_concrete_function())

    def _inputs(self) -> list[Any]:
        return []

    @property
    def element_spec(self) -> Any:
        return self._element_spec


class _Restarted(DatasetV2):
    """The elements of another walk that go to the device of a `_PerDeviceGenerator`."""

    def __init__(self, like: _PerDeviceGenerator, old: Any, incarnation: Any) -> None:
        self._element_spec = like.element_spec
        inputs = [incarnation if x is old else x for x in like.next_func.captured_inputs]
        super().__init__(like._generator(inputs))

    def _inputs(self) -> list[Any]:
        return []

    @property
    def element_spec(self) -> Any:
        return self._element_spec


class MultiDeviceIterator:
    """An iterator whose elements go to several devices in turn.

    Args:
      dataset: what it walks.
      devices: the names of the devices.
      max_buffer_size: how many elements may wait for each device on the source device.
      prefetch_buffer_size: how many elements wait on each device.
      source_device: where the dataset is.
    """

    def __init__(
        self,
        dataset: Any,
        devices: Sequence[str],
        max_buffer_size: int = 1,
        prefetch_buffer_size: int = 1,
        source_device: str = "/cpu:0",
    ) -> None:
        options = Options()
        options.experimental_distribute.num_devices = len(devices)
        dataset = dataset.with_options(options)
        self._dataset = dataset._apply_options()
        self._slack = dataset.options().experimental_slack
        self._devices, self._source_device = list(devices), source_device
        self._max_buffer_size = max(max_buffer_size, prefetch_buffer_size)
        self._prefetch_buffer_size = prefetch_buffer_size
        source = convert_to_tensor(source_device)
        with device(source_device):
            self._resource = cards.multi_device_iterator_op(
                devices=self._devices, shared_name="", container="",
                **self._dataset._flat_structure,
            )  # fmt: skip
            self._incarnation = self._start()
        self._generators = []
        for shard, name in enumerate(self._devices):
            with device(name):
                self._generators.append(
                    _PerDeviceGenerator(
                        shard, self._resource, self._incarnation, source, self.element_spec
                    )
                )
        self._first_incarnation = self._incarnation
        self._make_iterators()

    def _start(self) -> Tensor:
        return cards.multi_device_iterator_init_op(
            self._dataset._variant_tensor, self._resource, self._max_buffer_size
        )

    def _make_iterators(self) -> None:
        make = make_one_shot_iterator if executing_eagerly() else make_initializable_iterator
        self._iterators = []
        for generator, name in zip(self._generators, self._devices, strict=True):
            with device(name):
                self._iterators.append(make(self._on_device(generator)))
        if not executing_eagerly():
            self._initializer = group(*(iterator.initializer for iterator in self._iterators))

    def _on_device(self, generator: _PerDeviceGenerator) -> Any:
        dataset: Any = _Restarted(generator, self._first_incarnation, self._incarnation)
        if self._prefetch_buffer_size > 0 and self._slack:
            dataset = PrefetchDataset(dataset, self._prefetch_buffer_size, slack_period=1)
        elif self._prefetch_buffer_size > 0:
            dataset = dataset.prefetch(self._prefetch_buffer_size)
        options = Options()
        options.experimental_optimization.apply_default_optimizations = False
        options.experimental_optimization.autotune = False
        return dataset.with_options(options)

    def get_next(self, device: str | None = None) -> list[Any] | tuple[Tensor, Tensor]:
        """Return the next element for a device; a list of those for all devices if None."""
        if device is not None:
            return self._iterators[self._devices.index(device)].get_next()
        return self._on_all(lambda iterator: iterator.get_next())

    def get_next_as_optional(self) -> list[Any]:
        """Return the next elements for all devices, each one or none."""
        return self._on_all(get_next_as_optional)

    def _on_all(self, build: Any) -> list[Any]:
        result = []
        for name, iterator in zip(self._devices, self._iterators, strict=True):
            with _device(name):
                result.append(build(iterator))
        return result

    @property
    def initializer(self) -> Any:
        """The operation that starts a walk."""
        return no_op() if executing_eagerly() else self._initializer

    def _eager_reset(self) -> None:
        """Start another walk, where operations run when they are called."""
        with device(self._source_device):
            self._incarnation = self._start()
        self._make_iterators()

    @property
    def element_spec(self) -> Any:
        return self._dataset.element_spec


_device = device  # which an argument hides
