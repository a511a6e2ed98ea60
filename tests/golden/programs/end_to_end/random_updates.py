"""Differences found by random updates of variables."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program, raised


def variables(tf, count, shape=(3, 2)):
    held = [
        tf.raw_ops.VariableV2(shape=shape, dtype=tf.float32, shared_name="v{}".format(at))
        for at in range(count)
    ]
    ones = tf.ones(shape)
    return held, [tf.raw_ops.Assign(ref=each, value=ones) for each in held]


@program
def scalars_that_are_none(tf):
    raw = tf.raw_ops
    (v, m, s), setup = variables(tf, 3)
    rows = {"indices": [0], "grad": [[1.0, 1.0]]}
    fed = tf.placeholder(tf.float32)
    one, grad = 1.0, tf.ones([3, 2])
    adam = {"beta1_power": 0.9, "beta2_power": 0.9, "beta1": 0.9, "beta2": 0.9, "epsilon": one}
    rms = {"rho": one, "momentum": one, "epsilon": one}
    updates = {
        "alpha": raw.ApplyGradientDescent(var=v, alpha=fed, delta=grad),
        "spaced": raw.ApplyAdam(var=v, m=m, v=s, lr=fed, grad=grad, **adam),
        "beta2": raw.ApplyAdam(var=v, m=m, v=s, lr=one, grad=grad, **dict(adam, beta2=fed)),
        "rms": raw.ApplyRMSProp(var=v, ms=m, mom=s, lr=fed, grad=grad, **rms),
        "rows": raw.SparseApplyRMSProp(var=v, ms=m, mom=s, lr=fed, **dict(rms, **rows)),
        "momentum": raw.SparseApplyMomentum(var=v, accum=m, lr=fed, momentum=one, **rows),
        "l2": raw.ApplyAdagradDA(
            var=v, gradient_accumulator=m, gradient_squared_accumulator=s, grad=grad, lr=one,
            l1=one, l2=fed, global_step=np.int64(1),
        ),
    }  # fmt: skip

    def call(session):
        feeds = {fed: [1.0]}
        return {
            name: raised(lambda op=op: session.run(op, feeds))
            for name, op in sorted(updates.items())
        }

    return Run(call=call, setup=setup)


@program
def gradients_of_other_shapes(tf):
    raw = tf.raw_ops
    (v, m), setup = variables(tf, 2)
    fed = tf.placeholder(tf.float32)
    dense = {
        "delta": raw.ApplyGradientDescent(var=v, alpha=0.1, delta=fed),
        "proximal": raw.ApplyProximalGradientDescent(var=v, alpha=0.1, l1=0.1, l2=0.1, delta=fed),
        "grad": raw.ApplyMomentum(var=v, accum=m, lr=0.1, grad=fed, momentum=0.9),
    }
    scalar = tf.placeholder(tf.float32)
    dense["scalar"] = raw.SparseApplyAdagrad(var=v, accum=m, lr=0.1, grad=scalar, indices=[0])
    rows = lambda indices, grad: raised(
        lambda: raw.SparseApplyAdagrad(var=v, accum=m, lr=0.1, grad=grad, indices=indices)
    )
    facts = {
        "count": rows([0, 1], [[1.0, 1.0]]),
        "width": rows([0], [[1.0]]),
        "rank": rows([0], [1.0]),
        "indices": rows([[0]], [[1.0, 1.0]]),
    }

    def call(session):
        feeds = {fed: np.ones([2, 2], "float32"), scalar: 1.0}
        return {
            name: raised(lambda op=op: session.run(op, feeds)) for name, op in sorted(dense.items())
        }

    return Run(facts=facts, call=call, setup=setup)


@program
def types_behind_handles(tf):
    raw = tf.raw_ops
    handle = raw.VarHandleOp(dtype=tf.float16, shape=[2])
    return Run(
        facts={
            "gather": raised(
                lambda: raw.ResourceGather(resource=handle, indices=[0], dtype=tf.float32)
            ),
            "gather_nd": raised(
                lambda: raw.ResourceGatherNd(resource=handle, indices=[[0]], dtype=tf.float32)
            ),
            "scatter": raised(
                lambda: raw.ResourceScatterAdd(resource=handle, indices=[0], updates=[1.0])
            ),
            "count": raised(lambda: raw.ResourceCountUpTo(resource=handle, limit=3, T=tf.int32)),
        }
    )


@program
def updates_with_axes_elsewhere(tf):
    variable = tf.Variable(tf.ones([4, 2]), use_resource=True)
    fed = tf.placeholder(tf.float32)
    scattered = tf.raw_ops.ResourceScatterMax(
        resource=variable.handle, indices=[[2], [0], [2]], updates=fed
    )
    fetches = {"variable": variable}
    feeds = {fed: np.arange(6, dtype="float32").reshape([1, 3, 2])}
    return Run(fetches, feeds, train=scattered, setup=[variable.initializer])
