"""Examples of a data set, read by several readers at once."""

from __future__ import annotations

from typing import Any

from stillflow.graph.export import export
from stillflow_contrib.slim.data_provider import DataProvider
from stillflow_contrib.slim.parallel_reader import parallel_read


@export("contrib.slim.dataset_data_provider.DatasetDataProvider")
class DatasetDataProvider(DataProvider):
    """Provider of the items of a data set's examples.

    Args:
      dataset: a `Dataset`.
      num_readers, reader_kwargs, shuffle, num_epochs, seed, scope: as of `parallel_read`.
      common_queue_capacity, common_queue_min: its `capacity` and `min_after_dequeue`.
      record_key: the item that is the key of the record.

    Raises:
      ValueError: the data set has an item of that name.
    """

    def __init__(
        self, dataset: Any, num_readers: int = 1, reader_kwargs: Any = None,
        shuffle: bool = True, num_epochs: int | None = None, common_queue_capacity: int = 256,
        common_queue_min: int = 128, record_key: str = "record_key", seed: int | None = None,
        scope: str | None = None,
    ) -> None:  # fmt: skip
        key, data = parallel_read(
            dataset.data_sources, reader_class=dataset.reader, num_epochs=num_epochs,
            num_readers=num_readers, reader_kwargs=reader_kwargs, shuffle=shuffle,
            capacity=common_queue_capacity, min_after_dequeue=common_queue_min, seed=seed,
            scope=scope,
        )  # fmt: skip
        items = dataset.decoder.list_items()
        tensors = dict(zip(items, dataset.decoder.decode(data, items), strict=False))
        if record_key in tensors:
            raise ValueError(
                "The item name used for `record_key` cannot also be used for a dataset item: %s",
                record_key,
            )
        tensors[record_key] = key
        super().__init__(items_to_tensors=tensors, num_samples=dataset.num_samples)
