"""Features of examples for canned estimators: inputs, the label, and the weight."""

from __future__ import annotations

from typing import Any

from stillflow.feature_column.numeric import NumericColumn, numeric_column
from stillflow.feature_column.parsing import make_parse_example_spec
from stillflow.graph import dtypes
from stillflow.graph.export import export
from stillflow.ops.io.parsing.features import FixedLenFeature


@export("estimator.classifier_parse_example_spec")
def classifier_parse_example_spec(
    feature_columns: Any, label_key: str, label_dtype: Any = dtypes.int64,
    label_default: Any = None, weight_column: Any = None,
) -> dict[str, Any]:  # fmt: skip
    """Return the features of a classifier's examples, as `tf.io.parse_example` takes them.

    Args:
      feature_columns: the columns.
      label_key: the feature that is the label.
      label_dtype: its type.
      label_default: for examples without a label, which are an error if it is None.
      weight_column: of the weights of examples: a name, a numeric column, or None.

    Raises:
      ValueError: if the label or the weight is a feature too, or the column is none of these.
    """
    label = FixedLenFeature((1,), label_dtype, label_default)
    return _with_label_and_weight(feature_columns, label_key, label, weight_column)


@export("estimator.regressor_parse_example_spec")
def regressor_parse_example_spec(
    feature_columns: Any, label_key: str, label_dtype: Any = dtypes.float32,
    label_default: Any = None, label_dimension: int = 1, weight_column: Any = None,
) -> dict[str, Any]:  # fmt: skip
    """Return `classifier_parse_example_spec` for labels of `label_dimension` numbers."""
    label = FixedLenFeature((label_dimension,), label_dtype, label_default)
    return _with_label_and_weight(feature_columns, label_key, label, weight_column)


def _with_label_and_weight(
    feature_columns: Any, label_key: str, label: Any, weight_column: Any
) -> dict[str, Any]:
    inputs = make_parse_example_spec(feature_columns)
    spec = _added(inputs, "label", "label_key", {label_key: label})
    if weight_column is None:
        return spec
    if isinstance(weight_column, str):
        weight_column = numeric_column(weight_column)
    if isinstance(weight_column, NumericColumn):
        return _added(spec, "weight_column", "weight_column", weight_column.parse_example_spec)
    raise ValueError(
        "weight_column should be an instance of tf.feature_column.numeric_column. Given type: "
        f"{type(weight_column)} value: {weight_column}"
    )


def _added(spec: dict[str, Any], role: str, argument: str, more: dict[str, Any]) -> dict[str, Any]:
    """Return the features and one more, which must be none of them."""
    (key,) = more
    if key in spec:
        raise ValueError(
            f"{role} should not be used as feature. {argument}: {key}, features: {spec.keys()}"
        )
    return {**spec, **more}
