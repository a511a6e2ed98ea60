"""tf.contrib.mixed_precision: scales of a loss over steps of which some overflow."""

from __future__ import annotations

from tests.golden.registry import Run, program, raised


def trained(tf, manager, steps):
    x = tf.placeholder(tf.float32, [])
    w = tf.get_variable("w", initializer=2.0)
    unused = tf.get_variable("unused", initializer=1.0)
    inner = tf.train.MomentumOptimizer(0.1, 0.9)
    optimizer = tf.contrib.mixed_precision.LossScaleOptimizer(inner, manager)
    loss = tf.square(w * x - 1.0)
    pairs = optimizer.compute_gradients(loss, [w, unused])
    step = tf.train.get_or_create_global_step()
    train = optimizer.apply_gradients(pairs[:1], step)
    facts = {"gradients": [getattr(g, "name", None) for g, _ in pairs],
             "variables": [v.op.name for v in tf.global_variables()]}
    return Run({"scale": manager.get_loss_scale(), "w": w, "step": step},
               [{x: value} for value in steps],
               setup=[tf.global_variables_initializer()], train=train, steps=len(steps),
               facts=facts)


@program
def fixed(tf):
    run = trained(tf, tf.contrib.mixed_precision.FixedLossScaleManager(128), [1.0, 1e30, 0.5])
    run.facts["small"] = raised(tf.contrib.mixed_precision.FixedLossScaleManager, 0.5)
    run.facts["abstract"] = raised(tf.contrib.mixed_precision.LossScaleManager)["class"]
    return run


@program
def exponential(tf):
    manager = tf.contrib.mixed_precision.ExponentialUpdateLossScaleManager(1024.0, 2, 2, 4.0, 0.5)
    return trained(tf, manager, [1.0, 0.5, 1e30, 1e30, 0.1, 1e30, 0.2, 1e30, 1e30])


@program
def exponential_at_its_limits(tf):
    manager = tf.contrib.mixed_precision.ExponentialUpdateLossScaleManager(1e38, 1, 1, 1e3, 1e-30)
    return trained(tf, manager, [1e-30, 1e-30, 1e30, 1e30])
