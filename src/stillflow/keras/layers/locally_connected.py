"""Layers like convolutions whose kernel differs from place to place.

There are three ways to compute one: (1) a product for each place, (2) a product with a matrix from
all inputs to all outputs that is zero where they do not touch, (3) the same with a sparse matrix.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow.keras.backend.bias import bias_add
from stillflow.keras.backend.local_convolution import local_conv
from stillflow.keras.layers.convolutional import Conv
from stillflow.keras.utils.convolutions import conv_kernel_mask
from stillflow.layers import utils
from stillflow.layers.input_spec import InputSpec
from stillflow.layers.signatures import with_defaults


class LocallyConnected(Conv):
    """Base of the layers below.

    Args:
      implementation: 1, 2 or 3, for the three ways to compute the output.
      others: see `Conv`; there is no dilation.
    """

    # the check below rejects it, like every other padding that an implementation does not have
    takes_causal = True

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str | None = None,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        implementation: int = 1,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            filters, kernel_size, strides, padding, data_format, 1, activation, use_bias,
            kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer,
            activity_regularizer, kernel_constraint, bias_constraint, **kwargs,
        )  # fmt: skip
        if self.padding != "valid" and implementation == 1:
            raise ValueError(
                f"Invalid border mode for {type(self).__name__} "
                f'(only "valid" is supported if implementation is 1): {padding}'
            )
        self.implementation = implementation

    def _with_channels(self, sizes: Any, channels: Any) -> tuple[Any, ...]:
        return (channels, *sizes) if self._channels_first else (*sizes, channels)

    def _check(self, shape: tuple[Any, ...], sizes: tuple[Any, ...], channels: Any) -> None:
        """Raise an error for inputs of unknown sizes."""
        raise NotImplementedError

    def build(self, input_shape: Any) -> None:
        """Make `kernel`, and `bias` [output sizes ..., filters]."""
        shape = tuple(TensorShape(input_shape).as_list())
        sizes, channels = (
            (shape[2:], shape[1]) if self._channels_first else (shape[1:-1], shape[-1])
        )
        self._check(shape, sizes, channels)
        outputs = tuple(
            utils.conv_output_length(length, kernel, self.padding, stride)
            for length, kernel, stride in zip(sizes, self.kernel_size, self.strides, strict=True)
        )
        self._sizes: tuple[Any, ...] = sizes
        self._output_sizes: tuple[Any, ...] = outputs
        if self.implementation not in (1, 2, 3):
            raise ValueError(f"Unrecognized implementation mode: {self.implementation}.")
        weights = getattr(self, f"_shape_{self.implementation}")(channels)
        self.kernel = self._add_kernel(weights)
        if self.implementation == 2:
            self.kernel_mask = self._mask()
        self.bias = self._add_kernel((*outputs, self.filters), "bias") if self.use_bias else None
        self.input_spec = InputSpec(ndim=self.rank + 2, axes={self._channel_axis: channels})
        self.built = True

    kernel_shape: tuple[Any, ...]

    def _shape_1(self, channels: int) -> tuple[Any, ...]:
        self.kernel_shape = (
            math.prod(self._output_sizes), math.prod(self.kernel_size) * channels, self.filters,
        )  # fmt: skip
        return self.kernel_shape

    def _shape_2(self, channels: int) -> tuple[Any, ...]:
        outputs = self._with_channels(self._output_sizes, self.filters)
        self.kernel_shape = (*self._with_channels(self._sizes, channels), *outputs)
        return self.kernel_shape

    def _shape_3(self, channels: int) -> tuple[Any, ...]:
        inputs, outputs = math.prod(self._sizes), math.prod(self._output_sizes)
        self.kernel_shape = (outputs * self.filters, inputs * channels)
        full = (
            *self._with_channels(self._sizes, channels),
            *self._with_channels(self._output_sizes, self.filters),
        )
        matrix = np.broadcast_to(self._mask(), full).reshape(self.kernel_shape[::-1])
        self.kernel_idxs = np.argwhere(matrix.T)
        return (len(self.kernel_idxs),)

    def _mask(self) -> np.ndarray[Any, Any]:
        """Return True where the kernel of implementation 2 is not zero."""
        found = conv_kernel_mask(self._sizes, self.kernel_size, self.strides, self.padding)
        channel = 0 if self._channels_first else self.rank
        last = self.rank + 1 if self._channels_first else 2 * self.rank + 1
        return np.expand_dims(np.expand_dims(found, channel), last)

    def call(self, inputs: Any) -> Tensor:
        """Return the output for [batch, sizes ..., channels] or [batch, channels, sizes ...]."""
        if self.implementation == 1:
            y = local_conv(
                inputs, self.kernel, self.kernel_size, self.strides, self._output_sizes,
                self.data_format,
            )  # fmt: skip
        else:
            x = tf.reshape(inputs, (tf.shape(inputs)[0], -1))
            flat = self._product(x) if self.implementation == 2 else self._sparse_product(x)
            sizes = self._with_channels(self._output_sizes, self.filters)
            y = tf.reshape(flat, [tf.shape(flat)[0], *sizes])
        if self.use_bias:
            y = bias_add(y, self.bias, data_format=self.data_format)
        return self.activation(y)

    def _product(self, x: Any) -> Tensor:
        kernel = self.kernel_mask * self.kernel
        shape, half = tf.shape(kernel), kernel.shape.ndims // 2
        ends = [tf.reduce_prod(sizes) for sizes in (shape[:half], shape[half:])]
        return tf.sparse_matmul(x, tf.reshape(kernel, ends), b_is_sparse=True)

    def _sparse_product(self, x: Any) -> Tensor:
        y = tf.raw_ops.SparseTensorDenseMatMul(
            a_indices=self.kernel_idxs, a_values=self.kernel, a_shape=self.kernel_shape, b=x,
            adjoint_b=True,
        )  # fmt: skip
        return tf.transpose(y)

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        config = {**super().get_config(), "implementation": self.implementation}
        del config["dilation_rate"]
        return config


@export("keras.layers.LocallyConnected1D")
class LocallyConnected1D(LocallyConnected):
    """A convolution of sequences with a kernel of its own for each place.

    Args:
      filters, kernel_size and so on: see `Conv1D`.
      implementation: 1 for a product for each place, 2 for one with a matrix of all places, 3 for
        one with a sparse matrix; all give the same.

    Raises:
      ValueError: if the padding is not "valid" and `implementation` is 1.
    """

    rank = 1

    def _check(self, shape: tuple[Any, ...], sizes: tuple[Any, ...], channels: Any) -> None:
        if channels is None:
            raise ValueError("Axis 2 of input should be fully-defined. Found shape:", shape)


@export("keras.layers.LocallyConnected2D")
class LocallyConnected2D(LocallyConnected):
    """A convolution of images with a kernel of its own for each place.

    Args:
      filters, kernel_size and so on: see `Conv2D`.
      implementation: 1 for a product for each place, 2 for one with a matrix of all places, 3 for
        one with a sparse matrix; all give the same.

    Raises:
      ValueError: if the padding is not "valid" and `implementation` is 1.
    """

    rank = 2
    __init__ = with_defaults(LocallyConnected.__init__, strides=(1, 1))

    def _check(self, shape: tuple[Any, ...], sizes: tuple[Any, ...], channels: Any) -> None:
        if None in sizes:
            raise ValueError(
                "The spatial dimensions of the inputs to  a LocallyConnected2D layer should be "
                f"fully-defined, but layer received the inputs shape {shape}"
            )
