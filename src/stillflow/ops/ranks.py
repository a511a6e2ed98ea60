"""Ranks that inputs must have, refused in the words of TF's shape functions and of its kernels."""

from __future__ import annotations

from stillflow.graph import dims
from stillflow.graph.dims import Dim
from stillflow.graph.node import Node


def checked_rank(node: Node, index: int, rank: int, running: str) -> tuple[Dim, ...]:
    """The dims of an input that must have the given rank.

    Args:
      running: what TF says of another rank when the graph runs, before the input's shape.

    Raises:
      ValueError: if the input has another rank.
    """
    shape = node.dims(index)
    if node.planning and shape is not None and len(shape) != rank:
        raise ValueError(f"{running}{dims.to_string(shape)}")
    return dims.with_rank(shape, rank)
