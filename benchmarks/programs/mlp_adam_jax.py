"""The perceptron with Adam in JAX, the whole step under jit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..jax_optimizers import adam, adam_start
from .mlp_adam import data, initial_weights


def build(jax: Any) -> Callable[[], float]:
    """Return a function that runs one training step and returns the loss."""
    jnp = jax.numpy
    pixels, labels = data()
    params = [(jnp.asarray(w), jnp.zeros(w.shape[1])) for w in initial_weights()]

    def loss_of(params: Any, h: Any, y: Any) -> Any:
        for w, b in params[:-1]:
            h = jax.nn.relu(h @ w + b)
        w, b = params[-1]
        log_p = jax.nn.log_softmax(h @ w + b)
        return -jnp.mean(jnp.take_along_axis(log_p, y[:, None], axis=1))

    @jax.jit
    def update(params: Any, state: Any, x: Any, y: Any) -> Any:
        loss, grads = jax.value_and_grad(loss_of)(params, x, y)
        return adam(jax, params, grads, state, 1e-3) + (loss,)

    state = adam_start(jax, params)

    def step() -> float:
        nonlocal params, state
        params, state, loss = update(params, state, pixels, labels)
        return float(loss)

    return step
