"""The MNIST network in JAX, the whole step under jit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..jax_optimizers import adam, adam_start
from .mnist_cnn import data

SHAPES = [[5, 5, 1, 32], [5, 5, 32, 64], [7 * 7 * 64, 1024], [1024, 10]]


def build(jax: Any) -> Callable[[], float]:
    """Return a function that runs one training step and returns the loss."""
    jnp, lax = jax.numpy, jax.lax
    images, labels = data()
    rng = np.random.RandomState(1)
    params = [(jnp.asarray(rng.randn(*s) * 0.1, jnp.float32), jnp.full([s[-1]], 0.1))
              for s in SHAPES]

    def convolve(h: Any, w: Any, b: Any) -> Any:
        h = lax.conv_general_dilated(h, w, [1, 1], "SAME", dimension_numbers=("NHWC", "HWIO",
                                                                              "NHWC"))
        h = jax.nn.relu(h + b)
        return lax.reduce_window(h, -jnp.inf, lax.max, [1, 2, 2, 1], [1, 2, 2, 1], "SAME")

    def loss_of(params: Any, h: Any, y: Any, key: Any) -> Any:
        for w, b in params[:2]:
            h = convolve(h, w, b)
        h = jax.nn.relu(h.reshape(h.shape[0], -1) @ params[2][0] + params[2][1])
        h = jnp.where(jax.random.bernoulli(key, 0.5, h.shape), h / 0.5, 0.0)
        log_p = jax.nn.log_softmax(h @ params[3][0] + params[3][1])
        return -jnp.mean(jnp.take_along_axis(log_p, y[:, None], axis=1))

    @jax.jit
    def update(params: Any, state: Any, key: Any, x: Any, y: Any) -> Any:
        key, now = jax.random.split(key)
        loss, grads = jax.value_and_grad(loss_of)(params, x, y, now)
        return adam(jax, params, grads, state, 1e-4) + (key, loss)

    state, key = adam_start(jax, params), jax.random.PRNGKey(1)

    def step() -> float:
        nonlocal params, state, key
        params, state, key, loss = update(params, state, key, images, labels)
        return float(loss)

    return step
