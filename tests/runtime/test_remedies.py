"""What programs are told that run out of memory, or make operations in their loop."""

from __future__ import annotations

import logging
import subprocess
import sys

import numpy as np
import pytest

import stillflow as tf
from stillflow.runtime.remedies import MANY_CHANGES

HUNGRY = """
import resource
import numpy as np
import stillflow as tf

x = tf.placeholder(tf.float32, [None, 1000], name="x")
h = x
for number in range(6):
    w = tf.get_variable(f"w{number}", [1000, 1000])
    h = tf.nn.relu(tf.matmul(h, w), name=f"layer{number}")
train = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_mean(h))
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    sess.run(train, {x: np.ones((2, 1000), np.float32)})
    pages = int(open("/proc/self/statm").read().split()[0])
    limit = pages * resource.getpagesize() + (300 << 20)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    try:
        sess.run(train, {x: np.ones((20_000, 1000), np.float32)})
    except tf.errors.ResourceExhaustedError as error:
        print(error.op.name)
        print(error)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits its memory as Linux does")
def test_a_run_without_memory_says_what_holds_it(tmp_path) -> None:
    (tmp_path / "hungry.py").write_text(HUNGRY)
    done = subprocess.run(
        [sys.executable, "hungry.py"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    lines = done.stdout.splitlines()
    assert lines[0].startswith("MatMul")
    assert lines[1].startswith("OOM when allocating a tensor")
    assert "76.3 MiB  float32 [20000, 1000]  of 'layer0' (hungry.py:10)" in done.stdout
    (advice,) = (line for line in lines if line.startswith("It was fed 20000 examples"))
    assert 5_000 <= int(advice.split("; ")[1].split()[0]) < 20_000


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
