"""Every initializer, drawn from seeds."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program, raised


def variables(tf, initializers, shape):
    made = {n: tf.get_variable(n, shape, initializer=i) for n, i in sorted(initializers.items())}
    return Run(made, setup=[tf.global_variables_initializer()])


@program
def constants(tf):
    make = tf.constant_initializer
    return variables(tf, {
        "zeros": tf.zeros_initializer(),
        "ones": tf.ones_initializer(),
        "class": tf.ones_initializer,
        "value": make(2.5),
        "list": make([1, 2, 3, 4, 5, 6]),
        "array": make(np.arange(6).reshape(2, 3)),
        "short": make([1.0, 2.0]),
        "new_name": tf.initializers.constant(0.1),
    }, [2, 3])


@program
def constants_that_do_not_fit(tf):
    check = tf.constant_initializer([1.0, 2.0], verify_shape=True)
    return Run(facts={
        "too_many": raised(tf.get_variable, "a", [1],
                           initializer=tf.constant_initializer([1.0, 2.0])),
        "verify": raised(tf.get_variable, "b", [3], initializer=check),
        "type": raised(tf.constant_initializer, object()),
        "orthogonal": raised(tf.get_variable, "c", [3],
                             initializer=tf.orthogonal_initializer()),
        "identity": raised(tf.get_variable, "d", [3],
                           initializer=tf.initializers.identity()),
        "mode": raised(tf.variance_scaling_initializer, mode="fan_none"),
        "scale": raised(tf.variance_scaling_initializer, scale=-1.0),
        "distribution": raised(tf.variance_scaling_initializer, distribution="cauchy"),
    })


@program
def random_with_op_seeds(tf):
    return variables(tf, {
        "uniform": tf.random_uniform_initializer(-0.1, 0.1, seed=1),
        "uniform_default": tf.random_uniform_initializer(seed=2),
        "normal": tf.random_normal_initializer(stddev=0.02, seed=3),
        "normal_moved": tf.random_normal_initializer(5.0, 0.1, seed=4),
        "truncated": tf.truncated_normal_initializer(stddev=0.1, seed=5),
        "new_uniform": tf.initializers.random_uniform(minval=0, maxval=2, seed=6),
        "new_truncated": tf.initializers.truncated_normal(seed=7),
    }, [3, 2])


@program
def random_with_graph_seed(tf):
    tf.set_random_seed(42)
    return variables(tf, {
        "uniform": tf.random_uniform_initializer(-0.1, 0.1),
        "normal": tf.random_normal_initializer(stddev=0.02),
        "truncated": tf.truncated_normal_initializer(stddev=0.1),
        "default": None,
    }, [3, 2])


@program
def variance_scaling(tf):
    tf.set_random_seed(1)
    make = tf.variance_scaling_initializer
    return variables(tf, {
        "default": make(),
        "fan_out": make(mode="fan_out"),
        "fan_avg": make(mode="fan_avg", distribution="uniform"),
        "scaled": make(scale=2.0, distribution="untruncated_normal", seed=3),
        "normal": make(distribution="normal"),
        "glorot_uniform": tf.glorot_uniform_initializer(),
        "glorot_normal": tf.glorot_normal_initializer(seed=4),
        "he_normal": tf.initializers.he_normal(),
        "he_uniform": tf.initializers.he_uniform(seed=5),
        "lecun_normal": tf.initializers.lecun_normal(),
        "lecun_uniform": tf.initializers.lecun_uniform(),
        "unit_scaling": tf.uniform_unit_scaling_initializer(factor=1.5, seed=6),
    }, [4, 3])


@program
def variance_scaling_of_convolutions(tf):
    tf.set_random_seed(2)
    return variables(tf, {
        "glorot": tf.glorot_uniform_initializer(),
        "he": tf.initializers.he_normal(seed=1),
        "fan_out": tf.variance_scaling_initializer(mode="fan_out"),
        "unit_scaling": tf.uniform_unit_scaling_initializer(),
    }, [3, 2, 2, 3])


@program
def variance_scaling_of_small_shapes(tf):
    tf.set_random_seed(3)
    scalar = tf.get_variable("scalar", [], initializer=tf.glorot_uniform_initializer())
    vector = tf.get_variable("vector", [5], initializer=tf.glorot_uniform_initializer())
    double = tf.get_variable("double", [2, 2], tf.float64)
    return Run({"scalar": scalar, "vector": vector, "double": double},
               setup=[tf.global_variables_initializer()])


@program(rtol=1e-4, atol=1e-5, reason="QR factors differ in the last digits between LAPACKs")
def orthogonal(tf):
    tf.set_random_seed(4)
    wide = tf.get_variable("wide", [2, 4], initializer=tf.orthogonal_initializer())
    tall = tf.get_variable("tall", [4, 2], initializer=tf.orthogonal_initializer(2.0, seed=1))
    kernel = tf.get_variable("kernel", [2, 2, 3], initializer=tf.initializers.orthogonal(seed=2))
    identity = tf.get_variable("identity", [2, 3], initializer=tf.initializers.identity(3.0))
    return Run({"wide": wide, "tall": tall, "kernel": kernel, "identity": identity,
                "product": tf.matmul(wide, wide, transpose_b=True)},
               setup=[tf.global_variables_initializer()])


@program
def initializers_called_directly(tf):
    tf.set_random_seed(5)
    fetches = {
        "zeros": tf.zeros_initializer()([2]),
        "dtype": tf.ones_initializer(dtype=tf.int32)([2]),
        "override": tf.random_normal_initializer(seed=1)([2], dtype=tf.float64),
        "variable": tf.Variable(tf.truncated_normal_initializer(seed=2)([2, 2])).initial_value,
        "glorot": tf.glorot_normal_initializer(seed=3)(shape=(2, 2)),
        "dynamic": tf.random_uniform_initializer(seed=4)(tf.constant([3])),
    }
    made = tf.random_normal_initializer(1.0, 0.5, seed=9)
    config = made.get_config()
    copied = tf.random_normal_initializer.from_config(config)
    fetches["copied"] = copied([2])
    facts = {"config": sorted(k for k in config), "mean": config["mean"]}
    return Run(fetches, facts=facts)


@program
def partitioned_initializers(tf):
    tf.set_random_seed(6)
    parts = tf.fixed_size_partitioner(2)
    w = tf.get_variable("w", [4, 2], partitioner=parts)
    u = tf.get_variable("u", [4, 2], initializer=tf.uniform_unit_scaling_initializer(seed=1),
                        partitioner=parts)
    return Run({"w": list(w), "u": list(u)},
               setup=[tf.global_variables_initializer()])
