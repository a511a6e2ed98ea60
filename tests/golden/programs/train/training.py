"""Using optimizers: compute and apply gradients, clipping, var_list, schedules in a loop."""

from __future__ import annotations

from tests.golden.programs.train.optimizers import FEATURES, TARGETS
from tests.golden.registry import Run, program, raised


def line(tf):
    """Return a linear model, its loss and its two variables."""
    w = tf.get_variable("w", initializer=tf.constant([[0.5], [-0.25]]))
    b = tf.get_variable("b", initializer=tf.constant(0.1))
    x, y = tf.placeholder(tf.float32, [None, 2]), tf.placeholder(tf.float32, [None, 1])
    loss = tf.reduce_mean(tf.square(tf.matmul(x, w) + b - y), name="loss")
    return loss, [w, b], {x: FEATURES, y: TARGETS}


@program
def compute_and_apply_gradients(tf):
    loss, (w, b), feed = line(tf)
    optimizer = tf.train.AdamOptimizer(0.1)
    pairs = optimizer.compute_gradients(loss)
    clipped = [(tf.clip_by_value(g, -0.5, 0.5), v) for g, v in pairs if g is not None]
    train = optimizer.apply_gradients(clipped, name="apply")
    facts = {"order": [v.name for _, v in pairs], "train": [train.name, train.type]}
    return Run({"w": w, "b": b}, feed, setup=[tf.global_variables_initializer()],
               train=[train, loss, [g for g, _ in pairs]], steps=3, facts=facts)


@program
def clip_by_global_norm(tf):
    loss, variables, feed = line(tf)
    gradients = tf.gradients(loss, variables)
    clipped, norm = tf.clip_by_global_norm(gradients, 0.5)
    step = tf.Variable(0, trainable=False, name="step")
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    train = optimizer.apply_gradients(zip(clipped, variables), global_step=step)
    return Run({"variables": variables, "step": step}, feed,
               setup=[tf.global_variables_initializer()], train=[train, norm, clipped], steps=3)


@program
def arguments_of_minimize(tf):
    loss, (w, b), feed = line(tf)
    optimizer = tf.train.MomentumOptimizer(0.1, 0.9, name="MyMomentum")
    only_w = optimizer.minimize(loss, var_list=[w], name="only_w")
    aggregated = optimizer.minimize(
        loss, aggregation_method=tf.AggregationMethod.EXPERIMENTAL_TREE,
        colocate_gradients_with_ops=True, gate_gradients=tf.train.Optimizer.GATE_GRAPH)
    weighted = optimizer.minimize(loss, grad_loss=tf.constant(2.0),
                                  gate_gradients=optimizer.GATE_NONE)
    setup = [tf.global_variables_initializer()]
    return [Run({"w": w, "b": b}, feed, setup=setup, train=[train, loss])
            for train in (only_w, aggregated, weighted)]


@program
def refusals_of_optimizers(tf):
    unrelated = tf.Variable(1.0, name="unrelated")
    constant = tf.constant(2.0)
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    facts = {
        "no_variables": raised(optimizer.minimize, constant, var_list=[]),
        "no_gradient": raised(optimizer.minimize, constant),
        "not_a_variable": raised(optimizer.minimize, constant, var_list=[constant]),
        "empty": raised(optimizer.apply_gradients, []),
        "all_none": raised(optimizer.apply_gradients, [(None, unrelated)]),
        "integer_loss": raised(optimizer.compute_gradients, tf.constant(1)),
        "name": raised(tf.train.Optimizer, False, None),
        "gate": raised(optimizer.compute_gradients, unrelated * 2.0, gate_gradients=7),
    }
    return Run(facts=facts)


@program
def learning_rate_in_a_placeholder(tf):
    loss, variables, feed = line(tf)
    rate = tf.placeholder(tf.float32, [], name="rate")
    train = tf.train.RMSPropOptimizer(rate).minimize(loss)
    feeds = [dict(feed) for _ in range(3)]
    for i, one in enumerate(feeds):
        one[rate] = 0.1 / (i + 1)
    return Run({"variables": variables}, feeds, setup=[tf.global_variables_initializer()],
               train=[train, loss], steps=3)


@program
def decaying_learning_rate(tf):
    loss, variables, feed = line(tf)
    step = tf.Variable(0, trainable=False, name="global_step")
    rate = tf.train.exponential_decay(0.1, step, 2, 0.5, staircase=True)
    optimizer = tf.train.GradientDescentOptimizer(rate)
    train = optimizer.minimize(loss, global_step=step)
    return Run({"rate": rate, "step": step, "variables": variables}, feed,
               setup=[tf.global_variables_initializer()], train=[train, loss], steps=5)


@program
def constraints_and_two_optimizers(tf):
    w = tf.get_variable("w", initializer=[2.0, -2.0],
                        constraint=lambda v: tf.clip_by_value(v, -1.0, 1.0))
    u = tf.get_variable("u", initializer=[1.0])
    loss = tf.reduce_sum(tf.square(w - 3.0)) + tf.reduce_sum(tf.square(u)) * 2.0
    first = tf.train.AdamOptimizer(0.1).minimize(loss, var_list=[w])
    second = tf.train.AdamOptimizer(0.01).minimize(loss, var_list=[u])
    with tf.control_dependencies([first]):
        both = tf.group(second, name="both")
    names = [v.name for v in tf.global_variables()]
    return Run({"w": w, "u": u}, setup=[tf.global_variables_initializer()], train=[both], steps=3,
               facts={"variables": names})


@program
def train_op_with_moving_average(tf):
    loss, variables, feed = line(tf)
    step = tf.train.get_or_create_global_step()
    apply = tf.train.MomentumOptimizer(0.05, 0.9).minimize(loss, global_step=step)
    average = tf.train.ExponentialMovingAverage(0.9, step)
    with tf.control_dependencies([apply]):
        train = average.apply(tf.trainable_variables())
    shadows = [average.average(v) for v in variables]
    return Run({"variables": variables, "shadows": shadows}, feed,
               setup=[tf.global_variables_initializer()], train=train, steps=3)


@program
def gradient_accumulation(tf):
    loss, variables, feed = line(tf)
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    sums = [tf.Variable(tf.zeros_like(v.initialized_value()), trainable=False) for v in variables]
    zero = [s.assign(tf.zeros_like(s)) for s in sums]
    pairs = optimizer.compute_gradients(loss, variables)
    collect = [s.assign_add(g) for s, (g, _) in zip(sums, pairs)]
    train = optimizer.apply_gradients(list(zip(sums, variables)))
    return [Run({"sums": sums}, feed, setup=[tf.global_variables_initializer(), zero],
                train=[collect], steps=2),
            Run({"variables": variables}, train=[train])]


@program
def an_optimizer_of_ones_own(tf):
    class Signs(tf.train.Optimizer):
        def __init__(self, rate, use_locking=False, name="Signs"):
            super().__init__(use_locking, name)
            self._rate = rate

        def _create_slots(self, var_list):
            for v in var_list:
                self._zeros_slot(v, "count", self._name)

        def _prepare(self):
            self._rate_tensor = tf.convert_to_tensor(self._rate, name="rate")

        def _apply_dense(self, grad, var):
            count = self.get_slot(var, "count")
            with tf.control_dependencies([count.assign_add(tf.ones_like(count))]):
                return var.assign_sub(self._rate_tensor * tf.sign(grad))

        def _apply_sparse(self, grad, var):
            raise NotImplementedError

    loss, variables, feed = line(tf)
    optimizer = Signs(0.01)
    train = optimizer.minimize(loss)
    slots = [optimizer.get_slot(v, "count") for v in variables]
    return Run({"variables": variables, "slots": slots}, feed,
               setup=[tf.global_variables_initializer()], train=[train, loss], steps=2)


@program
def sparse_and_dense_gradients_together(tf):
    table = tf.get_variable("table", initializer=tf.constant(FEATURES))
    w = tf.get_variable("w", initializer=tf.constant([[1.0], [2.0]]))
    ids = tf.placeholder(tf.int32, [None])
    y = tf.matmul(tf.nn.embedding_lookup(table, ids), w)
    loss = tf.reduce_mean(tf.square(y)) + 0.01 * tf.nn.l2_loss(table)
    gradients, variables = zip(*tf.train.AdamOptimizer().compute_gradients(loss))
    clipped, norm = tf.clip_by_global_norm(gradients, 1.0)
    train = tf.train.AdamOptimizer(0.1).apply_gradients(zip(clipped, variables))
    return Run({"table": table, "w": w}, {ids: [0, 1, 1]},
               setup=[tf.global_variables_initializer()], train=[train, norm], steps=3)
