"""Checks of the arguments of feature columns and of their layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stillflow import nest
from stillflow.feature_column.base import FeatureColumn
from stillflow.graph import dtypes
from stillflow.graph.tensor_shape import Dimension, dimension_value


def check_key(key: Any) -> None:
    """Raise an error for a key that is not a string."""
    if not isinstance(key, str):
        raise ValueError(f"key must be a string. Got: type {type(key)}. Given key: {key}.")


def check_checkpoint(ckpt_to_load_from: Any, tensor_name_in_ckpt: Any) -> None:
    """Raise an error for a checkpoint without a tensor name, and for the reverse."""
    if (ckpt_to_load_from is None) != (tensor_name_in_ckpt is None):
        raise ValueError(
            "Must specify both `ckpt_to_load_from` and `tensor_name_in_ckpt` or none of them."
        )


def check_string_or_int(dtype: Any, prefix: str) -> None:
    """Raise an error for other types; the message starts with `prefix`."""
    if dtype != dtypes.string and not dtype.is_integer:
        raise ValueError(f"{prefix} dtype must be string or integer. dtype: {dtype}.")


def check_same_kind(key: str, dtype: Any, given: Any) -> None:
    """Raise an error for strings in a column of integers, and for the reverse."""
    if dtype.is_integer != given.is_integer:
        raise ValueError(
            "Column dtype and SparseTensors dtype must be compatible. "
            f"key: {key}, column dtype: {dtype}, tensor dtype: {given}"
        )


def check_shape(shape: Any, key: str) -> tuple[int, ...]:
    """Return the shape of a numeric column as a tuple."""
    assert shape is not None
    shape = tuple(shape) if nest.is_sequence(shape) else (shape,)
    for dimension in shape:
        if not isinstance(dimension, int):
            raise TypeError(f"shape dimensions must be integer. shape: {shape}, key: {key}")
        if dimension < 1:
            raise ValueError(f"shape dimensions must be greater than 0. shape: {shape}, key: {key}")
    return shape


def check_numeric(dtype: Any, key: str, normalizer_fn: Any) -> None:
    """Raise an error for types that are no numbers, and normalizers that are no functions."""
    if not (dtype.is_integer or dtype.is_floating):
        raise ValueError(f"dtype must be convertible to float. dtype: {dtype}, key: {key}")
    if normalizer_fn is not None and not callable(normalizer_fn):
        raise TypeError(f"normalizer_fn must be a callable. Given: {normalizer_fn}")


def check_default(shape: tuple[int, ...], default_value: Any, dtype: Any, key: str) -> Any:
    """Return the default value of a numeric column as nested tuples of its shape, or None."""
    if default_value is None:
        return None
    if _fits(default_value, dtype):
        return _filled(shape, default_value)
    if callable(getattr(default_value, "tolist", None)):
        default_value = default_value.tolist()
    if nest.is_sequence(default_value):
        if not _has_shape(default_value, shape):
            raise ValueError(
                "The shape of default_value must be equal to given shape. "
                f"default_value: {default_value}, shape: {shape}, key: {key}"
            )
        values = nest.flatten(default_value)
        whole = all(isinstance(value, int) for value in values)
        if whole or (dtype.is_floating and any(isinstance(value, float) for value in values)):
            return _as_tuples(default_value)
    raise TypeError(
        "default_value must be compatible with dtype. "
        f"default_value: {default_value}, dtype: {dtype}, key: {key}"
    )


def _fits(value: Any, dtype: Any) -> bool:
    return isinstance(value, int) or (isinstance(value, float) and dtype.is_floating)


def _filled(shape: tuple[int, ...], value: Any) -> Any:
    return (_filled(shape[1:], value),) * shape[0] if shape else value


def _as_tuples(value: Any) -> Any:
    return tuple(map(_as_tuples, value)) if nest.is_sequence(value) else value


def _has_shape(value: Any, shape: tuple[int, ...]) -> bool:
    if nest.is_sequence(value) != bool(shape):
        return False
    if not shape:
        return True
    return len(value) == shape[0] and all(_has_shape(each, shape[1:]) for each in value)


def as_columns(columns: Any, kind: type = FeatureColumn) -> list[Any]:
    """Return one column or several, of a class, as a list that is sorted by their names."""
    if isinstance(columns, dict):
        raise ValueError("Expected feature_columns to be iterable, found dict.")
    columns = [columns] if isinstance(columns, kind) else list(columns)
    strange = [column for column in columns if not isinstance(column, kind)]
    if strange:
        raise ValueError(
            f"Items of feature_columns must be a {kind.__name__}. "
            f"Given (type {type(strange[0])}): {strange[0]}."
        )
    if not columns:
        raise ValueError("feature_columns must not be empty.")
    by_name: dict[str, Any] = {}
    for place, column in enumerate(columns):
        first = by_name.setdefault(column.name, column)
        if len(by_name) <= place:
            raise ValueError(
                f"Duplicate feature column name found for columns: {column} and "
                f"{first}. This usually means that these columns refer to same base "
                "feature. Either one must be discarded or a duplicated but renamed item must be "
                "inserted in features dict."
            )
    return [by_name[name] for name in sorted(by_name)]


def check_batch_sizes(tensors: Sequence[Any], columns: Sequence[Any]) -> None:
    """Raise an error for tensors of columns whose known first dimensions differ."""
    first: Any = None
    for tensor, column in zip(tensors, columns, strict=True):
        size = dimension_value(tensor.shape[0])
        if size is None:
            continue
        if first is None:
            first = (size, column)
        elif first[0] != size:
            raise ValueError(
                "Batch size (first dimension) of each feature must be same. Batch size of columns "
                f"({first[1].name}, {column.name}): ({Dimension(first[0])}, {Dimension(size)})"
            )
