"""Optimizers with a state for each graph: eagerly, in replicas and in checkpoints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stillflow as tf
from stillflow.graph.eager_mode import eager_mode

MAKERS: dict[str, Any] = {
    "descent": lambda v2: v2.GradientDescentOptimizer(0.1),
    "momentum": lambda v2: v2.MomentumOptimizer(0.1, 0.9),
    "adagrad": lambda v2: v2.AdagradOptimizer(0.1),
    "adadelta": lambda v2: v2.AdadeltaOptimizer(0.5),
    "rmsprop": lambda v2: v2.RMSPropOptimizer(0.1, centered=True),
    "adam": lambda v2: v2.AdamOptimizer(0.1),
}


def _in_graph(optimizer: Any, strategy: Any = None) -> np.ndarray:
    with tf.Graph().as_default(), tf.Session() as session:
        if strategy is None:
            w = tf.get_variable("w", initializer=tf.constant([1.0, -2.0]), use_resource=True)
            train = optimizer.minimize(tf.reduce_sum(tf.square(w)))
        else:
            with strategy.scope():
                w = tf.get_variable("w", initializer=tf.constant([1.0, -2.0]))
                made = strategy.experimental_run_v2(
                    lambda: optimizer.minimize(
                        tf.reduce_sum(tf.square(w)), scale_loss_by_num_replicas=True
                    )
                )
                train = strategy.group(made)
        session.run(tf.global_variables_initializer())
        for _ in range(3):
            session.run(train)
        return np.array(session.run(w if strategy is None else w.read_value()))


@pytest.mark.parametrize("name", MAKERS)
def test_training_eagerly_is_training_in_graphs(name: str) -> None:
    make = MAKERS[name]
    expected = _in_graph(make(tf.contrib.optimizer_v2))
    with tf.Graph().as_default(), eager_mode():
        w = tf.Variable([1.0, -2.0])
        optimizer = make(tf.contrib.optimizer_v2)
        for _ in range(3):
            optimizer.minimize(lambda: tf.reduce_sum(tf.square(w)))
        np.testing.assert_allclose(w.numpy(), expected, rtol=1e-5)


@pytest.mark.parametrize("name", sorted(set(MAKERS) - {"adam"}))
def test_training_in_a_replica_is_training_without(name: str) -> None:
    make = MAKERS[name]
    strategy = tf.distribute.MirroredStrategy(["/cpu:0"])
    with tf.Graph().as_default(), strategy.scope():
        optimizer = make(tf.contrib.optimizer_v2)
    found = _in_graph(optimizer, strategy)
    np.testing.assert_allclose(found, _in_graph(make(tf.contrib.optimizer_v2)), rtol=1e-6)


def test_variables_of_the_whole_are_refused_in_replicas_as_by_tensorflow() -> None:
    strategy = tf.distribute.MirroredStrategy(["/cpu:0"])
    with tf.Graph().as_default(), strategy.scope():
        optimizer = tf.contrib.optimizer_v2.AdamOptimizer(0.1)
    with pytest.raises(ValueError, match="`colocate_vars_with` must only be passed a variable"):
        _in_graph(optimizer, strategy)


def test_each_graph_has_its_own_state() -> None:
    optimizer = tf.contrib.optimizer_v2.MomentumOptimizer(0.1, 0.9)
    first, second = (_in_graph(optimizer) for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert optimizer.get_slot_names() == []
    assert optimizer.variables() == []


def test_hyperparameters_that_are_functions_change_eagerly() -> None:
    with tf.Graph().as_default(), eager_mode():
        w, rates = tf.Variable(0.0), iter([1.0, 10.0])
        optimizer = tf.contrib.optimizer_v2.GradientDescentOptimizer(lambda: next(rates))
        for expected in (-1.0, -11.0):
            optimizer.minimize(lambda: w * 1.0)
            assert w.numpy() == expected


def test_slots_are_saved_and_restored_before_they_are_made(tmp_path: Path) -> None:
    def built() -> tuple[Any, Any, Any]:
        w = tf.get_variable("w", initializer=tf.constant([1.0, -2.0]), use_resource=True)
        optimizer = tf.contrib.optimizer_v2.AdamOptimizer(0.1)
        return w, optimizer, tf.train.Checkpoint(w=w, optimizer=optimizer)

    with tf.Graph().as_default(), tf.Session() as session:
        w, optimizer, checkpoint = built()
        train = optimizer.minimize(tf.reduce_sum(tf.square(w)))
        session.run(tf.global_variables_initializer())
        session.run(train)
        path = checkpoint.save(str(tmp_path / "saved"), session)
        expected = session.run(optimizer.variables())
    with tf.Graph().as_default(), tf.Session() as session:
        w, optimizer, checkpoint = built()
        status = checkpoint.restore(path)
        optimizer.minimize(tf.reduce_sum(tf.square(w)))
        status.assert_consumed().run_restore_ops(session)
        for found, wanted in zip(session.run(optimizer.variables()), expected, strict=True):
            np.testing.assert_array_equal(found, wanted)
