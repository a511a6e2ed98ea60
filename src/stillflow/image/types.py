"""The same image in another type."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.dtypes import as_dtype
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.platform import tf_logging as logging


@export("image.convert_image_dtype")
def convert_image_dtype(
    image: Any, dtype: Any, saturate: bool = False, name: str | None = None
) -> Tensor:
    """Return the image in another type, its values scaled.

    Floating-point images have values in [0, 1); integers use their whole positive range.

    Args:
      image: of any shape.
      dtype: a floating-point or integer type.
      saturate: whether values that do not fit become the nearest that do.
      name: of the operation.

    Raises:
      AttributeError: the type is another one.

    Example:
      >>> image = tf.constant([[[0, 51, 255]]], tf.uint8)
      >>> print(tf.Session().run(tf.image.convert_image_dtype(image, tf.float32)).round(3))
      [[[0.  0.2 1. ]]]
    """
    image = convert_to_tensor(image, name="image")
    dtype = as_dtype(dtype)
    if not dtype.is_floating and not dtype.is_integer:
        raise AttributeError("dtype must be either floating point or integer")
    if dtype == image.dtype:
        logging.warning(
            "The operation `tf.image.convert_image_dtype` will be skipped since the input and "
            "output dtypes are identical."
        )
        return tf.identity(image, name=name)
    with tf.name_scope(name, "convert_image", [image]) as name:
        if image.dtype.is_integer and dtype.is_integer:
            return _between_integers(image, dtype, saturate, name)
        if image.dtype.is_floating and dtype.is_floating:
            logging.warning(
                "The operation `tf.image.convert_image_dtype` will not automatically renormalize "
                "input data since input and output dtypes are both floating point formats."
            )
            return tf.cast(image, dtype, name=name)
        if image.dtype.is_integer:
            return tf.multiply(tf.cast(image, dtype), 1.0 / image.dtype.max, name=name)
        # Half a step more, since casting cuts off.
        scaled = tf.multiply(image, dtype.max + 0.5)
        return _cast(scaled, dtype, saturate, name)


def _cast(image: Any, dtype: Any, saturate: bool, name: str | None = None) -> Tensor:
    return (tf.saturate_cast if saturate else tf.cast)(image, dtype, name=name)


def _between_integers(image: Any, dtype: Any, saturate: bool, name: Any) -> Tensor:
    before, after = image.dtype.max, dtype.max
    if before > after:
        scaled = tf.div(image, (before + 1) // (after + 1))
        return _cast(scaled, dtype, saturate, name)
    wide = _cast(image, dtype, saturate)
    return tf.multiply(wide, (after + 1) // (before + 1), name=name)


def as_float(image: Any) -> Tensor:
    """Images of half and single precision as they are, others in single precision."""
    return (
        image if image.dtype in (tf.float16, tf.float32) else convert_image_dtype(image, tf.float32)
    )
