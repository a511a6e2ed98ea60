"""Imported nodes and the names that they get."""

from __future__ import annotations

import stillflow as tf


def nodes(*names):
    with tf.Graph().as_default() as graph:
        for name in names:
            tf.constant(1.0, name=name)
    return graph.as_graph_def()


def test_no_number_leads_to_a_name_of_the_graph_def(graph):
    tf.constant(1.0, name="x")
    tf.import_graph_def(nodes("x", "x_1"), name="")
    assert [op.name for op in graph.get_operations()] == ["x", "x_2", "x_1"]


def test_no_two_nodes_of_a_scope_that_is_used_again_get_one_name(graph):
    """TensorFlow gives both nodes the name there/x_1, and loses one of them."""
    with tf.name_scope("there"):
        tf.constant(1.0, name="x")
    tf.import_graph_def(nodes("x", "x_1"), name="there/")
    names = [op.name for op in graph.get_operations()]
    assert names == ["there/x", "there/x_1", "there/x_1_1"]
    assert [graph.get_operation_by_name(name).name for name in names] == names


def test_a_second_saver_after_an_import_takes_the_scope_of_the_first(graph):
    with tf.Graph().as_default() as first:
        tf.Variable(1.0, name="v")
        described = tf.train.Saver().as_saver_def()
    tf.train.import_meta_graph(tf.train.export_meta_graph(saver_def=described, graph=first))
    saver = tf.train.Saver()
    assert saver.saver_def.save_tensor_name == "save/control_dependency_1:0"
