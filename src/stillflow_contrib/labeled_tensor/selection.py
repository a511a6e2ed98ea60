"""Parts of labeled tensors: by labels, by masks, at random."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow_contrib.labeled_tensor.axes import Axes, Axis
from stillflow_contrib.labeled_tensor.core import (
    LabeledTensor,
    convert_to_labeled_tensor,
    slice_function,
    transpose,
)


def _gathered(given: Any, places: Any, axis: Axis, name: str) -> LabeledTensor:
    """Places along one axis."""
    with tf.name_scope(name, "lt_take", [given]) as scope:
        axes = Axes([axis, *given.axes.remove(axis.name).values()])
        first = transpose(given, axes.keys())
        gathered = LabeledTensor(tf.gather(first.tensor, places), axes)
        return transpose(gathered, given.axes.keys(), name=scope)


def _labelled_axis(given: Any, name: str) -> Axis:
    if name not in given.axes:
        raise ValueError(
            f"The tensor does not have an axis named {name}. Its axes are: {given.axes.keys()!r}"
        )
    axis: Axis = given.axes[name]
    if axis.labels is None:
        raise ValueError(f"The axis named {name} does not have labels. The axis is: {axis!r}")
    return axis


def _places(axis: Axis, labels: slice) -> slice:
    """Return the slice from a label up to and including another one."""
    start = None if labels.start is None else axis.index(labels.start)
    stop = None if labels.stop is None else axis.index(labels.stop) + 1
    if labels.step is not None:
        raise NotImplementedError("slicing with a step is not yet supported")
    return slice(start, stop)


@export("contrib.labeled_tensor.select")
def select(
    labeled_tensor: Any, selection: Mapping[str, Any], name: str | None = None
) -> LabeledTensor:
    """Return a part of a tensor, by labels.

    Args:
      labeled_tensor: the tensor.
      selection: {name of an axis: a label, a slice of them (both ends included) or a list}.
      name: of the operation.

    Raises:
      ValueError: if an axis is not there, or has no labels.
      NotImplementedError: for several lists, lists with others, and slices with steps.
    """
    with tf.name_scope(name, "lt_select", [labeled_tensor]) as scope:
        given = convert_to_labeled_tensor(labeled_tensor)
        slices: dict[str, Any] = {}
        lists: dict[str, Any] = {}
        for axis_name, value in selection.items():
            axis = _labelled_axis(given, axis_name)
            if isinstance(value, slice):
                slices[axis_name] = _places(axis, value)
            elif isinstance(value, Hashable):
                slices[axis_name] = axis.index(value)
            elif isinstance(value, list):
                if lists:
                    raise NotImplementedError(
                        "select does not yet support more than one list selection at the same time"
                    )
                places = [axis.index(label) for label in value]
                lists[axis_name] = tf.convert_to_tensor(places, dtype=tf.int64)
            else:
                raise TypeError("cannot handle arbitrary types")
        if lists and slices:
            raise NotImplementedError(
                "select does not yet support combined scalar and list selection"
            )
        for axis_name, places in lists.items():
            return _gathered(given, places, Axis(axis_name, selection[axis_name]), scope)
        return slice_function(given, slices, name=scope)


@export("contrib.labeled_tensor.boolean_mask")
def boolean_mask(labeled_tensor: Any, mask: Any, name: str | None = None) -> LabeledTensor:
    """Return the rows whose mask is True, along the first axis.

    Raises:
      NotImplementedError: for masks of several axes.
      ValueError: if the mask has another axis.
    """
    with tf.name_scope(name, "lt_boolean_mask", [labeled_tensor, mask]) as scope:
        given = convert_to_labeled_tensor(labeled_tensor)
        mask = convert_to_labeled_tensor(mask)
        if len(mask.axes) > 1:
            raise NotImplementedError(
                "LabeledTensor's boolean_mask currently only supports 1D masks"
            )
        of_mask, first = next(iter(mask.axes.values())), next(iter(given.axes.values()))
        if of_mask != first:
            raise ValueError(
                "the first axis of the labeled tensor and the mask are not equal:\n"
                f"{first!r}\n{of_mask!r}"
            )
        masked = tf.boolean_mask(given.tensor, mask.tensor, name=scope)
        return LabeledTensor(masked, [first.name, *list(given.axes.values())[1:]])


@export("contrib.labeled_tensor.where")
def where(condition: Any, x: Any, y: Any, name: str | None = None) -> LabeledTensor:
    """`x` where a condition is true, and `y` elsewhere.

    Raises:
      ValueError: if axes differ.
    """
    with tf.name_scope(name, "lt_where", [condition, x, y]) as scope:
        condition, x, y = (convert_to_labeled_tensor(each) for each in (condition, x, y))
        if not condition.axes == x.axes == y.axes:
            raise ValueError("all inputs to `where` must have equal axes")
        return LabeledTensor(tf.where(condition.tensor, x.tensor, y.tensor, name=scope), x.axes)


@export("contrib.labeled_tensor.random_crop")
def random_crop(
    labeled_tensor: Any, shape_map: Mapping[str, int], seed: int | None = None,
    name: str | None = None,
) -> LabeledTensor:  # fmt: skip
    """Return a part of a tensor, anywhere.

    Args:
      labeled_tensor: the tensor.
      shape_map: {name of an axis: size}; other axes stay whole.
      seed: of the place.
      name: of the operation.

    Raises:
      ValueError: if an axis is not there.
    """
    with tf.name_scope(name, "lt_random_crop", [labeled_tensor]) as scope:
        given = convert_to_labeled_tensor(labeled_tensor)
        for each in shape_map:
            if each not in given.axes:
                raise ValueError(f"Selection axis {each} not in axes {given.axes}")
        shape = [shape_map.get(axis.name) for axis in given.axes.values()]
        axes = [
            axis if size is None else (axis.name, size)
            for axis, size in zip(given.axes.values(), shape, strict=True)
        ]
        sizes = [
            len(axis) if size is None else size
            for axis, size in zip(given.axes.values(), shape, strict=True)
        ]
        return LabeledTensor(tf.random_crop(given.tensor, sizes, seed=seed, name=scope), axes)
