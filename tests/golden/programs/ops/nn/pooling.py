"""Pooling of all kinds, with gradients."""

from __future__ import annotations

import numpy as np
from tests.golden.programs.ops.nn.convolution import wave
from tests.golden.registry import Run, program, raised


@program
def max_and_average_pooling(tf):
    x = tf.placeholder(tf.float32, [None, 5, 6, 2], name="x")
    fetches = {}
    for name, pool in [("max", tf.nn.max_pool), ("avg", tf.nn.avg_pool)]:
        same = pool(x, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")
        valid = pool(x, [1, 3, 2, 1], [1, 2, 1, 1], "VALID", name=name + "_valid")
        fetches[name] = [same, valid, tf.gradients(same * same, x), tf.gradients(valid, x)]
    fetches["integers"] = tf.nn.max_pool2d(x, 2, 2, "SAME")
    fetches["average_2d"] = tf.nn.avg_pool2d(x, 3, 1, "SAME")
    fetches["global"] = tf.reduce_mean(x, [1, 2])
    return Run(fetches, {x: wave(2, 5, 6, 2)})


@program
def overlapping_windows_with_ties(tf):
    x = tf.placeholder(tf.float32, [1, 4, 4, 1])
    y = tf.nn.max_pool(x, [1, 3, 3, 1], [1, 1, 1, 1], "SAME")
    z = tf.nn.avg_pool(x, [1, 3, 3, 1], [1, 1, 1, 1], "SAME")
    ties = np.array([[1, 1, 0, 2], [1, 1, 2, 2], [0, 0, 0, 0], [3, 0, 0, 0]]).reshape(1, 4, 4, 1)
    return Run({"max": [y, tf.gradients(y, x)], "avg": [z, tf.gradients(z * z, x)]}, {x: ties})


@program
def max_pool_with_argmax(tf):
    x = tf.placeholder(tf.float32, [None, 4, 4, 2])
    y, argmax = tf.nn.max_pool_with_argmax(x, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")
    valid = tf.nn.max_pool_with_argmax(x, [1, 3, 2, 1], [1, 1, 2, 1], "VALID")
    batch = tf.nn.max_pool_with_argmax(x, [1, 2, 2, 1], [1, 2, 2, 1], "SAME",
                                       include_batch_in_index=True)
    return Run({"y": y, "argmax": argmax, "valid": valid, "batch": batch,
                "gradient": tf.gradients(y * y, x)}, {x: wave(2, 4, 4, 2)})


@program
def pooling_in_three_dimensions(tf):
    x = tf.placeholder(tf.float32, [None, 4, 4, 4, 1])
    largest = tf.nn.max_pool3d(x, [1, 2, 2, 2, 1], [1, 2, 2, 2, 1], "SAME")
    mean = tf.nn.avg_pool3d(x, [1, 3, 2, 2, 1], [1, 1, 2, 2, 1], "VALID")
    return Run({"max": [largest, tf.gradients(largest * largest, x)],
                "avg": [mean, tf.gradients(mean * mean, x)]}, {x: wave(1, 4, 4, 4, 1)})


@program
def pooling_in_one_dimension(tf):
    x = tf.placeholder(tf.float32, [None, 6, 2])
    fetches = {"max": tf.nn.max_pool1d(x, 2, 2, "SAME"), "avg": tf.nn.avg_pool1d(x, 3, 1, "VALID")}
    return Run(fetches, {x: wave(1, 6, 2)})


@program
def general_pooling(tf):
    x = tf.placeholder(tf.float32, [None, 6, 6, 2])
    fetches = {
        "max": tf.nn.pool(x, [2, 2], "MAX", "VALID", strides=[2, 2]),
        "avg": tf.nn.pool(x, window_shape=[3, 3], pooling_type="AVG", padding="SAME"),
        "dilated": tf.nn.pool(x, [2, 2], "MAX", "VALID", dilation_rate=[2, 2]),
        "line": tf.nn.pool(tf.reduce_mean(x, 1), [2], "AVG", "VALID"),
    }
    return Run(fetches, {x: wave(1, 6, 6, 2)})


@program
def fractional_pooling(tf):
    x = tf.constant(wave(1, 6, 6, 1))
    largest = tf.nn.fractional_max_pool(x, [1.0, 1.5, 1.4, 1.0], deterministic=True, seed=1,
                                        seed2=2)
    mean = tf.nn.fractional_avg_pool(x, [1.0, 1.5, 1.4, 1.0], True, True, True, 3, 4)
    return Run({"max": largest, "avg": mean})


@program
def channels_first_in_the_graph(tf):
    x = tf.placeholder(tf.float32, [None, 4, 3, 8])
    pooled = tf.space_to_depth(
        tf.transpose(x, [0, 3, 2, 1])[:, :, :2, :], 2)
    w = tf.placeholder(tf.float32, [3, 3, 4, 2])
    convolved = tf.nn.conv2d(x, w, [1, 1, 2, 2], "SAME", data_format="NCHW")
    windows = tf.nn.max_pool(x, [1, 1, 2, 2], [1, 1, 2, 2], "VALID", data_format="NCHW")
    shapes = [str(t.shape) for t in (pooled, convolved, windows)]
    return Run(facts={"shapes": shapes})


@program
def pooling_refused(tf):
    x = tf.ones([1, 4, 4, 1])
    facts = {
        "window": raised(tf.nn.max_pool, x, [1, 5, 5, 1], [1, 1, 1, 1], "VALID"),
        "rank": raised(tf.nn.max_pool, tf.ones([4, 4]), [1, 2, 2, 1], [1, 2, 2, 1], "SAME"),
        "padding": raised(tf.nn.avg_pool, x, [1, 2, 2, 1], [1, 2, 2, 1], "same-ish"),
        "type": raised(tf.nn.pool, x, [2, 2], "MEDIAN", "SAME"),
        "zero": raised(tf.nn.max_pool, x, [1, 2, 2, 1], [1, 0, 0, 1], "SAME"),
    }
    return Run(facts=facts)


@program
def pools_of_what_is_no_number(tf):
    x = wave(2, 6, 6, 3)
    x[np.random.RandomState(1).rand(*x.shape) < 0.4] = np.nan
    x[0, :2, :2] = -np.inf
    x[0, 2:4, :2] = np.nan
    x[1, :2, :2, :] = [-np.inf, np.nan, 1.0]
    fetches = {}
    for name, kind in (("single", tf.float32), ("double", tf.float64)):
        image = tf.constant(x, kind)
        for window in (2, 3):
            for padding in ("SAME", "VALID"):
                sizes = [1, window, window, 1], [1, 2, 2, 1], padding
                best = tf.nn.max_pool(image, *sizes)
                value, place = tf.nn.max_pool_with_argmax(image, *sizes)
                weights = tf.range(1.0, tf.cast(tf.size(best) + 1, tf.float32))
                weights = tf.reshape(weights, tf.shape(best))
                grad = tf.gradients(best, image, tf.cast(weights, kind))
                fetches[f"{name}_{window}_{padding}"] = [best, grad, value, place]
        fetches[name + "_depth"] = tf.nn.max_pool(image, [1, 1, 1, 3], [1, 1, 1, 3], "VALID")
    volume = tf.constant(x.reshape(2, 3, 4, 3, 3), tf.float32)
    fetches["volume"] = tf.nn.max_pool3d(volume, 2, 2, "SAME")
    return Run(fetches)
