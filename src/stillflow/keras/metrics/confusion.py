"""Metrics made of true and false positives and negatives at thresholds."""

from __future__ import annotations

from typing import Any

import numpy as np

import stillflow as tf
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Operation, Tensor
from stillflow.keras.backend.config import epsilon
from stillflow.keras.backend.session import batch_set_value
from stillflow.keras.losses.alignment import align_targets, align_weights
from stillflow.keras.metrics.base import Metric
from stillflow.keras.metrics.curves import AUCCurve, AUCSummationMethod
from stillflow.losses.weights import broadcast_weights
from stillflow.metrics.thresholds import even_thresholds

_NEVER = -1e10  # a prediction that is above no threshold
# Whether the target and the prediction are positive, in the order in which they are counted.
_CONDITIONS = {
    "true_positives": (True, True),
    "false_negatives": (True, False),
    "false_positives": (False, True),
    "true_negatives": (False, False),
}


def _as_list(x: Any) -> list[Any]:
    return x if isinstance(x, list) else [x]


def _thresholds(given: Any, default: float = 0.5) -> list[Any]:
    if given is not None:
        invalid = [t for t in _as_list(given) if t is None or t < 0 or t > 1]
        if invalid:
            raise ValueError(f"Threshold values must be in [0, 1]. Invalid values: {invalid}")
    return _as_list(default if given is None else given)


def _only_top(predictions: Any, k: int) -> Any:
    """Predictions of which only the `k` largest can be positive."""
    _, places = tf.nn.top_k(predictions, k, sorted=False)
    mask = tf.reduce_sum(tf.one_hot(places, predictions.shape[-1], axis=-1), axis=-2)
    return predictions * mask + _NEVER * (1 - mask)


def update_counts(
    variables: dict[str, Any],
    y_true: Any,
    y_pred: Any,
    thresholds: list[Any],
    top_k: int | None = None,
    class_id: int | None = None,
    sample_weight: Any = None,
) -> Operation:
    """Return the operation that adds to the counts of true and false predictions.

    `variables` are by "true_positives" and so on, with one number for each threshold. A prediction,
    0 to 1, above a threshold is positive; at most `top_k` of an example are. Only `class_id`
    counts, unless None; `sample_weight` is broadcast to the predictions.
    """
    y_true, y_pred = tf.cast(y_true, dtype=tf.float32), tf.cast(y_pred, dtype=tf.float32)
    y_pred.shape.assert_is_compatible_with(y_true.shape)
    bounds = [
        tf.assert_greater_equal(
            y_pred, tf.cast(0.0, dtype=y_pred.dtype), message="predictions must be >= 0"
        ),
        tf.assert_less_equal(
            y_pred, tf.cast(1.0, dtype=y_pred.dtype), message="predictions must be <= 1"
        ),
    ]
    with tf.control_dependencies(bounds):
        y_pred, y_true = align_targets(y_pred, y_true)
        if sample_weight is not None:
            sample_weight = align_weights(y_pred, sample_weight)
    if top_k is not None:
        y_pred = _only_top(y_pred, top_k)
    if class_id is not None:
        y_true, y_pred = y_true[..., class_id], y_pred[..., class_id]
    return _update_all(variables, y_true, y_pred, thresholds, sample_weight)


def _update_all(
    variables: dict[str, Any], y_true: Any, y_pred: Any, thresholds: list[Any], weights: Any
) -> Operation:
    count, size = len(thresholds), tf.size(y_pred)
    predictions = tf.reshape(y_pred, [1, -1])
    labels = tf.reshape(tf.cast(y_true, dtype=tf.bool), [1, -1])
    tiled = tf.tile(tf.expand_dims(tf.constant(thresholds), 1), tf.stack([1, size]))
    prediction = {True: tf.greater(tf.tile(predictions, [count, 1]), tiled)}
    label = {True: tf.tile(labels, [count, 1])}
    if weights is not None:
        weights = broadcast_weights(tf.cast(weights, dtype=tf.float32), y_pred)
        weights = tf.tile(tf.reshape(weights, [1, -1]), [count, 1])
    if {"false_negatives", "true_negatives"} & set(variables):
        prediction[False] = tf.logical_not(prediction[True])
    if {"false_positives", "true_negatives"} & set(variables):
        label[False] = tf.logical_not(label[True])
    updates = []
    for name, (label_sign, prediction_sign) in _CONDITIONS.items():
        if name in variables:
            both = tf.logical_and(label[label_sign], prediction[prediction_sign])
            counted = tf.cast(both, dtype=tf.float32)
            if weights is not None:
                counted *= weights
            updates.append(variables[name].assign_add(tf.reduce_sum(counted, 1)))
    return tf.group(updates)


class _Counting(Metric):
    """A metric that counts at thresholds.

    Attributes:
      counted: the names of what it counts.
      thresholds: where predictions become positive.
    """

    counted: tuple[str, ...]
    thresholds: list[Any]

    def _add_counts(self) -> None:
        for name in self.counted:
            setattr(self, name, self._add_zeros(name, (len(self.thresholds),)))

    def _counts(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.counted}

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Operation:
        """Add predictions, each with a weight that is broadcast to them."""
        return update_counts(
            self._counts(), y_true, y_pred, thresholds=self.thresholds,
            top_k=getattr(self, "top_k", None), class_id=getattr(self, "class_id", None),
            sample_weight=sample_weight,
        )  # fmt: skip

    def reset_states(self) -> None:
        """Set the counts to 0."""
        batch_set_value([(v, np.zeros((len(self.thresholds),))) for v in self.variables])


class _ConditionCount(_Counting):
    """One of the four counts.

    Args:
      thresholds: one or several; 0.5 by default.
    """

    def __init__(self, thresholds: Any = None, name: Any = None, dtype: Any = None) -> None:
        super().__init__(name=name, dtype=dtype)
        self.init_thresholds, self.thresholds = thresholds, _thresholds(thresholds)
        self.accumulator = self._add_zeros("accumulator", (len(self.thresholds),))

    def _counts(self) -> dict[str, Any]:
        return {self.counted[0]: self.accumulator}

    def result(self) -> Any:
        """Return the count, or one for each threshold."""
        one = len(self.thresholds) == 1
        return convert_to_tensor(self.accumulator[0] if one else self.accumulator)

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        return {**super().get_config(), "thresholds": self.init_thresholds}


@export("keras.metrics.FalsePositives")
class FalsePositives(_ConditionCount):
    """The number of negative targets predicted as positive."""

    counted = ("false_positives",)


@export("keras.metrics.FalseNegatives")
class FalseNegatives(_ConditionCount):
    """The number of positive targets predicted as negative."""

    counted = ("false_negatives",)


@export("keras.metrics.TrueNegatives")
class TrueNegatives(_ConditionCount):
    """The number of negative targets predicted as such."""

    counted = ("true_negatives",)


@export("keras.metrics.TruePositives")
class TruePositives(_ConditionCount):
    """The number of positive targets predicted as such."""

    counted = ("true_positives",)


class _Share(_Counting):
    """True positives as a part of something.

    Args:
      thresholds: one or several; 0.5 by default, and none with `top_k`.
      top_k: how many predictions of an example may be positive.
      class_id: the only class that counts.
    """

    def __init__(
        self,
        thresholds: Any = None,
        top_k: int | None = None,
        class_id: int | None = None,
        name: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(name=name, dtype=dtype)
        self.init_thresholds, self.top_k, self.class_id = thresholds, top_k, class_id
        self.thresholds = _thresholds(thresholds, 0.5 if top_k is None else _NEVER)
        self._add_counts()

    def result(self) -> Any:
        """Return the part, or one for each threshold."""
        right, wrong = self._counts().values()
        result = tf.math.divide_no_nan(right, right + wrong)
        return result[0] if len(self.thresholds) == 1 else result

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        config = {"top_k": self.top_k, "class_id": self.class_id}
        return {**super().get_config(), "thresholds": self.init_thresholds, **config}


@export("keras.metrics.Precision")
class Precision(_Share):
    """The part of positive predictions that is right."""

    counted = ("true_positives", "false_positives")


@export("keras.metrics.Recall")
class Recall(_Share):
    """The part of positive targets that is predicted."""

    counted = ("true_positives", "false_negatives")


class _AtValue(_Counting):
    """One rate where another one has a value.

    Args:
      value: of the other rate.
      num_thresholds: how many thresholds are tried.
    """

    counted = ("true_positives", "true_negatives", "false_positives", "false_negatives")
    # The counts whose rate is given, and those whose rate is the result.
    given: tuple[str, str]
    wanted: tuple[str, str]

    def __init__(self, value: float, num_thresholds: int, name: Any, dtype: Any) -> None:
        if not 0 <= value <= 1:
            raise ValueError(f"`{self._argument}` must be in the range [0, 1].")
        super().__init__(name=name, dtype=dtype)
        if num_thresholds <= 0:
            raise ValueError("`num_thresholds` must be > 0.")
        self.value, self.num_thresholds = value, num_thresholds
        setattr(self, self._argument, value)  # the attribute that programs read
        inner = even_thresholds(num_thresholds)
        self.thresholds = [0.5] if num_thresholds == 1 else [0.0, *inner, 1.0]
        self._add_counts()

    _argument: str

    def result(self) -> Any:
        """Return the rate at the threshold where the other one is nearest to the value."""
        right, wrong = (getattr(self, name) for name in self.given)
        rates = tf.math.divide_no_nan(right, right + wrong)
        place = tf.cast(tf.argmin(tf.abs(rates - self.value), axis=0), tf.int32)
        right, wrong = (getattr(self, name) for name in self.wanted)
        return tf.math.divide_no_nan(right[place], right[place] + wrong[place])

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        config = {"num_thresholds": self.num_thresholds, self._argument: self.value}
        return {**super().get_config(), **config}


_NEGATIVES = ("true_negatives", "false_positives")
_POSITIVES = ("true_positives", "false_negatives")


@export("keras.metrics.SensitivityAtSpecificity")
class SensitivityAtSpecificity(_AtValue):
    """The part of positive targets found, where a part of the negative ones is."""

    given, wanted, _argument = _NEGATIVES, _POSITIVES, "specificity"

    def __init__(
        self, specificity: float, num_thresholds: int = 200, name: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(specificity, num_thresholds, name, dtype)


@export("keras.metrics.SpecificityAtSensitivity")
class SpecificityAtSensitivity(_AtValue):
    """The part of negative targets found, where a part of the positive ones is."""

    given, wanted, _argument = _POSITIVES, _NEGATIVES, "sensitivity"

    def __init__(
        self, sensitivity: float, num_thresholds: int = 200, name: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(sensitivity, num_thresholds, name, dtype)


@export("keras.metrics.AUC")
class AUC(_Counting):
    """The area under a curve.

    Args:
      num_thresholds: how many points the curve has.
      curve: "ROC" or "PR" (precision and recall), or an `AUCCurve`.
      summation_method: "interpolation", "minoring" or "majoring", or an `AUCSummationMethod`.
      thresholds: the points instead, between 0 and 1.

    Raises:
      ValueError: for too few points, or another curve or method.
    """

    counted = ("true_positives", "true_negatives", "false_positives", "false_negatives")

    def __init__(
        self,
        num_thresholds: int = 200,
        curve: str | AUCCurve = "ROC",
        summation_method: str | AUCSummationMethod = "interpolation",
        name: Any = None,
        dtype: Any = None,
        thresholds: Any = None,
    ) -> None:
        if thresholds is not None:
            num_thresholds, inner = len(thresholds) + 2, sorted(thresholds)
        elif num_thresholds <= 1:
            raise ValueError("`num_thresholds` must be > 1.")
        else:
            inner = even_thresholds(num_thresholds)
        if isinstance(curve, str):
            curve = AUCCurve.from_str(curve)
        if isinstance(summation_method, str):
            summation_method = AUCSummationMethod.from_str(summation_method)
        super().__init__(name=name, dtype=dtype)
        self.num_thresholds = num_thresholds
        self.thresholds = [0.0 - epsilon(), *inner, 1.0 + epsilon()]
        self.curve, self.summation_method = curve, summation_method
        self._add_counts()

    def result(self) -> Any:
        """Return the area."""
        interpolates = self.summation_method is AUCSummationMethod.INTERPOLATION
        if self.curve is AUCCurve.PR and interpolates:
            return self._interpolated_pr()
        tp, tn, fp, fn = self._counts().values()
        recall = tf.math.divide_no_nan(tp, tp + fn)
        if self.curve is AUCCurve.ROC:
            x, y = tf.math.divide_no_nan(fp, fp + tn), recall
        else:
            x, y = recall, tf.math.divide_no_nan(tp, tp + fp)
        last = self.num_thresholds - 1
        if interpolates:
            heights = (y[:last] + y[1:]) / 2.0
        elif self.summation_method is AUCSummationMethod.MINORING:
            heights = tf.minimum(y[:last], y[1:])
        else:
            heights = tf.maximum(y[:last], y[1:])
        return tf.reduce_sum(tf.multiply(x[:last] - x[1:], heights), name=self.name)

    def _interpolated_pr(self) -> Tensor:
        """Return the area under the curve that interpolates counts (Davis, 2006)."""
        tp, _, fp, fn = self._counts().values()
        last = self.num_thresholds - 1
        found = tp[:last] - tp[1:]
        p = tp + fp
        slope = tf.math.divide_no_nan(found, tf.maximum(p[:last] - p[1:], 0), name="prec_slope")
        intercept = tp[1:] - tf.multiply(slope, p[1:])
        ratio = tf.where(
            tf.logical_and(p[:last] > 0, p[1:] > 0),
            tf.math.divide_no_nan(p[:last], tf.maximum(p[1:], 0), name="recall_relative_ratio"),
            tf.ones_like(p[1:]),
        )
        increment = tf.math.divide_no_nan(
            slope * (found + intercept * tf.log(ratio)), tf.maximum(tp[1:] + fn[1:], 0),
            name="pr_auc_increment",
        )  # fmt: skip
        return tf.reduce_sum(increment, name="interpolate_pr_auc")

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        return {
            **super().get_config(),
            "num_thresholds": self.num_thresholds,
            "curve": self.curve.value,
            "summation_method": self.summation_method.value,
            "thresholds": self.thresholds[1:-1],
        }
