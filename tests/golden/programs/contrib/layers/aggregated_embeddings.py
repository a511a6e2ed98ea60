"""Sparse embeddings combined where their shards are; no public name of tf.contrib leads to it."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, internal_module, program, raised


def _lookup(tf):
    module = internal_module(
        tf, "stillflow_contrib.layers.aggregated_embeddings",
        "contrib.layers.python.layers.embedding_ops",
    )
    return module.embedding_lookup_sparse_with_distributed_aggregation


def _ids(tf):
    rows = [[0, 0], [0, 1], [1, 0], [2, 0], [2, 1], [2, 2]]
    ids = tf.SparseTensor(rows, tf.constant([1, 3, 3, 0, 4, 1], tf.int64), [3, 3])
    weights = tf.SparseTensor(rows, tf.constant([1.0, 2.0, 0.5, -1.0, 3.0, 1.0]), [3, 3])
    return ids, weights


def _table(size=5, width=2):
    return np.cos(np.arange(size * width, dtype=np.float32)).reshape(size, width)


def _sums(tf, params, **options):
    lookup = _lookup(tf)
    ids, weights = _ids(tf)
    found = {}
    for combiner in ("sum", "mean", "sqrtn"):
        found[combiner] = lookup(params, ids, None, combiner=combiner, **options)
        found[combiner + " weighted"] = lookup(
            params, ids, weights, combiner=combiner, name="weighted", **options
        )
    return found


@program
def aggregated_whole(tf):
    table = tf.get_variable("table", initializer=_table())
    found = _sums(tf, table)
    found["clipped"] = _sums(tf, [tf.constant(_table())], max_norm=0.5)
    found["gradient"] = tf.convert_to_tensor(tf.gradients(found["mean"], table)[0])
    return Run(found, setup=[tf.global_variables_initializer()])


@program
def aggregated_by_mod(tf):
    parts = [tf.get_variable("p" + str(i), initializer=_table()[i::2]) for i in range(2)]
    found = _sums(tf, parts)
    found["clipped"] = _sums(tf, parts, max_norm=0.5)
    found["gradients"] = [
        tf.convert_to_tensor(g) for g in tf.gradients(found["mean weighted"], parts)
    ]
    return Run(found, setup=[tf.global_variables_initializer()])


@program
def aggregated_by_div(tf):
    parts = tf.get_variable(
        "p",
        initializer=tf.constant(_table()),
        use_resource=True,
        partitioner=tf.fixed_size_partitioner(2),
    )
    found = _sums(tf, parts, partition_strategy="div")
    feed = tf.placeholder(tf.float32, [None, 2])
    found["of unknown size"] = _sums(
        tf, [feed, tf.constant(_table()[3:])], partition_strategy="div"
    )
    return Run(found, {feed: _table()[:3]}, setup=[tf.global_variables_initializer()])


@program
def aggregated_refused(tf):
    lookup = _lookup(tf)
    ids, _ = _ids(tf)
    table = tf.constant(_table())
    other = tf.SparseTensor([[0, 0]], [1.0], [3, 3])
    return Run(
        {"table": table},
        facts={
            "combiner": raised(lookup, table, ids, None, combiner="max"),
            "ids": raised(lookup, table, [1], None),
            "weights": raised(lookup, table, ids, [1.0]),
            "shapes": raised(lookup, table, ids, other),
            "no table": raised(lookup, [], ids, None),
            "strategy": raised(lookup, [table, table], ids, None, "modulo"),
        },
    )
