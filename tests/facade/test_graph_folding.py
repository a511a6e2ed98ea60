"""A graph whose fetches are known loses what they do not need, and what constants decide."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import stillflow as tf
from stillflow.facade.graph_folding import OptimizeGraph


def folded(graph: tf.Graph, fetch: Any) -> Any:
    meta = tf.MetaGraphDef(graph_def=graph.as_graph_def())
    meta.collection_def["train_op"].node_list.value.append(fetch.name)
    return OptimizeGraph(tf.ConfigProto(), meta)


def test_what_depends_on_constants_becomes_one() -> None:
    with tf.Graph().as_default() as graph:
        fetch = tf.signal.hann_window(5, name="window")
        tf.constant(3.0, name="unused")
        expected = tf.Session().run(fetch)
    result = folded(graph, fetch)
    assert [node.op for node in result.node] == ["Const"]
    assert result.node[0].name == fetch.op.name
    np.testing.assert_array_equal(tf.make_ndarray(result.node[0].attr["value"].tensor), expected)


def test_the_rest_is_kept_and_runs() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [], name="x")
        factor = tf.add(1.0, 2.0, name="factor")
        fetch = tf.add(x * factor, tf.random_uniform([]) * 0, name="y")
    result = folded(graph, fetch)
    kinds = {node.name: node.op for node in result.node}
    assert kinds["factor"] == "Const" and kinds["x"] == "Placeholder"
    assert "RandomUniform" in kinds.values() and "factor/x" not in kinds
    with tf.Graph().as_default(), tf.Session() as session:
        tf.import_graph_def(result, name="")
        assert session.run("y:0", {"x:0": 2.0}) == 6.0


def test_the_config_is_checked() -> None:
    with pytest.raises(TypeError, match="Expected config_proto to be a ConfigProto"):
        OptimizeGraph({}, tf.MetaGraphDef())
