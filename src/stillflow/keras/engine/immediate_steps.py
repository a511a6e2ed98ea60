"""Steps of a model where operations run when they are called: by calling it, or as functions."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

import stillflow as tf
from stillflow import nest
from stillflow.graph.api import name_scope
from stillflow.graph.tensor_spec import TensorSpec
from stillflow.keras.backend.config import floatx
from stillflow.keras.engine.losses_and_metrics import (
    endpoint_loss,
    is_mean,
    share_of_replica,
    with_mask,
)
from stillflow.keras.engine.modes import PREDICT, TRAIN
from stillflow.keras.mixed_precision.loss_scale_optimizer import LossScaleOptimizer
from stillflow.layers.learning_phase import immediate_learning_phase
from stillflow.platform import tf_logging as logging

_NO_WEIGHTS = (
    "The list of trainable weights is empty. Make sure that you are not setting model.trainable to "
    "False before compiling the model."
)


def as_default_float(x: Any) -> Any:
    """Return a tensor of a value, in Keras' default dtype if it is floating."""
    x = tf.convert_to_tensor(x) if isinstance(x, (np.ndarray, float, int)) else x
    return tf.cast(x, floatx()) if x.dtype.is_floating else x


def _in_replica(step: Callable[..., Any]) -> Callable[..., Any]:
    """Run a step in the only replica of the strategy that a model was compiled with."""

    @functools.wraps(step)
    def run(model: Any, *args: Any) -> Any:
        strategy = model._immediate_strategy
        if strategy is None:
            return step(model, *args)
        with strategy.scope():
            return strategy.experimental_run_v2(step, args=(model, *args))

    return run


@_in_replica
def train(model: Any, x: Any, y: list[Any], weights: Any) -> list[Any]:
    """Train a compiled model on a batch; return loss, those of several outputs, and metrics.

    Inputs are in a list or a dictionary; there are weights for each target, or None.
    """
    with immediate_learning_phase(1):
        before = model._get_trainable_state()
        model._set_trainable_state(model._compiled_trainable_state)
        with tf.GradientTape() as tape:
            outputs, total, losses, masks = _loss(model, _as_inputs(model, x), y, weights, True)
            scales = isinstance(model.optimizer, LossScaleOptimizer)
            scaled = model.optimizer.get_scaled_loss(total) if scales else total
        variables = model._unique_trainable_weights
        if variables:
            model._apply(tape, scaled)
        else:
            logging.warning(_NO_WEIGHTS)
        model._set_trainable_state(before)
    return [total, *losses, *_metrics(model, outputs, y, weights, masks)]


@_in_replica
def test(model: Any, x: Any, y: list[Any], weights: Any) -> list[Any]:
    """The loss and metrics of a batch; arguments are those of `train`."""
    with immediate_learning_phase(0):
        outputs, total, losses, masks = _loss(model, _as_inputs(model, x), y, weights, False)
    return [total, *losses, *_metrics(model, outputs, y, weights, masks)]


@_in_replica
def predict(model: Any, x: Any) -> Any:
    """Return the outputs of a model for a batch."""
    with immediate_learning_phase(0):
        return model(_alone(_by_name(model, nest.map_structure(as_default_float, x))))


class ImmediateStep:
    """Step on its feeds: inputs, targets and weights one after another.

    Args:
      model: the model.
      mode: "train", "test" or "predict".
      counts: how many inputs and targets there are.
      compiled: whether steps are functions, of which there is one for each kind of data.
    """

    def __init__(self, model: Any, mode: str, counts: tuple[int, int], compiled: bool) -> None:
        self._model, self._mode, self._counts, self._compiled = model, mode, counts, compiled
        self._functions: dict[Any, Callable[..., Any]] = {}

    def __call__(self, feeds: list[Any]) -> list[Any]:
        """Return the values of a step's results."""
        present = [x is not None for x in feeds]
        given = [as_default_float(x) for x in feeds if x is not None]
        if not self._compiled:
            return values(self._run(present, given))
        return values(self._function(present, given)(given))

    def _run(self, present: list[bool], given: list[Any]) -> list[Any]:
        rest = iter(given)
        feeds = [next(rest) if there else None for there in present]
        inputs, targets = self._counts
        x, y = feeds[:inputs], feeds[inputs : inputs + targets]
        weights = feeds[inputs + targets :] or None
        if self._mode == PREDICT:
            return nest.flatten(predict(self._model, x))
        return (train if self._mode == TRAIN else test)(self._model, x, y, weights)

    def _function(self, present: list[bool], given: list[Any]) -> Callable[..., Any]:
        dense = all(isinstance(x, tf.Tensor) for x in given)
        specs = [_any_size(x) for x in given] if dense else None
        key = tuple(present), tuple((x.dtype, str(x.shape)) for x in specs or ())
        if key not in self._functions:
            signature = None if specs is None else [specs]
            self._functions[key] = tf.function(
                lambda values: self._run(present, values), signature, autograph=False
            )
        return self._functions[key]


def _any_size(x: Any) -> TensorSpec:
    """Return the spec of tensors that differ from one only in the number of examples."""
    shape = x.shape.as_list()
    return TensorSpec([None, *shape[1:]] if shape else [], x.dtype)


def values(results: list[Any]) -> list[Any]:
    """Tensors that hold values as NumPy's; others, of functions being made, as they are."""
    return [x.numpy() if hasattr(x, "numpy") else x for x in results]


def _alone(inputs: Any) -> Any:
    single = isinstance(inputs, (list, tuple)) and len(inputs) == 1
    return inputs[0] if single else inputs


def _by_name(model: Any, x: Any) -> Any:
    """Return inputs in a dictionary, if the model takes them in one."""
    if isinstance(model.inputs, dict) and not isinstance(x, dict):
        return dict(zip(model.input_names, x, strict=True))
    return x


def _as_inputs(model: Any, x: Any) -> Any:
    """Values as tensors of the dtypes that the model's inputs have."""
    expected = model.inputs
    x = _by_name(model, x)
    if isinstance(x, dict):
        names = dict(zip(model.input_names, nest.flatten(expected), strict=False))
        return {key: tf.cast(value, names[key].dtype) for key, value in x.items()}
    return [tf.cast(v, e.dtype) for v, e in zip(x, nest.flatten(expected), strict=False)]


def _as_outputs(targets: list[Any], outputs: list[Any]) -> list[Any]:
    """Targets as tensors, floating ones of the dtypes of outputs."""
    made = []
    for target, output in zip(targets, outputs, strict=False):
        target = tf.convert_to_tensor(target) if isinstance(target, np.ndarray) else target
        made.append(tf.cast(target, output.dtype) if target.dtype.is_floating else target)
    return made


def _loss(model: Any, x: Any, y: list[Any], weights: Any, training: bool) -> tuple[Any, ...]:
    """Return (outputs, loss, losses of outputs, masks) of a batch."""
    kwargs = {"training": training} if model._expects("training") else {}
    outputs = nest.flatten(model(_alone(x), **kwargs))
    masks = [getattr(output, "_keras_mask", None) for output in outputs]
    of_outputs: list[Any] = []
    total: Any = 0.0
    with name_scope("loss"):
        for endpoint, output, mask, target, weight in _compared(model, outputs, masks, y, weights):
            with name_scope(endpoint.loss_name):
                weight = with_mask(mask, weight, output)
                loss = endpoint_loss(endpoint.loss_fn, target, output, weight)
            if len(model.outputs) > 1:
                of_outputs.append(endpoint.loss_metric(loss))
            if is_mean(endpoint.loss_fn):
                loss = share_of_replica(loss)
            total += endpoint.loss_weight * loss
        added = model.losses
        if added:
            total += share_of_replica(tf.add_n(added))
    return outputs, total, of_outputs, masks


def _compared(model: Any, outputs: list[Any], masks: Any, y: list[Any], weights: Any) -> Any:
    """(endpoint, output, mask, target, weight) of each output that has a loss."""
    places = [i for i, e in enumerate(model._training_endpoints) if not e.skips_target]
    targets = _as_outputs(y, [outputs[i] for i in places])
    given = [None] * len(places) if not weights else [_as_weight(weight) for weight in weights]
    for i, target, weight in zip(places, targets, given, strict=False):
        yield model._training_endpoints[i], outputs[i], masks[i], target, weight


def _as_weight(weight: Any) -> Any:
    return None if weight is None else tf.cast(weight, floatx())


def _metrics(model: Any, outputs: list[Any], y: list[Any], weights: Any, masks: Any) -> list[Any]:
    results = []
    by_endpoint = {
        id(endpoint): kinds
        for endpoint, *kinds in zip(
            model._training_endpoints, model._per_output_metrics,
            model._per_output_weighted_metrics, strict=True,
        )
    }  # fmt: skip
    for endpoint, output, mask, target, weight in _compared(model, outputs, masks, y, weights):
        plain, weighted = by_endpoint[id(endpoint)]
        for metrics, factor in ((plain, None), (weighted, weight)):
            for metric in metrics.values():
                factors = with_mask(mask, factor, output)
                results.append(metric(target, output, sample_weight=factors))
    compiled = {id(metric) for metric in model._compile_metric_functions}
    return results + [m.result() for m in model.metrics if id(m) not in compiled]
