"""Layers on layers."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor


def _name_of(layer: Any, default: str) -> str:
    name: str | None = getattr(layer, "__name__", None)
    if name is None:
        name = getattr(getattr(layer, "func", None), "__name__", None)
    return default if name is None else name


@export("contrib.layers.repeat", "contrib.slim.repeat")
def repeat(inputs: Any, repetitions: int, layer: Any, *args: Any, **kwargs: Any) -> Tensor:
    """Apply a layer repeatedly, each time with its own variables.

    Args:
      inputs: a tensor.
      repetitions: how often.
      layer: a function with an argument `scope`.
      *args, **kwargs: its arguments.

    Returns:
      The result of the last one.
    """
    scope = kwargs.pop("scope", None)
    with tf.variable_scope(scope, "Repeat", [inputs]):
        outputs = tf.convert_to_tensor(inputs)
        scope = _name_of(layer, "repeat") if scope is None else scope
        for i in range(repetitions):
            outputs = layer(outputs, *args, **{**kwargs, "scope": f"{scope}_{i + 1}"})
        return outputs


@export("contrib.layers.stack", "contrib.slim.stack")
def stack(inputs: Any, layer: Any, stack_args: Any, **kwargs: Any) -> Tensor:
    """Apply a layer repeatedly, each time with other arguments.

    Args:
      inputs: a tensor.
      layer: a function with an argument `scope`.
      stack_args: a list of its arguments: one each time, or a list of them.
      **kwargs: arguments that are the same each time.

    Returns:
      The result of the last one.

    Raises:
      ValueError: if `stack_args` is no list or tuple.
    """
    scope = kwargs.pop("scope", None)
    if not isinstance(stack_args, (list, tuple)):
        raise ValueError("stack_args need to be a list or tuple")
    with tf.variable_scope(scope, "Stack", [inputs]):
        outputs = tf.convert_to_tensor(inputs)
        scope = _name_of(layer, "stack") if scope is None else scope
        for i, args in enumerate(stack_args):
            args = args if isinstance(args, (list, tuple)) else [args]
            outputs = layer(outputs, *args, **{**kwargs, "scope": f"{scope}_{i + 1}"})
        return outputs
