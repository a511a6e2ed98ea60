"""`tf.layers`: batch normalization."""

from __future__ import annotations

from typing import Any

from stillflow.graph.export import export
from stillflow.keras.layers import batch_normalization as keras_layers
from stillflow.layers import base
from stillflow.layers.functional import arguments, call_layer
from stillflow.util.deprecation import deprecated
from stillflow.variables.initializers import Ones, Zeros


@export("layers.BatchNormalization")
class BatchNormalization(keras_layers.BatchNormalization, base.Layer):
    """Batch normalization as a layer; arguments are those of `tf.layers.batch_normalization`."""

    def __init__(
        self,
        axis: Any = -1,
        momentum: Any = 0.99,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = Zeros(),  # noqa: B008 - it has no state
        gamma_initializer: Any = Ones(),  # noqa: B008
        moving_mean_initializer: Any = Zeros(),  # noqa: B008
        moving_variance_initializer: Any = Ones(),  # noqa: B008
        beta_regularizer: Any = None,
        gamma_regularizer: Any = None,
        beta_constraint: Any = None,
        gamma_constraint: Any = None,
        renorm: bool = False,
        renorm_clipping: dict[str, Any] | None = None,
        renorm_momentum: Any = 0.99,
        fused: bool | None = None,
        trainable: bool = True,
        virtual_batch_size: int | None = None,
        adjustment: Any = None,
        name: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**arguments(locals()))

    def call(self, inputs: Any, training: Any = False) -> Any:
        """Normalize; in training, add the updates of the moving averages as well."""
        return super().call(inputs, training=training)


@export("layers.batch_normalization")
@deprecated(
    None,
    "Use keras.layers.BatchNormalization instead.  In particular, "
    "`tf.control_dependencies(tf.GraphKeys.UPDATE_OPS)` should not be used (consult the "
    "`tf.keras.layers.batch_normalization` documentation).",
)
def batch_normalization(
    inputs: Any,
    axis: Any = -1,
    momentum: Any = 0.99,
    epsilon: float = 1e-3,
    center: bool = True,
    scale: bool = True,
    beta_initializer: Any = Zeros(),  # noqa: B008 - it has no state
    gamma_initializer: Any = Ones(),  # noqa: B008
    moving_mean_initializer: Any = Zeros(),  # noqa: B008
    moving_variance_initializer: Any = Ones(),  # noqa: B008
    beta_regularizer: Any = None,
    gamma_regularizer: Any = None,
    beta_constraint: Any = None,
    gamma_constraint: Any = None,
    training: Any = False,
    trainable: bool = True,
    name: Any = None,
    reuse: Any = None,
    renorm: bool = False,
    renorm_clipping: dict[str, Any] | None = None,
    renorm_momentum: Any = 0.99,
    fused: bool | None = None,
    virtual_batch_size: int | None = None,
    adjustment: Any = None,
) -> Any:
    """Normalize by the batch's mean and variance in training, else by their moving averages.

    The moving averages are updated by the operations of the collection UPDATE_OPS, which a program
    must run in each step.

    Args:
      inputs: a tensor of floats.
      axis: what is normalized by itself: one axis, the channels, or a list of axes.
      momentum: the share that moving averages keep in a step.
      epsilon: added to variances.
      center, scale: whether `beta` is added and `gamma` multiplied with.
      ..._initializer, ..._regularizer, ..._constraint: of the variables.
      training: a bool or a scalar tensor.
      trainable: whether `beta` and `gamma` are trained.
      name: of the variable scope; made unique if it is not given.
      reuse: whether to use the variables of a layer of that name.
      renorm: whether to renormalize in training by moving averages (Ioffe, 2017).
      renorm_clipping: bounds "rmin", "rmax", "dmax" of the correction.
      renorm_momentum: the share that the averages of renormalization keep.
      fused: False never to use the fused op; None and True use it where that is possible.
      virtual_batch_size: the size of parts of the batch that are normalized apart.
      adjustment: `f(shape of the inputs)` gives (scale, bias) for normalized values in training.

    Returns:
      A tensor of the shape of `inputs`.
    """
    given = dict(locals())
    return call_layer(BatchNormalization, given, training=given.pop("training"))


# Their names before TensorFlow 1.0.
BatchNorm = BatchNormalization
batch_norm = batch_normalization
