"""Reports of traced runs: times by operation, the graph that ran, costs."""

from __future__ import annotations

import threading
from collections import Counter

import numpy as np
import pytest

import stillflow as tf
from stillflow.protos import CallableOptions
from stillflow.runtime.explain import recorded

TRACE = {"trace_level": tf.RunOptions.FULL_TRACE}


def model():
    x = tf.placeholder(tf.float32, [None, 4], name="x")
    return x, tf.nn.relu(tf.matmul(x, tf.ones([4, 2]), name="product") - 1.0, name="out")


def test_a_trace_has_the_times_and_outputs_of_operations(session, cpu):
    x, out = model()
    metadata = tf.RunMetadata()
    value = session.run(out, {x: np.ones([3, 4])}, tf.RunOptions(**TRACE), metadata)
    assert value.tolist() == [[3.0, 3.0]] * 3
    (device,) = metadata.step_stats.dev_stats
    assert device.device == "/job:localhost/replica:0/task:0/device:CPU:0"
    stats = {node.node_name: node for node in device.node_stats}
    product = stats["product"]
    assert product.timeline_label == "product = MatMul(x, ones)"
    described = product.output[0].tensor_description
    assert [dim.size for dim in described.shape.dim] == [3, 2]
    assert described.allocation_description.requested_bytes == 3 * 2 * 4
    starts = [node.all_start_nanos for node in device.node_stats]
    assert starts == sorted(starts) and all(n.all_end_rel_micros >= 1 for n in device.node_stats)


def test_a_trace_tells_of_operations_that_ran_as_one(session, cpu):
    made = [tf.Variable(tf.ones([4, 3]), name=f"v{n}") for n in range(3)]
    loss = tf.add_n([tf.reduce_sum(v * v) for v in made])
    train = tf.train.AdamOptimizer().minimize(loss)
    session.run(tf.global_variables_initializer())
    metadata = tf.RunMetadata()
    session.run(train, None, tf.RunOptions(**TRACE), metadata)
    (device,) = metadata.step_stats.dev_stats
    names = [node.node_name for node in device.node_stats]
    assert {f"Adam/update_v{n}/ApplyAdam" for n in range(3)} <= set(names)
    assert len(names) == len(set(names))


def test_a_trace_tells_of_every_turn_of_a_loop(session, cpu):
    x = tf.placeholder(tf.float32, [2, 2])
    _, y = tf.while_loop(lambda i, _: i < 5, lambda i, a: (i + 1, tf.matmul(a, a)), (0, x))
    (slope,) = tf.gradients(y, x)
    metadata = tf.RunMetadata()
    for _ in range(2):
        session.run(slope, {x: np.eye(2)}, tf.RunOptions(**TRACE), metadata)
    (device,) = metadata.step_stats.dev_stats
    counts = Counter(node.node_name for node in device.node_stats)
    assert (counts["while/Less"], counts["while/MatMul"]) == (6, 5)
    assert counts["gradients/while/MatMul_grad/MatMul"] == 5
    starts = [n.all_start_nanos for n in device.node_stats if n.node_name == "while/MatMul"]
    assert starts == sorted(set(starts))


def test_a_trace_tells_what_memory_an_operation_made(session, cpu):
    x, _ = model()
    product = session.graph.get_tensor_by_name("product:0")
    metadata = tf.RunMetadata()
    fetches = [tf.reshape(product, [-1]), tf.matmul(product, tf.ones([2, 2]), name="next")]
    session.run(fetches, {x: np.ones([3, 4])}, tf.RunOptions(**TRACE), metadata)
    (device,) = metadata.step_stats.dev_stats
    stats = {node.node_name: node for node in device.node_stats}
    (memory,) = stats["next"].memory
    assert (memory.allocator_name, memory.total_bytes, memory.peak_bytes) == ("cpu", 24, 24)
    assert memory.allocation_records[0].alloc_micros == stats["next"].all_start_micros
    assert not stats["Reshape"].memory  # it hands on what it took


def test_metadata_is_emptied_where_nothing_is_asked_for(session):
    x, out = model()
    metadata = tf.RunMetadata()
    feeds = {x: np.ones([1, 4])}
    session.run(out, feeds, tf.RunOptions(**TRACE), metadata)
    session.run(out, feeds, run_metadata=metadata)
    assert not metadata.HasField("step_stats")
    session.run(out, feeds, tf.RunOptions(**TRACE))  # nowhere to tell it


def test_partition_graphs_hold_what_ran(session):
    x, out = model()
    tf.constant(1.0, name="unused")
    metadata = tf.RunMetadata()
    options = tf.RunOptions(output_partition_graphs=True)
    session.run(out, {x: np.ones([1, 4])}, options, metadata)
    (part,) = metadata.partition_graphs
    names = {node.name for node in part.node}
    assert {"product", "out"} <= names and "unused" not in names
    assert all(node.device for node in part.node)


def test_costs_are_measured_every_so_often():
    config = tf.ConfigProto(graph_options=tf.GraphOptions(build_cost_model=3))
    with tf.Graph().as_default(), tf.Session(config=config) as session:
        x, out = model()
        for step in range(6):
            metadata = tf.RunMetadata()
            session.run(out, {x: np.ones([1, 4])}, run_metadata=metadata)
            assert metadata.HasField("cost_graph") == (step % 3 == 2)
        nodes = {node.name: node for node in metadata.cost_graph.node}
        source = nodes["out"].input_info[0].preceding_node
        assert nodes["product"].output_info[0].size == 8
        assert nodes["sub"].id == source


def test_traced_runs_of_several_threads_keep_apart(session):
    x, out = model()
    counts = []

    def run(size):
        for _ in range(20):
            metadata = tf.RunMetadata()
            session.run(out, {x: np.ones([size, 4])}, tf.RunOptions(**TRACE), metadata)
            counts.append(len(metadata.step_stats.dev_stats[0].node_stats))

    threads = [threading.Thread(target=run, args=(size,)) for size in (1, 1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(counts)) == 1 and len(counts) == 60


def test_callables_made_of_options_take_metadata(session, cpu):
    x = tf.placeholder(tf.float32, name="x")
    y = tf.add(x, 1.0, name="y")
    options = CallableOptions(feed=[x.name], fetch=[y.name], target=[y.op.name])
    options.run_options.trace_level = tf.RunOptions.FULL_TRACE
    function = session._make_callable_from_options(options)
    metadata = tf.RunMetadata()
    assert function(1.0) == [2.0]
    assert function(2.0, run_metadata=metadata) == [3.0]
    assert len(metadata.step_stats.dev_stats) == 1
    with pytest.raises(tf.errors.InvalidArgumentError, match="Expected 1 feed values, but got 0"):
        function()


def test_options_of_other_types_are_refused(session):
    x = tf.constant(1.0)
    with pytest.raises(TypeError, match=r"options must be a tf\.RunOptions"):
        session.run(x, options=3)
    with pytest.raises(TypeError, match=r"run_metadata must be a tf\.RunMetadata"):
        session.run(x, run_metadata={})


def test_each_operation_is_told_of_once(session, cuda):
    x = tf.placeholder(tf.float32, [3])
    made = [tf.get_variable(f"v{n}", [3], use_resource=bool(n)) for n in range(2)]
    updates = [tf.assign(v, x) for v in made]
    y = tf.tensordot(x, x, 1) + tf.random_uniform([], seed=3)
    session.run(tf.global_variables_initializer())
    for fetches in (updates, y):
        metadata = tf.RunMetadata()
        session.run(fetches, {x: np.ones(3)}, tf.RunOptions(**TRACE), metadata)
        stats = metadata.step_stats.dev_stats
        names = [node.node_name for device in stats for node in device.node_stats]
        assert names and len(names) == len(set(names))


def test_runs_of_many_sizes_share_plans_and_tell_of_their_own_sizes(session, cpu):
    x, out = model()
    with recorded() as plans:
        for rows in range(1, 200):
            metadata = tf.RunMetadata()
            session.run(out, {x: np.ones([rows, 4])}, tf.RunOptions(**TRACE), metadata)
            (device,) = metadata.step_stats.dev_stats
            (product,) = [node for node in device.node_stats if node.node_name == "product"]
            sizes = product.output[0].tensor_description.shape.dim
            assert [dim.size for dim in sizes] == [rows, 2]
    assert len(plans) <= 3
