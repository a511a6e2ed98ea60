"""Softmax regression in JAX, the whole step under jit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .softmax_regression import data


def build(jax: Any) -> Callable[[], float]:
    """Return a function that runs one training step and returns the loss."""
    jnp = jax.numpy
    pixels, labels = data()

    def loss_of(params: Any, x: Any, y: Any) -> Any:
        log_p = jax.nn.log_softmax(x @ params["w"] + params["b"])
        return -jnp.mean(jnp.sum(y * log_p, axis=1))

    @jax.jit
    def update(params: Any, x: Any, y: Any) -> Any:
        loss, grads = jax.value_and_grad(loss_of)(params, x, y)
        return jax.tree_util.tree_map(lambda p, g: p - 0.1 * g, params, grads), loss

    state = {"w": jnp.zeros([784, 10]), "b": jnp.zeros([10])}

    def step() -> float:
        nonlocal state
        state, loss = update(state, pixels, labels)
        return float(loss)

    return step
