"""`tf.data.Dataset`: the base of all datasets."""

from __future__ import annotations

import abc
import warnings
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from stillflow._hooks import Hook
from stillflow.data import nest, structure
from stillflow.data.options import AUTOTUNE, AutotuneAlgorithm, Options
from stillflow.eager.eager_tensor import EagerTensor
from stillflow.graph.composite_tensor import CompositeTensor
from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph
from stillflow.graph.operation import Tensor
from stillflow.ops.data.as_graph import dataset_to_graph_op
from stillflow.train.tracking.base import Trackable

if TYPE_CHECKING:
    from stillflow.data.batching import PaddedBatchDataset
    from stillflow.data.combining import ConcatenateDataset
    from stillflow.data.dataset_v1 import DatasetV1Adapter
    from stillflow.data.iterator import IteratorV2
    from stillflow.data.mapping import FilterDataset, FlatMapDataset, InterleaveDataset
    from stillflow.data.sources import TensorDataset
    from stillflow.data.specs import DatasetSpec
    from stillflow.data.transforming import (
        CacheDataset,
        PrefetchDataset,
        RepeatDataset,
        ShardDataset,
        SkipDataset,
        TakeDataset,
        WindowDataset,
    )
    from stillflow.functional.wrapped import WrappedFunction


# Datasets of several datasets, of files, of generators, and of batches.
from_generator: Hook[Callable[..., Any]] = Hook("data.dataset.from_generator")
zip_datasets: Hook[Callable[..., Any]] = Hook("data.dataset.zip_datasets")
list_files: Hook[Callable[..., Any]] = Hook("data.dataset.list_files")
concatenate: Hook[Callable[..., Any]] = Hook("data.dataset.concatenate")
batch: Hook[Callable[..., Any]] = Hook("data.dataset.batch")
padded_batch: Hook[Callable[..., Any]] = Hook("data.dataset.padded_batch")
unbatch: Hook[Callable[..., Any]] = Hook("data.dataset.unbatch")


@export("compat.v2.data.Dataset")
class DatasetV2(Trackable, CompositeTensor):
    """A row of elements, made and changed by operations of a graph.

    Args:
      variant_tensor: the scalar variant tensor that holds it.
    """

    def __init__(self, variant_tensor: Any) -> None:
        self._variant_tensor_attr = variant_tensor
        self._graph_attr = get_default_graph()

    @property
    def _variant_tensor(self) -> Tensor:
        return self._variant_tensor_attr

    @_variant_tensor.setter
    def _variant_tensor(self, _: Any) -> None:
        raise ValueError("The _variant_tensor property is read-only")

    def _as_serialized_graph(self, stateful_whitelist: Any = None) -> Any:
        """Return a `GraphDef` of the dataset's nodes, as a string tensor.

        Functions may have stateful operations of the types in `stateful_whitelist`.
        """
        return dataset_to_graph_op(
            self._variant_tensor, stateful_whitelist=list(stateful_whitelist or [])
        )

    def _trace_variant_creation(self) -> WrappedFunction:
        """Return a function without arguments that makes the dataset's variant again."""
        from stillflow.functional.wrapped_graphs import function_from_graph_def
        from stillflow.protos import GraphDef

        if not isinstance(self._variant_tensor, EagerTensor):
            raise NotImplementedError(
                "Can only export Datasets which were created executing eagerly. Please file a "
                "feature request if this is important to you."
            )
        definition = GraphDef.FromString(self._as_serialized_graph().numpy())
        end = definition.node.pop()
        return function_from_graph_def(definition, [], f"{end.input[0]}:0")

    @abc.abstractmethod
    def _inputs(self) -> list[Any]:
        """Return the datasets that this one is made of."""

    @property
    def _graph(self) -> Any:
        return self._graph_attr

    @_graph.setter
    def _graph(self, _: Any) -> None:
        raise ValueError("The _graph property is read-only")

    def _has_captured_ref(self) -> bool:
        """Return True if a function uses a variable by reference."""

        def by_reference(tensor: Any) -> bool:
            if tensor.holds_value:
                return False
            return tensor.dtype._is_ref_dtype or any(by_reference(t) for t in tensor.op.inputs)

        for function in self._functions():
            if any(by_reference(t) for t in function.function.captured_inputs):
                return True
        return any(dataset._has_captured_ref() for dataset in self._inputs())

    def _functions(self) -> list[Any]:
        """Return the functions that it calls."""
        return []

    def options(self) -> Options:
        """Return the options of this dataset and of those that it is made of.

        Raises:
          ValueError: if they contradict each other.
        """
        options = Options()
        for dataset in self._inputs():
            found = dataset.options()
            if found is not None:
                options = options.merge(found)
        return options

    def _apply_options(self) -> Any:
        """Return the dataset to iterate over: this one with the transformations of its options."""
        from stillflow.data import wrapping

        dataset, options = self, self.options()
        dataset = wrapping.with_threads(dataset, options.experimental_threading)
        optimizations = options._static_optimizations()
        if optimizations and self._has_captured_ref():
            warnings.warn(
                "tf.data static optimizations are not compatible with tf.Variable. The following "
                f"optimizations will be disabled: {', '.join(optimizations)}. To enable "
                "optimizations, use resource variables instead by calling "
                "`tf.enable_resource_variables()` at the start of the program.",
                stacklevel=2,
            )
        elif optimizations:
            configs = options._static_optimization_configs()
            dataset = wrapping._OptimizeDataset(dataset, optimizations, configs)
        tuning = options.experimental_optimization
        if tuning is None or tuning.autotune is not False:
            algorithm = getattr(tuning, "autotune_algorithm", None)
            budget = getattr(tuning, "autotune_cpu_budget", None) or 0
            dataset = wrapping._ModelDataset(
                dataset, AutotuneAlgorithm.HILL_CLIMB if algorithm is None else algorithm, budget
            )
        stats = options.experimental_stats
        if stats and stats.aggregator:
            dataset = wrapping._SetStatsAggregatorDataset(
                dataset, stats.aggregator, stats.prefix, stats.counter_prefix
            )
        return dataset

    def __iter__(self) -> IteratorV2:
        from stillflow.data.iterator import IteratorV2

        graph = get_default_graph()
        if not graph._building_function and not graph.runs_at_once:
            raise RuntimeError(
                "__iter__() is only supported inside of tf.function or when eager execution is "
                "enabled."
            )
        return IteratorV2(self)

    @property
    @abc.abstractmethod
    def element_spec(self) -> Any:
        """The type of the elements: a structure of `TypeSpec` objects."""

    def __repr__(self) -> str:
        shapes = str(nest.map_structure(str, get_legacy_output_shapes(self))).replace("'", "")
        types = str(nest.map_structure(repr, get_legacy_output_types(self))).replace("'", "")
        return f"<{type(self).__name__} shapes: {shapes}, types: {types}>"

    @property
    def _flat_shapes(self) -> list[Any]:
        return structure.get_flat_tensor_shapes(self.element_spec)

    @property
    def _flat_types(self) -> list[Any]:
        return structure.get_flat_tensor_types(self.element_spec)

    @property
    def _flat_structure(self) -> dict[str, Any]:
        """The attributes with the types of elements."""
        return {"output_types": self._flat_types, "output_shapes": self._flat_shapes}

    @property
    def _type_spec(self) -> DatasetSpec:
        from stillflow.data.specs import DatasetSpec

        return DatasetSpec(self.element_spec)

    # ---- sources

    @staticmethod
    def from_tensors(tensors: Any) -> TensorDataset:
        """Return a dataset of one element.

        Args:
          tensors: the element: a tensor, or a structure of tensors.
        """
        from stillflow.data.sources import TensorDataset

        return TensorDataset(tensors)

    @staticmethod
    def from_tensor_slices(tensors: Any) -> Any:
        """Return a dataset of the slices of tensors along their first dimension.

        Args:
          tensors: tensors of the same first dimension, in any structure.
        """
        from stillflow.data.sources import TensorSliceDataset

        return TensorSliceDataset(tensors)

    @staticmethod
    def from_generator(
        generator: Callable[..., Any], output_types: Any, output_shapes: Any = None,
        args: Any = None,
    ) -> DatasetV1Adapter:  # fmt: skip
        """Return a dataset of the elements that a Python generator yields.

        Args:
          generator: a callable that gives an iterable; it is called whenever an iterator starts.
          output_types: a structure of dtypes, that of the elements.
          output_shapes: shapes in the same structure, unknown by default.
          args: tensors whose values are passed to `generator` as arrays.

        Raises:
          TypeError: if `generator` cannot be called.
        """
        return from_generator.value(generator, output_types, output_shapes, args)

    @staticmethod
    def range(*args: Any) -> Any:
        """Return a dataset of int64: `range(stop)`, `range(start, stop)`, or with a step."""
        from stillflow.data.sources import RangeDataset

        return RangeDataset(*args)

    @staticmethod
    def zip(datasets: Any) -> Any:
        """Return a dataset whose elements are made of one element of each of several datasets.

        Args:
          datasets: a structure of datasets; lists are not allowed.
        """
        return zip_datasets.value(datasets)

    @staticmethod
    def list_files(file_pattern: Any, shuffle: Any = None, seed: Any = None) -> Any:
        """Return a dataset of the names of files that match patterns.

        Args:
          file_pattern: a string, a list of strings, or a tensor of them.
          shuffle: whether the order is random, as by default.
          seed: of that order.
        """
        return list_files.value(file_pattern, shuffle, seed)

    # ---- transformations

    def concatenate(self, dataset: Any) -> ConcatenateDataset:
        """Return the elements of this dataset, then those of another of the same type."""
        return concatenate.value(self, dataset)

    def prefetch(self, buffer_size: Any) -> PrefetchDataset:
        """Fetch up to `buffer_size` elements ahead in a thread; -1 chooses the number."""
        from stillflow.data.transforming import PrefetchDataset

        return PrefetchDataset(self, buffer_size)

    def repeat(self, count: Any = None) -> RepeatDataset:
        """All elements `count` times, without end by default."""
        from stillflow.data.transforming import RepeatDataset

        return RepeatDataset(self, count)

    def enumerate(self, start: Any = 0) -> Any:
        """Pairs of a number, from `start` on, and an element."""
        import numpy as np

        from stillflow.data.dataset_v1 import DatasetV1 as Dataset

        numbers = Dataset.range(start, np.iinfo(np.int64).max)
        return Dataset.zip((numbers, self))

    def shuffle(
        self, buffer_size: Any, seed: Any = None, reshuffle_each_iteration: Any = None
    ) -> Any:
        """Elements in random order.

        Args:
          buffer_size: from how many elements the next one is drawn.
          seed: makes the order repeatable.
          reshuffle_each_iteration: whether each epoch has an order of its own, as by default.
        """
        from stillflow.data.transforming import ShuffleDataset

        return ShuffleDataset(self, buffer_size, seed, reshuffle_each_iteration)

    def cache(self, filename: Any = "") -> CacheDataset:
        """Keep all elements, when they are first asked for, in memory or in a file."""
        from stillflow.data.transforming import CacheDataset

        return CacheDataset(self, filename)

    def take(self, count: Any) -> TakeDataset:
        """Return the first `count` elements; all of them if it is -1."""
        from stillflow.data.transforming import TakeDataset

        return TakeDataset(self, count)

    def skip(self, count: Any) -> SkipDataset:
        """All elements but the first `count`; none if it is -1."""
        from stillflow.data.transforming import SkipDataset

        return SkipDataset(self, count)

    def shard(self, num_shards: Any, index: Any) -> ShardDataset:
        """Every `num_shards`-th element, from number `index` on."""
        from stillflow.data.transforming import ShardDataset

        return ShardDataset(self, num_shards, index)

    def batch(self, batch_size: Any, drop_remainder: Any = False) -> Any:
        """Stacks `batch_size` elements to one.

        Args:
          batch_size: how many.
          drop_remainder: whether a last batch of fewer elements is left out.
        """
        return batch.value(self, batch_size, drop_remainder)

    def padded_batch(
        self, batch_size: Any, padded_shapes: Any, padding_values: Any = None,
        drop_remainder: Any = False,
    ) -> PaddedBatchDataset:  # fmt: skip
        """Stacks `batch_size` elements to one after filling them up to the same shape.

        Args:
          batch_size: how many.
          padded_shapes: a shape for each component; what is unknown is as large as it must be.
          padding_values: what to fill with, by default 0 or the empty string.
          drop_remainder: whether a last batch of fewer elements is left out.
        """
        return padded_batch.value(self, batch_size, padded_shapes, padding_values, drop_remainder)

    def map(self, map_func: Callable[..., Any], num_parallel_calls: Any = None) -> Any:
        """Apply a function to each element.

        Args:
          map_func: from an element to an element.
          num_parallel_calls: how many calls there are at a time.
        """
        from stillflow.data.mapping import MapDataset, ParallelMapDataset

        if num_parallel_calls is None:
            return MapDataset(self, map_func, preserve_cardinality=True)
        return ParallelMapDataset(self, map_func, num_parallel_calls, preserve_cardinality=True)

    def flat_map(self, map_func: Callable[..., Any]) -> FlatMapDataset:
        """Return the elements of the datasets that a function gives, one after the other."""
        from stillflow.data.mapping import FlatMapDataset

        return FlatMapDataset(self, map_func)

    def interleave(
        self, map_func: Callable[..., Any], cycle_length: Any = AUTOTUNE, block_length: Any = 1,
        num_parallel_calls: Any = None,
    ) -> InterleaveDataset:  # fmt: skip
        """Return the elements of the datasets that a function gives, of several of them in turn.

        Args:
          map_func: from an element to a dataset.
          cycle_length: how many datasets are open at a time.
          block_length: how many elements of each come in a row.
          num_parallel_calls: how many datasets are read at a time, ahead.
        """
        from stillflow.data.mapping import InterleaveDataset, ParallelInterleaveDataset

        if num_parallel_calls is None:
            return InterleaveDataset(self, map_func, cycle_length, block_length)
        return ParallelInterleaveDataset(
            self, map_func, cycle_length, block_length, num_parallel_calls
        )

    def filter(self, predicate: Callable[..., Any]) -> FilterDataset:
        """Return the elements for which a function gives True."""
        from stillflow.data.mapping import FilterDataset

        return FilterDataset(self, predicate)

    def apply(self, transformation_func: Callable[[Any], Any]) -> DatasetV2:
        """Apply a function to the whole dataset.

        Raises:
          TypeError: if that is no dataset.
        """
        dataset = transformation_func(self)
        if not isinstance(dataset, DatasetV2):
            raise TypeError(f"`transformation_func` must return a Dataset. Got {dataset}.")
        dataset._input_datasets = [self]  # type: ignore[attr-defined]
        return dataset

    def window(
        self, size: Any, shift: Any = None, stride: Any = 1, drop_remainder: Any = False
    ) -> WindowDataset:
        """Datasets of `size` elements each.

        Args:
          size: how many elements a window has.
          shift: how many elements later the next one begins, `size` by default.
          stride: how far elements of a window are from each other.
          drop_remainder: whether smaller windows at the end are left out.
        """
        from stillflow.data.transforming import WindowDataset

        return WindowDataset(self, size, size if shift is None else shift, stride, drop_remainder)

    def reduce(self, initial_state: Any, reduce_func: Callable[..., Any]) -> Any:
        """Reduce all elements to one by a function.

        Args:
          initial_state: the first state, an element of any structure.
          reduce_func: from a state and an element to the next state.

        Returns:
          The last state.

        Raises:
          TypeError: if the states are not of one type.
        """
        from stillflow.data.reducing import reduce

        return reduce(self, initial_state, reduce_func)

    def unbatch(self) -> Any:
        """Return the slices of each element along the first dimension."""
        return unbatch.value(self)

    def with_options(self, options: Options) -> Any:
        """Set options for the dataset and its inputs.

        Raises:
          ValueError: if they contradict those that were given before.
        """
        from stillflow.data.wrapping import _OptionsDataset

        return _OptionsDataset(self, options)


@export("data.experimental.get_structure")
def get_structure(dataset_or_iterator: Any) -> Any:
    """Return the type of the elements of a dataset or iterator.

    Raises:
      TypeError: if it is neither.
    """
    try:
        return dataset_or_iterator.element_spec
    except AttributeError:
        raise TypeError(
            "`dataset_or_iterator` must be a Dataset or Iterator object, but got "
            f"{type(dataset_or_iterator)}."
        ) from None


def _legacy(what: str, dataset_or_iterator: Any) -> Any:
    return nest.map_structure(
        lambda spec: getattr(spec, f"_to_legacy_output_{what}")(),
        get_structure(dataset_or_iterator),
    )


def legacy_structure(dataset: Any) -> tuple[Any, Any, Any]:
    """Return the dtypes, shapes and classes of the components of elements."""
    return _legacy("types", dataset), _legacy("shapes", dataset), _legacy("classes", dataset)


@export("data.get_output_classes")
def get_legacy_output_classes(dataset_or_iterator: Any) -> Any:
    """Return the classes of the components of elements."""
    return _legacy("classes", dataset_or_iterator)


@export("data.get_output_shapes")
def get_legacy_output_shapes(dataset_or_iterator: Any) -> Any:
    """Return the static shapes of the components of elements."""
    return _legacy("shapes", dataset_or_iterator)


@export("data.get_output_types")
def get_legacy_output_types(dataset_or_iterator: Any) -> Any:
    """Return the dtypes of the components of elements."""
    return _legacy("types", dataset_or_iterator)


class DatasetSource(DatasetV2):
    """A dataset that is made of no other."""

    def _inputs(self) -> list[Any]:
        return []


class UnaryDataset(DatasetV2):
    """A dataset that is made of another one."""

    def __init__(self, input_dataset: Any, variant_tensor: Any) -> None:
        self._input_dataset = input_dataset
        super().__init__(variant_tensor)

    def _inputs(self) -> list[Any]:
        return [self._input_dataset]


class UnaryUnchangedStructureDataset(UnaryDataset):
    """A dataset that is made of another one with elements of the same type."""

    @property
    def element_spec(self) -> Any:
        return self._input_dataset.element_spec
