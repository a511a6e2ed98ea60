"""Contexts of loops: their messages, their exits, the effects of errors."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf

pytestmark = pytest.mark.usefixtures("graph")  # each test builds one of its own


def contexts():
    return tf.get_collection(tf.GraphKeys.WHILE_CONTEXT)


def powers(x, count=3):
    return tf.while_loop(lambda i, y: i < count, lambda i, y: (i + 1, y * x), (0, x))[1]


def test_only_outermost_loops_stand_in_the_collection():
    tf.while_loop(
        lambda i: i < 3,
        lambda i: tf.while_loop(lambda j: j < i, lambda j: j + 1, [i]) + 1,
        [tf.constant(0)],
    )
    (context,) = contexts()
    (nested,) = context.to_proto().nested_contexts
    assert nested.while_ctxt.context_name == "while/while/while_context"


def test_a_context_read_back_is_written_the_same():
    powers(tf.placeholder(tf.float32, [2]))
    meta_graph = tf.train.export_meta_graph()
    message = contexts()[0].to_proto()
    with tf.Graph().as_default():
        tf.train.import_meta_graph(meta_graph)
        assert contexts()[0].to_proto() == message


def test_an_imported_loop_has_a_frame_and_a_gradient_of_its_own():
    x = tf.placeholder(tf.float32, [], name="x")
    tf.identity(powers(x), name="y")
    meta_graph = tf.train.export_meta_graph()
    with tf.Graph().as_default() as graph:
        tf.train.import_meta_graph(meta_graph, import_scope="in")
        frames = {op.get_attr("frame_name") for op in graph.get_operations() if op.type == "Enter"}
        assert frames == {b"in/while/while_context"}
        x, y = (graph.get_tensor_by_name(f"in/{name}:0") for name in ("x", "y"))
        (gradient,) = tf.gradients(y, x)
        with tf.Session() as session:
            assert session.run(gradient, {x: 2.0}) == 32.0


def test_a_context_outside_the_exported_scope_is_not_written():
    powers(tf.constant(1.0))
    assert contexts()[0].to_proto(export_scope="elsewhere") is None


def test_a_refused_gradient_leaves_the_graph_outside_of_all_loops(graph):
    x = tf.placeholder(tf.float32, [])
    (first,) = tf.gradients(powers(x), x)
    with pytest.raises(TypeError, match="Second-order gradient for while loops not supported"):
        tf.gradients(first, x)
    assert graph._get_control_flow_context() is None
    with tf.Session() as session:
        assert session.run(x + 1.0, {x: 1.0}) == 2.0


def test_a_refused_body_leaves_the_graph_outside_of_all_loops(graph):
    with pytest.raises(ValueError, match="enters the loop with shape"):
        tf.while_loop(lambda y: True, lambda y: tf.concat([y, y], 0), [tf.zeros([2])])
    assert graph._get_control_flow_context() is None


def test_graphs_without_loops_check_nothing(graph):
    tf.cond(tf.constant(True), lambda: 1, lambda: 2)
    assert graph._loop_check is None


@pytest.mark.parametrize("limit, message", [
    (None, "maximum_iterations was not passed"),
    ("inside", "must be statically known"),
])  # fmt: skip
def test_a_compiled_loop_needs_a_limit_for_its_stacks(limit, message):
    from stillflow.ops.control_flow.contexts import XLAControlFlowContext

    x = tf.placeholder(tf.float32, [])
    inner_limit = None

    def body(i, y):
        nonlocal inner_limit
        if limit is not None:
            inner_limit = tf.cast(y, tf.int32)
        _, z = tf.while_loop(
            lambda j, z: j < 2,
            lambda j, z: (j + 1, tf.exp(z)),
            (0, y),
            maximum_iterations=inner_limit,
        )
        return i + 1, z

    compiled = XLAControlFlowContext()
    compiled.Enter()
    _, y = tf.while_loop(lambda i, y: i < 2, body, (0, x), maximum_iterations=2)
    compiled.Exit()
    with pytest.raises(ValueError, match=message):
        tf.gradients(y, x)


def test_shapes_are_remembered_rather_than_values():
    x = tf.placeholder(tf.float32, [None])
    shapes = (tf.TensorShape([]), tf.TensorShape([None]))
    _, y = tf.while_loop(
        lambda i, y: i < 2,
        lambda i, y: (i + 1, y + tf.reduce_sum(y)),
        (0, x),
        shape_invariants=shapes,
    )
    (gradient,) = tf.gradients(y, x)
    stacks = [op for op in tf.get_default_graph().get_operations() if op.type == "StackV2"]
    assert stacks
    assert {op.get_attr("elem_type") for op in stacks} == {tf.int32}
    with tf.Session() as session:
        np.testing.assert_allclose(session.run(gradient, {x: [1.0, 2.0]}), [9.0, 9.0])


@pytest.mark.filterwarnings("ignore:Converting sparse IndexedSlices")
def test_dense_and_sparse_gradients_of_one_table_meet():
    table = tf.Variable(np.ones([3, 2], np.float32))

    def body(i, total):
        rows = tf.reduce_sum(tf.nn.embedding_lookup(table, [0, 2]))
        return i + 1, total + rows * rows

    _, total = tf.while_loop(lambda i, t: i < 2, body, (0, tf.reduce_sum(table)))
    (gradient,) = tf.gradients(total, [table])
    with tf.Session() as session:
        session.run(table.initializer)
        dense = session.run(tf.convert_to_tensor(gradient))
    np.testing.assert_allclose(dense, [[17.0, 17.0], [1.0, 1.0], [17.0, 17.0]])


def test_a_gradient_agrees_with_finite_differences():
    x = tf.placeholder(tf.float64, [2])
    w = tf.constant([0.5, -0.3], tf.float64)

    def body(i, y):
        return i + 1, tf.cond(i < 2, lambda: tf.sin(y * w), lambda: y * y + x)

    _, y = tf.while_loop(lambda i, y: i < 4, body, (0, x))
    total = tf.reduce_sum(y)
    (gradient,) = tf.gradients(total, x)
    at, step = np.array([0.7, -1.1]), 1e-6
    with tf.Session() as session:
        computed = session.run(gradient, {x: at})
        for i, unit in enumerate(np.eye(2)):
            ahead, behind = (
                session.run(total, {x: at + sign * step * unit}) for sign in (1.0, -1.0)
            )
            assert computed[i] == pytest.approx((ahead - behind) / (2 * step), rel=1e-6)
