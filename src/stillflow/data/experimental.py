"""Transformations for `Dataset.apply`: `tf.data.experimental`, and `tf.contrib.data` before it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.data import nest, structure
from stillflow.data.convert import get_seed
from stillflow.data.dataset import (
    DatasetV2,
    UnaryDataset,
    UnaryUnchangedStructureDataset,
    get_legacy_output_types,
)
from stillflow.data.dataset_v1 import DatasetV1Adapter
from stillflow.data.mapping import _Mapped, check_predicate
from stillflow.data.readers import ParallelInterleaveDataset
from stillflow.data.reducing import settled
from stillflow.data.structured_function import StructuredFunctionWrapper
from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export, export_value
from stillflow.graph.graph import get_default_graph
from stillflow.graph.operation import Tensor
from stillflow.graph.static_value import static_value
from stillflow.graph.tensor_spec import TensorSpec
from stillflow.ops.constants import constant
from stillflow.ops.data import mapping, shuffling, wrappers
from stillflow.ops.data.grouping import unique_dataset_op
from stillflow.util.notices import noticed

Transformation = Callable[[Any], Any]
INFINITE = -1
UNKNOWN = -2
export_value("data.experimental.INFINITE_CARDINALITY", INFINITE)
export_value("data.experimental.UNKNOWN_CARDINALITY", UNKNOWN)


class _MapAndBatchDataset(_Mapped):
    """Batches of a function's results."""

    _name = "tf.data.experimental.map_and_batch()"

    def __init__(
        self, input_dataset: Any, map_func: Any, batch_size: Any, num_parallel_calls: Any,
        drop_remainder: Any, legacy: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(input_dataset, map_func, legacy)
        size = convert_to_tensor(batch_size, dtype=dtypes.int64, name="batch_size")
        calls = convert_to_tensor(num_parallel_calls, dtype=dtypes.int64, name="num_parallel_calls")
        drop = convert_to_tensor(drop_remainder, dtype=dtypes.bool, name="drop_remainder")
        known = static_value(size) if static_value(drop) else None
        self._element_spec = nest.map_structure(
            lambda spec: spec._batch(known), self._map_func.output_structure
        )
        self._finish(mapping.map_and_batch_dataset_op, size, calls, drop, preserve_cardinality=True)

    @property
    def element_spec(self) -> TensorSpec:
        return self._element_spec


@export("data.experimental.map_and_batch", "contrib.data.map_and_batch")
@noticed("data.experimental.map_and_batch")
def map_and_batch(
    map_func: Callable[..., Any],
    batch_size: Any,
    num_parallel_batches: Any = None,
    drop_remainder: Any = False,
    num_parallel_calls: Any = None,
) -> Transformation:
    """`map` in parallel, then `batch`.

    Args:
      map_func: from an element to an element.
      batch_size: how many elements a batch has.
      num_parallel_batches: how many batches are made at a time.
      drop_remainder: whether a last batch of fewer elements is left out.
      num_parallel_calls: how many calls there are at a time, instead of `num_parallel_batches`.

    Raises:
      ValueError: if both are given.
    """
    calls = _calls(batch_size, num_parallel_batches, num_parallel_calls)
    return lambda dataset: _MapAndBatchDataset(dataset, map_func, batch_size, calls, drop_remainder)


@export("data.experimental.map_and_batch_with_legacy_function")
@noticed("data.experimental.map_and_batch_with_legacy_function")
def map_and_batch_with_legacy_function(
    map_func: Callable[..., Any],
    batch_size: Any,
    num_parallel_batches: Any = None,
    drop_remainder: Any = False,
    num_parallel_calls: Any = None,
) -> Transformation:
    """`map_and_batch`, with a function of the kind of `tf.contrib.framework.Defun`."""
    calls = _calls(batch_size, num_parallel_batches, num_parallel_calls)
    return lambda dataset: _MapAndBatchDataset(
        dataset, map_func, batch_size, calls, drop_remainder, legacy=True
    )


def _calls(batch_size: Any, num_parallel_batches: Any, num_parallel_calls: Any) -> Any:
    if num_parallel_calls is None:
        return batch_size * (1 if num_parallel_batches is None else num_parallel_batches)
    if num_parallel_batches is not None:
        raise ValueError(
            "The `num_parallel_batches` and `num_parallel_calls` arguments are mutually exclusive."
        )
    return num_parallel_calls


class _ShuffleAndRepeatDataset(UnaryUnchangedStructureDataset):
    """Elements in random order, several times."""

    def __init__(self, input_dataset: Any, buffer_size: Any, count: Any, seed: Any) -> None:
        self._input_dataset = input_dataset
        size = convert_to_tensor(buffer_size, dtype=dtypes.int64, name="buffer_size")
        if count is None:
            times = constant(-1, dtype=dtypes.int64, name="count")
        else:
            times = convert_to_tensor(count, dtype=dtypes.int64, name="count")
        first, second = get_seed(seed)
        super().__init__(
            input_dataset,
            shuffling.shuffle_and_repeat_dataset_op(
                input_dataset._variant_tensor, size, first, second, times, **self._flat_structure
            ),
        )


@export("data.experimental.shuffle_and_repeat", "contrib.data.shuffle_and_repeat")
@noticed("data.experimental.shuffle_and_repeat")
def shuffle_and_repeat(buffer_size: Any, count: Any = None, seed: Any = None) -> Transformation:
    """`shuffle`, then `repeat`; the buffer does not run empty between epochs."""
    return lambda dataset: _ShuffleAndRepeatDataset(dataset, buffer_size, count, seed)


@export("data.experimental.parallel_interleave", "contrib.data.parallel_interleave")
@noticed("data.experimental.parallel_interleave")
def parallel_interleave(
    map_func: Callable[..., Any],
    cycle_length: Any,
    block_length: Any = 1,
    sloppy: Any = False,
    buffer_output_elements: Any = None,
    prefetch_input_elements: Any = None,
) -> Transformation:
    """Return the elements of the datasets that a function gives, each read by a thread.

    Args:
      map_func: from an element to a dataset.
      cycle_length: how many datasets are open at a time.
      block_length: how many elements of each come in a row.
      sloppy: whether the order may depend on who is faster.
      buffer_output_elements: how many elements each thread reads ahead.
      prefetch_input_elements: how many datasets are opened ahead.
    """
    return lambda dataset: ParallelInterleaveDataset(
        dataset, map_func, cycle_length, block_length, sloppy, buffer_output_elements,
        prefetch_input_elements,
    )  # fmt: skip


class _Plain(UnaryUnchangedStructureDataset):
    """A dataset that an op without arguments makes of another."""

    def __init__(self, input_dataset: Any, card: Any) -> None:
        self._input_dataset = input_dataset
        super().__init__(input_dataset, card(input_dataset._variant_tensor, **self._flat_structure))


@export("data.experimental.ignore_errors", "contrib.data.ignore_errors")
def ignore_errors() -> Transformation:
    """Leaves out elements whose making fails."""
    return lambda dataset: _Plain(dataset, wrappers.ignore_errors_dataset_op)


@export("data.experimental.unique", "contrib.data.unique")
def unique() -> Transformation:
    """Leaves out elements that came before.

    Raises:
      TypeError: when it is applied, if elements are anything but an int32, int64 or string.
    """

    def apply(dataset: Any) -> Any:
        if get_legacy_output_types(dataset) not in (dtypes.int32, dtypes.int64, dtypes.string):
            raise TypeError(
                "`tf.data.experimental.unique()` only supports inputs with a single `tf.int32`, "
                "`tf.int64`, or `tf.string` component."
            )
        return _Plain(dataset, unique_dataset_op)

    return apply


@export("data.experimental.unbatch", "contrib.data.unbatch")
@noticed("data.experimental.unbatch")
def unbatch() -> Transformation:
    """See `Dataset.unbatch`."""
    return lambda dataset: dataset.unbatch()


@export("data.experimental.enumerate_dataset", "contrib.data.enumerate_dataset")
@noticed("data.experimental.enumerate_dataset")
def enumerate_dataset(start: Any = 0) -> Transformation:
    """See `Dataset.enumerate`."""
    return lambda dataset: dataset.enumerate(start)


class _TakeWhileDataset(UnaryUnchangedStructureDataset):
    """Elements up to the first that a function rejects."""

    def __init__(self, input_dataset: Any, predicate: Any) -> None:
        self._input_dataset = input_dataset
        wrapped = StructuredFunctionWrapper(
            predicate, "tf.data.experimental.take_while()", dataset=input_dataset
        )
        check_predicate(wrapped)
        self._predicate = wrapped
        super().__init__(
            input_dataset,
            mapping.take_while_dataset_op(
                input_dataset._variant_tensor, wrapped.function.captured_inputs,
                predicate=wrapped.function, **self._flat_structure,
            ),
        )  # fmt: skip

    def _functions(self) -> list[Any]:
        return [self._predicate]


@export("data.experimental.take_while")
def take_while(predicate: Callable[..., Any]) -> Transformation:
    """Return the elements before the first for which a function gives False."""
    return lambda dataset: _TakeWhileDataset(dataset, predicate)


class _ScanDataset(UnaryDataset):
    """Results of a function of elements and a state."""

    def __init__(self, input_dataset: Any, initial_state: Any, scan_func: Any) -> None:
        self._input_dataset = input_dataset
        first = structure.normalize_element(initial_state)
        wrapped, state = settled(
            lambda spec: self._trace(scan_func, spec), structure.type_spec_from_value(first),
            lambda w: (w.output_classes[0], w.output_types[0], w.output_shapes[0]),
        )  # fmt: skip
        self._scan_func = wrapped
        self._element_spec = wrapped.output_structure[1]
        function = wrapped.function
        function.add_to_graph(get_default_graph())
        super().__init__(
            input_dataset,
            mapping.scan_dataset_op(
                input_dataset._variant_tensor, structure.to_tensor_list(state, first),
                function.captured_inputs, f=function, preserve_cardinality=True,
                **self._flat_structure,
            ),
        )  # fmt: skip

    def _trace(self, scan_func: Any, state: Any) -> StructuredFunctionWrapper:
        wrapped = StructuredFunctionWrapper(
            scan_func, "tf.data.experimental.scan()",
            input_structure=(state, self._input_dataset.element_spec), add_to_graph=False,
        )  # fmt: skip
        made = wrapped.output_structure
        if not (isinstance(made, tuple) and len(made) == 2):
            raise TypeError(
                "The scan function must return a pair comprising the new state and the output "
                "value."
            )
        return wrapped

    def _functions(self) -> list[Any]:
        return [self._scan_func]

    @property
    def element_spec(self) -> Any:
        return self._element_spec


@export("data.experimental.scan", "contrib.data.scan")
def scan(initial_state: Any, scan_func: Callable[..., Any]) -> Transformation:
    """Apply a function to each element and a state that it updates.

    Args:
      initial_state: the first state, an element of any structure.
      scan_func: from a state and an element to the next state and the result.
    """
    return lambda dataset: _ScanDataset(dataset, initial_state, scan_func)


@export("data.experimental.Counter", "contrib.data.Counter")
def Counter(start: Any = 0, step: Any = 1, dtype: Any = dtypes.int64) -> DatasetV1Adapter:
    """Numbers from `start` on, at a distance of `step`, without end."""
    with name_scope("counter"):
        start = convert_to_tensor(start, dtype=dtype, name="start")
        step = convert_to_tensor(step, dtype=dtype, name="step")
        endless = DatasetV1Adapter(DatasetV2.from_tensors(0)).repeat(None)
        return DatasetV1Adapter(endless.apply(scan(start, lambda state, _: (state + step, state))))


@export("data.experimental.cardinality")
def cardinality(dataset: Any) -> Tensor:
    """Return the number of elements of a dataset, int64 scalar: -1 for infinite, -2 for unknown."""
    return wrappers.dataset_cardinality_op(dataset._variant_tensor)


@export("data.experimental.get_single_element", "contrib.data.get_single_element")
def get_single_element(dataset: Any) -> Tensor:
    """Return the only element of a dataset; running it fails unless there is exactly one.

    Raises:
      TypeError: if `dataset` is none.
    """
    if not isinstance(dataset, DatasetV2):
        raise TypeError("`dataset` must be a `tf.data.Dataset` object.")
    flat = wrappers.dataset_to_single_element_op(dataset._variant_tensor, **dataset._flat_structure)
    return structure.from_compatible_tensor_list(dataset.element_spec, flat)
