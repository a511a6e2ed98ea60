"""`tf.contrib.eager.metrics`: metrics as objects, before Keras had them."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

import stillflow as tf
from stillflow.graph.export import export, redefinable
from stillflow.graph.graph import get_default_graph
from stillflow.graph.operation import Operation, Tensor
from stillflow.train.tracking.base import Trackable

_NOT_IN_SCOPES = re.compile("[^A-Za-z0-9.]")


@export("contrib.eager.metrics.Metric")
class Metric(Trackable):
    """Variables that each call updates, and a result made of them.

    A subclass defines `build(...)`, which makes the variables with `add_variable`, `call(...)`,
    which updates them, and `result()`.

    Args:
      name: of the metric; that of its class by default.
      use_global_variables: whether its variables are global ones in a graph, and not local.
    """

    def __init__(self, name: str | None = None, use_global_variables: bool = False) -> None:
        self._built = False
        self._vars: list[Any] = []
        self._initial_values: dict[int, Any] = {}
        self._use_global_variables = use_global_variables
        name = name or type(self).__name__
        scope_name = _NOT_IN_SCOPES.sub("_", name)
        with tf.variable_scope(scope_name, use_resource=True, reuse=False) as scope:
            after = scope.name.rfind(scope_name) + len(scope_name)
            self._name, self._scope = name + scope.name[after:], scope
        self.build = functools.partial(self._build_once, self.build)  # type: ignore[method-assign]
        self._home = get_default_graph()
        if not self._home.runs_at_once:
            self.call = tf.contrib.eager.defun(self.call)  # type: ignore[method-assign]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Update the variables, which the first call makes; return the result of `call`."""
        if not self._built:
            with tf.variable_scope(self._scope), self._home.as_default():
                self.build(*args, **kwargs)
        return self.call(*args, **kwargs)

    def _build_once(self, build: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
        """Call the class's `build`; a later call of the metric makes no variables again."""
        build(*args, **kwargs)
        self._built = True

    @property
    def name(self) -> str:
        return self._name

    @property
    def variables(self) -> list[Any]:
        """The variables, in the order in which they were made."""
        return self._vars

    def init_variables(self) -> Operation | None:
        """Reset the variables to their initial values.

        In a graph, return an operation that does.
        """
        if not tf.executing_eagerly():
            return tf.group([variable.initializer for variable in self._vars])
        for variable in self._vars:
            variable.assign(self._initial_values[id(variable)])
        return None

    def build(self, *args: Any, **kwargs: Any) -> None:
        """Make the variables, for the arguments of the first call."""
        raise NotImplementedError("Metrics must define a build() member function")

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Update the variables."""
        raise NotImplementedError("Metrics must define a call() member function")

    def result(self) -> Any:
        """Return the value of the metric."""
        raise NotImplementedError("Metrics must define a result() member function")

    def value(self) -> Any:
        """Return the result.

        Where operations run when they are called, the function that gives it.
        """
        return self.result if tf.executing_eagerly() else self.result()

    def aggregate(self, metrics: Any) -> None:
        """Add the variables of other metrics of this class to those of this one.

        Raises:
          TypeError: if one is of another class.
          ValueError: if one has other variables.
        """
        for metric in metrics:
            if type(self) is not type(metric):
                raise TypeError(
                    f"All metrics must be the same type, '{type(self)}' != '{type(metric)}'."
                )
        for i, variable in enumerate(self._vars):
            others = [metric._vars[i] for metric in metrics]
            if any(other.name != variable.name for other in others):
                raise ValueError("All metrics must have variables in the same order.")
            variable.assign_add(tf.add_n(others))

    def add_variable(
        self, name: str, shape: Any = None, dtype: Any = None, initializer: Any = None
    ) -> Any:
        """Make a variable; for `build`.

        Raises:
          RuntimeError: if it is called elsewhere.
        """
        if self._built:
            raise RuntimeError("Can't call add_variable() except in build().")
        collections = None
        if not tf.executing_eagerly():
            keys = tf.GraphKeys
            kind = keys.GLOBAL_VARIABLES if self._use_global_variables else keys.LOCAL_VARIABLES
            collections = [kind, keys.METRIC_VARIABLES]
        variable = tf.get_variable(
            name, shape, dtype, initializer, trainable=False, collections=collections,
            use_resource=True,
        )  # fmt: skip
        self._track_trackable(variable, name, overwrite=True)
        self._vars.append(variable)
        if tf.executing_eagerly():
            self._initial_values[id(variable)] = variable.value()
        return variable


@export("contrib.eager.metrics.Mean")
class Mean(Metric):
    """The weighted mean of values.

    Args:
      name: of the metric.
      dtype: of its variables.
      use_global_variables: whether these are global ones in a graph, and not local.
    """

    def __init__(
        self, name: str | None = None, dtype: Any = tf.float64, use_global_variables: bool = False
    ) -> None:
        super().__init__(name=name, use_global_variables=use_global_variables)
        self.dtype = dtype

    def build(self, *args: Any, **kwargs: Any) -> None:
        """Make the sums of values and of weights."""
        del args, kwargs
        self.numer, self.denom = (
            self.add_variable(name, (), self.dtype, tf.zeros_initializer)
            for name in ("numer", "denom")
        )

    @redefinable
    def call(self, values: Any, weights: Any = None) -> Tensor | tuple[Tensor, Tensor]:
        """Add values, each with a weight, by default 1; give the arguments."""

        def add(total: Any, amount: Any) -> Any:
            total.assign_add(tf.cast(amount, self.dtype))
            return amount

        if weights is None:
            add(self.denom, tf.identity(tf.size(values)))
            return add(self.numer, tf.reduce_sum(values))
        weights = tf.cast(weights, self.dtype)
        add(self.denom, tf.reduce_sum(weights))
        weighted = tf.cast(values, self.dtype) * weights
        add(self.numer, tf.reduce_sum(weighted))
        return weighted, weights

    def result(self, write_summary: Any = True) -> Any:
        """Return the mean; written as a summary too, if summaries are recorded."""
        mean = self.numer / self.denom

        def written() -> Tensor:
            tf.contrib.summary.scalar(name=self.name, tensor=mean)
            return mean

        if not isinstance(write_summary, tf.Tensor):
            write_summary = tf.convert_to_tensor(write_summary)
        tf.contrib.framework.smart_cond(write_summary, written, lambda: mean, name="")
        return mean


class _Matches(Mean):
    """The mean of how often predictions match labels."""

    def __init__(self, name: str | None = None, dtype: Any = tf.float64) -> None:
        super().__init__(name=name, dtype=dtype)

    def _add(self, labels: Any, predictions: Any, matches: Any, weights: Any) -> Any:
        """Add matches; give the arguments of the call."""
        super().call(tf.cast(matches, self.dtype), weights=weights)
        return (labels, predictions) if weights is None else (labels, predictions, weights)


def _check_same_shape(labels: Any, predictions: Any) -> None:
    tf.assert_equal(
        tf.shape(labels), tf.shape(predictions),
        message="Shapes of labels and predictions are unequal",
    )  # fmt: skip


@export("contrib.eager.metrics.Accuracy")
class Accuracy(_Matches):
    """Share of right predictions of class numbers."""

    def call(self, labels: Any, predictions: Any, weights: Any = None) -> tuple[Tensor, Tensor]:
        """Add labels and predictions of the same shape and type."""
        _check_same_shape(labels, predictions)
        return self._add(labels, predictions, tf.equal(labels, predictions), weights)


@export("contrib.eager.metrics.CategoricalAccuracy")
class CategoricalAccuracy(_Matches):
    """Share of examples whose most probable class has the label 1."""

    def call(self, labels: Any, predictions: Any, weights: Any = None) -> tuple[Tensor, Tensor]:
        """Add one-hot labels, and probabilities of the same shape."""
        _check_same_shape(labels, predictions)
        labels, predictions = tf.argmax(labels, axis=-1), tf.argmax(predictions, axis=-1)
        return self._add(labels, predictions, tf.equal(labels, predictions), weights)


@export("contrib.eager.metrics.BinaryAccuracy")
class BinaryAccuracy(_Matches):
    """Share of predictions on the right side of a threshold.

    Args:
      threshold: above it a prediction is 1, else 0.
      name: of the metric.
      dtype: of its variables.
    """

    def __init__(self, threshold: Any, name: str | None = None, dtype: Any = tf.float64) -> None:
        super().__init__(name=name, dtype=dtype)
        self.threshold = threshold

    def call(self, labels: Any, predictions: Any, weights: Any = None) -> tuple[Tensor, Tensor]:
        """Add labels, 0 or 1, and predictions of the same shape and type."""
        _check_same_shape(labels, predictions)
        predictions = tf.convert_to_tensor(predictions) > self.threshold
        labels = tf.cast(labels, tf.bool)
        return self._add(labels, predictions, tf.equal(labels, predictions), weights)


@export("contrib.eager.metrics.SparseAccuracy")
class SparseAccuracy(_Matches):
    """Share of examples whose most probable class is the label."""

    def call(self, labels: Any, predictions: Any, weights: Any = None) -> tuple[Tensor, Tensor]:
        """Add numbers of classes, and probabilities with a dimension more."""
        tf.assert_equal(
            tf.shape(labels), tf.shape(predictions)[0],
            message="First axis of labels and predictions is unequal",
        )  # fmt: skip
        predictions, labels = tf.argmax(predictions, axis=-1), tf.cast(labels, tf.int64)
        return self._add(labels, predictions, tf.equal(labels, predictions), weights)
