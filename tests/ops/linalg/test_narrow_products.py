"""Products of matrices with few columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import stillflow as tf
from stillflow import native
from stillflow.ops.linalg import narrow_products

RNG = np.random.RandomState(0)
LIKE_TRANSPOSES = [(False, False), (True, False), (False, True), (True, True)]


def matrix(rows: int, columns: int, transposed: bool) -> torch.Tensor:
    """Return numbers, as they are in memory or the other way round."""
    values = RNG.randn(columns, rows) if transposed else RNG.randn(rows, columns)
    found = torch.from_numpy(values.astype("f"))
    return found.t() if transposed else found


@pytest.mark.skipif(native.library() is None, reason="the native loops are not built")
@pytest.mark.parametrize("transposes", LIKE_TRANSPOSES)
@pytest.mark.parametrize("rows, depth, columns", [(100, 784, 10), (13, 512, 15), (64, 64, 2),
                                                  (1024, 1031, 8), (4096, 1, 9)])  # fmt: skip
def test_products_are_those_of_double_precision(
    rows: int, depth: int, columns: int, transposes: tuple[bool, bool]
) -> None:
    a, b = matrix(rows, depth, transposes[0]), matrix(depth, columns, transposes[1])
    expected = torch.mm(a.double(), b.double())
    found = narrow_products.multiply(a, b)
    # Sums of `depth` products of about one: their rounding grows with its root.
    np.testing.assert_allclose(found, expected, rtol=0, atol=8e-6 * depth**0.5)


def test_not_a_number_stays_in_its_row() -> None:
    a, b = matrix(70, 80, False), matrix(80, 10, False)
    a[3, 5], a[4, 6] = float("nan"), float("inf")
    found = narrow_products.multiply(a, b)
    assert found[3].isnan().all() and (found[4].abs() == float("inf")).all()
    assert found.isfinite().sum() == 68 * 10


def test_matrices_that_do_not_fit_raise_torchs_error() -> None:
    with pytest.raises(RuntimeError, match="cannot be multiplied"):
        narrow_products.multiply(torch.ones(100, 100), torch.ones(99, 10))


def test_the_last_layer_of_a_classifier_is_multiplied_so(
    monkeypatch: pytest.MonkeyPatch, cpu: None
) -> None:
    plain, taken = narrow_products.multiply, []

    def multiply(a: Any, b: Any) -> Any:
        taken.append((tuple(a.shape), tuple(b.shape)))
        return plain(a, b)

    monkeypatch.setattr(narrow_products, "is_faster", lambda: True)
    monkeypatch.setattr(narrow_products, "multiply", multiply)
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 200])
        w = tf.Variable(tf.ones([200, 10]))
        grads = tf.gradients(tf.reduce_sum(tf.square(tf.matmul(x, w))), [w, x])
        session.run(tf.global_variables_initializer())
        of_weights, of_inputs = session.run(grads, {x: np.ones((50, 200), "f")})
    assert taken == [((50, 200), (200, 10)), ((200, 50), (50, 10))]
    np.testing.assert_allclose(of_weights, np.full((200, 10), 50 * 400.0), rtol=1e-6)
    np.testing.assert_allclose(of_inputs, np.full((50, 200), 10 * 400.0), rtol=1e-6)
