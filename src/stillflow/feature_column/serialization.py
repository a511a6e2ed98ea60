"""Columns as values that JSON has, and the other way round."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import stillflow as tf
from stillflow.feature_column.base import FeatureColumn
from stillflow.graph import dtypes
from stillflow.keras.utils.objects import (
    deserialize_keras_object,
    get_custom_objects,
    serialize_keras_object,
)


def _column_of(value: Any, custom_objects: Any, columns_by_name: Any) -> Any:
    return deserialize_feature_column(value, custom_objects, columns_by_name)


# Fields of columns that are no plain values: how each is written, and read again.
_FIELDS: dict[str, tuple[Callable[[Any], Any], Callable[[Any, Any, Any], Any]]] = {
    "dtype": (
        lambda dtype: dtype.name,
        lambda name, custom, _: dtypes.as_dtype(name),
    ),
    "normalizer_fn": (
        serialize_keras_object,
        lambda name, custom, _: deserialize_keras_object(name, custom_objects=custom),
    ),
    "initializer": (
        lambda initializer: tf.keras.initializers.serialize(initializer),
        lambda config, custom, _: tf.keras.initializers.deserialize(config, custom),
    ),
    "source_column": (lambda column: serialize_feature_column(column), _column_of),
    "categorical_column": (lambda column: serialize_feature_column(column), _column_of),
    "keys": (
        lambda keys: tuple(map(serialize_feature_column, keys)),
        lambda keys, custom, known: tuple(_column_of(key, custom, known) for key in keys),
    ),
}


def config_of(column: Any) -> dict[str, Any]:
    """Return the fields of a column that is a named tuple."""
    config = dict(zip(column._fields, column, strict=True))
    for name in config.keys() & _FIELDS.keys():
        config[name] = _FIELDS[name][0](config[name])
    return config


def fields_of(
    kind: Any, config: dict[str, Any], custom_objects: Any, columns_by_name: Any
) -> dict[str, Any]:
    """Return the fields that `config_of` made `config` of."""
    if set(config) != set(kind._fields):
        raise ValueError(f"Invalid config: {config}, expected keys: {kind._fields}")
    fields = {key: tuple(v) if isinstance(v, list) else v for key, v in config.items()}
    for name in fields.keys() & _FIELDS.keys():
        fields[name] = _FIELDS[name][1](fields[name], custom_objects, columns_by_name)
    return fields


_MODULES = (
    "categorical", "crossed", "embedding", "indicator", "numeric", "sequence", "weighted",
)  # fmt: skip


def _classes() -> dict[str, Any]:
    """Return the classes of columns by name."""
    modules = [importlib.import_module(f"{__package__}.{name}") for name in _MODULES]
    return {
        name: thing
        for module in modules
        for name, thing in vars(module).items()
        if isinstance(thing, type) and issubclass(thing, FeatureColumn)
    }


def serialize_feature_column(fc: Any) -> dict[Any, Any] | str:
    """Return a column as {"class_name": ..., "config": ...}; the key of a feature as it is."""
    if isinstance(fc, str):
        return fc
    if isinstance(fc, FeatureColumn):
        return {"class_name": type(fc).__name__, "config": fc._get_config()}
    raise ValueError(f"Instance: {fc} is not a FeatureColumn")


def deserialize_feature_column(
    config: Any, custom_objects: Any = None, columns_by_name: Any = None
) -> Any:
    """Return the column that `serialize_feature_column` made `config` of, or a feature's key.

    `custom_objects` are classes and functions by name, in addition to the known ones;
    `columns_by_name` takes up the columns that were made, which are made only once.
    """
    if isinstance(config, str):
        return config
    known = {} if columns_by_name is None else columns_by_name
    kind = _class_of(config, custom_objects or {})
    if not issubclass(kind, FeatureColumn):
        raise ValueError(f"Expected FeatureColumn class, instead found: {kind}")
    made: Any = kind._from_config(
        config["config"], custom_objects=custom_objects, columns_by_name=known
    )
    return known.setdefault(name_with_class(made), made)


def name_with_class(column: Any) -> str:
    """Return the key of a column among those of a layer."""
    return f"{type(column).__name__}:{column.name}"


def _class_of(config: Any, custom_objects: dict[str, Any]) -> type[Any]:
    if not isinstance(config, dict) or "class_name" not in config or "config" not in config:
        raise ValueError(f"Improper config format: {config}")
    name = config["class_name"]
    found = {**_classes(), **get_custom_objects(), **custom_objects}.get(name)
    if found is None:
        raise ValueError(f"Unknown feature_column_v2: {name}")
    return found


def serialize_feature_columns(feature_columns: Any) -> list[Any]:
    """`serialize_feature_column` of each."""
    return [serialize_feature_column(column) for column in feature_columns]


def deserialize_feature_columns(configs: Any, custom_objects: Any = None) -> list[Any]:
    """Deserialize each by `deserialize_feature_column`; shared parts are made once."""
    known: dict[str, Any] = {}
    return [deserialize_feature_column(config, custom_objects, known) for config in configs]
