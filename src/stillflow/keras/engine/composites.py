"""Ragged and sparse tensors among the data of a model: their rows, and several after each other."""

from __future__ import annotations

from typing import Any

import numpy as np

import stillflow as tf
from stillflow import nest
from stillflow.graph.composite_tensor import CompositeTensor
from stillflow.ragged.value import RaggedTensorValue


def is_composite(x: Any) -> bool:
    """Return True if data are a ragged or sparse tensor, or the value of one."""
    return isinstance(x, (CompositeTensor, tf.SparseTensorValue, RaggedTensorValue))


def flatten(structure: Any) -> list[Any]:
    """Return the leaves of nested data; the value of a sparse tensor is one."""
    shallow = nest.get_traverse_shallow_structure(lambda x: not is_composite(x), structure)
    return list(nest.flatten_up_to(shallow, structure))


def pack_as(structure: Any, leaves: list[Any]) -> Any:
    """Leaves in the structure that `flatten` took apart."""
    items = iter(leaves)
    shallow = nest.get_traverse_shallow_structure(lambda x: not is_composite(x), structure)
    return nest.map_structure_up_to(shallow, lambda _: next(items), structure)


def as_tensor(x: Any) -> Any:
    """Return the ragged or sparse tensor of a value; anything else unchanged."""
    if isinstance(x, tf.SparseTensorValue):
        return tf.SparseTensor.from_value(x)
    if isinstance(x, RaggedTensorValue):
        return tf.RaggedTensor.from_nested_row_splits(x.flat_values, x.nested_row_splits)
    return x


def number_of_rows(x: Any) -> int:
    """Return the number of examples of an array or tensor."""
    if isinstance(x, tf.SparseTensorValue):
        return int(x.dense_shape[0])
    if isinstance(x, tf.SparseTensor):
        return int(x.dense_shape.numpy()[0])
    if isinstance(x, tf.RaggedTensor) and x.shape[0].value is None:
        return int(x.nrows())
    return int(x.shape[0])


def rows(x: Any, places: Any) -> Any:
    """Return rows by number of an array, or of a tensor with values; TypeError for composites."""
    if not is_composite(x):
        return x[places]
    if not (isinstance(x, CompositeTensor) and tf.executing_eagerly()):
        raise TypeError(
            'TypeError while preparing batch. If using HDF5 input data, pass shuffle="batch".'
        )
    return _sparse_rows(x, places) if isinstance(x, tf.SparseTensor) else tf.gather(x, places)


def _sparse_rows(x: Any, places: Any) -> Any:
    indices, values, shape = (part.numpy() for part in (x.indices, x.values, x.dense_shape))
    taken = [np.flatnonzero(indices[:, 0] == place) for place in places]
    order = np.concatenate(taken)
    indices = indices[order]
    indices[:, 0] = np.repeat(np.arange(len(places)), [len(part) for part in taken])
    return tf.SparseTensor(indices, values[order], [len(places), *shape[1:]])


def join(parts: list[Any]) -> Any:
    """Concatenate outputs of several steps; RuntimeError for composites of other inner sizes."""
    if len(parts) == 1:
        return parts[0]
    first = parts[0]
    if isinstance(first, tf.SparseTensor):
        return tf.sparse.concat(0, parts)
    if isinstance(first, tf.SparseTensorValue):
        return _join_sparse(parts)
    if isinstance(first, RaggedTensorValue):
        return _join_ragged(parts)
    if isinstance(first, tf.RaggedTensor):
        return tf.concat(parts, axis=0)
    return np.concatenate(parts, axis=0)


def _join_sparse(parts: list[Any]) -> Any:
    """Each part begins where the one before ends; the end of a part is its last row with values."""
    for part in parts[1:]:
        if tuple(part.dense_shape[1:]) != tuple(parts[0].dense_shape[1:]):
            raise RuntimeError(
                f"Unable to concatenate {parts[0]} and {part}. The inner dense shapes do not match "
                f"inner dimensions ({parts[0].dense_shape[1:]} vs {part.dense_shape[1:]})"
            )
    count = int(parts[0].dense_shape[0])
    indices = [parts[0].indices]
    for part in parts[1:]:
        moved = part.indices.copy()
        moved[:, 0] += count
        indices.append(moved)
        count = max(count, int(moved[:, 0].max(initial=count))) + 1
    values = np.concatenate([part.values for part in parts])
    shape = (count, *(int(size) for size in parts[0].dense_shape[1:]))
    return tf.SparseTensorValue(np.concatenate(indices), values, shape)


def _join_ragged(parts: list[Any]) -> RaggedTensorValue:
    first = parts[0]
    if any(part.shape[1:] != first.shape[1:] for part in parts):
        raise RuntimeError(f"Unable to concatenate {first} and {parts[1]}")
    splits = first.row_splits
    for part in parts[1:]:
        splits = np.append(splits, part.row_splits[1:] + splits[-1])
    inner = [part.values for part in parts]
    nested = isinstance(first.values, RaggedTensorValue)
    return RaggedTensorValue(_join_ragged(inner) if nested else np.concatenate(inner), splits)
