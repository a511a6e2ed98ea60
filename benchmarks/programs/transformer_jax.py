"""The transformer in JAX, the whole step under jit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..jax_optimizers import adam, adam_start
from .transformer import HEADS, LAYERS, LENGTH, VOCABULARY, WIDTH, data


def initial_parameters(jnp: Any) -> dict[str, Any]:
    """Embedding, positions and the matrices of every layer."""
    rng = np.random.RandomState(1)

    def normal(*shape: int) -> Any:
        return jnp.asarray(rng.randn(*shape) * 0.02, jnp.float32)

    def linear(inputs: int, outputs: int) -> Any:
        return normal(inputs, outputs), jnp.zeros(outputs)

    def norm() -> Any:
        return jnp.ones(WIDTH), jnp.zeros(WIDTH)

    layers = []
    for _ in range(LAYERS):
        layer = {name: linear(WIDTH, WIDTH) for name in ("q", "k", "v", "output")}
        layer.update(up=linear(WIDTH, 4 * WIDTH), down=linear(4 * WIDTH, WIDTH),
                     first=norm(), second=norm())
        layers.append(layer)
    return {"table": normal(VOCABULARY, WIDTH), "places": normal(LENGTH, WIDTH),
            "layers": layers, "norm": norm()}


def logits_of(jax: Any, params: Any, tokens: Any) -> Any:
    """Scores of the next token at every place."""
    jnp = jax.numpy

    def norm(x: Any, weights: Any) -> Any:
        mean, variance = jnp.mean(x, -1, keepdims=True), jnp.var(x, -1, keepdims=True)
        return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * weights[0] + weights[1]

    def linear(x: Any, weights: Any) -> Any:
        return x @ weights[0] + weights[1]

    def heads(x: Any) -> Any:
        return x.reshape(-1, LENGTH, HEADS, WIDTH // HEADS).transpose(0, 2, 1, 3)

    mask = (1.0 - jnp.tril(jnp.ones([LENGTH, LENGTH]))) * -1e9
    h = params["table"][tokens] + params["places"]
    for layer in params["layers"]:
        x = norm(h, layer["first"])
        q, k, v = (heads(linear(x, layer[name])) for name in "qkv")
        scores = q @ k.transpose(0, 1, 3, 2) * (WIDTH // HEADS) ** -0.5 + mask
        mixed = (jax.nn.softmax(scores) @ v).transpose(0, 2, 1, 3).reshape(h.shape)
        h = h + linear(mixed, layer["output"])
        inner = jax.nn.gelu(linear(norm(h, layer["second"]), layer["up"]))
        h = h + linear(inner, layer["down"])
    return norm(h, params["norm"]) @ params["table"].T


def build(jax: Any) -> Callable[[], float]:
    """Return a function that runs one training step and returns the loss."""
    jnp, tree = jax.numpy, jax.tree_util
    tokens, following = data()

    def loss_of(params: Any, tokens: Any, labels: Any) -> Any:
        log_p = jax.nn.log_softmax(logits_of(jax, params, tokens))
        return -jnp.mean(jnp.take_along_axis(log_p, labels[..., None], axis=-1))

    @jax.jit
    def update(params: Any, state: Any, tokens: Any, labels: Any) -> Any:
        loss, grads = jax.value_and_grad(loss_of)(params, tokens, labels)
        norm = jnp.sqrt(sum(jnp.sum(g * g) for g in tree.tree_leaves(grads)))
        grads = tree.tree_map(lambda g: g / jnp.maximum(norm, 1.0), grads)
        return adam(jax, params, grads, state, 1e-3) + (loss,)

    params = initial_parameters(jnp)
    state = adam_start(jax, params)

    def step() -> float:
        nonlocal params, state
        params, state, loss = update(params, state, tokens, following)
        return float(loss)

    return step
