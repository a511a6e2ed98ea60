"""A program that ends while its threads compute ends well."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import stillflow as tf

noise = tf.random_normal([64, 64])
queue = tf.FIFOQueue({capacity}, [tf.float32], shapes=[[64, 64]])
runner = tf.train.QueueRunner(queue, [queue.enqueue(tf.matmul(noise, noise))] * 4)
tf.train.add_queue_runner(runner)
taken = queue.dequeue()
session = tf.Session()
tf.train.start_queue_runners(session)
for _ in range({steps}):
    session.run(taken)
print("done")
"""


def _run(capacity, steps):
    program = PROGRAM.format(capacity=capacity, steps=steps)
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False
    )


def test_threads_that_compute_do_not_abort_the_process():
    done = _run(capacity=100_000, steps=20)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


def test_threads_that_wait_do_not_hold_the_process_up():
    done = _run(capacity=2, steps=20)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


PIPELINE = """
import numpy as np
import stillflow as tf

data = tf.data.Dataset.from_tensor_slices(np.zeros([64, 100_000], np.float32)).repeat()
data = data.batch(32).prefetch(100)
batch = data.make_one_shot_iterator().get_next()
session = tf.Session()
for _ in range(3):
    session.run(batch)
print("done")
"""


def test_pipelines_that_fetch_ahead_do_not_abort_the_process():
    done = subprocess.run(
        [sys.executable, "-c", PIPELINE], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
