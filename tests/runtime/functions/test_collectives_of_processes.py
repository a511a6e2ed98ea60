"""Collective operations whose members are in several processes."""

from __future__ import annotations

from pathlib import Path

from tests.ranks import Ranks

_PROGRAM = """
import os
import tensorflow as tf
from tensorflow.python.ops import collective_ops

rank = int(os.environ["RANK"])

def handed_on(value, key):
    if rank == 1:
        return collective_ops.broadcast_send(value, value.shape, value.dtype, 2, 1, key)
    return collective_ops.broadcast_recv([2], tf.float32, 2, 1, key)

with tf.device("/cpu:0"):
    x = tf.identity(tf.constant([1.0, 2.0 + rank]))
    total = collective_ops.all_reduce(x, 2, 1, 1, "Add", "Id")
    mean = collective_ops.all_reduce(total, 2, 1, 2, "Add", "Div")
    product = collective_ops.all_reduce(x, 2, 1, 3, "Mul", "Id")
    rows = collective_ops.all_gather(tf.reshape(x, [1, 2]), 2, 1, 4)
    sent = handed_on(x, 5)
    late = handed_on(mean, 7)
    alone = collective_ops.all_reduce(x, 3, 2, 6, "Add", "Id")
with tf.Session() as session:
    for _ in range(2):
        values = session.run([total, mean, product, rows, sent, late])
        print([value.tolist() for value in values])
    try:
        session.run(alone)
    except tf.errors.UnimplementedError as error:
        print(error.message)
"""


def test_members_of_several_processes_compute_together(tmp_path: Path) -> None:
    outputs = Ranks(tmp_path).run(_PROGRAM)
    values = "[[2.0, 5.0], [2.0, 5.0], [1.0, 6.0], [[1.0, 2.0], [1.0, 3.0]], "
    values += "[1.0, 3.0], [2.0, 5.0]]"
    for output in outputs:
        first, second, error = output.splitlines()[:3]
        assert first == second == values
        assert "1 of the 3 operations of its group are in this run" in error


_EARLY = """
import os
import tensorflow as tf
from tensorflow.python.ops import collective_ops

rank = int(os.environ["RANK"])

def received():
    return collective_ops.broadcast_recv([2], tf.float32, 2, 1, 7)

with tf.device("/cpu:0"):
    x = tf.identity(tf.constant([1.0, 2.0 + rank]))
    y = tf.identity(tf.constant([10.0, 20.0]))
    early = None if rank else received()
    total = collective_ops.all_reduce(x, 2, 1, 1, "Add", "Id")
    more = collective_ops.all_reduce(tf.add_n([total, x * y]) * 2.0, 2, 1, 2, "Add", "Id")
    if rank:
        early = collective_ops.broadcast_send(more, more.shape, more.dtype, 2, 1, 7)
with tf.Session() as session:
    print([value.tolist() for value in session.run([early, total, more])])
"""


def test_a_broadcast_may_be_received_before_what_its_sender_sends(tmp_path: Path) -> None:
    values = "[[48.0, 220.0], [2.0, 5.0], [48.0, 220.0]]"
    assert Ranks(tmp_path).run(_EARLY) == [f"{values}\n"] * 2
