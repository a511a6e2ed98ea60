"""Transformations that group elements: `group_by_window`, `bucket_by_sequence_length`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stillflow.data import nest
from stillflow.data.dataset import UnaryDataset, get_legacy_output_shapes
from stillflow.data.reducing import settled
from stillflow.data.specs import DatasetSpec
from stillflow.data.structured_function import StructuredFunctionWrapper
from stillflow.graph import dtypes
from stillflow.graph.api import control_dependencies, name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape, dimension_value
from stillflow.graph.tensor_spec import TensorSpec
from stillflow.ops.arrays.select import where
from stillflow.ops.constants import constant
from stillflow.ops.data.experimental_names import experimental
from stillflow.ops.data.grouping import group_by_window_dataset_op
from stillflow.ops.debugging.comparisons import assert_less
from stillflow.ops.math.comparison import less, less_equal, logical_and
from stillflow.ops.math.reductions import reduce_min

_KEY = TensorSpec([], dtypes.int64)


def _is_key(spec: Any) -> bool:
    return isinstance(spec, TensorSpec) and spec.is_compatible_with(_KEY)


class _GroupByWindowDataset(UnaryDataset):
    """Results of a function for windows of elements with the same key."""

    def __init__(
        self, input_dataset: Any, key_func: Any, reduce_func: Any, window_size_func: Any
    ) -> None:
        self._input_dataset = input_dataset
        name = "tf.data.experimental.group_by_window()"

        def key_func_wrapper(*args: Any) -> Tensor:
            return convert_to_tensor(key_func(*args), dtype=dtypes.int64)

        def window_size_func_wrapper(key: Any) -> Tensor:
            return convert_to_tensor(window_size_func(key), dtype=dtypes.int64)

        self._key_func = StructuredFunctionWrapper(key_func_wrapper, name, dataset=input_dataset)
        if not _is_key(self._key_func.output_structure):
            raise ValueError("`key_func` must return a single tf.int64 scalar tensor.")
        self._reduce_func = StructuredFunctionWrapper(
            reduce_func, name, input_structure=(_KEY, DatasetSpec(input_dataset.element_spec))
        )
        made = self._reduce_func.output_structure
        if not isinstance(made, DatasetSpec):
            raise TypeError("`reduce_func` must return a `Dataset` object.")
        self._element_spec = made._element_spec
        self._window_size_func = StructuredFunctionWrapper(
            window_size_func_wrapper, name, input_structure=_KEY
        )
        if not _is_key(self._window_size_func.output_structure):
            raise ValueError("`window_size_func` must return a single tf.int64 scalar tensor.")
        parts = [wrapped.function for wrapped in self._functions()]
        super().__init__(
            input_dataset,
            group_by_window_dataset_op(
                input_dataset._variant_tensor,
                *[part.captured_inputs for part in parts],
                key_func=parts[0],
                reduce_func=parts[1],
                window_size_func=parts[2],
                **self._flat_structure,
            ),
        )

    @property
    def element_spec(self) -> TensorSpec:
        return self._element_spec

    def _functions(self) -> list[Any]:
        return [self._key_func, self._reduce_func, self._window_size_func]


@export("data.experimental.group_by_window", "contrib.data.group_by_window")
def group_by_window(
    key_func: Callable[..., Any],
    reduce_func: Callable[..., Any],
    window_size: Any = None,
    window_size_func: Any = None,
) -> Callable[[Any], Any]:
    """Apply a function to windows of elements with the same key.

    Args:
      key_func: from an element to an int64 scalar.
      reduce_func: from a key and a dataset of elements to a dataset.
      window_size: how many elements a window has.
      window_size_func: from a key to that number, instead of `window_size`.

    Raises:
      ValueError: unless one of the two is given.
    """
    if (window_size is None) == (not window_size_func):
        raise ValueError("Must pass either window_size or window_size_func.")
    if window_size is not None:

        def constant_window_func(unused_key: Any) -> Tensor:
            return convert_to_tensor(window_size, dtype=dtypes.int64)

        window_size_func = constant_window_func
    return lambda dataset: _GroupByWindowDataset(dataset, key_func, reduce_func, window_size_func)


@export("data.experimental.Reducer", "contrib.data.Reducer")
class Reducer:
    """Reducer of elements, for `group_by_reducer` and `reduce_dataset`.

    Args:
      init_func: from a key to the first state.
      reduce_func: from a state and an element to the next state.
      finalize_func: from the last state to the result.
    """

    def __init__(
        self,
        init_func: Callable[..., Any],
        reduce_func: Callable[..., Any],
        finalize_func: Callable[..., Any],
    ) -> None:
        self._init_func = init_func
        self._reduce_func = reduce_func
        self._finalize_func = finalize_func

    @property
    def init_func(self) -> Callable[..., Any]:
        return self._init_func

    @property
    def reduce_func(self) -> Callable[..., Any]:
        return self._reduce_func

    @property
    def finalize_func(self) -> Callable[..., Any]:
        return self._finalize_func


class _GroupByReducerDataset(UnaryDataset):
    """Results of a reducer for all elements with the same key."""

    def __init__(self, input_dataset: Any, key_func: Any, reducer: Reducer) -> None:
        name = "tf.data.experimental.group_by_reducer()"
        key = StructuredFunctionWrapper(key_func, name, dataset=input_dataset)
        if not _is_key(key.output_structure):
            raise ValueError(
                "`key_func` must return a single tf.int64 tensor. "
                f"Got type={key.output_types} and shape={key.output_shapes}"
            )
        init = StructuredFunctionWrapper(reducer.init_func, name, input_structure=_KEY)
        reduce, state = settled(
            lambda spec: StructuredFunctionWrapper(
                reducer.reduce_func,
                name,
                input_structure=(spec, input_dataset.element_spec),
                add_to_graph=False,
            ),
            init.output_structure,
            lambda made: (made.output_classes, made.output_types, made.output_shapes),
        )
        reduce.function.add_to_graph(get_default_graph())
        finalize = StructuredFunctionWrapper(reducer.finalize_func, name, input_structure=state)
        self._wrapped = [key, init, reduce, finalize]
        self._element_spec = finalize.output_structure
        parts = [wrapped.function for wrapped in self._wrapped]
        super().__init__(
            input_dataset,
            experimental["GroupByReducerDataset"](
                input_dataset._variant_tensor,
                *[part.captured_inputs for part in parts],
                key_func=parts[0],
                init_func=parts[1],
                reduce_func=parts[2],
                finalize_func=parts[3],
                **self._flat_structure,
            ),
        )

    @property
    def element_spec(self) -> dict[str, TensorSpec]:
        return self._element_spec

    def _functions(self) -> list[Any]:
        return self._wrapped


@export("data.experimental.group_by_reducer", "contrib.data.group_by_reducer")
def group_by_reducer(key_func: Callable[..., Any], reducer: Reducer) -> Callable[[Any], Any]:
    """Apply a reducer to all elements with the same key.

    Args:
      key_func: from an element to an int64 scalar.
      reducer: what to do with the elements of a key.
    """
    return lambda dataset: _GroupByReducerDataset(dataset, key_func, reducer)


def _filled(shapes: Any, filler: Any) -> list[None]:
    """Return shapes with `filler` for unknown sizes."""
    padded = []
    for shape in nest.flatten(shapes):
        dims = TensorShape(shape)
        padded.append([filler if dimension_value(d) is None else d for d in dims])
    return nest.pack_sequence_as(shapes, padded)


@export("data.experimental.bucket_by_sequence_length")
def bucket_by_sequence_length(
    element_length_func: Callable[..., Any],
    bucket_boundaries: Any,
    bucket_batch_sizes: Any,
    padded_shapes: Any = None,
    padding_values: Any = None,
    pad_to_bucket_boundary: bool = False,
    no_padding: bool = False,
    drop_remainder: bool = False,
) -> Callable[[Any], Any]:
    """Batches elements of about the same length.

    Args:
      element_length_func: from an element to its length, an int32 scalar.
      bucket_boundaries: where the next bucket begins.
      bucket_batch_sizes: how large batches of each bucket are, one more than boundaries.
      padded_shapes: see `Dataset.padded_batch`; by default the shapes of the elements.
      padding_values: see `Dataset.padded_batch`.
      pad_to_bucket_boundary: whether elements are filled up to the longest of their bucket.
      no_padding: whether elements are not filled up.
      drop_remainder: whether smaller batches are left out.

    Raises:
      ValueError: if there are not as many sizes as buckets.
    """
    with name_scope("bucket_by_seq_length"):
        if len(bucket_batch_sizes) != len(bucket_boundaries) + 1:
            raise ValueError("len(bucket_batch_sizes) must equal len(bucket_boundaries) + 1")
        batch_sizes = constant(bucket_batch_sizes, dtype=dtypes.int64)

    def element_to_bucket_id(*args: Any) -> Tensor:
        length = element_length_func(*args)
        boundaries = list(bucket_boundaries)
        lowest, highest = np.iinfo(np.int32).min, np.iinfo(np.int32).max
        fits = logical_and(
            less_equal([lowest, *boundaries], length), less(length, [*boundaries, highest])
        )
        return reduce_min(where(fits))

    def window_size_fn(bucket_id: Any) -> Tensor:
        return batch_sizes[bucket_id]

    def batching_fn(bucket_id: Any, grouped_dataset: Any) -> Any:
        batch_size = window_size_fn(bucket_id)
        if no_padding:
            return grouped_dataset.batch(batch_size, drop_remainder=drop_remainder)
        filler = None
        if pad_to_bucket_boundary:
            filler = _boundary(bucket_id, bucket_boundaries, len(bucket_batch_sizes))
        shapes = _filled(padded_shapes or get_legacy_output_shapes(grouped_dataset), filler)
        return grouped_dataset.padded_batch(
            batch_size, shapes, padding_values, drop_remainder=drop_remainder
        )

    return lambda dataset: dataset.apply(
        group_by_window(element_to_bucket_id, batching_fn, window_size_func=window_size_fn)
    )


def _boundary(bucket_id: Any, bucket_boundaries: Any, count: int) -> Tensor:
    check = assert_less(
        bucket_id,
        constant(count - 1, dtype=dtypes.int64),
        message="When pad_to_bucket_boundary=True, elements must have length < "
        "max(bucket_boundaries).",
    )
    with control_dependencies([check]):
        return constant(bucket_boundaries, dtype=dtypes.int64)[bucket_id] - 1
