"""Kernels, strides and paddings of nodes, read from GraphDefs."""

from __future__ import annotations

from typing import Any, NamedTuple

import stillflow as tf
from stillflow.graph.arrays import Array
from stillflow.platform import tf_logging

# Each output of these sees one place of the input.
_POINTWISE = frozenset([
    "Add", "AddV2", "BiasAdd", "Cast", "Ceil", "ConcatV2", "Const", "Floor", "FusedBatchNorm",
    "GreaterEqual", "Identity", "LRN", "Log", "Mul", "Pow", "RealDiv", "Relu", "Relu6", "Round",
    "Rsqrt", "Softplus", "Sub", "VariableV2",
])  # fmt: skip
_CONVOLUTIONS = ("Conv2D", "DepthwiseConv2dNative")
_POOLINGS = ("MaxPool", "MaxPoolV2", "AvgPool")


class LayerParameters(NamedTuple):
    """Geometry of a layer along both axes; None where it is unknown."""

    kernel_size_x: Any
    kernel_size_y: Any
    stride_x: Any
    stride_y: Any
    padding_x: Any
    padding_y: Any
    total_padding_x: Any
    total_padding_y: Any


def _array(node: Any) -> Array:
    return tf.make_ndarray(node.attr["value"].tensor)


def _input(node: Any, index: int, ending: str, message: str, nodes: dict[str, Any]) -> Any:
    """Return the node of an input, whose name has to end as TensorFlow's layers name it."""
    name = node.input[index]
    if not name.endswith(ending):
        raise ValueError(message)
    return nodes[name]


def _strides(node: Any, nodes: dict[str, Any]) -> tuple[Any, Any]:
    """Along x and y."""
    if node.op == "MaxPoolV2":
        message = "Strides name does not end with '/strides'"
        strides = _array(_input(node, 2, "/strides", message, nodes))
    else:
        strides = node.attr["strides"].list.i
    return strides[2], strides[1]


def _convolution_kernel(node: Any, nodes: dict[str, Any]) -> tuple[int, int]:
    """Return the size of the weights, along x and y."""
    name, suffix, rest = node.input[1].rpartition("/read")
    if rest or not suffix:
        raise ValueError("Weight layer's name input to conv layer does not end with '/read'")
    weights = nodes[name]
    shapes = {
        "VariableV2": lambda attr: attr["shape"].shape,
        "Const": lambda attr: attr["value"].tensor.tensor_shape,
    }
    if weights.op not in shapes:
        raise ValueError(f"Weight layer {name} is not of type VariableV2 or Const: {weights.op}")
    sizes = [dim.size for dim in shapes[weights.op](weights.attr).dim]
    if len(sizes) != 4:
        raise ValueError(f"Weight layer {name} does not have rank 4. Instead, it has: {len(sizes)}")
    return sizes[1], sizes[0]


def _pooling_window(node: Any, nodes: dict[str, Any]) -> tuple[Any, Any]:
    """Along x and y."""
    if node.op == "MaxPoolV2":
        message = "Kernel size name does not end with '/ksize'"
        sizes = _array(_input(node, 1, "/ksize", message, nodes))
    else:
        sizes = node.attr["ksize"].list.i
    for index, which in ((0, "first"), (3, "last")):
        if sizes[index] != 1:
            raise ValueError(f"pool ksize for {which} dim is not 1")
    return sizes[2], sizes[1]


def _same_padding(kernel: int, stride: int, resolution: int | None) -> tuple[Any, Any]:
    """Return the padding of both sides together, and of the first, along one axis."""
    if resolution is not None:
        rest = resolution % stride or stride
        total = int(max(float(kernel - rest), 0.0))
        return total, total // 2
    if kernel == 1:
        return 0, 0
    if stride == 1:
        return kernel - 1, (kernel - 1) // 2
    if stride == 2 and kernel % 2 == 0:
        return None, (kernel - 1) // 2
    tf_logging.warning(
        "Padding depends on input size, which means that the effective padding may be different "
        "depending on the input image dimensionality. In this case, alignment check will be "
        "skipped. If you know the input resolution, please set it."
    )
    return None, None


def _padding(node: Any, kernel: int, stride: int, resolution: int | None) -> tuple[Any, Any]:
    kind = node.attr["padding"].s
    if kind == b"VALID":
        return 0, 0
    if kind == b"SAME":
        return _same_padding(kernel, stride, resolution)
    raise ValueError(f"Invalid padding operation {kind}")


def _explicit_padding(node: Any, nodes: dict[str, Any]) -> LayerParameters:
    """Return the geometry of a Pad node."""
    paddings_node = _input(
        node, 1, "/paddings", "Padding layer name does not end with '/paddings'", nodes
    )
    if paddings_node.op != "Const":
        raise ValueError("Padding op is not Const")
    paddings = _array(paddings_node)
    for index, which in ((0, "first"), (3, "last")):
        if paddings[index].any():
            raise ValueError(f"padding is not zero for {which} tensor dim")
    return LayerParameters(
        1, 1, 1, 1, paddings[2][0], paddings[1][0], paddings[2].sum(), paddings[1].sum()
    )


def get_layer_params(
    node: Any, name_to_node: dict[str, Any], input_resolution: Any = None, force: bool = False
) -> LayerParameters:
    """Return the geometry of a node along both axes.

    Args:
      node: a NodeDef.
      name_to_node: all nodes by name.
      input_resolution: height and width of its input, if they are known.
      force: whether all is None for operations that are not known.

    Returns:
      Kernels, strides, paddings before the first pixel, and those of both sides together.

    Raises:
      ValueError: for an operation that is not known, or nodes that are named otherwise.
    """
    if node.op in _POINTWISE:
        return LayerParameters(1, 1, 1, 1, 0, 0, 0, 0)
    if node.op == "Pad":
        return _explicit_padding(node, name_to_node)
    if node.op in (*_CONVOLUTIONS, *_POOLINGS):
        stride_x, stride_y = _strides(node, name_to_node)
        kernel_of: Any = _convolution_kernel if node.op in _CONVOLUTIONS else _pooling_window
        kernel_x, kernel_y = kernel_of(node, name_to_node)
        height, width = (None, None) if input_resolution is None else input_resolution[:2]
        total_x, x = _padding(node, kernel_x, stride_x, width)
        total_y, y = _padding(node, kernel_y, stride_y, height)
        return LayerParameters(kernel_x, kernel_y, stride_x, stride_y, x, y, total_x, total_y)
    if force:
        return LayerParameters(None, None, None, None, None, None, None, None)
    raise ValueError(f"Unknown layer for operation '{node.name}': {node.op}")
