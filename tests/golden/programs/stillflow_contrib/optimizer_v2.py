"""Every optimizer of tf.contrib.optimizer_v2: dense and sparse gradients, slots, three steps."""

from __future__ import annotations

from tests.golden.programs.train.optimizers import FEATURES, TARGETS
from tests.golden.registry import Run, program, raised


def optimizers(tf):
    v2 = tf.contrib.optimizer_v2
    return {
        "GradientDescent": v2.GradientDescentOptimizer(0.1),
        "Momentum": v2.MomentumOptimizer(0.1, 0.9),
        "Nesterov": v2.MomentumOptimizer(0.1, momentum=0.9, use_nesterov=True),
        "Adagrad": v2.AdagradOptimizer(0.1, initial_accumulator_value=0.2),
        "Adadelta": v2.AdadeltaOptimizer(learning_rate=1.0, rho=0.9, epsilon=1e-3),
        "Adam": v2.AdamOptimizer(0.05, beta1=0.8, beta2=0.9, epsilon=1e-4),
        "AdamOfFunctions": v2.AdamOptimizer(lambda: 0.05, beta1=lambda: tf.constant(0.8)),
        "RMSProp": v2.RMSPropOptimizer(0.05, decay=0.8, momentum=0.5, epsilon=1e-3),
        "RMSPropCentered": v2.RMSPropOptimizer(0.05, centered=True),
    }


def train_dense(tf, name, use_resource, dtype="float32"):
    optimizer = optimizers(tf)[name]
    with tf.variable_scope("model", use_resource=use_resource):
        w = tf.get_variable("w", initializer=tf.constant([[0.5], [-0.25]], dtype))
        b = tf.get_variable("b", initializer=tf.constant(0.1, dtype), constraint=tf.nn.relu)
    x, y = tf.placeholder(dtype, [None, 2]), tf.placeholder(dtype, [None, 1])
    loss = tf.reduce_mean(tf.square(tf.matmul(x, w) + b - y))
    train = optimizer.minimize(loss, global_step=tf.train.get_or_create_global_step())
    again = optimizer.minimize(loss * 0.5, name="again")
    slots = [optimizer.get_slot(v, slot) for slot in optimizer.get_slot_names() for v in (w, b)]
    facts = {
        "slots": optimizer.get_slot_names(),
        "slot_names": [s.name for s in slots],
        "variables": [v.name for v in optimizer.variables()],
        "train": train.name,
        "name": optimizer.get_name(),
        "global": [v.name for v in tf.global_variables()],
        "again": again.name,
        "ops": len(tf.get_collection(tf.GraphKeys.TRAIN_OP)),
    }
    return Run({"w": w, "b": b, "slots": slots}, {x: FEATURES, y: TARGETS},
               setup=[tf.global_variables_initializer()], train=[train, loss], steps=3,
               facts=facts)  # fmt: skip


def train_sparse(tf, name, use_resource):
    optimizer = optimizers(tf)[name]
    table = tf.get_variable("table", initializer=tf.constant(FEATURES), use_resource=use_resource)
    ids = tf.placeholder(tf.int32, [None])
    rows = tf.nn.embedding_lookup(table, ids)
    loss = tf.reduce_sum(tf.square(rows - 1.0))
    train = optimizer.minimize(loss)
    slots = [optimizer.get_slot(table, slot) for slot in optimizer.get_slot_names()]
    return Run({"table": table, "slots": slots}, [{ids: [0, 2, 0]}, {ids: [1]}, {ids: [2, 2]}],
               setup=[tf.global_variables_initializer()], train=[train], steps=3)  # fmt: skip


_NAMES = ("GradientDescent", "Momentum", "Nesterov", "Adagrad", "Adadelta", "Adam",
          "AdamOfFunctions", "RMSProp", "RMSPropCentered")  # fmt: skip


def make(way, name, use_resource):
    def build(tf):
        return way(tf, name, use_resource)

    kind = "resource" if use_resource else "ref"
    build.__name__, build.__module__ = f"{name}_{way.__name__}_{kind}", __name__
    return program(build)


for _name in _NAMES:
    for _way in (train_dense, train_sparse):
        for _resource in (False, True):
            make(_way, _name, _resource)


@program
def of_double(tf):
    return train_dense(tf, "Adam", True, "float64")


@program
def of_own(tf):
    """Return an optimizer of a program: the sign of gradients, with a count and a slot of sums."""

    class Signs(tf.contrib.optimizer_v2.OptimizerV2):
        def __init__(self, rate):
            super().__init__(False, "Signs")
            self._set_hyper("rate", rate)

        def _create_vars(self, var_list, state):
            state.create_non_slot(initial_value=0.0, name="count")
            for var in var_list:
                state.zeros_slot(var, "sum")
                state.create_slot(var, var.initialized_value() * 2, "twice", "Other")

        def _prepare(self, state):
            self.prepared = state.get_hyper("rate", tf.float64)

        def _apply_dense(self, grad, var, state):
            total = tf.assign_add(state.get_slot(var, "sum"), grad)
            return tf.assign_sub(
                var, state.get_hyper("rate", var.dtype.base_dtype) * tf.sign(total)
            )

        def _finish(self, state):
            return tf.assign_add(state.get_non_slot("count"), 1.0)

    w = tf.get_variable("w", initializer=tf.constant([0.5, -0.25]))
    optimizer = Signs(0.125)
    train = optimizer.minimize(
        tf.reduce_sum(tf.square(w)), stop_gradients=[], scale_loss_by_num_replicas=True
    )
    return Run({"w": w, "own": optimizer.variables()}, train=[train], steps=3,
               setup=[tf.global_variables_initializer()], facts={
        "train": train.name, "slots": optimizer.get_slot_names(),
        "none": str(optimizer.get_slot(w, "other")),
    })  # fmt: skip


@program
def refused(tf):
    v2 = tf.contrib.optimizer_v2

    class Slots(v2.OptimizerV2):
        def _create_slots(self, var_list):
            pass

    w = tf.get_variable("w", [2])
    other = tf.constant([1.0])
    descent = v2.GradientDescentOptimizer(0.1)
    loss = tf.reduce_sum(w)
    return Run({}, facts={
        "slots": raised(Slots, False, "Slots"), "name": raised(v2.OptimizerV2, False, ""),
        "adagrad": raised(v2.AdagradOptimizer, 0.1, 0.0),
        "nothing": raised(descent.apply_gradients, []),
        "none": raised(descent.apply_gradients, [(None, w)])["class"],
        "gate": raised(descent.minimize, loss, gate_gradients=7),
        "var_list": raised(descent.minimize, loss, var_list=[]),
        "apart": raised(descent.minimize, tf.reduce_sum(other)),
        "dtype": raised(descent.minimize, tf.constant(1)),
        "tensor": raised(descent.apply_gradients, [(other, other)]),
        "abstract": raised(v2.OptimizerV2(False, "Abstract").minimize, loss),
        "unsupported": raised(descent._slot_dict, "slot"),
        "empty": [descent.get_slot_names(), descent.variables()],
    })  # fmt: skip
