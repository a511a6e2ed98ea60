"""Description of a model besides its variables: its construction and its training."""

from __future__ import annotations

from typing import Any

from stillflow.keras.losses.classes import get as get_loss
from stillflow.keras.optimizers.tf_optimizer import TFOptimizer
from stillflow.keras.version import VERSION
from stillflow.platform import tf_logging as logging


def describe(model: Any, include_optimizer: bool = True) -> dict[str, Any]:
    """Return a model's class and configuration, if it has one, and its compilation's arguments."""
    config = {"class_name": type(model).__name__}
    try:
        config["config"] = model.get_config()
    except NotImplementedError:  # a subclass
        pass
    described: dict[str, Any] = {
        "keras_version": VERSION, "backend": "tensorflow", "model_config": config,
    }  # fmt: skip
    optimizer = model.optimizer
    if not (include_optimizer and optimizer):
        return described
    if isinstance(optimizer, TFOptimizer):
        logging.warning(
            "TensorFlow optimizers do not make it possible to access optimizer attributes or "
            "optimizer state after instantiation. As a result, we cannot save the optimizer as "
            "part of the model save file. You will have to compile your model again after loading "
            "it. Prefer using a Keras optimizer instead (see keras.io/optimizers)."
        )
        return described
    described["training_config"] = {
        "loss": model.loss,
        "metrics": model._compile_metrics,
        "weighted_metrics": model._compile_weighted_metrics,
        "sample_weight_mode": model.sample_weight_mode,
        "loss_weights": model.loss_weights,
        "optimizer_config": {
            "class_name": type(optimizer).__name__, "config": optimizer.get_config(),
        },
    }  # fmt: skip
    return described


def compile_as(model: Any, training_config: dict[str, Any]) -> None:
    """Compiles a model as a description says."""
    given = dict(training_config)
    loss = given["loss"]
    if isinstance(loss, dict) and "class_name" in loss:  # not those of several outputs by name
        given["loss"] = get_loss(loss)
    model.compile(optimizer=given.pop("optimizer_config"), **given)
