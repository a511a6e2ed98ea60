"""Statistics of operations."""

from __future__ import annotations

import pytest

import stillflow as tf
from stillflow.profiler import statistics


def test_statistics_are_found_by_type(monkeypatch):
    monkeypatch.setattr(statistics, "_functions", {})

    @statistics.RegisterStatistics("Const", "weight")
    def weigh(graph, node):
        return statistics.OpStats("weight", 5)

    with tf.Graph().as_default() as graph:
        node = tf.constant(1).op.node_def
    assert statistics.get_stats_for_node_def(graph, node, "weight").value == 5
    assert statistics.get_stats_for_node_def(graph, node, "flops").value is None
    with pytest.raises(KeyError):
        statistics.RegisterStatistics("Const", "weight")(weigh)


def test_statistics_add_up():
    total = statistics.OpStats("flops")
    total += statistics.OpStats("flops", 3)
    total += statistics.OpStats("flops", 4)
    total += statistics.OpStats("flops")
    assert total.value == 7
    with pytest.raises(ValueError, match="Can't add"):
        total += statistics.OpStats("weight", 1)


@pytest.mark.parametrize("names", [(1, "flops"), ("a,b", "flops"), ("A", None), ("A", "x,y")])
def test_names_are_strings_without_commas(names):
    with pytest.raises(TypeError):
        statistics.RegisterStatistics(*names)


def test_flops_of_common_operations_are_registered():
    with tf.Graph().as_default() as graph:
        rows = tf.placeholder(tf.float32, [None, 16])
        product = tf.matmul(tf.zeros([25, 16]), tf.zeros([16, 9]))
        unknown = tf.matmul(rows, tf.zeros([16, 9]))
        unheard = tf.nn.relu(rows)
    assert statistics.get_stats_for_node_def(graph, product.op.node_def, "flops").value == 7200
    assert statistics.get_stats_for_node_def(graph, unheard.op.node_def, "flops").value is None
    with pytest.raises(ValueError, match=r"Shape \(\?, 16\) is not fully defined"):
        statistics.get_stats_for_node_def(graph, unknown.op.node_def, "flops")
    with pytest.raises(KeyError, match="two statistical functions with name 'MatMul,flops'"):
        statistics.RegisterStatistics("MatMul", "flops")(None)
