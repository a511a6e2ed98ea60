"""Plans with little to do keep to one thread."""

from __future__ import annotations

import os
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import stillflow as tf
from stillflow.runtime.host import threads


@pytest.fixture
def two_threads():
    old = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(old)


@pytest.fixture
def settings(two_threads, monkeypatch):
    """Return the numbers of threads that are asked for on a machine that does nothing else."""
    asked = []
    monkeypatch.setattr(threads, "_processors", lambda most: SimpleNamespace(count=lambda: most))
    monkeypatch.setattr(torch, "set_num_threads", asked.append)
    return asked


def multiply(rows: int, columns: int, kernel: bool = False, most: int = 0) -> None:
    config = tf.ConfigProto(intra_op_parallelism_threads=most)
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        x = tf.placeholder(tf.float32, [None, columns])
        y = tf.matmul(x, x, transpose_a=True)
        if kernel:
            y = tf.nn.conv1d(y[None], tf.ones([1, columns, 1]), 1, "SAME")
        session.run(y, {x: np.ones([rows, columns])})


def test_small_products_use_one_thread_and_leave_the_setting_alone(settings):
    multiply(100, 10)
    assert settings == [1, 2]


def test_large_products_use_all_threads(settings):
    multiply(1000, 200)
    assert settings == []


@pytest.mark.parametrize(("most", "expected"), [(1, [1, 2]), (2, []), (8, [])])
def test_sessions_may_set_a_limit(settings, most, expected):
    multiply(1000, 200, most=most)
    assert settings == expected


def test_convolutions_use_all_threads(settings):
    multiply(10, 10, kernel=True)
    assert settings == []


@pytest.mark.parametrize(("units", "expected"), [(8, [1, 2]), (600, [])])
@pytest.mark.parametrize("kind", [tf.contrib.rnn.GRUBlockCell, tf.contrib.rnn.LSTMBlockCell])
def test_small_cells_use_one_thread(settings, kind, units, expected):
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [4, 10])
        cell = kind(units)
        output, _ = cell(x, cell.zero_state(4, tf.float32))
        steps = tf.gradients(tf.reduce_sum(tf.tanh(output)), x)
        session.run(tf.global_variables_initializer())
        settings.clear()
        session.run(steps, {x: np.ones([4, 10])})
    assert settings == expected


def test_plans_that_cannot_share_work_are_left_alone(settings):
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [2])
        session.run(x + 1.0, {x: np.ones([2])})
    assert settings == []


@pytest.mark.parametrize(
    ("function", "shape", "expected"),
    [
        (tf.exp, [30, 100], [1, 2]),
        (tf.exp, [2, 3], []),
        (tf.nn.softmax, [10, 10], [1, 2]),
        (lambda x: x * 2.0, [30, 100], []),
        (tf.exp, [3000, 1000], []),
        (lambda x: tf.segment_max(x, np.arange(30)), [30, 100], [1, 2]),
        (tf.linalg.inv, [2, 32, 32], [1, 2]),
        (tf.linalg.inv, [500, 500], []),
        (tf.linalg.diag_part, [2, 64, 64], []),
        (tf.reduce_sum, [300, 200], [1, 2]),
        (lambda x: tf.multinomial(np.ones([100, 20], np.float32), 3), [1, 1], [1, 2]),
        (lambda x: tf.igamma(x + 1.0, x), [30, 30], [1, 2]),
        (lambda x: tf.betainc(x + 1.0, x + 1.0, x), [100, 100], []),
    ],
)
def test_kernels_that_share_little_work_use_one_thread(settings, function, shape, expected):
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, shape)
        session.run(function(x), {x: np.broadcast_to(np.eye(*shape[-2:]), shape)})
    assert settings == expected


def test_a_large_variable_of_which_a_part_is_used_is_no_work(settings):
    with tf.Graph().as_default(), tf.Session() as session:
        table = tf.Variable(tf.zeros([5000, 1000]))
        rows = tf.placeholder(tf.float32, [20, 1000])
        session.run(tf.global_variables_initializer())
        del settings[:]
        update = tf.scatter_add(table, np.arange(20), tf.exp(rows))
        session.run(update.op, {rows: np.ones([20, 1000])})
    assert settings == [1, 2]


def test_the_setting_is_restored_after_a_failure(two_threads):
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 3])
        checked = tf.Assert(tf.reduce_sum(tf.matmul(x, tf.ones([3, 3]))) < 0.0, [x])
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(checked, {x: np.ones([2, 3])})
    assert torch.get_num_threads() == 2


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, "10000"),
        ({"GOMP_SPINCOUNT": "7"}, "7"),
        ({"OMP_WAIT_POLICY": "ACTIVE"}, "None"),
    ],
)
def test_waiting_threads_give_their_processor_away_soon(given, expected):
    plain = {name: value for name, value in os.environ.items() if name[:4] not in ("GOMP", "OMP_")}
    program = (
        "import os, sys, stillflow; assert 'torch' not in sys.modules; "
        "print(os.environ.get('GOMP_SPINCOUNT'))"
    )
    printed = subprocess.check_output([sys.executable, "-c", program], env=plain | given, text=True)
    assert printed.strip() == expected


@pytest.mark.parametrize(("deterministic", "asked"), [("", [1, 2]), ("1", [])])
def test_small_kernels_leave_processors_to_others(settings, monkeypatch, deterministic, asked):
    monkeypatch.setattr(threads, "_processors", lambda most: SimpleNamespace(count=lambda: 1))
    monkeypatch.setenv("TF_DETERMINISTIC_OPS", deterministic)
    multiply(200, 200)
    assert settings == asked


def test_large_kernels_leave_none(settings, monkeypatch):
    monkeypatch.setattr(threads, "_processors", lambda most: SimpleNamespace(count=lambda: 1))
    multiply(1000, 1000)
    assert settings == []


@pytest.mark.parametrize(("columns", "asked"), [(200, [1, 2]), (4000, [])])
def test_kernels_of_batches_of_any_size_leave_processors_to_others(
    settings, monkeypatch, columns, asked
):
    monkeypatch.setattr(threads, "_processors", lambda most: SimpleNamespace(count=lambda: 1))
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [2, columns])
        rows = tf.boolean_mask(x, x[:, 0] > 0.0)
        y = tf.matmul(tf.tanh(rows), tf.Variable(tf.ones([columns, columns])))
        session.run(tf.global_variables_initializer())
        settings.clear()
        session.run(y, {x: np.ones([2, columns])})
    assert settings == asked
