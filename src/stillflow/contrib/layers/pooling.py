"""Pooling."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.contrib.framework.argument_scope import add_arg_scope
from stillflow.contrib.layers.formats import (
    NDHWC,
    NHWC,
    assert_images,
    assert_volumes,
    keras_format,
)
from stillflow.contrib.layers.utils import collect_named_outputs, n_positive_integers
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.layers import pooling
from stillflow.layers.signatures import with_fixed


def _pool(
    inputs: Any,
    kernel_size: Any,
    stride: Any = 2,
    padding: str = "VALID",
    data_format: str = NHWC,
    outputs_collections: Any = None,
    scope: Any = None,
    kind: Any = None,
) -> Tensor:
    """Apply a layer of `tf.layers` of a kind with the arguments of the functions below."""
    (assert_images if kind.rank == 2 else assert_volumes)(data_format)
    default_name = kind.__name__.replace("Average", "Avg").replace("Pooling", "Pool")
    with tf.name_scope(scope, default_name, [inputs]) as sc:
        layer = kind(
            pool_size=kernel_size, strides=stride, padding=padding,
            data_format=keras_format(data_format), _scope=sc,
        )  # fmt: skip
        outputs = layer.apply(tf.convert_to_tensor(inputs))
        return collect_named_outputs(outputs_collections, sc, outputs)


_DOC = """{} of windows of {}.

    Args:
      inputs: [batch, sizes ..., channels], or as `data_format` says.
      kernel_size, stride: of the windows: one integer, or one for each axis.
      padding: "VALID" or "SAME".
      data_format: "NHWC" or "NCHW" for images, "NDHWC" or "NCDHW" for volumes.
      outputs_collections: collections of the outputs.
      scope: a name scope.

    Raises:
      ValueError: for another order of axes.
    {}"""
_MAXIMA_EXAMPLE = """
    Example:
      >>> tf.contrib.slim.max_pool2d(tf.ones([2, 8, 8, 3]), [2, 2], scope="pool")
      <tf.Tensor 'pool/MaxPool:0' shape=(2, 4, 4, 3) dtype=float32>
    """

avg_pool2d = export("contrib.layers.avg_pool2d", "contrib.slim.avg_pool2d")(
    add_arg_scope(
        with_fixed(
            _pool, "avg_pool2d", _DOC.format("Means", "images", ""), kind=pooling.AveragePooling2D
        )
    )
)


avg_pool3d = export("contrib.layers.avg_pool3d", "contrib.slim.avg_pool3d")(
    add_arg_scope(
        with_fixed(
            _pool,
            "avg_pool3d",
            _DOC.format("Means", "volumes", ""),
            {"data_format": NDHWC},
            kind=pooling.AveragePooling3D,
        )
    )
)


max_pool2d = export("contrib.layers.max_pool2d", "contrib.slim.max_pool2d")(
    add_arg_scope(
        with_fixed(
            _pool,
            "max_pool2d",
            _DOC.format("Maxima", "images", _MAXIMA_EXAMPLE),
            kind=pooling.MaxPooling2D,
        )
    )
)


max_pool3d = export("contrib.layers.max_pool3d", "contrib.slim.max_pool3d")(
    add_arg_scope(
        with_fixed(
            _pool,
            "max_pool3d",
            _DOC.format("Maxima", "volumes", ""),
            {"data_format": NDHWC},
            kind=pooling.MaxPooling3D,
        )
    )
)


@export("contrib.slim.pool")
@add_arg_scope
def pool(
    inputs: Any,
    kernel_size: Any,
    pooling_type: str,
    padding: str = "VALID",
    data_format: str | None = None,
    dilation_rate: Any = 1,
    stride: Any = 1,
    outputs_collections: Any = None,
    scope: Any = None,
) -> Tensor:
    """Pooling over any number of axes, as `tf.nn.pool` does it.

    Args:
      inputs: [batch, ..., channels], or as `data_format` says.
      kernel_size, dilation_rate, stride: of the windows: one integer, or one for each axis.
      pooling_type: "MAX" or "AVG".
      padding: "VALID" or "SAME".
      data_format: as of `tf.nn.pool`.
      outputs_collections: collections of the outputs.
      scope: a name scope.

    Raises:
      ValueError: if the rank is not known or less than 3.
    """
    with tf.name_scope(scope, f"{pooling_type.lower()}_pool", [inputs]) as sc:
        inputs = tf.convert_to_tensor(inputs)
        rank = inputs.get_shape().ndims
        if rank is None:
            raise ValueError("Rank of inputs must be known")
        if rank < 3:
            raise ValueError("Rank of inputs must be >= 3")
        output = tf.nn.pool(
            input=inputs, window_shape=n_positive_integers(rank - 2, kernel_size),
            pooling_type=pooling_type, padding=padding, data_format=data_format,
            dilation_rate=n_positive_integers(rank - 2, dilation_rate),
            strides=n_positive_integers(rank - 2, stride), name=sc,
        )  # fmt: skip
        return collect_named_outputs(outputs_collections, sc, output)
