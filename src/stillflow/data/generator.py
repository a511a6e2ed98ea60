"""Datasets of Python generators."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from stillflow.data import dataset as dataset_module
from stillflow.data import nest, structure
from stillflow.data.dataset import DatasetSource
from stillflow.data.structured_function import StructuredFunctionWrapper
from stillflow.graph import dtypes
from stillflow.graph.arrays import Array
from stillflow.graph.conversion import convert_n_to_tensor
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape, as_shape
from stillflow.ops.data.generators import generator_dataset_op
from stillflow.ops.py_func import numpy_function


class _GeneratorDataset(DatasetSource):
    """Elements that a function gives for a state, until it says that there are no more."""

    def __init__(self, init_args: Any, init_func: Any, next_func: Any, finalize_func: Any) -> None:
        self._init_args = init_args
        self._init_structure = structure.type_spec_from_value(init_args)
        name = self._transformation_name()
        self._init_func = StructuredFunctionWrapper(
            init_func, name, input_structure=self._init_structure
        )
        state = self._init_func.output_structure
        self._next_func = StructuredFunctionWrapper(next_func, name, input_structure=state)
        self._finalize_func = StructuredFunctionWrapper(finalize_func, name, input_structure=state)
        arguments = structure.to_tensor_list(self._init_structure, self._init_args)
        super().__init__(
            generator_dataset_op(
                arguments + self._init_func.function.captured_inputs,
                self._next_func.function.captured_inputs,
                self._finalize_func.function.captured_inputs,
                init_func=self._init_func.function, next_func=self._next_func.function,
                finalize_func=self._finalize_func.function, **self._flat_structure,
            )
        )  # fmt: skip

    @property
    def element_spec(self) -> Any:
        return self._next_func.output_structure

    def _transformation_name(self) -> str:
        return "Dataset.from_generator()"


class _GeneratorState:
    """The iterables that walks through a dataset have begun, by number."""

    def __init__(self, generator: Callable[..., Any]) -> None:
        self._generator = generator
        self._lock = threading.Lock()
        self._next_id = 0
        self._args: dict[int, Any] = {}
        self._iterators: dict[int, Any] = {}

    def get_next_id(self, *args: Any) -> Array:
        with self._lock:
            number = self._next_id
            self._next_id += 1
        self._args[number] = args
        return np.array(number, dtype=np.int64)

    def get_iterator(self, iterator_id: Any) -> Any:
        number = int(iterator_id)
        if number not in self._iterators:
            self._iterators[number] = iter(self._generator(*self._args.pop(number)))
        return self._iterators[number]

    def iterator_completed(self, iterator_id: Any) -> None:
        self._iterators.pop(int(iterator_id), None)


class _Elements:
    """Yielded elements, as arrays of the declared types."""

    def __init__(self, output_types: Any, types: Any, shapes: Any) -> None:
        self.output_types = output_types
        self.types = types
        self.shapes = shapes

    def __call__(self, values: Any) -> list[Any]:
        try:
            flat = nest.flatten_up_to(self.output_types, values)
        except (TypeError, ValueError):
            raise TypeError(
                "`generator` yielded an element that did not match the expected structure. The "
                f"expected structure was {self.output_types}, but the yielded element was "
                f"{values}."
            ) from None
        arrays = [_converted(v, dtype) for v, dtype in zip(flat, self.types, strict=False)]
        for array, dtype, shape in zip(arrays, self.types, self.shapes, strict=False):
            if array.dtype != dtype.as_numpy_dtype:
                raise TypeError(
                    f"`generator` yielded an element of type {array.dtype} where an element of "
                    f"type {dtype.as_numpy_dtype} was expected."
                )
            if not shape.is_compatible_with(array.shape):
                raise ValueError(
                    f"`generator` yielded an element of shape {array.shape} where an element of "
                    f"shape {shape} was expected."
                )
        return arrays


def _converted(value: Any, dtype: Any) -> Array:
    try:
        return _as_array(value, dtype)
    except (TypeError, ValueError):
        raise TypeError(
            "`generator` yielded an element that could not be converted to the expected type. "
            f"The expected type was {dtype.name}, but the yielded element was {value}."
        ) from None


def _as_array(value: Any, dtype: Any) -> Array:
    array = np.asarray(value, dtype=dtype.as_numpy_dtype, order="C")
    if array.dtype.kind not in "SUO":
        return array
    encode = np.frompyfunc(lambda s: s.encode() if isinstance(s, str) else bytes(s), 1, 1)
    return np.asarray(encode(array), dtype=object)


def from_generator(
    generator: Callable[..., Any], output_types: Any, output_shapes: Any, args: Any
) -> Any:
    """See `Dataset.from_generator`."""
    from stillflow.data.dataset_v1 import DatasetV1

    if not callable(generator):
        raise TypeError("`generator` must be callable.")
    if output_shapes is None:
        output_shapes = nest.map_structure(lambda _: TensorShape(None), output_types)
    else:
        output_shapes = nest.map_structure_up_to(output_types, as_shape, output_shapes)
    args = () if args is None else tuple(convert_n_to_tensor(args, name="args"))
    types = [dtypes.as_dtype(dtype) for dtype in nest.flatten(output_types)]
    shapes = nest.flatten(output_shapes)
    state, convert = _GeneratorState(generator), _Elements(output_types, types, shapes)

    def get_iterator_id_fn(unused_dummy: Any) -> Any:
        return numpy_function(state.get_next_id, args, dtypes.int64)

    def generator_next_fn(iterator_id_t: Any) -> Tensor | tuple[Tensor, Tensor]:
        def generator_py_func(iterator_id: Any) -> list[Any]:
            return convert(next(state.get_iterator(iterator_id)))

        values = numpy_function(generator_py_func, [iterator_id_t], types)
        for value, shape in zip(values, shapes, strict=True):
            value.set_shape(shape)
        return nest.pack_sequence_as(output_types, values)

    def finalize_fn(iterator_id_t: Any) -> Any:
        def finalize_py_func(iterator_id: Any) -> Array:
            state.iterator_completed(iterator_id)
            return np.array(0, dtype=np.int64)

        return numpy_function(finalize_py_func, [iterator_id_t], dtypes.int64)

    def flat_map_fn(dummy_arg: Any) -> Any:
        return _GeneratorDataset(dummy_arg, get_iterator_id_fn, generator_next_fn, finalize_fn)

    return DatasetV1.from_tensors(0).flat_map(flat_map_fn)


dataset_module.from_generator.provide(from_generator)
