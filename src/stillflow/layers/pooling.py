"""`tf.layers`: averages and maxima over windows."""

from __future__ import annotations

from typing import Any

from stillflow.graph.export import export
from stillflow.keras.layers import pooling as keras_layers
from stillflow.layers import base
from stillflow.layers.functional import layer_function


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


@export("layers.AveragePooling1D")
class AveragePooling1D(_Strided, keras_layers.AveragePooling1D, base.Layer):
    """Average pooling over windows of sequences, as a layer."""


average_pooling1d = export("layers.average_pooling1d")(
    layer_function(AveragePooling1D, "Return averages over windows of sequences.", reuse=False)
)


@export("layers.AveragePooling2D")
class AveragePooling2D(_Strided, keras_layers.AveragePooling2D, base.Layer):
    """Average pooling over windows of images, as a layer."""


average_pooling2d = export("layers.average_pooling2d")(
    layer_function(AveragePooling2D, "Return averages over windows of images.", reuse=False)
)


@export("layers.AveragePooling3D")
class AveragePooling3D(_Strided, keras_layers.AveragePooling3D, base.Layer):
    """Average pooling over windows of volumes, as a layer."""


average_pooling3d = export("layers.average_pooling3d")(
    layer_function(AveragePooling3D, "Return averages over windows of volumes.", reuse=False)
)


@export("layers.MaxPooling1D")
class MaxPooling1D(_Strided, keras_layers.MaxPooling1D, base.Layer):
    """Max pooling over windows of sequences, as a layer."""


max_pooling1d = export("layers.max_pooling1d")(
    layer_function(MaxPooling1D, "Return maxima over windows of sequences.", reuse=False)
)


@export("layers.MaxPooling2D")
class MaxPooling2D(_Strided, keras_layers.MaxPooling2D, base.Layer):
    """Max pooling over windows of images, as a layer."""


max_pooling2d = export("layers.max_pooling2d")(
    layer_function(
        MaxPooling2D,
        "Return maxima over windows of images.",
        reuse=False,
        example="""
        >>> x = tf.reshape(tf.range(16.0), [1, 4, 4, 1])
        >>> print(tf.Session().run(tf.layers.max_pooling2d(x, pool_size=2, strides=2))[0, ..., 0])
        [[ 5.  7.]
         [13. 15.]]
        """,
    )
)


@export("layers.MaxPooling3D")
class MaxPooling3D(_Strided, keras_layers.MaxPooling3D, base.Layer):
    """Max pooling over windows of volumes, as a layer."""


max_pooling3d = export("layers.max_pooling3d")(
    layer_function(MaxPooling3D, "Return maxima over windows of volumes.", reuse=False)
)

# Their shorter names, which are not public.
AvgPool2D = AveragePooling2D
MaxPool2D = MaxPooling2D
max_pool2d = max_pooling2d
avg_pool2d = average_pooling2d
