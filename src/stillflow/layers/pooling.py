"""`tf.layers`: averages and maxima over windows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.graph.export import export
from stillflow.keras.layers import pooling as keras_layers
from stillflow.layers import base
from stillflow.util.deprecation import deprecated


class _Strided:
    """The constructor of pooling layers, which must be told their strides."""

    def __init__(
        self,
        pool_size: Any,
        strides: Any,
        padding: str = "valid",
        data_format: str = "channels_last",
        name: Any = None,
        **kwargs: Any,
    ) -> None:
        if strides is None:
            raise ValueError("Argument `strides` must not be None.")
        super().__init__(  # type: ignore[call-arg]
            pool_size=pool_size, strides=strides, padding=padding, data_format=data_format,
            name=name, **kwargs,
        )  # fmt: skip


def _function(kind: Any, name: str, what: str) -> Callable[..., Any]:
    """Return the function that makes a layer of `kind` and calls it."""

    def pool(
        inputs: Any,
        pool_size: Any,
        strides: Any,
        padding: str = "valid",
        data_format: str = "channels_last",
        name: Any = None,
    ) -> Any:
        layer = kind(
            pool_size=pool_size, strides=strides, padding=padding, data_format=data_format,
            name=name,
        )  # fmt: skip
        return layer.apply(inputs)

    pool.__name__ = pool.__qualname__ = name
    pool.__doc__ = f"""{what}.

    Args:
      inputs: [batch, sizes ..., channels], or [batch, channels, sizes ...] under "channels_first".
      pool_size: of the windows; one number or one per dimension.
      strides: between the windows; one number or one per dimension.
      padding: "valid" or "same".
      data_format: "channels_last" or "channels_first".
      name: of the layer.

    Returns:
      A tensor of the same rank.
    """
    notice = f"Use keras.layers.{kind.__name__} instead."
    return deprecated(None, notice)(pool)  # type: ignore[no-any-return]


@export("layers.AveragePooling1D")
class AveragePooling1D(_Strided, keras_layers.AveragePooling1D, base.Layer):
    """Averages over windows of sequences, as a layer."""


average_pooling1d = export("layers.average_pooling1d")(
    _function(AveragePooling1D, "average_pooling1d", "Averages over windows of sequences")
)


@export("layers.AveragePooling2D")
class AveragePooling2D(_Strided, keras_layers.AveragePooling2D, base.Layer):
    """Averages over windows of images, as a layer."""


average_pooling2d = export("layers.average_pooling2d")(
    _function(AveragePooling2D, "average_pooling2d", "Averages over windows of images")
)


@export("layers.AveragePooling3D")
class AveragePooling3D(_Strided, keras_layers.AveragePooling3D, base.Layer):
    """Averages over windows of volumes, as a layer."""


average_pooling3d = export("layers.average_pooling3d")(
    _function(AveragePooling3D, "average_pooling3d", "Averages over windows of volumes")
)


@export("layers.MaxPooling1D")
class MaxPooling1D(_Strided, keras_layers.MaxPooling1D, base.Layer):
    """Maxima over windows of sequences, as a layer."""


max_pooling1d = export("layers.max_pooling1d")(
    _function(MaxPooling1D, "max_pooling1d", "Maxima over windows of sequences")
)


@export("layers.MaxPooling2D")
class MaxPooling2D(_Strided, keras_layers.MaxPooling2D, base.Layer):
    """Maxima over windows of images, as a layer."""


max_pooling2d = export("layers.max_pooling2d")(
    _function(MaxPooling2D, "max_pooling2d", "Maxima over windows of images")
)


@export("layers.MaxPooling3D")
class MaxPooling3D(_Strided, keras_layers.MaxPooling3D, base.Layer):
    """Maxima over windows of volumes, as a layer."""


max_pooling3d = export("layers.max_pooling3d")(
    _function(MaxPooling3D, "max_pooling3d", "Maxima over windows of volumes")
)

# Their shorter names, which are not public.
AvgPool2D = AveragePooling2D
MaxPool2D = MaxPooling2D
max_pool2d = max_pooling2d
avg_pool2d = average_pooling2d
