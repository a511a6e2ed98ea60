"""What the older strategies take the batches of a dataset for: those of one replica each."""

from __future__ import annotations

from typing import Any

from stillflow.distribute.input import DistributedDataset, InputOfReplicas


class BatchesOfReplicas(InputOfReplicas):
    """The input of strategies whose iterators give each replica a whole batch."""

    _global_batch_size = False

    def _make_dataset_iterator(self, dataset: Any) -> Any:
        return DistributedDataset(dataset, self._input_workers, None)._walk()
