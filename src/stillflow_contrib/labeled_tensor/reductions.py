"""Reductions of labeled tensors along axes, and axes of size 1 taken away."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

import stillflow as tf
from stillflow.graph.export import export, export_value
from stillflow_contrib.labeled_tensor.core import LabeledTensor, convert_to_labeled_tensor


@export("contrib.labeled_tensor.squeeze")
def squeeze(
    labeled_tensor: Any, axis_names: Collection[str] | None = None, name: str | None = None
) -> LabeledTensor:
    """Return a tensor without axes of size 1: those named, or all.

    Raises:
      ValueError: if an axis is not there, or larger.
    """
    with tf.name_scope(name, "lt_squeeze", [labeled_tensor]) as scope:
        given = convert_to_labeled_tensor(labeled_tensor)
        if axis_names is None:
            axis_names = [axis.name for axis in given.axes.values() if len(axis) == 1]
        for each in axis_names:
            if each not in given.axes:
                raise ValueError(f"axis {each} is not in tensor axes {given.axes}")
            if len(given.axes[each]) != 1:
                raise ValueError(
                    f"cannot squeeze axis with size greater than 1: ({each}, {given.axes[each]})"
                )
        places = [place for place, each in enumerate(given.axes) if each in axis_names]
        axes = [axis for axis in given.axes.values() if axis.name not in axis_names]
        if places:
            return LabeledTensor(tf.squeeze(given.tensor, places, name=scope), axes)
        return LabeledTensor(tf.identity(given.tensor, name=scope), axes)


def _kept(axes: Any) -> dict[str, Any]:
    """{name of an axis that is reduced: the axis that is left}."""
    kept: dict[str, Any] = {}
    for axis in [axes] if isinstance(axes, (str, tuple)) else axes:
        if isinstance(axis, str):
            kept[axis] = axis
        else:
            name, label = axis
            kept[name] = (name, None if label is None else [label])
    return kept


@export("contrib.labeled_tensor.define_reduce_op")
def define_reduce_op(op_name: str, reduce_fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return a reduction of labeled tensors, from one of tensors.

    Args:
      op_name: its name.
      reduce_fn: of a tensor, places of axes and `keepdims`.
    """

    def op(labeled_tensor: Any, axes: Any = None, name: str | None = None) -> LabeledTensor:
        with tf.name_scope(name, f"lt_{op_name}", [labeled_tensor]) as scope:
            given = convert_to_labeled_tensor(labeled_tensor)
            kept = _kept(given.axes.keys() if axes is None else axes)
            for each in kept:
                if each not in given.axes:
                    raise ValueError(f"Axis {each} not in axes {given.axes}")
            places = [place for place, each in enumerate(given.axes) if each in kept]
            left = [kept.get(axis.name, axis) for axis in given.axes.values()]
            reduced = LabeledTensor(reduce_fn(given.tensor, places, keepdims=True), left)
            gone = [each for each, axis in kept.items() if isinstance(axis, str)]
            return squeeze(reduced, gone, name=scope)

    op.__name__ = op_name
    op.__doc__ = f"""`tf.{op_name}` along axes.

    Args:
      labeled_tensor: the tensor.
      axes: the name of an axis, (name, label) for one that is kept with size 1, or a collection of
        these; all by default.
      name: of the operation.

    Raises:
      ValueError: if an axis is not there.
    """
    return op


reduce_all = define_reduce_op("reduce_all", tf.reduce_all)
reduce_any = define_reduce_op("reduce_any", tf.reduce_any)
reduce_logsumexp = define_reduce_op("reduce_logsumexp", tf.reduce_logsumexp)
reduce_max = define_reduce_op("reduce_max", tf.reduce_max)
reduce_mean = define_reduce_op("reduce_mean", tf.reduce_mean)
reduce_min = define_reduce_op("reduce_min", tf.reduce_min)
reduce_prod = define_reduce_op("reduce_prod", tf.reduce_prod)
reduce_sum = define_reduce_op("reduce_sum", tf.reduce_sum)

export_value("contrib.labeled_tensor.reduce_all", reduce_all)
export_value("contrib.labeled_tensor.reduce_any", reduce_any)
export_value("contrib.labeled_tensor.reduce_logsumexp", reduce_logsumexp)
export_value("contrib.labeled_tensor.reduce_max", reduce_max)
export_value("contrib.labeled_tensor.reduce_mean", reduce_mean)
export_value("contrib.labeled_tensor.reduce_min", reduce_min)
export_value("contrib.labeled_tensor.reduce_prod", reduce_prod)
export_value("contrib.labeled_tensor.reduce_sum", reduce_sum)
