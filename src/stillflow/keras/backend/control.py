"""Choices between tensors, and functions applied to all slices of a tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.layers.learning_phase import learning_phase


@export("keras.backend.switch")
def switch(condition: Any, then_expression: Any, else_expression: Any) -> Any:
    """Return the one or the other expression; of each element, if the condition is no scalar.

    Args:
      condition: a tensor; its dimensions are the first of the expressions'.
      then_expression, else_expression: tensors, or functions without arguments.

    Raises:
      ValueError: if the condition has more dimensions than the expressions.
    """
    if condition.dtype != tf.bool:
        condition = tf.cast(condition, "bool")
    if not condition.shape.ndims:
        return tf.cond(condition, _as_function(then_expression), _as_function(else_expression))
    then = then_expression() if callable(then_expression) else then_expression
    other = else_expression() if callable(else_expression) else else_expression
    rank, wanted = condition.shape.ndims, then.shape.ndims
    if rank > wanted:
        raise ValueError(
            "Rank of `condition` should be less than or equal to rank of `then_expression` and "
            f"`else_expression`. ndim(condition)={rank}, ndim(then_expression)={wanted}"
        )
    if rank > 1:
        sizes = tf.concat([tf.shape(condition), [1] * (wanted - rank)], axis=0)
        condition = tf.reshape(condition, sizes)
        full = tf.shape(then)
        multiples = tf.where(full - sizes > 0, full, tf.ones_like(full))
        condition = tf.tile(condition, multiples)
    return tf.where(condition, then, other)


def _as_function(expression: Any) -> Callable[..., Any]:
    return expression if callable(expression) else lambda: expression


@export("keras.backend.in_train_phase")
def in_train_phase(x: Any, alt: Any, training: Any = None) -> Tensor:
    """`x` in training, else `alt`; either may be a function without arguments."""
    if training is None:
        training = learning_phase()
    if tf.is_tensor(training):
        return switch(training, x, alt)
    chosen = x if training else alt
    return chosen() if callable(chosen) else chosen


@export("keras.backend.in_test_phase")
def in_test_phase(x: Any, alt: Any, training: Any = None) -> Tensor:
    """`alt` in training, else `x`."""
    return in_train_phase(alt, x, training=training)


@export("keras.backend.map_fn")
def map_fn(fn: Any, elems: Any, name: Any = None, dtype: Any = None) -> Tensor:
    """Return a function of each slice."""
    return tf.map_fn(fn, elems, name=name, dtype=dtype)


@export("keras.backend.foldl")
def foldl(fn: Any, elems: Any, initializer: Any = None, name: Any = None) -> Any:
    """`fn(fn(fn(initializer, first), second), ...)`."""
    return tf.foldl(fn, elems, initializer=initializer, name=name)


@export("keras.backend.foldr")
def foldr(fn: Any, elems: Any, initializer: Any = None, name: Any = None) -> Any:
    """Return the same from the last slice to the first."""
    return tf.foldr(fn, elems, initializer=initializer, name=name)
