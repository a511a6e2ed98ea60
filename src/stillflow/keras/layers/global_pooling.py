"""Averages and maxima over all places."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.tensor_shape import TensorShape
from stillflow.keras.backend import reductions
from stillflow.keras.backend.config import floatx
from stillflow.layers.base_layer import Layer
from stillflow.layers.input_spec import InputSpec
from stillflow.layers.utils import normalize_data_format


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
    def _axes(self) -> Any:
        first = 1 if self.data_format == "channels_last" else 2
        return first if self._rank == 1 else list(range(first, first + self._rank))

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """[batch, channels]."""
        sizes = TensorShape(input_shape).as_list()
        return TensorShape([sizes[0], sizes[-1 if self.data_format == "channels_last" else 1]])

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {**super().get_config(), "data_format": self.data_format}


class _GlobalAverage(_GlobalPooling):
    def call(self, inputs: Any) -> Any:
        """The averages."""
        return reductions.mean(inputs, axis=self._axes)


class _GlobalMax(_GlobalPooling):
    def call(self, inputs: Any) -> Any:
        """The maxima."""
        return reductions.max_(inputs, axis=self._axes)


@export("keras.layers.GlobalAveragePooling1D", "keras.layers.GlobalAvgPool1D")
class GlobalAveragePooling1D(_GlobalAverage):
    """The average of the steps of sequences that are not masked."""

    _rank = 1

    def __init__(self, data_format: str | None = "channels_last", **kwargs: Any) -> None:
        super().__init__(data_format, **kwargs)
        self.supports_masking = True

    def call(self, inputs: Any, mask: Any = None) -> Any:
        """The averages."""
        if mask is None:
            return super().call(inputs)
        axis = self._axes
        mask = tf.cast(mask, floatx())
        mask = tf.reshape(mask, [-1, inputs.shape.as_list()[axis], 1])
        inputs *= mask
        return reductions.sum_(inputs, axis=axis) / tf.reduce_sum(mask, axis=axis)

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """None."""
        return None


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
