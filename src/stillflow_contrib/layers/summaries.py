"""Summaries of tensors and of collections."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from typing import Any

import stillflow as tf
from stillflow.graph.export import export, export_value
from stillflow.graph.graph_keys import GraphKeys
from stillflow.graph.operation import Tensor


def _scalar(tensor: Any, tag: str | None = None) -> Tensor:
    tensor.get_shape().assert_has_rank(0)
    return tf.summary.scalar(tag or f"{tensor.op.name}_summary", tensor)


def _histogram(tensor: Any, tag: str | None = None) -> Tensor:
    return tf.summary.histogram(tag or f"{tensor.op.name}_summary", tensor)


def _share(op: Any, compare: Callable[..., Any], bound: float, what: str) -> None:
    """Summarizes how many of an activation's inputs are beyond a bound."""
    inputs = op.op.inputs[0]
    beyond = tf.to_float(compare(inputs, tf.cast(bound, inputs.dtype)))
    _scalar(tf.reduce_mean(beyond), f"{op.op.name}/{what}")


@export("contrib.layers.summarize_activation", "contrib.slim.summarize_activation",
        "contrib.layers.summaries.summarize_activation")  # fmt: skip
def summarize_activation(op: Any) -> Tensor:
    """Return a histogram of an activation's outputs, and how much of it is saturated.

    Args:
      op: the outputs of a Relu, Relu6, Softplus or another function.

    Returns:
      The histogram's summary.
    """
    if op.op.type in ("Relu", "Softplus", "Relu6"):
        _share(op, tf.less, 0.0, "zeros")
    if op.op.type == "Relu6":
        _share(op, tf.greater, 6.0, "sixes")
    return _histogram(op, f"{op.op.name}/activation")


@export("contrib.layers.summarize_tensor", "contrib.slim.summarize_tensor",
        "contrib.layers.summaries.summarize_tensor")  # fmt: skip
def summarize_tensor(tensor: Any, tag: str | None = None) -> Tensor | None:
    """Return a scalar summary, or a histogram if it is no scalar; None for strings and bools."""
    if tensor.dtype.is_compatible_with(tf.string) or tensor.dtype.base_dtype == tf.bool:
        return None
    return (_scalar if tensor.get_shape().ndims == 0 else _histogram)(tensor, tag)


@export("contrib.layers.summarize_tensors", "contrib.slim.summarize_tensors",
        "contrib.layers.summaries.summarize_tensors")  # fmt: skip
def summarize_tensors(
    tensors: Sequence[Any], summarizer: Callable[[Any], Any] = summarize_tensor
) -> list[Any]:
    """Return the results of `summarizer` for each of some tensors."""
    return [summarizer(tensor) for tensor in tensors]


@export("contrib.layers.summarize_collection", "contrib.slim.summarize_collection",
        "contrib.layers.summaries.summarize_collection")  # fmt: skip
def summarize_collection(
    collection: str,
    name_filter: str | None = None,
    summarizer: Callable[[Any], Any] = summarize_tensor,
) -> list[Any]:
    """Return the results of `summarizer` for each tensor of a collection.

    Args:
      collection: the collection.
      name_filter: a pattern for the beginning of names.
      summarizer: a function of a tensor.
    """
    tensors = [
        tensor for tensor in tf.get_collection(collection)
        if name_filter is None or re.match(name_filter, tensor.op.name)
    ]  # fmt: skip
    return summarize_tensors(tensors, summarizer)


@export("contrib.layers.summarize_activations", "contrib.slim.summarize_activations",
        "contrib.layers.summaries.summarize_activations")  # fmt: skip
def summarize_activations(
    name_filter: str | None = None, summarizer: Callable[[Any], Any] = summarize_activation
) -> list[Any]:
    """`summarize_collection` of the collection ACTIVATIONS."""
    return summarize_collection(GraphKeys.ACTIVATIONS, name_filter, summarizer)


summarize_biases = functools.partial(summarize_collection, GraphKeys.BIASES)
summarize_variables = functools.partial(summarize_collection, GraphKeys.GLOBAL_VARIABLES)
summarize_weights = functools.partial(summarize_collection, GraphKeys.WEIGHTS)

export_value("contrib.slim.summarize_biases", summarize_biases)
export_value("contrib.slim.summarize_variables", summarize_variables)
export_value("contrib.slim.summarize_weights", summarize_weights)
