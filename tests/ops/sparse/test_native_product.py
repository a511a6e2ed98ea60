"""Products of sparse and dense matrices, with the loop in C and without."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf

pytestmark = pytest.mark.usefixtures("either_way")


def matrix(count: int, rows: int, inner: int, dtype: type) -> tuple[np.ndarray, np.ndarray]:
    numbers = np.random.default_rng(0)
    indices = np.stack([numbers.integers(0, rows, count), numbers.integers(0, inner, count)], 1)
    return indices, numbers.normal(size=count).astype(dtype)


def multiplied(
    indices: np.ndarray,
    values: np.ndarray,
    size: tuple[int, int],
    dense: np.ndarray,
    **options: bool,
) -> np.ndarray:
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(tf.raw_ops.SparseTensorDenseMatMul(
            a_indices=indices, a_values=values, a_shape=list(size), b=dense, **options
        ))  # fmt: skip


@pytest.mark.parametrize("adjoint_a", [False, True])
@pytest.mark.parametrize("adjoint_b", [False, True])
@pytest.mark.parametrize("columns", [1, 7, 300])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_terms_are_added_up_in_their_order(
    dtype: type, columns: int, adjoint_a: bool, adjoint_b: bool
) -> None:
    rows, inner = 40, 30
    indices, values = matrix(900, rows, inner, dtype)
    dense = np.random.default_rng(1).normal(size=(rows if adjoint_a else inner, columns))
    dense = dense.astype(dtype)
    expected = np.zeros((inner if adjoint_a else rows, columns), dtype)
    for (row, column), value in zip(indices, values, strict=True):
        to, of = (column, row) if adjoint_a else (row, column)
        expected[to] += dense[of] * value
    found = multiplied(
        indices, values, (rows, inner), dense.T if adjoint_b else dense,
        adjoint_a=adjoint_a, adjoint_b=adjoint_b,
    )  # fmt: skip
    np.testing.assert_array_equal(found, expected)


def test_large_products_are_shared_out_among_threads() -> None:
    indices, values = matrix(5000, 700, 600, np.float32)
    dense = np.random.default_rng(1).integers(0, 5, (600, 500)).astype(np.float32)
    values = np.round(values * 4)
    plain = np.zeros((700, 600), np.float32)
    np.add.at(plain, tuple(indices.T), values)
    np.testing.assert_array_equal(multiplied(indices, values, (700, 600), dense), plain @ dense)


@pytest.mark.parametrize(
    ("index", "message"),
    [([3, 0], r"m \(3\) from index\[1,0\] out of bounds \(>=3\)"),
     ([0, 2], r"k \(2\) from index\[1,1\] out of bounds \(>=2\)"),
     ([0, -1], r"k \(-1\) from index\[1,1\] out of bounds \(>=2\)")],
)  # fmt: skip
def test_indices_outside_are_refused(index: list[int], message: str) -> None:
    given = np.array([[0, 0], index])
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        multiplied(given, np.ones(2, np.float32), (3, 2), np.ones((2, 4), np.float32))


def test_nothing_times_something_is_nothing() -> None:
    found = multiplied(
        np.zeros((0, 2), np.int64), np.zeros(0, np.float32), (3, 2), np.ones((2, 4), np.float32)
    )
    np.testing.assert_array_equal(found, np.zeros((3, 4)))
