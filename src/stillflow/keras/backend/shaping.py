"""Functions that move elements, repeat them or put them together."""

from __future__ import annotations

from typing import Any

import numpy as np

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.keras.backend.config import image_data_format
from stillflow.keras.backend.session import is_sparse, to_dense

_FORMATS = ("channels_first", "channels_last")


def data_format_or_default(data_format: str | None) -> str:
    """Return the data format; Keras' default one for None, ValueError for an unknown one."""
    if data_format is None:
        return image_data_format()
    if data_format not in _FORMATS:
        raise ValueError(f"Unknown data_format: {data_format}")
    return data_format


@export("keras.backend.transpose")
def transpose(x: Any) -> Any:
    """Dimensions in reverse order."""
    return tf.transpose(x)


@export("keras.backend.gather")
def gather(reference: Any, indices: Any) -> Any:
    """Rows of a tensor by their indices."""
    return tf.gather(reference, indices)


@export("keras.backend.concatenate")
def concatenate(tensors: Any, axis: int = -1) -> Tensor:
    """Tensors after each other along an axis; sparse if all of them are."""
    if axis < 0:
        rank = tensors[0].shape.ndims
        axis = axis % rank if rank else 0
    if all(is_sparse(x) for x in tensors):
        return tf.sparse_concat(axis, tensors)
    return tf.concat([to_dense(x) for x in tensors], axis)


@export("keras.backend.reshape")
def reshape(x: Any, shape: Any) -> Any:
    """Return the elements in another shape."""
    return tf.reshape(x, shape)


@export("keras.backend.permute_dimensions")
def permute_dimensions(x: Any, pattern: Any) -> Tensor:
    """Dimensions in another order."""
    return tf.transpose(x, perm=pattern)


@export("keras.backend.resize_images")
def resize_images(
    x: Any, height_factor: int, width_factor: int, data_format: str, interpolation: str = "nearest"
) -> Tensor:
    """Images made larger by whole factors.

    Args:
      x: [batch, height, width, channels], or with channels second.
      data_format: "channels_last" or "channels_first".
      interpolation: "nearest" or "bilinear".

    Raises:
      ValueError: for another format or interpolation.
    """
    if data_format not in _FORMATS:
        raise ValueError(f"Invalid `data_format` argument: {data_format}")
    first = data_format == "channels_first"
    row = 2 if first else 1
    factors = (height_factor, width_factor)
    size = tf.shape(x)[row : row + 2]
    size *= tf.constant(np.array(factors, dtype="int32"))
    known = x.shape.as_list()[row : row + 2]
    if first:
        x = tf.transpose(x, perm=[0, 2, 3, 1])
    if interpolation not in ("nearest", "bilinear"):
        raise ValueError('interpolation should be one of "nearest" or "bilinear".')
    x = tf.compat.v2.image.resize(x, size, method=interpolation)
    sizes = [n if n is None else n * factor for n, factor in zip(known, factors, strict=True)]
    if first:
        x = tf.transpose(x, perm=[0, 3, 1, 2])
    x.set_shape([None, None, *sizes] if first else [None, *sizes, None])
    return x


@export("keras.backend.resize_volumes")
def resize_volumes(
    x: Any, depth_factor: int, height_factor: int, width_factor: int, data_format: str
) -> Any:
    """Volumes made larger by whole factors, elements repeated.

    Raises:
      ValueError: for another format than "channels_last" and "channels_first".
    """
    if data_format not in _FORMATS:
        raise ValueError(f"Invalid data_format: {data_format}")
    first = 2 if data_format == "channels_first" else 1
    for i, factor in enumerate((depth_factor, height_factor, width_factor)):
        x = repeat_elements(x, factor, axis=first + i)
    return x


@export("keras.backend.repeat_elements")
def repeat_elements(x: Any, rep: int, axis: int) -> Any:
    """Each slice along an axis `rep` times."""
    dims = x.shape.as_list()
    if dims[axis] is not None:
        parts = tf.split(value=x, num_or_size_splits=dims[axis], axis=axis)
        return concatenate([part for part in parts for _ in range(rep)], axis)
    sizes = tf.shape(x)
    repeated = tf.expand_dims(x, axis=axis + 1)
    multiples = np.ones(len(dims) + 1)
    multiples[axis + 1] = rep
    repeated = tf.tile(repeated, multiples)
    multiples = np.delete(multiples, axis + 1)
    multiples[axis] = rep
    sizes *= tf.constant(multiples, dtype="int32")
    repeated = tf.reshape(repeated, sizes)
    repeated.set_shape(dims)
    return repeated


@export("keras.backend.repeat")
def repeat(x: Any, n: int) -> Tensor:
    """[batch, features] as [batch, n, features]."""
    assert x.shape.ndims == 2
    x = tf.expand_dims(x, 1)
    return tf.tile(x, tf.stack([1, n, 1]))


@export("keras.backend.arange")
def arange(start: Any, stop: Any = None, step: Any = 1, dtype: str = "int32") -> Any:
    """Numbers from `start` to below `stop`; from 0 to below `start` without one."""
    if stop is None and start < 0:
        start = 0
    numbers = tf.range(start, limit=stop, delta=step, name="arange")
    return numbers if dtype == "int32" else tf.cast(numbers, dtype)


@export("keras.backend.tile")
def tile(x: Any, n: Any) -> Any:
    """Return the tensor repeated along its dimensions."""
    return tf.tile(x, [n] if isinstance(n, int) else n)


@export("keras.backend.flatten")
def flatten(x: Any) -> Any:
    """All elements in one dimension."""
    return tf.reshape(x, [-1])


@export("keras.backend.batch_flatten")
def batch_flatten(x: Any) -> Any:
    """Each example's elements in one dimension."""
    return tf.reshape(x, tf.stack([-1, tf.reduce_prod(tf.shape(x)[1:], None, False)]))


@export("keras.backend.expand_dims")
def expand_dims(x: Any, axis: int = -1) -> Any:
    """Return a dimension of size 1 more."""
    return tf.expand_dims(x, axis)


@export("keras.backend.squeeze")
def squeeze(x: Any, axis: int) -> Any:
    """Return a dimension of size 1 less."""
    return tf.squeeze(x, [axis])


@export("keras.backend.temporal_padding")
def temporal_padding(x: Any, padding: Any = (1, 1)) -> Tensor:
    """Sequences with zeros before and after."""
    assert len(padding) == 2
    return tf.pad(x, [[0, 0], list(padding), [0, 0]])


def _pad_space(x: Any, padding: Any, data_format: str | None) -> Tensor:
    assert all(len(side) == 2 for side in padding)
    space = [list(side) for side in padding]
    if data_format_or_default(data_format) == "channels_first":
        return tf.pad(x, [[0, 0], [0, 0], *space])
    return tf.pad(x, [[0, 0], *space, [0, 0]])


@export("keras.backend.spatial_2d_padding")
def spatial_2d_padding(
    x: Any, padding: Any = ((1, 1), (1, 1)), data_format: str | None = None
) -> Tensor:
    """Images with zeros around: ((top, bottom), (left, right))."""
    assert len(padding) == 2
    return _pad_space(x, padding, data_format)


@export("keras.backend.spatial_3d_padding")
def spatial_3d_padding(
    x: Any, padding: Any = ((1, 1), (1, 1), (1, 1)), data_format: str | None = None
) -> Tensor:
    """Volumes with zeros around."""
    assert len(padding) == 3
    return _pad_space(x, padding, data_format)


@export("keras.backend.stack")
def stack(x: Any, axis: int = 0) -> Any:
    """Tensors along a new axis."""
    return tf.stack(x, axis=axis)


@export("keras.backend.one_hot")
def one_hot(indices: Any, num_classes: int) -> Any:
    """Rows of zeros with a one at each index."""
    return tf.one_hot(indices, depth=num_classes, axis=-1)


@export("keras.backend.reverse")
def reverse(x: Any, axes: Any) -> Any:
    """Elements in reverse order along axes."""
    return tf.reverse(x, [axes] if isinstance(axes, int) else axes)


@export("keras.backend.print_tensor")
def print_tensor(x: Any, message: str = "") -> Any:
    """`x`; whenever it is computed, its value is printed after the message."""
    import sys

    with tf.control_dependencies([tf.print(message, x, output_stream=sys.stdout)]):
        return tf.identity(x)
