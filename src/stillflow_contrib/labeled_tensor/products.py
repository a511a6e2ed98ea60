"""Products of labeled matrices, and functions along the first axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow_contrib.labeled_tensor.axis_order import get_axis_order
from stillflow_contrib.labeled_tensor.core import (
    LabeledTensor,
    convert_to_labeled_tensor,
    identity,
)
from stillflow_contrib.labeled_tensor.shapes import pack, unpack


def _shared_axis(a: Any, b: Any) -> str:
    """Return the axis that is summed over."""
    ranks = [len(each.axes) for each in (a, b)]
    words = "matmul currently requires inputs with {}, but inputs have ranks {!r} and {!r}".format
    if max(ranks) > 2:
        raise NotImplementedError(words("rank 2 or less", *ranks))
    if min(ranks) == 0:
        raise ValueError(words("at least rank 1", *ranks))
    name, *others = [axis for axis in a.axes if axis in b.axes] or [None]
    if others:
        raise NotImplementedError(
            "matmul does not yet support summing over multiple shared axes: "
            f"{set(a.axes) & set(b.axes)!r}. Use transpose and reshape to create a single shared "
            "axis to sum over."
        )
    if name is None:
        raise ValueError(
            "there must have exactly one axis in common between input to matmul: "
            f"{a.axes.keys()!r}, {b.axes.keys()!r}"
        )
    along = [each.axes[name] for each in (a, b)]
    if along[0] != along[1]:
        raise ValueError(
            f"axis {name!r} does not match on input arguments: {along[0].value!r} vs "
            f"{along[1].value!r}"
        )
    return name


@export("contrib.labeled_tensor.matmul")
def matmul(a: Any, b: Any, name: str | None = None) -> LabeledTensor:
    """Return the product of vectors or matrices, summed over the axis that both have.

    Raises:
      NotImplementedError: for more than two axes, or two that both have.
      ValueError: if there is no such axis, or it differs.
    """
    with tf.name_scope(name, "lt_matmul", [a, b]) as scope:
        a, b = convert_to_labeled_tensor(a), convert_to_labeled_tensor(b)
        shared = _shared_axis(a, b)
        axes = [axis for each in (a, b) for axis in each.axes.values() if axis.name != shared]
        order = get_axis_order()
        if order is not None:
            names = [axis.name for axis in axes]
            if [each for each in order if each in names] != names:
                a, b, axes = b, a, axes[::-1]
        left, squeezed = a.tensor, []
        transpose_a = transpose_b = False
        if len(a.axes) == 1:
            left = tf.reshape(a.tensor, (1, -1))
            squeezed.append(0)
        else:
            transpose_a = list(a.axes).index(shared) == 0
        right = b.tensor
        if len(b.axes) == 1:
            right = tf.reshape(b.tensor, (-1, 1))
            squeezed.append(1)
        else:
            transpose_b = list(b.axes).index(shared) == 1
        product = tf.matmul(left, right, transpose_a=transpose_a, transpose_b=transpose_b)
        if squeezed:
            product = tf.squeeze(product, squeezed)
        return LabeledTensor(tf.identity(product, name=scope), axes)


@export("contrib.labeled_tensor.map_fn")
def map_fn(fn: Callable[[Any], Any], labeled_tensor: Any, name: str | None = None) -> LabeledTensor:
    """Return a function of each part along the first axis.

    Args:
      fn: of a labeled tensor; gives one.
      labeled_tensor: the tensor.
      name: of the operation.
    """
    with tf.name_scope(name, "lt_map_fn", [labeled_tensor]) as scope:
        given = convert_to_labeled_tensor(labeled_tensor)
        axes = list(given.axes.values())
        parts = unpack(given)
        if given.dtype == tf.string:
            return pack([fn(part) for part in parts], axes[0], name=scope)
        first = fn(parts[0])  # tells axes and type of all
        mapped = tf.map_fn(
            lambda part: fn(LabeledTensor(part, axes[1:])).tensor, given.tensor, dtype=first.dtype
        )
        return identity(LabeledTensor(mapped, [axes[0], *first.axes.values()]), name=scope)


@export("contrib.labeled_tensor.foldl")
def foldl(
    fn: Callable[[Any, Any], Any], labeled_tensor: Any, initial_value: Any,
    name: str | None = None,
) -> LabeledTensor:  # fmt: skip
    """Return a function of its own result and the next part along the first axis.

    Args:
      fn: of two labeled tensors; gives one of the axes of the first.
      labeled_tensor: the tensor.
      initial_value: the first result.
      name: of the operation.
    """
    with tf.name_scope(name, "lt_foldl", [labeled_tensor, initial_value]) as scope:
        given = convert_to_labeled_tensor(labeled_tensor)
        first = convert_to_labeled_tensor(initial_value)
        axes = list(given.axes.values())[1:]

        def step(total: Any, part: Any) -> Any:
            return fn(LabeledTensor(total, first.axes), LabeledTensor(part, axes)).tensor

        folded = tf.foldl(step, given.tensor, initializer=first.tensor)
        return identity(LabeledTensor(folded, first.axes), name=scope)
