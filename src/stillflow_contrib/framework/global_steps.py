"""The global step under the names it had before `tf.train` had them."""

from __future__ import annotations

from typing import Any

from stillflow.graph.export import export
from stillflow.graph.graph import Graph
from stillflow.train.global_step import assert_global_step as train_assert
from stillflow.train.global_step import create_global_step as train_create
from stillflow.train.global_step import get_global_step as train_get
from stillflow.train.global_step import get_or_create_global_step as train_get_or_create


@export("contrib.framework.assert_global_step", "contrib.slim.assert_global_step")
def assert_global_step(global_step_tensor: Any) -> None:
    """See `tf.train.assert_global_step`."""
    train_assert(global_step_tensor)


@export("contrib.framework.assert_or_get_global_step", "contrib.slim.assert_or_get_global_step")
def assert_or_get_global_step(graph: Graph | None = None, global_step_tensor: Any = None) -> Any:
    """Return the global step: the given tensor if it can be one, or that of the graph.

    Raises:
      TypeError: if it is not an integer scalar.
    """
    if global_step_tensor is None:
        return get_global_step(graph)
    assert_global_step(global_step_tensor)
    return global_step_tensor


@export("contrib.framework.get_global_step", "contrib.slim.get_global_step")
def get_global_step(graph: Graph | None = None) -> Any:
    """See `tf.train.get_global_step`."""
    return train_get(graph)


@export("contrib.framework.create_global_step", "contrib.slim.create_global_step")
def create_global_step(graph: Graph | None = None) -> Any:
    """See `tf.train.create_global_step`."""
    return train_create(graph)


@export("contrib.framework.get_or_create_global_step", "contrib.slim.get_or_create_global_step")
def get_or_create_global_step(graph: Graph | None = None) -> Any:
    """See `tf.train.get_or_create_global_step`."""
    return train_get_or_create(graph)
