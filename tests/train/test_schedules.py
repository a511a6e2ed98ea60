"""Learning-rate schedules against their formulas."""

import math

import pytest

import stillflow as tf
from stillflow.train import schedules


def values(make, steps):
    step = tf.placeholder(tf.int32, [])
    rate = make(step)
    with tf.Session() as session:
        return [float(session.run(rate, {step: n})) for n in steps]


STEPS = (0, 3, 10, 25)

FORMULAS = {
    "exponential": (
        lambda n: tf.train.exponential_decay(0.5, n, 10, 0.9),
        lambda n: 0.5 * 0.9 ** (n / 10),
    ),
    "exponential in steps": (
        lambda n: tf.train.exponential_decay(0.5, n, 10, 0.9, staircase=True),
        lambda n: 0.5 * 0.9 ** (n // 10),
    ),
    "natural exponential": (
        lambda n: tf.train.natural_exp_decay(0.5, n, 10, 0.9),
        lambda n: 0.5 * math.exp(-0.9 * n / 10),
    ),
    "inverse time": (
        lambda n: tf.train.inverse_time_decay(0.5, n, 10, 0.9),
        lambda n: 0.5 / (1 + 0.9 * n / 10),
    ),
    "polynomial": (
        lambda n: tf.train.polynomial_decay(0.5, n, 20, 0.1, power=2.0),
        lambda n: 0.4 * (1 - min(n, 20) / 20) ** 2 + 0.1,
    ),
    "cyclic polynomial": (
        lambda n: tf.train.polynomial_decay(0.5, n, 10, 0.1, cycle=True),
        lambda n: 0.4 * (1 - n / (10 * max(1, math.ceil(n / 10)))) + 0.1,
    ),
    "cosine": (
        lambda n: tf.train.cosine_decay(0.5, n, 20, alpha=0.1),
        lambda n: 0.5 * (0.9 * (1 + math.cos(math.pi * min(n, 20) / 20)) / 2 + 0.1),
    ),
    "cosine with equal restarts": (
        lambda n: tf.train.cosine_decay_restarts(0.5, n, 10, t_mul=1.0, m_mul=0.5),
        lambda n: 0.5 * 0.5 ** (n // 10) * (1 + math.cos(math.pi * (n % 10) / 10)) / 2,
    ),
    "linear cosine": (
        lambda n: tf.train.linear_cosine_decay(0.5, n, 20),
        lambda n: (
            0.5 * ((1 - min(n, 20) / 20) * (1 + math.cos(math.pi * min(n, 20) / 20)) / 2 + 0.001)
        ),
    ),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_schedules_follow_their_formulas(name):
    make, formula = FORMULAS[name]
    assert values(make, STEPS) == pytest.approx([formula(n) for n in STEPS], rel=1e-5)


def test_piecewise_constants_include_their_right_boundary():
    def make(step):
        return tf.train.piecewise_constant(step, [2, 5], [1.0, 0.5, 0.25])

    assert values(make, (0, 2, 3, 5, 6)) == [1.0, 1.0, 0.5, 0.5, 0.25]


def test_boundaries_of_another_type_are_refused():
    with pytest.raises(ValueError, match="must have the same dtype as x"):
        tf.train.piecewise_constant(tf.constant(1), [2.0], [1.0, 0.5])
    with pytest.raises(ValueError, match="elements all with the same dtype"):
        tf.train.piecewise_constant(tf.constant(1), [2], [1.0, 1])


def test_noise_dies_out():
    def make(step):
        return tf.train.noisy_linear_cosine_decay(
            1.0, step, 1000, initial_variance=1e-4, variance_decay=10.0
        )

    assert values(make, [500]) == pytest.approx(
        values(lambda step: tf.train.linear_cosine_decay(1.0, step, 1000), [500]), rel=1e-4
    )


def test_schedules_are_described_by_their_config():
    schedule = schedules.PolynomialDecay(0.5, 10, power=2.0)
    config = schedule.get_config()
    assert config == {
        "initial_learning_rate": 0.5,
        "decay_steps": 10,
        "end_learning_rate": 0.0001,
        "power": 2.0,
        "cycle": False,
        "name": None,
    }
    assert schedules.PolynomialDecay.from_config(config).get_config() == config
