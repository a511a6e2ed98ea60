"""`LabeledTensor`, and operations that do not change its values."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow_contrib.labeled_tensor.axes import Axes, Axis, as_axis, check_type, listed

# Operators of Python by the names of functions of this package; those of the second group have
# a form with both sides turned round.
_UNARY = {"__abs__": "abs", "__neg__": "neg", "__invert__": "logical_not"}
_BINARY = {
    "__and__": "logical_and", "__or__": "logical_or", "__xor__": "logical_xor", "__lt__": "less",
    "__le__": "less_equal", "__gt__": "greater", "__ge__": "greater_equal",
}  # fmt: skip
_BOTH_WAYS = {
    "add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "div": "div", "mod": "mod",
    "pow": "pow",
}  # fmt: skip


def _operators(cls: Any) -> type[Any]:
    """Give a class the operators of Python."""

    def unary(name: str) -> Callable[[Any], Any]:
        return lambda self: getattr(tf.contrib.labeled_tensor, name)(self)

    def binary(name: str) -> Callable[[Any, Any], Any]:
        return lambda self, other: getattr(tf.contrib.labeled_tensor, name)(self, other)

    def turned(name: str) -> Callable[[Any, Any], Any]:
        return lambda self, other: getattr(tf.contrib.labeled_tensor, name)(other, self)

    for operator, name in _UNARY.items():
        setattr(cls, operator, unary(name))
    for operator, name in _BINARY.items():
        setattr(cls, operator, binary(name))
    for operator, name in _BOTH_WAYS.items():
        setattr(cls, f"__{operator}__", binary(name))
        setattr(cls, f"__r{operator}__", turned(name))
    return cls


@export("contrib.labeled_tensor.LabeledTensor")
@_operators
class LabeledTensor:
    """A tensor and its axes.

    Args:
      tensor: the tensor, of known rank.
      axes: `Axes`, or a collection of names and of what `as_axis` takes; names take the sizes of
        the tensor.

    Raises:
      ValueError: if there are not as many axes as dimensions, or sizes differ.
      TypeError: for values that are no tensor.
    """

    def __init__(self, tensor: Any, axes: Any) -> None:
        check_type(tensor, Tensor, "a tensor")
        shape = tensor.get_shape()
        if not isinstance(axes, Axes):
            axes = Axes([
                (axis, shape[place]) if isinstance(axis, str) else axis
                for place, axis in enumerate(axes)
            ])  # fmt: skip
        if len(shape) != len(axes):
            raise ValueError(
                f"Tensor rank was not equal to the number of axes: {shape!r}, {axes!r}"
            )
        for dimension, axis in zip(shape, axes.values(), strict=True):
            if dimension != axis.size:
                raise ValueError(
                    f"Provided axis size {axis.size:d} does not match tensor dimension size "
                    f"{dimension}in tensor {tensor!r}"
                )
        self._tensor, self._axes = tensor, axes

    def __repr__(self) -> str:
        tensor = self.tensor
        return (
            f"<{type(self).__name__} '{tensor.name}' shape={tensor.get_shape()} "
            f"dtype={tensor.dtype.name}\n axes=[{listed(self.axes, len(' axes=['))}]>"
        )

    @property
    def tensor(self) -> Any:
        """The tensor without its axes."""
        return self._tensor

    def _as_graph_element(self) -> Tensor:
        return self.tensor

    @property
    def axes(self) -> Axes:
        """The axes."""
        return self._axes

    @property
    def dtype(self) -> Any:
        """The type of its elements."""
        return self._tensor.dtype

    @property
    def shape(self) -> Any:
        """The static shape."""
        return self._tensor.shape

    @property
    def name(self) -> Any:
        """The name of the tensor."""
        return self._tensor.name

    def get_shape(self) -> Any:
        """Return the static shape."""
        return self._tensor.get_shape()

    def __getitem__(self, key: Any) -> LabeledTensor:
        keys = key if isinstance(key, tuple) else (key,)
        if len(keys) != len(self.axes):
            raise ValueError(
                f"indexer {keys!r} must have the same length as the Tensor rank "
                f"({len(self.axes)!r})"
            )
        return slice_function(self, dict(zip(self.axes, keys, strict=True)))

    def __pos__(self) -> LabeledTensor:
        return self

    def __eq__(self, other: Any) -> bool:
        if not isinstance(other, LabeledTensor):
            return False
        return self.tensor is other.tensor and self.axes == other.axes

    def __hash__(self) -> int:
        return hash((id(self.tensor), self.axes))


def _converted(value: Any, dtype: Any = None, name: Any = None, as_ref: bool = False) -> Any:
    return tf.convert_to_tensor(value.tensor, dtype=dtype, name=name)


tf.register_tensor_conversion_function(LabeledTensor, _converted)


@export("contrib.labeled_tensor.convert_to_labeled_tensor")
def convert_to_labeled_tensor(
    value: Any, dtype: Any = None, name: str | None = None
) -> LabeledTensor:
    """Return a `LabeledTensor` of one, or of a scalar.

    Args:
      value: a labeled tensor, or a scalar: a tensor, an array, a number or text.
      dtype: of its elements.
      name: of the operation.

    Raises:
      ValueError: for what has dimensions without names.
    """
    axes: list[Axis] = []
    if isinstance(value, LabeledTensor):
        axes, value = list(value.axes.values()), value.tensor
    else:
        check_type(
            value, (Tensor, np.ndarray, np.generic, int, float, complex, bytes, str), "a tensor"
        )
    tensor: Any = tf.convert_to_tensor(value, dtype=dtype, name=name)
    if len(tensor.get_shape()) != len(axes):
        raise ValueError(
            "cannot automatically convert unlabeled arrays or tensors with rank>0 into "
            f"LabeledTensors: {value!r}"
        )
    return LabeledTensor(tensor, axes)


@export("contrib.labeled_tensor.identity")
def identity(labeled_tensor: Any, name: str | None = None) -> LabeledTensor:
    """Return the same values and axes, by an operation of its own."""
    with tf.name_scope(name, "lt_identity", [labeled_tensor]) as scope:
        given = convert_to_labeled_tensor(labeled_tensor)
        return LabeledTensor(tf.identity(given.tensor, name=scope), given.axes)


@export("contrib.labeled_tensor.slice")
def slice_function(
    labeled_tensor: Any, selection: Mapping[str, Any], name: str | None = None
) -> LabeledTensor:
    """Return a part of a tensor, by places.

    Args:
      labeled_tensor: the tensor.
      selection: {name of an axis: place or slice of Python}; other axes stay whole.
      name: of the operation.
    """
    with tf.name_scope(name, "lt_slice", [labeled_tensor]) as scope:
        given = convert_to_labeled_tensor(labeled_tensor)
        slices = [selection.get(axis, slice(None)) for axis in given.axes]
        for place in slices:
            check_type(place, (int, slice), "int or slice")
        sliced = given.tensor[tuple(slices)]
        axes: list[Any] = []
        for axis, place in zip(given.axes.values(), slices, strict=True):
            if isinstance(place, slice):
                labels = axis.labels
                axes.append(axis.name if labels is None else (axis.name, labels[place]))
        return LabeledTensor(tf.identity(sliced, name=scope), axes)


@export("contrib.labeled_tensor.transpose")
def transpose(
    labeled_tensor: Any, axis_order: Collection[str] | None = None, name: str | None = None
) -> LabeledTensor:
    """Return the same tensor with its axes in another order, turned round by default.

    Raises:
      ValueError: if names are missing or superfluous.
    """
    with tf.name_scope(name, "lt_transpose", [labeled_tensor]) as scope:
        given = convert_to_labeled_tensor(labeled_tensor)
        names = list(given.axes)
        if axis_order is None:
            axis_order = names[::-1]
        elif sorted(axis_order) != sorted(names):
            raise ValueError(
                "The new axis order must have the same names as the original axes, but the new "
                f"order is {axis_order!r} while the original order is {names!r}"
            )
        permutation = [names.index(each) for each in axis_order]
        turned = tf.transpose(given.tensor, permutation, name=scope)
        return LabeledTensor(turned, [given.axes[each] for each in axis_order])


@export("contrib.labeled_tensor.expand_dims")
def expand_dims(
    labeled_tensor: Any, axes: Collection[Any], name: str | None = None
) -> LabeledTensor:
    """Return the same tensor with more axes of size 1.

    Args:
      labeled_tensor: the tensor.
      axes: names of all axes in their order; new ones may be (name, label).
      name: of the operation.

    Raises:
      AxisOrderError: if the old ones are in another order.
    """
    from stillflow_contrib.labeled_tensor.axis_order import check_axis_order

    with tf.name_scope(name, "lt_expand_dims", [labeled_tensor]) as scope:
        given = convert_to_labeled_tensor(labeled_tensor)
        check_axis_order(given, [each if isinstance(each, str) else each[0] for each in axes])
        new_axes: list[Any] = []
        shape = []
        for each in axes:
            if each in given.axes:
                axis = given.axes[each]
                new_axes.append(axis)
                shape.append(-1 if axis.size is None else axis.size)
            else:
                new_axes.append((each, 1) if isinstance(each, str) else (each[0], (each[1],)))
                shape.append(1)
        return LabeledTensor(tf.reshape(given.tensor, shape, name=scope), new_axes)


def name_of(axis: Any) -> str:
    """Return the name of an axis, of a pair or of a name."""
    return axis if isinstance(axis, str) else as_axis(axis).name
