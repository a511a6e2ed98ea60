"""Datasets as inputs of a model."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.data import batching, combining, mapping, readers, sources, transforming
from stillflow.data.dataset import DatasetV2
from stillflow.data.dataset_v1 import DatasetV1Adapter, make_initializable_iterator
from stillflow.data.experimental import INFINITE, cardinality
from stillflow.data.iterator import Iterator, IteratorV2
from stillflow.data.wrapping import _OptionsDataset
from stillflow.graph.eager_mode import executing_eagerly
from stillflow.keras.backend.session import get_session, get_value
from stillflow.platform import tf_logging as logging

_IN_ORDER = (
    _OptionsDataset, batching.BatchDataset, batching.PaddedBatchDataset,
    combining.ConcatenateDataset, combining.ZipDataset, mapping.FilterDataset,
    mapping.MapDataset, mapping.ParallelMapDataset, readers.FixedLengthRecordDatasetV2,
    readers.TFRecordDatasetV2, readers.TextLineDatasetV2, sources.RangeDataset,
    sources.SparseTensorSliceDataset, sources.TensorDataset, sources.TensorSliceDataset,
    transforming.CacheDataset, transforming.PrefetchDataset, transforming.RepeatDataset,
    transforming.SkipDataset, transforming.TakeDataset, transforming.WindowDataset,
)  # fmt: skip

_BATCHING = (batching.BatchDataset, batching.PaddedBatchDataset, transforming.WindowDataset)
_ONE_BY_ONE = (
    *(kind for kind in _IN_ORDER if kind not in _BATCHING), transforming.ShuffleDataset,
)  # fmt: skip


def is_dataset(x: Any) -> bool:
    """Return True if data are a `tf.data.Dataset`."""
    return isinstance(x, DatasetV2)


def is_iterator(x: Any) -> bool:
    """Return True if data are an iterator of a dataset."""
    return isinstance(x, (Iterator, IteratorV2))


def refuse_other_data(x: Any, y: Any, sample_weight: Any, validation_split: float = 0.0) -> None:
    """Raise ValueError for targets and weights in addition to a dataset, which has its own."""
    if y is not None:
        raise ValueError(
            f"You passed a dataset or dataset iterator ({x}) as input `x` to your model. In that "
            "case, you should not specify a target (`y`) argument, since the dataset or dataset "
            f"iterator generates both input data and target data. Received: {y}"
        )
    if sample_weight is not None:
        raise ValueError(
            "`sample_weight` argument is not supported when input `x` is a dataset or a dataset "
            "iterator. Instead, youcan provide sample_weight as the third element  of yourdataset, "
            f"i.e. (inputs, targets, sample_weight). Received: x={x}, "
            f"sample_weight={sample_weight}"
        )
    if validation_split:
        raise ValueError(
            "`validation_split` argument is not supported when input `x` is a dataset or a dataset "
            f"iterator. Received: x={x}, validation_split={validation_split:f}"
        )


def check_training_data(
    x: Any, y: Any, sample_weight: Any, validation_split: float, shuffle: Any
) -> None:
    """Raise ValueError for data in addition to a dataset, and warn of one that is not shuffled."""
    refuse_other_data(x, y, sample_weight, validation_split)
    if shuffle:
        verify_dataset_shuffled(x)


def verify_dataset_shuffled(x: Any) -> None:
    """Warns of a dataset that comes in order."""
    if _is_made_of(x, _IN_ORDER):
        logging.warning(
            "Expected a shuffled dataset but input dataset `x` is not shuffled. Please invoke "
            "`shuffle()` on input dataset."
        )


def assert_not_shuffled(dataset: Any) -> None:
    """Raise ValueError unless the order of a dataset's elements can be told to stay."""
    if not _is_made_of(dataset, _IN_ORDER):
        raise ValueError("Could not assert that dataset is not shuffled.")


def assert_not_batched(dataset: Any) -> None:
    """Raise ValueError unless a dataset's elements can be told to be no batches."""
    if not _is_made_of(dataset, _ONE_BY_ONE):
        raise ValueError("Could not assert that dataset is not batched.")


def _is_made_of(dataset: Any, kinds: tuple[Any, ...]) -> bool:
    """Return True if a dataset, and all its inputs, are of some kinds."""
    if isinstance(dataset, DatasetV1Adapter):
        return _is_made_of(dataset._dataset, kinds)
    return isinstance(dataset, kinds) and all(_is_made_of(one, kinds) for one in dataset._inputs())


def iterator_of(dataset: Any) -> Any:
    """Return an iterator that is initialized."""
    if executing_eagerly():
        return iter(dataset)
    iterator = make_initializable_iterator(dataset)
    restart(iterator)
    return iterator


def restart(iterator: Any) -> None:
    """Restart an iterator."""
    if isinstance(iterator, Walk):
        iterator.restart()
        return
    get_session((iterator.initializer,)).run(iterator.initializer)


class Walk:
    """A dataset that Python walks, from its beginning at each `restart`."""

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset
        self.restart()

    def restart(self) -> None:
        """Restart."""
        self._iterator = iter(self._dataset)

    def next(self) -> tuple[Any, Any, Any]:
        """Return (inputs, targets, weights) of the next batch.

        Raises:
          OutOfRangeError: after the last one.
        """
        return next_tensors(self._iterator)


def next_tensors(iterator: Any) -> tuple[Any, Any, Any]:
    """Return (inputs, targets, weights) of the next batch, None for missing parts."""
    element = iterator.get_next()
    if not isinstance(element, (list, tuple)):
        return element, None, None
    if len(element) not in (2, 3):
        raise ValueError(
            "Please provide model inputs as a list or tuple of 2 or 3 elements: (input, target) or "
            f"(input, target, sample_weights) Received {element}"
        )
    x, y, *rest = element
    return x, y, rest[0] if rest else None


def steps_of(dataset: Any, name: str) -> int | None:
    """Return the number of batches in a dataset, None if it is found out when they run out.

    ValueError if it never ends, with the name of the argument that says how many to take.
    """
    size = int(np.asarray(get_value(cardinality(dataset))))
    if size == INFINITE:
        raise ValueError(
            f"When passing an infinitely repeating dataset, you must specify the `{name}` argument."
        )
    return size if size >= 0 else None
