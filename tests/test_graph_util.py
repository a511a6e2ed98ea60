"""tf.graph_util: parts of graphs, frozen variables, graphs for inference."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf


def names(definition):
    return [node.name for node in definition.node]


def test_sub_graphs_keep_order_control_inputs_and_colocated_nodes():
    with tf.Graph().as_default() as graph:
        a = tf.constant(1.0, name="a")
        tf.constant(2.0, name="unused")
        with tf.control_dependencies([a]):
            b = tf.constant(3.0, name="b")
        with tf.colocate_with(b):
            tf.constant(4.0, name="c")
    part = tf.graph_util.extract_sub_graph(graph.as_graph_def(), ["c"])
    assert names(part) == ["a", "b", "c"]
    assert part.versions.producer == graph.as_graph_def().versions.producer


def test_sub_graphs_refuse_what_is_no_graph_or_no_list():
    with pytest.raises(TypeError, match=r"must be a graph_pb2\.GraphDef proto"):
        tf.graph_util.extract_sub_graph("graph", ["a"])
    with pytest.raises(TypeError, match="dest_nodes must be a list"):
        tf.graph_util.extract_sub_graph(tf.GraphDef(), "a")
    with pytest.raises(AssertionError, match="a is not in graph"):
        tf.graph_util.extract_sub_graph(tf.GraphDef(), ["a"])


@pytest.mark.parametrize("use_resource", [False, True])
def test_a_frozen_graph_computes_the_same_without_variables(use_resource):
    with tf.Graph().as_default() as graph, tf.Session() as session:
        table = tf.get_variable(
            "table", initializer=np.arange(6.0).reshape(3, 2), use_resource=use_resource
        )
        kept = tf.get_variable("kept", initializer=1.0)
        tf.add(tf.gather(table, [2, 0]), tf.cast(kept, tf.float64), name="y")
        session.run(tf.global_variables_initializer())
        frozen = tf.graph_util.convert_variables_to_constants(
            session, graph.as_graph_def(), ["y"], variable_names_blacklist=["kept"]
        )
        expected = session.run("y:0")
    ops = {node.name: node.op for node in frozen.node}
    assert ops["table"] == "Const" and ops["kept"] == "VariableV2"
    with tf.Graph().as_default() as graph, tf.Session() as session:
        tf.import_graph_def(frozen, name="")
        session.run(tf.assign(graph.get_tensor_by_name("kept:0"), 1.0, validate_shape=False))
        np.testing.assert_array_equal(session.run("y:0"), expected)


def test_identities_are_removed_unless_protected_or_under_control():
    with tf.Graph().as_default() as graph:
        a = tf.constant(1.0, name="a")
        b = tf.identity(a, name="b")
        c = tf.identity(b, name="c")
        with tf.control_dependencies([a]):
            d = tf.identity(c, name="d")
        tf.negative(tf.identity(d, name="e"), name="f")
    definition = graph.as_graph_def()
    left = tf.graph_util.remove_training_nodes(definition, protected_nodes=["b"])
    assert names(left) == ["a", "b", "d", "f"]
    assert list(left.node[2].input) == ["b", "^a"] and list(left.node[3].input) == ["d"]


def test_shapes_are_found_by_the_name_of_a_nodes_input():
    with tf.Graph().as_default() as graph:
        tf.placeholder(tf.float32, [None, 2], name="x")
    shape = tf.graph_util.tensor_shape_from_node_def_name(graph, "x")
    assert shape.as_list() == [None, 2]


def test_strings_and_integers_stay_on_the_cpu():
    on_cpu = tf.graph_util.must_run_on_cpu
    with tf.Graph().as_default():
        assert on_cpu(tf.constant("a").op) and on_cpu(tf.constant(1).op.node_def)
        assert not on_cpu(tf.constant(1.0).op)
        assert on_cpu(tf.cast(tf.placeholder(tf.int32), tf.float32).op)
        variable = tf.get_variable("v", initializer=1.0, use_resource=False).op
        assert not on_cpu(variable) and on_cpu(variable, pin_variables_on_cpu=True)
