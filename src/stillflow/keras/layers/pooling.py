"""Averages and maxima over windows, and over all places."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow.keras.backend import reductions
from stillflow.keras.backend.config import floatx
from stillflow.layers import utils
from stillflow.layers.base_layer import Layer
from stillflow.layers.input_spec import InputSpec
from stillflow.layers.signatures import with_defaults
from stillflow.layers.utils import normalize_data_format
from stillflow.ops.arrays.shape import expand_dims, squeeze
from stillflow.ops.arrays.transpose import transpose
from stillflow.ops.nn.pooling_functions import avg_pool, avg_pool3d, max_pool, max_pool3d


class _Pooling(Layer):
    """A function of windows that lie along `rank` dimensions.

    Args:
      pool_size: of the windows; one number or one per dimension.
      strides: between the windows; `pool_size` for None.
      padding: "valid" or "same".
      data_format: "channels_last" or "channels_first".
    """

    rank: int
    pool_function: Callable[..., Any]

    def __init__(
        self,
        pool_size: Any = 2,
        strides: Any = None,
        padding: str = "valid",
        data_format: str | None = "channels_last",
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        strides = pool_size if strides is None else strides
        self.pool_size = utils.normalize_tuple(pool_size, self.rank, "pool_size")
        self.strides = utils.normalize_tuple(strides, self.rank, "strides")
        self.padding = utils.normalize_padding(padding)
        self.data_format = utils.normalize_data_format(data_format)
        self.input_spec = InputSpec(ndim=self.rank + 2)

    @property
    def _channels_first(self) -> bool:
        return self.data_format == "channels_first"

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """Return the input's shape with as many windows as fit."""
        dims = TensorShape(input_shape).as_list()
        first = 2 if self._channels_first else 1
        for i in range(self.rank):
            dims[first + i] = utils.conv_output_length(
                dims[first + i], self.pool_size[i], self.padding, self.strides[i]
            )
        return TensorShape(dims)

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        return {
            **super().get_config(),
            "pool_size": self.pool_size,
            "padding": self.padding,
            "strides": self.strides,
            "data_format": self.data_format,
        }


class Pooling1D(_Pooling):
    """Pooling of sequences, as images of width 1."""

    rank = 1

    def call(self, inputs: Any) -> Tensor:
        """Return the windows' values, [batch, steps, channels] or [batch, channels, steps]."""
        axis = 3 if self._channels_first else 2
        images = expand_dims(inputs, axis)
        if self._channels_first:  # as the CPU has no kernels for that
            images = transpose(images, (0, 2, 3, 1))
        outputs = type(self).pool_function(
            images, (1, *self.pool_size, 1, 1), (1, *self.strides, 1, 1),
            padding=self.padding.upper(), data_format="NHWC",
        )  # fmt: skip
        if self._channels_first:
            outputs = transpose(outputs, (0, 3, 1, 2))
        return squeeze(outputs, axis)


class Pooling2D(_Pooling):
    """Pooling of images."""

    rank = 2

    __init__ = with_defaults(_Pooling.__init__, pool_size=(2, 2), data_format=None)

    def call(self, inputs: Any) -> Tensor:
        """Return the windows' values."""
        front, back = ((1, 1), ()) if self._channels_first else ((1,), (1,))
        return type(self).pool_function(
            inputs, ksize=front + self.pool_size + back, strides=front + self.strides + back,
            padding=self.padding.upper(),
            data_format=utils.convert_data_format(self.data_format, 4),
        )  # fmt: skip


class Pooling3D(_Pooling):
    """Pooling of volumes."""

    rank = 3

    __init__ = with_defaults(_Pooling.__init__, pool_size=(2, 2, 2), data_format=None)

    def call(self, inputs: Any) -> Tensor:
        """Return the windows' values."""
        if self._channels_first:
            inputs = transpose(inputs, (0, 2, 3, 4, 1))
        outputs = type(self).pool_function(
            inputs, ksize=(1, *self.pool_size, 1), strides=(1, *self.strides, 1),
            padding=self.padding.upper(),
        )  # fmt: skip
        return transpose(outputs, (0, 4, 1, 2, 3)) if self._channels_first else outputs


@export("keras.layers.MaxPooling1D", "keras.layers.MaxPool1D")
class MaxPooling1D(Pooling1D):
    """Maxima over windows of sequences."""

    pool_function = max_pool


@export("keras.layers.AveragePooling1D", "keras.layers.AvgPool1D")
class AveragePooling1D(Pooling1D):
    """Averages over windows of sequences."""

    pool_function = avg_pool


@export("keras.layers.MaxPooling2D", "keras.layers.MaxPool2D")
class MaxPooling2D(Pooling2D):
    """Maxima over windows of images."""

    pool_function = max_pool


@export("keras.layers.AveragePooling2D", "keras.layers.AvgPool2D")
class AveragePooling2D(Pooling2D):
    """Averages over windows of images."""

    pool_function = avg_pool


@export("keras.layers.MaxPooling3D", "keras.layers.MaxPool3D")
class MaxPooling3D(Pooling3D):
    """Maxima over windows of volumes."""

    pool_function = max_pool3d


@export("keras.layers.AveragePooling3D", "keras.layers.AvgPool3D")
class AveragePooling3D(Pooling3D):
    """Averages over windows of volumes."""

    pool_function = avg_pool3d


class _GlobalPooling(Layer):
    """A function of all places along `_rank` dimensions.

    Args:
      data_format: "channels_last" or "channels_first".
    """

    _rank: int

    def __init__(self, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.data_format = normalize_data_format(data_format)
        self.input_spec = InputSpec(ndim=self._rank + 2)

    @property
    def _axes(self) -> int | list[int]:
        first = 1 if self.data_format == "channels_last" else 2
        return first if self._rank == 1 else list(range(first, first + self._rank))

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """[batch, channels]."""
        sizes = TensorShape(input_shape).as_list()
        return TensorShape([sizes[0], sizes[-1 if self.data_format == "channels_last" else 1]])

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        return {**super().get_config(), "data_format": self.data_format}


class _GlobalAverage(_GlobalPooling):
    def call(self, inputs: Any) -> Tensor:
        """Return the averages."""
        return reductions.mean(inputs, axis=self._axes)


class _GlobalMax(_GlobalPooling):
    def call(self, inputs: Any) -> Tensor:
        """Return the maxima."""
        return reductions.max_(inputs, axis=self._axes)


@export("keras.layers.GlobalAveragePooling1D", "keras.layers.GlobalAvgPool1D")
class GlobalAveragePooling1D(_GlobalAverage):
    """The average of the steps of sequences that are not masked."""

    _rank = 1

    def __init__(self, data_format: str | None = "channels_last", **kwargs: Any) -> None:
        super().__init__(data_format, **kwargs)
        self.supports_masking = True

    def call(self, inputs: Any, mask: Any = None) -> Tensor:
        """Return the averages."""
        if mask is None:
            return super().call(inputs)
        axis = self._axes
        mask = tf.cast(mask, floatx())
        mask = tf.reshape(mask, [-1, inputs.shape.as_list()[axis], 1])
        inputs *= mask
        return reductions.sum_(inputs, axis=axis) / tf.reduce_sum(mask, axis=axis)

    def compute_mask(self, inputs: Any, mask: Any = None) -> None:
        """None."""
        return


@export("keras.layers.GlobalMaxPooling1D", "keras.layers.GlobalMaxPool1D")
class GlobalMaxPooling1D(_GlobalMax):
    """The largest of the steps of sequences."""

    _rank = 1

    def __init__(self, data_format: str | None = "channels_last", **kwargs: Any) -> None:
        super().__init__(data_format, **kwargs)


@export("keras.layers.GlobalAveragePooling2D", "keras.layers.GlobalAvgPool2D")
class GlobalAveragePooling2D(_GlobalAverage):
    """The average of the places of images."""

    _rank = 2


@export("keras.layers.GlobalMaxPooling2D", "keras.layers.GlobalMaxPool2D")
class GlobalMaxPooling2D(_GlobalMax):
    """The largest of the places of images."""

    _rank = 2


@export("keras.layers.GlobalAveragePooling3D", "keras.layers.GlobalAvgPool3D")
class GlobalAveragePooling3D(_GlobalAverage):
    """The average of the places of volumes."""

    _rank = 3


@export("keras.layers.GlobalMaxPooling3D", "keras.layers.GlobalMaxPool3D")
class GlobalMaxPooling3D(_GlobalMax):
    """The largest of the places of volumes."""

    _rank = 3
