"""Columns of features as boosted trees take them: how many features they are, in which buckets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from stillflow.feature_column import base
from stillflow.feature_column.indicator import IndicatorColumn
from stillflow.feature_column.numeric import BucketizedColumn
from stillflow.feature_column.state import LayerState
from stillflow.feature_column.transforming import (
    is_feature_column_v2,
    transform_features,
    transform_features_v2,
)
from stillflow.graph.tensor_shape import TensorShape
from stillflow.ops.arrays.shape import squeeze
from stillflow.ops.arrays.splitting import unstack
from stillflow.ops.boosted_trees.quantile_cards import bucketize_op
from stillflow.ops.math.cast import to_int32

_DENSE: tuple[type[Any], ...] = (base.DenseColumn, base._DenseColumn)
_CATEGORICAL = (base.CategoricalColumn, base._CategoricalColumn)
Result = TypeVar("Result")
# Of indicators, one for each category: it is there, or it is not.
_TWO = 2


def in_order(feature_columns: Any) -> list[Any]:
    """Return the columns by their names."""
    return sorted(feature_columns, key=lambda column: column.name)


def is_float(column: Any) -> bool:
    """Return True if a column's values have yet to be put into buckets."""
    if isinstance(column, (*_CATEGORICAL, BucketizedColumn, IndicatorColumn)):
        return False
    if isinstance(column, _DENSE):
        return bool(column.dtype.is_floating)
    raise ValueError(f"Encountered unexpected column {column}")


def variable_shape(column: Any) -> TensorShape:
    """Return the shape of one example's values."""
    of_now = is_feature_column_v2([column])
    return column.variable_shape if of_now else column._variable_shape


def _of_kind(column: Any, **choices: Callable[[Any], Result]) -> Result:
    """Call the function for the kind of a column with it."""
    if isinstance(column, IndicatorColumn):
        return choices["indicator"](column)
    if isinstance(column, BucketizedColumn):
        return choices["bucketized"](column)
    if isinstance(column, _DENSE):
        return choices["dense"](column)
    if isinstance(column, _CATEGORICAL):
        raise ValueError(f"CategoricalColumn must be wrapped by IndicatorColumn, got: {column}")
    raise ValueError("Got unexpected feature column type")


def _categories(column: Any) -> int:
    return int(column.categorical_column._num_buckets)


def _dense_width(column: Any) -> int:
    shape = variable_shape(column)
    return int(shape[0]) if shape.as_list() else 1


def width(column: Any) -> int:
    """Return the number of features of a column."""
    return _of_kind(column, indicator=_categories, bucketized=lambda _: 1, dense=_dense_width)


def feature_names(columns: Sequence[Any]) -> list[str]:
    """Return for each feature the name of its column; for an indicator, its categories' column."""
    return [
        _of_kind(
            column, indicator=lambda c: c.categorical_column.name, bucketized=lambda c: c.name,
            dense=lambda c: c.name,
        )
        for column in columns
        for _ in range(width(column))
    ]  # fmt: skip


def group_by_buckets(columns: Sequence[Any], num_quantiles: int) -> tuple[list[int], list[Any]]:
    """Return counts of buckets, and for each the numbers of the features that have as many.

    Columns that come in buckets are in one group, by the longest of them; features that are numbers
    have `num_quantiles`.
    """
    groups: dict[int, list[int]] = {}
    bucketized: list[int] = []
    most, first = _TWO, 0
    for column in columns:
        features = list(range(first, first + width(column)))
        first += len(features)
        if isinstance(column, BucketizedColumn):
            most = max(most, len(column.boundaries) + 1)
            bucketized += features
        else:
            count = _TWO if isinstance(column, IndicatorColumn) else num_quantiles
            groups.setdefault(count, []).extend(features)
    if bucketized:
        groups.setdefault(most, []).extend(bucketized)
    return list(groups), list(groups.values())


def boundaries_by_column(columns: Sequence[Any], boundaries: Sequence[Any]) -> dict[str, Any]:
    """Return the boundaries of each column's features, by its name."""
    found, first = {}, 0
    for column in columns:
        last = first + width(column)
        found[column.name] = boundaries[first:last]
        first = last
    return found


# ---- values


def transform(features: dict[str, Any], columns: Sequence[Any]) -> dict[Any, Any]:
    """Return features transformed by columns of both generations, by column."""
    of_now = [column for column in columns if is_feature_column_v2([column])]
    older = [column for column in columns if not is_feature_column_v2([column])]
    found = transform_features_v2(features, of_now, LayerState(None, False)) if of_now else {}
    if older:
        found.update(transform_features(features, older))
    return found


def transformed_features(
    features: dict[str, Any], columns: Sequence[Any], boundaries: Any = None,
    every_column: Sequence[Any] | None = None, transformed: Any = (),
) -> list[Any]:  # fmt: skip
    """Return the values of all features, each a vector.

    `boundaries` are {name: boundaries of each feature} of columns that are numbers, and stay so
    without. `every_column` are all columns in order, `columns` if None; the others of them have
    made `transformed`. ValueError for values of too many dimensions.
    """
    values = transform(features, columns)
    values.update(transformed)
    found: list[Any] = []
    for column in columns if every_column is None else every_column:
        found += _of_kind(
            column,
            indicator=lambda c: _indicated(features, c, values[c]),
            bucketized=lambda c: _bucketized(features, c, values[c]),
            dense=lambda c: _dense(c, values[c], boundaries),
        )
    return found


def _bucketized(features: Any, column: Any, value: Any) -> list[Any]:
    vector = squeeze(value, axis=1)
    if len(vector.shape) > 1:
        name = column.source_column.name
        raise ValueError(
            f"For now, only supports features equivalent to rank 1 but column `{name}` got: "
            f"{features[name].shape}"
        )
    return [vector]


def _indicated(features: Any, column: Any, value: Any) -> list[Any]:
    tensor = to_int32(value)
    if len(tensor.shape) > _TWO:
        name = column.categorical_column.name
        raise ValueError(
            f"Rank of indicator column must be no more than 2, but column `{name}` got: "
            f"{features[name].shape}"
        )
    return unstack(tensor, axis=1)


def _dense(column: Any, value: Any, boundaries: Any) -> list[Any]:
    shape = variable_shape(column)
    if len(shape) > 1:
        raise ValueError(
            f"For now, we only support Dense column with rank of 1, but column `{column.name}` "
            f"got: {shape}"
        )
    vectors = unstack(value, axis=1)
    return list(bucketize_op(vectors, boundaries[column.name])) if boundaries else vectors
