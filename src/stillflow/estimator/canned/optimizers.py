"""The optimizer of a canned estimator, from its name, a function or an object."""

from __future__ import annotations

from typing import Any

from stillflow.train.adagrad import AdagradOptimizer
from stillflow.train.adam import AdamOptimizer
from stillflow.train.ftrl import FtrlOptimizer
from stillflow.train.gradient_descent import GradientDescentOptimizer
from stillflow.train.optimizer import Optimizer
from stillflow.train.rmsprop import RMSPropOptimizer

_BY_NAME = {
    "Adagrad": AdagradOptimizer, "Adam": AdamOptimizer, "Ftrl": FtrlOptimizer,
    "RMSProp": RMSPropOptimizer, "SGD": GradientDescentOptimizer,
}  # fmt: skip


def get_optimizer_instance(opt: Any, learning_rate: float | None = None) -> Optimizer:
    """Return an optimizer: of a name and learning rate, or as it is or a function makes it."""
    if isinstance(opt, str):
        if opt not in _BY_NAME:
            raise ValueError(
                f"Unsupported optimizer name: {opt}. Supported names are: {tuple(sorted(_BY_NAME))}"
            )
        if not learning_rate:
            raise ValueError("learning_rate must be specified when opt is string.")
        return _BY_NAME[opt](learning_rate=learning_rate)
    made = opt() if callable(opt) else opt
    if not isinstance(made, Optimizer):
        raise ValueError(f"The given object is not an Optimizer instance. Given: {made}")
    return made
