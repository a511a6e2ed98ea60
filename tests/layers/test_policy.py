"""Dtypes of a layer's computation and of its variables."""

import pytest

import stillflow as tf
from stillflow.layers.policy import Policy, with_input_dtype


@pytest.mark.parametrize(
    ("name", "compute", "variable"),
    [
        ("float16", "float16", "float16"),
        ("infer", None, None),
        ("infer_with_float32_vars", None, "float32"),
        ("infer_float32_vars", None, "float32"),
        ("float16_with_float32_vars", "float16", "float32"),
        ("mixed_bfloat16", "bfloat16", "float32"),
        ("float32_with_float32_vars", "float32", "float32"),
    ],
)
def test_names_say_both_dtypes(name, compute, variable):
    policy = Policy(name)
    assert (policy.compute_dtype, policy.variable_dtype) == (compute, variable)
    assert policy.should_cast_variables == (compute != variable)


def test_inferring_policies_take_the_inputs_dtype():
    assert with_input_dtype(Policy("infer"), tf.float64).name == "float64"
    mixed = with_input_dtype(Policy("infer_with_float32_vars"), tf.float16)
    assert (mixed.compute_dtype, mixed.variable_dtype) == ("float16", "float32")


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        (tf.float32, TypeError, "Instead, pass DType.name. Got: float32"),
        (3, TypeError, "'name' must be a string, but got: 3"),
        ("abc", ValueError, "Cannot convert value abc to a mixed precision Policy"),
        ("abc_with_float32_vars", ValueError, "but abc cannot be converted to a DType"),
    ],
)
def test_other_names_are_refused(name, error, message):
    with pytest.raises(error, match=message):
        Policy(name)
