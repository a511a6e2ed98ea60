"""`tf.layers`: dense layers, dropout, flattening."""

from __future__ import annotations

from typing import Any

from stillflow.graph.export import export
from stillflow.keras.layers import core
from stillflow.layers import base
from stillflow.layers.functional import arguments, call_layer
from stillflow.util.deprecation import deprecated
from stillflow.variables.initializers import Zeros


@export("layers.Dense")
class Dense(core.Dense, base.Layer):
    """`activation(matmul(inputs, kernel) + bias)`; arguments are those of `tf.layers.dense`."""

    def __init__(
        self,
        units: Any,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = None,
        bias_initializer: Any = Zeros(),  # noqa: B008 - it has no state
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        trainable: bool = True,
        name: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**arguments(locals()))


@export("layers.dense")
@deprecated(None, "Use keras.layers.Dense instead.")
def dense(
    inputs: Any,
    units: Any,
    activation: Any = None,
    use_bias: bool = True,
    kernel_initializer: Any = None,
    bias_initializer: Any = Zeros(),  # noqa: B008 - it has no state
    kernel_regularizer: Any = None,
    bias_regularizer: Any = None,
    activity_regularizer: Any = None,
    kernel_constraint: Any = None,
    bias_constraint: Any = None,
    trainable: bool = True,
    name: Any = None,
    reuse: Any = None,
) -> Any:
    """`activation(matmul(inputs, kernel) + bias)`.

    Args:
      inputs: [..., features]; the last size must be known.
      units: the number of outputs.
      activation: a function, or None.
      use_bias: whether there is a bias.
      kernel_initializer, bias_initializer: give the first values; those of the variable scope for
        None.
      kernel_regularizer, bias_regularizer, activity_regularizer: give losses, which are added to
        the collection REGULARIZATION_LOSSES.
      kernel_constraint, bias_constraint: what optimizers project with.
      trainable: whether the variables are trained.
      name: of the variable scope; made unique if it is not given.
      reuse: whether to use the variables of a layer of that name.

    Returns:
      A tensor [..., units].

    Raises:
      ValueError: if the last size is unknown.
    """
    return call_layer(Dense, locals())


@export("layers.Dropout")
class Dropout(core.Dropout, base.Layer):
    """Dropout as a layer; arguments are those of `tf.layers.dropout`."""

    def __init__(
        self,
        rate: Any = 0.5,
        noise_shape: Any = None,
        seed: int | None = None,
        name: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**arguments(locals()))

    def call(self, inputs: Any, training: Any = False) -> Any:
        """Drop in training; else gives the inputs."""
        return super().call(inputs, training=training)


@export("layers.dropout")
@deprecated(None, "Use keras.layers.dropout instead.")
def dropout(
    inputs: Any,
    rate: Any = 0.5,
    noise_shape: Any = None,
    seed: int | None = None,
    training: Any = False,
    name: Any = None,
) -> Any:
    """Set a random part of the inputs to 0 in training, and scales up the others.

    Args:
      inputs: a tensor of floats.
      rate: the part, in [0, 1).
      noise_shape: the shape of what is drawn, None for sizes of the inputs; broadcast to them.
      seed: of the draw.
      training: a bool or a scalar tensor.
      name: of the layer.

    Returns:
      A tensor of the shape of `inputs`.
    """
    layer = Dropout(rate, noise_shape=noise_shape, seed=seed, name=name)
    return layer.apply(inputs, training=training)


@export("layers.Flatten")
class Flatten(core.Flatten, base.Layer):
    """Flatten every axis except the batch axis.

    Args:
      data_format: "channels_first" to bring channels to the end before.
    """


@export("layers.flatten")
@deprecated(None, "Use keras.layers.flatten instead.")
def flatten(inputs: Any, name: Any = None, data_format: str = "channels_last") -> Any:
    """Make all dimensions but the first one.

    Args:
      inputs: [batch, ...].
      data_format: "channels_first" to bring channels to the end before.

    Returns:
      A tensor [batch, features].
    """
    return Flatten(name=name, data_format=data_format).apply(inputs)


# Their names before TensorFlow 1.0.
FullyConnected = Dense
fully_connected = dense
