"""The registry of gradients that programs change, as SHAP does."""

from __future__ import annotations

import pytest

import stillflow as tf
from stillflow.facade.lookup import lookup
from stillflow.graph import gradient_registry

REGISTRY = lookup("tensorflow.python.framework.ops", "_gradient_registry")


def slope(function) -> float:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(3.0)
        return float(session.run(tf.gradients(function(x), x)[0]))


def test_a_gradient_is_replaced_and_put_back():
    table = REGISTRY._registry
    before = table["Square"]["type"]
    table["Square"]["type"] = lambda op, grad: 10.0 * before(op, grad)
    try:
        assert slope(tf.square) == 60.0
        assert REGISTRY.lookup("Square") is not before
    finally:
        table["Square"]["type"] = before
    assert slope(tf.square) == 6.0
    assert REGISTRY.lookup("Square") is before
    assert "Square" not in gradient_registry._registered


def test_it_tells_types_with_gradients_from_others():
    table = REGISTRY._registry
    assert "Relu" in table
    assert table["Shape"]["type"] is None  # gradients stop there
    assert "NoSuchType" not in table
    assert {"MatMul", "Relu", "Shape"} <= set(REGISTRY.list())
    with pytest.raises(LookupError, match="gradient registry has no entry for: NoSuchType"):
        REGISTRY.lookup("NoSuchType")


def test_what_is_registered_stands_in_it():
    try:
        REGISTRY.register(lambda op, grad: grad * 2.0, "TestOfTheTable")
        with pytest.raises(KeyError, match="Registering two gradient with name 'TestOfTheTable'!"):
            REGISTRY.register(None, "TestOfTheTable")
        with tf.Graph().as_default(), tf.Session() as session:
            x = tf.constant(3.0)
            with tf.get_default_graph().gradient_override_map({"Identity": "TestOfTheTable"}):
                y = tf.identity(x)
            assert session.run(tf.gradients(y, x)[0]) == 2.0
    finally:
        REGISTRY._registry.pop("TestOfTheTable")
    assert "TestOfTheTable" not in REGISTRY._registry
