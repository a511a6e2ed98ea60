"""Importing a GraphDef writes left out attributes into it."""

from __future__ import annotations

import stillflow as tf


def test_importing_adds_defaults_to_the_callers_message():
    graph_def = tf.GraphDef()
    for name in ("a", "b"):
        graph_def.node.add(name=name, op="Placeholder").attr["dtype"].type = 1
    product = graph_def.node.add(name="c", op="MatMul", input=["a", "b"])
    product.attr["T"].type = 1
    product.attr["transpose_b"].b = True
    with tf.Graph().as_default():
        tf.import_graph_def(graph_def)
    assert not product.attr["transpose_a"].b and product.attr["transpose_b"].b
    assert sorted(product.attr) == ["T", "transpose_a", "transpose_b"]
    assert graph_def.node[0].attr["shape"].shape.unknown_rank
