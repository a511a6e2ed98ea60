"""Pieces of random pipelines: sources and transformations of tf.data, by name.

Each is a function of the pipeline `p`, which makes its choices; a transformation takes the dataset
`d` too. Elements `*e` have any structure: `p.number` makes an integer of one, and `p.first` is its
first part.
"""

from __future__ import annotations

from typing import Any

import numpy as np

SOURCES = {
    "csv": lambda p: p.Dataset.from_tensor_slices(["1,2", "3,4", "5,6"]).map(
        lambda line: p.tf.decode_csv(line, [[0], [0.0]])
    ),
    "dict": lambda p: p.Dataset.from_tensor_slices(
        {"a": np.arange(4), "b": [b"x0", b"x1", b"x2", b"x3"]}
    ),
    "floats": lambda p: p.Dataset.from_tensor_slices(
        np.linspace(0, 1, p.count()).astype(np.float32)
    ),
    "generator": lambda p: _generated(p, p.count()),
    "matrix": lambda p: p.Dataset.from_tensor_slices(np.arange(14).reshape(7, 2)[: p.count()]),
    "nested": lambda p: p.Dataset.from_tensor_slices(
        (np.arange(5), {"p": np.ones([5, 2]), "q": (np.zeros([5]),)})
    ),
    "one tensor": lambda p: p.Dataset.from_tensors(np.arange(6).reshape(2, 3)),
    "pair": lambda p: p.Dataset.from_tensor_slices((np.arange(7), np.arange(7) * 0.5)),
    "range": lambda p: p.Dataset.range(p.count()),
    "range with a step": lambda p: p.Dataset.range(2, 12, p.choose([1, 3])),
    "sparse": lambda p: p.Dataset.from_tensor_slices(
        p.tf.SparseTensor([[0, 0], [1, 2], [3, 1]], [1.0, 2.0, 3.0], [4, 3])
    ),
    "strings": lambda p: p.Dataset.from_tensor_slices(["a b", "c", "d e f", ""]),
}

STEPS = {
    "batch": lambda p, d: d.batch(p.size(), drop_remainder=p.choose([False, True])),
    "bucket": lambda p, d: d.map(lambda *e: p.tf.fill([p.number(*e) % 5 + 1], 1.0)).apply(
        p.more.bucket_by_sequence_length(lambda t: p.tf.shape(t)[0], [2, 4], [2, 2, 1])
    ),
    "cache": lambda p, d: d.cache(),
    "choose": lambda p, d: p.more.choose_from_datasets(
        [d, d.take(1)], p.Dataset.range(5).map(lambda i: i % 2)
    ),
    "concatenate": lambda p, d: d.concatenate(d.take(2)),
    "copy to device": lambda p, d: d.apply(p.more.copy_to_device("/cpu:0")),
    "counter": lambda p, d: p.Dataset.zip((p.more.Counter(3, 2), d)),
    "dense to sparse": lambda p, d: d.map(lambda *e: p.tf.range(p.number(*e) % 4)).apply(
        p.more.dense_to_sparse_batch(p.size(), [6])
    ),
    "enumerate": lambda p, d: d.enumerate(),
    "enumerate_dataset": lambda p, d: d.apply(p.more.enumerate_dataset(start=5)),
    "filter": lambda p, d: d.filter(lambda *e: p.tf.not_equal(p.number(*e) % 3, 1)),
    "flat_map": lambda p, d: d.flat_map(lambda *e: p.Dataset.range(p.number(*e) % 4)),
    "group": lambda p, d: d.apply(
        p.more.group_by_window(
            lambda *e: p.number(*e) % 2, lambda key, window: window.batch(3), window_size=3
        )
    ),
    "ignore errors": lambda p, d: d.map(
        lambda *e: p.tf.check_numerics(1.0 / p.tf.cast(p.number(*e) % 3, p.tf.float32), "bad")
    ).apply(p.more.ignore_errors()),
    "interleave": lambda p, d: d.interleave(
        lambda *e: p.Dataset.from_tensors(p.number(*e)).repeat(p.number(*e) % 3 + 1),
        cycle_length=p.choose([1, 2, 3]),
        block_length=p.choose([1, 2]),
    ),
    "map": lambda p, d: d.map(lambda *e: (p.number(*e), p.first(*e))),
    "map and batch": lambda p, d: d.apply(
        p.more.map_and_batch(
            lambda *e: p.number(*e), p.size(), drop_remainder=p.choose([True, False])
        )
    ),
    "map in parallel": lambda p, d: d.map(lambda *e: p.number(*e) + 1, num_parallel_calls=2),
    "map to dict": lambda p, d: d.map(lambda *e: {"k": p.first(*e), "n": p.number(*e) * 2}),
    "options": lambda p, d: d.with_options(_deterministic(p)),
    "padded batch": lambda p, d: d.padded_batch(p.size(), d.output_shapes),
    "padded rows": lambda p, d: d.map(
        lambda *e: p.tf.fill([p.number(*e) % 4], p.number(*e))
    ).padded_batch(
        p.size(), [p.choose([None, -1, 4])], padding_values=p.tf.constant(9, p.tf.int64)
    ),
    "parallel interleave": lambda p, d: d.apply(
        p.more.parallel_interleave(
            lambda *e: p.Dataset.from_tensors(p.number(*e)).repeat(2), cycle_length=2, sloppy=False
        )
    ),
    "prefetch": lambda p, d: d.prefetch(p.choose([0, 1, 2])),
    "reduce": lambda p, d: p.Dataset.from_tensors(
        d.take(20).reduce(_zero(p), lambda state, *e: state + p.number(*e))
    ),
    "repeat": lambda p, d: d.repeat(p.choose([0, 1, 2, 3])),
    "sample": lambda p, d: p.more.sample_from_datasets([d, d.take(2)], [0.5, 0.5], seed=4),
    "scan": lambda p, d: d.apply(
        p.more.scan(_zero(p), lambda state, *e: (state + p.number(*e), state * 2))
    ),
    "shard": lambda p, d: d.shard(2, p.choose([0, 1])),
    "shuffle": lambda p, d: d.shuffle(
        p.choose([1, 3, 10]),
        seed=p.choose([1, 7]),
        reshuffle_each_iteration=p.choose([None, True, False]),
    ),
    "shuffle and repeat": lambda p, d: d.apply(p.more.shuffle_and_repeat(4, 2, seed=3)),
    "skip": lambda p, d: d.skip(p.choose([0, 1, 2, -1])),
    "take": lambda p, d: d.take(p.choose([0, 1, 3, -1])),
    "take while": lambda p, d: d.apply(p.more.take_while(lambda *e: p.number(*e) < 20)),
    "unbatch": lambda p, d: d.apply(p.more.unbatch()),
    "unique": lambda p, d: d.map(lambda *e: p.number(*e) % 3).apply(p.more.unique()),
    "window": lambda p, d: d.window(
        p.choose([2, 3]),
        shift=p.choose([None, 1, 2]),
        stride=p.choose([1, 2]),
        drop_remainder=p.choose([True, False]),
    ).flat_map(lambda *windows: p.parts(windows)[0].batch(3)),
    "zip": lambda p, d: p.Dataset.zip((d, p.Dataset.range(4))),
}


def _zero(p: Any) -> Any:
    return p.tf.constant(0, p.tf.int64)


def _generated(p: Any, count: int) -> Any:
    """Pairs of a number and a row that is longer or shorter."""
    scalar, row = p.tf.TensorShape([]), p.tf.TensorShape([None])
    return p.Dataset.from_generator(
        lambda: ((i, [float(i)] * (i % 3)) for i in range(count)),
        (p.tf.int64, p.tf.float32),
        (scalar, row),
    )


def _deterministic(p: Any) -> Any:
    options = p.tf.data.Options()
    options.experimental_deterministic = True
    return options
