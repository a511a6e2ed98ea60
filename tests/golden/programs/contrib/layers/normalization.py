"""Rare functions of tf.contrib: sparsemax and divisive normalization."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program, raised

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


@program
def normalized_divisively(tf):
    rng = np.random.RandomState(0)
    fetches = {}
    for rank in (3, 4, 5):
        shape = [2, 4, 3, 2][: rank - 1] + [3]
        x = tf.constant(rng.randn(*shape).astype(np.float32))
        y = tf.contrib.layers.gdn(x, name=f"gdn{rank}", inverse=rank == 4, gamma_init=0.3)
        fetches[f"y{rank}"] = y
        dx, dbeta, dgamma = tf.gradients(y, [x] + tf.trainable_variables()[-2:])
        # Outside of the diagonal the roots are at their bound, up to the last digit of a square
        # root.
        fetches[f"dx{rank}"] = [dx, dbeta, tf.linalg.diag_part(dgamma)]
    layer = tf.contrib.layers.GDN(beta_min=0.5, reparam_offset=0.1)
    fetches["again"] = [layer(x), layer(x * 2.0), layer.beta, layer.gamma]
    facts = {
        "refused": [
            raised(tf.contrib.layers.gdn, x, data_format="other"),
            raised(tf.contrib.layers.gdn, tf.placeholder(tf.float32, [1, 2, None])),
            raised(tf.contrib.layers.gdn, tf.placeholder(tf.float32, [1, 2])),
        ]
    }
    return Run(fetches, setup=[tf.global_variables_initializer()], facts=facts)


@program
def channels_first(tf):
    for rank in (3, 4):
        x = tf.placeholder(tf.float32, [2, 3, 4, 3, 2][:rank])
        tf.contrib.layers.gdn(x, data_format="channels_first", name=f"gdn{rank}")
    x = tf.placeholder(tf.float32, [2, 3, 4, 3, 2])
    refused = raised(tf.contrib.layers.gdn, x, data_format="channels_first")["class"]
    return Run(facts={"refused": refused, "variables": [v.name for v in tf.global_variables()]})
