"""A store for the variables of layers that are functions."""

from __future__ import annotations

import pytest

import stillflow as tf
from stillflow.eager.immediate import ImmediateGraph
from stillflow.variables.store import VariableStore

Store = tf.contrib.eager.EagerVariableStore


@pytest.fixture
def eager():
    with ImmediateGraph().as_default():
        yield


def test_layers_find_their_variables_again(eager):
    store = Store()
    outputs = []
    for _ in range(2):
        with store.as_default():
            outputs.append(tf.layers.dense(tf.ones([1, 2]), 3, name="l").numpy().tolist())
    assert outputs[0] == outputs[1]
    assert [v.name for v in store.variables()] == ["l/bias:0", "l/kernel:0"]
    assert len(store.trainable_variables()) == 2 and not store.non_trainable_variables()


def test_copies_change_alone(eager):
    store = Store()
    with store.as_default():
        tf.get_variable("v", initializer=1.0)
    other = store.copy()
    other.variables()[0].assign(2.0)
    assert [s.variables()[0].numpy() for s in (store, other)] == [1.0, 2.0]


def test_without_a_store_variables_are_new_each_time(eager):
    assert tf.get_variable("v", initializer=1.0) is not tf.get_variable("v", initializer=1.0)
    with tf.variable_scope("s", reuse=True):  # which asks for nothing
        assert tf.get_variable("v", [], initializer=tf.zeros_initializer()).numpy() == 0
    with pytest.raises(ValueError, match="does not hold eager variables"):
        Store(VariableStore())


def test_templates_keep_their_variables(eager):
    def scaled(x):
        return x * tf.get_variable("q", initializer=2.0)

    template = tf.make_template("t", scaled)
    assert [template(3.0).numpy() for _ in range(2)] == [6.0, 6.0]
    assert [v.name for v in template.variables] == ["t/q:0"]
