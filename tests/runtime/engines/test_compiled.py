"""Regions of plans in torch.compile: the modules that it is given."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import stillflow as tf
from stillflow.runtime.engines import use


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return the modules that are to be compiled; they run as they are."""
    modules: list[Any] = []

    def compile(module: Any, options: dict[str, Any]) -> Any:
        assert options == {"freezing": True}
        modules.append(module)
        return module

    monkeypatch.setattr(torch, "compile", compile)
    return modules


def test_a_region_is_a_module_with_its_weights(compiled: list[Any]) -> None:
    rng = np.random.default_rng(5)
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [2, 8, 8, 3], "x")
        y = tf.nn.conv2d(x, rng.normal(size=(3, 3, 3, 4)).astype("f"), 2, "SAME")
        y = tf.nn.relu(tf.nn.bias_add(y, np.ones(4, "f")))
        first, second = tf.split(y, 2, 3)
        y = [tf.concat([second, first], 3), tf.reduce_mean(y, [1, 2])]
    feeds = {x: rng.normal(size=(2, 8, 8, 3))}
    with tf.Session(graph=graph) as plain, tf.Session(graph=graph, config=use("compile")) as other:
        for _ in range(3):
            for found, wanted in zip(other.run(y, feeds), plain.run(y, feeds), strict=True):
                np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
        assert "compile runs 6 of 6 steps" in other.explain(y, feeds)
    module = compiled[0]
    assert not module.training
    assert sum(buffer.numel() for buffer in module.buffers()) >= 3 * 3 * 3 * 4
    assert not any(buffer.is_inference() for buffer in module.buffers())


def test_plans_for_any_sizes_stay_with_the_plan(compiled: list[Any]) -> None:
    with tf.Graph().as_default(), tf.Session(config=use("compile")) as session:
        x = tf.placeholder(tf.float32, [None], "x")
        y = tf.square(x * 2.0 + 1.0)
        for count in range(1, 6):
            assert session.run(y, {x: [1.0] * count}).tolist() == [9] * count
    assert len(compiled) == 2


def test_a_compiler_that_fails_leaves_the_run_to_the_plan(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def compile(module: Any, options: Any) -> Any:
        def run(*values: Any) -> Any:
            raise RuntimeError("no compiler")

        return run

    monkeypatch.setattr(torch, "compile", compile)
    with tf.Graph().as_default(), tf.Session(config=use("compile")) as session:
        x = tf.placeholder(tf.float32, [1], "x")
        for _ in range(2):
            assert session.run(tf.square(x * 2.0 + 1.0), {x: [1.0]}) == 9
