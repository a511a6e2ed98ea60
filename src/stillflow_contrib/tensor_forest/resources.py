"""Trees and statistics as parts of a graph that checkpoints hold."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.functions import uid
from stillflow.graph.graph_keys import GraphKeys
from stillflow.graph.operation import Operation, Tensor
from stillflow.train.saveables import SaveableObject
from stillflow.train.tracking.base import Trackable
from stillflow.variables.resources import register_resource


class ForestResource(Trackable):
    """Handle, the operation that creates its resource, and a check of it.

    Args:
      params: with the message that operations carry as `serialized_params_proto`.
      config: the initial state, a message.
      name: of the handle.
      container: of the resource.
    """

    _kind: str  # its default name: "tree_variable"
    _handle_op: Any
    _create_op: Any
    _is_initialized_op: Any

    def __init__(self, params: Any, config: Any, name: str, container: Any = None) -> None:
        self._params, self._config = params, config
        self._name, self._container = name, container
        self._init_op: Operation | None = None
        self._resource_handle = self._create_resource()

    def _create_resource(self) -> Tensor:
        eager = tf.executing_eagerly()
        shared_name = f"{self._kind}_{uid()}" if eager else self._name
        made: Tensor = self._handle_op(
            container=self._container, shared_name=shared_name, name=self._name
        )
        return made

    @property
    def resource_handle(self) -> Tensor:
        """The handle."""
        return self._resource_handle

    @property
    def initializer(self) -> Operation:
        """The operation that creates the resource."""
        if self._init_op is None:
            params = self._params.serialized_params_proto
            self._init_op = self._create_op(self._resource_handle, self._config, params=params)
        return self._init_op

    def is_initialized(self) -> Tensor:
        """Return True if it was made, a scalar bool."""
        return self._is_initialized_op(self._resource_handle)

    def _saveable(self, name: str) -> SaveableObject:
        raise NotImplementedError

    def _gather_saveables_for_checkpoint(self) -> dict[str, Any]:
        return {self._kind: self._saveable}


def registered(made: ForestResource) -> Tensor:
    """Has a resource initialized and saved as others are; gives its handle."""
    handle, create = made.resource_handle, made.initializer
    is_initialized = made.is_initialized()
    (saveable,) = made._gather_saveables_for_checkpoint().values()
    tf.add_to_collection(GraphKeys.SAVEABLE_OBJECTS, saveable(name=handle.name))
    register_resource(handle, create, is_initialized)
    return handle
