"""Batches of a dataset in the older strategies: each is of one replica."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stillflow.distribute.input import DistributedDataset, InputOfReplicas

if TYPE_CHECKING:
    from stillflow.distribute.input import DistributedIterator


class BatchesOfReplicas(InputOfReplicas):
    """The input of strategies whose iterators give each replica a whole batch."""

    _global_batch_size = False

    def _make_dataset_iterator(self, dataset: Any) -> DistributedIterator:
        return DistributedDataset(dataset, self._input_workers, self._strategy)._walk()
