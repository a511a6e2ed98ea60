"""Parts of the graph of a run: values that are sent from task to task, constants, and the order."""

from __future__ import annotations

import stillflow as tf
from stillflow.runtime.cluster.partition import Partition

PS, WORKER = "/job:ps/replica:0/task:0", "/job:worker/replica:0/task:0"


def parts(*fetches):
    """Return the nodes of each task's part, by name."""

    def device_of(op):
        return f"{PS if op.device.startswith('/job:ps') else WORKER}/device:CPU:0"

    made = Partition(list(fetches), [], [], device_of, {}).parts()
    return {part.task: {node.name: node for node in part.graph.node} for part in made}


def sends(nodes):
    """Return the operations whose values leave a part; those that wait for more are marked."""
    return [
        name.partition("/_sent")[0] + ("+" if "_more" in node.attr else "")
        for name, node in nodes.items()
        if node.op == "_Send"
    ]


def test_each_task_has_its_own_constants():
    with tf.Graph().as_default():
        with tf.device("/job:ps/task:0"):
            rate = tf.constant(0.5, name="rate")
            computed = tf.negative(rate, name="computed")
        with tf.device("/job:worker/task:0"):
            result = rate * computed + rate
        found = parts(result, computed)
    assert sends(found[PS]) == ["computed"]
    assert found[WORKER]["rate/_copied"].attr["value"].tensor.float_val == [0.5]
    assert list(found[WORKER]["mul"].input) == ["rate/_copied", "computed/_received_0"]


def test_a_constant_that_waits_for_something_is_sent_when_it_is_done():
    with tf.Graph().as_default():
        with tf.device("/job:ps/task:0"), tf.control_dependencies([tf.no_op("before")]):
            late = tf.constant(1.0, name="late")
        with tf.device("/job:worker/task:0"):
            found = parts(tf.negative(late))
    assert sends(found[PS]) == ["late"]


def test_small_values_to_one_task_leave_with_the_next_one():
    with tf.Graph().as_default():
        with tf.device("/job:ps/task:0"):
            x = tf.get_variable("x", [3])
            small = tf.negative(x, name="small")
            large = tf.tile(small, [30_000], name="large")
            last = tf.abs(small, name="last")
        with tf.device("/job:worker/task:0"):
            found = parts(*(tf.exp(each) for each in (small, large, last)))
    assert sends(found[PS]) == ["small+", "large", "last"]


def test_nothing_waits_behind_an_operation_that_may_wait_itself():
    with tf.Graph().as_default():
        with tf.device("/job:ps/task:0"):
            queue = tf.FIFOQueue(1, [tf.float32], [[]])
            small = tf.random.uniform([2], name="small")
            with tf.control_dependencies([small]):
                taken = queue.dequeue(name="taken")
        with tf.device("/job:worker/task:0"):
            found = parts(tf.exp(small), tf.exp(taken))
    assert sends(found[PS]) == ["small", "taken"]
