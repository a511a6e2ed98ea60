"""`tf.contrib.bayesflow.monte_carlo`: expectations by samples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor


@export("contrib.bayesflow.monte_carlo.expectation_importance_sampler")
def expectation_importance_sampler(
    f: Callable[[Any], Any], log_p: Callable[[Any], Any], sampling_dist_q: Any, z: Any = None,
    n: Any = None, seed: int | None = None, name: str = "expectation_importance_sampler",
) -> Tensor:  # fmt: skip
    """Return the expectation of `f` under a density, by samples of another distribution.

    Args:
      f: of samples [n, ...]; gives [n, ...]. Its positive and its negative part are averaged by
        their logarithms.
      log_p: the logarithm of the density, of samples.
      sampling_dist_q: the other distribution.
      z: its samples, [n, ...], or
      n: how many are drawn.
      seed: of the draw.
      name: of a scope.

    Raises:
      ValueError: if both or neither of `z` and `n` are given.
    """
    with tf.name_scope(name, values=[z, n]):
        z = get_samples(sampling_dist_q, z, n, seed)
        log_p_z, log_q_z = log_p(z), sampling_dist_q.log_prob(z)
        f_z = f(z)
        positive = tf.log(tf.nn.relu(f_z) + 1.0)
        negative = tf.log(tf.nn.relu(-1.0 * f_z) + 1.0)
        log_means = [log_mean(part + log_p_z - log_q_z) for part in (positive, negative)]
    return tf.exp(log_means[0]) - tf.exp(log_means[1])


@export("contrib.bayesflow.monte_carlo.expectation_importance_sampler_logspace")
def expectation_importance_sampler_logspace(
    log_f: Callable[[Any], Any], log_p: Callable[[Any], Any], sampling_dist_q: Any, z: Any = None,
    n: Any = None, seed: int | None = None,
    name: str = "expectation_importance_sampler_logspace",
) -> Tensor:  # fmt: skip
    """Return the logarithm of a positive function's expectation, given `log_f`.

    Args:
      log_f: of samples [n, ...]; gives [n, ...].
      log_p, sampling_dist_q, ...: as of `expectation_importance_sampler`.

    Raises:
      ValueError: if both or neither of `z` and `n` are given.
    """
    with tf.name_scope(name, values=[z, n]):
        z = get_samples(sampling_dist_q, z, n, seed)
        return log_mean(log_f(z) + log_p(z) - sampling_dist_q.log_prob(z))


def log_mean(log_values: Any) -> Tensor:
    """Return the logarithm of the mean along the first axis."""
    center = tf.stop_gradient(tf.reduce_max(log_values, axis=[0]))
    centered = tf.exp(log_values - center)
    return tf.log(tf.reduce_mean(centered, axis=[0])) + center


def get_samples(distribution: Any, z: Any, n: Any, seed: int | None) -> Tensor:
    """Return samples of a distribution: the given ones, or `n` drawn ones."""
    with tf.name_scope("get_samples", values=[z, n]):
        if (z is None) != (n is None):
            drawn = z is None
            return distribution.sample(n, seed=seed) if drawn else tf.convert_to_tensor(z, name="z")
        raise ValueError(
            f'Must specify exactly one of arguments "n" and "z".  Found: n = {n}, z = {z}'
        )


@export("contrib.bayesflow.monte_carlo.expectation")
def expectation(
    f: Callable[[Any], Any], samples: Any, log_prob: Callable[[Any], Any] | None = None,
    use_reparametrization: bool = True, axis: Any = 0, keep_dims: bool = False,
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """Return the mean of a function of samples, whose gradient is that of the expectation.

    Args:
      f: of samples; gives [n, ...].
      samples: [n, ...].
      log_prob: the logarithm of their density, where they do not depend on its parameters.
      use_reparametrization: whether samples depend on the parameters by themselves.
      axis: along which samples lie, one or a list.
      keep_dims: whether it stays, with size 1.
      name: of a scope.

    Raises:
      ValueError: if `f` or `log_prob` is needed and is no function.
    """
    functions = {"f": f} if use_reparametrization else {"f": f, "log_prob": log_prob}
    with tf.name_scope(name, "expectation", [samples]):
        for which, function in functions.items():
            if not callable(function):
                raise ValueError(f"`{which}` must be a callable function.")
        if use_reparametrization:
            values = f(samples)
        else:
            values = _with_score(f, log_prob, tf.stop_gradient(samples))
        return tf.reduce_mean(values, axis=axis, keepdims=keep_dims)


def _with_score(f: Callable[[Any], Any], log_prob: Any, samples: Any) -> Tensor:
    """Return values of a function, with the gradient of their density (the score function)."""
    density, values = log_prob(samples), f(samples)
    # The second term is zero; its gradient is not.
    return values + tf.stop_gradient(values) * (density - tf.stop_gradient(density))
