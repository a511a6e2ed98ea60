"""Axes with names: their sizes, or labels of their places."""

from __future__ import annotations

import collections
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.tensor_shape import Dimension

# TensorFlow's names of the types of axes, in its messages.
_AXIS_VALUE = (
    "Union(Union(numpy.ndarray, range, list, tuple), Optional(Union(tensorflow.Dimension, int)))"
)
_AXIS_LIKE = f"Union(labeled_tensor.Axis, Tuple(str, {_AXIS_VALUE}))"


class Error(TypeError):
    """An argument is of a type that is not taken."""


def check_type(value: Any, allowed: Any, what: str) -> None:
    """Raise an error for values of other types.

    Raises:
      Error: if `value` is none of them.
    """
    if not isinstance(value, allowed):
        raise Error(
            f"{value!r} of type {type(value)!r} is not an instance of the allowed type {what}"
        )


@export("contrib.labeled_tensor.Axis")
class Axis:
    """A name, and a size or labels.

    Args:
      name: the name.
      value: a size, None if it is not known, or the labels.

    Raises:
      ValueError: if a label is there twice.
      TypeError: for another value.
    """

    def __init__(self, name: str, value: Any) -> None:
        check_type(name, str, "str")
        labels = None
        if isinstance(value, tf.Dimension):
            dimension = value
        elif isinstance(value, int) or value is None:
            dimension = tf.Dimension(value)
        else:
            check_type(value, (np.ndarray, range, list, tuple), _AXIS_VALUE)
            dimension, labels = tf.Dimension(len(value)), tuple(value)
        if dimension.value == 0:
            labels = ()
        self._name, self._dimension, self._labels = name, dimension, labels
        self._index: dict[Any, int] | None = None
        if labels is not None:
            self._index = {label: place for place, label in enumerate(labels)}
            if len(self._index) != len(labels):
                raise ValueError(f"Tick labels must be unique, but got {labels}")

    @property
    def name(self) -> str:
        """The name."""
        return self._name

    @property
    def dimension(self) -> Dimension:
        """The size as a `tf.Dimension`."""
        return self._dimension

    @property
    def size(self) -> int | None:
        """The size; None if it is not known."""
        size: int | None = self._dimension.value
        return size

    @property
    def labels(self) -> tuple[Any, ...] | None:
        """The labels, if there are any."""
        return self._labels

    @property
    def value(self) -> Any:
        """The labels, or the `tf.Dimension`."""
        return self.dimension if self.labels is None else self.labels

    def index(self, value: Any) -> int:
        """Return the place of a label.

        Raises:
          ValueError: if there are no labels.
          KeyError: if there is no such label.
        """
        if self._index is None:
            raise ValueError("Axis does not have tick labels")
        return self._index[value]

    def __repr__(self) -> str:
        return f"{type(self).__name__}('{self.name}', {self.value!r})"

    def _key(self) -> tuple[Any, ...]:
        return self.name, self.size, self.labels

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Axis) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __len__(self) -> int:
        if self.size is None:
            raise ValueError(f"axis {self.name!r} has unknown length")
        return self.size


@export("contrib.labeled_tensor.as_axis")
def as_axis(axis_data: Any) -> Axis:
    """Return an `Axis` of one, or of a name with a value.

    Raises:
      TypeError: for anything else.
    """
    if isinstance(axis_data, Axis):
        return axis_data
    check_type(axis_data, tuple, _AXIS_LIKE)
    return Axis(*axis_data)


@export("contrib.labeled_tensor.Axes")
class Axes(Mapping[str, Axis]):
    """Axes in their order, by name.

    Args:
      axes: a list of arguments of `as_axis`.

    Raises:
      ValueError: if a name is there twice.
    """

    def __init__(self, axes: Sequence[Any]) -> None:
        check_type(axes, list, f"List({_AXIS_LIKE})")
        self._axes: dict[str, Axis] = collections.OrderedDict()
        for axis_data in axes:
            axis = as_axis(axis_data)
            if axis.name in self._axes:
                raise ValueError(f"Duplicate axis name: {axis.name}")
            self._axes[axis.name] = axis

    def __iter__(self) -> Iterator[str]:
        return iter(self._axes)

    def __getitem__(self, name: str) -> Axis:
        check_type(name, str, "str")
        return self._axes[name]

    def __contains__(self, name: Any) -> bool:
        return name in self._axes

    def __len__(self) -> int:
        return len(self._axes)

    def __hash__(self) -> int:
        return hash(tuple(self.items()))

    def __repr__(self) -> str:
        start = f"{type(self).__name__}(["
        return f"{start}{listed(self, len(start))}])"

    def remove(self, axis_name: str) -> Axes:
        """All axes but one.

        Raises:
          KeyError: if it is not there.
        """
        if axis_name not in self:
            raise KeyError(axis_name)
        return Axes([axis for axis in self.values() if axis.name != axis_name])


def listed(axes: Mapping[str, Axis], indent: int) -> str:
    """Return the axes, one a line."""
    each = [f"('{axis.name}', {axis.value!r})" for axis in axes.values()]
    return (",\n" + " " * indent).join(each)


def concat_axes(axes: Sequence[Axis]) -> Axis:
    """One axis behind the other: with labels if all have some.

    Raises:
      ValueError: if there is none, or they have different names.
    """
    if not axes:
        raise ValueError("axes must not be empty")
    for axis in axes:
        check_type(axis, Axis, "labeled_tensor.Axis")
    names = {axis.name for axis in axes}
    if len(names) > 1:
        raise ValueError(f"axes do not all have the same name: {names!r}")
    (name,) = names
    if all(axis.labels is not None for axis in axes):
        return Axis(name, tuple(label for axis in axes for label in axis.labels or ()))
    sizes = [axis.size for axis in axes]
    return Axis(name, None if None in sizes else sum(size or 0 for size in sizes))


def size_or_rest(axis: Axis) -> int:
    """Return the size, as `tf.reshape` takes it: -1 if it is not known."""
    return -1 if axis.size is None else axis.size
