"""ResNet-20 in JAX, the whole step under jit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..jax_optimizers import momentum, momentum_start
from .resnet20 import BLOCKS, STAGES, data


def initial_parameters(jnp: Any) -> dict[str, Any]:
    """Kernels, scales and offsets by name, and the dense layer at the end."""
    rng = np.random.RandomState(1)
    params: dict[str, Any] = {}

    def conv(name: str, inputs: int, outputs: int, size: int = 3) -> None:
        kernel = rng.randn(size, size, inputs, outputs) * np.sqrt(2.0 / (size * size * outputs))
        params[name] = (jnp.asarray(kernel, jnp.float32), jnp.ones(outputs), jnp.zeros(outputs))

    conv("stem", 3, 16)
    inputs = 16
    for stage, (outputs, stride) in enumerate(STAGES):
        for index in range(BLOCKS):
            name = f"{stage}{index}"
            conv(name + "a", inputs, outputs)
            conv(name + "b", outputs, outputs)
            if stride != 1 and index == 0:
                conv(name + "s", inputs, outputs, 1)
            inputs = outputs
    params["dense"] = (jnp.asarray(rng.randn(64, 10) * 0.1, jnp.float32), jnp.zeros(10))
    return params


def build(jax: Any) -> Callable[[], float]:
    """Return a function that runs one training step and returns the loss."""
    jnp = jax.numpy
    pixels, classes = data()
    params = initial_parameters(jnp)
    means = {k: (jnp.zeros(p[1].shape), jnp.ones(p[1].shape))
             for k, p in params.items() if k != "dense"}

    def loss_of(params: Any, means: Any, x: Any, y: Any) -> Any:
        moved = {}

        def conv(name: str, x: Any, stride: int = 1) -> Any:
            kernel, scale, offset = params[name]
            x = jax.lax.conv_general_dilated(x, kernel, [stride, stride], "SAME",
                                             dimension_numbers=("NHWC", "HWIO", "NHWC"))
            mean, variance = jnp.mean(x, (0, 1, 2)), jnp.var(x, (0, 1, 2))
            old = means[name]
            moved[name] = (0.9 * old[0] + 0.1 * mean, 0.9 * old[1] + 0.1 * variance)
            return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * scale + offset

        h = jax.nn.relu(conv("stem", x))
        for stage, (_, stride) in enumerate(STAGES):
            for index in range(BLOCKS):
                name, now = f"{stage}{index}", stride if index == 0 else 1
                shortcut = h if now == 1 else conv(name + "s", h, now)
                h = conv(name + "b", jax.nn.relu(conv(name + "a", h, now)))
                h = jax.nn.relu(h + shortcut)
        log_p = jax.nn.log_softmax(jnp.mean(h, (1, 2)) @ params["dense"][0] + params["dense"][1])
        loss = -jnp.mean(jnp.take_along_axis(log_p, y[:, None], axis=1))
        decay = sum(jnp.sum(p[0] ** 2) / 2 for p in params.values())
        return loss + 1e-4 * decay, (moved, loss)

    @jax.jit
    def update(params: Any, means: Any, state: Any, x: Any, y: Any) -> Any:
        grads, (means, loss) = jax.grad(loss_of, has_aux=True)(params, means, x, y)
        return momentum(jax, params, grads, state, 0.1) + (means, loss)

    state = momentum_start(jax, params)

    def step() -> float:
        nonlocal params, means, state
        params, state, means, loss = update(params, means, state, pixels, classes)
        return float(loss)

    return step
