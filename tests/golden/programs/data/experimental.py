"""Transformations of tf.data.experimental and tf.contrib.data: graphs and elements."""

from __future__ import annotations

import numpy as np
from tests.golden.programs.data.pipelines import _count, _runs
from tests.golden.registry import Run, internal_module, program, raised

RECORDS = "tests/golden/files/numbers.tfrecord"  # five examples: number, text
COLUMNS = "tests/golden/files/table.csv"


def _apply(tf, name, *args, **kwargs):
    return getattr(tf.data.experimental, name)(*args, **kwargs)


@program
def keys_reduced(tf):
    def key_of(x):
        return x % 3

    def begin(key):
        return tf.constant(0, tf.int64), key

    def add(state, x):
        return state[0] + x, state[1]

    def end(total, key):
        return {"total": total, "key": key}

    reducer = tf.data.experimental.Reducer(begin, add, end)
    return _runs(tf, _count(tf, 10).apply(_apply(tf, "group_by_reducer", key_of, reducer)), 3)


@program
def reducers_refused(tf):
    def text(x):
        return "text"

    def zero(x):
        return 0.0

    def last(state, x):
        return x

    def same(x):
        return x

    reducer = tf.data.experimental.Reducer(zero, last, same)
    by = tf.data.experimental.group_by_reducer
    return Run(
        facts={
            "key": raised(lambda: _count(tf, 3).apply(by(text, reducer))),
            "state": raised(lambda: _count(tf, 3).apply(by(same, reducer))),
        }
    )


@program
def ragged_rows_as_sparse(tf):
    rows = _count(tf, 7).map(lambda x: tf.fill([x % 4], x))
    return _runs(tf, rows.apply(_apply(tf, "dense_to_sparse_batch", 3, [5])), 3)


@program
def rows_of_any_length_as_sparse(tf):
    rows = _count(tf, 4).map(lambda x: tf.fill([x, 2], tf.as_string(x)))
    return _runs(tf, rows.apply(_apply(tf, "dense_to_sparse_batch", 2, [None, 2])), 2)


@program
def rows_longer_than_allowed(tf):
    rows = _count(tf, 4).map(lambda x: tf.fill([x], x))
    dataset = rows.apply(_apply(tf, "dense_to_sparse_batch", 4, [2]))
    iterator = dataset.make_initializable_iterator()
    return Run({"x": iterator.get_next()}, setup=[iterator.initializer], fails=True)


@program
def sampled_evenly(tf):
    datasets = [_count(tf, 5), _count(tf, 5).map(lambda x: -x)]
    return _runs(tf, _apply(tf, "sample_from_datasets", datasets, seed=3), 10)


@program
def sampled_by_weights(tf):
    datasets = [tf.data.Dataset.from_tensors(s).repeat() for s in ("a", "b", "c")]
    return _runs(tf, _apply(tf, "sample_from_datasets", datasets, [0.2, 0.7, 0.1], seed=8), 12)


@program
def sampled_by_a_dataset_of_weights(tf):
    weights = tf.data.Dataset.from_tensor_slices([[0.9, 0.1], [0.1, 0.9]]).repeat()

    def far(x):
        return x + 100

    datasets = [_count(tf, 9), _count(tf, 9).map(far)]
    return _runs(tf, _apply(tf, "sample_from_datasets", datasets, weights, seed=8), 10)


@program
def chosen(tf):
    datasets = [tf.data.Dataset.from_tensors([s]).repeat(2) for s in ("a", "b", "c")]
    choice = tf.data.Dataset.from_tensor_slices(np.int64([2, 0, 0, 1, 0, 2, 1]))
    return _runs(tf, _apply(tf, "choose_from_datasets", datasets, choice))


@program
def choices_refused(tf):
    choose, sample = (
        getattr(tf.data.experimental, n + "_from_datasets") for n in ("choose", "sample")
    )
    mixed = [_count(tf, 2), tf.data.Dataset.from_tensors("a")]
    return Run(
        facts={
            "choice": raised(choose, mixed[:1], tf.data.Dataset.from_tensors([1])),
            "types": raised(choose, mixed, _count(tf, 2)),
            "count": raised(sample, mixed[:1], [0.5, 0.5]),
            "weights": raised(sample, mixed[:1], [1]),
        }
    )


@program
def resampled(tf):
    classes = tf.data.Dataset.from_tensor_slices(np.arange(40) % 5 // 4).repeat()
    dataset = classes.apply(
        _apply(
            tf, "rejection_resample", lambda c: tf.cast(c, tf.int32), [0.5, 0.5],
            initial_dist=[0.8, 0.2], seed=7,
        )
    )  # fmt: skip
    return _runs(tf, dataset, 12)


@program
def resampled_by_what_was_counted(tf):
    classes = tf.data.Dataset.from_tensor_slices(np.arange(40) % 5 // 4).repeat()
    dataset = classes.apply(
        _apply(tf, "rejection_resample", lambda c: tf.cast(c, tf.int32), [0.4, 0.6], seed=7)
    )
    return _runs(tf, dataset, 12)


@program
def random_numbers(tf):
    return _runs(tf, tf.data.experimental.RandomDataset(seed=4).take(4), 4)


@program
def random_numbers_of_map_functions(tf):
    """Two functions with operations of the same name and seed, walked twice."""
    draw = lambda x: tf.random_uniform([], seed=11) + tf.cast(x, tf.float32)
    both = tf.data.Dataset.zip((_count(tf, 6).map(draw), _count(tf, 6).map(draw)))
    return _runs(tf, both, 4)


@program
def random_numbers_of_nested_datasets(tf):
    nested = lambda x: _count(tf, 2).map(lambda y: tf.random_normal([], seed=2))
    return _runs(tf, _count(tf, 3).flat_map(nested))


@program
def shuffles_in_a_cycle(tf):
    """Return the order of datasets that follow each other at one place of an interleaving."""

    def inner(x):
        def number(y):
            return 10 * x + y

        return _count(tf, 4).map(number).shuffle(4, seed=6)

    return _runs(tf, _count(tf, 4).interleave(inner, cycle_length=2, block_length=2), 16)


@program
def sliding_windows(tf):
    slide = tf.contrib.data.sliding_window_batch
    dataset = _count(tf, 9).apply(slide(3, window_shift=2, window_stride=2))
    return _runs(tf, dataset, 3)


@program
def fixed_batches(tf):
    plain = _count(tf, 7).apply(tf.contrib.data.batch_and_drop_remainder(3))
    rows = _count(tf, 7).map(lambda x: tf.fill([x], x))
    padded = rows.apply(tf.contrib.data.padded_batch_and_drop_remainder(3, [None]))
    return _runs(tf, tf.data.Dataset.zip((plain, padded)), 2)


@program
def asserted_shapes(tf):
    unknown = _count(tf, 3).map(lambda x: tf.placeholder_with_default(tf.fill([2], x), [None]))
    dataset = unknown.apply(tf.contrib.data.assert_element_shape(tf.TensorShape([2])))
    return _runs(tf, dataset, 3)


@program
def table(tf):
    kinds = [tf.constant(["?"]), tf.float32, tf.constant([7], tf.int64)]
    dataset = tf.data.experimental.CsvDataset(COLUMNS, kinds, header=True, na_value="NA")
    return _runs(tf, dataset, 4)


@program
def table_of_some_columns(tf):
    dataset = tf.data.experimental.CsvDataset(
        [COLUMNS], [tf.constant(["-"]), tf.constant([-1.0], tf.float64)], header=True,
        na_value="NA", select_cols=[0, 2],
    )  # fmt: skip
    return _runs(tf, dataset, 4)


@program
def table_of_wrong_types(tf):
    dataset = tf.data.experimental.CsvDataset(COLUMNS, [tf.string, tf.int32, tf.int64], header=True)
    iterator = dataset.make_initializable_iterator()
    element = iterator.get_next()
    start = [Run({"x": element}, setup=[iterator.initializer], fails=True)]
    return start + [Run({"x": element}, fails=True) for _ in range(2)]


@program
def table_by_names(tf):
    dataset = tf.data.experimental.make_csv_dataset(
        COLUMNS, 2, label_name="size", num_epochs=1, shuffle=False
    )
    return _runs(tf, dataset, 2)


@program
def tables_refused(tf):
    make = tf.data.experimental.make_csv_dataset
    return Run(
        facts={
            "none": raised(make, "tests/golden/files/no*.csv", 1),
            "label": raised(make, COLUMNS, 1, label_name="colour"),
            "column": raised(make, COLUMNS, 1, select_columns=["colour"]),
            "number": raised(make, COLUMNS, 1, select_columns=[5]),
            "twice": raised(make, COLUMNS, 1, select_columns=[0, "name"]),
        }
    )


def _features(tf):
    return {
        "number": tf.FixedLenFeature([], tf.int64, -1),
        "text": tf.VarLenFeature(tf.string),
    }


@program
def examples_parsed(tf):
    records = tf.data.TFRecordDataset(RECORDS).batch(2)
    return _runs(tf, records.apply(_apply(tf, "parse_example_dataset", _features(tf), 2)), 3)


@program
def examples_of_files(tf):
    dataset = _apply(
        tf, "make_batched_features_dataset", RECORDS, 2, _features(tf), label_key="number",
        num_epochs=1, shuffle=False,
    )  # fmt: skip
    return _runs(tf, dataset, 3)


@program
def no_examples(tf):
    batches = tf.data.Dataset.from_tensor_slices([b"not an example"]).batch(1)
    dataset = batches.apply(_apply(tf, "parse_example_dataset", _features(tf)))
    iterator = dataset.make_initializable_iterator()
    return Run(
        {"x": iterator.get_next()}, setup=[iterator.initializer], fails=True,
        facts={"vectors": raised(
            lambda: _count(tf, 2).apply(_apply(tf, "parse_example_dataset", _features(tf)))
        )},
    )  # fmt: skip


def _sparse(tf, x):
    return tf.SparseTensor([[0, x % 3], [1, 2]], tf.stack([x, -x]), [2, 3])


@program
def sparse_elements(tf):
    return _runs(tf, _count(tf, 4).map(lambda x: (_sparse(tf, x), x)), 3)


@program
def sparse_batches(tf):
    return _runs(tf, _count(tf, 4).map(lambda x: _sparse(tf, x)).batch(2).batch(2), 1)


@program
def sparse_slices(tf):
    rows = tf.SparseTensor([[0, 1], [2, 0], [2, 2]], [1.0, 2.0, 3.0], [3, 4])
    return _runs(tf, tf.data.Dataset.from_tensor_slices({"s": rows, "i": [1, 2, 3]}), 3)


@program
def sparse_unbatched(tf):
    batches = _count(tf, 4).map(lambda x: _sparse(tf, x)).batch(2)
    return _runs(tf, batches.apply(_apply(tf, "unbatch")), 4)


@program
def sparse_serialized(tf):
    value = tf.SparseTensor([[0, 1], [2, 0]], ["a", "b"], [3, 2])
    many = tf.serialize_many_sparse(value)
    return Run({
        "one": tf.serialize_sparse(value), "many": many,
        "back": tf.deserialize_many_sparse(many, tf.string, rank=2),
    })  # fmt: skip


@program
def datasets_as_slices(tf):
    nested = tf.data.Dataset.from_tensor_slices([_count(tf, 2), _count(tf, 3)])
    return _runs(tf, nested.flat_map(lambda x: x), 5)


@program
def failing_batches(tf):
    checked = lambda x: tf.check_numerics(1.0 / tf.cast(x - 2, tf.float32), "no number")
    dataset = _count(tf, 6).apply(_apply(tf, "map_and_batch", checked, 2, num_parallel_calls=1))
    iterator = dataset.make_initializable_iterator()
    element = iterator.get_next()
    return [
        Run({"x": element}, setup=[iterator.initializer]),
        Run({"x": element}, fails=True),
        Run({"x": element}),
        Run({"x": element}, fails=True),
    ]


@program
def copied_to_a_device(tf):
    pairs = _count(tf, 3).map(lambda x: (x, {"text": tf.as_string(x)}))
    return _runs(tf, pairs.apply(_apply(tf, "copy_to_device", "/cpu:0")), 3)


@program
def prefetched_on_a_device(tf):
    sparse = _count(tf, 3).map(lambda x: tf.SparseTensor([[x]], [x], [5]))
    dataset = sparse.apply(tf.contrib.data.prefetch_to_device("/cpu:0", 2))
    iterator = dataset.make_initializable_iterator()
    return Run({"x": iterator.get_next()}, setup=[iterator.initializer], steps=3)


def _threadpool(tf):
    return internal_module(tf, "data.threadpool", "contrib.data.python.ops.threadpool")


@program
def pools_of_threads(tf):
    threadpool = _threadpool(tf)
    pool = threadpool.PrivateThreadPool(2, display_name="two", max_intra_op_parallelism=3)
    dataset = _count(tf, 4).map(lambda x: x * x, num_parallel_calls=4)
    dataset = threadpool.override_threadpool(dataset, pool)
    iterator = tf.compat.v1.data.make_initializable_iterator(dataset)
    return Run({"x": iterator.get_next()}, setup=[iterator.initializer], steps=4)


@program
def pools_without_threads(tf):
    threadpool = _threadpool(tf)
    pool = threadpool.PrivateThreadPool(0, display_name="none")
    dataset = threadpool.override_threadpool(_count(tf, 4), pool)
    iterator = tf.compat.v1.data.make_initializable_iterator(dataset)
    options = tf.data.Options()
    options.experimental_threading.private_threadpool_size = -1
    other = _count(tf, 4).with_options(options).make_initializable_iterator()
    return [
        Run(setup=[iterator.initializer], fails=True), Run(setup=[other.initializer], fails=True)
    ]


@program
def arrays_as_elements(tf):
    def counted(i):
        i = tf.cast(i, tf.int32)
        array = tf.TensorArray(tf.int32, element_shape=(), size=i)
        return array.unstack(tf.range(i))

    def gathered(array, x):
        return array.write(array.size(), x), array.stack()

    start = tf.TensorArray(tf.int64, size=0, element_shape=[], dynamic_size=True).write(0, -1)
    outside = tf.TensorArray(tf.int64, size=1, element_shape=[]).write(0, 7)
    arrays = _count(tf, 4).map(counted).map(lambda array: array.identity())
    facts = {
        "spec": str(arrays.element_spec._serialize()),
        "classes": arrays.output_classes is tf.TensorArray,
        "shapes": str(arrays.output_shapes),
        "types": str(arrays.output_types),
    }
    one = tf.data.Dataset.from_tensors(outside).map(lambda array: array.stack())
    scanned = _count(tf, 4).apply(_apply(tf, "scan", start, gathered))
    runs = _runs(tf, arrays.map(lambda array: array.stack()), 4)
    runs[0].facts = facts
    return [*runs, *_runs(tf, scanned, 4), *_runs(tf, one, 1)]
