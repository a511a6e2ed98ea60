"""The optimizers of tf.contrib.opt."""

import numpy as np
import pytest

import stillflow as tf

both_kinds = pytest.mark.parametrize("use_resource", [False, True], ids=["reference", "resource"])

OPTIMIZERS = {
    "Nadam": lambda step: tf.contrib.opt.NadamOptimizer(0.1),
    "LazyAdam": lambda step: tf.contrib.opt.LazyAdamOptimizer(0.1),
    "AdamGS": lambda step: tf.contrib.opt.AdamGSOptimizer(step, 0.1),
    "LazyAdamGS": lambda step: tf.contrib.opt.LazyAdamGSOptimizer(step, 0.1),
    "AdaMax": lambda step: tf.contrib.opt.AdaMaxOptimizer(0.1),
    "AddSign": lambda step: tf.contrib.opt.AddSignOptimizer(0.05),
    "PowerSign": lambda step: tf.contrib.opt.PowerSignOptimizer(0.05),
    "AdamW": lambda step: tf.contrib.opt.AdamWOptimizer(0.01, 0.1),
    "MomentumW": lambda step: tf.contrib.opt.MomentumWOptimizer(0.01, 0.05, 0.5),
    "RegAdagrad": lambda step: tf.contrib.opt.RegAdagradOptimizer(0.5),
    "LARS": lambda step: tf.contrib.opt.LARSOptimizer(0.1, eeta=0.5),
    "GGT": lambda step: tf.contrib.opt.GGTOptimizer(0.1),
    "Shampoo": lambda step: tf.contrib.opt.ShampooOptimizer(step, learning_rate=0.1),
    # Gradients of one direction: their products have the eigenvalues 9 and epsilon. With the
    # default of 1e-4 iterations leave few digits of the smaller one: TensorFlow ends at a loss of
    # 1.61, double precision at 1.37.
    "ShampooByIterations": lambda step: tf.contrib.opt.ShampooOptimizer(
        step, learning_rate=0.1, epsilon=1e-2, use_iterative_root=True
    ),
    "MovingAverage": lambda step: tf.contrib.opt.MovingAverageOptimizer(
        tf.train.GradientDescentOptimizer(0.1)
    ),
}


def run(train, fetches, steps=1, feeds=({},)):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for number in range(steps):
            session.run(train, feeds[number % len(feeds)])
        return session.run(fetches)


@both_kinds
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_every_optimizer_descends(name, use_resource):
    v = tf.get_variable("v", initializer=[2.0, -1.0], use_resource=use_resource)
    loss = tf.reduce_sum(tf.square(v - 0.5))
    step = tf.train.get_or_create_global_step()
    train = OPTIMIZERS[name](step).minimize(loss, global_step=step)
    assert run(train, loss, steps=20) < 4.5 / 2


def _descend_in_double_precision(v, rate, epsilon, steps):
    """Return the loss of `test_every_optimizer_descends` after steps of Shampoo, and the tolerance.

    A step is off by the rate times the square root of its size times the products' condition times
    the precision (as in the golden `shampoo_iterative`), and the loss by twice its own root times
    what the steps are.
    """
    products, off = np.zeros((2, 2)), 0.0
    for _ in range(steps):
        gradient = 2 * (v - 0.5)
        products += np.outer(gradient, gradient)
        values, vectors = np.linalg.eigh(products / 2 + epsilon * np.eye(2))
        v = v - rate * (vectors * values**-0.5) @ (vectors.T @ gradient)
        off += rate * 2**0.5 * values[-1] / values[0] * 2.0**-23
    loss = np.sum((v - 0.5) ** 2)
    return loss, 2 * loss**0.5 * off


@pytest.mark.parametrize("by_iterations", [False, True])
def test_shampoo_descends_as_in_double_precision(by_iterations):
    v = tf.get_variable("v", initializer=[2.0, -1.0])
    loss = tf.reduce_sum(tf.square(v - 0.5))
    optimizer = tf.contrib.opt.ShampooOptimizer(
        learning_rate=0.1, epsilon=1e-2, use_iterative_root=by_iterations
    )
    found = run(optimizer.minimize(loss), loss, steps=20)
    wanted, allowed = _descend_in_double_precision(np.array([2.0, -1.0]), 0.1, 1e-2, 20)
    assert abs(found - wanted) < allowed < 0.01


@both_kinds
@pytest.mark.parametrize("name", ["LazyAdam", "LazyAdamGS", "AdaMax", "AdamW", "RegAdagrad"])
def test_sparse_gradients_descend_too(name, use_resource):
    table = tf.get_variable("t", initializer=np.ones((3, 2), np.float32), use_resource=use_resource)
    step = tf.train.get_or_create_global_step()
    loss = tf.reduce_sum(tf.square(tf.gather(table, [2, 2])))
    train = OPTIMIZERS[name](step).minimize(loss, global_step=step)
    final = run(train, table, steps=3)
    assert (final[2] < 1.0).all()
    np.testing.assert_array_equal(final[:2], 1.0)


def test_weight_decay_is_apart_from_the_gradient():
    v, w = tf.Variable(1.0), tf.Variable(1.0)
    kind = tf.contrib.opt.extend_with_decoupled_weight_decay(tf.train.AdagradOptimizer)
    opt = kind(weight_decay=0.25, learning_rate=1.0)
    zero = tf.constant(0.0)
    train = opt.apply_gradients([(zero, v), (zero, w)], decay_var_list=[v])
    assert run(train, [v, w]) == [0.75, 1.0]


def test_sums_of_squares_can_be_left_alone():
    v = tf.Variable(1.0)
    opt = tf.contrib.opt.RegAdagradOptimizer(0.1, initial_accumulator_value=1.0)
    with opt.avoid_updating_slots():
        train = opt.apply_gradients([(tf.constant(1.0), v)])
    assert run(train, [v, opt.get_slot(v, "accumulator")]) == pytest.approx([0.9, 1.0])


def test_clipped_variables_stay_within_the_norm():
    v = tf.Variable([[3.0, 4.0], [0.3, 0.4]])
    opt = tf.contrib.opt.VariableClippingOptimizer(
        tf.train.GradientDescentOptimizer(0.0), {v: [1]}, 1.0
    )
    np.testing.assert_allclose(
        run(opt.minimize(tf.reduce_sum(v)), v), [[0.6, 0.8], [0.3, 0.4]], rtol=1e-6
    )


def test_tasks_that_have_no_gradient_leave_momentum_alone():
    v, task = tf.Variable(1.0), tf.placeholder(tf.float32, [])
    opt = tf.contrib.opt.MultitaskOptimizerWrapper(tf.train.MomentumOptimizer(1.0, 0.5))
    train = opt.minimize(v * task)
    feeds = [{task: 1.0}, {task: 0.0}, {task: 0.0}]
    assert run(train, [v, opt.get_slot(v, "momentum")], 3, feeds) == [0.0, 1.0]


def test_gradients_that_are_zero_add_nothing_to_the_norm():
    v = tf.Variable(0.0)
    pairs = [(tf.constant([3.0, 4.0]), v), (tf.zeros([7]), v), (None, v)]
    clipped, norm = tf.contrib.opt.clip_gradients_by_global_norm(pairs, 1.0)
    with tf.Session() as session:
        assert session.run(norm) == 5.0
        np.testing.assert_allclose(session.run(clipped[0][0]), [0.6, 0.8], rtol=1e-6)
    assert clipped[2] == (None, v)


def test_a_minimizer_outside_of_the_graph_gets_and_sets_one_vector():
    class OneStep(tf.contrib.opt.ExternalOptimizerInterface):
        def _minimize(self, initial_val, loss_grad_func, **others):
            loss, grad = loss_grad_func(initial_val)
            assert loss == 14.0
            assert others["packed_bounds"] == [(-np.inf, np.inf)] * 2 + [(0.0, 9.0)]
            return initial_val - grad / 2

    a, b = tf.Variable([1.0, 2.0]), tf.Variable(3.0)
    loss = tf.reduce_sum(tf.square(a)) + tf.square(b)
    seen = []
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        OneStep(loss, var_to_bounds={b: (0.0, 9.0)}).minimize(
            session, fetches=[b], loss_callback=seen.append
        )
        assert [session.run(a).tolist(), session.run(b)] == [[0.0, 0.0], 0.0]
    assert seen == [3.0]


def test_scipy_keeps_to_constraints():
    pytest.importorskip("scipy")
    x, y = tf.Variable(2.0), tf.Variable(0.0)
    optimizer = tf.contrib.opt.ScipyOptimizerInterface(
        tf.square(x) + tf.square(y), equalities=[x + y - 2.0], method="SLSQP"
    )
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        optimizer.minimize(session)
        assert session.run([x, y]) == pytest.approx([1.0, 1.0], abs=1e-3)
    with pytest.raises(ValueError, match="Bounds must be set using the var_to_bounds"):
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            tf.contrib.opt.ScipyOptimizerInterface(x * x, bounds=[]).minimize(session)


@both_kinds
def test_ggt_refuses_rows(use_resource):
    table = tf.get_variable("t", initializer=np.ones((3, 2), np.float32), use_resource=use_resource)
    loss = tf.reduce_sum(tf.nn.embedding_lookup(table, [0, 2]))
    with pytest.raises(NotImplementedError, match="Sparse gradient"):
        tf.contrib.opt.GGTOptimizer().minimize(loss)


def test_tnc_stops_after_as_many_evaluations_as_maxiter_says():
    pytest.importorskip("scipy")
    v = tf.get_variable("v", initializer=[2.0, -1.0])
    loss = tf.square(1 - v[0]) + 100 * tf.square(v[1] - tf.square(v[0]))
    optimizer = tf.contrib.opt.ScipyOptimizerInterface(loss, method="TNC", options={"maxiter": 7})
    seen = []
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        optimizer.minimize(session, fetches=[loss], loss_callback=seen.append)
    assert 7 <= len(seen) <= 8  # some versions of SciPy evaluate the first point twice
