"""Counts of right and wrong answers at thresholds, which the metrics of curves are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from stillflow.graph import dtypes
from stillflow.graph.api import control_dependencies
from stillflow.graph.operation import Tensor
from stillflow.metrics.alignment import align, float_weights
from stillflow.metrics.variables import metric_variable
from stillflow.ops.arrays.shape import expand_dims, reshape, shape
from stillflow.ops.arrays.stack import stack
from stillflow.ops.arrays.tile import tile
from stillflow.ops.arrays.transpose import transpose
from stillflow.ops.constants import constant
from stillflow.ops.debugging.comparisons import assert_greater_equal, assert_less_equal
from stillflow.ops.math.cast import cast
from stillflow.ops.math.comparison import greater, logical_and, logical_not
from stillflow.ops.math.reductions import reduce_sum
from stillflow.variables.state_ops import assign_add


class _Count(NamedTuple):
    variable: str
    label: bool
    prediction: bool


# In the order in which their variables are made.
_COUNTS = {
    "tp": _Count("true_positives", label=True, prediction=True),
    "fn": _Count("false_negatives", label=True, prediction=False),
    "tn": _Count("true_negatives", label=False, prediction=False),
    "fp": _Count("false_positives", label=False, prediction=True),
}


def confusion_matrix_at_thresholds(
    labels: Any,
    predictions: Any,
    thresholds: Sequence[float],
    weights: Any = None,
    includes: Sequence[str] | None = None,
    in_range: bool = True,
) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Count the right and wrong predictions above and below each threshold.

    Labels are cast to bool; predictions, of their shape, and thresholds are from 0 to 1; weights
    are broadcast. `includes` are counts of "tp", "fn", "tn", "fp". If `in_range`, predictions are
    checked when run and cast to float32. Returns the variables by count, float32 of the length of
    `thresholds`, and what adds to them. ValueError for another count, or shapes that do not fit.
    """
    wanted = tuple(_COUNTS) if includes is None else tuple(includes)
    for count in wanted:
        if count not in _COUNTS:
            raise ValueError(f"Invalid key: {count}.")
    aligned = _checked if in_range else align
    predictions, labels, weights = aligned(predictions, labels, weights)
    sides = {count: _COUNTS[count] for count in _COUNTS if count in wanted}
    above, truth, tiled = _tables(predictions, labels, thresholds, list(sides.values()))
    if weights is not None:
        weights = float_weights(weights, predictions)
        weights = tile(reshape(weights, [1, -1]), [len(thresholds), 1])
        tiled.shape.assert_is_compatible_with(weights.shape)
    variables, updates = {}, {}
    for count, side in sides.items():
        variable = metric_variable([len(thresholds)], dtypes.float32, name=side.variable)
        holds: Any = logical_and(truth[side.label], above[side.prediction])
        holds = cast(holds, dtypes.float32)
        if weights is not None:
            holds *= weights
        updates[count] = assign_add(variable, reduce_sum(holds, 1))
        variables[count] = variable
    return variables, updates


def _checked(predictions: Any, labels: Any, weights: Any) -> tuple[Tensor, Any, Any]:
    message = "predictions must be in [0, 1]"
    low = cast(0.0, dtype=predictions.dtype)
    checks = [assert_greater_equal(predictions, low, message=message)]
    high = cast(1.0, dtype=predictions.dtype)
    checks.append(assert_less_equal(predictions, high, message=message))
    with control_dependencies(checks):
        return align(
            predictions=cast(predictions, dtypes.float32),
            labels=cast(labels, dtype=dtypes.bool),
            weights=weights,
        )


def _tables(
    predictions: Tensor, labels: Any, thresholds: Sequence[float], sides: list[_Count]
) -> tuple[dict[bool, Tensor], dict[bool, Tensor], Tensor]:
    """Return predictions above thresholds, and the truth, as bools by row of a threshold.

    Both are by what is asked (True: is it so? False: is it not?), and the thresholds come third,
    all as matrices with a column for each prediction.
    """
    rows = len(thresholds)
    column = reshape(predictions, [-1, 1])
    row = reshape(cast(labels, dtype=dtypes.bool), [1, -1])
    length: Any = column.shape.as_list()[0]
    if length is None:
        counted: Any = shape(column)
        length = counted[0]
    tiled = tile(expand_dims(constant(thresholds), [1]), stack([1, length]))
    above = {True: greater(tile(transpose(column), [rows, 1]), tiled)}
    if not all(side.prediction for side in sides):
        above[False] = logical_not(above[True])
    truth = {True: tile(row, [rows, 1])}
    if not all(side.label for side in sides):
        truth[False] = logical_not(truth[True])
    return above, truth, tiled
