"""Random examples for tests of whole models."""

from __future__ import annotations

import numpy as np

from stillflow.testing.random_classes import get_test_data


def test_examples_lie_around_the_points_of_their_classes():
    (x, y), (test_x, test_y) = get_test_data(200, 20, (3, 2), 2, random_seed=1)
    assert (x.shape, x.dtype, y.shape) == ((200, 3, 2), np.float32, (200,))
    assert (test_x.shape, test_y.shape) == ((20, 3, 2), (20,))
    spread = [x[y == number].std(axis=0).mean() for number in range(2)]
    np.testing.assert_allclose(spread, 1.0, atol=0.15)
    again, _ = get_test_data(200, 20, (3, 2), 2, random_seed=1)
    np.testing.assert_array_equal(again[0], x)
