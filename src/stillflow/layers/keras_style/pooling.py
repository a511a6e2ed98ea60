"""Averages and maxima over windows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.graph.export import export
from stillflow.graph.tensor_shape import TensorShape
from stillflow.layers import utils
from stillflow.layers.base_layer import Layer
from stillflow.layers.input_spec import InputSpec
from stillflow.nn.pooling import avg_pool, avg_pool3d, max_pool, max_pool3d
from stillflow.ops.arrays.shape import expand_dims, squeeze
from stillflow.ops.arrays.transpose import transpose


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
        pool_size: Any,
        strides: Any,
        padding: str,
        data_format: str | None,
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
        """The input's shape with as many windows as fit."""
        dims = TensorShape(input_shape).as_list()
        first = 2 if self._channels_first else 1
        for i in range(self.rank):
            dims[first + i] = utils.conv_output_length(
                dims[first + i], self.pool_size[i], self.padding, self.strides[i]
            )
        return TensorShape(dims)

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
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

    def __init__(
        self,
        pool_size: Any = 2,
        strides: Any = None,
        padding: str = "valid",
        data_format: str | None = "channels_last",
        **kwargs: Any,
    ) -> None:
        super().__init__(pool_size, strides, padding, data_format, **kwargs)

    def call(self, inputs: Any) -> Any:
        """The windows' values, [batch, steps, channels] or [batch, channels, steps]."""
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

    def __init__(
        self,
        pool_size: Any = (2, 2),
        strides: Any = None,
        padding: str = "valid",
        data_format: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(pool_size, strides, padding, data_format, **kwargs)

    def call(self, inputs: Any) -> Any:
        """The windows' values."""
        front, back = ((1, 1), ()) if self._channels_first else ((1,), (1,))
        return type(self).pool_function(
            inputs, ksize=front + self.pool_size + back, strides=front + self.strides + back,
            padding=self.padding.upper(),
            data_format=utils.convert_data_format(self.data_format, 4),
        )  # fmt: skip


class Pooling3D(_Pooling):
    """Pooling of volumes."""

    rank = 3

    def __init__(
        self,
        pool_size: Any = (2, 2, 2),
        strides: Any = None,
        padding: str = "valid",
        data_format: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(pool_size, strides, padding, data_format, **kwargs)

    def call(self, inputs: Any) -> Any:
        """The windows' values."""
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
