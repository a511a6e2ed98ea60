"""Threads that a program gives to a pipeline: `PrivateThreadPool` and `override_threadpool`."""

from __future__ import annotations

from typing import Any

from stillflow.data.dataset import UnaryUnchangedStructureDataset
from stillflow.ops.data import thread_pools as cards


class PrivateThreadPool:
    """Threads for the parallel work of some datasets.

    Args:
      num_threads: how many.
      display_name: what they are for.
      max_intra_op_parallelism: how many threads one operation may use; here operations of
        pipelines always use one.
    """

    def __init__(
        self, num_threads: int, display_name: str | None = None,
        max_intra_op_parallelism: int | None = 1,
    ) -> None:  # fmt: skip
        self._resource = cards.thread_pool_handle_op(
            num_threads=num_threads,
            max_intra_op_parallelism=max_intra_op_parallelism,
            display_name=display_name,
        )


class _ThreadPoolDataset(UnaryUnchangedStructureDataset):
    """A dataset whose parallel work is done by a pool's threads."""

    def __init__(self, input_dataset: Any, thread_pool: PrivateThreadPool) -> None:
        self._input_dataset = input_dataset
        self._thread_pool = thread_pool
        super().__init__(
            input_dataset,
            cards.thread_pool_dataset_op(
                input_dataset._variant_tensor, thread_pool._resource, **self._flat_structure
            ),
        )


def override_threadpool(dataset: Any, thread_pool: PrivateThreadPool) -> _ThreadPoolDataset:
    """Return a dataset of the same elements, whose parallel work runs in a pool's threads."""
    return _ThreadPoolDataset(dataset, thread_pool)
