"""Inputs of a model: `tf.keras.Input`."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow.keras.backend.config import floatx
from stillflow.keras.backend.variables import dtype as dtype_name
from stillflow.keras.backend.variables import get_uid, placeholder
from stillflow.layers.base_layer import Layer
from stillflow.layers.history import KerasHistory
from stillflow.layers.node import Node


@export("keras.layers.InputLayer")
class InputLayer(Layer):
    """An input of a model.

    Args:
      input_shape: without the batch; an integer for one dimension.
      batch_size: None for any.
      dtype: Keras' default, or that of `input_tensor`.
      input_tensor: the input, by default a new placeholder.
      sparse: whether the placeholder is a sparse one.
      ragged: whether it is a ragged one.
      name: of the layer and the placeholder.
      batch_input_shape: both in one.

    Raises:
      ValueError: for both forms of a shape, a dtype that the tensor does not have, or an argument
        that there is not.
    """

    def __init__(
        self,
        input_shape: Any = None,
        batch_size: Any = None,
        dtype: Any = None,
        input_tensor: Any = None,
        sparse: bool = False,
        name: Any = None,
        ragged: bool = False,
        **kwargs: Any,
    ) -> None:
        if "batch_input_shape" in kwargs:
            given = kwargs.pop("batch_input_shape")
            if input_shape and given:
                raise ValueError(
                    "Only provide the input_shape OR batch_input_shape argument to InputLayer, "
                    "not both at the same time."
                )
            batch_size, input_shape = given[0], given[1:]
        if kwargs:
            raise ValueError("Unrecognized keyword arguments:", kwargs.keys())
        if not dtype:
            dtype = floatx() if input_tensor is None else dtype_name(input_tensor)
        elif input_tensor is not None and input_tensor.dtype != dtype:
            raise ValueError(
                f"`input_tensor.dtype` differs from `dtype`: {input_tensor.dtype} vs. {dtype}"
            )
        super().__init__(dtype=dtype, name=name or f"input_{get_uid('input')}")
        self.built = self.supports_masking = True
        self.sparse, self.ragged, self.batch_size = sparse, ragged, batch_size
        self.is_placeholder = input_tensor is None
        if input_tensor is None:
            shape = _with_batch(input_shape, batch_size)
            input_tensor = placeholder(
                shape=shape, dtype=dtype, name=self.name, sparse=sparse, ragged=ragged
            )
        else:
            shape = tuple(input_tensor.shape.as_list())
        self._batch_input_shape = shape
        input_tensor._keras_history = KerasHistory(self, 0, 0)
        input_tensor._keras_mask = None
        Node(self, [], [], [], input_tensors=[input_tensor], output_tensors=[input_tensor])

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        return {
            "batch_input_shape": self._batch_input_shape,
            "dtype": self.dtype,
            "sparse": self.sparse,
            "ragged": self.ragged,
            "name": self.name,
        }


def _with_batch(shape: Any, batch_size: Any) -> Any:
    if shape is None:
        return None
    if isinstance(shape, TensorShape):
        shape = shape.as_list()
    elif isinstance(shape, int):
        shape = (shape,)
    return (batch_size, *shape)


@export("keras.Input", "keras.layers.Input")
def Input(
    shape: Any = None,
    batch_size: Any = None,
    name: Any = None,
    dtype: Any = None,
    sparse: bool = False,
    tensor: Any = None,
    ragged: bool = False,
    **kwargs: Any,
) -> Any:
    """Return a tensor with which a model begins.

    Args:
      shape: without the batch.
      batch_size: None for any.
      name: of the placeholder.
      dtype: Keras' default, or that of `tensor`.
      sparse: whether it is a sparse placeholder.
      tensor: the input, by default a new placeholder.
      ragged: whether it is a ragged placeholder.
      batch_shape: the shape with the batch, instead of the first two.

    Raises:
      ValueError: for arguments that exclude each other, or neither a shape nor a tensor.
    """
    if sparse and ragged:
        raise ValueError("Cannot set both sparse and ragged to True in a Keras input.")
    batch_shape = kwargs.pop("batch_input_shape", kwargs.pop("batch_shape", None))
    if shape and batch_shape:
        raise ValueError(
            "Only provide the `shape` OR `batch_input_shape` argument to Input, not both at the "
            "same time."
        )
    if kwargs:
        raise ValueError("Unrecognized keyword arguments:", kwargs.keys())
    sizes = {"batch_size": batch_size, "input_shape": shape}
    sizes = {"batch_input_shape": batch_shape} if batch_shape else sizes
    if tensor is None and shape is None and not batch_shape:
        raise ValueError(
            "Please provide to Input either a `shape` or a `tensor` argument. Note that `shape` "
            "does not include the batch dimension."
        )
    layer = InputLayer(
        name=name, dtype=dtype, sparse=sparse, ragged=ragged, input_tensor=tensor, **sizes
    )
    outputs = layer._inbound_nodes[0].output_tensors
    return outputs[0] if len(outputs) == 1 else outputs


@export("keras.utils.get_source_inputs")
def get_source_inputs(
    tensor: Any, layer: Any = None, node_index: int | None = None
) -> list[Tensor]:
    """Return the inputs of the model that a tensor depends on."""
    if not hasattr(tensor, "_keras_history"):
        return tensor
    if layer is None or node_index:
        layer, node_index, _ = tensor._keras_history
    if not layer._inbound_nodes:
        return [tensor]
    node = layer._inbound_nodes[node_index]
    if not node.inbound_layers:
        return tf.nest.flatten(node.input_tensors)
    sources: dict[int, Any] = {}
    for inbound, index, _, x in node.iterate_inbound():
        sources.update((id(source), source) for source in get_source_inputs(x, inbound, index))
    return list(sources.values())
