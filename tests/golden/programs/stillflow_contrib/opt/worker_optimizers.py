"""tf.contrib.opt: optimizers of workers with variables of their own, with a single worker."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program, raised

WORKER = "/job:localhost/task:0/cpu:0"


def names(variables):
    return [variable.op.name for variable in variables]


def collections(tf):
    return {"global": names(tf.global_variables()), "local": names(tf.local_variables()),
            "trainable": names(tf.trainable_variables())}


def model(tf):
    """Return a loss on two variables; one that is not trained, local and not."""
    w = tf.get_variable("w", initializer=tf.constant([0.5, -0.25]))
    b = tf.get_variable("b", [], initializer=tf.ones_initializer())
    tf.get_variable("fixed", [], trainable=False, collections=[tf.GraphKeys.GLOBAL_VARIABLES])
    tf.get_variable("own", [], trainable=False, collections=[tf.GraphKeys.LOCAL_VARIABLES])
    return tf.reduce_sum(tf.square(w * b - [1.0, 2.0]))


def run(tf, optimizer, loss, init, hook, steps=5, step=None):
    step = tf.train.get_or_create_global_step() if step is None else step
    train = optimizer.minimize(loss, step)
    first = init()
    hook.begin()
    setup = [tf.global_variables_initializer(), tf.local_variables_initializer(), first]
    fetches = {v.op.name: v for v in tf.trainable_variables() + tf.global_variables()
               if v.op.name.split("/")[-1] not in ("fixed", "own")}
    return Run(fetches, setup=setup, train=train, steps=steps,
               facts={"collections": collections(tf), "returned": train.op.name})


@program
def elastic_average(tf):
    getter = tf.contrib.opt.ElasticAverageCustomGetter(WORKER)
    with tf.variable_scope("", custom_getter=getter):
        loss = model(tf)
    optimizer = tf.contrib.opt.ElasticAverageOptimizer(
        tf.train.MomentumOptimizer(0.1, 0.5), 1, getter, communication_period=2)
    found = run(tf, optimizer, loss, lambda: optimizer.get_init_op(0),
                optimizer.make_session_run_hook(True, 0))
    saver = optimizer.swapping_saver(name="swapped")
    found.facts["saved"] = {key: var.op.name if hasattr(var, "op") else str(var)
                            for key, var in sorted(saver._var_list.items())}
    return found


@program
def elastic_average_partitioned(tf):
    getter = tf.contrib.opt.ElasticAverageCustomGetter(WORKER)
    with tf.variable_scope("m", custom_getter=getter,
                           partitioner=tf.fixed_size_partitioner(2)):
        w = tf.get_variable("w", initializer=tf.constant([[1.0], [2.0]]))
    with tf.variable_scope("m", custom_getter=getter, reuse=True,
                           partitioner=tf.fixed_size_partitioner(2)):
        again = tf.get_variable("w", [2, 1])
    loss = tf.reduce_sum(tf.square(tf.convert_to_tensor(again)))
    optimizer = tf.contrib.opt.ElasticAverageOptimizer(
        tf.train.AdamOptimizer(0.1), 2, getter, 3, moving_rate=0.25, rho=0.5, synchronous=True)
    train = optimizer.minimize(loss)
    optimizer.get_init_op(1)
    return Run({"w": list(w)}, setup=[tf.global_variables_initializer(),
                                      tf.local_variables_initializer()],
               train=train, steps=4, facts=collections(tf))


@program
def accumulated_gradients(tf):
    getter = tf.contrib.opt.AGNCustomGetter(WORKER)
    with tf.variable_scope("", custom_getter=getter):
        loss = model(tf)
    optimizer = tf.contrib.opt.AGNOptimizer(
        tf.train.AdamOptimizer(0.1), 1, getter, communication_period=2)
    return run(tf, optimizer, loss, lambda: optimizer.get_init_op(0),
               optimizer.make_session_run_hook(True, 0))


@program
def model_average_of_the_chief(tf):
    getter = tf.contrib.opt.ModelAverageCustomGetter(WORKER)
    with tf.variable_scope("", custom_getter=getter):
        loss = model(tf)
    step = tf.train.get_or_create_global_step()
    optimizer = tf.contrib.opt.ModelAverageOptimizer(
        tf.train.GradientDescentOptimizer(0.1), 1, True, getter, interval_steps=2)
    return run(tf, optimizer, loss, optimizer.get_init_op, optimizer.make_session_run_hook(),
               step=step)


@program
def model_average_of_others(tf):
    getter = tf.contrib.opt.ModelAverageCustomGetter(WORKER)
    with tf.variable_scope("", custom_getter=getter):
        loss = model(tf)
    step = tf.train.get_or_create_global_step()
    optimizer = tf.contrib.opt.ModelAverageOptimizer(
        tf.train.GradientDescentOptimizer(0.1), 3, False, getter, interval_steps=5, name="MA")
    return run(tf, optimizer, loss, optimizer.get_init_op, optimizer.make_session_run_hook(),
               step=step, steps=3)


@program
def stale_gradients(tf):
    step = tf.train.get_or_create_global_step()
    w = tf.get_variable("w", initializer=tf.constant([0.5, -0.25]))
    table = tf.get_variable("table", initializer=tf.constant(np.eye(3, 2, dtype=np.float32)))
    loss = tf.reduce_sum(tf.square(w) + tf.nn.embedding_lookup(table, [0, 2]))
    optimizer = tf.contrib.opt.DropStaleGradientOptimizer(
        tf.train.MomentumOptimizer(0.1, 0.5), staleness=0)
    train = optimizer.minimize(loss, step)
    facts = {"slots": optimizer.get_slot_names(), "slot": optimizer.get_slot(w, "momentum").name}
    return Run({"w": w, "table": table, "step": step}, setup=[tf.global_variables_initializer()],
               train=train, steps=3, facts=facts)


@program
def stale_gradients_dropped(tf):
    step = tf.train.get_or_create_global_step()
    w = tf.get_variable("w", initializer=1.0)
    optimizer = tf.contrib.opt.DropStaleGradientOptimizer(
        tf.train.GradientDescentOptimizer(0.1), -1, name="Late")
    train = optimizer.minimize(w * w, step)
    return Run({"w": w, "step": step}, setup=[tf.global_variables_initializer()],
               train=train, steps=3)


@program
def refused(tf):
    opt = tf.contrib.opt
    sgd = tf.train.GradientDescentOptimizer(0.1)
    elastic, average = opt.ElasticAverageCustomGetter(""), opt.ModelAverageCustomGetter("")
    facts = {}
    with tf.variable_scope("elastic"):
        optimizer = opt.ElasticAverageOptimizer(sgd, 1, elastic)
        facts["nothing to start"] = raised(optimizer.get_init_op, 0)
        facts["nothing to save"] = raised(optimizer.swapping_saver)
    with tf.variable_scope("average"):
        optimizer = opt.ModelAverageOptimizer(sgd, 1, True, average)
        facts["no variable"] = raised(optimizer.get_init_op)
        facts["no pairs"] = raised(optimizer.apply_gradients, [])
        facts["no step"] = raised(optimizer.apply_gradients, [(1.0, 1.0)])
    with tf.variable_scope("agn"):
        optimizer = opt.AGNOptimizer(sgd, 1, opt.AGNCustomGetter(""))
        facts["nothing to sum"] = raised(optimizer.get_init_op, 0)
    return Run(facts=facts)
