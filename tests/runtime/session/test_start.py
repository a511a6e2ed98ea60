"""Start of a session: the modules that its first run waits for."""

from __future__ import annotations

import os
import subprocess
import sys

_TRAINING = """
import sys
import stillflow as tf
x = tf.placeholder(tf.float32, [None, 4])
loss = tf.reduce_mean(tf.square(tf.matmul(x, tf.Variable(tf.zeros([4, 2]))) - 1.0))
train = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    assert session.run([train, loss], {x: [[1.0, 2.0, 3.0, 4.0]]})[1] == 1.0
print(*sys.modules)
"""


def test_training_waits_for_no_messages_files_functions_or_clusters() -> None:
    command = [sys.executable, "-W", "ignore", "-c", _TRAINING]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    loaded = done.stdout.split()
    aside = {
        "google.protobuf", "stillflow.files", "stillflow.ops.summary",
        "stillflow.runtime.processes", "stillflow.runtime.cluster.tasks",
        "stillflow.runtime.explain.record", "stillflow.runtime.functions.inlining",
    }  # fmt: skip
    assert aside.isdisjoint(loaded)
    # Its import looks at the file of each module that is there.
    assert loaded.index("torch") < loaded.index("stillflow.runtime.session.session_plans")


def test_with_an_engine_a_session_that_runs_nothing_does_not_wait_for_torch() -> None:
    code = "import sys, stillflow as tf; tf.Session(); print('torch' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        env={**os.environ, "STILLFLOW_ENGINE": "auto"},
    )  # fmt: skip
    assert done.stdout.strip() == "False"
