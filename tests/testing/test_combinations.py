"""Tests that run once for each combination of their arguments."""

from __future__ import annotations

import unittest
from collections import OrderedDict

import pytest
from absl.testing import parameterized

import stillflow as tf
from stillflow.testing import combinations, strategies
from stillflow.testing.combinations import combine, generate, generate_in_modes, times
from stillflow.testing.strategies import NamedDistribution, generate_for_strategies


def results(case):
    """Return the names of a class's tests, and what came of them."""
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(case)
    names = sorted(test.id().rpartition(".")[2] for test in suite)
    result = unittest.TestResult()
    suite.run(result)
    return names, result


def test_arguments_are_combined_in_the_order_of_their_names():
    assert combine() == [OrderedDict()]
    assert combine(b=[1, 2], a="x") == [{"a": "x", "b": 1}, {"a": "x", "b": 2}]
    products = times(combine(b=[1, 2]), combine(a=[3, 4]))
    assert [list(each.items()) for each in products][:2] == [
        [("b", 1), ("a", 3)], [("b", 1), ("a", 4)]]  # fmt: skip
    with pytest.raises(ValueError, match="Keys need to not overlap"):
        times(combine(a=1), combine(a=2))


def test_each_combination_is_a_test():
    seen = []

    class Case(parameterized.TestCase):
        @generate(combine(a=["x y", object], b=[1, 2]))
        def test_method(self, a, b):
            seen.append((a, b))

    names, result = results(Case)
    assert result.wasSuccessful() and len(seen) == 4
    assert names[-1] == "test_method_test_a_xy_b_2"

    @generate(combine(mode=["graph", "eager"], n=[1, 2]), combinations.GRAPH_RULES)
    class Whole(parameterized.TestCase):
        def test_first(self, n):
            seen.append((tf.executing_eagerly(), n))

        def test_second(self, mode, n):
            assert tf.executing_eagerly() == (mode == "eager")

    del seen[:]
    names, result = results(Whole)
    assert result.wasSuccessful(), result.errors
    assert sorted(seen) == [(False, 1), (False, 2), (True, 1), (True, 2)]
    assert "test_second_test_mode_eager_n_1" in names and len(names) == 8


def test_arguments_have_to_match():
    class Case(parameterized.TestCase):
        @generate(combine(a=1))
        def test_other(self, b):
            pass

        @generate_in_modes(combine(mode="other"))
        def test_mode(self):
            pass

        @generate(combine(a=1, b=2))
        def test_fewer(self, a):
            pass

    _, result = results(Case)
    texts = sorted(text.strip().splitlines()[-1] for _, text in result.errors)
    assert texts == [
        "ValueError: 'mode' has to be either 'eager' or 'graph' and not other",
        "ValueError: The test does not take parameters that were passed : {'b'} .",
        "ValueError: The test requires parameters whose arguments were not passed: {'b'} .",
    ]


def test_strategies_are_made_for_each_test_where_their_devices_are(monkeypatch):
    monkeypatch.setattr(strategies, "gpu_count", lambda: 0)
    seen = []
    chosen = [strategies.one_device_strategy, strategies.mirrored_strategy_with_one_cpu,
              strategies.mirrored_strategy_with_gpu_and_cpu, strategies.tpu_strategy]  # fmt: skip

    class Case(parameterized.TestCase):
        @generate_for_strategies(combine(distribution=chosen, mode=["graph", "eager"]))
        def test_scope(self, distribution):
            with distribution.scope():
                seen.append(type(tf.distribute.get_strategy()).__name__)

        @generate_for_strategies(combine(required_gpus=[None, 1]))
        def test_gpus(self):
            seen.append("no GPU")

        @generate_for_strategies(combine(distribution=chosen[0], required_gpus=1))
        def test_both(self, distribution):
            pass

    names, result = results(Case)
    assert "test_scope_test_distribution_Mirrored1CPU_mode_eager" in names
    assert sorted(seen) == [
        "MirroredStrategy", "MirroredStrategy", "OneDeviceStrategy", "OneDeviceStrategy", "no GPU",
    ]  # fmt: skip
    reasons = {reason for _, reason in result.skipped}
    assert reasons == {" - Only 0 of 1 required GPUs are available.",
                       " - Test requires a TPU, but it's not available."}  # fmt: skip
    ((_, error),) = result.errors
    assert "Do not use `required_gpus` and arguments of type NamedDistribution" in error


def test_what_is_named_shows_its_name():
    assert str(strategies.adam_optimizer_v1_fn) == "AdamV1"
    assert isinstance(strategies.adam_optimizer_v1_fn(), tf.train.AdamOptimizer)
    assert str(NamedDistribution("One", lambda: 1)) == "One"
    assert len(strategies.all_strategy_combinations()) == 12
    assert len(strategies.distributions_and_v1_and_v2_optimizers()) == 12
    with pytest.raises(tf.errors.UnimplementedError, match="TPUStrategy"):
        _ = strategies.tpu_strategy.strategy
    with pytest.raises(ValueError, match="must be at least 1"):
        strategies.set_virtual_cpus_to_at_least(0)
