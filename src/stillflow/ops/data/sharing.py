"""Datasets that replicas and workers share: RebatchDataset, AutoShardDataset."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

from stillflow.graph.node import Node
from stillflow.ops.data.counting import shard
from stillflow.ops.data.pipeline import (
    TYPED,
    UNKNOWN,
    Context,
    Dataset,
    Elements,
    as_dataset,
    component_dims,
    invalid,
    unary,
)
from stillflow.ops.data.walk import Element, State, Walk

_REBATCH = f"\nuse_fallback: bool = true{TYPED}"
rebatch_dataset_op = unary("RebatchDataset", "num_replicas: int64", _REBATCH)
experimental_rebatch_dataset_op = unary(
    "ExperimentalRebatchDataset", "num_replicas: int64", _REBATCH
)
auto_shard_dataset_op = unary("AutoShardDataset", "num_workers: int64, index: int64", TYPED)
experimental_auto_shard_dataset_op = unary(
    "ExperimentalAutoShardDataset", "num_workers: int64, index: int64", TYPED
)


class Rebatching(Walk):
    """The batches of another walk, each cut into as many parts as there are replicas.

    Args:
      source: the walk.
      replicas: how many they are.
    """

    def __init__(self, source: Elements, replicas: int) -> None:
        self.source, self.replicas = source, replicas
        self.waiting: collections.deque[Element] = collections.deque()

    def __next__(self) -> Element:
        while not self.waiting:
            batch = next(self.source)
            if not all(len(component.shape) for component in batch):
                raise invalid("Cannot rebatch an input with scalar components.")
            rows = batch[0].shape[0]
            step = -(-rows // self.replicas)
            for number in range(self.replicas):  # the last ones may be empty
                share = slice(number * step, (number + 1) * step)
                self.waiting.append(tuple(part[share] for part in batch))
        return self.waiting.popleft()

    def save(self, state: State) -> None:
        super().save(state)
        self.put(state, "waiting", len(self.waiting))
        for place, element in enumerate(self.waiting):
            self.put_values(state, f"waiting[{place}].size", f"waiting[{place}][{{}}]", element)

    def restore(self, state: State) -> None:
        super().restore(state)
        names = [f"waiting[{place}]" for place in range(self.integer(state, "waiting"))]
        waiting = (self.get_values(state, f"{name}.size", f"{name}[{{}}]") for name in names)
        self.waiting = collections.deque(waiting)


def rebatch_dataset_kernel(node: Node) -> Callable[..., Any]:
    shapes = component_dims(node)

    def run(value: Any, num_replicas: Any) -> Dataset:
        source, replicas = as_dataset(value), int(num_replicas)
        if replicas < 1:
            raise invalid("num_replicas must be greater than zero.")

        def make(context: Context, prefix: str) -> Elements:
            return Rebatching(source.iterate(context, prefix), replicas)

        dataset = Dataset("Rebatch", source.types, shapes, make, UNKNOWN)
        dataset.bodies = source.bodies
        return dataset

    return run


rebatch_dataset_op.kernel(rebatch_dataset_kernel)
experimental_rebatch_dataset_op.kernel(rebatch_dataset_kernel)


# Datasets by the part that they have in finding the files of a pipeline, as in TensorFlow.
_READERS = frozenset((
    "FixedLengthRecordDataset", "FixedLengthRecordDatasetV2", "TextLineDataset", "TFRecordDataset",
))  # fmt: skip
_CALLING = frozenset((
    "ExperimentalParallelInterleaveDataset", "FlatMapDataset", "InterleaveDataset",
    "ParallelInterleaveDataset", "ParallelInterleaveDatasetV2",
))  # fmt: skip
_THROUGH = frozenset((
    "BatchDataset", "BatchDatasetV2", "ExperimentalMapAndBatchDataset", "PaddedBatchDataset",
    "PaddedBatchDatasetV2", "CacheDataset", "CacheDatasetV2", "FilterDataset",
    "MapAndBatchDataset", "MapDataset", "ModelDataset", "OptimizeDataset", "ParallelMapDataset",
    "PrefetchDataset", "RepeatDataset", "ShardDataset", "ShuffleAndRepeatDataset",
    "ShuffleDataset", "ShuffleDatasetV2", "SkipDataset", "TakeDataset", "WindowDataset",
))  # fmt: skip
_SEVERAL, _SHUFFLES = ("ConcatenateDataset", "ZipDataset"), ("ShuffleDataset", "ShuffleDatasetV2")


class _NoFiles(Exception):
    """A dataset does not read files that could be shared."""


def _with_inputs(dataset: Dataset, change: Callable[[Dataset], Dataset]) -> Dataset:
    """Return a dataset of other inputs; the same one if they do not change."""
    assert dataset.made_by is not None and dataset.again is not None
    values = dataset.made_by[1]
    changed = [change(value) if isinstance(value, Dataset) else value for value in values]
    same = all(one is other for one, other in zip(changed, values, strict=True))
    return dataset if same else dataset.again(*changed)


def _share_files(dataset: Dataset, workers: int, index: int) -> Dataset:
    """Return a pipeline in which each worker reads its share of the files.

    They are shared before those that shuffle them.

    Raises:
      _NoFiles: if it reads none.
    """
    if dataset.made_by is None:
        raise _NoFiles
    kind = dataset.made_by[0].type
    if kind in _SEVERAL or kind in _THROUGH:
        return _with_inputs(dataset, lambda source: _share_files(source, workers, index))
    if kind not in _CALLING or not _reads_files(dataset):
        raise _NoFiles
    shuffles: list[Dataset] = []

    def ordered(source: Dataset) -> Dataset:
        made = source.made_by
        if made is not None and made[0].type in _SHUFFLES:
            shuffles.append(source)
            return ordered(as_dataset(made[1][0]))
        return source if made is None else _with_inputs(source, ordered)

    def shared(source: Dataset) -> Dataset:
        share = shard(ordered(source), workers, index, True)
        if not shuffles or shuffles[-1].again is None or shuffles[-1].made_by is None:
            return share
        return shuffles[-1].again(share, *shuffles[-1].made_by[1][1:])

    return _with_inputs(dataset, shared)


def _reads_files(dataset: Dataset) -> bool:
    """Return True if the function that a dataset calls reads a file that an input names."""
    assert dataset.made_by is not None
    inputs = [value for value in dataset.made_by[1] if isinstance(value, Dataset)]
    own = dataset.bodies[: len(dataset.bodies) - sum(len(source.bodies) for source in inputs)]
    return any(
        op.type in _READERS and op.inputs and op.inputs[0].op.name.startswith("args_0")
        for body in own
        for op in body.get_operations()
    )


def auto_shard_dataset_kernel(node: Node) -> Callable[..., Any]:
    def run(value: Any, num_workers: Any, which: Any) -> Dataset:
        source, workers, index = as_dataset(value), int(num_workers), int(which)
        if workers <= 0:
            raise invalid("num_workers must be greater than zero.")
        if not 0 <= index < workers:
            raise invalid(f"index must be between 0 and {workers - 1}")
        if workers == 1:
            return source
        try:
            return _share_files(source, workers, index)
        except _NoFiles:
            return shard(source, workers, index, True)

    return run


auto_shard_dataset_op.kernel(auto_shard_dataset_kernel)
experimental_auto_shard_dataset_op.kernel(auto_shard_dataset_kernel)
