"""Features of examples that columns parse."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.platform import tf_logging as logging
from stillflow_contrib.layers.feature_columns.base import config_of


@export("contrib.layers.create_feature_spec_for_parsing")
def create_feature_spec_for_parsing(feature_columns: Any) -> dict[str, Any]:
    """Return the features that columns parse, as `tf.parse_example` takes them.

    Args:
      feature_columns: columns, or a dict of them.

    Raises:
      TypeError: for other columns.
    """
    if isinstance(feature_columns, dict):
        feature_columns = feature_columns.values()
    features: dict[str, Any] = {}
    for column in feature_columns:
        features |= config_of(column)
    return features


def sequence_feature_spec(
    sequence_feature_columns: Any, allow_missing_by_default: bool = False
) -> dict[str, Any]:
    """Return the features of steps that columns parse, for `tf.parse_single_sequence_example`.

    Features without a default may be missing if `allow_missing_by_default`.
    """
    features = create_feature_spec_for_parsing(sequence_feature_columns)
    for key, feature in features.items():
        if isinstance(feature, tf.VarLenFeature):
            continue
        has_default = feature.default_value is not None
        if has_default:
            logging.warning(
                f'Found default value {feature.default_value} for feature "{key}". Ignoring this '
                "value and setting `allow_missing=True` instead."
            )
        features[key] = tf.FixedLenSequenceFeature(
            shape=feature.shape,
            dtype=feature.dtype,
            allow_missing=allow_missing_by_default or has_default,
        )
    return features


@export("contrib.layers.make_place_holder_tensors_for_base_features")
def make_place_holder_tensors_for_base_features(feature_columns: Any) -> dict[str, Any]:
    """Placeholders for the features of columns.

    Args:
      feature_columns: columns, or a dict of them.

    Returns:
      Placeholders by name, sparse ones where columns take any number of values.
    """
    placeholders = {}
    for name, feature in create_feature_spec_for_parsing(feature_columns).items():
        if isinstance(feature, tf.VarLenFeature):
            made = tf.sparse_placeholder(feature.dtype, name=f"Placeholder_{name}")
        else:
            shape = (None, feature.shape[0])
            made = tf.placeholder(feature.dtype, shape=shape, name=f"Placeholder_{name}")
        placeholders[name] = made
    return placeholders
