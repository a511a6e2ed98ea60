"""The order that axes have to be in, and tensors brought to the same axes."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow_contrib.labeled_tensor.axes import Axes
from stillflow_contrib.labeled_tensor.core import (
    convert_to_labeled_tensor,
    expand_dims,
    transpose,
)

if TYPE_CHECKING:
    from stillflow_contrib.labeled_tensor.core import LabeledTensor


_KEY = ("__axis_order",)


@export("contrib.labeled_tensor.AxisOrderError")
class AxisOrderError(ValueError):
    """Axes are in an order that does not fit."""


def get_axis_order() -> list[str] | None:
    """Return the order of the scope that is entered, if there is one."""
    found = tf.get_collection(_KEY)
    order: list[str] | None = found[0] if found else None
    return order


def _set_axis_order(order: list[str] | None) -> None:
    tf.get_collection_ref(_KEY)[:] = [order]


@export("contrib.labeled_tensor.axis_order_scope")
@contextlib.contextmanager
def axis_order_scope(axis_order: list[str] | None = None) -> Iterator[list[str] | None]:
    """Inside, axes have to be in this order, and results are."""
    before = get_axis_order()
    _set_axis_order(axis_order)
    try:
        yield axis_order
    finally:
        _set_axis_order(before)


def _relevant(given: Any, axis_order: Collection[str] | None) -> tuple[Any, list[str]]:
    order = get_axis_order() if axis_order is None else axis_order
    if order is None:
        raise AxisOrderError(
            "an explicit axis order must be provided with the axis_order argument or by using an "
            "axis_order_scope"
        )
    return order, [name for name in order if name in given.axes]


@export("contrib.labeled_tensor.check_axis_order")
def check_axis_order(labeled_tensor: Any, axis_order: Collection[str] | None = None) -> None:
    """Check that axes are in an order, by default that of the scope.

    Raises:
      AxisOrderError: if they are not, or there is no order.
    """
    given = convert_to_labeled_tensor(labeled_tensor)
    order, relevant = _relevant(given, axis_order)
    if len(relevant) < len(given.axes):
        raise AxisOrderError(
            f"not all axis names appear in the required axis order {order!r}: {given!r}"
        )
    if relevant != list(given.axes):
        raise AxisOrderError(
            "axes on a labeled tensor do not appear in the same order as the required axis order "
            f"{order!r}: {given!r}"
        )


@export("contrib.labeled_tensor.impose_axis_order")
def impose_axis_order(
    labeled_tensor: Any, axis_order: Collection[str] | None = None, name: str | None = None
) -> LabeledTensor:
    """Return the tensor with its axes in an order, by default that of the scope.

    Raises:
      AxisOrderError: if there is no order.
    """
    with tf.name_scope(name, "lt_impose_axis_order", [labeled_tensor]) as scope:
        given = convert_to_labeled_tensor(labeled_tensor)
        return transpose(given, _relevant(given, axis_order)[1], name=scope)


def consistent_ordering(a: list[str], b: list[str]) -> list[str] | None:
    """Return an order in which both lists are in theirs; None if there is none."""
    ordering = []
    i = j = 0
    while i < len(a) and j < len(b):
        if a[i] == b[j]:
            ordering.append(a[i])
            i, j = i + 1, j + 1
        elif a[i] not in b:
            ordering.append(a[i])
            i += 1
        elif b[j] not in a:
            ordering.append(b[j])
            j += 1
        else:
            return None
    return [*ordering, *a[i:], *b[j:]]


def _joined_names(first: Any, second: Any) -> list[str]:
    order = get_axis_order()
    if order is not None:
        names = [name for name in order if name in first.axes or name in second.axes]
        check_axis_order(first, order)
        check_axis_order(second, order)
        return names
    found = consistent_ordering(list(first.axes), list(second.axes))
    if found is None:
        raise AxisOrderError(
            "No consistent axis order allows for aligning tensors with axis orders "
            f"{first.axes.keys()!r} and {second.axes.keys()!r} without copying data. Use "
            "transpose or impose_axis_order to reorder axes on one of more of the inputs."
        )
    return found


@export("contrib.labeled_tensor.align")
def align(
    labeled_tensor_0: Any, labeled_tensor_1: Any, name: str | None = None
) -> tuple[Any, Any, Axes]:
    """Two tensors with the same axes, of size 1 where they had none, so that they broadcast.

    Returns:
      (the first, the second, the axes that a result has).

    Raises:
      ValueError: if an axis of both differs.
      AxisOrderError: if their axes are in different orders.
    """
    values = [labeled_tensor_0, labeled_tensor_1]
    with tf.name_scope(name, "lt_align", values) as scope:
        first, second = (convert_to_labeled_tensor(value) for value in values)
        for axis in first.axes:
            if axis in second.axes and first.axes[axis] != second.axes[axis]:
                raise ValueError(
                    f"Mismatched {axis!r} axis on input tensors: {first.axes[axis]!r} and "
                    f"{second.axes[axis]!r}"
                )
        names = _joined_names(first, second)
        axes = [(first if each in first.axes else second).axes[each] for each in names]
        return (
            expand_dims(first, names, name=f"{scope}0"),
            expand_dims(second, names, name=f"{scope}1"),
            Axes(axes),
        )
