"""Models of Keras as estimators of scikit-learn."""

from __future__ import annotations

import copy
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from stillflow.graph.arrays import Array
from stillflow.graph.export import export
from stillflow.keras.callbacks.base import History
from stillflow.keras.engine.sequential import Sequential
from stillflow.keras.utils.arrays import to_categorical
from stillflow.util import tf_inspect


def _takes(function: Any, name: str) -> bool:
    spec = tf_inspect.getfullargspec(function)
    return name in spec.args or name in spec.kwonlyargs


def _is_categorical(loss: Any) -> bool:
    """Return True if a loss, a function or name of one, compares distributions of classes."""
    function = getattr(loss, "fn", loss)
    return bool(getattr(function, "__name__", function) == "categorical_crossentropy")


class BaseWrapper:
    """A function that makes a model, and the arguments of it and of the model's methods.

    Args:
      build_fn: gives a compiled model; by default the object itself does, if it can be called.
      **sk_params: arguments of `build_fn`, and of `fit`, `predict`, `predict_classes` and
        `evaluate`.

    Raises:
      ValueError: if none of these takes an argument.
    """

    __call__: Callable[..., Any]
    model: Any

    def __init__(self, build_fn: Any = None, **sk_params: Any) -> None:
        self.build_fn, self.sk_params = build_fn, sk_params
        self.check_params(sk_params)

    def _builder(self) -> Callable[..., Any]:
        """Return the model's constructor, as a callable whose arguments can be inspected."""
        if self.build_fn is None:
            return self.__call__
        if isinstance(self.build_fn, (types.FunctionType, types.MethodType)):
            return self.build_fn
        return self.build_fn.__call__

    def check_params(self, params: dict[str, Any]) -> None:
        """Check arguments.

        Raises:
          ValueError: if nothing takes one.
        """
        known = [
            Sequential.fit, Sequential.predict, Sequential.predict_classes, Sequential.evaluate,
            self._builder(),
        ]  # fmt: skip
        for name in params:
            if name != "nb_epoch" and not any(_takes(function, name) for function in known):
                raise ValueError(f"{name} is not a legal parameter")

    def get_params(self, **params: Any) -> dict[str, Any]:
        """Return the arguments of the constructor."""
        return {**copy.deepcopy(self.sk_params), "build_fn": self.build_fn}

    def set_params(self, **params: Any) -> BaseWrapper:
        """Set arguments; give the object itself.

        Raises:
          ValueError: if nothing takes one.
        """
        self.check_params(params)
        self.sk_params.update(params)
        return self

    def fit(self, x: Any, y: Any, **kwargs: Any) -> History:
        """Make the model and train it.

        Args:
          x: [examples, ...].
          y: targets; classes become ones and zeros for a categorical crossentropy.
          **kwargs: of the model's `fit`.

        Returns:
          The history.
        """
        builder = self._builder()
        self.model = builder(**self.filter_sk_params(builder))
        if _is_categorical(self.model.loss) and len(y.shape) != 2:
            y = to_categorical(y)
        given = {**copy.deepcopy(self.filter_sk_params(Sequential.fit)), **kwargs}
        return self.model.fit(x, y, **given)

    def filter_sk_params(self, fn: Any, override: Any = None) -> dict[str, Any]:
        """Return the arguments that a function takes, and others that go before them."""
        own = {name: value for name, value in self.sk_params.items() if _takes(fn, name)}
        return {**own, **(override or {})}


@export("keras.wrappers.scikit_learn.KerasClassifier")
class KerasClassifier(BaseWrapper):
    """A model of classes.

    Args:
      See `BaseWrapper`.
    """

    def fit(self, x: Any, y: Any, **kwargs: Any) -> History:
        """Make the model and train it.

        Args:
          x: [examples, ...].
          y: [examples] classes of any kind, or [examples, classes] ones and zeros.
          **kwargs: of the model's `fit`.

        Returns:
          The history.

        Raises:
          ValueError: if `y` has another shape.
        """
        y = np.array(y)
        if y.ndim == 2 and y.shape[1] > 1:
            self.classes_ = np.arange(y.shape[1])
        elif y.ndim == 1 or (y.ndim == 2 and y.shape[1] == 1):
            self.classes_ = np.unique(y)
            y = np.searchsorted(self.classes_, y)
        else:
            raise ValueError(f"Invalid shape for y: {y.shape}")
        self.n_classes_ = len(self.classes_)
        return super().fit(x, y, **kwargs)

    def predict(self, x: Any, **kwargs: Any) -> Array:
        """Return the classes of examples."""
        given = self.filter_sk_params(Sequential.predict_classes, kwargs)
        return self.classes_[self.model.predict_classes(x, **given)]

    def predict_proba(self, x: Any, **kwargs: Any) -> Array:
        """Return the probabilities of the classes, [examples, classes].

        Of two also for one output.
        """
        given = self.filter_sk_params(Sequential.predict_proba, kwargs)
        found = self.model.predict_proba(x, **given)
        return np.hstack([1 - found, found]) if found.shape[1] == 1 else found

    def score(self, x: Any, y: Any, **kwargs: Any) -> np.float32:
        """Return the part of examples whose class is right.

        Raises:
          ValueError: if the model was compiled without the metric.
        """
        y = np.searchsorted(self.classes_, y)
        if _is_categorical(self.model.loss) and len(y.shape) != 2:
            y = to_categorical(y)
        found = self.model.evaluate(x, y, **self.filter_sk_params(Sequential.evaluate, kwargs))
        found = found if isinstance(found, list) else [found]
        for name, value in zip(self.model.metrics_names, found, strict=False):
            if name in ("accuracy", "acc"):
                return value
        raise ValueError(
            "The model is not configured to compute accuracy. You should pass "
            '`metrics=["accuracy"]` to the `model.compile()` method.'
        )


@export("keras.wrappers.scikit_learn.KerasRegressor")
class KerasRegressor(BaseWrapper):
    """A model of numbers.

    Args:
      See `BaseWrapper`.
    """

    def predict(self, x: Any, **kwargs: Any) -> Array:
        """Return the numbers for examples."""
        given = self.filter_sk_params(Sequential.predict, kwargs)
        return np.squeeze(self.model.predict(x, **given))

    def score(self, x: Any, y: Any, **kwargs: Any) -> np.float64:
        """Return the loss, negative."""
        given = self.filter_sk_params(Sequential.evaluate, kwargs)
        loss = self.model.evaluate(x, y, **given)
        return -loss[0] if isinstance(loss, list) else -loss
