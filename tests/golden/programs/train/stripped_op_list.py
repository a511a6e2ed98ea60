"""tf.contrib.util: the operations that a GraphDef uses, and their definitions."""

from __future__ import annotations

from tests.golden.registry import Run, program


@program
def operations_of_a_graph(tf):
    with tf.Graph().as_default() as graph:
        twice = tf.function(lambda x: x + tf.square(x), autograph=False)
        tf.tanh(twice(tf.constant(1.0)))
        graph_def = graph.as_graph_def()
    util = tf.contrib.util
    ops = util.stripped_op_list_for_graph(graph_def)
    return Run(
        facts={
            "used": sorted(util.ops_used_by_graph_def(graph_def)),
            "listed": [
                [op.name, [each.name for each in op.input_arg], [each.name for each in op.attr]]
                for op in ops.op
            ],
        }
    )
