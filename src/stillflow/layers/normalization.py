"""`tf.layers`: batch normalization."""

from __future__ import annotations

from typing import Any

from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.keras.layers import batch_normalization as keras_layers
from stillflow.layers import base
from stillflow.layers.functional import layer_function, scoped_constructor


@export("layers.BatchNormalization")
class BatchNormalization(keras_layers.BatchNormalization, base.Layer):
    """Batch normalization as a layer; arguments are those of `tf.layers.batch_normalization`."""

    __init__ = scoped_constructor(keras_layers.BatchNormalization.__init__)

    def call(self, inputs: Any, training: Any = False) -> Tensor:
        """Normalize; in training, add the updates of the moving averages as well."""
        return super().call(inputs, training=training)


batch_normalization = export("layers.batch_normalization")(
    layer_function(
        BatchNormalization,
        """Normalize by the batch's mean and variance in training, else by their moving averages.

    The moving averages are updated by the operations of the collection UPDATE_OPS, which a program
    must run in each step.""",
        call={"training": False},
        after="gamma_constraint",
        inputs="a tensor of floats.",
        axis="one axis, the channels, or a list of axes, each of which is normalized by itself.",
        momentum="the share that moving averages keep in a step.",
        epsilon="added to variances.",
        center="whether `beta` is added.",
        scale="whether `gamma` is multiplied with.",
        training="a bool or a scalar tensor.",
        trainable="whether `beta` and `gamma` are trained.",
        renorm="whether to renormalize in training by moving averages (Ioffe, 2017).",
        renorm_clipping='bounds "rmin", "rmax", "dmax" of the correction.',
        renorm_momentum="the share that the averages of renormalization keep.",
        fused="False never to use the fused op; None and True use it where that is possible.",
        virtual_batch_size="the size of parts of the batch that are normalized apart.",
        adjustment="`f(shape of the inputs)` gives (scale, bias) of normalized values in training.",
        example="""
        >>> y = tf.layers.batch_normalization(tf.ones([8, 4]), training=True, name="norm")
        >>> [v.op.name for v in tf.global_variables()]
        ['norm/gamma', 'norm/beta', 'norm/moving_mean', 'norm/moving_variance']
        >>> len(tf.get_collection(tf.GraphKeys.UPDATE_OPS))  # run them with each training step
        2
        """,
    )
)


# Their names before TensorFlow 1.0.
BatchNorm = BatchNormalization
batch_norm = batch_normalization
