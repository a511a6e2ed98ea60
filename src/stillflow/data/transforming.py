"""Datasets that keep the type of the elements: repeat, take, skip, shuffle, cache, prefetch."""

from __future__ import annotations

from typing import Any

from stillflow.data import nest, structure
from stillflow.data.convert import get_seed
from stillflow.data.dataset import (
    UnaryDataset,
    UnaryUnchangedStructureDataset,
    get_legacy_output_classes,
    get_legacy_output_shapes,
    get_legacy_output_types,
)
from stillflow.data.kept_state import Owned, outlives_iterators
from stillflow.graph import dtypes
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.operation import Tensor
from stillflow.ops.constants import constant
from stillflow.ops.data import buffering, counting, shuffling, windows


def _int64(value: Any, name: str) -> Tensor:
    return convert_to_tensor(value, dtype=dtypes.int64, name=name)


class RepeatDataset(UnaryUnchangedStructureDataset):
    """All elements several times."""

    def __init__(self, input_dataset: Any, count: Any) -> None:
        self._input_dataset = input_dataset
        if count is None:
            self._count = constant(-1, dtype=dtypes.int64, name="count")
        else:
            self._count = _int64(count, "count")
        super().__init__(
            input_dataset,
            counting.repeat_dataset_op(
                input_dataset._variant_tensor, self._count, **self._flat_structure
            ),
        )


class TakeDataset(UnaryUnchangedStructureDataset):
    """The first elements."""

    def __init__(self, input_dataset: Any, count: Any) -> None:
        self._input_dataset = input_dataset
        self._count = _int64(count, "count")
        super().__init__(
            input_dataset,
            counting.take_dataset_op(
                input_dataset._variant_tensor, self._count, **self._flat_structure
            ),
        )


class SkipDataset(UnaryUnchangedStructureDataset):
    """All but the first elements."""

    def __init__(self, input_dataset: Any, count: Any) -> None:
        self._input_dataset = input_dataset
        self._count = _int64(count, "count")
        super().__init__(
            input_dataset,
            counting.skip_dataset_op(
                input_dataset._variant_tensor, self._count, **self._flat_structure
            ),
        )


class ShardDataset(UnaryUnchangedStructureDataset):
    """Every so-manieth element."""

    def __init__(self, input_dataset: Any, num_shards: Any, index: Any) -> None:
        self._input_dataset = input_dataset
        self._num_shards = _int64(num_shards, "num_shards")
        self._index = _int64(index, "index")
        super().__init__(
            input_dataset,
            counting.shard_dataset_op(
                input_dataset._variant_tensor, self._num_shards, self._index,
                **self._flat_structure,
            ),
        )  # fmt: skip


class ShuffleDataset(UnaryUnchangedStructureDataset):
    """Elements in random order."""

    def __init__(
        self, input_dataset: Any, buffer_size: Any, seed: Any = None,
        reshuffle_each_iteration: Any = None,
    ) -> None:  # fmt: skip
        self._input_dataset = input_dataset
        self._buffer_size = _int64(buffer_size, "buffer_size")
        self._seed, self._seed2 = get_seed(seed)
        self._reshuffle_each_iteration = (
            True if reshuffle_each_iteration is None else reshuffle_each_iteration
        )
        if self._reshuffle_each_iteration and outlives_iterators():
            self._seed_generator = Owned(
                shuffling.anonymous_random_seed_generator_op,
                shuffling.delete_random_seed_generator_op, self._seed, self._seed2,
            )  # fmt: skip
            variant_tensor = shuffling.shuffle_dataset_v2_op(
                input_dataset._variant_tensor, self._buffer_size, self._seed_generator.handle,
                **self._flat_structure,
            )  # fmt: skip
        else:
            variant_tensor = shuffling.shuffle_dataset_op(
                input_dataset._variant_tensor, self._buffer_size, self._seed, self._seed2,
                reshuffle_each_iteration=self._reshuffle_each_iteration, **self._flat_structure,
            )  # fmt: skip
        super().__init__(input_dataset, variant_tensor)


class CacheDataset(UnaryUnchangedStructureDataset):
    """Elements that are made once and kept."""

    def __init__(self, input_dataset: Any, filename: Any) -> None:
        self._input_dataset = input_dataset
        self._filename = convert_to_tensor(filename, dtype=dtypes.string, name="filename")
        if outlives_iterators():
            self._cache = Owned(
                buffering.anonymous_memory_cache_op, buffering.delete_memory_cache_op
            )
            variant_tensor = buffering.cache_dataset_v2_op(
                input_dataset._variant_tensor, self._filename, self._cache.handle,
                **self._flat_structure,
            )  # fmt: skip
        else:
            variant_tensor = buffering.cache_dataset_op(
                input_dataset._variant_tensor, self._filename, **self._flat_structure
            )
        super().__init__(input_dataset, variant_tensor)


class PrefetchDataset(UnaryUnchangedStructureDataset):
    """Elements that are fetched ahead."""

    def __init__(self, input_dataset: Any, buffer_size: Any, slack_period: Any = None) -> None:
        self._input_dataset = input_dataset
        self._buffer_size = _int64(-1 if buffer_size is None else buffer_size, "buffer_size")
        variant_tensor = buffering.prefetch_dataset_op(
            input_dataset._variant_tensor, self._buffer_size, slack_period=slack_period,
            **self._flat_structure,
        )  # fmt: skip
        super().__init__(input_dataset, variant_tensor)


class WindowDataset(UnaryDataset):
    """Datasets of elements that follow each other."""

    def __init__(
        self, input_dataset: Any, size: Any, shift: Any, stride: Any, drop_remainder: Any
    ) -> None:
        from stillflow.data.specs import DatasetSpec

        self._input_dataset = input_dataset
        self._size = _int64(size, "size")
        self._shift = _int64(shift, "shift")
        self._stride = _int64(stride, "stride")
        self._drop_remainder = convert_to_tensor(
            drop_remainder, dtype=dtypes.bool, name="drop_remainder"
        )
        classes = get_legacy_output_classes(input_dataset)
        parts = zip(
            nest.flatten(get_legacy_output_types(input_dataset)),
            nest.flatten(get_legacy_output_shapes(input_dataset)),
            nest.flatten(classes),
            strict=True,
        )
        self._structure = nest.pack_sequence_as(
            classes, [DatasetSpec(structure.convert_legacy_structure(*part)) for part in parts]
        )
        super().__init__(
            input_dataset,
            windows.window_dataset_op(
                input_dataset._variant_tensor, self._size, self._shift, self._stride,
                self._drop_remainder, **self._flat_structure,
            ),
        )  # fmt: skip

    @property
    def element_spec(self) -> Any:
        return self._structure
