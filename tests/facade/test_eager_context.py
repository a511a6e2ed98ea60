"""`tensorflow.python.eager.context`, cancellation and executors."""

from __future__ import annotations

import gc
import threading
import time
import weakref

import numpy as np
import pytest

import stillflow as tf
from stillflow.eager.cancellation import CancellationManager
from stillflow.facade import eager_context
from stillflow.graph.eager_mode import eager_mode


def test_a_context_of_ones_own_keeps_its_settings():
    with eager_mode():
        context = eager_context.Context(execution_mode=eager_context.ASYNC)
        assert context.execution_mode == eager_context.ASYNC
        context.execution_mode = None
        assert context.execution_mode == eager_context.SYNC
        context.scope_name = "foo"
        context.summary_writer = context.summary_recording = context.summary_step = "mock"
        assert (context.scope_name, context.summary_writer) == ("foo", "mock")
        assert (context.summary_recording, context.summary_step) == ("mock", "mock")
        assert eager_context.context().summary_writer is None


def test_a_context_lives_as_long_as_the_tensors_that_it_makes():
    with eager_mode():
        first, made = eager_context.context(), eager_context.Context()
        alive = weakref.ref(made)
        eager_context._set_context(made)
        try:
            assert eager_context.context() is made
            tensors = [tf.constant([[3.0]])]
            tensors.append(tensors[0] * tensors[0])
        finally:
            eager_context._set_context(first)
        del made
        tensors.pop(0)
        gc.collect()
        assert alive() is not None
        assert tensors.pop().numpy() == 9.0
        gc.collect()
        assert alive() is None
        assert "_context" not in vars(tf.constant(1.0))


def test_the_cache_of_tensors_keeps_the_newest_small_ones():
    with eager_mode():
        cache = eager_context._EagerTensorCache(max_items=2, max_tensor_size=3)
        for key, size in (("large", 4), ("a", 1), ("b", 3), ("c", 2)):
            cache.put(key, tf.zeros([size]))
        found = {key: cache.get(key) is not None for key in ("large", "a", "b", "c")}
        assert found == {"large": False, "a": False, "b": True, "c": True}
        cache.flush()
        assert cache.get("c") is None


def test_settings_of_a_thread_are_its_own():
    context, seen = eager_context.Context(), []
    context.summary_step = 3
    thread = threading.Thread(target=lambda: seen.append(context.summary_step))
    thread.start()
    thread.join()
    assert seen == [None]


def test_device_names_are_whole_and_nest():
    with eager_mode():
        for context in (eager_context.Context(), eager_context.context()):
            assert context.device_name == ""
            with context.device("GPU:0"):
                assert context.device_name == "/job:localhost/replica:0/task:0/device:GPU:0"
                assert context.device_spec.device_type == "GPU"
                with context.device(None):
                    assert context.device_name == ""
        assert any("CPU" in name for name in context.devices())


@pytest.mark.parametrize("wrong", [{"execution_mode": 5}, {"server_def": object()}])
def test_wrong_settings_are_value_errors(wrong):
    with pytest.raises(ValueError):
        eager_context.Context(**wrong)


def test_switches_tell_graphs_from_eager_execution():
    with eager_mode():
        *_, last = eager_context.context().context_switches.stack
        assert last.enter_context_fn is eager_mode and not last.is_building_function
        with tf.Graph().as_default():
            *_, last = eager_context.context().context_switches.stack
        assert last.enter_context_fn is not eager_mode


def test_executors_have_nothing_to_wait_for():
    with eager_mode():
        executor = eager_context.new_executor(enable_async=True)
        with eager_context.executor_scope(executor):
            assert eager_context.context().executor is executor
            x = tf.constant(2.0) + 1.0
        executor.wait()
        executor.clear_error()
        assert executor.is_async() and x.numpy() == 3.0


@pytest.fixture
def dequeue():
    with eager_mode():
        queue = tf.FIFOQueue(1, tf.int32)
        yield queue, tf.function(queue.dequeue).get_concrete_function()


def test_cancellation_before_and_after_a_call(dequeue):
    queue, function = dequeue
    manager = CancellationManager()
    call = manager.get_cancelable_function(function)
    queue.enqueue(37)
    assert call().numpy() == 37
    manager.start_cancel()
    assert manager.is_cancelled
    with pytest.raises(tf.errors.CancelledError):
        call()


def test_cancellation_ends_a_call_that_waits(dequeue):
    _, function = dequeue
    manager = CancellationManager()
    raised = []

    def call():
        with eager_mode():
            try:
                manager.get_cancelable_function(function)()
            except tf.errors.OpError as error:
                raised.append(type(error))

    thread = threading.Thread(target=call)
    thread.start()
    time.sleep(0.1)
    manager.start_cancel()
    thread.join(60)
    assert raised == [tf.errors.CancelledError]


def test_eager_scopes_take_names_of_devices_alone():
    with eager_mode():
        for wrong, error in [("pu:0", ValueError), (3, ValueError), (b"/cpu:0", ValueError),
                             (lambda op: "/cpu:0", RuntimeError)]:  # fmt: skip
            with pytest.raises(error), tf.device(wrong):
                pass
        with tf.device(None), tf.device(""):
            np.testing.assert_array_equal(tf.constant([1]), [1])
