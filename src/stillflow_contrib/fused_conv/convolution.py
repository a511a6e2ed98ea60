"""A convolution with biases, a second input and Relu, in one operation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow_contrib.ops.fused_conv import fused_conv2d_bias_activation_op


@export("contrib.fused_conv.fused_conv2d_bias_activation")
def fused_conv2d_bias_activation(
    conv_input: Any,
    filter: Any,
    bias: Any,
    strides: Sequence[int] | None = None,
    padding: str | None = None,
    conv_input_scale: Any = 1.0,
    side_input_scale: Any = 0.0,
    side_input: Any = None,
    activation_mode: str = "Relu",
    data_format: str | None = None,
    filter_format: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Relu of `conv_input_scale` * convolution + `side_input_scale` * `side_input` + `bias`.

    Args:
      conv_input: images, float32, float16 or qint8, in the order of `data_format`.
      filter: of the same type, in the order of `filter_format`.
      bias: float32 or float16 [output channels].
      strides: four numbers in the order of `data_format`; all are 1 by default.
      padding: "SAME" or "VALID".
      conv_input_scale: a float32 scalar.
      side_input_scale: a float32 scalar; 0 leaves `side_input` out.
      side_input: of the type and shape of the result.
      activation_mode: "Relu" or "None"; qint8 are kept within [0, 127] or [-128, 127].
      data_format: "NHWC", which is the default and all there is for qint8, or "NCHW".
      filter_format: "HWIO", which is the default and all there is for qint8, or "OIHW".
      name: of the operation.

    Returns:
      The images after it, of the type of `conv_input`.

    Raises:
      InvalidArgumentError: when run with another format.
      UnimplementedError: when run with strides along batches or channels.
    """
    return fused_conv2d_bias_activation_op(
        conv_input, filter, bias, [] if side_input is None else side_input, conv_input_scale,
        side_input_scale, padding=padding, strides=[1, 1, 1, 1] if strides is None else strides,
        activation_mode=activation_mode, data_format=data_format, filter_format=filter_format,
        name=name,
    )  # fmt: skip
