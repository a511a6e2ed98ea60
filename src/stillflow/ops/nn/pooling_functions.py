"""The pools of `tf.nn`, in all their spellings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.card import Card
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.ops.arrays.shape import expand_dims, squeeze
from stillflow.ops.nn.pooling import avg_pool_op, max_pool_op
from stillflow.ops.nn.pooling3d import avg_pool3d_op, max_pool3d_op
from stillflow.ops.nn.pooling_argmax import max_pool_with_argmax_op
from stillflow.ops.nn.windows import sequence
from stillflow.util.renamed import renamed_argument


def _channel(data_format: str, last: int) -> int:
    return 1 if data_format.startswith("NC") else last


def _pool(
    card: Card, scope: str, value: Any, ksize: Any, strides: Any, padding: str, data_format: Any,
    name: str | None, spatial: int, default: str, last: int | None = None,
) -> Tensor:  # fmt: skip
    """One node of `card` in a scope named after it."""
    with name_scope(name, scope, [value]) as inner:
        data_format = data_format or default
        axis = _channel(data_format, last or spatial + 1)
        ksize = sequence(ksize, spatial, axis, "ksize")
        strides = sequence(strides, spatial, axis, "strides")
        if scope == "MaxPool" and any(size == 0 for size in ksize):
            raise ValueError("ksize cannot be zero.")
        return card(
            value, ksize=ksize, strides=strides, padding=padding, data_format=data_format,
            name=inner,
        )  # fmt: skip


def image_pool(
    card: Card, scope: str, value: Any, ksize: Any, strides: Any, padding: str, data_format: Any,
    name: str | None,
) -> Tensor:  # fmt: skip
    """Return a pool over images."""
    return _pool(card, scope, value, ksize, strides, padding, data_format, name, 2, "NHWC")


def _pool1d(
    card: Card, scope: str, value: Any, ksize: Any, strides: Any, padding: str, data_format: Any,
    name: str | None,
) -> Tensor:  # fmt: skip
    """Return a pool over sequences: over images of height 1."""
    with name_scope(name, scope, [value]) as inner:
        data_format = data_format or "NWC"
        axis = _channel(data_format, 2)
        ksize = [1, *sequence(ksize, 1, axis, "ksize")]
        strides = [1, *sequence(strides, 1, axis, "strides")]
        new = 1 if data_format == "NWC" else 2
        form = "NHWC" if data_format == "NWC" else "NCHW"
        value = expand_dims(value, new)
        result = card(
            value, ksize=ksize, strides=strides, padding=padding, data_format=form, name=inner
        )
        return squeeze(result, new)


def _any_rank(
    cards: tuple[Any, Card, Card], value: Any, ksize: Any, strides: Any, padding: str,
    data_format: Any, name: str | None,
) -> Tensor:  # fmt: skip
    """Return the pool over sequences, images or volumes, by the rank of the value."""
    if value.shape is not None:
        count = len(value.shape) - 2
    elif data_format is not None:
        count = len(data_format) - 2
    else:
        raise ValueError("The input must have a rank or a data format must be given.")
    if not 1 <= count <= 3:
        raise ValueError(f"Input tensor must be of rank 3, 4 or 5 but was {count + 2}.")
    axis = count + 1 if data_format is None else _channel(data_format, count + 1)
    ksize = sequence(ksize, count, axis, "ksize")
    strides = sequence(strides, count, axis, "strides")
    return cards[count - 1](
        value, ksize=ksize, strides=strides, padding=padding, data_format=data_format, name=name
    )


@export("nn.avg_pool", "nn.avg_pool2d")
def avg_pool(
    value: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str | None = "NHWC",
    name: str | None = None,
    input: Any = None,
) -> Tensor:
    """Average over windows of images; padding does not count.

    Args:
      value: [batch, height, width, channels], or [batch, channels, height, width] under "NCHW".
      ksize, strides: one number, one each for height and width, or one per dimension.
      padding: "SAME" or "VALID".
      input: the newer name of `value`.

    Example:
      >>> x = tf.reshape(tf.range(16.0), [1, 4, 4, 1])
      >>> y = tf.nn.avg_pool(x, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID")
      >>> print(tf.Session().run(y)[0, ..., 0])
      [[ 2.5  4.5]
       [10.5 12.5]]
    """
    with name_scope(name, "AvgPool", [value]) as scope:
        value = renamed_argument("input", input, "value", value)
        return _pool(
            avg_pool_op, "AvgPool", value, ksize, strides, padding, data_format, scope, 2, "NHWC"
        )


@export("nn.max_pool")
def max_pool(
    value: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str | None = "NHWC",
    name: str | None = None,
    input: Any = None,
) -> Tensor:
    """Maxima over windows of images. Arguments are those of `avg_pool`.

    Raises:
      ValueError: if a window has size 0.

    Example:
      >>> x = tf.reshape(tf.range(16.0), [1, 4, 4, 1])
      >>> y = tf.nn.max_pool(x, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID")
      >>> print(tf.Session().run(y)[0, ..., 0])
      [[ 5.  7.]
       [13. 15.]]
    """
    value = renamed_argument("input", input, "value", value)
    return _pool(
        max_pool_op, "MaxPool", value, ksize, strides, padding, data_format, name, 2, "NHWC"
    )


@export("nn.avg_pool1d")
def avg_pool1d(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str | None = "NWC",
    name: str | None = None,
) -> Tensor:
    """Averages over windows of sequences: [batch, width, channels], or "NCW"."""
    return _pool1d(avg_pool_op, "AvgPool1D", input, ksize, strides, padding, data_format, name)


@export("nn.max_pool1d")
def max_pool1d(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str | None = "NWC",
    name: str | None = None,
) -> Tensor:
    """Maxima over windows of sequences: [batch, width, channels], or "NCW"."""
    return _pool1d(max_pool_op, "MaxPool1d", input, ksize, strides, padding, data_format, name)


@export("nn.max_pool2d")
def max_pool2d(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str | None = "NHWC",
    name: str | None = None,
) -> Tensor:
    """Maxima over windows of images. Arguments are those of `max_pool`."""
    return _pool(
        max_pool_op, "MaxPool2d", input, ksize, strides, padding, data_format, name, 2, "NHWC"
    )


@export("nn.avg_pool3d")
def avg_pool3d(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str | None = "NDHWC",
    name: str | None = None,
) -> Tensor:
    """Averages over windows of volumes: [batch, depth, height, width, channels], or "NCDHW"."""
    return _pool(  # the position of the channels is TF's, and of use only for short lists
        avg_pool3d_op, "AvgPool3D", input, ksize, strides, padding, data_format, name, 3,
        "NDHWC", last=3,
    )  # fmt: skip


@export("nn.max_pool3d")
def max_pool3d(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str | None = "NDHWC",
    name: str | None = None,
) -> Tensor:
    """Maxima over windows of volumes: [batch, depth, height, width, channels], or "NCDHW"."""
    return _pool(
        max_pool3d_op, "MaxPool3D", input, ksize, strides, padding, data_format, name, 3, "NDHWC"
    )


@export("nn.avg_pool_v2", "compat.v2.nn.avg_pool")
def avg_pool_v2(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Averages over windows of sequences, images or volumes, by the rank of `input`."""
    cards = (avg_pool1d, avg_pool_op, avg_pool3d_op)
    return _any_rank(cards, input, ksize, strides, padding, data_format, name)


@export("nn.max_pool_v2", "compat.v2.nn.max_pool")
def max_pool_v2(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str | None = None,
    name: str | None = None,
) -> Tensor:
    """Maxima over windows of sequences, images or volumes, by the rank of `input`."""
    cards = (max_pool1d, max_pool_op, max_pool3d_op)
    return _any_rank(cards, input, ksize, strides, padding, data_format, name)


@export("nn.max_pool_with_argmax")
def max_pool_with_argmax(
    input: Any,
    ksize: Sequence[int],
    strides: Sequence[int],
    padding: str,
    data_format: str = "NHWC",
    Targmax: Any = None,
    name: str | None = None,
    output_dtype: Any = None,
    include_batch_in_index: bool = False,
) -> Any:
    """Maxima over windows of images, and where they stand.

    Args:
      output_dtype, Targmax: the type of the places, int64 by default.
      include_batch_in_index: count places through the whole batch, not within each image.

    Returns:
      A named tuple (output, argmax).

    Raises:
      ValueError: for a data format other than "NHWC".
    """
    if data_format != "NHWC":
        raise ValueError("Data formats other than 'NHWC' are not yet supported")
    kind = renamed_argument("output_dtype", output_dtype, "Targmax", Targmax)
    return max_pool_with_argmax_op(
        input, ksize=ksize, strides=strides, padding=padding,
        Targmax=dtypes.int64 if kind is None else kind,
        include_batch_in_index=include_batch_in_index, name=name,
    )  # fmt: skip
