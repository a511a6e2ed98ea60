"""Layers whose weights have masks."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.operation import Tensor
from stillflow.layers import utils
from stillflow.layers.convolutional import Conv2D
from stillflow.layers.core import Dense
from stillflow.layers.input_spec import InputSpec
from stillflow_contrib.model_pruning.masks import MASKED_WEIGHT_NAME, collect


def _add_mask(layer: Any, shape: Any) -> Any:
    return layer.add_weight(
        name="mask", shape=shape, initializer=tf.ones_initializer(), trainable=False,
        dtype=layer.dtype,
    )  # fmt: skip


def _add_threshold(layer: Any) -> Any:
    return layer.add_weight(
        name="threshold", shape=[], initializer=tf.zeros_initializer(), trainable=False,
        dtype=layer.dtype,
    )  # fmt: skip


def masked_kernel(mask: Any, threshold: Any, kernel: Any) -> Tensor:
    """Return a kernel times its mask; all of them are put into collections."""
    masked = tf.multiply(mask, kernel, MASKED_WEIGHT_NAME)
    collect(mask, threshold, masked, kernel)
    return masked


class MaskedConv2D(Conv2D):
    """A convolution of images; arguments are those of `tf.layers.Conv2D`."""

    def build(self, input_shape: Any) -> None:
        """Make `mask`, `kernel`, `threshold` and `bias`."""
        channels = self._take_channels(tf.TensorShape(input_shape))
        shape = (*self.kernel_size, channels, self.filters)
        self.mask = _add_mask(self, shape)
        self.kernel = self._add_kernel(shape)
        self.threshold = _add_threshold(self)
        self.masked_kernel = masked_kernel(self.mask, self.threshold, self.kernel)
        self._add_bias()
        self.built = True

    def call(self, inputs: Any) -> Tensor:
        """Return the convolution of [batch, height, width, channels], or as `data_format` says."""
        outputs = tf.nn.convolution(
            input=inputs,
            filter=self.masked_kernel,
            dilation_rate=self.dilation_rate,
            strides=self.strides,
            padding=self.padding.upper(),
            data_format=utils.convert_data_format(self.data_format, self.rank + 2),
        )
        if self.bias is not None:
            data_format = "NCHW" if self._channels_first else "NHWC"
            outputs = tf.nn.bias_add(outputs, self.bias, data_format=data_format)
        return outputs if self.activation is None else self.activation(outputs)


class MaskedFullyConnected(Dense):
    """A dense layer; arguments are those of `tf.layers.Dense`."""

    def build(self, input_shape: Any) -> None:
        """Make `kernel`, `mask`, `threshold` and `bias`."""
        last = tf.dimension_value(tf.TensorShape(input_shape)[-1])
        if last is None:
            raise ValueError(
                "The last dimension of the inputs to `Dense` should be defined. Found `None`."
            )
        self.input_spec = InputSpec(min_ndim=2, axes={-1: last})
        shape = [last, self.units]
        self.kernel = self.add_weight(
            "kernel", shape=shape, initializer=self.kernel_initializer,
            regularizer=self.kernel_regularizer, dtype=self.dtype, trainable=True,
        )  # fmt: skip
        self.mask = _add_mask(self, shape)
        self.threshold = _add_threshold(self)
        self.masked_kernel = masked_kernel(self.mask, self.threshold, self.kernel)
        self.bias = None
        if self.use_bias:
            self.bias = self.add_weight(
                "bias", shape=[self.units], initializer=self.bias_initializer,
                regularizer=self.bias_regularizer, dtype=self.dtype, trainable=True,
            )  # fmt: skip
        self.built = True

    def call(self, inputs: Any) -> Tensor:
        """Map the last dimension of inputs of any rank."""
        inputs = tf.convert_to_tensor(inputs, dtype=self.dtype)
        shape = inputs.get_shape().as_list()
        if len(shape) > 2:
            outputs = tf.tensordot(inputs, self.masked_kernel, [[len(shape) - 1], [0]])
            outputs.set_shape([*shape[:-1], self.units])
        else:
            outputs = tf.matmul(inputs, self.masked_kernel)
        if self.use_bias:
            outputs = tf.nn.bias_add(outputs, self.bias)
        return outputs if self.activation is None else self.activation(outputs)


def add_masked_kernel(cell: Any, inputs_shape: Any) -> Tensor:
    """Return the kernel of an LSTM cell that is built, times a mask.

    Args:
      cell: the cell, with `_kernel`.
      inputs_shape: [batch, depth].

    Returns:
      A tensor of the kernel's shape.
    """
    units = cell._num_units
    cell.built = False  # variables of a built layer are those that are there
    mask = _add_mask(cell, [tf.TensorShape(inputs_shape).dims[1].value + units, 4 * units])
    threshold = _add_threshold(cell)
    cell.built = True
    return masked_kernel(mask, threshold, cell._kernel)
