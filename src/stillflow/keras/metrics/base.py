"""Metrics as objects: variables that are updated by each batch, and a result made of them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

import stillflow as tf
from stillflow.distribute.context import (
    get_replica_context,
    get_strategy,
    has_strategy,
    in_cross_replica_context,
)
from stillflow.graph.api import control_dependencies, init_scope
from stillflow.graph.export import export, redefinable
from stillflow.graph.operation import Tensor
from stillflow.keras.backend.config import floatx
from stillflow.keras.backend.session import batch_set_value, eval_
from stillflow.keras.losses.alignment import align_targets, align_weights
from stillflow.keras.metrics.ragged import ragged_assert_compatible_and_get_flat_values
from stillflow.layers.base_layer import Layer
from stillflow.layers.symbolic_graph import graph_of_symbolic
from stillflow.losses.weights import broadcast_weights
from stillflow.variables.base import VariableAggregation, VariableSynchronization

if TYPE_CHECKING:
    from stillflow.variables.resource_variable import BaseResourceVariable

_OWN_MODULES = "stillflow.keras.metrics"


@export("keras.metrics.Metric")
class Metric(Layer):
    """A value over many batches; a subclass defines `update_state(...)` and `result()`.

    Args:
      name: of the metric.
      dtype: of its variables; Keras' default one by default.
    """

    update_state: Callable[..., Any]
    result: Callable[..., Any]
    _call_result: Any  # of the last call

    def __new__(cls, *args: Any, **kwargs: Any) -> Metric:
        metric = super().__new__(cls)
        # Set past the tracking of attributes: they hide the methods of the class.
        metric.__dict__["update_state"] = _updating(metric, metric.update_state)
        metric.__dict__["result"] = _resulting(metric, metric.result)
        return metric

    def __init__(self, name: Any = None, dtype: Any = None, **kwargs: Any) -> None:
        super().__init__(name=name, dtype=dtype, **kwargs)
        self.stateful = self.built = True
        self._dtype = floatx() if dtype is None else tf.as_dtype(dtype).name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Update the variables and give the result afterwards; as `update_state`."""

        def update(*args: Any, **kwargs: Any) -> Any:
            with control_dependencies([self.update_state(*args, **kwargs)]):
                result = self.result()
                result._metric_obj = self
                return result

        if has_strategy() and in_cross_replica_context():
            return get_strategy().extended.call_for_each_replica(update, args, kwargs)
        return update(*args, **kwargs)

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        return {"name": self.name, "dtype": self.dtype}

    def reset_states(self) -> None:
        """Set the variables to 0."""
        batch_set_value([(v, np.zeros(v.shape.as_list())) for v in self.variables])

    def add_weight(
        self,
        name: str,
        shape: Any = (),
        aggregation: Any = VariableAggregation.SUM,
        synchronization: Any = VariableSynchronization.ON_READ,
        initializer: Any = None,
        dtype: Any = None,
    ) -> Any:
        """Make a variable of the metric, which belongs to no collection."""
        return super().add_weight(
            name=name, shape=shape, dtype=dtype or self._dtype, trainable=False,
            initializer=initializer, collections=[], synchronization=synchronization,
            aggregation=aggregation,
        )  # fmt: skip

    def _add_zeros(self, name: str, shape: Any = (), dtype: Any = None) -> Any:
        return self.add_weight(name, shape, initializer=tf.zeros_initializer, dtype=dtype)


def _updating(metric: Metric, update_state: Callable[..., Any]) -> Callable[..., Any]:
    if not type(metric).__module__.startswith(_OWN_MODULES):
        update_state = tf.function(update_state)

    @functools.wraps(update_state)
    def update(*args: Any, **kwargs: Any) -> Any:
        with graph_of_symbolic(args, kwargs):
            op = update_state(*args, **kwargs)
        if op is not None:
            metric.add_update(op)
        return op

    return update


def _resulting(metric: Metric, result: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(result)
    def resulting(*args: Any) -> Tensor:
        replica = get_replica_context()
        if not has_strategy() or replica is None:
            metric._call_result = tf.identity(result(*args))
        else:  # once, from all replicas' counts
            metric._call_result = replica.merge_call(
                lambda strategy, *whole: tf.identity(result(*whole)), args=args
            )
        return metric._call_result

    return resulting


class Reduce(Metric):
    """A sum or a mean of values.

    Args:
      reduction: "sum", "sum_over_batch_size" or "weighted_mean".
    """

    def __init__(self, reduction: str, name: Any, dtype: Any = None) -> None:
        super().__init__(name=name, dtype=dtype)
        self.reduction = reduction
        with init_scope():
            self.total = self._add_zeros("total")
            if reduction != "sum":
                self.count = self._add_zeros("count")

    @redefinable
    def update_state(self, values: Any, sample_weight: Any = None) -> BaseResourceVariable:
        """Add values, each with a weight that is broadcast to them."""
        values, sample_weight = ragged_assert_compatible_and_get_flat_values(values, sample_weight)
        values = tf.cast(values, self._dtype)
        if sample_weight is not None:
            sample_weight = align_weights(values, tf.cast(sample_weight, self._dtype))
            values, sample_weight = self._fit(values, sample_weight)
            values = tf.multiply(values, sample_weight)
        total = tf.reduce_sum(values)
        with control_dependencies([total]):
            update_total = self.total.assign_add(total)
        if self.reduction == "sum":
            return update_total
        if self.reduction == "weighted_mean" and sample_weight is not None:
            count = tf.reduce_sum(sample_weight)
        else:
            count = tf.cast(tf.size(values), self._dtype)
        with control_dependencies([update_total]):
            return self.count.assign_add(count)

    def _fit(self, values: Any, sample_weight: Any) -> tuple[Any, Any]:
        """Weights in the shape of values; values are reduced if those are coarser."""
        try:
            return values, broadcast_weights(sample_weight, values)
        except ValueError:
            axes = list(range(sample_weight.shape.ndims, values.shape.ndims))
            reduce = tf.reduce_sum if self.reduction == "sum" else tf.reduce_mean
            return reduce(values, axis=axes), sample_weight

    def result(self) -> Any:
        """Return the sum, or the sum divided by the weights."""
        if self.reduction == "sum":
            return tf.identity(self.total)
        return tf.math.divide_no_nan(self.total, self.count)


@export("keras.metrics.Sum")
class Sum(Reduce):
    """The weighted sum of values."""

    def __init__(self, name: str = "sum", dtype: Any = None) -> None:
        super().__init__(reduction="sum", name=name, dtype=dtype)


@export("keras.metrics.Mean")
class Mean(Reduce):
    """The weighted mean of values."""

    def __init__(self, name: Any = "mean", dtype: Any = None) -> None:
        super().__init__(reduction="weighted_mean", name=name, dtype=dtype)


class MeanMetricWrapper(Mean):
    """The mean of a function of targets and predictions.

    Args:
      fn: `f(y_true, y_pred, **kwargs)`.
      **kwargs: arguments of the function.
    """

    def __init__(
        self, fn: Callable[..., Any], name: Any = None, dtype: Any = None, **kwargs: Any
    ) -> None:
        super().__init__(name=name, dtype=dtype)
        self._fn, self._fn_kwargs = fn, kwargs

    def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Any:
        """Add the function's values, each with a weight that is broadcast to them."""
        given = [tf.cast(values, self._dtype) for values in (y_true, y_pred)]
        flat, weight = ragged_assert_compatible_and_get_flat_values(given, sample_weight)
        predictions, targets = align_targets(*reversed(flat))
        values = self._fn(targets, predictions, **self._fn_kwargs)
        return super().update_state(values, sample_weight=weight)

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments, without the function."""
        kwargs = {k: eval_(v) if tf.is_tensor(v) else v for k, v in self._fn_kwargs.items()}
        return {**super().get_config(), **kwargs}


def clone_metric(metric: Any) -> Any:
    """Another metric with the same arguments; anything else as it is."""
    if not isinstance(metric, Metric):
        return metric
    with init_scope():
        return type(metric).from_config(metric.get_config())


def clone_metrics(metrics: Any) -> dict[Any, Any] | list[Any] | None:
    """Clones of the metrics in a list or dictionary."""
    if metrics is None:
        return None
    if isinstance(metrics, dict):
        return {key: clone_metric(value) for key, value in metrics.items()}
    return [clone_metric(metric) for metric in metrics]
