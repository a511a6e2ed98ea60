"""Receptive fields of networks, and graphs copied into others."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, internal_module, program, raised


def _layer(tf, inputs, size, stride, name, padding="VALID"):
    return tf.contrib.slim.conv2d(inputs, 1, [size, size] if isinstance(size, int) else size,
                                  stride=stride, padding=padding, activation_fn=None, scope=name)


def _network(tf, first=1, ways="VALID", resolution=None):
    """Two ways from an image to their sum."""
    images = tf.placeholder(tf.float32, (1, resolution, resolution, 1), name="input_image")
    left = _layer(tf, images, first, 4, "L1", ways)
    right = _layer(tf, tf.pad(images, [[0, 0], [1, 0], [1, 2], [0, 0]]), 3, 2, "L2", ways)
    right = _layer(tf, right, [1, 3], 2, "L3", ways)
    return tf.nn.relu(left + right, name="output")


def _field(tf, build, **settings):
    compute = tf.contrib.receptive_field.compute_receptive_field_from_graph_def
    with tf.Graph().as_default() as graph:
        build(tf)
        field = compute(graph.as_graph_def(), "input_image", "output", **settings)
        return [[str(each) for each in field]]


def _refused(tf, build, output="output", **settings):
    with tf.Graph().as_default() as graph:
        build(tf)
        return raised(tf.contrib.receptive_field.compute_receptive_field_from_graph_def,
                      graph, "input_image", output, **settings)


def _same(tf):
    _network(tf, 1, "SAME")


def _pooled(tf):
    images = tf.placeholder(tf.float32, (None, 32, 28, 2), name="input_image")
    pooled = tf.nn.max_pool(images, [1, 3, 2, 1], [1, 2, 1, 1], "SAME")
    pooled = tf.nn.avg_pool(pooled, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
    kernel = tf.get_variable("weights", [3, 5, 2, 1])
    found = tf.nn.depthwise_conv2d_native(pooled, kernel, [1, 1, 1, 1], "SAME")
    tf.identity(found, name="output")


def _dropped(tf):
    images = tf.placeholder(tf.float32, (None, None, None, 1), name="input_image")
    kept = tf.nn.dropout(_layer(tf, images, 3, 1, "L1"), keep_prob=0.5, name="dropout")
    tf.identity(_layer(tf, kept, 5, 1, "L2"), name="output")


@program
def fields(tf):
    return Run(facts={
        "pooled": _field(tf, _pooled),
        "resolution": _field(tf, _pooled, input_resolution=[32, 28]),
        "same": _field(tf, _same),
        "same_of_size": _field(tf, lambda tf: _network(tf, 5, "SAME"), input_resolution=[17, 17]),
        "stopped": _field(tf, _dropped, stop_propagation=[
            "dropout/random", "dropout/GreaterEqual", "dropout/Cast"]),
    })


@program
def unaligned(tf):
    return Run(facts={
        "shift": _refused(tf, _network),
        "stride": _refused(tf, lambda tf: tf.add(
            _layer(tf, tf.placeholder(tf.float32, (1, 9, 9, 1), "input_image"), 1, 2, "L1"),
            _layer(tf, tf.get_default_graph().get_tensor_by_name("input_image:0"), 1, 4, "L2",
                   "SAME")[:, :1, :1], name="output")),
        "dropout": _refused(tf, _dropped),
        "no_output": _refused(tf, _pooled, output="none"),
    })


@program
def coordinates(tf):
    make = internal_module(
        tf, "stillflow_contrib.receptive_field.receptive_field",
        "contrib.receptive_field.python.util.receptive_field").ReceptiveField
    field = make([3, 5], [2, 4], [1, 0])
    places = np.array([[0, 0], [1, 2], [3, -1]])
    return Run(facts={
        "centers": field.compute_input_center_coordinates(places),
        "places": field.compute_feature_coordinates(places),
        "one_axis": field.compute_input_center_coordinates(places[:, :1], axis=[1]),
        "one_place": field.compute_feature_coordinates(places[:, 1:], axis=[0]),
        "all": np.array(list(field)),
        "centers_refused": raised(field.compute_input_center_coordinates, places, axis=[0]),
        "places_refused": raised(field.compute_feature_coordinates, places[:, :1]),
    })


@program
def orders(tf):
    with tf.Graph().as_default() as graph:
        _same(tf)
        infos, nodes = tf.contrib.receptive_field.get_compute_order(
            graph.as_graph_def(), "input_image", [21, 17])
    return Run(facts={
        "orders": [[name, info.order] for name, info in infos.items()],
        "sizes": [[name, str(info.input_size), str(info.output_size)]
                  for name, info in infos.items()],
        "nodes": sorted(nodes)})


@program
def copied_graphs(tf):
    other = tf.get_default_graph()
    copy = tf.contrib.copy_graph
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [], name="x")
        weight = tf.Variable(3.0, name="weight", collections=["ours", "variables"])
        bias = tf.get_variable("bias", initializer=tf.constant(4.0), trainable=False)
        with tf.control_dependencies([tf.constant(1.0, name="before")]):
            y = tf.add(x * weight, bias, name="y")
        tf.add_to_collection("outputs", y)
        copies = [copy.copy_variable_to_graph(each, other) for each in (weight, bias)]
        scoped = [copy.copy_variable_to_graph(each, other, "scope") for each in (weight, bias)]
        first = copy.copy_op_to_graph(y, other, copies)
        second = copy.copy_op_to_graph(y, other, scoped, "scope")
        again = copy.copy_op_to_graph(y, other, copies)
        facts = {
            "again": again is first,
            "found": [copy.get_copied_op(x, other).name,
                      copy.get_copied_op(y, other, "scope").name],
            "missing": raised(copy.get_copied_op, x, other, "none")["class"],
            "no_variable": raised(copy.copy_variable_to_graph, x, other)["class"],
            "names": [each.name for each in copies + scoped],
            "outputs": [each.name for name in ("outputs", "scope/outputs", "ours", "scope/ours")
                        for each in other.get_collection(name)],
        }
    return Run({"first": first, "second": second}, {"x:0": 5.0, "scope/x:0": 7.0},
               setup=[each.initializer for each in copies + scoped], facts=facts)
