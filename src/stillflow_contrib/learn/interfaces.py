"""Interfaces of training and evaluation, with access to parameters."""

from __future__ import annotations

import abc
from typing import Any

from stillflow.graph.export import export


@export("contrib.learn.NotFittedError")
class NotFittedError(ValueError, AttributeError):
    """A model is used before it was trained."""


@export("contrib.learn.Trainable")
class Trainable(abc.ABC):
    """Interface of objects that can be trained."""

    @abc.abstractmethod
    def fit(
        self, x: Any = None, y: Any = None, input_fn: Any = None, steps: int | None = None,
        batch_size: int | None = None, monitors: Any = None, max_steps: int | None = None,
    ) -> Any:  # fmt: skip
        """Trains."""
        raise NotImplementedError


@export("contrib.learn.Evaluable")
class Evaluable(abc.ABC):
    """Interface of objects that can be evaluated."""

    @property
    @abc.abstractmethod
    def model_dir(self) -> Any:
        """The folder of the checkpoints."""
        raise NotImplementedError

    @abc.abstractmethod
    def evaluate(
        self, x: Any = None, y: Any = None, input_fn: Any = None, feed_fn: Any = None,
        batch_size: int | None = None, steps: int | None = None, metrics: Any = None,
        name: str | None = None, checkpoint_path: Any = None, hooks: Any = None,
    ) -> Any:  # fmt: skip
        """Return {metric: value}."""
        raise NotImplementedError


class Parametrized:
    """Parameters as scikit-learn reads and sets them: the attributes that are not private."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters; with those of parameters, as `name__parameter`, if `deep`."""
        found: dict[str, Any] = {}
        for name, value in vars(self).items():
            if name.startswith("_") or callable(value):
                continue
            if deep and hasattr(value, "get_params"):
                inner = value.get_params().items()
                found.update((f"{name}__{key}", item) for key, item in inner)
            found[name] = value
        return found

    def set_params(self, **params: Any) -> Parametrized:
        """Set parameters, as `get_params` names them.

        Raises:
          ValueError: if there is no such parameter.
        """
        valid = self.get_params(deep=True)
        for key, value in params.items():
            name, is_inner, inner = key.partition("__")
            if (name if is_inner else key) not in valid:
                owner = self if is_inner else type(self).__name__
                raise ValueError(
                    f"Invalid parameter {name} for estimator {owner}. Check the list of available "
                    "parameters with `estimator.get_params().keys()`."
                )
            if is_inner:
                valid[name].set_params(**{inner: value})
            else:
                setattr(self, key, value)
        return self

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value}" for name, value in self.get_params(False).items())
        return f"{type(self).__name__}({shown})"
