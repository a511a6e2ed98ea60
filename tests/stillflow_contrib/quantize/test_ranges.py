"""Ranges per channel follow the values, of the last step or on average."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import stillflow as tf
from stillflow_contrib.quantize.ranges import (
    fixed_quantize,
    last_value_quantize,
    moving_avg_quantize,
)

VALUES = np.array([[-1.0, 2.0, 0.5], [3.0, -4.0, 0.25]], np.float32)


def ranges_after(build: Any, values: Any = VALUES, **settings: Any) -> list[Any]:
    """Return the ranges after a step, and what the step gave."""
    with tf.Graph().as_default(), tf.Session() as session:
        rounded = build(tf.constant(values), **settings)
        session.run(tf.global_variables_initializer())
        outputs = session.run(rounded)
        variables = {v.op.name.rpartition("/")[2]: v for v in tf.global_variables()}
        kept = [variables[name] for name in ("min", "max") if name in variables]
        return [*session.run(kept), outputs]


def test_each_channel_has_the_range_of_the_last_step() -> None:
    least, most, outputs = ranges_after(last_value_quantize, per_channel=True)
    np.testing.assert_array_equal(least, [-1, -4, 0])
    np.testing.assert_array_equal(most, [3, 2, 0.5])
    np.testing.assert_allclose(outputs, VALUES, atol=6 / 255)


def test_a_vector_of_channels_is_its_own_range() -> None:
    least, most, _ = ranges_after(last_value_quantize, VALUES[0], per_channel=True)
    np.testing.assert_array_equal(least, [-1, 0, 0])
    np.testing.assert_array_equal(most, [0, 2, 0.5])


def test_averages_start_at_the_first_values() -> None:
    least, most, _ = ranges_after(moving_avg_quantize, ema_decay=0.75, vars_collection="ranges")
    assert (least, most) == (-4.0, 3.0)


@pytest.mark.parametrize(
    ("narrow", "wanted"), [(True, (-4.0, 4.0)), (False, (-4.0, 4.0 * 254 / 256))]
)
def test_symmetric_ranges_hold_all_values(narrow: bool, wanted: Any) -> None:
    least, most, _ = ranges_after(last_value_quantize, narrow_range=narrow, symmetric=True)
    assert (least, most) == wanted


def test_ranges_stay_where_nothing_is_trained() -> None:
    least, most, _ = ranges_after(moving_avg_quantize, is_training=False, init_max=2.0)
    assert (least, most) == (-6.0, 2.0)


def test_fixed_ranges_have_no_variables() -> None:
    (outputs,) = ranges_after(fixed_quantize, init_min=-1.0, init_max=1.0)
    assert outputs.max() == pytest.approx(1.0, abs=0.01)


def test_ranks_without_channels_are_refused() -> None:
    with tf.Graph().as_default(), pytest.raises(AssertionError, match="Expected 1D, 2D or 4D"):
        moving_avg_quantize(tf.zeros([2, 3, 4]), per_channel=True)
