"""Graphs whose operations run when they are called."""

from __future__ import annotations

import gc
import weakref

import pytest

import stillflow as tf
from stillflow.eager.immediate import ImmediateGraph
from stillflow.graph.card import get


def test_values_last_as_long_as_their_tensors():
    graph = ImmediateGraph()
    with graph.as_default():
        value = tf.constant(1.0)
        seen = weakref.ref(value)
        for _ in range(3):
            value = tf.multiply(value, 2.0)
        gc.collect()
        assert seen() is None
        assert value.numpy() == 8.0
    assert not graph.get_operations()


def test_what_ran_under_a_tape_is_differentiated():
    with ImmediateGraph().as_default():
        x = tf.constant(3.0)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x if x > 2 else x
        assert tape.gradient(y, x).numpy() == 6.0


def test_functions_and_variables_run_at_once():
    with ImmediateGraph().as_default():
        v = tf.Variable(2.0)
        v.assign_add(3.0)
        double = tf.function(lambda x: x * 2.0)
        assert double(v.read_value()).numpy() == 10.0


def test_tensors_of_graphs_have_no_values():
    with tf.Graph().as_default():
        x = tf.constant(1.0)
    with ImmediateGraph().as_default() as graph:
        with pytest.raises(RuntimeError, match="Attempting to capture a symbolic tensor"):
            graph.add_op(get("Square"), [x], {"T": tf.float32}, [tf.float32], "s")


def test_a_value_that_was_read_stays_when_the_variable_changes(eager):
    v = tf.Variable([1.0, 2.0])
    before, array = v.read_value(), v.value().numpy()
    v.assign_add([1.0, 1.0])
    v.assign_sub([0.5, 0.5])
    assert before.numpy().tolist() == array.tolist() == [1.0, 2.0]
    assert v.numpy().tolist() == [1.5, 2.5]


def test_variables_do_not_share_the_memory_they_begin_with(eager):
    start = tf.ones([2])
    a, b = tf.Variable(start), tf.Variable(start)
    a.assign_add([1.0, 1.0])
    assert (start.numpy().tolist(), b.numpy().tolist()) == ([1.0, 1.0], [1.0, 1.0])


def test_functions_do_not_change_what_was_read_before(eager):
    v = tf.Variable([1.0])
    before = v.read_value()
    tf.function(lambda: v.assign_add([1.0]))()
    assert (before.numpy(), v.numpy()) == (1.0, 2.0)


def test_variables_go_with_their_last_reference(eager):
    buffer = weakref.ref(tf.Variable(tf.ones([2])).handle._held)
    gc.collect()
    assert buffer() is None


def test_tensors_of_tapes_go_without_the_collector(eager):
    gc.collect()
    gc.disable()
    try:
        x = tf.constant([1.0, 2.0])
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
        seen = weakref.ref(y)
        grad = tape.gradient(y, x)
        del tape, y
        assert seen() is None
        assert grad.numpy().tolist() == [2.0, 4.0]
    finally:
        gc.enable()


def test_variables_of_one_name_are_not_one(eager):
    a, b = tf.Variable(1.0, name="v"), tf.Variable(2.0, name="v")
    assert (a.name, b.name) == ("v:0", "v:0")
    assert (a.numpy(), b.numpy()) == (1.0, 2.0)


def test_nothing_is_waited_for(eager):
    with tf.control_dependencies([tf.constant(1), None]), tf.device("/cpu:0"):
        assert tf.group(tf.constant(1)) is None
        assert tf.no_op() is None


def test_tensors_with_values_are_taken_into_functions_and_nothing_else(eager):
    x = tf.constant([1.0, 2.0])
    assert tf.function(lambda: tf.reduce_sum(x))().numpy() == 3.0
    with tf.Graph().as_default(), pytest.raises(RuntimeError, match="without building a function"):
        tf.reduce_sum(x)


def test_models_that_are_fitted_do_not_change_what_was_read_before(eager):
    model = tf.keras.Sequential([tf.keras.layers.Dense(1, input_shape=(1,))])
    model.compile(tf.train.GradientDescentOptimizer(0.1), "mse")
    kernel = model.layers[0].kernel
    before = kernel.read_value()
    value = before.numpy()
    model.train_on_batch([[1.0]], [[5.0]])
    assert (before.numpy() == value).all()
    assert (kernel.numpy() != value).all()
    assert tf.constant(0, tf.int64).numpy() == 0


def test_errors_of_calls_with_plain_arguments_follow_from_the_kernel_alone(eager):
    with pytest.raises(tf.errors.NotFoundError) as caught:
        tf.read_file("no/such/file")
    chain, error = [], caught.value
    while error is not None:
        chain.append(type(error))
        error = error.__cause__ or error.__context__
    assert AttributeError not in chain  # the frames of which would stay as long as it does
