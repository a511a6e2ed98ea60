"""Models that `compile` was given a strategy for: replicas run copies, with variables of their own.

There is a copy for training, one for evaluation and one for prediction. It begins with the weights
that the model has by then, and the model gets its weights when it is done.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.keras.engine.modes import TRAIN
from stillflow.keras.optimizers.tf_optimizer import TFOptimizer
from stillflow.platform import tf_logging as logging


def copies_for(model: Any, mode: str) -> Any:
    """Return the replicas' models of a mode, one for each: the model itself, or copies."""
    if not model._compile_distribution:
        return model
    if mode not in model._replica_copies:
        strategy = model._distribution_strategy
        made = strategy.extended.call_for_each_replica(_copy, args=(model,))
        model._replica_copies[mode] = made
        if mode == TRAIN:
            model._callback_model = CallbackModel(model, strategy.unwrap(made)[0])
    return model._replica_copies[mode]


def _copy(model: Any) -> Any:
    from stillflow.keras.engine.cloning import clone_model

    copy, optimizer = clone_model(model), model.optimizer
    if isinstance(optimizer, TFOptimizer):
        copy.optimizer = TFOptimizer(optimizer.optimizer)
    else:
        copy.optimizer = type(optimizer).from_config(optimizer.get_config())
    return copy


def hand_out_weights(model: Any, mode: str) -> None:
    """Copy the model's weights to its copies of a mode, if there are copies."""
    if model._compile_distribution:
        _first(model, mode).set_weights(model.get_weights())


def take_weights(model: Any, mode: str) -> None:
    """Copy the weights of the copies of a mode to the model, if there are copies."""
    if model._compile_distribution:
        model.set_weights(_first(model, mode).get_weights())


def _first(model: Any, mode: str) -> Any:
    return model._distribution_strategy.unwrap(model._replica_copies[mode])[0]


class CallbackModel:
    """Model of training's callbacks: the first replica's copy.

    Args:
      original: the model whose `fit` runs.
      copy: the copy.
    """

    def __init__(self, original: Any, copy: Any) -> None:
        self._original, self._copy = original, copy
        self.optimizer = copy.optimizer
        self.stop_training = False
        self.history: Any = None

    def save(self, filepath: Any, overwrite: bool = True, include_optimizer: bool = True) -> None:
        """Save the original model with the copy's weights, without an optimizer."""
        self._original.set_weights(self._copy.get_weights())
        self._original.save(filepath, overwrite=True, include_optimizer=False)

    def load_weights(self, filepath: Any, by_name: bool = False) -> None:
        """Load weights into the original model and the copies."""
        self._original.load_weights(filepath, by_name=False)
        hand_out_weights(self._original, TRAIN)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__"):
            raise AttributeError(name)
        if name not in ("get_weights", "set_weights", "save_weights"):
            logging.warning(
                f"You are accessing attribute {name} of the DistributedCallbackModel that may not "
                "have been set correctly."
            )
        return getattr(self._copy, name)
