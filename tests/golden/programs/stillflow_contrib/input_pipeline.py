"""Small packages of tf.contrib: lists of files, operations of a graph, parts of variables."""

from __future__ import annotations

import os

from tests.golden.programs.saved_model import directory
from tests.golden.registry import Run, internal_module, program

STRINGS = ["a", "b", "c"]


def seeking(tf):
    return internal_module(
        tf, "stillflow_contrib.input_pipeline.seeking",
        "contrib.input_pipeline.python.ops.input_pipeline_ops"
    )


@program
def next_elements(tf):
    from_list = seeking(tf).obtain_next
    counter = tf.get_variable(
        "counter",
        initializer=tf.constant(-1, dtype=tf.int64),
        dtype=tf.int64,
        trainable=False,
        use_resource=False,
    )
    element = from_list(tf.constant(STRINGS), counter)
    init = tf.global_variables_initializer()
    return [Run({"element": element}, setup=[init])] + [Run({"element": element})] * 4


@program
def sought(tf):
    import random

    first = seeking(tf).seek_next(STRINGS[:])
    with tf.variable_scope("more"):
        random.seed(3)
        shuffled = seeking(tf).seek_next(STRINGS[:], shuffle=True, seed=5, num_epochs=2)
    init = tf.global_variables_initializer()
    fetches = {"first": first, "shuffled": shuffled}
    return [Run(fetches, setup=[init])] + [Run(fetches)] * 5 + [Run({"end": shuffled}, fails=True)]


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


@program
def parts_of_a_variable(tf):
    def made(value):
        whole = tf.get_variable(f"whole_{value}", initializer=[float(value)] * 4, use_resource=True)

        def fill(buffer):
            buffer["first"], buffer["second"] = whole[:2], whole[2:]

        def consume(buffer):
            return whole.assign(tf.concat([buffer["first"], buffer["second"]], 0))

        parts = tf.contrib.checkpoint.split_dependency(
            ("first", "second"), (tf.float32, tf.float32), fill, consume, whole.device or "/cpu:0"
        )
        holder = tf.contrib.checkpoint.Checkpointable()
        holder.first, holder.second = parts["first"], parts["second"]
        return whole, tf.train.Checkpoint(holder=holder)

    with directory() as folder, tf.Graph().as_default(), tf.Session() as session:
        whole, checkpoint = made(3)
        session.run(whole.initializer)
        session.run(whole.assign([1.0, 2.0, 3.0, 4.0]))
        path = checkpoint.save(os.path.join(folder, "x"), session=session)
        listed = [[name, shape] for name, shape in tf.train.list_variables(path)]
        other, again = made(7)
        session.run(other.initializer)
        again.restore(path).assert_consumed().run_restore_ops(session)
        facts = {"listed": listed, "restored": session.run(other).tolist()}
    return Run(facts=facts)
