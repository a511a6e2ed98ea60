"""Pipelines whose iterators are saved; they run under TensorFlow 1.15.5 and under Stillflow."""

from __future__ import annotations

import importlib


def pipelines(tf):
    """Return functions that make datasets, by name.

    Numbers in files come from `tests/golden/files`.
    """
    Dataset, experimental = tf.data.Dataset, tf.data.experimental
    words, records = "tests/golden/files/words.txt", "tests/golden/files/numbers.tfrecord"
    table = "tests/golden/files/table.csv"

    def ops(theirs, ours=None):
        """Return a module outside of the public API."""
        ours = f"stillflow.data.{ours or theirs}"
        theirs = f"tensorflow.python.data.experimental.ops.{theirs}"
        return importlib.import_module(ours if tf.__name__ == "stillflow" else theirs)

    def numbers():
        return Dataset.range(20)

    return {
        "range": numbers,
        "slices": lambda: Dataset.from_tensor_slices(["a", "b", "c", "d", "e"]),
        "take_skip": lambda: numbers().skip(3).take(6),
        "repeat": lambda: Dataset.range(4).repeat(3),
        "repeat_for_ever": lambda: Dataset.range(4).repeat(),
        "shuffle": lambda: numbers().shuffle(6, seed=4).repeat(2),
        "shuffle_once": lambda: numbers().shuffle(6, seed=4, reshuffle_each_iteration=False),
        "shuffle_and_repeat": lambda: numbers().apply(
            experimental.shuffle_and_repeat(7, 2, seed=3)
        ),
        "cache": lambda: Dataset.range(4).cache().repeat(3),
        "batch": lambda: numbers().batch(3),
        "padded": lambda: numbers().map(lambda x: tf.fill([x % 3], x)).padded_batch(2, [None]),
        "map_filter": lambda: numbers().map(lambda x: x * x).filter(lambda x: x % 3 > 0),
        "parallel_map": lambda: numbers().map(lambda x: -x, num_parallel_calls=2),
        "prefetch": lambda: numbers().prefetch(3),
        "flat_map": lambda: numbers().flat_map(lambda x: Dataset.range(x % 4)),
        "interleave": lambda: numbers().interleave(
            lambda x: Dataset.range(x, x + 3), cycle_length=3, block_length=2
        ),
        "zip": lambda: Dataset.zip((numbers(), numbers().skip(2))),
        "concatenate": lambda: Dataset.range(3).concatenate(Dataset.range(9)),
        "shard": lambda: numbers().shard(3, 1),
        "unbatch": lambda: numbers().batch(3).apply(experimental.unbatch()),
        "unique": lambda: numbers().map(lambda x: x * x % 11).apply(experimental.unique()),
        "scan": lambda: numbers().apply(
            experimental.scan(tf.constant(0, tf.int64), lambda s, x: (s + x, s))
        ),
        "take_while": lambda: numbers().apply(experimental.take_while(lambda x: x < 9)),
        "groups": lambda: numbers().apply(
            experimental.group_by_window(lambda x: x % 3, lambda _, w: w.batch(2), 4)
        ),
        "samples": lambda: experimental.sample_from_datasets([numbers(), numbers()], seed=2),
        "random": lambda: experimental.RandomDataset(5),
        "slept": lambda: numbers().apply(ops("sleep", "sleeping").sleep(1)),
        "fastest": lambda: ops("optimization")._ChooseFastestDataset([numbers(), numbers()]),
        "fastest_function": lambda: ops("optimization")._ChooseFastestBranchDataset(
            numbers(), [lambda d: d.map(lambda x: x * 2), lambda d: d.map(lambda x: x + x)]
        ),
        "lines": lambda: tf.data.TextLineDataset(words),
        "records": lambda: tf.data.TFRecordDataset(records),
        "fixed": lambda: tf.data.FixedLengthRecordDataset(words, 3, 2),
        "table": lambda: experimental.CsvDataset(table, [tf.constant(["?"])], select_cols=[0]),
    }


def walk(tf, make, taken, state=None, rest=10):
    """Walk a pipeline, from where `state` is if that is given.

    Returns:
      The elements: first `taken` of them, then all others up to `rest`; and the serialized state
      between both.
    """
    with tf.Graph().as_default():
        options = tf.data.Options()
        options.experimental_optimization.apply_default_optimizations = False
        iterator = tf.data.make_initializable_iterator(make().with_options(options))
        element = iterator.get_next()
        resource = iterator._iterator_resource
        saved = tf.io.serialize_tensor(tf.raw_ops.SerializeIterator(resource_handle=resource))
        given = tf.placeholder(tf.string, [])
        restore = tf.raw_ops.DeserializeIterator(
            resource_handle=resource, serialized=tf.io.parse_tensor(given, tf.variant)
        )
        with tf.Session() as session:
            session.run(iterator.initializer)
            if state is not None:
                session.run(restore, {given: state})
            first = _take(tf, session, element, taken)
            between = session.run(saved)
            return first, _take(tf, session, element, rest), between


def _take(tf, session, element, count):
    found = []
    try:
        for _ in range(count):
            found.append(_plain(session.run(element)))
    except tf.errors.OutOfRangeError:
        pass
    return found


def _plain(value):
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, bytes):
        return value.decode()
    return [_plain(one) for one in value] if isinstance(value, list) else value
