"""Sessions: feeding, fetching, nesting, errors."""

from __future__ import annotations

import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import stillflow as tf
from stillflow.graph import default_session
from stillflow.ops.values import from_array
from stillflow.runtime.plan import plan
from stillflow.runtime.session import interpreter_lock, session_plans
from stillflow.runtime.session.fetches import register_session_run_conversion_functions


def test_nested_tuples_of_tensors_are_fed_at_once(session):
    a, b, c = (tf.placeholder(tf.float32) for _ in range(3))
    total = a + 10.0 * b + 100.0 * c
    assert session.run(total, {((a,), b): ((1.0,), 2.0), c: 3.0}) == 321.0
    with pytest.raises(ValueError):
        session.run(total, {(a, b): 1.0, c: 3.0})


@pytest.mark.parametrize(
    "dtype, value", [(tf.string, 1), (tf.bool, 2), (tf.uint8, 300), (tf.float16, 4097)]
)
def test_integers_that_a_type_cannot_hold_are_refused(session, dtype, value):
    x = tf.placeholder(dtype)
    with pytest.raises(TypeError, match=f"Type of feed value {value} with type <class 'int'> is"):
        session.run(tf.identity(x), {x: value})


def test_integers_that_a_type_holds_are_taken(session):
    pairs = ((tf.bool, True), (tf.uint8, 255), (tf.float16, 4096), (tf.int64, -(2**63)))
    for dtype, value in pairs:
        x = tf.placeholder(dtype)
        assert session.run(tf.identity(x), {x: value}) == value


def test_types_of_ones_own_are_fetched_and_fed(session):
    class Pair:
        def __init__(self):
            self.first, self.second = tf.constant(1.0), tf.constant(2.0)

    def register():
        register_session_run_conversion_functions(
            Pair,
            lambda pair: ([pair.first, pair.second], sum),
            lambda pair, value: [(pair.first, value)],
            lambda pair: [pair.first],
        )

    register()
    with pytest.raises(ValueError, match="has already been registered"):
        register()
    pair = Pair()
    assert session.run(pair) == 3.0
    assert session.run(pair, {pair: 5.0}) == 7.0
    handle = session.partial_run_setup([pair.second], [pair])
    assert session.partial_run(handle, pair.second, {pair: 5.0}) == 2.0


@pytest.mark.parametrize("containers", [None, ["any"]])
def test_reset_without_a_server_ends_all_sessions(containers):
    with tf.Graph().as_default():
        v = tf.Variable(1.0)
        with tf.Session() as session:
            session.run(v.initializer)
            call = session.make_callable(v)
            assert call() == 1.0
            tf.Session.reset("", containers)
            for run in (call, lambda: session.run(v)):
                with pytest.raises(tf.errors.CancelledError, match="Session has been closed"):
                    run()
        with pytest.raises(RuntimeError, match="Attempted to use a closed Session"):
            session.run(v)
        with tf.Session() as session:
            assert session.run(v.initial_value) == 1.0


def test_a_session_is_entered_once():
    with tf.Graph().as_default(), tf.Session() as session:
        with pytest.raises(RuntimeError, match="not re-entrant"):
            session.__enter__()
        with session.as_default(), session.as_default():
            assert tf.get_default_session() is session


def test_default_sessions_are_left_in_order():
    with tf.Graph().as_default():
        outer, inner = tf.Session().as_default(), tf.Session().as_default()
    outer.__enter__()
    inner.__enter__()
    with pytest.raises(AssertionError, match="Nesting violated"):
        outer.__exit__(None, None, None)
    default_session._stack.reset()
    assert tf.get_default_session() is None


def test_a_second_interactive_session_is_warned_of():
    with tf.Graph().as_default(), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tf.InteractiveSession().close()
        first = tf.InteractiveSession()
        assert not caught
        second = tf.InteractiveSession()
        assert "An interactive session is already active" in str(caught[0].message)
        second.close()
        first.close()
        first.close()


def test_an_interactive_session_places_what_it_runs():
    with tf.Graph().as_default():
        session = tf.InteractiveSession()
        with tf.device("/cpu:9"):
            bad = tf.constant(1.0)
        assert tf.constant(2.0).eval() == 2.0
        with pytest.raises(tf.errors.InvalidArgumentError, match="Cannot assign a device"):
            bad.eval()
        session.close()


def test_fed_text_is_fetched_as_it_was_fed(session):
    """Compare with TensorFlow 1.15.5: bytes for computed values, and the feeds for feeds."""
    mode = tf.placeholder_with_default("train", [])
    copy, words = tf.identity(mode), tf.placeholder(tf.string)
    assert session.run(mode) == b"train"
    fed, computed = session.run([mode, copy], {mode: "eval"})
    assert (fed, computed, fed.dtype) == ("eval", b"eval", object)
    mixed = session.run(words, {words: ["x", b"y"]})
    assert mixed.tolist() == ["x", b"y"]
    assert session.run(words, {words: session.run(tf.identity(words), {words: ["x"]})}) == [b"x"]


def test_the_graph_comes_with_shapes_if_the_config_says_so():
    config = tf.ConfigProto(graph_options=tf.GraphOptions(infer_shapes=True))
    with tf.Graph().as_default():
        tf.constant(np.ones([2, 3]))
        assert "_output_shapes" in tf.Session(config=config).graph_def.node[0].attr
        assert "_output_shapes" not in tf.Session().graph_def.node[0].attr


def test_large_arrays_are_fed_without_a_copy(monkeypatch):
    taken = []
    make_plan = plan.make_plan

    def spy(*args):
        run = make_plan(*args)
        return lambda *arrays: (taken.extend(map(from_array, arrays)), run(*arrays))[1]

    monkeypatch.setattr(plan, "make_plan", spy)
    # Threads that other tests left would count as the program's, which may change its arrays.
    monkeypatch.setattr(interpreter_lock, "is_alone", lambda: True)
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 10_000])
        corner = x[0, 0]
        for rows in (1000, 1001, 1002):  # 40 MB, and plans for one size and for any
            batch = np.full((rows, 10_000), rows, np.float32)
            assert session.run(corner, {x: batch}) == rows
            assert taken.pop().data_ptr() == batch.ctypes.data


def test_threads_whose_first_runs_are_traced_share_the_sessions_state(monkeypatch):
    made = []

    def slowly():
        made.append(plain())
        time.sleep(0.1)
        return made[-1]

    plain = session_plans.resources_of_host
    monkeypatch.setattr(session_plans, "resources_of_host", slowly)
    with tf.Graph().as_default(), tf.Session() as session:
        one = tf.constant(1) + tf.placeholder_with_default(1, [])
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        with ThreadPoolExecutor(4) as pool:
            runs = [pool.submit(session.run, one, None, options, tf.RunMetadata()) for _ in "1234"]
        assert [run.result() for run in runs] == [2] * 4
    assert len(made) == 1
