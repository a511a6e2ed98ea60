"""Nested tensors along time: rows of them, and all rows so far."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import stillflow as tf
from stillflow import nest
from stillflow.graph.operation import Tensor
from stillflow_contrib.recurrent import inplace_functions


def packed(elements: Any, template: Any) -> Any:
    """Return arguments or results of the library's functions in their nested form."""
    flat = list(elements) if nest.is_sequence(elements) else [elements]
    return nest.pack_sequence_as(template, flat)


def types(structure: Any) -> list[Any]:
    """Return the types of all tensors."""
    return [tensor.dtype for tensor in nest.flatten(structure)]


def row(structure: Any, index: Any) -> Any:
    """Return the tensors [time, ...] at a time."""
    index = tf.convert_to_tensor(index)
    index.get_shape().assert_has_rank(0)
    return nest.map_structure(lambda tensor: tf.gather(tensor, index), structure)


def updated(rows: Any, structure: Any, time: Any) -> Any:
    """Rows [time, ...] with those of a time set, in place."""
    index = tf.cast([time], tf.int32)
    update = inplace_functions.alias_inplace_update
    changed = [
        update(old, index, tf.expand_dims(new, 0))
        for old, new in zip(nest.flatten(rows), nest.flatten(structure), strict=True)
    ]
    return nest.pack_sequence_as(rows, changed)


def length(structure: Any) -> Any:
    """Return the number of time steps."""
    return tf.shape(nest.flatten(structure)[0])[0]


def empty_rows(count: Any, template: Any) -> Any:
    """Zeros for so many times."""

    def empty(tensor: Any) -> Tensor:
        shape = tf.concat([[count], tf.shape(tensor)], axis=0)
        return inplace_functions.empty(shape, tensor.dtype, init=True)

    return nest.map_structure(empty, template)


def empty_like(structure: Any) -> Tensor | list[Tensor]:
    """Zeros of the same shapes."""
    return nest.map_structure(
        lambda tensor: inplace_functions.empty_like(tensor, init=True), structure
    )


def added(first: Any, second: Any) -> Any:
    """Return the sums of tensors."""
    pairs = zip(nest.flatten(first), nest.flatten(second), strict=True)
    return nest.pack_sequence_as(first, [tf.add(one, other) for one, other in pairs])


def without_nones(values: Any, gradients: Any) -> list[Any]:
    """Gradients, zeros where there are none."""
    pairs: Sequence[Any] = list(zip(nest.flatten(values), nest.flatten(gradients), strict=True))
    known = [tf.zeros_like(value) if grad is None else grad for value, grad in pairs]
    return nest.pack_sequence_as(gradients, known)
