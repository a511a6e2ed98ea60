"""The zeta function and the derivatives of digamma, with the loop in C and without."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import stillflow as tf
from stillflow.ops.math import native_kernels

pytestmark = pytest.mark.usefixtures("either_way")
POSITIVE = np.concatenate([
    np.geomspace(1e-6, 1e6, 9000), np.arange(1, 40), [1e-30, 3e30]
]).astype(np.float32)  # fmt: skip


def run(function: object, *arguments: object) -> np.ndarray:
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(function(*arguments))


@pytest.mark.parametrize("x", [2, 3, 5, 9, 16, 17, 2.5])
def test_zeta_of_one_number_and_many(x: float) -> None:
    expected = torch.special.zeta(
        torch.tensor(float(x)).double(), torch.from_numpy(POSITIVE).double()
    )
    found = run(tf.zeta, np.float32(x), POSITIVE)
    np.testing.assert_allclose(found, expected.float().numpy(), rtol=3e-7, atol=2e-38)


@pytest.mark.parametrize("x", [(1.001, 16.0), (15.0, 40.0), (0.5, 3.0)])
def test_zeta_of_pairs(x: tuple[float, float]) -> None:
    numbers = np.linspace(*x, POSITIVE.size).astype(np.float32)
    expected = torch.special.zeta(
        torch.from_numpy(numbers).double(), torch.from_numpy(POSITIVE).double()
    )
    found = run(tf.zeta, numbers, POSITIVE)
    np.testing.assert_allclose(found, expected.float().numpy(), rtol=3e-7, atol=2e-38)
    of_usual = (POSITIVE > 1e-3) & (POSITIVE < 1e3)  # none of which sends all another way
    found = run(tf.zeta, numbers[of_usual], POSITIVE[of_usual])
    np.testing.assert_allclose(found, expected.float().numpy()[of_usual], rtol=3e-7, atol=2e-38)


def test_derivatives_of_digamma_of_pairs() -> None:
    q = POSITIVE[(POSITIVE > 1e-2) & (POSITIVE < 1e2)]
    orders = np.arange(q.size, dtype=np.float32) % 8
    expected = [
        torch.special.polygamma(int(order), torch.tensor(float(number)).double()).item()
        for order, number in zip(orders, q, strict=True)
    ]
    np.testing.assert_allclose(run(tf.polygamma, orders, q), expected, rtol=5e-6, atol=2e-6)


@pytest.mark.parametrize("order", [1, 2, 4, 15])
def test_derivatives_of_digamma(order: int) -> None:
    q = POSITIVE[(POSITIVE > 1e-2) & (POSITIVE < 1e2)]
    expected = torch.special.polygamma(order, torch.from_numpy(q).double()).float().numpy()
    np.testing.assert_allclose(
        run(tf.polygamma, np.float32(order), q), expected, rtol=5e-6, atol=2e-38
    )


def test_zeta_where_it_is_no_sum_of_positive_numbers() -> None:
    found = run(tf.zeta, np.float32(2), np.array([0, -3, np.nan, -0.5], np.float32))
    np.testing.assert_allclose(found, [np.inf, np.inf, np.nan, np.pi**2 / 2 + 4], rtol=1e-6)


def test_shapes_broadcast() -> None:
    x = np.array([[2.0], [3.0]], np.float32)
    q = np.array([1.0, 2.0, 5.0], np.float32)
    found = run(tf.zeta, x, q)
    rows = [run(tf.zeta, number, q) for number in x[:, 0]]
    np.testing.assert_allclose(found, rows, rtol=3e-7)


def test_what_is_infinitely_far_is_the_same_either_way() -> None:
    far, two = torch.tensor([np.inf, 1.0]), torch.tensor(2.0)
    found = native_kernels.zeta(two, far)
    np.testing.assert_allclose(found, torch.special.zeta(two, far), rtol=3e-7)
