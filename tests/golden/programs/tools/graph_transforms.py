"""tensorflow.tools.graph_transforms: frozen graphs rewritten."""

import re

import numpy as np
from tests.golden.registry import Run, program, raised


def _weights(*shape):
    return np.random.RandomState(sum(shape)).uniform(-1, 1, shape).astype(np.float32)


def _transform(tf):
    from importlib import import_module

    if "stillflow" in tf.__name__:
        return import_module("stillflow.tools.graph_transforms").TransformGraph
    return import_module("tensorflow.tools.graph_transforms").TransformGraph


def _facts(tf, transforms, outputs=("y",), inputs=("x",)):
    """Return the facts of the default graph after each list of transforms."""
    graph_def = tf.get_default_graph().as_graph_def()
    transform = _transform(tf)
    facts = {}
    for names in transforms:
        names = [names] if isinstance(names, str) else names
        result = transform(graph_def, list(inputs), list(outputs), names)
        facts[" ".join(names)] = [_described(tf, node) for node in result.node]
    return Run(facts=facts)


def _described(tf, node):
    attrs = []
    for name in sorted(node.attr):
        value = node.attr[name]
        if value.HasField("tensor"):
            array = tf.make_ndarray(value.tensor)
            shown = np.round(array.ravel()[:8].astype(np.float64), 5).tolist()
            content = len(value.tensor.tensor_content)
            attrs.append((name, str(array.dtype), str(array.shape), content, shown))
        elif value.WhichOneof("value") == "f":
            attrs.append((name, round(value.f, 6)))
        else:
            attrs.append((name, " ".join(str(value).split())))
    text = str((node.name, node.op, list(node.input), node.device, attrs))
    return re.sub(r"__cf__\d+", "__cf__", text)  # counts on through the whole process


@program
def names_and_attributes(tf):
    x = tf.placeholder(tf.float32, [None, 4], "x")
    with tf.device("/gpu:1"):
        h = tf.matmul(x, tf.constant(_weights(4, 3), name="w"), name="product")
    with tf.control_dependencies([h]):
        h = tf.concat([h, tf.identity(h)], 1, name="both")
    tf.multiply(tf.identity(h), 2.0, name="y")
    return _facts(tf, [
        "remove_device", "set_device(device=\"/cpu:0\")",
        "set_device(device=\"/cpu:0\", if_default=true)",
        "remove_control_dependencies", "remove_attribute(attribute_name=T)",
        "remove_attribute(op_name=Mul, attribute_name=T)",
        "rename_attribute(old_attribute_name=T, new_attribute_name=Tee)",
        "rename_op(old_op_name=Mul, new_op_name=Multiply)", "obfuscate_names",
        "sort_by_execution_order", "backport_concatv2", "add_default_attributes",
        "remove_nodes(op=Identity)", "remove_nodes(op=Identity, op=Mul, max_inputs=2)",
        "insert_logging(op=MatMul, show_op=true, show_name=1, message=\"m: \", first_n=3)",
        "insert_logging(prefix=bo)", [],
    ])


@program
def unused_nodes(tf):
    x = tf.placeholder(tf.float32, [None, 4], "x")
    h = tf.nn.relu(tf.square(x), name="h")
    tf.exp(h, name="aside")
    tf.add(h, tf.constant(1.0), name="y")
    facts = _facts(tf, ["strip_unused_nodes",
                        ["strip_unused_nodes", "sort_by_execution_order"]]).facts
    facts.update(_facts(tf, [
        "strip_unused_nodes(type=half, shape=\"1,2\")",
        "strip_unused_nodes(name=h, type_for_name=int32, shape_for_name=\"3\")",
    ], inputs=["h"]).facts)
    return Run(facts=facts)


@program
def duplicates(tf):
    x = tf.placeholder(tf.float32, [2, 4], "x")
    with tf.name_scope("once"):
        a = tf.exp(x + 1.0)
    with tf.name_scope("again"):
        b = tf.exp(x + 1.0)
    c = tf.random_uniform([2, 4]) + tf.random_uniform([2, 4])
    tf.add_n([a, b, c], name="y")
    return _facts(tf, ["merge_duplicate_nodes"])


@program
def weights(tf):
    x = tf.placeholder(tf.float32, [None, 40], "x")
    w = tf.constant(_weights(40, 30), name="w")
    tf.matmul(x, w + tf.constant(np.zeros((40, 30), np.float32), name="zero"), name="y")
    tf.constant(-np.ones((40, 30), np.float32), name="ones")
    return _facts(tf, ["quantize_weights", "round_weights(num_steps=16)", "round_weights",
                       "quantize_weights(minimum_size=2000)"])


@program
def batch_norms(tf):
    x = tf.placeholder(tf.float32, [1, 6, 6, 2], "x")
    h = tf.nn.conv2d(x, _weights(3, 3, 2, 4), [1] * 4, "SAME", name="conv")
    h = h * _weights(4)
    h = tf.nn.depthwise_conv2d_native(h, _weights(3, 3, 4, 2), [1] * 4, "SAME", name="wide")
    h = tf.multiply(h, _weights(8), name="scaled")
    h = tf.matmul(tf.reshape(h, [36, 8]), _weights(8, 3), name="product")
    tf.multiply(h, _weights(3), name="y")
    return _facts(tf, ["fold_batch_norms"])


@program
def old_batch_norms(tf):
    x = tf.placeholder(tf.float32, [1, 6, 6, 2], "x")
    conv = tf.nn.conv2d(x, _weights(3, 3, 2, 4), [1] * 4, "SAME", name="conv")
    h = _raw_norm(tf, conv, 4, "norm")
    split = tf.space_to_batch_nd(h, [2, 2], [[2, 2], [2, 2]])
    inner = tf.nn.conv2d(split, _weights(3, 3, 4, 4), [1] * 4, "VALID", name="inner")
    joined = tf.batch_to_space_nd(inner, [2, 2], [[0, 0], [0, 0]], name="joined")
    h = _raw_norm(tf, joined, 4, "next")
    both = [tf.nn.conv2d(h, _weights(1, 1, 4, n), [1] * 4, "SAME", name="part") for n in (2, 3)]
    _raw_norm(tf, tf.concat(both, 3, name="both"), 5, "y")
    return _facts(tf, ["fold_old_batch_norms", "flatten_atrous_conv",
                       ["flatten_atrous_conv", "fold_old_batch_norms"]])


def _raw_norm(tf, x, channels, name):
    return tf.raw_ops.FusedBatchNorm(
        x=x, scale=tf.constant(_weights(channels) + 2.0), offset=tf.constant(_weights(channels)),
        mean=tf.constant(_weights(channels)), variance=tf.constant(_weights(channels) + 2.0),
        is_training=False, name=name)[0]


@program
def constants(tf):
    x = tf.placeholder(tf.float32, [3, 4], "x")
    shape = tf.concat([tf.shape(x), [1]], 0)
    h = tf.reshape(x, shape) + tf.exp(tf.constant([1.0, 2.0]) * 3.0)
    h = h + tf.random_uniform([2], seed=1)
    tf.identity(h, name="y")
    return _facts(tf, ["fold_constants", "fold_constants(ignore_errors=true)",
                       "fold_constants(exclude_op=Exp)"])


@program
def refused(tf):
    x = tf.placeholder(tf.float32, [3, 4], "x")
    tf.identity(x, name="y")
    graph_def = tf.get_default_graph().as_graph_def()
    transform = _transform(tf)
    return Run(facts={
        name: raised(transform, graph_def, ["x"], ["y"], [name]) for name in (
            "no_such_transform", "rename_node", "remove_attribute", "rename_op(old_op_name=Mul)",
            "remove_nodes", "(", "remove_nodes(op", "remove_nodes(=",
            "set_device(if_default=perhaps)", "round_weights(num_steps=many)",
            "fold_constants(ignore_errors=2)",
        )
    })
