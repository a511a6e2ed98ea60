"""The same image in another type."""

from __future__ import annotations

from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.dtypes import as_dtype
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.ops.control_flow.identity_and_group import identity
from stillflow.ops.math.binary import multiply
from stillflow.ops.math.cast import cast
from stillflow.ops.math.clip import saturate_cast
from stillflow.ops.math.division import div
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
        return identity(image, name=name)
    with name_scope(name, "convert_image", [image]) as name:
        if image.dtype.is_integer and dtype.is_integer:
            return _between_integers(image, dtype, saturate, name)
        if image.dtype.is_floating and dtype.is_floating:
            logging.warning(
                "The operation `tf.image.convert_image_dtype` will not automatically renormalize "
                "input data since input and output dtypes are both floating point formats."
            )
            return cast(image, dtype, name=name)
        if image.dtype.is_integer:
            return multiply(cast(image, dtype), 1.0 / image.dtype.max, name=name)
        # Half a step more, since casting cuts off.
        scaled = multiply(image, dtype.max + 0.5)
        return _cast(scaled, dtype, saturate, name)


def _cast(image: Any, dtype: Any, saturate: bool, name: str | None = None) -> Tensor:
    return (saturate_cast if saturate else cast)(image, dtype, name=name)


def _between_integers(image: Any, dtype: Any, saturate: bool, name: Any) -> Tensor:
    before, after = image.dtype.max, dtype.max
    if before > after:
        scaled = div(image, (before + 1) // (after + 1))
        return _cast(scaled, dtype, saturate, name)
    wide = _cast(image, dtype, saturate)
    return multiply(wide, (after + 1) // (before + 1), name=name)


def as_float(image: Any) -> Tensor:
    """Images of half and single precision as they are, others in single precision."""
    return (
        image
        if image.dtype in (dtypes.float16, dtypes.float32)
        else convert_image_dtype(image, dtypes.float32)
    )
