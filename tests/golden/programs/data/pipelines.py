"""Input pipelines: their graphs, their elements and the order of these."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program, raised

_STEPS = 6


def _runs(tf, dataset, steps=_STEPS):
    """Return a run for each of the first elements, and two starts."""
    iterator = dataset.make_initializable_iterator()
    element = iterator.get_next()
    runs = [Run({"element": element}, setup=[iterator.initializer])]
    runs += [Run({"element": element}) for _ in range(steps - 1)]
    return [*runs, Run({"element": element}, setup=[iterator.initializer])]


def _count(tf, stop):
    return tf.data.Dataset.range(stop)


@program
def range_to_the_end(tf):
    iterator = _count(tf, 2).make_initializable_iterator()
    element = iterator.get_next()
    return [
        Run({"x": element}, fails=True),
        Run({"x": element}, setup=[iterator.initializer]),
        Run({"x": element}),
        Run({"x": element}, fails=True),
        Run({"x": element}, fails=True),
        Run({"x": element}, setup=[iterator.initializer]),
    ]


@program
def one_shot(tf):
    tf.set_random_seed(5)
    dataset = _count(tf, 10).shuffle(4).batch(3, drop_remainder=True)
    element = dataset.make_one_shot_iterator().get_next("next")
    return [Run({"x": element}) for _ in range(3)] + [Run({"x": element}, fails=True)]


@program
def tensors(tf):
    element = {"a": tf.constant([1.0, 2.0]), "b": ("text", np.array([[1, 2]], np.int64))}
    return _runs(tf, tf.data.Dataset.from_tensors(element).repeat(), 2)


@program
def tensor_slices(tf):
    element = (np.arange(6).reshape(3, 2), {"s": ["x", "y", "z"]})
    return _runs(tf, tf.data.Dataset.from_tensor_slices(element), 3)


@program
def take_skip_repeat(tf):
    return _runs(tf, _count(tf, 10).skip(2).take(3).repeat(2))


@program
def negative_counts(tf):
    return _runs(tf, _count(tf, 3).take(-1).repeat(-1), 5)


@program
def shards(tf):
    return _runs(tf, _count(tf, 20).shard(3, 1), 5)


@program
def zipped(tf):
    both = tf.data.Dataset.zip((_count(tf, 5), {"n": tf.data.Dataset.range(9, 0, -2)}))
    return _runs(tf, both, 5)


@program
def concatenated(tf):
    first = tf.data.Dataset.from_tensor_slices([[1], [2]])
    second = tf.data.Dataset.from_tensors([3, 4])
    return _runs(tf, first.concatenate(second), 3)


@program
def batches(tf):
    return _runs(tf, _count(tf, 7).batch(3), 3)


@program
def full_batches(tf):
    return _runs(tf, _count(tf, 7).batch(3, drop_remainder=True), 2)


def _steps_of(tf, dataset, steps):
    iterator = dataset.make_initializable_iterator()
    element = iterator.get_next()

    def call(session):
        session.run(iterator.initializer)
        return {str(i): raised(session.run, element) for i in range(steps)}

    return Run(call=call)


@program
def batches_of_lengths_that_differ(tf):
    lengths = _count(tf, 4).map(lambda x: tf.fill([x + 1], x))
    return [_steps_of(tf, dataset.batch(2), 2) for dataset in (lengths, lengths.shuffle(1))]


@program
def batches_of_shapes_that_differ(tf):
    def shaped(x):
        return tf.cond(x > 0, lambda: tf.zeros([2, 3]), lambda: tf.zeros([3, 2]))

    dataset = _count(tf, 2).map(shaped, num_parallel_calls=2)
    return _runs(tf, dataset.batch(2), 1)


@program
def padded_batches(tf):
    dataset = _count(tf, 5).map(lambda x: (tf.fill([x], x), tf.fill([2], "s")))
    return _runs(tf, dataset.padded_batch(2, ([None], [3]), (np.int64(-1), "none")), 3)


@program
def padded_batches_of_fixed_size(tf):
    dataset = _count(tf, 5).map(lambda x: tf.fill([x], x))
    return _runs(tf, dataset.padded_batch(2, [4], drop_remainder=True), 2)


@program
def shuffled(tf):
    return _runs(tf, _count(tf, 10).shuffle(4, seed=3), 10)


@program
def shuffled_by_the_graphs_seed(tf):
    tf.set_random_seed(11)
    return _runs(tf, _count(tf, 10).shuffle(20), 10)


@program
def shuffled_and_repeated(tf):
    return _runs(tf, _count(tf, 6).shuffle(4, seed=3).repeat(3), 18)


@program
def shuffled_anew_each_epoch(tf):
    dataset = _count(tf, 6).shuffle(4, seed=3).map(lambda x: x).repeat(3)
    return _runs(tf, dataset, 18)


@program
def shuffled_alike_each_epoch(tf):
    dataset = _count(tf, 6).shuffle(4, seed=3, reshuffle_each_iteration=False).repeat(2)
    return _runs(tf, dataset, 12)


@program
def shuffled_twice(tf):
    return _runs(tf, _count(tf, 6).shuffle(3, seed=3).shuffle(9, seed=4).repeat(2), 12)


@program
def mapped(tf):
    offset = tf.constant(10, tf.int64)
    return _runs(tf, _count(tf, 5).map(lambda x: {"x": x + offset, "y": (x, x * x)}), 5)


@program
def mapped_in_parallel(tf):
    return _runs(tf, _count(tf, 8).map(lambda x: x * 2, num_parallel_calls=3).prefetch(2), 8)


@program
def filtered(tf):
    return _runs(tf, _count(tf, 9).filter(lambda x: tf.equal(x % 2, 0)), 5)


@program
def flat_mapped(tf):
    return _runs(tf, _count(tf, 4).flat_map(lambda x: tf.data.Dataset.range(x)), 6)


@program
def interleaved(tf):
    dataset = _count(tf, 5).interleave(
        lambda x: tf.data.Dataset.range(10 * x, 10 * x + 3), cycle_length=2, block_length=2
    )
    return _runs(tf, dataset, 15)


@program
def interleaved_in_parallel(tf):
    dataset = _count(tf, 4).interleave(
        lambda x: tf.data.Dataset.range(10 * x, 10 * x + 3), 2, 1, num_parallel_calls=2
    )
    return _runs(tf, dataset, 12)


@program
def windows(tf):
    dataset = _count(tf, 8).window(3, shift=2, stride=2)
    return _runs(tf, dataset.flat_map(lambda window: window.batch(3)), 4)


@program
def enumerated(tf):
    return _runs(tf, tf.data.Dataset.from_tensor_slices(["a", "b"]).enumerate(5), 2)


@program
def cached(tf):
    return _runs(tf, _count(tf, 3).cache().repeat(2), 6)


@program
def reduced(tf):
    total = _count(tf, 5).reduce(np.int64(3), lambda state, x: state + x)
    both = _count(tf, 5).reduce((0.0, np.int64(1)), lambda s, x: (s[0] + 1.0, s[1] * (x + 1)))
    return [Run({"total": total, "both": both})]


@program
def optional_elements(tf):
    iterator = _count(tf, 1).make_initializable_iterator()
    element = tf.data.experimental.get_next_as_optional(iterator)
    none = tf.data.experimental.Optional.none_from_structure(tf.TensorSpec([], tf.float32))
    some = tf.data.experimental.Optional.from_value((1, "x"))
    return [
        Run({"has": element.has_value()}, setup=[iterator.initializer]),
        Run({"has": element.has_value()}),
        Run({"none": none.has_value(), "some": some.get_value(), "has": some.has_value()}),
        Run({"value": none.get_value()}, fails=True),
    ]


@program
def reinitializable(tf):
    iterator = tf.data.Iterator.from_structure(tf.int64, tf.TensorShape([]))
    element = iterator.get_next()
    first = iterator.make_initializer(_count(tf, 3))
    second = iterator.make_initializer(_count(tf, 9).skip(5), name="second")
    facts = {
        "type": raised(iterator.make_initializer, tf.data.Dataset.from_tensors(1.0)),
        "shape": raised(iterator.make_initializer, _count(tf, 3).batch(2)),
        "structure": raised(iterator.make_initializer, tf.data.Dataset.from_tensors((1, 2))),
    }
    return [
        Run({"x": element}, setup=[first], facts=facts),
        Run({"x": element}),
        Run({"x": element}, setup=[second]),
    ]


@program
def misuse(tf):
    dataset = _count(tf, 3)
    facts = {
        "zip": raised(tf.data.Dataset.zip, [dataset, dataset]),
        "range": raised(tf.data.Dataset.range),
        "concatenate": raised(dataset.concatenate, tf.data.Dataset.from_tensors("x")),
        "filter": raised(dataset.filter, lambda x: x),
        "padded": raised(dataset.batch(2).padded_batch, 2, [1, 2]),
        "generator": raised(tf.data.Dataset.from_generator, 3, tf.int32),
        "repr": repr(dataset.batch(2)),
    }
    return [Run({}, facts=facts)]


@program
def bad_arguments(tf):
    def start(dataset):
        return dataset.make_initializable_iterator().initializer

    zero = tf.placeholder_with_default(tf.constant(0, tf.int64), [])
    return [
        Run({"x": start(_count(tf, 3).batch(zero))}, fails=True),
        Run({"x": start(_count(tf, 3).shuffle(zero))}, fails=True),
        Run({"x": start(_count(tf, 3).shard(zero, zero))}, fails=True),
        Run({"x": start(_count(tf, 3).window(zero))}, fails=True),
    ]
