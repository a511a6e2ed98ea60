"""tf.contrib.layers: divisive normalization, and projection into the Poincare ball."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, internal_module, program, raised


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


@program
def into_the_ball(tf):
    x = tf.constant([[3.0, 4.0], [0.3, 0.4], [0.0, 1e-8]])
    project = internal_module(
        tf, "contrib.layers.normalization", "contrib.layers.python.layers.layers"
    ).poincare_normalize
    y = project(x)
    return Run(
        {
            "rows": y,
            "columns": project(x, axis=0, epsilon=0.1, name="p"),
            "whole": project(x, axis=[0, 1]),
            "gradient": tf.gradients(y, x),
        }
    )
