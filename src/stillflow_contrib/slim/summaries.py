"""Summaries named after their tensors; printed too, if wanted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.graph_keys import GraphKeys
from stillflow.graph.operation import Tensor


def _name(tensor: Any, name: str | None, prefix: str | None, postfix: str | None = None) -> str:
    """Return a summary's name: by default the operation's name, with prefix and postfix."""
    return "/".join(filter(None, (prefix, name or tensor.op.name, postfix)))


def _added(make: Any, tensor: Any, name: str, printed: bool) -> Tensor:
    summary = make(name=name, tensor=tensor, collections=[] if printed else None)
    if printed:
        summary = tf.Print(summary, [tensor], name)
        tf.add_to_collection(GraphKeys.SUMMARIES, summary)
    return summary


@export("contrib.slim.summaries.add_histogram_summary")
def add_histogram_summary(
    tensor: Any, name: str | None = None, prefix: str | None = None
) -> Tensor:
    """Summarizes the distribution of a tensor's values.

    Args:
      tensor: the tensor.
      name: of the summary; the tensor's by default.
      prefix: text before it.
    """
    return tf.summary.histogram(_name(tensor, name, prefix), tensor)


@export("contrib.slim.summaries.add_image_summary")
def add_image_summary(
    tensor: Any, name: str | None = None, prefix: str | None = None, print_summary: bool = False
) -> Tensor:
    """Summarizes images.

    Args:
      tensor: `[batch, height, width, channels]`.
      name, prefix: as of `add_histogram_summary`.
      print_summary: whether the tensor is printed as well.
    """
    return _added(tf.summary.image, tensor, _name(tensor, name, prefix), print_summary)


@export("contrib.slim.summaries.add_scalar_summary")
def add_scalar_summary(
    tensor: Any, name: str | None = None, prefix: str | None = None, print_summary: bool = False
) -> Tensor:
    """Summarizes a scalar.

    Args:
      tensor: the scalar.
      name, prefix: as of `add_histogram_summary`.
      print_summary: whether it is printed as well.
    """
    return _added(tf.summary.scalar, tensor, _name(tensor, name, prefix), print_summary)


@export("contrib.slim.summaries.add_zero_fraction_summary")
def add_zero_fraction_summary(
    tensor: Any, name: str | None = None, prefix: str | None = None, print_summary: bool = False
) -> Tensor:
    """Summarizes which part of a tensor's values are 0.

    Args:
      tensor: the tensor.
      name, prefix: as of `add_histogram_summary`.
      print_summary: whether that part is printed as well.
    """
    name = _name(tensor, name, prefix, "Fraction_of_Zero_Values")
    return add_scalar_summary(tf.nn.zero_fraction(tensor), name, print_summary=print_summary)


@export("contrib.slim.summaries.add_histogram_summaries")
def add_histogram_summaries(tensors: Iterable[Any], prefix: str | None = None) -> list[Any]:
    """`add_histogram_summary` for several tensors."""
    return [add_histogram_summary(tensor, prefix=prefix) for tensor in tensors]


@export("contrib.slim.summaries.add_image_summaries")
def add_image_summaries(tensors: Iterable[Any], prefix: str | None = None) -> list[Any]:
    """`add_image_summary` for several tensors."""
    return [add_image_summary(tensor, prefix=prefix) for tensor in tensors]


@export("contrib.slim.summaries.add_scalar_summaries")
def add_scalar_summaries(
    tensors: Iterable[Any], prefix: str | None = None, print_summary: bool = False
) -> list[Any]:
    """`add_scalar_summary` for several scalars."""
    return [
        add_scalar_summary(tensor, prefix=prefix, print_summary=print_summary) for tensor in tensors
    ]


@export("contrib.slim.summaries.add_zero_fraction_summaries")
def add_zero_fraction_summaries(tensors: Iterable[Any], prefix: str | None = None) -> list[Any]:
    """`add_zero_fraction_summary` for several tensors."""
    return [add_zero_fraction_summary(tensor, prefix=prefix) for tensor in tensors]
