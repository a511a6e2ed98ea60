"""Adam and momentum for the JAX programs (JAX itself has no optimizers)."""

from __future__ import annotations

from typing import Any


def adam_start(jax: Any, params: Any) -> Any:
    """Both moments and the step count."""
    zeros = jax.tree_util.tree_map(jax.numpy.zeros_like, params)
    return zeros, zeros, jax.numpy.zeros([])


def adam(jax: Any, params: Any, grads: Any, state: Any, rate: float) -> tuple[Any, Any]:
    """One step of Adam as TF1 writes it (epsilon outside the bias correction)."""
    jnp, tree_map = jax.numpy, jax.tree_util.tree_map
    first, second, count = state
    count = count + 1
    first = tree_map(lambda m, g: 0.9 * m + 0.1 * g, first, grads)
    second = tree_map(lambda v, g: 0.999 * v + 0.001 * g * g, second, grads)
    rate_now = rate * jnp.sqrt(1 - 0.999**count) / (1 - 0.9**count)
    params = tree_map(
        lambda p, m, v: p - rate_now * m / (jnp.sqrt(v) + 1e-8), params, first, second
    )
    return params, (first, second, count)


def momentum_start(jax: Any, params: Any) -> Any:
    """Return an accumulator for each parameter."""
    return jax.tree_util.tree_map(jax.numpy.zeros_like, params)


def momentum(jax: Any, params: Any, grads: Any, state: Any, rate: float) -> tuple[Any, Any]:
    """One step with momentum 0.9."""
    state = jax.tree_util.tree_map(lambda m, g: 0.9 * m + g, state, grads)
    return jax.tree_util.tree_map(lambda p, m: p - rate * m, params, state), state
