"""Dependencies in a GraphDef; a part of it as one node."""

from __future__ import annotations

import pytest

import stillflow as tf
from stillflow.train import graph_summary


def chain() -> tf.GraphDef:
    """Return a -> b -> c -> d -> e, and f that needs only b."""
    graph = tf.GraphDef()
    for name, source in zip("abcde", ["", *"abcd"]):
        graph.node.add(name=name, op="Identity", input=[source] if source else [])
    graph.node.add(name="f", op="Identity", input=["b:0"])
    return graph


def test_a_summary_has_inputs_nodes_and_places() -> None:
    inputs, nodes, places = graph_summary.extract_graph_summary(chain())
    assert inputs["f"] == ["b"] and nodes["c"].input == ["b"] and places["d"] == 3
    assert graph_summary.bfs_for_reachable_nodes(["f"], inputs) == {"f", "b", "a"}
    with pytest.raises(AssertionError, match="q is not in graph"):
        graph_summary.assert_nodes_are_present(nodes, ["a", "q"])


def test_a_part_becomes_one_node() -> None:
    fused = tf.contrib.framework.fuse_op(chain(), ["a"], ["e"], [1], True, "new", "Fused")
    assert [node.name for node in fused.node] == ["a", "new", "e", "f"]
    assert fused.node[1].input == ["a"] and fused.node[2].input == ["new"]
    assert fused.node[1].attr["_output_quantized"].b
    assert list(fused.node[1].attr["_output_types"].list.type) == [1]


def test_a_part_may_use_its_inputs_alone() -> None:
    graph = chain()
    graph.node[3].input.append("a")
    with pytest.raises(TypeError, match="Node d uses input a not in input_nodes"):
        tf.contrib.framework.fuse_op(graph, ["b"], ["e"], [1], False, "new", "Fused")
