"""Common parts of optimizers: arguments, slots, variables of every kind, errors."""

import numpy as np
import pytest

import stillflow as tf

OPTIMIZERS = {
    "GradientDescent": lambda: tf.train.GradientDescentOptimizer(0.1),
    "Momentum": lambda: tf.train.MomentumOptimizer(0.05, 0.5),
    "Adagrad": lambda: tf.train.AdagradOptimizer(0.5),
    "Adadelta": lambda: tf.train.AdadeltaOptimizer(2.0, epsilon=0.01),
    "Adam": lambda: tf.train.AdamOptimizer(0.1),
    "RMSProp": lambda: tf.train.RMSPropOptimizer(0.05),
    "RMSProp centered": lambda: tf.train.RMSPropOptimizer(0.05, centered=True),
    "Ftrl": lambda: tf.train.FtrlOptimizer(0.5),
    "ProximalGradientDescent": lambda: tf.train.ProximalGradientDescentOptimizer(0.1),
    "ProximalAdagrad": lambda: tf.train.ProximalAdagradOptimizer(0.5),
    "AdagradDA": lambda: tf.train.AdagradDAOptimizer(0.5, tf.train.get_or_create_global_step()),
}


def run(train, fetches=(), steps=1, feed=None):
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(steps):
            session.run(train, feed)
        return session.run(fetches, feed)


@pytest.mark.parametrize("use_resource", [False, True], ids=["reference", "resource"])
@pytest.mark.parametrize("dtype", [tf.float32, tf.float64, tf.float16], ids=lambda t: t.name)
@pytest.mark.parametrize("name", OPTIMIZERS)
def test_every_optimizer_descends(name, dtype, use_resource):
    if dtype != tf.float32 and name.startswith("Proximal"):
        pytest.skip("proximal optimizers take hyperparameters of the variable's type only")
    v = tf.get_variable("v", initializer=tf.constant([2.0, -1.0], dtype), use_resource=use_resource)
    loss = tf.reduce_sum(tf.square(v - tf.constant(0.5, dtype)))
    step = tf.train.get_or_create_global_step()
    train = OPTIMIZERS[name]().minimize(loss, global_step=step)
    final, count = run(train, [loss, step], steps=20)
    assert final < 4.5 / 2
    assert count == 20


@pytest.mark.parametrize("use_resource", [False, True], ids=["reference", "resource"])
@pytest.mark.parametrize("name", [name for name in OPTIMIZERS if name != "Adam"])
def test_sparse_gradients_move_only_rows_they_name(name, use_resource):
    table = tf.get_variable("t", initializer=np.ones((4, 2), np.float32), use_resource=use_resource)
    rows = tf.gather(table, [1, 3, 1])
    opt = OPTIMIZERS[name]()
    train = opt.minimize(tf.reduce_sum(tf.square(rows)), global_step=tf.train.get_global_step())
    final = run(train, table)
    np.testing.assert_array_equal(final[[0, 2]], 1.0)
    assert (final[[1, 3]] < 1.0).all()


def test_repeated_indices_count_like_their_sum():
    results = []
    for indices, values in (([0, 0], [[1.0], [2.0]]), ([0], [[3.0]])):
        with tf.Graph().as_default():
            v = tf.Variable([[1.0], [5.0]])
            slices = tf.IndexedSlices(
                tf.constant(values), tf.constant(indices), tf.constant([2, 1])
            )
            results.append(run(tf.train.AdagradOptimizer(0.1).apply_gradients([(slices, v)]), v))
    np.testing.assert_array_equal(*results)


def test_slots_are_variables_named_after_the_variable():
    with tf.variable_scope("model"):
        v = tf.get_variable("w", [2], initializer=tf.zeros_initializer())
    opt = tf.train.MomentumOptimizer(0.1, 0.9, name="Heavy")
    opt.minimize(tf.reduce_sum(v))
    assert opt.get_slot_names() == ["momentum"]
    assert opt.get_slot(v, "momentum").name == "model/w/Heavy:0"
    assert opt.get_slot(v, "velocity") is None
    assert opt.variables() == [opt.get_slot(v, "momentum")]
    assert opt.get_slot(v, "momentum") not in tf.trainable_variables()


def test_slots_of_parts_know_their_place_in_the_whole():
    parts = tf.get_variable(
        "w", [4, 2], initializer=tf.zeros_initializer(), partitioner=tf.fixed_size_partitioner(2)
    )
    opt = tf.train.MomentumOptimizer(0.1, 0.9)
    opt.minimize(tf.reduce_sum(parts.as_tensor()))
    infos = [opt.get_slot(part, "momentum")._get_save_slice_info() for part in parts]
    assert [info.full_name for info in infos] == ["w/Momentum", "w/Momentum"]
    assert [info.spec for info in infos] == ["4 2 0,2:0,2", "4 2 2,2:0,2"]


def test_variables_are_those_of_the_default_graph():
    opt = tf.train.AdamOptimizer()
    opt.minimize(tf.Variable(1.0, name="here") * 2.0)
    here = [v.name for v in opt.variables()]
    with tf.Graph().as_default():
        opt.minimize(tf.Variable(1.0, name="there") * 2.0)
        there = [v.name for v in opt.variables()]
    assert here == ["beta1_power:0", "beta2_power:0", "here/Adam:0", "here/Adam_1:0"]
    assert there == ["beta1_power:0", "beta2_power:0", "there/Adam:0", "there/Adam_1:0"]


@pytest.mark.parametrize("gate", ["GATE_NONE", "GATE_OP", "GATE_GRAPH"])
def test_gating_changes_no_value(gate):
    v, w = tf.Variable(2.0), tf.Variable(3.0)
    opt = tf.train.GradientDescentOptimizer(0.1)
    pairs = opt.compute_gradients(v * w, gate_gradients=getattr(opt, gate))
    assert run(opt.apply_gradients(pairs), [v, w]) == pytest.approx([1.7, 2.8])


def test_gradients_can_be_changed_on_the_way():
    v = tf.Variable([3.0, 4.0])
    opt = tf.train.GradientDescentOptimizer(1.0)
    pairs = opt.compute_gradients(tf.reduce_sum(tf.square(v)) / 2)
    clipped = [(tf.clip_by_norm(g, 1.0), v) for g, v in pairs]
    np.testing.assert_allclose(run(opt.apply_gradients(clipped), v), [2.4, 3.2], rtol=1e-6)


def test_gradients_without_a_path_are_none_and_skipped():
    v, other = tf.Variable(1.0), tf.Variable(7.0)
    opt = tf.train.GradientDescentOptimizer(1.0)
    pairs = opt.compute_gradients(v * 2.0, [v, other])
    assert pairs[1] == (None, other)
    assert run(opt.apply_gradients(pairs), [v, other]) == [-1.0, 7.0]


def test_a_loss_may_be_a_function():
    v = tf.Variable(2.0, use_resource=True)
    tf.Variable(5.0, name="unused", use_resource=True)
    opt = tf.train.GradientDescentOptimizer(0.5)
    pairs = opt.compute_gradients(lambda: v * 3.0)
    assert [variable for _, variable in pairs] == [v]
    assert run(opt.apply_gradients(pairs), v) == 0.5


def test_hyperparameters_may_be_functions_tensors_or_fed():
    v = tf.Variable(1.0)
    rate = tf.placeholder(tf.float32, [])
    opt = tf.train.MomentumOptimizer(lambda: rate, momentum=tf.constant(0.0))
    assert run(opt.minimize(v * 2.0), v, feed={rate: 0.25}) == 0.5


@pytest.mark.parametrize("use_resource", [False, True], ids=["reference", "resource"])
def test_constraints_project_after_the_step(use_resource):
    v = tf.get_variable(
        "v", initializer=[1.0, -1.0], constraint=tf.nn.relu, use_resource=use_resource
    )
    train = tf.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_sum(v))
    np.testing.assert_array_equal(run(train, v), [0.5, 0.0])


def test_the_train_op_is_collected_once_and_named():
    v = tf.Variable(1.0)
    train = tf.train.GradientDescentOptimizer(0.5).minimize(v * 1.0, name="learn")
    assert train.name == "learn"
    assert tf.get_collection(tf.GraphKeys.TRAIN_OP) == [train]


class Halving(tf.train.Optimizer):
    """An optimizer as programs write them: it moves half the way to the gradient."""

    def __init__(self):
        super().__init__(use_locking=False, name="Halving")

    def _create_slots(self, var_list):
        for v in var_list:
            self._zeros_slot(v, "last", self._name)

    def _apply_dense(self, grad, var):
        last = tf.assign(self.get_slot(var, "last"), grad)
        return tf.assign_sub(var, last / 2.0).op


def test_programs_can_write_optimizers():
    v = tf.Variable(4.0)
    opt = Halving()
    train = opt.minimize(tf.square(v) / 2)
    assert run(train, [v, opt.get_slot(v, "last")], steps=2) == [1.0, 2.0]


def test_what_makes_no_sense_is_refused():
    v, number = tf.Variable(1.0), tf.Variable(1)
    opt = tf.train.GradientDescentOptimizer(1.0)
    with pytest.raises(ValueError, match="No variables to optimize"):
        opt.compute_gradients(v * 1.0, [])
    with pytest.raises(ValueError, match="gate_gradients must be one of"):
        opt.compute_gradients(v * 1.0, gate_gradients=7)
    with pytest.raises(ValueError, match=r"Invalid type tf\.int32 for"):
        opt.compute_gradients(number * 2)
    with pytest.raises(ValueError, match="No gradients provided for any variable, check"):
        opt.minimize(tf.constant(1.0), var_list=[v])
    with pytest.raises(ValueError, match="No variables provided"):
        opt.apply_gradients([])
    with pytest.raises(TypeError, match="Gradient must be"):
        opt.apply_gradients([(object(), v)])
    with pytest.raises(NotImplementedError, match="Trying to update a Tensor"):
        opt.apply_gradients([(tf.constant(1.0), tf.constant(1.0))])
    with pytest.raises(ValueError, match="Must specify the optimizer name"):
        tf.train.GradientDescentOptimizer(1.0, name="")
    with pytest.raises(ValueError, match="initial_accumulator_value must be positive"):
        tf.train.AdagradOptimizer(1.0, initial_accumulator_value=0.0)


def test_optimizers_have_the_base_that_programs_look_for():
    names = [name for name in dir(tf.train) if name.endswith("Optimizer") and name != "Optimizer"]
    assert len(names) == 11
    assert {getattr(tf.train, name).__base__ for name in names} == {tf.train.Optimizer}


def test_an_optimizer_can_build_on_another_ones_rule():
    seen = []

    class Watching(tf.train.ProximalGradientDescentOptimizer):
        def _apply_dense(self, grad, var):
            seen.append(var.op.name)
            return super()._apply_dense(grad, var)

    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable(3.0, name="v", use_resource=False)
        train = Watching(0.5, l1_regularization_strength=1.0).minimize(v * v)
        session.run(tf.global_variables_initializer())
        session.run(train)  # 3 - 0.5 * 6 = 0, which shrinks no further
        assert seen == ["v"] and session.run(v) == 0.0
