"""tf.contrib.distributions.bijectors: values, inverses and logarithms of Jacobians."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program, raised


def both_ways(bijector, x, y):
    return {
        "forward": bijector.forward(x),
        "inverse": bijector.inverse(y),
        "forward_log_det": bijector.forward_log_det_jacobian(x, event_ndims=1),
        "inverse_log_det": bijector.inverse_log_det_jacobian(y, event_ndims=0),
        "there_and_back": bijector.inverse(bijector.forward(x)),
    }


@program
def elementwise(tf):
    bijectors = tf.contrib.distributions.bijectors
    x = tf.placeholder(tf.float32, [2, 2])
    y = tf.placeholder(tf.float32, [2, 2])
    found = {
        "exp": bijectors.Exp(),
        "checked": bijectors.Exp(validate_args=True, name="checked"),
        "power": bijectors.PowerTransform(0.5, validate_args=True),
        "sigmoid": bijectors.Sigmoid(),
        "softplus": bijectors.Softplus(),
        "softer": bijectors.Softplus(2.0, validate_args=True, name="softer"),
        "log": bijectors.Invert(bijectors.Exp()),
    }
    fetches = {}
    for name, bijector in found.items():
        ways = (y, x) if name == "log" else (x, y)
        fetches.update({f"{name}_{k}": v for k, v in both_ways(bijector, *ways).items()})
    facts = {
        "names": [bijector.name for bijector in found.values()],
        "power": raised(bijectors.PowerTransform, -1.0),
        "unknown": raised(bijectors.PowerTransform, tf.placeholder(tf.float32)),
    }
    return Run(fetches, {x: [[0.5, -1.0], [2.0, 0.0]], y: [[0.5, 0.1], [0.7, 0.9]]}, facts=facts)


@program
def out_of_range(tf):
    bijectors = tf.contrib.distributions.bijectors
    y = tf.placeholder(tf.float32, [2])
    return Run({"log": bijectors.Exp(validate_args=True).inverse(y)}, {y: [1.0, -1.0]}, fails=True)


@program
def softmax_centered(tf):
    make = tf.contrib.distributions.bijectors.SoftmaxCentered
    bijector = make(validate_args=True)
    x = tf.placeholder(tf.float32, [None, 3])
    y = bijector.forward(x)
    given = tf.placeholder(tf.float32, [None, 4])
    fetches = {
        "y": y, "back": bijector.inverse(given),
        "inverse": bijector.inverse_log_det_jacobian(given, event_ndims=1),
        "forward": make().forward_log_det_jacobian(x, event_ndims=1),
        "shape": bijector.forward_event_shape_tensor(tf.shape(x)[1:]),
        "inverse_shape": bijector.inverse_event_shape_tensor(tf.shape(given)[1:]),
    }
    facts = {"shapes": [str(bijector.forward_event_shape(tf.TensorShape([3]))),
                        str(bijector.inverse_event_shape(tf.TensorShape([4])))],
             "short": raised(bijector.inverse_event_shape, tf.TensorShape([1]))}
    probabilities = np.float32([[0.1, 0.2, 0.3, 0.4], [0.25, 0.25, 0.25, 0.25]])
    return Run(fetches, {x: np.float32([[1, 2, 3], [0, -1, 0.5]]), given: probabilities},
               facts=facts)
