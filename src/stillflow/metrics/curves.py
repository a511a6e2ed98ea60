"""The area under a curve of two rates: `tf.metrics.auc`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.metrics.confusion import confusion_matrix_at_thresholds
from stillflow.metrics.thresholds import EPSILON, even_thresholds, from_counts
from stillflow.metrics.variables import Pair, graph_only
from stillflow.ops.arrays.fill import ones_like
from stillflow.ops.arrays.select import where
from stillflow.ops.math.binary import maximum, minimum, multiply
from stillflow.ops.math.comparison import logical_and
from stillflow.ops.math.division import div, div_no_nan
from stillflow.ops.math.reductions import reduce_sum
from stillflow.ops.math.unary import log
from stillflow.platform import tf_logging as logging
from stillflow.variables.variable_scope import variable_scope

# Added to counts of the rates, so that none is 0 / 0.
_SMOOTHING = 1e-6


def _middle(left: Any, right: Any) -> Tensor:
    return (left + right) / 2.0


# The height of a strip of the area, from the curve's heights on both of its sides.
_HEIGHTS: dict[str, Callable[..., Any]] = {
    "trapezoidal": _middle,
    "careful_interpolation": _middle,
    "minoring": minimum,
    "majoring": maximum,
}


@export("metrics.auc")
@graph_only
def auc(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    num_thresholds: int = 200,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    curve: str = "ROC",
    name: str | None = None,
    summation_method: str = "trapezoidal",
    thresholds: Sequence[float] | None = None,
) -> Pair:
    """Return the area under a curve of two rates, drawn through their values at thresholds.

    Args:
      labels: the truth, cast to bool, of any shape.
      predictions: from 0 to 1, of the shape of `labels`.
      weights: broadcast to `labels`; 1 by default.
      num_thresholds: how many thresholds there are, equally far apart.
      metrics_collections, updates_collections: where the results are added.
      curve: "ROC" (recall over false positives) or "PR" (precision over recall).
      name: of the variables' scope.
      summation_method: "trapezoidal"; "careful_interpolation", made for "PR"; "minoring" or
        "majoring" for a bound from below or above.
      thresholds: numbers from 0 to 1 instead of `num_thresholds`; one at each end is added.

    Returns:
      The area, a float32 scalar, and the operation that updates it.

    Raises:
      ValueError: for another curve or method, or shapes that do not fit.
      InvalidArgumentError: when run, for predictions that are not from 0 to 1.
    """
    with variable_scope(name, "auc", (labels, predictions, weights)):
        if curve not in ("ROC", "PR"):
            raise ValueError(f"curve must be either ROC or PR, {curve} unknown")
        inner = even_thresholds(num_thresholds) if thresholds is None else sorted(thresholds)
        outer = [0.0 - EPSILON, *inner, 1.0 + EPSILON]
        counts = confusion_matrix_at_thresholds(labels, predictions, outer, weights)
        strips = (num_thresholds if thresholds is None else len(outer)) - 1

        area = partial(_area, curve, summation_method, strips)
        order = ("tp", "fn", "tn", "fp")
        return from_counts(area, order, counts, metrics_collections, updates_collections)


def _area(
    curve: str, method: str, strips: int, tp: Any, fn: Any, tn: Any, fp: Any, name: str
) -> Tensor:
    if curve == "PR" and method == "careful_interpolation":
        return _interpolated(tp, fp, fn, strips)
    if curve == "PR" and method == "trapezoidal":
        logging.warning(
            "Trapezoidal rule is known to produce incorrect PR-AUCs; "
            'please switch to "careful_interpolation" instead.'
        )
    x, y = rates(curve, tp, fn, tn, fp)
    height = _HEIGHTS.get(method)
    if height is None:
        raise ValueError(f"Invalid summation_method: {method}")
    width = x[:strips] - x[1:]
    return reduce_sum(multiply(width, height(y[:strips], y[1:])), name=name)


def rates(curve: str, tp: Any, fn: Any, tn: Any, fp: Any) -> tuple[Any, Any]:
    """Return the curve's two coordinates at each threshold."""
    recall = div(tp + _SMOOTHING, tp + fn + _SMOOTHING)
    if curve == "ROC":
        return div(fp, fp + tn + _SMOOTHING), recall
    return recall, div(tp + _SMOOTHING, tp + fp + _SMOOTHING)


def _interpolated(tp: Any, fp: Any, fn: Any, strips: int) -> Tensor:
    """Return the area of precision over recall, true positives growing linearly with all positives.

    Between two thresholds precision is then `slope + intercept / positives`, whose integral has a
    logarithm; a straight line would promise too much (Davis and Goadrich, 2006).
    """
    gained = tp[:strips] - tp[1:]
    positives = tp + fp
    more = maximum(positives[:strips] - positives[1:], 0)
    slope: Any = div_no_nan(gained, more, name="prec_slope")
    intercept = tp[1:] - multiply(slope, positives[1:])
    ratio = where(
        logical_and(positives[:strips] > 0, positives[1:] > 0),
        div_no_nan(positives[:strips], maximum(positives[1:], 0), name="recall_relative_ratio"),
        ones_like(positives[1:]),
    )
    increments = div_no_nan(
        slope * (gained + intercept * log(ratio)),
        maximum(tp[1:] + fn[1:], 0),
        name="pr_auc_increment",
    )
    return reduce_sum(increments, name="interpolate_pr_auc")
