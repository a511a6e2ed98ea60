"""Functions and classes of 0.x whose arguments meant something else."""

from __future__ import annotations

from typing import Any

import numpy as np

import stillflow as tf
from stillflow.facade.tf0.reordered import is_scalar
from stillflow.graph.static_value import static_value


def reverse(tensor: Any, dims: Any, name: str | None = None) -> Any:
    """Reverse a tensor along the dimensions whose flag is true.

    Args:
      tensor: of any shape.
      dims: bool [rank]; also axes, as 1.x takes them.
      name: of the operation.
    """
    flags = tf.convert_to_tensor(dims)
    if flags.dtype != tf.bool:
        return tf.reverse(tensor, dims, name)
    known = static_value(flags)
    if known is None:
        return tf.raw_ops.Reverse(tensor=tensor, dims=flags, name=name)
    return tf.reverse(tensor, [int(axis) for axis in np.flatnonzero(known)], name)


def resize_images(images: Any, *args: Any, **kwargs: Any) -> Any:
    """Resize images to a size, or as until 0.10 to a height and a width.

    Args:
      images: [batch, height, width, channels] or [height, width, channels].
      *args: `size`, or `new_height` and `new_width`; then `method` and `align_corners`.
      **kwargs: the same by name.
    """
    names = ["new_height", "new_width"] if args and is_scalar(args[0]) else ["size"]
    given = dict(zip([*names, "method", "align_corners"], args, strict=False)) | kwargs
    if "new_height" in given:
        given["size"] = (given.pop("new_height"), given.pop("new_width"))
    return tf.image.resize_images(images, **given)


def get_variable(name: str, shape: Any = None, dtype: Any = None, initializer: Any = None,
                 *args: Any, **kwargs: Any) -> Any:  # fmt: skip
    """Return the variable of a name in the current scope, as `tf.get_variable` does.

    Without an initializer of its own or the scope's, a variable begins with the uniform unit
    scaling of 0.x, not with the Glorot initializer of 1.0.

    Args:
      name: within the scope.
      shape: of the variable.
      dtype: by default that of the scope.
      initializer: a function, a class of them, a tensor or None.
      *args: further arguments of `tf.get_variable`.
      **kwargs: the same by name.
    """
    scope = tf.get_variable_scope()
    is_number = tf.as_dtype(dtype or scope.dtype).is_floating
    if initializer is None and scope.initializer is None and is_number:
        initializer = tf.uniform_unit_scaling_initializer()
    return tf.get_variable(name, shape, dtype, initializer, *args, **kwargs)


def zeros_initializer(
    shape: Any = None, dtype: Any = tf.float32, partition_info: Any = None
) -> Any:
    """Return zeros of a shape; without one, or with a dtype instead, an initializer as in 1.x."""
    return _constant(tf.zeros_initializer, shape, dtype)


def ones_initializer(shape: Any = None, dtype: Any = tf.float32, partition_info: Any = None) -> Any:
    """Return ones of a shape; without one, or with a dtype instead, an initializer as in 1.x."""
    return _constant(tf.ones_initializer, shape, dtype)


def _constant(initializer: Any, shape: Any, dtype: Any) -> Any:
    if shape is None or isinstance(shape, tf.DType):
        return initializer(shape or dtype)
    return initializer(dtype)(shape)


class _WithShape(type):
    """Metaclass that adds the argument `shape`, which is `dense_shape` since 1.0."""

    real: type

    def __call__(cls, indices: Any = None, values: Any = None, shape: Any = None,
                 dense_shape: Any = None) -> Any:  # fmt: skip
        return cls.real(indices, values, shape if dense_shape is None else dense_shape)

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, cls.real)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, cls.real)

    def __getattr__(cls, name: str) -> Any:
        return getattr(cls.real, name)


class SparseTensor(metaclass=_WithShape):
    """`tf.SparseTensor` by the argument names of 0.x."""

    real = tf.SparseTensor


class SparseTensorValue(metaclass=_WithShape):
    """`tf.SparseTensorValue` by the argument names of 0.x."""

    real = tf.SparseTensorValue


class RegisterShape:
    """Decorator of shape functions in Python; the operations' own ones are used instead.

    Args:
      op_type: the type of an operation.
    """

    def __init__(self, op_type: str) -> None:
        self.op_type = op_type

    def __call__(self, function: Any) -> Any:
        return function
