"""Records of debug ops; numbers of TensorFlow 1.15.5."""

from __future__ import annotations

import numpy as np
import pytest

from stillflow.ops.debug import summaries

pytestmark = pytest.mark.usefixtures("either_way")

MIXED = np.array([[1, 2, -3], [4, 5, 0]], np.float32)


def test_numeric_summary_counts_and_averages() -> None:
    assert summaries.numeric_summary(MIXED).tolist() == [
        1.0, 6.0, 0.0, 0.0, 1.0, 1.0, 4.0, 0.0, -3.0, 5.0, 1.5, 6.916666666666667, 1.0, 2.0, 2.0,
        3.0,
    ]  # fmt: skip


def test_numeric_summary_leaves_what_is_not_finite_out_of_the_moments() -> None:
    logs = np.array([[0.6931471824645996, np.nan], [1.6094379425048828, -np.inf]], np.float32)
    found = summaries.numeric_summary(logs)
    assert found[:8].tolist() == [1.0, 4.0, 1.0, 1.0, 0.0, 0.0, 2.0, 0.0]
    np.testing.assert_allclose(
        found[8:12], [0.6931471824645996, 1.6094379425048828, 1.1512925624847412, 0.2098971872338],
        rtol=1e-7,
    )  # fmt: skip


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int64])
def test_moments_add_up_one_number_after_the_other(kind) -> None:
    numbers = (np.random.RandomState(1).randn(1000) * 100).astype(kind)
    total, squares, values = 0.0, 0.0, numbers.tolist()
    for value in values:
        total += value
    for value in values:
        squares += (value - total / 1000) * (value - total / 1000)
    found = summaries.numeric_summary(numbers.reshape(10, 100).T)
    transposed = summaries.numeric_summary(np.ascontiguousarray(numbers.reshape(10, 100).T))
    assert summaries.numeric_summary(numbers)[8:12].tolist() == [
        min(values), max(values), total / 1000, squares / 1000,
    ]  # fmt: skip
    assert found.tolist() == transposed.tolist()


def test_nothing_has_no_moments() -> None:
    for numbers in (np.zeros(0, np.float32), np.array([np.nan, np.inf], np.float32)):
        found = summaries.numeric_summary(numbers)
        assert repr(found[8:12].tolist()) == "[inf, -inf, nan, nan]"


def test_bounds_count_as_infinite() -> None:
    found = summaries.numeric_summary(MIXED, lower_bound=0, upper_bound=2)
    assert found[:8].tolist() == [1.0, 6.0, 0.0, 2.0, 0.0, 0.0, 1.0, 3.0]
    assert found[8:12].tolist() == [-3.0, 5.0, 1.5, 6.916666666666667]


def test_numbers_of_integers_and_scalars() -> None:
    assert summaries.numeric_summary(np.array(1, np.int32)).tolist() == [
        1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 1.0, 1.0, 1.0, 0.0, 3.0, 0.0,
    ]  # fmt: skip


def test_healthy_tensors_can_be_mute() -> None:
    assert summaries.numeric_summary(MIXED, mute_if_healthy=True) is None
    assert summaries.numeric_summary(np.array([np.nan]), mute_if_healthy=True) is not None


@pytest.mark.parametrize("op", [summaries.nan_count, summaries.numeric_summary])
def test_text_has_no_numbers(op) -> None:
    assert op(np.array([b"a"], object)) is None


def test_nan_count() -> None:
    assert summaries.nan_count(np.array([1, np.nan, np.nan], np.float32)).tolist() == [2]
    assert summaries.nan_count(np.array([1, 2])).tolist() == [0]


def test_attributes_are_parsed() -> None:
    text = "DebugNumericSummary(lower_bound=-10; mute_if_healthy=true)"
    assert summaries.parse(text) == (
        "DebugNumericSummary", {"lower_bound": -10.0, "mute_if_healthy": True},
    )  # fmt: skip


@pytest.mark.parametrize(
    "text", ["Foo", "DebugIdentity(lower_bound=1)", "DebugNumericSummary(size=1)",
             "DebugNumericSummary(lower_bound=many)", "", "DebugIdentity("],
)  # fmt: skip
def test_what_is_no_debug_op_is_refused(text) -> None:
    with pytest.raises(ValueError):
        summaries.parse(text)
