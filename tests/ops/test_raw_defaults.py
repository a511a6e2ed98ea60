"""Defaults of generated functions, which TensorFlow writes as C++ prints numbers."""

from __future__ import annotations

import inspect

import pytest

import stillflow as tf
from stillflow.ops.raw_ops import _as_generated


@pytest.mark.parametrize(
    ("op", "defaults"),
    [
        ("LRN", {"depth_radius": 5, "bias": 1, "alpha": 1, "beta": 0.5}),
        ("Mfcc", {"upper_frequency_limit": 4000, "lower_frequency_limit": 20}),
        ("FakeQuantWithMinMaxArgs", {"min": -6, "max": 6, "num_bits": 8}),
        ("ApproximateEqual", {"tolerance": 1e-05}),
    ],
)
def test_whole_numbers_have_no_point(op, defaults):
    found = inspect.signature(getattr(tf.raw_ops, op)).parameters
    assert {name: repr(found[name].default) for name in defaults} == {
        name: repr(value) for name, value in defaults.items()
    }


def test_numbers_that_need_a_point_or_an_exponent_keep_it():
    values = [0.5, 1e-05, 1e6, float("inf"), -3.0]
    assert [repr(_as_generated(value)) for value in values] == [
        "0.5", "1e-05", "1000000.0", "inf", "-3"]  # fmt: skip
