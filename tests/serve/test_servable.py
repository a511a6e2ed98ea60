"""A servable takes variables for constants, unless an output that is served writes one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.serve import models

import stillflow as tf
from stillflow.serve import servable
from stillflow.serve.settings import Settings


def _network(kind: str) -> Any:
    """Return inputs and outputs of a convolution with a normalization and a dense layer."""
    x = tf.placeholder(tf.float32, [None, 8, 8, 16], name="x")
    with tf.variable_scope("net", use_resource=kind == "resource"):
        h = tf.layers.conv2d(x, 32, 3, padding="same", name="conv")
        h = tf.nn.relu(tf.layers.batch_normalization(h, training=False, name="norm"))
        y = tf.layers.dense(tf.layers.flatten(h), 10, name="dense")
    return {"x": x}, {"y": y}


@pytest.mark.parametrize("kind", ["reference", "resource"])
def test_weights_are_constants_of_plans(tmp_path: Path, kind: str) -> None:
    tf.set_random_seed(3)
    folder = models.signature_model(tmp_path, lambda: _network(kind))
    image = np.random.RandomState(0).normal(size=[4, 8, 8, 16]).astype(np.float32)
    with tf.Graph().as_default(), tf.Session() as session:
        tf.saved_model.loader.load(session, ["serve"], str(folder))
        wanted = session.run("net/dense/BiasAdd:0", {"x:0": image})
    served = servable.load("net", 1, str(folder), Settings())
    try:
        (found,) = served.run({"x:0": image}, ["net/dense/BiasAdd:0"])
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-5)
        plan = served._session.explain("net/dense/BiasAdd:0", {"x:0": image})
        assert "read" not in [line.split()[0] for line in plan.splitlines() if line.split()]
        assert "fold normalizations" in plan
    finally:
        served.close()


def _counter(kind: str) -> Any:
    """Return inputs and outputs of a model that counts its requests."""
    x = tf.placeholder(tf.float32, [None], name="x")
    with tf.variable_scope("", use_resource=kind == "resource"):
        count = tf.get_variable("count", initializer=0.0)
        weight = tf.get_variable("weight", initializer=2.0)
    counted = tf.assign_add(count, 1.0)
    return {"x": x}, {"y": x * weight + tf.identity(counted)}


@pytest.mark.parametrize("kind", ["reference", "resource"])
def test_what_an_output_writes_is_no_constant(tmp_path: Path, kind: str) -> None:
    folder = models.signature_model(tmp_path, lambda: _counter(kind))
    served = servable.load("counter", 1, str(folder), Settings())
    try:
        name = served.signature("").outputs["y"].name
        answers = [served.run({"x:0": np.float32([1, 2])}, [name])[0].tolist() for _ in range(3)]
    finally:
        served.close()
    assert answers == [[3.0, 5.0], [4.0, 6.0], [5.0, 7.0]]
