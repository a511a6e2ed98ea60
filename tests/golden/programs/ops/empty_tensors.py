"""Empty tensors everywhere: they have shapes, gradients and, rarely, values."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program

NOTHING = np.zeros([0, 3], np.float32)


@program
def elementwise_and_arrays(tf):
    x = tf.placeholder(tf.float32, [None, 3])
    fetches = {
        "add": x + 1.0,
        "relu": tf.nn.relu(x),
        "exp": tf.exp(x),
        "reshape": tf.reshape(x, [-1, 3, 1]),
        "concat": tf.concat([x, x], 0),
        "concat_more": tf.concat([x, tf.ones([1, 3])], 0),
        "stack": tf.stack([x, x]),
        "split": tf.split(x, 3, 1),
        "transpose": tf.transpose(x),
        "tile": tf.tile(x, [2, 2]),
        "pad": tf.pad(x, [[1, 0], [0, 0]]),
        "gather": tf.gather(x, tf.zeros([0], tf.int32)),
        "gather_columns": tf.gather(x, [0, 2], axis=1),
        "slice": x[:, 1:],
        "reverse": tf.reverse(x, [0]),
        "where": tf.where(x > 0),
        "mask": tf.boolean_mask(x, tf.zeros([0], tf.bool)),
        "unique": tf.unique(tf.reshape(x, [-1])),
        "one_hot": tf.one_hot(tf.zeros([0], tf.int32), 3),
        "cast": tf.cast(x, tf.int32),
        "cumsum": tf.cumsum(x),
        "sequence_mask": tf.sequence_mask(tf.zeros([0], tf.int32), 4),
        "matmul": tf.matmul(x, tf.ones([3, 2])),
        "inner": tf.matmul(x, x, transpose_a=True),
        "batch": tf.matmul(tf.zeros([0, 2, 3]), tf.zeros([0, 3, 4])),
        "bias": tf.nn.bias_add(x, [1.0, 2.0, 3.0]),
        "softmax": tf.nn.softmax(x),
        "random": tf.random_normal(tf.shape(x), seed=1),
        "segment": tf.unsorted_segment_sum(x, tf.zeros([0], tf.int32), 2),
        "scatter": tf.scatter_nd(tf.zeros([0, 1], tf.int32), x, [2, 3]),
        "size": tf.size(x),
        "strings": tf.string_join([tf.zeros([0], tf.string), "a"]),
        "clip": tf.clip_by_norm(x, 1.0),
    }
    return Run(fetches, {x: NOTHING})


@program
def gradients(tf):
    x = tf.placeholder(tf.float32, [None, 3])
    w = tf.constant([[1.0], [2.0], [3.0]])
    functions = {
        "matmul": tf.matmul(x, w),
        "mean": tf.reduce_mean(x, 1),
        "max": tf.reduce_max(x, 1),
        "softmax": tf.nn.softmax(x) * x,
        "xent": tf.nn.sparse_softmax_cross_entropy_with_logits(
            labels=tf.zeros([tf.shape(x)[0]], tf.int32), logits=x),
        "broadcast": x * tf.constant([1.0, 2.0, 3.0]),
        "gather": tf.gather(x, tf.zeros([0], tf.int32)),
        "concat": tf.concat([x, tf.ones([1, 3])], 0),
        "norm": tf.nn.l2_loss(x),
    }
    fetches = {name: tf.gradients(y, x) for name, y in sorted(functions.items())}
    fetches["weights"] = tf.gradients(functions["matmul"], w)
    return Run(fetches, {x: NOTHING})


@program
def images_without_a_batch(tf):
    tf.set_random_seed(1)
    x = tf.placeholder(tf.float32, [None, 4, 4, 2])
    w = tf.constant(np.ones([3, 3, 2, 5], np.float32))
    y = tf.nn.conv2d(x, w, [1, 1, 1, 1], "SAME")
    fetches = {
        "conv": y,
        "pool": tf.nn.max_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "VALID"),
        "average": tf.nn.avg_pool(x, [1, 2, 2, 1], [1, 2, 2, 1], "SAME"),
        "filter_gradient": tf.gradients(y, w),
        "input_gradient": tf.gradients(y, x),
        "global": tf.reduce_mean(x, [1, 2]),
        "space_to_depth": tf.space_to_depth(x, 2),
    }
    return Run(fetches, {x: np.zeros([0, 4, 4, 2])})


@program
def a_step_on_an_empty_batch(tf):
    x, y = tf.placeholder(tf.float32, [None, 2]), tf.placeholder(tf.float32, [None, 1])
    w = tf.get_variable("w", initializer=tf.constant([[1.0], [2.0]]))
    losses = tf.square(tf.matmul(x, w) - y)
    summed = tf.train.MomentumOptimizer(0.1, 0.9).minimize(tf.reduce_sum(losses))
    mean = tf.reduce_mean(losses)
    feed = {x: np.zeros([0, 2]), y: np.zeros([0, 1])}
    return Run({"w": w, "mean": mean, "loss": tf.losses.mean_squared_error(y, tf.matmul(x, w))},
               feed, setup=[tf.global_variables_initializer()], train=summed)


@program
def pools_of_nothing(tf):
    x = tf.placeholder(tf.float32, [2, None, None, None])
    two = [1, 2, 2, 1]
    best, places = tf.nn.max_pool_with_argmax(x, two, two, "SAME")
    fetches = {
        "average": tf.nn.avg_pool(x, two, two, "SAME"),
        "best": best,
        "places": places,
    }
    fetches["gradient"] = tf.gradients(fetches["average"], x)
    flat = tf.reshape(x, [-1])
    nothing = tf.zeros([0], tf.int32)
    fetches["roll"] = tf.roll(flat, nothing, nothing)
    fetches["places_in_nothing"] = tf.unravel_index(nothing, nothing)
    return [Run(fetches, {x: np.zeros(shape)})
            for shape in ([2, 4, 0, 3], [2, 0, 4, 3], [2, 4, 4, 0])]


@program
def filters_of_nothing(tf):
    x = tf.constant(np.ones([1, 4, 4, 2], np.float32))
    w = tf.placeholder(tf.float32, [None, 2, 2, 3])
    y = tf.nn.depthwise_conv2d_native(x, w, [1, 1, 1, 1], "SAME")
    return Run({"depthwise": y, "gradients": tf.gradients(y, [x, w])},
               {w: np.zeros([0, 2, 2, 3])})
