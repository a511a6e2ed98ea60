"""Activations, normalization of values, dropout, top-k, with their gradients."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program, raised

X = np.array([[-2.5, -1.0, -0.0, 0.3], [0.2, 1.0, 3.5, 7.0]], np.float32)


@program
def activations_and_their_gradients(tf):
    x = tf.placeholder(tf.float32, [None, 4])
    names = ["relu", "relu6", "elu", "selu", "leaky_relu", "crelu", "softplus", "softsign",
             "sigmoid", "tanh", "swish", "softmax", "log_softmax"]
    fetches = {}
    for name in names:
        y = getattr(tf.nn, name)(x)
        fetches[name] = [y, tf.gradients(y * y, x)[0]]
    return Run(fetches, {x: X})


@program
def arguments_of_activations(tf):
    x = tf.placeholder(tf.float32, [2, None])
    fetches = {
        "leaky": tf.nn.leaky_relu(x, alpha=0.01),
        "leaky_ints": tf.nn.leaky_relu(tf.constant([-5, 5])),
        "relu_ints": tf.nn.relu(tf.constant([-5, 5])),
        "softmax_axis": tf.nn.softmax(x, axis=0),
        "softmax_dim": tf.nn.softmax(x, dim=-1),
        "log_softmax_axis": tf.nn.log_softmax(x, 0),
        "softmax_3d": tf.nn.softmax(tf.reshape(x, [2, 2, 2])),
        "softmax_vector": tf.nn.softmax([1.0, 2.0, 3.0]),
        "math_softplus": tf.math.softplus(x),
        "double": tf.nn.softmax(tf.to_double(x)),
        "half": tf.nn.relu(tf.cast(x, tf.float16)),
        "crelu_axis": tf.nn.crelu(x, axis=0),
        "log_sigmoid": tf.log_sigmoid(x),
    }
    facts = {"axis": raised(tf.nn.softmax, x, axis=2)}
    return Run(fetches, {x: X}, facts=facts)


@program
def softmax_gradients_along_axes(tf):
    x = tf.placeholder(tf.float32, [2, 2, 2])
    weights = tf.reshape(tf.range(8.0), [2, 2, 2])
    fetches = {}
    for axis in (0, 1, 2):
        fetches[f"softmax_{axis}"] = tf.gradients(tf.nn.softmax(x, axis) * weights, x)
        fetches[f"log_softmax_{axis}"] = tf.gradients(tf.nn.log_softmax(x, axis) * weights, x)
    return Run(fetches, {x: X.reshape(2, 2, 2)})


@program
def l2_normalisation(tf):
    x = tf.placeholder(tf.float32, [None, 4])
    y = tf.nn.l2_normalize(x, 1)
    fetches = {
        "rows": y,
        "dim": tf.nn.l2_normalize(x, dim=0, epsilon=1.0),
        "axes": tf.nn.l2_normalize(x, axis=[0, 1]),
        "linalg": tf.linalg.l2_normalize(x, -1),
        "gradient": tf.gradients(y * tf.range(4.0), x),
    }
    return Run(fetches, {x: X})


@program
def bias_add_layouts(tf):
    x = tf.placeholder(tf.float32, [None, 2, 2, 3])
    b = tf.constant([1.0, 2.0, 3.0])
    y = tf.nn.bias_add(x, b)
    first = tf.nn.bias_add(tf.transpose(x, [0, 3, 1, 2]), b, data_format="NCHW")
    fetches = {
        "y": y,
        "channels_first": first,
        "gradients": tf.gradients(tf.square(y), [x, b]),
        "gradients_first": tf.gradients(tf.square(first), b),
        "matrix": tf.nn.bias_add(tf.ones([2, 3]), b),
        "second": tf.gradients(tf.gradients(tf.square(y), b)[0], x),
    }
    facts = {"shape": raised(tf.nn.bias_add, tf.ones([2, 4]), b)}
    return Run(fetches, {x: np.arange(12).reshape(1, 2, 2, 3)}, facts=facts)


@program
def batch_normalization_by_hand(tf):
    x = tf.placeholder(tf.float32, [None, 2, 2, 3])
    scale, offset = tf.constant([1.0, 2.0, 0.5]), tf.constant([0.0, 1.0, -1.0])
    mean, variance = tf.nn.moments(x, [0, 1, 2])
    y = tf.nn.batch_normalization(x, mean, variance, offset, scale, 1e-3)
    rows_mean, rows_variance = tf.nn.moments(x, [1, 2], keep_dims=True)
    fetches = {
        "y": y,
        "moments": [mean, variance],
        "instance": tf.nn.batch_normalization(x, rows_mean, rows_variance, None, None, 1e-5),
        "gradients": tf.gradients(y * y * x, [x, scale, offset]),
        "global": tf.nn.batch_norm_with_global_normalization(
            x, mean, variance, offset, scale, 1e-3, True),
        "weighted": tf.nn.weighted_moments(x, [0, 1, 2], tf.range(1.0, 4.0)),
        "sufficient": tf.nn.sufficient_statistics(x, [0])[:3],
        "normalized": tf.nn.normalize_moments(4.0, mean, variance + mean * mean, None),
    }
    return Run(fetches, {x: np.sin(np.arange(24)).reshape(2, 2, 2, 3)})


@program
def fused_batch_norm(tf):
    x = tf.placeholder(tf.float32, [None, 2, 2, 3])
    scale, offset = tf.constant([1.0, 2.0, 0.5]), tf.constant([0.0, 1.0, -1.0])
    y, mean, variance = tf.nn.fused_batch_norm(x, scale, offset)
    inference, _, _ = tf.nn.fused_batch_norm(x, scale, offset, mean=[0.1, 0.2, 0.3],
                                             variance=[1.0, 2.0, 3.0], epsilon=0.01,
                                             is_training=False)
    fetches = {
        "training": [y, mean, variance],
        "inference": inference,
        "gradients": tf.gradients(y * y * x, [x, scale, offset]),
        "inference_gradients": tf.gradients(inference * x, [x, scale, offset]),
    }
    return Run(fetches, {x: np.sin(np.arange(24)).reshape(2, 2, 2, 3)})


@program
def fused_batch_norm_second_order(tf):
    x = tf.placeholder(tf.float32, [2, 2, 2, 2])
    y, _, _ = tf.nn.fused_batch_norm(x, tf.constant([1.0, 2.0]), tf.zeros([2]))
    first = tf.gradients(tf.pow(y, 3.0), x)[0]
    return Run({"first": first, "second": tf.gradients(first * first, x)},
               {x: np.cos(np.arange(16)).reshape(2, 2, 2, 2)})


@program
def local_response_normalization(tf):
    x = tf.placeholder(tf.float32, [None, 2, 2, 6])
    y = tf.nn.lrn(x, depth_radius=2, bias=1.0, alpha=0.001, beta=0.75, name="norm1")
    default = tf.nn.local_response_normalization(x)
    return Run({"y": y, "default": default, "gradient": tf.gradients(y * x, x)},
               {x: np.arange(24).reshape(1, 2, 2, 6) / 5.0})


@program
def dropout_and_its_gradient(tf):
    tf.set_random_seed(5)
    x = tf.placeholder(tf.float32, [None, 4])
    y = tf.nn.dropout(x, keep_prob=0.5, seed=3)
    z = tf.nn.dropout(x, rate=0.25, noise_shape=[tf.shape(x)[0], 1])
    gradients = tf.gradients(y * x + z, x)[0]
    return Run({"y": y, "z": z, "gradients": gradients}, {x: X}, steps=2)


@program
def top_k_and_in_top_k(tf):
    x = tf.placeholder(tf.float32, [None, 4])
    values, indices = tf.nn.top_k(x, k=2)
    k = tf.placeholder(tf.int32, [])
    accuracy = tf.reduce_mean(tf.cast(tf.nn.in_top_k(x, [1, 3], 1), tf.float32))
    fetches = {"top": [values, indices], "dynamic": tf.math.top_k(x, k), "accuracy": accuracy,
               "ints": tf.nn.top_k([[3, 1, 2]], 2), "gradient": tf.gradients(values * values, x),
               "last": tf.nn.top_k([1.0, 3.0, 3.0, 2.0], 3)}
    return Run(fetches, {x: X, k: 3})


NO_NUMBERS = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 5.0, 6.0, 7.0]


@program
def gradients_of_what_is_no_number(tf):
    """Each of the features with each of the gradients: more than one vector of a processor."""
    features = np.repeat(NO_NUMBERS, 4 * 9)
    grads = np.tile([1.0, -2.0, np.nan, np.inf], 9 * len(NO_NUMBERS))
    fetches, feeds = {}, {}
    for dtype in (tf.float32, tf.float64, tf.float16):
        grad, shown = tf.placeholder(dtype, [None]), tf.placeholder(dtype, [None])
        feeds[grad] = grads.astype(dtype.as_numpy_dtype)
        feeds[shown] = features.astype(dtype.as_numpy_dtype)
        for name in ("ReluGrad", "Relu6Grad", "LeakyReluGrad", "SoftplusGrad", "SoftsignGrad"):
            made = getattr(tf.raw_ops, name)(gradients=grad, features=shown)
            fetches[name + dtype.name] = made
        for name in ("EluGrad", "SeluGrad"):
            fetches[name + dtype.name] = getattr(tf.raw_ops, name)(gradients=grad, outputs=shown)
    return Run(fetches, feeds)


@program
def gradients_of_what_is_no_number_with_a_bias(tf):
    """Differentiate a ReLU after a bias, and one with two consumers."""
    shape = [len(NO_NUMBERS), 16]
    image = tf.placeholder(tf.float32, shape)
    grads = np.resize(np.float32([1.0, -2.0, np.nan, np.inf, 3.0]), shape)
    biased = tf.nn.relu(tf.nn.bias_add(image, tf.zeros([16])))
    two_ways = tf.nn.relu(tf.identity(image))
    ways = [tf.constant(grads), tf.constant(grads[:, ::-1])]
    fetches = {
        "biased": tf.gradients(biased, image, ways[0])[0],
        "bias": tf.gradients(biased, biased.op.inputs[0].op.inputs[1], ways[0])[0],
        "two_ways": tf.gradients([two_ways * 1.0, two_ways * 2.0], image, ways)[0],
    }
    return Run(fetches, {image: np.tile(np.float32(NO_NUMBERS)[:, None], [1, 16])})
