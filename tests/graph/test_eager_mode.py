"""Asking for eager execution: operations run at once, and graphs go on working."""

from __future__ import annotations

import pytest

import stillflow as tf
from stillflow.graph import graph as graphs
from stillflow.graph.eager_mode import eager_mode


@pytest.fixture
def eager():
    tf.reset_default_graph()
    tf.enable_eager_execution()
    yield
    tf.disable_eager_execution()


def test_explicit_graphs_work_where_eager_execution_was_enabled(eager):
    assert tf.executing_eagerly()
    with tf.Graph().as_default(), tf.Session() as session:
        assert not tf.executing_eagerly()
        assert session.run(tf.constant(1) + 1) == 2
    assert tf.executing_eagerly()


def test_operations_outside_graphs_run_at_once(eager):
    assert (tf.constant(1) + 1).numpy() == 2


def test_graphs_are_the_default_again_after_eager_execution(eager):
    tf.disable_eager_execution()
    assert not tf.executing_eagerly()
    assert tf.constant(1).op.type == "Const"


def test_enabling_eager_execution_twice_is_no_error(eager):
    tf.enable_eager_execution()
    assert tf.executing_eagerly()


def test_wrong_arguments_are_refused():
    with pytest.raises(TypeError, match=r"config must be a tf\.ConfigProto"):
        tf.enable_eager_execution(config=1)
    with pytest.raises(ValueError, match="device_policy must be one of"):
        tf.enable_eager_execution(device_policy="explicit")
    with pytest.raises(ValueError, match="execution_mode must be one of"):
        tf.enable_eager_execution(execution_mode=7)


def test_eager_execution_is_for_the_start_of_a_program():
    tf.reset_default_graph()
    tf.constant(1)
    with pytest.raises(ValueError, match="must be called at program startup"):
        tf.enable_eager_execution()


def test_asking_how_operations_run_makes_no_graph():
    tf.reset_default_graph()
    assert not tf.executing_eagerly() and not graphs.has_global_graph()
    try:
        tf.enable_eager_execution()
        assert tf.executing_eagerly()
    finally:
        tf.disable_eager_execution()


def test_resetting_graphs_leaves_eager_execution_on():
    with tf.Graph().as_default(), eager_mode():
        with pytest.raises(AssertionError, match="nested graphs"):
            tf.reset_default_graph()
        graphs._default.reset()
        tf.reset_default_graph()
        assert tf.executing_eagerly()
    assert not tf.executing_eagerly()


def test_resetting_graphs_in_a_graph_leaves_eager_execution_off_until_it_is_left(eager):
    with tf.Graph().as_default() as outer, tf.Graph().as_default():
        graphs._default.reset()
        tf.reset_default_graph()
        assert not tf.executing_eagerly() and not graphs.has_default_graph()
        assert tf.get_default_graph() is not outer
        assert tf.constant(1).name == "Const:0"
        tf.reset_default_graph()
        assert tf.constant(1).name == "Const:0"
        with tf.Graph().as_default() as inner:
            assert tf.get_default_graph() is inner
        with tf.Session() as session:
            assert session.run(tf.constant(3)) == 3
    assert tf.executing_eagerly()


def test_names_and_collections_begin_anew_with_the_default_graph(eager):
    def names():
        with tf.variable_scope(None, "scope") as scope:
            tf.add_to_collection("found", scope.name)
        layer = tf.layers.Dense(2)
        layer(tf.ones([1, 2]))
        return layer.name, layer.kernel.name, tf.get_collection("found")

    first = names()
    assert first == ("dense_1", "dense/kernel:0", ["scope"])
    assert names() == ("dense_2", "dense_1/kernel:0", ["scope", "scope_1"])
    tf.reset_default_graph()
    assert names() == first
