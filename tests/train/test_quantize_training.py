"""Graphs whose products feel the rounding of quantized inference."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf


def rewrite(build, num_bits=8):
    """Return the graph that `build` makes, rewritten; its nodes by name."""
    with tf.Graph().as_default() as graph:
        build()
        result = tf.train.do_quantize_training_on_graphdef(graph.as_graph_def(), num_bits)
    return result, {node.name: node for node in result.node}


def test_inputs_of_products_are_quantized_by_what_is_known_of_them():
    def build():
        x = tf.placeholder(tf.float32, [1, 4], name="x")
        w = tf.Variable(tf.ones([4, 2]), name="w")
        hidden = tf.nn.relu6(tf.matmul(x, w, name="first"), name="hidden")
        tf.matmul(tf.reshape(tf.tanh(hidden, name="t"), [2, 1], name="flat"), [[1.0]], name="last")

    _, nodes = rewrite(build)
    quantized = {name: node for name, node in nodes.items() if node.op.startswith("Quantize")}
    assert list(nodes["first"].input) == [
        "x/QuantizeAndDequantizeV2", "w/read/QuantizeAndDequantizeV2",
    ]  # fmt: skip
    assert nodes["last"].input[0] == "flat/QuantizeAndDequantizeV2"
    assert quantized["w/read/QuantizeAndDequantizeV2"].input[1] == "w/read/Min/AssignValue"
    assert quantized["flat/QuantizeAndDequantizeV2"].input[1] == "flat/InputMin"
    assert nodes["flat/InputMin"].attr["value"].tensor.float_val[0] == -1.0
    assert quantized["flat/QuantizeAndDequantizeV2"].attr["num_bits"].i == 8


def test_ranges_are_moving_averages():
    def build():
        tf.matmul(tf.placeholder(tf.float32, [1, 2], name="x"), [[1.0], [1.0]], name="y")

    definition, _ = rewrite(build)
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(definition, name="")
        greatest = session.graph.get_tensor_by_name("x/Max/Variable:0")
        for value, average in ((4.0, 4.0), (8.0, 4.004)):
            product = session.run("y:0", {"x:0": [[0.0, value]]})
            assert session.run(greatest) == pytest.approx(average)
        assert product == pytest.approx(4.004, rel=1e-2)  # cut off at the range


def test_averages_are_saved_and_restored_with_the_rest(tmp_path):
    prefix = str(tmp_path / "model")
    with tf.Graph().as_default() as graph:
        w = tf.Variable([[3.0]], name="w")
        tf.matmul([[2.0]], w, name="y")
        saver = tf.train.Saver()
        tf.global_variables_initializer()
    definition = tf.train.do_quantize_training_on_graphdef(graph.as_graph_def(), 8)
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(definition, name="")
        session.run("init")
        session.run("y:0")
        saver.save(session, prefix)
    names = {name for name, _ in tf.train.list_variables(prefix)}
    assert {"w", "w/read/Min/Variable", "w/read/Max/Variable"} <= names
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(definition, name="")
        saver.restore(session, prefix)
        for name in ("w:0", "w/read/Min/Variable:0", "w/read/Max/Variable:0"):
            assert np.all(session.run(name) == 3.0)


def test_gradients_and_graphs_without_products_stay():
    def build():
        with tf.name_scope("gradients"):
            tf.matmul([[1.0]], [[1.0]])

    definition, nodes = rewrite(build)
    assert len(definition.node) == 3 and not any("Quantize" in name for name in nodes)


def test_what_cannot_be_rewritten_is_refused():
    with pytest.raises(tf.errors.OutOfRangeError, match=r"num_bits should be in range \[1, 63\]"):
        rewrite(tf.no_op, 64)

    def many_inputs():
        for _ in range(3):
            tf.matmul(tf.placeholder(tf.float32, [1, 1]), [[1.0]])

    with pytest.raises(tf.errors.UnimplementedError, match="Found an unknown op: Placeholder_2"):
        rewrite(many_inputs)

    def two_savers():
        tf.matmul([[1.0]], tf.Variable([[1.0]]))
        tf.train.Saver()
        tf.train.Saver()

    with pytest.raises(tf.errors.InvalidArgumentError, match="multiple SaveV2 ops"):
        rewrite(two_savers)
