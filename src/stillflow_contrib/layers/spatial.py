"""Features of images by place, images as sequences, maxima of groups of channels."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.contrib.framework.argument_scope import add_arg_scope
from stillflow.contrib.framework.variables import model_variable
from stillflow.contrib.layers.formats import NCHW, NHWC, assert_images
from stillflow.contrib.layers.utils import collect_named_outputs, get_variable_collections
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import dimension_value
from stillflow.variables.initializers import Constant, Ones


def _temperature(value: Any, variables_collections: Any, trainable: bool) -> Any:
    collections = get_variable_collections(variables_collections, "temperature")
    return model_variable(
        "temperature", shape=(), dtype=tf.float32,
        initializer=Ones() if value is None else Constant(value),
        collections=collections if trainable else None, trainable=trainable,
    )  # fmt: skip


def _positions(height: Any, width: Any) -> list[Any]:
    """Coordinates of pixels from -1 to 1, as two vectors."""
    lines = [tf.lin_space(-1.0, 1.0, num=count) for count in (height, width)]
    grids = tf.meshgrid(*lines, indexing="ij")
    return [tf.reshape(grid, [height * width]) for grid in grids]


@export("contrib.layers.spatial_softmax", "contrib.slim.spatial_softmax")
@add_arg_scope
def spatial_softmax(
    features: Any,
    temperature: Any = None,
    name: Any = None,
    variables_collections: Any = None,
    trainable: bool = True,
    data_format: str = NHWC,
) -> Tensor:
    """Return the mean place of each channel, weighted by a softmax over its pixels (Finn, 2015).

    Args:
      features: [batch, height, width, channels], or as `data_format` says.
      temperature: the first value of the softmax's variable `temperature`; 1 by default.
      name: the variable scope.
      variables_collections: collections of the variable, or {name: its collections}.
      trainable: whether it is trained.
      data_format: "NHWC" or "NCHW".

    Returns:
      [batch, channels * 2].

    Raises:
      ValueError: for another order of axes; if the number of channels is not known.
    """
    with tf.variable_scope(name, "spatial_softmax"):
        shape, static_shape = tf.shape(features), features.shape
        if data_format == NHWC:
            height, width, channels = shape[1], shape[2], static_shape[3]
        elif data_format == NCHW:
            channels, height, width = static_shape[1], shape[2], shape[3]
        else:
            raise ValueError("data_format has to be either NCHW or NHWC.")
        channels = dimension_value(channels)
        if channels is None:
            raise ValueError(
                "The num_channels dimension of the inputs to `spatial_softmax` should be defined. "
                "Found `None`."
            )
        with tf.name_scope("spatial_softmax_op", "spatial_softmax_op", [features]):
            rows, columns = _positions(height, width)
            temperature = _temperature(temperature, variables_collections, trainable)
            if data_format == NHWC:
                features = tf.transpose(features, [0, 3, 1, 2])
            features = tf.reshape(features, [-1, height * width])
            attention = tf.nn.softmax(features / temperature)
            expected = [
                tf.reduce_sum(place * attention, [1], keepdims=True) for place in (rows, columns)
            ]
            keypoints = tf.reshape(tf.concat(expected, 1), [-1, channels * 2])
            keypoints.set_shape([None, channels * 2])
    return keypoints


@export("contrib.layers.images_to_sequence", "contrib.slim.images_to_sequence")
@add_arg_scope
def images_to_sequence(
    inputs: Any, data_format: str = NHWC, outputs_collections: Any = None, scope: Any = None
) -> Tensor:
    """Images as sequences of their columns' pixels.

    Args:
      inputs: [batch, height, width, channels], or as `data_format` says.
      data_format: "NHWC" or "NCHW".
      outputs_collections: collections of the outputs.
      scope: a name scope.

    Returns:
      [width, batch * height, channels].

    Raises:
      ValueError: for another order of axes.
    """
    assert_images(data_format)
    with tf.name_scope(scope, "ImagesToSequence", [inputs]) as sc:
        images = tf.convert_to_tensor(inputs)
        images = tf.transpose(images, [0, 2, 3, 1]) if data_format == NCHW else images
        width, depth = images.get_shape().as_list()[2:]
        sizes = tf.shape(images)
        outer = [sizes[axis] for axis in (0, 1)]
        by_column = tf.transpose(images, [2, 0, 1, 3])
        sequences = tf.reshape(by_column, [width, outer[0] * outer[1], depth])
        return collect_named_outputs(outputs_collections, sc, sequences)


@export("contrib.layers.sequence_to_images", "contrib.slim.sequence_to_images")
@add_arg_scope
def sequence_to_images(
    inputs: Any,
    height: int,
    output_data_format: str = "channels_last",
    outputs_collections: Any = None,
    scope: Any = None,
) -> Tensor:
    """Convert the result of `images_to_sequence` back to images.

    Args:
      inputs: [width, batch * height, channels].
      height: the height.
      output_data_format: "channels_last" or "channels_first".
      outputs_collections: collections of the outputs.
      scope: a name scope.
    """
    with tf.name_scope(scope, "SequenceToImages", [inputs]) as sc:
        inputs = tf.convert_to_tensor(inputs)
        width, rows, depth = inputs.get_shape().as_list()
        batch = -1 if rows is None else rows // height
        images = tf.reshape(inputs, [width, batch, height, depth])
        first = output_data_format == "channels_first"
        outputs = tf.transpose(images, [1, 3, 2, 0] if first else [1, 2, 0, 3])
        return collect_named_outputs(outputs_collections, sc, outputs)


@export("contrib.layers.maxout", "contrib.slim.maxout")
@add_arg_scope
def maxout(inputs: Any, num_units: int, axis: int = -1, scope: Any = None) -> Tensor:
    """Maxima of groups of features (Goodfellow, 2013).

    Args:
      inputs: a tensor.
      num_units: the number of groups.
      axis: the axis of the features.
      scope: a variable scope.

    Raises:
      ValueError: if groups do not divide the features.
    """
    with tf.variable_scope(scope, "MaxOut", [inputs]):
        inputs = tf.convert_to_tensor(inputs)
        shape = inputs.get_shape().as_list()
        features = shape[axis]
        if features % num_units:
            raise ValueError(
                f"number of features({features}) is not a multiple of num_units({num_units})"
            )
        shape[axis] = num_units
        shape.append(features // num_units)
        shape = [tf.shape(inputs)[i] if size is None else size for i, size in enumerate(shape)]
        return tf.reduce_max(tf.reshape(inputs, shape), -1, keepdims=False)
