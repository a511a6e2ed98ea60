"""Bug reports of people who use TensorFlow 1.x, about input pipelines, in programs of ours."""

import contextlib
import re
import tempfile
import warnings

import numpy as np
from tests.golden.registry import Run, program, raised


def drained(tf, dataset, fails=False):
    """All elements of a dataset, each as a line of text: their shapes differ."""
    iterator = dataset.make_initializable_iterator()
    element = iterator.get_next()

    def drain(session):
        session.run(iterator.initializer)
        found = []
        with contextlib.suppress(tf.errors.OutOfRangeError):
            while True:
                parts = session.run(tf.contrib.framework.nest.flatten(element))
                found.append(" ".join(repr(np.asarray(part).tolist()) for part in parts))
        return {"elements": found}

    return Run(call=drain, fails=fails)


@program
def rows_of_a_py_func_are_padded_although_their_rank_is_unknown(tf):
    def numbers(line):
        return tf.py_func(lambda text: np.array(text.split(), np.int32), [line], tf.int32)

    lines = tf.data.Dataset.from_tensor_slices(["1 2 3", "4 5"])
    return drained(tf, lines.map(numbers).padded_batch(2, [None]))


@program
def nested_rows_are_padded(tf):
    rows = tf.data.Dataset.from_generator(lambda: iter([([[1]], [2])]), (tf.float32, tf.float32))
    return drained(tf, rows.padded_batch(1, ([None, None], [None])))


@program
def a_generator_of_another_type(tf):
    return drained(tf, tf.data.Dataset.from_generator(lambda: iter([1, "a"]), tf.int32), True)


@program
def a_generator_of_another_shape(tf):
    rows = tf.data.Dataset.from_generator(lambda: iter([[1, 2], [1]]), tf.int32, [2])
    return drained(tf, rows, True)


@program
def a_one_shot_iterator_captures_no_variable(tf):
    with tf.Graph().as_default():
        v = tf.Variable(1)
        added = tf.data.Dataset.range(3).map(lambda x: x + tf.cast(v, tf.int64))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # references switch optimizations of pipelines off
            return Run(facts=raised(added.make_one_shot_iterator))


@program
def an_iterator_is_not_initialized(tf):
    iterator = tf.data.Dataset.range(3).make_initializable_iterator()
    return Run({"element": iterator.get_next()}, fails=True)


@program
def shuffled_elements_repeat_in_the_same_order_or_in_another(tf):
    once = tf.data.Dataset.range(4).shuffle(4, seed=7, reshuffle_each_iteration=False)
    again = tf.data.Dataset.range(4).shuffle(4, seed=7)
    return [drained(tf, once.repeat(2)), drained(tf, again.repeat(2))]


@program
def elements_of_different_shapes_make_no_batch(tf):
    return drained(tf, tf.data.Dataset.range(1, 4).map(lambda i: tf.ones([i])).batch(2), True)


@program
def blocks_are_interleaved(tf):
    def three(x):
        return tf.data.Dataset.from_tensors(x).repeat(3)

    numbers = tf.data.Dataset.range(1, 5)
    return drained(tf, numbers.interleave(three, cycle_length=2, block_length=2))


@program
def iterators_keep_their_places_between_handles(tf):
    first = tf.data.Dataset.range(5).make_one_shot_iterator()
    second = tf.data.Dataset.range(10, 15).make_one_shot_iterator()
    handle = tf.placeholder(tf.string, [])
    element = tf.data.Iterator.from_string_handle(
        handle, first.output_types, first.output_shapes
    ).get_next()
    handles = [first.string_handle(), second.string_handle()]

    def turns(session):
        one, two = session.run(handles)
        return {"elements": [session.run(element, {handle: h}) for h in (one, two, one, two, one)]}

    return Run(call=turns)


@program
def a_queue_whose_files_are_missing_is_closed(tf):
    names = tf.train.string_input_producer([tempfile.gettempdir() + "/none"], num_epochs=1)
    value = tf.WholeFileReader().read(names)[1]
    batch = tf.train.shuffle_batch([value], 2, 10, 1, shapes=[[]])
    start = tf.local_variables_initializer()

    def train(session):
        session.run(start)
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        try:
            found = raised(session.run, batch)
            # Queues are numbered as they are made in a process.
            return dict(found, message=re.sub(r"(?<='_)\d+(?=_)", "N", found["message"]))
        finally:
            coordinator.request_stop()
            with contextlib.suppress(tf.errors.NotFoundError):
                coordinator.join(threads)

    return Run(call=train)


@program
def an_element_that_fails_is_ignored_and_the_others_keep_their_order(tf):
    numbers = tf.data.Dataset.from_tensor_slices([1.0, 2.0, 0.0, 4.0])
    inverted = numbers.map(lambda x: tf.check_numerics(1.0 / x, "bad"), num_parallel_calls=2)
    return drained(tf, inverted.apply(tf.data.experimental.ignore_errors()))


@program(fails=True)
def zip_takes_no_list_of_datasets(tf):
    tf.data.Dataset.zip([tf.data.Dataset.range(1), tf.data.Dataset.range(2)])
