"""Steps as objects train a weight, in a session and where operations run at once."""

from __future__ import annotations

import pytest

import stillflow as tf
from stillflow.graph.eager_mode import eager_mode
from stillflow_contrib.testing.training_examples import (
    batchnorm_example,
    minimize_loss_example,
    single_loss_example,
)

contrib = tf.contrib.distribute
pytestmark = pytest.mark.usefixtures("graph")


def descent():
    return tf.train.GradientDescentOptimizer(0.2)


def strategies():
    return tf.distribute.OneDeviceStrategy("/cpu:0"), tf.distribute.MirroredStrategy(["/cpu:0"])


def test_a_monitor_trains_in_a_session():
    for strategy in strategies():
        with tf.Graph().as_default(), strategy.scope(), tf.Session() as session:
            step, layer = single_loss_example(descent, strategy, True, iterations_per_step=2)
            monitor = contrib.Monitor(step, session)
            errors = []
            for _ in range(3):
                monitor.run_steps(2)
                weights = session.run([layer.kernel.read_value(), layer.bias.read_value()])
                errors.append(abs(weights[0][0, 0] + weights[1][0] - 1.0))
            assert errors[0] > errors[1] > errors[2]
            with pytest.raises(ValueError, match="Should provide a `session`"):
                contrib.Monitor(step)


def test_a_monitor_trains_without_a_session():
    with eager_mode():
        strategy = strategies()[0]
        with strategy.scope():
            step, layer = single_loss_example(descent, strategy)
            with pytest.raises(ValueError, match="Should not provide a `session`"):
                contrib.Monitor(step, object())
            monitor = contrib.Monitor(step)
            monitor.run_steps(1)
            before = abs(float(layer.kernel.numpy()[0, 0]) - 1.0)
            monitor.run_steps(5)
            assert abs(float(layer.kernel.numpy()[0, 0]) - 1.0) < before


def test_a_monitor_ends_with_its_input():
    class Two(contrib.Step):
        made = 0

        def __call__(self):
            self.made += 1
            if self.made > 2:
                raise tf.errors.OutOfRangeError(None, None, "the end")

    with eager_mode():
        step = Two(strategies()[0])
        contrib.Monitor(step).run_steps()
    assert step.made == 3 and step.initialize() == []
    with pytest.raises(NotImplementedError, match="descendants"):
        contrib.Step(None)()


@pytest.mark.parametrize("use_callable_loss", [True, False])
def test_examples_train_by_what_they_are_given(use_callable_loss):
    model_fn, dataset_fn, layer = minimize_loss_example(descent(), True, use_callable_loss)
    x = dataset_fn().make_one_shot_iterator().get_next()
    train = model_fn(x)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(20):
            session.run(train)
        weights = session.run([layer.kernel, layer.bias])
    assert abs(weights[0][0, 0] + weights[1][0] - 1.0) < 1e-3


def test_batch_normalization_is_of_the_examples_batches():
    model_fn, dataset_fn, normalization = batchnorm_example(
        descent, batch_per_epoch=2, momentum=0.5, update_ops_in_replica_mode=True
    )
    train = model_fn(dataset_fn().make_one_shot_iterator().get_next())
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(train)
        mean = session.run(normalization.moving_mean)
    assert mean.tolist() == [0.5 * (60.0 + column) for column in range(8)]
