"""Random examples of classes that can be told apart."""

from __future__ import annotations

import numpy as np

Data = tuple[np.ndarray, np.ndarray]


def get_test_data(
    train_samples: int,
    test_samples: int,
    input_shape: tuple[int, ...],
    num_classes: int,
    random_seed: int | None = None,
) -> tuple[Data, Data]:
    """Return examples scattered around one random point for each class.

    For training and for testing these are float32, and the numbers of their classes. A seed, unless
    None, is that of numpy's generator.
    """
    if random_seed is not None:
        np.random.seed(random_seed)
    count = train_samples + test_samples
    centers = 2 * num_classes * np.random.random((num_classes, *input_shape))
    classes = np.random.randint(0, num_classes, size=(count,))
    examples = np.zeros((count, *input_shape), dtype=np.float32)
    for i, number in enumerate(classes):
        examples[i] = centers[number] + np.random.normal(loc=0, scale=1.0, size=input_shape)
    cut = train_samples
    return (examples[:cut], classes[:cut]), (examples[cut:], classes[cut:])
