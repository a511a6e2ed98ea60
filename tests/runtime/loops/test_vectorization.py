"""Loops whose turns do not need each other give, all at once, what they give turn by turn."""

from __future__ import annotations

import numpy as np
import pytest
from tests.running import run

import stillflow as tf
from stillflow.runtime.devices.devices import gpu_count
from stillflow.runtime.loops import vectorization

pytestmark = pytest.mark.usefixtures("graph")  # each test builds one of its own

ROWS = 40
RNG = np.random.RandomState(0)
DATA = RNG.rand(ROWS, 3, 4).astype(np.float32) + 0.5
WEIGHT = RNG.rand(4, 5).astype(np.float32)


@pytest.fixture
def at_once(monkeypatch):
    """Return a list that counts the loops whose iterations ran all at once."""
    done = []
    put = vectorization.Batch._put
    monkeypatch.setattr(
        vectorization.Batch, "_put", lambda self, known: (done.append(self), put(self, known))[1]
    )
    return done


BODIES = {
    "elements": lambda x: tf.tanh(x * 2.0) + tf.exp(-x) / (1.0 + x),
    "broadcast": lambda x: x * x[0] - x[:, :1] + tf.reduce_sum(x, 0),
    "sums": lambda x: tf.sqrt(tf.reduce_sum(tf.square(x), 1)) + tf.reduce_mean(x),
    "product": lambda x: tf.nn.relu(tf.matmul(x, WEIGHT) - 1.0),
    "shapes": lambda x: tf.reshape(tf.transpose(tf.concat([x, x[1:] * 2.0], 0)), [-1, 2]),
    "choice": lambda x: tf.where(x > 1.0, x * x, tf.zeros_like(x)),
    "types": lambda x: tf.cast(tf.cast(x * 10.0, tf.int32), tf.float32) * x,
    "softmax": lambda x: tf.log(tf.nn.softmax(x)) + tf.expand_dims(tf.reduce_sum(x, 1), 1),
}


@pytest.mark.parametrize("name", BODIES)
def test_values_and_gradients_are_those_of_the_turns(name, at_once):
    x = tf.placeholder(tf.float32, [None, 3, 4])
    mapped = tf.map_fn(BODIES[name], x)
    unrolled = tf.stack([BODIES[name](x[i]) for i in range(ROWS)])
    slopes = [tf.gradients(tf.reduce_sum(tf.sin(y)), x)[0] for y in (mapped, unrolled)]
    values = run([mapped, unrolled, *slopes], {x: DATA})
    np.testing.assert_allclose(values[0], values[1], rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(values[2], values[3], rtol=1e-4, atol=1e-5)
    assert gpu_count() or len(at_once) == 2


def test_structures_types_and_counters(at_once):
    numbers = np.arange(ROWS)

    def body(pair):
        x, number = pair
        return number * 2, x + tf.cast(number, tf.float32), number > 3

    x = tf.placeholder(tf.float32, [None, 3, 4])
    doubled, moved, large = tf.map_fn(
        body, (x, tf.constant(numbers)), dtype=(tf.int64, tf.float32, tf.bool)
    )
    values = run([doubled, moved, large], {x: DATA})
    np.testing.assert_array_equal(values[0], numbers * 2)
    np.testing.assert_allclose(values[1], DATA + numbers[:, None, None])
    np.testing.assert_array_equal(values[2], numbers > 3)
    assert gpu_count() or len(at_once) == 1


def test_the_counter_may_be_part_of_what_is_computed(at_once):
    count = tf.placeholder(tf.int32, [])
    array = tf.TensorArray(tf.float32, size=count)

    def turn(i, array):
        return i + 2, array.write(i // 2, tf.cast(i, tf.float32) * 0.5)

    _, array = tf.while_loop(lambda i, _: i < 2 * count, turn, [0, array])
    assert run(array.stack(), {count: ROWS}).tolist() == list(range(ROWS))
    assert gpu_count() or len(at_once) == 1


def test_weights_have_their_gradients():
    weight = tf.Variable(WEIGHT)
    x = tf.placeholder(tf.float32, [None, 3, 4])
    mapped = tf.map_fn(lambda row: tf.tanh(tf.matmul(row, weight)), x)
    whole = tf.tanh(tf.tensordot(x, weight, 1))
    slopes = [tf.gradients(tf.reduce_sum(y), weight)[0] for y in (mapped, whole)]
    found = run(slopes, {x: DATA})
    np.testing.assert_allclose(found[0], found[1], rtol=1e-4)


def test_turns_that_need_each_other_are_taken_one_by_one(at_once):
    x = tf.constant(DATA)
    total = tf.scan(lambda before, row: before + row, x)
    two = tf.foldl(lambda before, row: before * 0.5 + row, x)
    values = run([total, two])
    np.testing.assert_allclose(values[0], np.cumsum(DATA, 0), rtol=1e-5)
    expected = DATA[0]
    for row in DATA[1:]:
        expected = expected * 0.5 + row
    np.testing.assert_allclose(values[1], expected, rtol=1e-5)
    assert not at_once


def test_two_sums_that_go_round_are_no_flows(at_once):
    def turn(i, a, b):
        return i + 1, a + b, b + 1.0

    _, a, b = tf.while_loop(lambda i, *_: i < ROWS, turn, [0, 0.0, 0.0])
    assert run([a, b]) == [ROWS * (ROWS - 1) / 2, ROWS]
    assert not at_once


def test_an_array_that_is_read_and_written_is_taken_turn_by_turn(at_once):
    array = tf.TensorArray(tf.float32, size=ROWS + 1, clear_after_read=False).write(0, 1.0)

    def turn(i, array):
        return i + 1, array.write(i + 1, array.read(i) * 1.5)

    _, array = tf.while_loop(lambda i, _: i < ROWS, turn, [0, array])
    np.testing.assert_allclose(run(array.stack()), 1.5 ** np.arange(ROWS + 1), rtol=1e-4)
    assert not at_once


def test_few_turns_are_taken_one_by_one(at_once):
    x = tf.placeholder(tf.float32, [None])
    y = tf.map_fn(lambda row: row * 2, x)
    with tf.Session() as session:
        for count in (vectorization.LEAST_TURNS - 1, 0, vectorization.LEAST_TURNS):
            data = np.arange(count)
            np.testing.assert_array_equal(session.run(y, {x: data}), data * 2)
    assert len(at_once) == 1


def test_more_than_fits_into_memory_is_taken_turn_by_turn(at_once, monkeypatch):
    monkeypatch.setattr(vectorization, "MOST_BYTES", 1000)
    assert run(tf.map_fn(lambda row: row * 2, tf.constant(DATA))).shape == DATA.shape
    assert not at_once


def test_what_does_not_batch_is_taken_turn_by_turn(cpu, at_once):
    data = DATA.copy()
    data[7, 1, 1] = np.nan  # maxima pass over such on CPUs, after a look
    x = tf.placeholder(tf.float32, [None, 3, 4])
    y = tf.map_fn(lambda row: tf.reduce_max(row, 0), x)
    with tf.Session() as session:
        for _ in range(2):
            np.testing.assert_array_equal(session.run(y, {x: data}), np.nanmax(data, 1))


@pytest.mark.parametrize("times", [1, 2])
def test_elements_that_are_missing_are_told_as_ever(times):
    array = tf.TensorArray(tf.float32, size=ROWS, element_shape=[])
    array = array.scatter(list(range(times, ROWS)), tf.ones([ROWS - times]))

    def turn(i, results):
        return i + 1, results.write(i, array.read(i) + 1.0)

    results = tf.TensorArray(tf.float32, size=ROWS)
    _, results = tf.while_loop(lambda i, _: i < ROWS, turn, [0, results])
    if times == 1:  # one that was never written reads as zeros where its shape is known
        assert run(results.stack())[:2].tolist() == [1, 2]
        return
    again = results.stack()
    with tf.control_dependencies([again]):
        more = array.read(ROWS - 1)
    with pytest.raises(tf.errors.InvalidArgumentError, match="cleared after a previous read"):
        run(more)


def test_loops_in_loops(at_once):
    x = tf.constant(DATA)
    y = tf.map_fn(lambda m: tf.map_fn(lambda row: row * 2.0 + m[0], m), x)
    wide = tf.map_fn(lambda m: tf.map_fn(tf.square, tf.reshape(tf.stack([m] * 4), [-1])), x[:3])
    values = run([y, wide])
    np.testing.assert_allclose(values[0], DATA * 2 + DATA[:, :1], rtol=1e-6)
    np.testing.assert_allclose(values[1], np.tile(DATA[:3].reshape(3, -1), 4) ** 2, rtol=1e-6)
    assert len(at_once) == 3


def test_loops_that_only_count_or_hand_on_are_not_worth_it(at_once):
    x = tf.constant(DATA)
    count = tf.while_loop(lambda i: i < ROWS, lambda i: i + 1, [0])
    values = run([count, tf.map_fn(lambda row: row, x)])
    assert values[0] == ROWS
    np.testing.assert_array_equal(values[1], DATA)
    assert not at_once
