"""Messages for programs that run out of memory, or make operations in their loop."""

from __future__ import annotations

import logging
import os
import subprocess
import sys

import numpy as np
import pytest
import torch

import stillflow as tf
from stillflow.runtime.devices.memory_estimate import fitting_batch
from stillflow.runtime.executor.remedies import MANY_CHANGES
from stillflow.runtime.ir.steps import Step

HUNGRY = r"""
import re
import resource
import numpy as np
import stillflow as tf

x = tf.placeholder(tf.float32, [None, 250], name="x")
h = x
for number in range(6):
    w = tf.get_variable(f"w{number}", [250, 250])
    h = tf.nn.relu(tf.matmul(h, w), name=f"layer{number}")
train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_mean(h))
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    sess.run(train, {x: np.ones((2, 250), np.float32)})
    data = np.ones((160_000, 250), np.float32)
    pages = int(open("/proc/self/statm").read().split()[0])
    limit = pages * resource.getpagesize() + (600 << 20)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    fits = len(data)
    for _ in range(3):  # what allocators make of memory that is free again nobody knows
        try:
            sess.run(train, {x: data[:fits]})
            break
        except tf.errors.ResourceExhaustedError as error:
            print(error.op.name)
            print(error)
            fits = int(re.search(r"(\d+) or fewer fit", error.message)[1])
    print("did", fits)
"""


HUNGRY_LOOP = r"""
import resource
import numpy as np
import stillflow as tf

x = tf.placeholder(tf.float32, [None, None, 64], name="x")
out, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.BasicRNNCell(128), x, dtype=tf.float32)
train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_mean(out))
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    sess.run(train, {x: np.ones((2, 5, 64), np.float32)})
    data = np.ones((10_000, 40, 64), np.float32)
    pages = int(open("/proc/self/statm").read().split()[0])
    limit = pages * resource.getpagesize() + (300 << 20)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    try:
        sess.run(train, {x: data})
    except tf.errors.ResourceExhaustedError as error:
        print(error)
    sess.run(train, {x: data[:100]})
    print("did 100")
"""


def said_by(program: str, folder) -> str:
    """Return the output of a program that limits its memory."""
    (folder / "hungry.py").write_text(program)
    return subprocess.run(
        [sys.executable, "hungry.py"], cwd=folder, capture_output=True, text=True, check=True,
        # The limit is one of addresses, of which threads reserve more than they use.
        env={**os.environ, "MALLOC_ARENA_MAX": "1", "OMP_NUM_THREADS": "1"},
    ).stdout  # fmt: skip


@pytest.mark.skipif(sys.platform != "linux", reason="limits its memory as Linux does")
def test_a_loop_without_memory_says_what_its_turns_keep(tmp_path) -> None:
    said = said_by(HUNGRY_LOOP, tmp_path)
    assert "tensors kept by the turns of a loop  of 'rnn/TensorArray" in said
    assert "It was in a loop: fewer examples at a time, or fewer turns, take less." in said
    assert said.endswith("did 100\n")


@pytest.mark.skipif(sys.platform != "linux", reason="limits its memory as Linux does")
def test_a_run_without_memory_says_what_holds_it(tmp_path) -> None:
    said = said_by(HUNGRY, tmp_path)
    lines = said.splitlines()
    assert lines[0].startswith("MatMul")
    assert lines[1].startswith("OOM when allocating a tensor")
    assert "152.6 MiB  float32 [160000, 250]  of 'layer0' (hungry.py:11)" in said
    (advice,) = (line for line in lines if line.startswith("It was fed 160000 examples"))
    assert "by the sizes of its tensors" in advice
    # What was held is free again, and so many examples are a step.
    assert lines[-1].startswith("did ")
    assert 16_000 <= int(lines[-1].split()[1]) < 120_000


def test_a_graph_that_grows_in_the_loop_is_told_once(caplog) -> None:
    with tf.Graph().as_default():
        x = tf.constant(np.float32(1), name="x")
        with tf.Session() as sess, caplog.at_level(logging.WARNING, "tensorflow"):
            for _ in range(MANY_CHANGES - 1):
                sess.run(x + 1)
            assert not caplog.records
            for _ in range(MANY_CHANGES + 1):
                sess.run(x + 1)
    (record,) = caplog.records
    assert f"grown between runs {MANY_CHANGES} times" in record.getMessage()
    assert "(test_remedies.py:" in record.getMessage()


def test_runs_of_a_graph_that_stays_are_not_counted(caplog) -> None:
    with tf.Graph().as_default():
        x = tf.constant(1.0)
        with tf.Session() as sess, caplog.at_level(logging.WARNING, "tensorflow"):
            for _ in range(2 * MANY_CHANGES):
                sess.run(x)
    assert not caplog.records


def test_sizes_that_depend_on_more_than_the_batch_are_not_estimated() -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, None])
        op = tf.nn.relu(x).op
    step = Step("call", op, ["y"], ["x"], ())
    assert fitting_batch([step], {"x": torch.zeros(10, 4)}, 10, 1000) is None


def test_the_step_that_holds_most_decides() -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 4])
        wide = tf.matmul(x, tf.ones([4, 100]))
        flat = tf.reshape(wide, [-1])
        narrow = tf.reduce_sum(wide, 1)
        loss = tf.reduce_sum(narrow)
    steps = [
        Step("call", wide.op, ["wide"], ["x", "w"], ()),
        Step("call", flat.op, ["flat"], ["wide"], ()),
        Step("call", narrow.op, ["narrow"], ["flat"], ()),
        Step("call", loss.op, ["loss"], ["narrow"], ()),
    ]
    values = {"x": torch.zeros(10, 4), "w": torch.zeros(4, 100)}
    per_example = 4 * (100 + 1)  # bytes of a row of wide and of narrow; x is the program's
    assert fitting_batch(steps, values, 10, 7 * per_example) == 7
    assert fitting_batch(steps[2:], {"flat": torch.zeros(10, 100)}, 10, 4 * 10 + 4) == 10
