"""Weights of attention from scores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import dimension_value


@export("contrib.seq2seq.hardmax")
def hardmax(logits: Any, name: str | None = None) -> Tensor:
    """1 at the largest element of every row, 0 elsewhere.

    Args:
      logits: [..., n].
      name: of the scope.
    """
    with tf.name_scope(name, "Hardmax", [logits]):
        logits = tf.convert_to_tensor(logits, name="logits")
        depth = dimension_value(logits.get_shape()[-1])
        if depth is None:
            depth = tf.shape(logits)[-1]
        return tf.one_hot(tf.argmax(logits, -1), depth, dtype=logits.dtype)


@export("contrib.seq2seq.safe_cumprod")
def safe_cumprod(x: Any, *args: Any, **kwargs: Any) -> Any:
    """Return the cumulative product of numbers in [0, 1], by way of their logarithms.

    Args:
      x: the numbers.
      *args, **kwargs: as for `tf.cumsum`.
    """
    with tf.name_scope(None, "SafeCumprod", [x]):
        x = tf.convert_to_tensor(x, name="x")
        least = np.finfo(x.dtype.as_numpy_dtype).tiny
        logarithms = tf.log(tf.clip_by_value(x, least, 1))
        return tf.exp(tf.cumsum(logarithms, *args, **kwargs))


def _recursive(p: Any, previous: Any) -> Tensor:
    size = dimension_value(p.shape[0]) or tf.shape(p)[0]
    passed = tf.concat([tf.ones((size, 1)), 1 - p[:, :-1]], 1)

    def move(reached: Any, here: tuple[Any, Any]) -> Tensor:
        return tf.reshape(here[0] * reached + here[1], (size,))

    steps = [tf.transpose(each) for each in (passed, previous)]
    return p * tf.transpose(tf.scan(move, steps, tf.zeros((size,))))


def _parallel(p: Any, previous: Any) -> Tensor:
    passed = safe_cumprod(1 - p, axis=1, exclusive=True)
    product = p * passed
    return product * tf.cumsum(previous / tf.clip_by_value(passed, 1e-10, 1.0), axis=1)


def _hard(p: Any, previous: Any) -> Tensor:
    p *= tf.cumsum(previous, axis=1)
    return p * tf.cumprod(1 - p, axis=1, exclusive=True)


_MODES: dict[str, Callable[[Any, Any], Any]] = {
    "recursive": _recursive, "parallel": _parallel, "hard": _hard,
}  # fmt: skip


@export("contrib.seq2seq.monotonic_attention")
def monotonic_attention(p_choose_i: Any, previous_attention: Any, mode: str) -> Tensor:
    """Return the attention that only moves forward (Raffel et al., 2017).

    Args:
      p_choose_i: [batch, time], how likely an element is chosen once it is reached.
      previous_attention: [batch, time], of the step before.
      mode: "recursive", slow and exact; "parallel", fast; "hard", where all probabilities are 0
        or 1.

    Raises:
      ValueError: for another mode.
    """
    p_choose_i = tf.convert_to_tensor(p_choose_i, name="p_choose_i")
    previous = tf.convert_to_tensor(previous_attention, name="previous_attention")
    if mode not in _MODES:
        raise ValueError("mode must be 'recursive', 'parallel', or 'hard'.")
    return _MODES[mode](p_choose_i, previous)


def monotonic_probabilities(
    score: Any, previous: Any, sigmoid_noise: float, mode: str, seed: int | None = None
) -> Tensor:
    """Monotonic attention by scores, to which noise is added."""
    if sigmoid_noise > 0:
        noise = tf.random_normal(tf.shape(score), dtype=score.dtype, seed=seed)
        score += sigmoid_noise * noise
    p = tf.cast(score > 0, score.dtype) if mode == "hard" else tf.sigmoid(score)
    return monotonic_attention(p, previous, mode)
