"""Layers for a program's code between layers: operations, losses, metrics."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import stillflow as tf
from stillflow import nest
from stillflow.graph import tapes
from stillflow.graph.api import init_scope
from stillflow.graph.operation import Tensor
from stillflow.keras.backend.function import function
from stillflow.keras.backend.session import get_value
from stillflow.layers import history
from stillflow.layers.base_layer import Layer

if TYPE_CHECKING:
    from stillflow.functional.polymorphic import Function


_PREFIX = "tf_op_layer_"


def constant_of(tensor: Any) -> Any:
    """Return the value of a tensor that depends on no input."""
    with init_scope():
        return function([], tensor)([])


class TensorFlowOpLayer(Layer):
    """An operation as a layer.

    Args:
      node_def: its `NodeDef`, serialized or as a dictionary.
      name: of the operation.
      constants: those of its inputs that are not the layer's inputs, by their position.
    """

    def __init__(
        self,
        node_def: Any,
        name: str,
        constants: Any = None,
        trainable: bool = True,
        dtype: Any = None,
    ) -> None:
        super().__init__(name=_PREFIX + name, trainable=trainable, dtype=dtype, autocast=False)
        if isinstance(node_def, dict):
            from google.protobuf import json_format

            self.node_def = json_format.ParseDict(node_def, tf.NodeDef())
        else:
            encoded = node_def if isinstance(node_def, bytes) else node_def.encode("utf-8")
            self.node_def = tf.NodeDef.FromString(encoded)
        self.constants = {int(index): value for index, value in (constants or {}).items()}
        self.built = True

    def call(self, inputs: Any) -> Any:
        """Make the operation once more, for other inputs."""
        inputs = nest.flatten(inputs)
        if tf.executing_eagerly():
            return self._function(inputs)
        graph: Any = tf.get_default_graph()
        message = tf.NodeDef()
        message.CopyFrom(self.node_def)
        message.name = graph.unique_name(message.name)
        with graph.as_default():
            for index, value in self.constants.items():
                inputs.insert(index, tf.constant(value, name=message.input[index]))
            op = tf.Operation(message, graph, inputs=inputs)
        if tapes.active.tapes:
            tapes.record_operation(op)
        return op.outputs[0] if len(op.outputs) == 1 else list(op.outputs)

    @functools.cached_property
    def _function(self) -> Function:
        return tf.function(self.call, autograph=False)

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        from google.protobuf import json_format

        config: dict[str, Any] = super().get_config()
        config["name"] = config["name"].removeprefix(_PREFIX)
        config["node_def"] = json_format.MessageToDict(self.node_def)
        config["constants"] = {at: get_value(value) for at, value in self.constants.items()}
        return config


class AddLoss(Layer):
    """Layer that adds its input to the model's losses.

    Args:
      unconditional: whether the loss depends on no input.
    """

    def __init__(self, unconditional: bool, **kwargs: Any) -> None:
        super().__init__(**{**kwargs, "autocast": False})
        self.unconditional = unconditional

    def call(self, inputs: Any) -> Tensor:
        """Return the input itself."""
        self.add_loss(inputs, inputs=not self.unconditional)
        return inputs

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        return {**super().get_config(), "unconditional": self.unconditional}


class AddMetric(Layer):
    """Layer that adds its input to the model's metrics.

    Args:
      aggregation: "mean", or None for the result of a metric.
      metric_name: of the metric.
    """

    def __init__(self, aggregation: Any = None, metric_name: Any = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.aggregation, self.metric_name = aggregation, metric_name

    def call(self, inputs: Any) -> Any:
        """Return the input itself."""
        self.add_metric(inputs, self.aggregation, self.metric_name)
        return inputs

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        config = {"aggregation": self.aggregation, "metric_name": self.metric_name}
        return {**super().get_config(), **config}


history.constant_of.provide(constant_of)
history.op_layer.provide(TensorFlowOpLayer)
