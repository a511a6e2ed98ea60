"""Numbers about pipelines: `StatsAggregator` and the transformations that report to it."""

from __future__ import annotations

import tempfile
from typing import Any

from stillflow.data.dataset import UnaryUnchangedStructureDataset
from stillflow.data.experimental import Transformation
from stillflow.data.wrapping import _SetStatsAggregatorDataset
from stillflow.graph import dtypes
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.ops.data import stats as cards
from stillflow.summary.resource_writer import create_file_writer_v2
from stillflow.util.deprecation import deprecated

_MAX_QUEUE = 10  # events wait before they are written


@export("data.experimental.StatsAggregator")
class StatsAggregatorV1:
    """Aggregator of statistics of the pipelines whose options name it.

    Assign it to `tf.data.Options().experimental_stats.aggregator`.
    """

    def __init__(self) -> None:
        self._resource = cards.stats_aggregator_handle_op()

    def get_summary(self) -> Tensor:
        """Return the numbers so far, a scalar string: a serialized `Summary`."""
        return cards.stats_aggregator_summary_op(self._resource)


StatsAggregator = StatsAggregatorV1


@export("compat.v2.data.experimental.StatsAggregator")
class StatsAggregatorV2:
    """Writer of statistics of the pipelines whose options name it to event files.

    Assign it to `tf.data.Options().experimental_stats.aggregator`.
    """

    def __init__(self) -> None:
        self._resource = cards.stats_aggregator_handle_v2_op()
        self._logdir = tempfile.mkdtemp()
        writer: Any = create_file_writer_v2
        self._summary_writer = writer(self._logdir, max_queue=_MAX_QUEUE)
        cards.stats_aggregator_set_summary_writer_op(self._resource, self._summary_writer._resource)


@deprecated(None, "Use `tf.data.experimental.StatsOptions`.")
def set_stats_aggregator(
    stats_aggregator: Any, prefix: str = "", counter_prefix: str = ""
) -> Transformation:
    """Has an aggregator collect numbers about a dataset."""
    return lambda dataset: _SetStatsAggregatorDataset(
        dataset, stats_aggregator, prefix, counter_prefix
    )


class _StatsDataset(UnaryUnchangedStructureDataset):
    """A dataset that reports about its elements."""

    def __init__(self, input_dataset: Any, card: Any, tag: Any) -> None:
        self._input_dataset = input_dataset
        name = convert_to_tensor(tag, dtype=dtypes.string)
        super().__init__(
            input_dataset, card(input_dataset._variant_tensor, name, **self._flat_structure)
        )


@export("data.experimental.bytes_produced_stats")
def bytes_produced_stats(tag: Any) -> Transformation:
    """Report how many bytes each element has, under the name `tag`."""
    return lambda dataset: _StatsDataset(dataset, cards.bytes_produced_stats_dataset_op, tag)


@export("data.experimental.latency_stats")
def latency_stats(tag: Any) -> Transformation:
    """Report how many microseconds each element took, under the name `tag`."""
    return lambda dataset: _StatsDataset(dataset, cards.latency_stats_dataset_op, tag)
