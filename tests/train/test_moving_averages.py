"""Moving averages of variables and tensors."""

import numpy as np
import pytest

import stillflow as tf
from stillflow.train.moving_averages import assign_moving_average, weighted_moving_average


@pytest.mark.parametrize("use_resource", [False, True], ids=["reference", "resource"])
def test_an_average_follows_its_variable(use_resource):
    v = tf.get_variable("v", initializer=10.0, use_resource=use_resource)
    ema = tf.train.ExponentialMovingAverage(0.75)
    update = ema.apply([v])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(v.assign(20.0).op)
        session.run(update)
        assert session.run(ema.average(v)) == 12.5
        session.run(update)
        assert session.run(ema.average(v)) == pytest.approx(14.375)
    assert ema.average(v).op.name == "v/ExponentialMovingAverage" == ema.average_name(v)
    assert tf.moving_average_variables() == [v]


def test_a_counter_shortens_the_memory_of_young_averages():
    v, count = tf.Variable(0.0), tf.Variable(0)
    ema = tf.train.ExponentialMovingAverage(0.9, num_updates=count)
    update = ema.apply([v])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(v.assign(10.0))
        session.run(update)
        assert session.run(ema.average(v)) == pytest.approx(10 * (1 - 0.1))


def test_averages_of_tensors_start_from_zero_unless_corrected():
    x = tf.placeholder(tf.float32, [2])
    plain = tf.train.ExponentialMovingAverage(0.5, name="plain")
    fair = tf.train.ExponentialMovingAverage(0.5, zero_debias=True, name="fair")
    updates = [plain.apply([x]), fair.apply([x])]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(updates, {x: [4.0, 8.0]})
        np.testing.assert_allclose(session.run(plain.average(x)), [2.0, 4.0])
        np.testing.assert_allclose(session.run(fair.average(x)), [4.0, 8.0], rtol=1e-6)


def test_a_saver_can_load_averages_into_variables():
    v, w = tf.Variable(1.0, name="v"), tf.Variable(1.0, trainable=False, name="w")
    ema = tf.train.ExponentialMovingAverage(0.5)
    ema.apply()
    average = ema.average(v)
    assert ema.variables_to_restore() == {
        "v/ExponentialMovingAverage": v,
        "w": w,
    }
    assert average is not None and ema.average(w) is None
    assert ema.average_name(w) == "w/ExponentialMovingAverage"


def test_only_floats_have_averages():
    with pytest.raises(TypeError, match="must be half, float, or double"):
        tf.train.ExponentialMovingAverage(0.5).apply([tf.Variable(1)])


def test_debiased_updates_are_exact_for_a_constant():
    v = tf.get_variable("v", initializer=0.0)
    update = assign_moving_average(v, tf.constant(3.0), 0.9)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run([update, update])[0] == pytest.approx(3.0)
    assert {"v/biased:0", "v/local_step:0"} <= {item.name for item in tf.global_variables()}


def test_weights_say_how_much_a_value_counts():
    value, weight = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    average = weighted_moving_average(value, 0.5, weight)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert session.run(average, {value: 10.0, weight: 1.0}) == pytest.approx(10.0)
        assert session.run(average, {value: 0.0, weight: 0.0}) == pytest.approx(10.0)
        assert session.run(average, {value: 0.0, weight: 0.25}) == pytest.approx(5.0)
