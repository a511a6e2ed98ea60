"""Dataset ops under the names that they had while they were experiments.

TensorFlow 1.15 still builds one of them, and older graphs hold all.
"""

from __future__ import annotations

from typing import Any

from stillflow.graph.card import Card, op
from stillflow.ops.data import (
    batching,
    csv,
    fastest,
    grouping,
    interleaving,
    iterators,
    lmdb,
    mapping,
    matching_files,
    parsing,
    sampling,
    sources,
    sql,
    stats,
    thread_pools,
    windows,
    wrappers,
    writers,
)

_CARDS = (
    batching.dense_to_sparse_batch_dataset_op, batching.unbatch_dataset_op, csv.csv_dataset_op,
    grouping.group_by_reducer_dataset_op, grouping.group_by_window_dataset_op,
    grouping.unique_dataset_op, interleaving.directed_interleave_dataset_op,
    interleaving.parallel_interleave_dataset_op, iterators.iterator_get_device_op,
    mapping.map_and_batch_dataset_op, mapping.scan_dataset_op,
    mapping.take_while_dataset_op, parsing.parse_example_dataset_op, sources.random_dataset_op,
    sql.sql_dataset_op, windows.sliding_window_dataset_op, wrappers.assert_next_dataset_op,
    wrappers.dataset_cardinality_op, wrappers.ignore_errors_dataset_op,
    wrappers.max_intra_op_parallelism_dataset_op, wrappers.non_serializable_dataset_op,
    thread_pools.private_thread_pool_dataset_op, thread_pools.thread_pool_dataset_op,
    thread_pools.thread_pool_handle_op, stats.set_stats_aggregator_dataset_op,
    stats.latency_stats_dataset_op, stats.bytes_produced_stats_dataset_op,
    stats.stats_aggregator_handle_op, stats.stats_aggregator_summary_op, lmdb.lmdb_dataset_op,
    writers.dataset_to_tf_record_op, fastest.choose_fastest_dataset_op,
    matching_files.matching_files_dataset_op, sampling.sleep_dataset_op,
)  # fmt: skip


def _renamed(card: Card, **traits: Any) -> Card:
    """Return the same op under its older name."""
    made = op(
        f"Experimental{card.text.strip()}",
        differentiable=card.differentiable,
        effect=card.effect,
        **traits,
    )
    for part in ("shape_part", "check_part", "kernel_part"):
        setattr(made, part, getattr(card, part))
    return made


experimental = {card.name: _renamed(card) for card in _CARDS}
experimental[mapping.map_dataset_op.name] = _renamed(mapping.map_dataset_op, devices="host first")
