"""`tf.layers`: dense layers, dropout, flattening."""

from __future__ import annotations

from typing import Any

from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.keras.layers import core
from stillflow.layers import base
from stillflow.layers.functional import layer_function, scoped_constructor


@export("layers.Dense")
class Dense(core.Dense, base.Layer):
    """`activation(matmul(inputs, kernel) + bias)`; arguments are those of `tf.layers.dense`."""

    __init__ = scoped_constructor(core.Dense.__init__)


dense = export("layers.dense")(
    layer_function(
        Dense,
        "`activation(matmul(inputs, kernel) + bias)`.",
        inputs="[..., features]; the last size must be known.",
        example="""
        >>> y = tf.layers.dense(tf.placeholder(tf.float32, [None, 3]), units=4, name="hidden")
        >>> y.shape.as_list(), [(v.name, v.shape.as_list()) for v in tf.trainable_variables()]
        ([None, 4], [('hidden/kernel:0', [3, 4]), ('hidden/bias:0', [4])])
        """,
    )
)


@export("layers.Dropout")
class Dropout(core.Dropout, base.Layer):
    """Dropout as a layer; arguments are those of `tf.layers.dropout`."""

    __init__ = scoped_constructor(core.Dropout.__init__, "trainable", rate=0.5)

    def call(self, inputs: Any, training: Any = False) -> Tensor:
        """Drop in training; else return the inputs."""
        return super().call(inputs, training=training)


dropout = export("layers.dropout")(
    layer_function(
        Dropout,
        "Set a random part of the inputs to 0 in training, and scale up the others.",
        call={"training": False},
        reuse=False,
        inputs="a tensor of floats.",
        rate="the part, in [0, 1).",
        noise_shape="the shape of what is drawn, None for sizes of the inputs; broadcast to them.",
        seed="of the draw.",
        training="a bool or a scalar tensor.",
        example="""
        >>> kept = tf.Session().run(tf.layers.dropout(tf.ones([1000]), rate=0.75, training=True))
        >>> sorted(set(kept.tolist()))
        [0.0, 4.0]
        """,
    )
)


@export("layers.Flatten")
class Flatten(core.Flatten, base.Layer):
    """Flatten every axis except the batch axis.

    Args:
      data_format: "channels_first" to bring channels to the end before.
    """


@export("layers.flatten")
def flatten(inputs: Any, name: Any = None, data_format: str = "channels_last") -> Tensor:
    """Flatten every axis except the batch axis.

    Args:
      inputs: [batch, ...].
      data_format: "channels_first" to bring channels to the end before.

    Returns:
      A tensor [batch, features].
    """
    flat: Tensor = Flatten(name=name, data_format=data_format).apply(inputs)
    return flat


# Their names before TensorFlow 1.0.
FullyConnected = Dense
fully_connected = dense
