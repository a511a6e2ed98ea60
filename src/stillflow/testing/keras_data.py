"""What tests of Keras models need: data that can be learnt."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Split = tuple[NDArray[Any], NDArray[Any]]


def get_test_data(
    train_samples: int,
    test_samples: int,
    input_shape: tuple[int, ...],
    num_classes: int,
    random_seed: int | None = None,
) -> tuple[Split, Split]:
    """Samples that are their class's template and noise, for training and for testing."""
    if random_seed is not None:
        np.random.seed(random_seed)
    count = train_samples + test_samples
    templates = 2 * num_classes * np.random.random((num_classes, *input_shape))
    y = np.random.randint(0, num_classes, size=(count,))
    x = np.zeros((count, *input_shape), dtype=np.float32)
    for i in range(count):
        x[i] = templates[y[i]] + np.random.normal(loc=0, scale=1.0, size=input_shape)
    return (x[:train_samples], y[:train_samples]), (x[train_samples:], y[train_samples:])
