"""Every optimizer of tf.train: dense and sparse gradients, slots, three steps each."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program

FEATURES = np.array([[1.0, 2.0], [0.5, -1.0], [2.0, 0.0]], np.float32)
TARGETS = np.array([[1.0], [0.0], [3.0]], np.float32)


def optimizers(tf):
    train = tf.train
    return {
        "GradientDescent": train.GradientDescentOptimizer(0.1),
        "Momentum": train.MomentumOptimizer(0.1, 0.9),
        "Nesterov": train.MomentumOptimizer(0.1, momentum=0.9, use_nesterov=True),
        "Adagrad": train.AdagradOptimizer(0.1, initial_accumulator_value=0.2),
        "Adadelta": train.AdadeltaOptimizer(learning_rate=1.0, rho=0.9, epsilon=1e-3),
        "Adam": train.AdamOptimizer(0.05, beta1=0.8, beta2=0.9, epsilon=1e-4),
        "RMSProp": train.RMSPropOptimizer(0.05, decay=0.8, momentum=0.5, epsilon=1e-3),
        "RMSPropCentered": train.RMSPropOptimizer(0.05, centered=True),
        "Ftrl": train.FtrlOptimizer(0.2, l1_regularization_strength=0.01,
                                    l2_regularization_strength=0.02),
        "FtrlShrinkage": train.FtrlOptimizer(0.2, learning_rate_power=-0.4,
                                             l2_shrinkage_regularization_strength=0.1),
        "ProximalGradientDescent": train.ProximalGradientDescentOptimizer(
            0.1, l1_regularization_strength=0.01, l2_regularization_strength=0.1),
        "ProximalAdagrad": train.ProximalAdagradOptimizer(0.1, l1_regularization_strength=0.01),
        "AdagradDA": train.AdagradDAOptimizer(0.1, train.get_or_create_global_step(), 0.1,
                                              l1_regularization_strength=0.01),
    }


def train_dense(tf, name, use_resource=False):
    optimizer = optimizers(tf)[name]
    with tf.variable_scope("model", use_resource=use_resource):
        w = tf.get_variable("w", initializer=tf.constant([[0.5], [-0.25]]))
        b = tf.get_variable("b", initializer=tf.constant(0.1))
    x, y = tf.placeholder(tf.float32, [None, 2]), tf.placeholder(tf.float32, [None, 1])
    loss = tf.reduce_mean(tf.square(tf.matmul(x, w) + b - y))
    train = optimizer.minimize(loss, global_step=tf.train.get_or_create_global_step())
    slots = [optimizer.get_slot(v, slot) for slot in optimizer.get_slot_names() for v in (w, b)]
    facts = {"slots": optimizer.get_slot_names(), "slot_names": [s.name for s in slots],
             "variables": [v.name for v in optimizer.variables()], "train": train.name,
             "name": optimizer.get_name(), "global": [v.name for v in tf.global_variables()]}
    return Run({"w": w, "b": b, "slots": slots}, {x: FEATURES, y: TARGETS},
               setup=[tf.global_variables_initializer()], train=[train, loss], steps=3, facts=facts)


def train_sparse(tf, name, use_resource=False):
    optimizer = optimizers(tf)[name]
    table = tf.get_variable("table", initializer=tf.constant(FEATURES), use_resource=use_resource)
    ids = tf.placeholder(tf.int32, [None])
    rows = tf.nn.embedding_lookup(table, ids)
    loss = tf.reduce_sum(tf.square(rows - 1.0))
    train = optimizer.minimize(loss, global_step=tf.train.get_or_create_global_step())
    slots = [optimizer.get_slot(table, slot) for slot in optimizer.get_slot_names()]
    return Run({"table": table, "slots": slots}, [{ids: [0, 2, 0]}, {ids: [1]}, {ids: [2, 2]}],
               setup=[tf.global_variables_initializer()], train=[train, loss], steps=3)


NAMES = ["GradientDescent", "Momentum", "Nesterov", "Adagrad", "Adadelta", "Adam", "RMSProp",
         "RMSPropCentered", "Ftrl", "FtrlShrinkage", "ProximalGradientDescent", "ProximalAdagrad",
         "AdagradDA"]


def register(kind, build, name, **options):
    """One program per optimizer and kind of gradient, under a name of its own."""
    def build_it(tf):
        return build(tf, name, **options)

    build_it.__name__ = f"{name}_{kind}"
    program(build_it)


for optimizer_name in NAMES:
    register("dense", train_dense, optimizer_name)
    register("dense_resource", train_dense, optimizer_name, use_resource=True)
    register("sparse", train_sparse, optimizer_name)
    register("sparse_resource", train_sparse, optimizer_name, use_resource=True)
