"""Attributes of the wrong kind, and the order of a call's checks."""

from __future__ import annotations

from tests.golden.registry import Run, program, raised


def _image(tf):
    return tf.zeros([1, 4, 4, 2]), tf.zeros([2, 2, 2, 1])


@program
def what_is_no_list(tf):
    images, filters = _image(tf)
    return Run(facts={
        "strides": raised(tf.nn.depthwise_conv2d_native, images, filters, 1, "SAME"),
        "ksize": raised(tf.extract_image_patches, images, None, [1] * 4, [1] * 4, "SAME"),
        "rates": raised(tf.extract_image_patches, images, [1] * 4, [1] * 4, 2.5, "SAME"),
        "inputs": raised(tf.shape_n, images),
        "of_types": raised(tf.identity_n, images),
        "ratio": raised(tf.nn.fractional_max_pool, images, 1.5),
    })  # fmt: skip


@program
def numbers_that_are_none(tf):
    matrix = tf.zeros([2, 2])
    return Run(facts={
        "buckets": raised(tf.strings.to_hash_bucket, matrix, None),
        "axis": raised(tf.reverse_sequence, matrix, [1, 1], batch_axis=0),
        "padding": raised(tf.nn.conv2d, *_image(tf), strides=[1] * 4, padding=None),
        "radius": raised(tf.nn.lrn, matrix, depth_radius="a"),
        "bool": raised(tf.reduce_sum, matrix, keepdims="a"),
        "alpha": raised(tf.nn.leaky_relu, matrix, "a"),
        "shape": raised(tf.placeholder_with_default, matrix, "ab"),
        "type": raised(tf.bitcast, matrix, "nothing"),
        "dtype": raised(tf.cast, matrix, 1.5),
    })  # fmt: skip


@program
def inputs_are_refused_before_values_of_attributes(tf):
    images, filters = _image(tf)
    return Run(facts={
        "both": raised(tf.nn.conv2d, "a", filters, [1] * 4, "same"),
        "value": raised(tf.nn.conv2d, images, filters, [1] * 4, "same"),
        "short": raised(tf.nn.conv3d, None, filters, [1] * 4, "SAME"),
        "kind": raised(tf.nn.conv2d, "a", filters, [1] * 4, 7),
    })  # fmt: skip


@program
def casts_that_there_are_not(tf):
    words = tf.constant(["a"])
    types = (tf.float16, tf.float32, tf.float64, tf.int64, tf.bool, tf.complex64)
    return [Run({"numbers": tf.cast(words, kind)}, fails=True) for kind in types] + [
        Run({"words": tf.cast(tf.constant([1.0]), tf.string)}, fails=True)
    ]
