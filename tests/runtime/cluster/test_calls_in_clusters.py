"""Calls of functions whose bodies use what several tasks of a cluster have.

The expected values are TensorFlow 1.15's for the same programs, except the gradients, which it does
not support there.
"""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf
from stillflow.contrib.framework import nest
from stillflow.functional.defun import Defun
from stillflow.functional.polymorphic import defun
from stillflow.ops.control_flow.identity_and_group import no_op

A, B = [1.0, 2.0], [10.0, 20.0]
SERVERS = ("/job:ps/task:0", "/job:ps/task:1")


@pytest.fixture(scope="module")
def target():
    workers, _ = tf.test.create_local_cluster(num_workers=1, num_ps=2)
    return workers[0].target


def remote(x, target):
    body = Defun(tf.float32)(lambda y: y * 2.0 + 1.0)
    body.add_to_graph(tf.get_default_graph())
    call = tf.raw_ops.RemoteCall(target=target, args=[x], Tout=[tf.float32], f=body)
    return call[0]


def with_reads(a, b):
    return defun(lambda x: a * x + b)(3.0)


def with_writes(a, b):
    def body(x):
        a.assign_add([x, x])
        b.assign_sub([1.0, 1.0])
        return a + b

    return defun(body)(3.0)


def with_devices(a, b):
    def body(x):
        with tf.device(SERVERS[1]):
            y = x * 2.0
        with tf.device(SERVERS[0]):
            return (y + 1.0) * a

    return defun(body)(tf.constant(3.0))


def with_a_target(a, b):
    return remote(tf.constant(5.0), "/job:ps/replica:0/task:1/device:CPU:0")


def with_a_fed_target(a, b):
    where = tf.placeholder_with_default("/job:ps/replica:0/task:1/device:CPU:0", [])
    return remote(tf.constant(5.0), where)


def with_gradients(a, b):
    inner = defun(lambda x: x * a)
    return tf.gradients(defun(lambda x: inner(x) + b)(2.0), [a, b])


def with_branches(a, b):
    def body(x):
        return tf.cond(tf.greater(tf.identity(x), 1.0), lambda: a + x, lambda: b + x)

    return [defun(body)(2.0), defun(body)(0.5)]


def with_effects_of_a_branch(a, b):
    @tf.function
    def body(x):
        if x > 1.0:
            a.assign_add([x, x])
        else:
            b.assign_add([x, x])
        return x

    return [body(tf.constant(2.0))]


def with_a_loop(a, b):
    def body(x):
        first = a.read_value()
        return tf.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s + x), [0, first])[1] + b

    return defun(body)(2.0)


def with_its_argument(a, b):
    return tf.function(lambda x: (x, a + x))(tf.constant(4.0))


def of_the_older_kind(a, b):
    @Defun(tf.float32)
    def body(x):
        with tf.device(SERVERS[1]):
            return x * 2.0

    return body(tf.constant([4.0])) + a


CASES = [
    (with_reads, [13.0, 26.0], A, B),
    (with_writes, [13.0, 24.0], [4.0, 5.0], [9.0, 19.0]),
    (with_devices, [7.0, 14.0], A, B),
    (with_a_target, 11.0, A, B),
    (with_a_fed_target, 11.0, A, B),
    (with_gradients, [[2.0, 2.0], [1.0, 1.0]], A, B),
    (with_branches, [[3.0, 4.0], [10.5, 20.5]], A, B),
    (with_effects_of_a_branch, [2.0], [3.0, 4.0], B),
    (with_a_loop, [17.0, 28.0], A, B),
    (with_its_argument, (4.0, [5.0, 6.0]), A, B),
    (of_the_older_kind, [9.0, 10.0], A, B),
]


def variables():
    made = []
    for name, device, value in (("a", SERVERS[0], A), ("b", SERVERS[1], B)):
        with tf.device(device):
            made.append(tf.get_variable(name, initializer=value, use_resource=True))
    return made


def as_lists(value):
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0].__name__)
def test_bodies_use_what_several_tasks_have(target, case):
    build, result, *after = case
    with tf.Graph().as_default():
        made = variables()
        with tf.Session(target) as session:
            session.run(tf.global_variables_initializer())
            with tf.device("/job:worker/task:0"):
                fetch = build(*made)
            found = session.run(fetch)
            assert nest.map_structure(as_lists, found) == result
            assert [value.tolist() for value in session.run(made)] == after


def test_what_a_body_computes_is_done_where_it_is_called_or_says(target):
    with tf.Graph().as_default() as graph:
        a, b = variables()

        def body(x):
            with tf.device(SERVERS[1]):
                x = tf.square(x, name="there")
            return tf.add(x * a, b, name="here")

        with tf.device("/job:worker/task:0"):
            x = tf.placeholder(tf.float32, [])
            result = defun(body)(x)
            no_op(name="StatefulPartitionedCall/there")  # which takes a body's name
        options = tf.RunOptions(output_partition_graphs=True)
        metadata = tf.RunMetadata()
        with tf.Session(target) as session:
            session.run(tf.global_variables_initializer())
            run = [result, graph.get_operation_by_name("StatefulPartitionedCall/there")]
            assert session.run(run, {x: 2.0}, options, metadata)[0].tolist() == [14.0, 28.0]
            assert session.run(result, {x: 1.0}).tolist() == [11.0, 22.0]
            (call,) = (op for op in graph.get_operations() if op.type == "StatefulPartitionedCall")
            assert session.run(call, {x: 1.0}) is None
            fed = {call.outputs[0]: [5.0, 6.0]}
            assert session.run(tf.identity(result), fed).tolist() == [5.0, 6.0]
    places = {
        node.name.rpartition("/")[2]: node.device.split("/device")[0]
        for part in metadata.partition_graphs for node in part.node if node.op in ("Square", "Add")
    }  # fmt: skip
    assert places == {"there_1": "/job:ps/replica:0/task:1", "here": "/job:worker/replica:0/task:0"}


def test_functions_run_on_the_devices_that_are_fed(target):
    devices = [f"/job:ps/replica:0/task:{number}/device:CPU:0" for number in range(2)]
    with tf.Graph().as_default():
        named = tf.placeholder(tf.string, [])
        rows = tf.data.Dataset.from_tensor_slices([3.0, 4.0])
        with tf.device(devices[1]):
            iterator = tf.data.make_one_shot_iterator(rows)
            handle = iterator.string_handle()
        form = tf.data.get_output_types(rows), tf.data.get_output_shapes(rows)

        @Defun(tf.string)
        def body(text):
            return tf.data.Iterator.from_string_handle(text, *form).get_next() + tf.constant(0.5)

        body.add_to_graph(tf.get_default_graph())
        (taken,) = tf.raw_ops.RemoteCall(target=named, args=[handle], Tout=[tf.float32], f=body)
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        with tf.Session(target) as session:
            assert session.run(taken, {named: devices[1]}) == 3.5
            with pytest.raises(tf.errors.InvalidArgumentError, match="defined on device"):
                session.run(taken, {named: devices[0]})
            trace = tf.RunMetadata()
            assert session.run(taken, {named: devices[1]}, options, trace) == 4.5
            with pytest.raises(tf.errors.UnimplementedError, match="partial run"):
                session.partial_run_setup([taken], [named])
    (constants,) = (
        [node.node_name for node in stats.node_stats if "Const" in node.node_name]
        for stats in trace.step_stats.dev_stats
        if stats.device == devices[1]
    )
    assert len(constants) == 1
