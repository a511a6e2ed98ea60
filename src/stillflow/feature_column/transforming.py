"""Transformed columns without a layer, as trees of decisions take them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import stillflow as tf
from stillflow.feature_column.base import FeatureColumn, _FeatureColumn
from stillflow.feature_column.cache import FeatureTransformationCache, _LazyBuilder
from stillflow.feature_column.checks import as_columns
from stillflow.graph.operation import Tensor

if TYPE_CHECKING:
    from stillflow.feature_column.columns import Dense


def transform_features(features: dict[str, Any], feature_columns: Any) -> dict[Any, Any]:
    """Return features by key transformed by columns of the older generation, by column."""
    return _transformed(_LazyBuilder(features), as_columns(feature_columns, _FeatureColumn), None)


def transform_features_v2(
    features: dict[str, Any], feature_columns: Any, state_manager: Any
) -> dict[Any, Any]:
    """Return features by key transformed by columns, by column.

    `state_manager` keeps the columns' variables and tables.
    """
    columns = as_columns(feature_columns, FeatureColumn)
    return _transformed(FeatureTransformationCache(features), columns, state_manager)


def _transformed(
    cache: FeatureTransformationCache, columns: list[Any], state: Any
) -> dict[Dense, Tensor]:
    outputs = {}
    with tf.name_scope(None, default_name="transform_features", values=cache.features.values()):
        for column in columns:
            with tf.name_scope(None, default_name=column.name):
                outputs[column] = cache.get(column, state)
    return outputs


def is_feature_column_v2(feature_columns: Any) -> bool:
    """Return True if all columns and their sources have the present interface."""
    return all(
        isinstance(column, FeatureColumn) and column._is_v2_column for column in feature_columns
    )
