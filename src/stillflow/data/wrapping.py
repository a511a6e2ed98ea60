"""Datasets around others: options, tuning, types by another name."""

from __future__ import annotations

from typing import Any

from stillflow.data.dataset import UnaryDataset, UnaryUnchangedStructureDataset
from stillflow.data.options import AutotuneAlgorithm
from stillflow.graph import dtypes
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.type_spec import BatchableTypeSpec
from stillflow.ops.data import wrappers as cards
from stillflow.ops.data.stats import set_stats_aggregator_dataset_op
from stillflow.ops.data.thread_pools import private_thread_pool_dataset_op


class _OptionsDataset(UnaryUnchangedStructureDataset):
    """A dataset with options."""

    def __init__(self, input_dataset: Any, options: Any) -> None:
        self._options = input_dataset.options()
        self._options = self._options.merge(options) if self._options else options
        super().__init__(input_dataset, input_dataset._variant_tensor)

    def options(self) -> Any:
        return self._options


class _RestructuredDataset(UnaryDataset):
    """A dataset whose elements are taken for another type."""

    def __init__(self, dataset: Any, structure: Any) -> None:
        self._structure = structure
        super().__init__(dataset, dataset._variant_tensor)

    @property
    def element_spec(self) -> BatchableTypeSpec:
        return self._structure


class _ModelDataset(UnaryUnchangedStructureDataset):
    """A dataset whose parameters are tuned."""

    def __init__(self, input_dataset: Any, algorithm: Any, cpu_budget: int) -> None:
        self._input_dataset = input_dataset
        attrs: dict[str, Any] = {"cpu_budget": cpu_budget}
        if algorithm != AutotuneAlgorithm.HILL_CLIMB:
            attrs["algorithm"] = getattr(algorithm, "value", algorithm)
        super().__init__(
            input_dataset,
            cards.model_dataset_op(input_dataset._variant_tensor, **attrs, **self._flat_structure),
        )


class _OptimizeDataset(UnaryUnchangedStructureDataset):
    """A dataset that is rewritten."""

    def __init__(
        self, input_dataset: Any, optimizations: Any, optimization_configs: Any = None
    ) -> None:
        self._input_dataset = input_dataset
        self._optimizations = convert_to_tensor(
            optimizations or [], dtype=dtypes.string, name="optimizations"
        )
        super().__init__(
            input_dataset,
            cards.optimize_dataset_op(
                input_dataset._variant_tensor, self._optimizations,
                optimization_configs=optimization_configs or [], **self._flat_structure,
            ),
        )  # fmt: skip


class _SetStatsAggregatorDataset(UnaryUnchangedStructureDataset):
    """A dataset that is counted."""

    def __init__(
        self, input_dataset: Any, aggregator: Any, prefix: str, counter_prefix: str
    ) -> None:
        self._input_dataset = input_dataset
        self._stats_aggregator = aggregator
        super().__init__(
            input_dataset,
            set_stats_aggregator_dataset_op(
                input_dataset._variant_tensor, aggregator._resource, prefix, counter_prefix,
                **self._flat_structure,
            ),
        )  # fmt: skip


class _MaxIntraOpParallelismDataset(UnaryUnchangedStructureDataset):
    """A dataset whose operations use so many threads."""

    def __init__(self, input_dataset: Any, max_intra_op_parallelism: Any) -> None:
        self._input_dataset = input_dataset
        self._max_intra_op_parallelism = convert_to_tensor(
            max_intra_op_parallelism, dtype=dtypes.int64, name="max_intra_op_parallelism"
        )
        super().__init__(
            input_dataset,
            cards.max_intra_op_parallelism_dataset_op(
                input_dataset._variant_tensor, self._max_intra_op_parallelism,
                **self._flat_structure,
            ),
        )  # fmt: skip


class _PrivateThreadPoolDataset(UnaryUnchangedStructureDataset):
    """A dataset with threads of its own."""

    def __init__(self, input_dataset: Any, num_threads: Any) -> None:
        self._input_dataset = input_dataset
        self._num_threads = convert_to_tensor(num_threads, dtype=dtypes.int64, name="num_threads")
        super().__init__(
            input_dataset,
            private_thread_pool_dataset_op(
                input_dataset._variant_tensor, self._num_threads, **self._flat_structure
            ),
        )


def with_threads(dataset: Any, options: Any) -> Any:
    """Return a dataset that uses as many threads as options say."""
    if options is None:
        return dataset
    if options.max_intra_op_parallelism is not None:
        dataset = _MaxIntraOpParallelismDataset(dataset, options.max_intra_op_parallelism)
    if options.private_threadpool_size is not None:
        dataset = _PrivateThreadPoolDataset(dataset, options.private_threadpool_size)
    return dataset
