"""Labeled tensors from values, from others, and from serialized examples."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow_contrib.labeled_tensor.axes import Axes, as_axis
from stillflow_contrib.labeled_tensor.core import LabeledTensor, convert_to_labeled_tensor


@export("contrib.labeled_tensor.constant")
def constant(
    value: Any, dtype: Any = None, axes: Any = None, name: str | None = None
) -> LabeledTensor:
    """Return a constant.

    Args:
      value: an array, nested lists, or a scalar, which is repeated.
      dtype: its type.
      axes: `Axes`, or names and arguments of `as_axis`.
      name: of the operation.
    """
    with tf.name_scope(name, "lt_constant", [value]) as scope:
        given = list(axes.values()) if isinstance(axes, Axes) else list(axes or [])
        shape = None
        if not any(isinstance(axis, str) for axis in given):
            given = [as_axis(axis) for axis in given]
            shape = [axis.size for axis in given]
        return LabeledTensor(tf.constant(value, dtype=dtype, shape=shape, name=scope), given)


@export("contrib.labeled_tensor.zeros_like")
def zeros_like(labeled_tensor: Any, dtype: Any = None, name: str | None = None) -> LabeledTensor:
    """Zeros of the same axes."""
    with tf.name_scope(name, "lt_zeros_like", [labeled_tensor]) as scope:
        given = convert_to_labeled_tensor(labeled_tensor)
        return LabeledTensor(tf.zeros_like(given.tensor, dtype=dtype, name=scope), given.axes)


@export("contrib.labeled_tensor.ones_like")
def ones_like(labeled_tensor: Any, dtype: Any = None, name: str | None = None) -> LabeledTensor:
    """Ones of the same axes."""
    with tf.name_scope(name, "lt_ones_like", [labeled_tensor]) as scope:
        given = convert_to_labeled_tensor(labeled_tensor)
        return LabeledTensor(tf.ones_like(given.tensor, dtype=dtype, name=scope), given.axes)


@export("contrib.labeled_tensor.cast")
def cast(labeled_tensor: Any, dtype: Any = None, name: str | None = None) -> LabeledTensor:
    """Return the same tensor in another type."""
    with tf.name_scope(name, "lt_cast", [labeled_tensor]) as scope:
        given = convert_to_labeled_tensor(labeled_tensor)
        return LabeledTensor(tf.cast(given.tensor, dtype=dtype, name=scope), given.axes)


@export("contrib.labeled_tensor.verify_tensor_all_finite")
def verify_tensor_all_finite(
    labeled_tensor: Any, message: str, name: str | None = None
) -> LabeledTensor:
    """Return the same tensor; running fails with the message if an element is not finite."""
    with tf.name_scope(name, "lt_verify_tensor_all_finite", [labeled_tensor]) as scope:
        given = convert_to_labeled_tensor(labeled_tensor)
        checked = tf.verify_tensor_all_finite(given.tensor, msg=message, name=scope)
        return LabeledTensor(checked, given.axes)


@export("contrib.labeled_tensor.placeholder")
def placeholder(dtype: Any, axes: Collection[Any], name: str | None = None) -> LabeledTensor:
    """Return a placeholder; axes are names, of unknown size, or arguments of `as_axis`."""
    with tf.name_scope(name, "lt_placeholder", []) as scope:
        given = Axes([(axis, None) if isinstance(axis, str) else axis for axis in axes])
        shape = [axis.size for axis in given.values()]
        return LabeledTensor(tf.placeholder(dtype, shape, name=scope), given)


@export("contrib.labeled_tensor.FixedLenFeature")
class FixedLenFeature:
    """Parsing of a feature of fixed length.

    Args:
      axes: the arguments of `as_axis`, of known sizes.
      dtype: its type.
      default_value: value of a missing feature.
    """

    def __init__(self, axes: Collection[Any], dtype: Any, default_value: Any = None) -> None:
        self._axes = [as_axis(axis) for axis in axes]
        self._dtype, self._default_value = dtype, default_value

    @property
    def axes(self) -> list[Any]:
        """The axes."""
        return self._axes

    @property
    def dtype(self) -> Any:
        """The type."""
        return self._dtype

    @property
    def default_value(self) -> int | list[float]:
        """The value of a missing feature."""
        return self._default_value


def _unlabeled(features: Mapping[str, FixedLenFeature]) -> dict[str, Any]:
    found = {}
    for name, feature in features.items():
        shape = [axis.size for axis in feature.axes]
        if None in shape:
            raise ValueError("axes with unknown size are not supported")
        found[name] = tf.FixedLenFeature(shape, feature.dtype, feature.default_value)
    return found


@export("contrib.labeled_tensor.parse_example")
def parse_example(
    serialized: Any, features: Mapping[str, FixedLenFeature], name: str | None = None,
    example_names: Any = None,
) -> dict[str, LabeledTensor]:  # fmt: skip
    """Parse serialized `tf.train.Example`s.

    Args:
      serialized: a labeled tensor of one axis, strings.
      features: {name: `FixedLenFeature`}.
      name: of the operation.
      example_names: names for messages.

    Returns:
      {name: labeled tensor, with the axis of `serialized` in front}.

    Raises:
      ValueError: for axes of unknown size.
    """
    given = convert_to_labeled_tensor(serialized)
    parsed = tf.parse_example(given.tensor, _unlabeled(features), name, example_names)
    return {
        key: LabeledTensor(value, [*given.axes.values(), *features[key].axes])
        for key, value in parsed.items()
    }


@export("contrib.labeled_tensor.parse_single_example")
def parse_single_example(
    serialized: Any, features: Mapping[str, FixedLenFeature], name: str | None = None,
    example_names: Any = None,
) -> dict[str, LabeledTensor]:  # fmt: skip
    """Parse one serialized `tf.train.Example`, a scalar; see `parse_example`."""
    given = convert_to_labeled_tensor(serialized)
    parsed = tf.parse_single_example(given.tensor, _unlabeled(features), name, example_names)
    return {key: LabeledTensor(value, features[key].axes) for key, value in parsed.items()}
