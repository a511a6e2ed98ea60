"""tf.contrib.input_pipeline: next elements of lists, shuffled and repeated."""

from __future__ import annotations

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
