"""The shapes of a layer's outputs, found by calling it on placeholders."""

from __future__ import annotations

from typing import Any

from stillflow import nest
from stillflow.graph.func_graph import FuncGraph
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import Dimension, TensorShape
from stillflow.keras.backend.config import floatx
from stillflow.ops.constants import placeholder


def inferred_output_shape(layer: Any, input_shape: Any) -> Any:
    """Return the shapes that a layer's outputs have for inputs of a shape; it is built for these.

    Shapes may be in a list, tuple or dictionary. NotImplementedError if the layer cannot be called
    on placeholders.
    """
    with FuncGraph("graph").as_default():
        inputs = _map_shapes(lambda shape: placeholder(floatx(), shape), input_shape)
        try:
            outputs = layer(inputs, **({"training": False} if layer._expects("training") else {}))
        except TypeError:
            raise NotImplementedError(
                "We could not automatically infer the static shape of the layer's output. Please "
                "implement the `compute_output_shape` method on your layer "
                f"({type(layer).__name__})."
            ) from None
    return nest.map_structure(lambda x: x.shape, outputs)


def placeholders_of_outputs(layer: Any, inputs: Any) -> Tensor:
    """Return placeholders for the outputs of a layer that only runs eagerly."""

    def made(shape: Any) -> Tensor:
        output = placeholder(layer.dtype or floatx(), shape)
        output._keras_mask = None  # type: ignore[attr-defined]
        return output

    return _map_shapes(made, layer.compute_output_shape(nest.map_structure(_shape_of, inputs)))


def _shape_of(x: Any) -> TensorShape:
    shape: TensorShape = x.shape
    return shape


def _is_shape(x: Any) -> bool:
    if isinstance(x, (list, tuple)):
        return all(size is None or isinstance(size, (int, Dimension)) for size in x)
    return x is None or isinstance(x, (int, TensorShape))


def _map_shapes(make: Any, shapes: Any) -> Any:
    """Return the results of `make` for each shape, in the structure of the shapes."""
    if _is_shape(shapes):
        return make(TensorShape(shapes))
    if isinstance(shapes, dict):
        return {key: _map_shapes(make, shape) for key, shape in shapes.items()}
    return type(shapes)(_map_shapes(make, shape) for shape in shapes)
