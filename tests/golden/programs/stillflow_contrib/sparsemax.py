"""tf.contrib.sparsemax: sparse probabilities and their loss."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program

LOGITS = np.array([[1.0, 0.8, -1.0], [5.0, 0.0, 0.0], [0.1, 0.1, 0.1]], np.float32)
LABELS = np.array([[1.0, 0.0, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]], np.float32)


@program
def sparse_probabilities(tf):
    lib = tf.contrib.sparsemax
    x = tf.constant(LOGITS)
    probabilities = lib.sparsemax(x)
    loss = lib.sparsemax_loss(x, probabilities, LABELS, name="cost")
    odd = np.array([[np.nan, 1.0], [-np.inf, -np.inf], [-np.inf, 0.0], [np.inf, 0.0]], np.float64)
    odd_ones = lib.sparsemax(odd, name="odd")
    return Run({
        "probabilities": probabilities,
        "loss": loss,
        "gradients": tf.gradients(loss, x),
        "odd": odd_ones,
        "odd_loss": lib.sparsemax_loss(odd[2:], odd_ones[2:], np.eye(2)[::-1]),
    })  # fmt: skip
