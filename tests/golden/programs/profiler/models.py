"""Profiles: parameters and floating-point operations of models, as messages and as text."""

from __future__ import annotations

import os
import shutil
import tempfile

from tests.golden.registry import Run, program, raised


def convolutional(tf):
    x = tf.placeholder(tf.float32, [8, 12, 12, 3], name="x")
    with tf.variable_scope("net"):
        hidden = tf.layers.conv2d(x, 4, 3, name="conv", activation=tf.nn.relu)
        hidden = tf.layers.max_pooling2d(hidden, 2, 2, name="pool")
        hidden = tf.layers.average_pooling2d(hidden, 2, 1, name="mean")
        hidden = tf.layers.dense(tf.layers.flatten(hidden), 10, name="fc")
    loss = tf.reduce_mean(tf.square(hidden), name="loss") + tf.nn.l2_loss(hidden)
    tf.train.GradientDescentOptimizer(0.1).minimize(loss)


def elementwise(tf):
    a = tf.placeholder(tf.float32, [4, 6], name="a")
    b = tf.placeholder(tf.float32, [4, 6], name="b")
    unknown = tf.placeholder(tf.float32, [None, 6], name="unknown")
    for name in (
        "add",
        "subtract",
        "multiply",
        "maximum",
        "minimum",
        "pow",
        "greater",
        "less",
        "equal",
        "not_equal",
        "squared_difference",
        "greater_equal",
        "less_equal",
    ):
        getattr(tf, name)(a, b, name="of_" + name)
    for name in ("reciprocal", "square", "rsqrt", "log", "negative"):
        getattr(tf, name)(a, name="of_" + name)
    tf.divide(a, b, name="of_divide")
    tf.nn.softmax(a, name="of_softmax")
    tf.add_n([a, b, a], name="of_add_n")
    tf.argmax(a, 1, name="of_argmax")
    tf.reduce_sum(a, 0, name="of_sum")
    tf.matmul(a, b, transpose_a=True, name="of_matmul")
    tf.square(unknown, name="of_unknown")
    image = tf.placeholder(tf.float32, [2, 9, 9, 3], name="image")
    tf.nn.depthwise_conv2d(image, tf.ones([3, 3, 3, 2]), [1, 2, 2, 1], "SAME", name="depthwise")
    tf.nn.conv3d(tf.ones([1, 4, 5, 6, 2]), tf.ones([2, 2, 2, 2, 3]), [1] * 5, "VALID", name="conv")


def profiled(tf, cmd, options):
    """Return the report, and the totals of the message and of what is right below."""
    folder = tempfile.mkdtemp()
    path = os.path.join(folder, "report")
    try:
        result = tf.profiler.profile(
            tf.get_default_graph(), cmd=cmd, options=dict(options, output="file:outfile=" + path)
        )
        with open(path) as file:
            text = file.read()
    finally:
        shutil.rmtree(folder)
    below = [f"{c.name} {c.total_parameters} {c.total_float_ops}" for c in result.children]
    return [text, f"{result.total_parameters} {result.total_float_ops}", *below]


@program
def of_a_convolutional_net(tf):
    convolutional(tf)
    builder = tf.profiler.ProfileOptionBuilder
    facts = {}
    for cmd in ("scope", "graph", "op"):
        facts[cmd + " parameters"] = profiled(tf, cmd, builder.trainable_variables_parameter())
        options = builder(builder.float_operation()).order_by("name").build()
        facts[cmd + " flops"] = profiled(tf, cmd, options)
    return Run({}, facts=facts)


@program
def of_element_wise_operations(tf):
    elementwise(tf)
    options = tf.profiler.ProfileOptionBuilder.float_operation()
    return Run({}, facts={"flops": profiled(tf, "scope", dict(options, order_by="name"))})


@program
def with_options(tf):
    convolutional(tf)

    def builder():
        made = tf.profiler.ProfileOptionBuilder().select(["params", "float_ops"])
        return made.with_max_depth(20)

    cases = {
        "shallow": builder().with_max_depth(2),
        "everything": builder().select(
            ["params", "float_ops", "occurrence", "input_shapes", "op_types"]
        ).with_max_depth(3),
        "by parameters": builder().order_by("params").with_min_parameters(100),
        "many flops": builder().with_min_float_operations(1000),
        "types": builder().with_accounted_types(["Conv2D", "MatMul"]),
        "from": builder().with_node_names(start_name_regexes=["net/.*"]),
        "shown": builder().with_node_names(show_name_regexes=[".*kernel.*"]),
        "hidden": builder().with_node_names(hide_name_regexes=[".*grad.*"]),
        "trimmed": builder().with_node_names(trim_name_regexes=["gradients", "net/fc"]),
        "displayed": builder().with_node_names(
            hide_name_regexes=["gradients.*"]
        ).account_displayed_op_only(True),
    }  # fmt: skip
    facts = {name: profiled(tf, "scope", made.build()) for name, made in cases.items()}
    facts["types by type"] = profiled(tf, "op", cases["types"].build())
    facts["unknown"] = raised(tf.profiler.profile, cmd="nothing")
    facts["defaults"] = repr(sorted(tf.profiler.ProfileOptionBuilder().build().items()))
    facts["time"] = repr(sorted(tf.profiler.ProfileOptionBuilder.time_and_memory().items()))
    return Run({}, facts=facts)
