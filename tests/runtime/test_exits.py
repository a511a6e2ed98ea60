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
