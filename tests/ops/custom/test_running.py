"""Kernels of libraries: memory, state, threads, errors."""

from __future__ import annotations

import gc
import threading
import time

import numpy as np
import pytest

import stillflow as tf
from stillflow.ops.custom.running import Kernel

from .building import library


def test_elements_that_no_kernel_writes_are_zero() -> None:
    ops = library(tf, "views")
    size = tf.placeholder(tf.int32)
    y = ops.half_written(size)
    with tf.Session() as session:
        for _ in range(3):
            np.full(1000, 7.0, np.float32)  # memory that may come again
            assert session.run(y, {size: 999}).tolist() == [1, 0] * 499 + [1]
        assert session.run(y, {size: 5}).tolist() == [1, 0, 1, 0, 1]


def test_a_kernel_may_assign_other_tensors_to_its_outputs() -> None:
    ops = library(tf, "views")
    x = tf.placeholder(tf.float32)
    made = ops.assigned(x)
    value = np.array([[1, 2], [3, 4]], np.float32)
    with tf.Session() as session:
        for _ in range(3):
            same, flat, half = session.run(list(made), {x: value})
            assert np.array_equal(same, value)
            assert flat.tolist() == [0, 10, 20, 30] and half.tolist() == [[0, 10]]


def test_rows_of_a_batch_are_copied() -> None:
    ops = library(tf, "views")
    with tf.Graph().as_default(), tf.Session() as session:
        numbers = session.run(ops.rows_reversed([[1, 2], [3, 4], [5, 6]], width=2))
        texts = session.run(ops.rows_reversed([["a"], ["b"]], width=1))
        with pytest.raises(tf.errors.InternalError, match=r"\[element\]: \[3\], .*slice\]: \[2\]"):
            session.run(ops.rows_reversed([[1, 2]], width=3))
    assert numbers.tolist() == [[5, 6], [3, 4], [1, 2]] and texts.tolist() == [[b"b"], [b"a"]]


@pytest.mark.parametrize(
    "how, message",
    [
        (0, r"Check failed: 1 \+ 1 == 3 \(2 vs\. 3\)\s*sums"),
        (1, "thrown"),
        (2, "Check failed: end < 0 .*in a thread"),
        (3, "fatal"),
        (4, "Check failed: .*float expected, got int32"),
        (5, "Asking for tensor of 2 dimensions from a tensor of 0 dimensions"),
        (6, "no std::exception"),
        (7, r"Check failed: index < num_inputs\(\) \(1 vs\. 1\)\s*name: wrong"),
    ],
)
def test_what_would_abort_is_an_error_of_the_operation(how: int, message: str) -> None:
    ops = library(tf, "threads")
    with tf.Graph().as_default(), tf.Session() as session:
        with pytest.raises(tf.errors.InternalError, match=message) as raised:
            session.run(ops.goes_wrong(how, name="wrong"))
    assert raised.value.op.name == "wrong"


def test_inputs_are_what_the_graph_says_wherever_their_memory_is() -> None:
    ops = library(tf, "views")
    x = tf.placeholder(tf.float32, [None, None])
    array = np.arange(48, dtype=np.float32).reshape(6, 8)
    with tf.Session() as session:
        for value in (array, array[1:, 1:], array[::2, ::3], array.T, array[:, :0]):
            assert np.array_equal(session.run(ops.twice(x), {x: value}), 2 * value)
            transposed = ops.twice(tf.transpose(x))
            assert np.array_equal(session.run(transposed, {x: value}), 2 * value.T)
        assert np.array_equal(
            session.run(ops.twice(tf.conj(tf.complex(x, x))), {x: array}), 2 * (array - 1j * array)
        )


def test_an_input_that_a_kernel_keeps_is_copied() -> None:
    ops = library(tf, "state")
    x = tf.placeholder(tf.float32)
    before = ops.before(x)
    value = np.array([1, 2], np.float32)
    with tf.Session() as session:
        session.run(before, {x: value})
        value[:] = 9
        assert session.run(before, {x: value}).tolist() == [1, 2]


def test_each_node_and_session_has_a_kernel_of_its_own() -> None:
    ops = library(tf, "state")
    first, second = ops.running_sum([1.0]), ops.running_sum([10.0])
    with tf.Session() as one, tf.Session() as other:
        for _ in range(3):
            one.run(first)
        assert one.run([first.sum, second.sum]) == [[4], [10]]
        assert other.run(first.sum) == [1]


def test_a_variable_changes_in_place_in_every_layout() -> None:
    ops = library(tf, "state")
    v = tf.Variable(np.arange(6, dtype=np.float32).reshape(2, 3), use_resource=False)
    added = ops.add_in_place(v, 1.0)
    with tf.Session() as session:
        with pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized value"):
            session.run(added)
        session.run(v.initializer)
        session.run(added)
        session.run(added.op)
        assert session.run(v).tolist() == [[2, 3, 4], [5, 6, 7]]


def test_threads_may_run_one_node_at_once() -> None:
    ops = library(tf, "views")
    x = tf.placeholder(tf.float32)
    y = ops.twice(x)
    wrong: list = []
    with tf.Session() as session:

        def run(number: int) -> None:
            for size in range(1, 60):
                value = np.full(size + number, number, np.float32)
                if not np.array_equal(session.run(y, {x: value}), 2 * value):
                    wrong.append((number, size))

        threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not wrong


def test_a_closed_session_cancels_what_waits() -> None:
    ops = library(tf, "threads")
    failed: list[tf.errors.OpError] = []
    with tf.Graph().as_default():
        session, wait = tf.Session(), ops.waits_for_end(name="wait")

        def run() -> None:
            try:
                session.run(wait)
            except tf.errors.OpError as error:
                failed.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        while not kernels_of("wait"):
            time.sleep(0.01)
        session.close()
        thread.join(60)
    assert not thread.is_alive()
    (error,) = failed
    assert isinstance(error, tf.errors.CancelledError)


def kernels_of(name: str) -> list[Kernel]:
    return [made for made in gc.get_objects() if type(made) is Kernel and made.name == name]


def test_a_kernel_ends_with_its_session() -> None:
    ops = library(tf, "state")
    y = ops.running_sum([1.0], name="ends_with_its_session").sum
    with tf.Session() as session:
        session.run(y)
        assert len(kernels_of(y.op.name)) == 1
    del session
    gc.collect()
    assert not kernels_of(y.op.name)


def test_eager_execution_and_functions() -> None:
    import subprocess
    import sys

    from .building import compiled

    program = f"""
import stillflow as tf
tf.enable_eager_execution()
ops = tf.load_op_library({compiled(tf, "views")!r})
print(ops.twice([1.0, 2.0]).numpy().tolist())

@tf.RegisterGradient("Twice")
def gradient(op, grad):
    return grad * 2

@tf.function
def f(x):
    return ops.twice(x) + 1

x = tf.constant([3.0])
with tf.GradientTape() as tape:
    tape.watch(x)
    y = f(x) * ops.twice(x)
print(y.numpy().tolist(), tape.gradient(y, x).numpy().tolist())
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True, text=True, env={"PYTHONPATH": ":".join(sys.path), "PATH": ""},
    )  # fmt: skip
    assert done.stdout.splitlines() == ["[2.0, 4.0]", "[42.0] [26.0]"], done.stderr
