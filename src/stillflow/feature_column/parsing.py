"""Features of examples that columns need."""

from __future__ import annotations

from typing import Any

from stillflow.feature_column import base
from stillflow.graph.export import export


def _merged(feature_columns: Any, kind: type, spec_of: str) -> dict[str, Any]:
    merged: dict[str, Any] = {}
    for column in feature_columns:
        if not isinstance(column, kind):
            raise ValueError(
                f"All feature_columns must be {kind.__name__} instances. Given: {column}"
            )
        for key, value in getattr(column, spec_of).items():
            if value != merged.setdefault(key, value):
                raise ValueError(
                    f"feature_columns contain different parse_spec for key {key}. "
                    f"Given {value} and {merged[key]}"
                )
    return merged


@export("feature_column.make_parse_example_spec")
def make_parse_example_spec(feature_columns: Any) -> dict[str, Any]:
    """Return the features that columns need, as `tf.io.parse_example` takes them.

    Args:
      feature_columns: the columns.

    Raises:
      ValueError: if one is no column, or two want the same feature in different ways.
    """
    return _merged(feature_columns, base._FeatureColumn, "_parse_example_spec")


@export("compat.v2.feature_column.make_parse_example_spec")
def make_parse_example_spec_v2(feature_columns: Any) -> dict[str, Any]:
    """Return the features that columns need; see `tf.feature_column.make_parse_example_spec`."""
    return _merged(feature_columns, base.FeatureColumn, "parse_example_spec")
