"""Elements on other devices: `copy_to_device` and `prefetch_to_device`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.data import structure
from stillflow.data.dataset import (
    UnaryUnchangedStructureDataset,
    get_legacy_output_classes,
    get_legacy_output_shapes,
    get_legacy_output_types,
)
from stillflow.data.iterator import Iterator
from stillflow.data.options import Options
from stillflow.data.remote_functions import HANDLE, SourceDevice
from stillflow.functional.concrete import ConcreteFunction
from stillflow.functional.polymorphic import defun
from stillflow.graph import dtypes
from stillflow.graph.api import control_dependencies, device
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph
from stillflow.graph.operation import Tensor
from stillflow.ops.constants import constant
from stillflow.ops.data import iterators
from stillflow.ops.data.generators import generator_dataset_op
from stillflow.ops.variables.resource import destroy_resource_op


class _CopyToDeviceDataset(UnaryUnchangedStructureDataset):
    """The elements of another dataset, copied to a device.

    An iterator on the source device walks the other dataset. The functions of a generator on the
    target device call it there: it goes by its string handle.
    """

    def __init__(self, input_dataset: Any, target_device: str, source_device: str) -> None:
        self._input_dataset = input_dataset
        self._source_device = source_device
        self._source = SourceDevice(convert_to_tensor(source_device))
        self._wrapped = iterators.wrap_dataset_variant_op(input_dataset._variant_tensor)
        functions = self._init(), self._next(), self._finalize()
        for function in functions:
            function.add_to_graph(get_default_graph())
        init_func, next_func, finalize_func = functions
        with device(target_device):
            variant = generator_dataset_op(
                init_func.captured_inputs, next_func.captured_inputs,
                finalize_func.captured_inputs, init_func=init_func, next_func=next_func,
                finalize_func=finalize_func, **self._flat_structure,
            )  # fmt: skip
        super().__init__(input_dataset, variant)

    def _init(self) -> ConcreteFunction:
        @defun
        def _init_func() -> Any:
            dataset = iterators.unwrap_dataset_variant_op(self._wrapped)
            iterator = iterators.anonymous_iterator_op(**self._flat_structure)
            with control_dependencies([iterators.make_iterator_op(dataset, iterator)]):
                return iterators.iterator_to_string_handle_op(iterator)

        return self._source.init_function(_init_func.get_concrete_function())

    def _next(self) -> ConcreteFunction:
        @defun(input_signature=HANDLE)
        def _next_func(string_handle: Any) -> list[Any]:
            with device(self._source_device):
                iterator = Iterator.from_string_handle(
                    string_handle, get_legacy_output_types(self), get_legacy_output_shapes(self),
                    get_legacy_output_classes(self),
                )  # fmt: skip
            return structure.to_tensor_list(self.element_spec, iterator.get_next())

        local = _next_func.get_concrete_function()
        return self._source.next_function(local, self._input_dataset._flat_types)

    def _finalize(self) -> ConcreteFunction:
        @defun(input_signature=HANDLE)
        def _finalize_func(string_handle: Any) -> Tensor:
            iterator = iterators.iterator_from_string_handle_v2_op(
                string_handle, **self._flat_structure
            )
            with control_dependencies([destroy_resource_op(iterator, ignore_lookup_error=True)]):
                return constant(0, dtypes.int64)

        return self._source.finalize_function(_finalize_func.get_concrete_function())


@export("data.experimental.copy_to_device", "contrib.data.copy_to_device")
def copy_to_device(target_device: str, source_device: str = "/cpu:0") -> Callable[[Any], Any]:
    """Copy elements to a device.

    Args:
      target_device: the name of the device that they are copied to.
      source_device: that of the device on which they are made.
    """
    options = Options()
    options.experimental_optimization.apply_default_optimizations = False
    options.experimental_optimization.autotune = False

    def apply(dataset: Any) -> Any:
        return _CopyToDeviceDataset(dataset, target_device, source_device).with_options(options)

    return apply


@export("data.experimental.prefetch_to_device", "contrib.data.prefetch_to_device")
def prefetch_to_device(device: str, buffer_size: Any = None) -> Callable[[Any], Any]:
    """Copy elements to a device ahead of time; the last transformation of a pipeline.

    Args:
      device: the name of the device.
      buffer_size: how many elements wait there at most; as many as seems good if None.
    """
    return lambda dataset: dataset.apply(copy_to_device(device)).prefetch(buffer_size)
