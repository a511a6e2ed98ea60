"""Datasets that replicas and workers share: RebatchDataset, AutoShardDataset."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

from stillflow import errors
from stillflow.graph.node import Node
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
        raise errors.unimplemented(
            "Stillflow does not save iterators of batches that replicas share yet"
        )


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


def auto_shard_dataset_kernel(node: Node) -> Callable[..., Any]:
    def run(value: Any, num_workers: Any, index: Any) -> Dataset:
        if int(num_workers) != 1 or int(index) != 0:
            raise errors.unimplemented(
                "Stillflow does not share the files of a dataset among workers yet"
            )
        return as_dataset(value)

    return run


auto_shard_dataset_op.kernel(auto_shard_dataset_kernel)
experimental_auto_shard_dataset_op.kernel(auto_shard_dataset_kernel)
