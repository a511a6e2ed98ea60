"""tf.contrib.opt: decays of the signs in AddSign and PowerSign."""

from __future__ import annotations

from tests.golden.registry import Run, internal_module, program, raised


def _decays(tf):
    return internal_module(
        tf, "stillflow_contrib.opt.sign_decay", "contrib.opt.python.training.sign_decay"
    )


def _along(tf, decay, steps=7):
    step = tf.placeholder(tf.int32, [])
    value = decay(step)
    return Run(call=lambda session: {
        str(n): session.run(value, {step: n}) for n in range(steps)})


@program
def linear(tf):
    return _along(tf, _decays(tf).get_linear_decay_fn(5))


@program
def along_cosine_waves(tf):
    module = _decays(tf)
    return [_along(tf, module.get_cosine_decay_fn(5)),
            _along(tf, module.get_cosine_decay_fn(6, num_periods=2, zero_after=1))]


@program
def with_restarts(tf):
    module = _decays(tf)
    return [_along(tf, module.get_restart_decay_fn(6, num_periods=2)),
            _along(tf, module.get_restart_decay_fn(6, num_periods=3, zero_after=1))]


@program
def without_a_step(tf):
    module = _decays(tf)
    return Run(facts={name: raised(getattr(module, "get_" + name + "_decay_fn")(5), None)
                      for name in ("linear", "cosine", "restart")})


@program
def signs_that_decay(tf):
    step = tf.train.get_or_create_global_step()
    decay = _decays(tf).get_linear_decay_fn(4)
    v = tf.get_variable("v", initializer=[1.0, -2.0])
    optimizer = tf.contrib.opt.AddSignOptimizer(0.1, sign_decay_fn=decay)
    train = optimizer.minimize(tf.reduce_sum(tf.square(v)), global_step=step)
    return Run(fetches={"v": v.read_value()}, train=train, steps=5,
               setup=[tf.global_variables_initializer()])
