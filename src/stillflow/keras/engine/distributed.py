"""Models that the replicas of a strategy train, evaluate and predict with.

Each replica has a model of the same layers, called on its share of a dataset's batches. One
function runs a step of all of them: the losses are added up, and variables change by the sum of
gradients.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

import stillflow as tf
from stillflow import nest
from stillflow.distribute import worker_context
from stillflow.distribute.reduce_op import ReduceOp
from stillflow.graph.arrays import Array
from stillflow.graph.operation import Tensor
from stillflow.keras.backend.function import function
from stillflow.keras.backend.session import get_session
from stillflow.keras.engine import datasets
from stillflow.keras.engine.loop import Loop
from stillflow.keras.engine.modes import PREDICT, TEST, TRAIN
from stillflow.keras.engine.replica_copies import copies_for, hand_out_weights, take_weights
from stillflow.keras.engine.sources import TensorSource
from stillflow.layers.learning_phase import learning_phase_scope
from stillflow.layers.symbolic_graph import symbolic_graph

if TYPE_CHECKING:
    from stillflow.data.dataset_v1 import DatasetV1Adapter
    from stillflow.keras.callbacks.base import History
    from stillflow.keras.engine.model import Model


def fit(model: Any, x: Any, y: Any, given: dict[str, Any]) -> History:
    """`Model.fit` by replicas; arguments are those of `fit` by name."""
    if given["class_weight"]:
        raise NotImplementedError(
            "`class_weight` is currently not supported when using tf.distribute.Strategy."
        )
    weights, shuffle, epochs = given["sample_weight"], given["shuffle"], given["epochs"]
    size, steps = _sizes(model, x, y, given["batch_size"], given["steps_per_epoch"], TRAIN)
    data = _dataset(model, x, y, weights, size, shuffle, epochs)
    validation = None
    if given["validation_data"]:
        held_out = given["validation_data"]
        parts = (held_out,) if datasets.is_dataset(held_out) else tuple(held_out)
        val_x, val_y, val_weights = (*parts, None, None)[:3]
        _, val_steps = _sizes(model, val_x, val_y, size, given["validation_steps"], TEST)
        val_data = _dataset(model, val_x, val_y, val_weights, size, shuffle, 1)
        validation = _validation(model, val_data, val_steps)
    elif given["validation_split"]:
        raise ValueError("validation_split argument is not supported with distribution strategies.")
    source = _source(model, data, steps, TRAIN, "steps_per_epoch")
    if given["verbose"]:
        print(f"Train on {source.count} steps")
    return _run(
        model, TRAIN, source, validation=validation, batch_size=size, epochs=epochs,
        verbose=given["verbose"], callbacks=given["callbacks"],
        initial_epoch=given["initial_epoch"], validation_freq=given["validation_freq"],
        steps_name="steps_per_epoch",
    )  # fmt: skip


def evaluate(model: Any, x: Any, y: Any, given: dict[str, Any]) -> Any:
    """`Model.evaluate` by replicas."""
    size, steps = _sizes(model, x, y, given["batch_size"], given["steps"], TEST)
    data = _dataset(model, x, y, given["sample_weight"], size, False, 1)
    source = _source(model, data, steps, TEST, "steps")
    return _run(
        model, TEST, source, verbose=given["verbose"], callbacks=given["callbacks"],
        batch_size=size,
    )  # fmt: skip


def predict(model: Any, x: Any, given: dict[str, Any]) -> Array | list[Array]:
    """`Model.predict` by replicas."""
    size, steps = _sizes(model, x, None, given["batch_size"], given["steps"], PREDICT)
    data = _dataset(model, x, None, None, size, False, 1)
    source = _source(model, data, steps, PREDICT, "steps")
    return _run(
        model, PREDICT, source, verbose=given["verbose"], callbacks=given["callbacks"],
        batch_size=size,
    )  # fmt: skip


def _run(model: Any, mode: str, source: Any, callbacks: Any = None, **options: Any) -> Any:
    def run(strategy: Any) -> Any:
        context, shown = worker_context.current(), callbacks
        if isinstance(shown, (list, tuple)) and context and not context.is_chief:
            shown = [each for each in shown if not each._chief_worker_only]
        with model._distribution_strategy.scope():
            hand_out_weights(model, mode)
            results = Loop(model, mode, source, callbacks=shown, **options).run()
            take_weights(model, mode)
            return results

    return model._distribution_strategy.extended.run_as_own_task(run)


def _validation(model: Any, data: Any, steps: int | None) -> Callable[[Any], Any]:
    """Evaluate on data after epochs; all epochs share the functions that the first one builds."""
    built: list[TensorSource] = []

    def validate(callbacks: Any) -> list[Any]:
        if built:
            built[0].begin_anew()
        else:
            built.append(_source(model, data, steps, TEST, "validation_steps"))
        take_weights(model, TRAIN)
        return _run(model, TEST, built[0], callbacks=callbacks, steps_name="validation_steps")

    return validate


# ---- data


def _sizes(
    model: Any, x: Any, y: Any, batch_size: int | None, steps: int | None, mode: str
) -> tuple[Any, Any]:
    """Return the size of the batches that replicas share, and how many an epoch has."""
    first = nest.flatten(x)[0]
    if datasets.is_dataset(x):
        if y is not None:
            datasets.refuse_other_data(x, y, None)
        if batch_size is not None:
            raise ValueError(
                "The `batch_size` argument must not be specified when using dataset as an input."
            )
        return None, steps
    if not isinstance(first, np.ndarray):
        raise ValueError(
            "Models of a tf.distribute strategy take arrays and datasets, not "
            f"{type(first).__name__}"
        )
    count = first.shape[0]
    if steps is not None:
        return _given_steps(count, batch_size, steps, mode)
    size = min(count, 32) if batch_size is None else batch_size
    if mode == TRAIN:
        return size, -(-count // size)
    if count % size:
        raise ValueError(f"The number of samples {count} is not divisible by batch size {size}.")
    return size, count // size


def _given_steps(count: int, size: int | None, steps: int, mode: str) -> tuple[int, int]:
    if size is None:
        if count % steps:
            raise ValueError(
                f"The number of samples {count} is not divisible by steps {steps}. Please change "
                "the number of steps to a value that can consume all the samples"
            )
        return count // steps, steps
    needed = size * steps
    if mode == TRAIN:
        needed = size * (steps - 1) + 1 if steps > 1 else 0
    if count < needed:
        raise ValueError(
            f"Number of samples {count} is less than samples required for specified batch_size "
            f"{size} and steps {steps}"
        )
    return size, steps


def _dataset(
    model: Any, x: Any, y: Any, weights: Any, size: Any, shuffle: Any, epochs: int
) -> DatasetV1Adapter:
    """Return a dataset of batches; arrays are held by variables."""
    if datasets.is_dataset(x):
        return x
    strategy = model._distribution_strategy
    parts = [_as_tuple(part) for part in (x, y, weights) if part is not None]
    with strategy.scope():
        dataset = strategy.extended.experimental_make_numpy_dataset(
            tuple(parts) if len(parts) > 1 else parts[0], session=get_session()
        )
        if shuffle:
            dataset = dataset.shuffle(max(1024, size * 8))
        if epochs > 1:
            dataset = dataset.repeat(epochs)
        return dataset.batch(size)


def _as_tuple(part: Any) -> Array | tuple[Array, Array]:
    return tuple(part) if isinstance(part, list) else part


def _source(
    model: Any, dataset: Any, steps: int | None, mode: str, steps_name: str
) -> TensorSource:
    strategy = model._distribution_strategy
    by_itself = steps is None
    with strategy.scope():
        if by_itself:
            steps = datasets.steps_of(dataset, steps_name)
        iterator = strategy.make_dataset_iterator(dataset)
        datasets.restart(iterator)
        with learning_phase_scope(1 if mode == TRAIN else 0):
            run = _step_function(model, iterator, mode)
    return TensorSource([], steps, run, iterator, by_itself)


# ---- models of replicas


def _step_function(model: Any, iterator: Any, mode: str) -> Callable[[Any], Any]:
    """Return the function that runs a step of all replicas on the next element of an iterator."""
    strategy = model._distribution_strategy
    x, y, weights = _parts(iterator.get_next(), model)
    with symbolic_graph().as_default():
        replicas = strategy.extended.call_for_each_replica(
            _model_of_replica,
            args=(model, copies_for(model, mode), mode, x, None if mode == PREDICT else y, weights),
        )
        model._replica_models[mode] = strategy.unwrap(replicas)[0]
        outputs, updates = strategy.extended.call_for_each_replica(
            functools.partial(_results, mode=mode), args=(replicas,)
        )
        every = functools.partial(_all_parts, strategy)
        if mode == PREDICT:
            values = every(outputs)
        else:
            loss = strategy.reduce(ReduceOp.SUM, outputs[0], axis=None)
            values = [loss, *every(outputs[1:])]
        run = function([], values, updates=every(updates), name=f"distributed_{mode}_function")
    count = strategy.num_replicas_in_sync
    if mode == PREDICT:
        return lambda feeds: _joined(run([]), count)
    return lambda feeds: run([])


def _all_parts(strategy: Any, values: Any) -> list[Any]:
    return [part for value in nest.flatten(values) for part in strategy.unwrap(value)]


def _joined(values: list[Any], count: int) -> list[Any]:
    """Return the outputs of a batch, whose rows replicas have made."""
    starts = range(0, len(values), count)
    return [np.concatenate(values[start : start + count]) for start in starts]


def _parts(element: Any, model: Any) -> tuple[Any, Any, Any]:
    """Return inputs, targets and weights of an element."""
    count = len(nest.flatten(element))
    if count == len(model.inputs):
        return element, None, None
    if count == len(model.inputs) + len(model.outputs):
        return (*element, None)
    x, y, weights = element
    return x, y, weights


def _model_of_replica(model: Any, copy: Any, mode: str, x: Any, y: Any, weights: Any) -> Model:
    """Return a replica's model: the same layers, or those of a copy, called on its inputs."""
    from stillflow.keras.engine.cloning import clone_metrics, clone_model

    if isinstance(x, dict):
        x = [x[name] for name in model.input_names]
    x, y = map(_columns, (x, y))
    x = [_as_input(*pair) for pair in zip(x, nest.flatten(model.inputs), strict=True)]
    own = clone_model(copy, input_tensors=x, clone_function=lambda layer: layer)
    if mode == PREDICT:
        own._function_kwargs = {}
        return own
    own.compile(
        copy.optimizer,
        model.loss,
        metrics=clone_metrics(model._compile_metrics),
        loss_weights=model.loss_weights,
        sample_weight_mode=model.sample_weight_mode,
        weighted_metrics=clone_metrics(model._compile_weighted_metrics),
        target_tensors=y,
    )
    if weights is not None:
        own._weigh_by(nest.flatten(weights))
    return own


def _columns(values: Any) -> list[Any]:
    """Tensors of one number for each example get a second dimension, as arrays in `fit` do."""
    tensors = [] if values is None else nest.flatten(values)
    return [tf.expand_dims(x, -1) if x.shape.ndims == 1 else x for x in tensors]


def _as_input(value: Any, expected: Any) -> Tensor:
    """Convert a dataset's value to the floating dtype of a model's input."""
    floating = value.dtype.is_floating and expected.dtype.is_floating
    return tf.cast(value, expected.dtype) if floating else value


def _results(model: Any, mode: str) -> tuple[list[Any], Any]:
    made = model._make_execution_function(mode, (0, 0))
    return made.outputs, made.updates_op
