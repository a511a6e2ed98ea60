"""Loops of the graph run as loops of Python: right values, right order, and they can be stopped."""

from __future__ import annotations

import _thread
import threading
import time

import numpy as np
import pytest
from tests.running import run

import stillflow as tf
from stillflow import errors
from stillflow.ops.control_flow.switch import (
    enter_op,
    exit_op,
    merge,
    next_iteration_op,
    switch,
)
from stillflow.runtime.loops import code as loop_code
from stillflow.runtime.plan import plan

pytestmark = pytest.mark.usefixtures("graph")  # each test builds one of its own


def forever():
    return tf.while_loop(lambda i: i > -1, lambda i: (i + 1) % 1000, [0])


def test_shapes_may_change_from_one_iteration_to_the_next():
    shapes = [tf.TensorShape([]), tf.TensorShape([None])]
    _, grown = tf.while_loop(
        lambda i, s: i < 4,
        lambda i, s: (i + 1, tf.concat([s, [tf.size(s)]], 0)),
        [0, tf.constant([7])],
        shape_invariants=shapes,
    )
    assert run([grown, tf.shape(grown)])[0].tolist() == [7, 1, 2, 3, 4]


def test_integers_wrap_as_those_of_tensors_do():
    big = 2**31 - 2
    count, wrapped, product = tf.while_loop(
        lambda i, a, b: i < 4,
        lambda i, a, b: (i + 1, a + 1, b * 3),
        [0, big, tf.constant(2**62, tf.int64)],
    )
    expected = (np.array([2**62]) * 81)[0]
    assert run([count, wrapped, product]) == [4, -(2**31) + 2, expected]


def test_what_does_not_change_is_computed_once(monkeypatch, cpu):
    codes = []
    finish = loop_code.LoopCode.finish
    monkeypatch.setattr(
        loop_code.LoopCode, "finish", lambda self: (finish(self), codes.append(self))[0]
    )
    x = tf.placeholder(tf.float32, [3, 3])
    _, total = tf.while_loop(
        lambda i, s: i < 5, lambda i, s: (i + 1, s + tf.matmul(x, x)), [0, tf.zeros([3, 3])]
    )
    value = run(total, {x: np.eye(3)})
    assert (value == 5 * np.eye(3)).all()
    (code,) = codes
    assert [step.op.type for step in code.parts["once"]] == ["MatMul"]
    assert "MatMul" not in [step.op.type for step in code.parts["body"] if step.op]


def test_a_body_that_never_runs_does_not_fail():
    n = tf.placeholder(tf.int32, [])
    z = tf.placeholder(tf.int32, [])
    _, value = tf.while_loop(
        lambda i, a: i < n, lambda i, a: (i + 1, a + 10 // z), [0, tf.constant(3)]
    )
    assert run(value, {n: 0, z: 0}) == 3
    with pytest.raises(errors.InvalidArgumentError, match="while/floordiv"):
        run(value, {n: 1, z: 0})


def test_loops_in_loops_and_branches():
    flag = tf.placeholder(tf.bool, [])

    def body(i, total):
        _, inner = tf.while_loop(lambda j, s: j < i, lambda j, s: (j + 1, s + j), [0, total])
        even = tf.equal(i % 2, 0)
        return i + 1, tf.cond(even, lambda: inner * 2, lambda: inner)

    result = tf.cond(
        flag, lambda: tf.while_loop(lambda i, s: i < 5, body, [0, 1])[1], lambda: tf.constant(-1)
    )
    expected = 1
    for i in range(5):
        expected += sum(range(i))
        expected *= 2 if i % 2 == 0 else 1
    assert run(result, {flag: True}) == expected
    assert run(result, {flag: False}) == -1


@pytest.mark.parametrize("resource", [False, True])
def test_variables_change_in_order(resource):
    v = tf.get_variable("v", initializer=1.0, use_resource=resource)

    def body(i, seen):
        before = v.read_value()
        with tf.control_dependencies([before]):
            change = tf.assign_add(v, tf.cast(i, tf.float32) + 1.0)
        with tf.control_dependencies([change.op if hasattr(change, "op") else change]):
            return i + 1, tf.concat([seen, [before]], 0)

    _, seen = tf.while_loop(
        lambda i, s: i < 4,
        body,
        [0, tf.zeros([0])],
        shape_invariants=[tf.TensorShape([]), tf.TensorShape([None])],
        parallel_iterations=1,
    )
    with tf.control_dependencies([seen]):
        after = v.read_value()
    values, final = run([seen, after])
    assert final == 11.0
    if resource:
        assert values.tolist() == [1.0, 2.0, 4.0, 7.0]


def test_gradients_of_large_states_equal_those_of_the_unrolled_graph():
    # Large enough for results to be written over inputs; stacks hold what the way back needs.
    x = tf.constant(np.random.RandomState(0).rand(120, 120) - 0.5)
    w = tf.constant(np.random.RandomState(1).rand(120, 120) / 60)

    def step(y):
        return tf.tanh(tf.matmul(y, w)) * tf.exp(-y) + tf.sqrt(tf.square(y) + 1.0)

    _, looped = tf.while_loop(lambda i, y: i < 4, lambda i, y: (i + 1, step(y)), [0, x])
    unrolled = x
    for _ in range(4):
        unrolled = step(unrolled)
    found = run([looped, unrolled, *tf.gradients(looped, [x, w]), *tf.gradients(unrolled, [x, w])])
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12)
    np.testing.assert_allclose(found[2], found[4], rtol=1e-9)
    np.testing.assert_allclose(found[3], found[5], rtol=1e-9)


def test_imported_graphs_need_no_contexts():
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    y = tf.map_fn(lambda row: tf.reduce_sum(tf.tanh(row)), x)
    (grad,) = tf.gradients(y, x)
    feed = np.random.RandomState(0).rand(5, 2)
    expected = run([y, grad], {x: feed})
    definition = tf.get_default_graph().as_graph_def()
    with tf.Graph().as_default():
        tf.import_graph_def(definition, name="")
        found = run([y.name, grad.name], {x.name: feed})
    for one, other in zip(expected, found, strict=True):
        np.testing.assert_array_equal(one, other)


def test_callables_and_partial_runs_run_loops():
    n, scale = tf.placeholder(tf.int32, []), tf.placeholder(tf.int32, [])
    (count, total) = tf.while_loop(lambda i, s: i < n, lambda i, s: (i + 1, s + i), [0, 0])
    scaled = total * scale
    with tf.Session() as session:
        assert session.make_callable(scaled, [n, scale])(4, 10) == 60
        handle = session.partial_run_setup([total, scaled, count], [n, scale])
        assert session.partial_run(handle, total, {n: 5}) == 10
        assert session.partial_run(handle, scaled, {scale: 3}) == 30


def test_a_loop_that_partial_runs_need_twice_draws_its_numbers_once():
    """Gradients need what the loop of an earlier step left behind; TensorFlow keeps it."""
    w, scale = tf.Variable(2.0), tf.placeholder(tf.float32, [])

    def body(i, product, draws):
        drawn = tf.random_uniform([])
        return i + 1, product * tf.sigmoid(w * drawn), draws.write(i, drawn)

    start = [0, tf.constant(1.0), tf.TensorArray(tf.float32, 3)]
    _, product, draws = tf.while_loop(lambda i, *_: i < 3, body, start)
    drawn, loss = draws.stack(), -scale * tf.log(product)
    slope = tf.gradients(loss, w)[0]
    seen = []
    with tf.Session() as session:
        session.run(w.initializer)
        for _ in range(2):
            handle = session.partial_run_setup([product, drawn, loss, slope], [scale])
            factors, numbers = session.partial_run(handle, [product, drawn])
            losses, slopes = session.partial_run(handle, [loss, slope], {scale: 2.0})
            gone = 1 / (1 + np.exp(2.0 * numbers))  # sigmoid(-w * drawn)
            np.testing.assert_allclose(losses, -2.0 * np.log(factors), rtol=1e-5)
            np.testing.assert_allclose(factors, np.prod(1 - gone), rtol=1e-5)
            np.testing.assert_allclose(slopes, -2.0 * np.sum(gone * numbers), rtol=1e-5)
            seen.append(numbers)
        assert len({*np.ravel(seen)}) == 6  # the second run goes on from where the first ended


def test_partial_runs_of_the_same_steps_share_their_plans(monkeypatch):
    made = []
    make_plan = plan.make_plan
    monkeypatch.setattr(
        plan, "make_plan", lambda *args, **options: (made.append(1), make_plan(*args, **options))[1]
    )
    x, scale = tf.placeholder(tf.float32, [None]), tf.placeholder(tf.float32, [])
    total = tf.while_loop(
        lambda i, _: i < tf.size(x), lambda i, s: (i + 1, s + x[i]), [0, tf.constant(0.0)]
    )[1]
    scaled = total * scale
    with tf.Session() as session:
        for length in range(1, 9):
            handle = session.partial_run_setup([total, scaled], [x, scale])
            assert session.partial_run(handle, total, {x: np.ones(length)}) == length
            assert session.partial_run(handle, scaled, {scale: 2.0}) == 2 * length
            with pytest.raises(errors.InvalidArgumentError, match="Must run 'setup' before"):
                session.partial_run(handle, scaled, {scale: 2.0})
        assert len(made) < 8  # of 16 steps: exact plans for two lengths, one for any


def test_a_loop_with_effects_does_not_run_twice_in_a_partial_run():
    w, scale = tf.Variable(2.0), tf.placeholder(tf.float32, [])

    def body(i, x):
        return i + 1, x * w + tf.reshape(tf.py_func(lambda a: a, [x], tf.float32, name="f"), [])

    x = tf.while_loop(lambda i, _: i < 3, body, [0, tf.constant(1.0)])[1]
    slope = tf.gradients(x * scale, w)[0]
    with tf.Session() as session:
        session.run(w.initializer)
        handle = session.partial_run_setup([x, slope], [scale])
        assert session.partial_run(handle, x) == 27.0
        with pytest.raises(errors.UnimplementedError, match="what its operation PyFunc does"):
            session.partial_run(handle, slope, {scale: 2.0})


def test_failures_name_the_operation_in_the_loop(cpu):
    x = tf.placeholder(tf.float32, [None])
    _, y = tf.while_loop(
        lambda i, s: i < 3,
        lambda i, s: (i + 1, tf.gather(x, i, name="pick")),
        [0, tf.constant(0.0)],
    )
    with pytest.raises(errors.InvalidArgumentError) as caught:
        run(y, {x: [1.0, 2.0]})
    assert caught.value.op.name == "while/pick"
    assert "indices = 2 is not in [0, 2)" in caught.value.message


# ---- loops that do not end


def test_a_time_limit_ends_a_loop():
    loop = forever()
    limits = tf.RunOptions(timeout_in_ms=50)
    with tf.Session() as session, pytest.raises(errors.DeadlineExceededError):
        session.run(loop, options=limits)
    config = tf.ConfigProto(operation_timeout_in_ms=50)
    with tf.Session(config=config) as session:
        with pytest.raises(errors.DeadlineExceededError):
            session.run(loop)
        assert session.run(tf.constant(1)) == 1


def test_closing_the_session_ends_a_loop():
    loop, session = forever(), tf.Session()
    caught = []

    def work():
        try:
            session.run(loop)
        except errors.CancelledError as error:
            caught.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    time.sleep(0.3)
    session.close()
    thread.join(10)
    assert caught and not thread.is_alive()


def test_an_interrupt_from_the_keyboard_ends_a_loop():
    loop = forever()
    timer = threading.Timer(0.3, _thread.interrupt_main)
    with tf.Session() as session:
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            session.run(loop)


# ---- wiring that no while_loop makes


def test_any_wiring_runs():
    stop = enter_op(tf.constant(False), frame_name="loop")
    start = enter_op(tf.constant(10), frame_name="loop")
    value, _ = merge([start, start])
    out, back = switch(value, stop)
    value.op._update_input(1, next_iteration_op(back))
    assert run(exit_op(out)) == 10


def test_a_value_that_only_passes_a_frame():
    inside = enter_op(tf.constant(6), frame_name="loop") * enter_op(
        tf.constant(7), frame_name="loop"
    )
    assert run(exit_op(inside)) == 42


def test_values_of_different_frames_do_not_meet():
    one = enter_op(tf.constant(1), frame_name="one")
    with pytest.raises(errors.InvalidArgumentError, match="has inputs from different frames"):
        run(exit_op(one + enter_op(tf.constant(2), frame_name="two")))
    with pytest.raises(errors.InvalidArgumentError, match="has inputs from different frames"):
        run(one + tf.constant(2))


def test_what_is_inside_a_loop_cannot_be_fetched():
    tf.while_loop(lambda i: i < 2, lambda i: tf.add(i, 1, name="more"), [0])
    definition = tf.get_default_graph().as_graph_def()
    with tf.Graph().as_default():
        tf.import_graph_def(definition, name="")
        with pytest.raises(errors.InternalError, match="has already been set"):
            run("while/more:0")
