"""A training operation: updates, gradients that are scaled, clipped, summarized; and its loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import stillflow as tf
from stillflow.graph.api import get_collection_ref
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.graph_keys import GraphKeys
from stillflow.graph.indexed_slices import IndexedSlices
from stillflow.graph.operation import Tensor
from stillflow.ops.control_flow.identity_and_group import with_dependencies
from stillflow.ops.summary.numbers import histogram, scalar
from stillflow.platform import tf_logging as logging
from stillflow.train.global_step import get_or_create_global_step
from stillflow.train.monitored_session import MonitoredTrainingSession
from stillflow.train.optimizer import Optimizer
from stillflow.variables.scatter import ScatterMethods

# Stands for the graph's global step; None stands for none.
USE_GLOBAL_STEP = 0

Pairs = list[tuple[Any, Any]]


def _with_values(gradient: Any, change: Any) -> Any:
    if isinstance(gradient, IndexedSlices):
        return IndexedSlices(change(gradient.values), gradient.indices, gradient.dense_shape)
    return change(gradient)


@export("contrib.slim.learning.clip_gradient_norms", "contrib.training.clip_gradient_norms")
def clip_gradient_norms(gradients_to_variables: Sequence[Any], max_norm: Any) -> Pairs:
    """Scales each gradient down to a norm.

    Args:
      gradients_to_variables: (gradient, variable) pairs.
      max_norm: the norm.
    """
    return [
        (
            None if gradient is None
            else _with_values(gradient, lambda values: tf.clip_by_norm(values, max_norm)),
            variable,
        )
        for gradient, variable in gradients_to_variables
    ]  # fmt: skip


@export("contrib.training.clip_gradient_norms_fn")
def clip_gradient_norms_fn(max_norm: Any) -> Callable[[Sequence[Any]], Pairs]:
    """`clip_gradient_norms` to a norm, for `create_train_op`."""

    def clip(gradients_to_variables: Sequence[Any]) -> Pairs:
        return clip_gradient_norms(gradients_to_variables, max_norm)

    return clip


@export("contrib.slim.learning.multiply_gradients", "contrib.training.multiply_gradients")
def multiply_gradients(grads_and_vars: Any, gradient_multipliers: Any) -> Pairs:
    """Multiplies gradients of some variables.

    Args:
      grads_and_vars: a list of (gradient, variable) pairs.
      gradient_multipliers: {variable or name of its operation: factor}.

    Raises:
      ValueError: for arguments of another kind; if such a variable has no gradient.
    """
    if not isinstance(grads_and_vars, list):
        raise ValueError("`grads_and_vars` must be a list.")
    if not gradient_multipliers:
        raise ValueError("`gradient_multipliers` is empty.")
    if not isinstance(gradient_multipliers, dict):
        raise ValueError("`gradient_multipliers` must be a dict.")
    products: Pairs = []
    for gradient, variable in grads_and_vars:
        key = variable if variable in gradient_multipliers else variable.op.name
        if key in gradient_multipliers:
            if gradient is None:
                raise ValueError("Requested multiple of `None` gradient.")
            gradient = _multiplied(gradient, gradient_multipliers[key])
        products.append((gradient, variable))
    return products


def _multiplied(gradient: Any, factor: Any) -> Tensor:
    factor = convert_to_tensor(factor, dtype=gradient.dtype)
    return _with_values(gradient, lambda values: values * factor)


def summarize_gradients(grads_and_vars: Sequence[Any], mark: str) -> list[Any]:
    """Add summaries of gradients and their norms, named after variables, the mark and the kind."""
    summaries = []
    for gradient, variable in grads_and_vars:
        name = variable.op.name
        if gradient is None:
            logging.info("Var %s has no gradient", name)
            continue
        values = gradient.values if isinstance(gradient, IndexedSlices) else gradient
        summaries.append(histogram(f"{name}{mark}gradient", values))
        summaries.append(scalar(f"{name}{mark}gradient_norm", tf.global_norm([values])))
    return summaries


@export("contrib.training.add_gradients_summaries")
def add_gradients_summaries(grads_and_vars: Sequence[Any]) -> list[Any]:
    """Summarizes gradients and their norms.

    Args:
      grads_and_vars: (gradient, variable) pairs.

    Returns:
      The summaries.
    """
    return summarize_gradients(grads_and_vars, "_")


def _after_updates(total_loss: Any, update_ops: Any) -> Tensor:
    usual = list(dict.fromkeys(tf.get_collection(GraphKeys.UPDATE_OPS)))
    update_ops = usual if update_ops is None else list(dict.fromkeys(update_ops))
    if any(op not in update_ops for op in usual):
        logging.warning(
            "update_ops in create_train_op does not contain all the update_ops in "
            "GraphKeys.UPDATE_OPS"
        )
    if not update_ops:
        return total_loss
    with tf.control_dependencies(update_ops):
        barrier = tf.no_op(name="update_barrier")
    return with_dependencies([barrier], total_loss)


def _to_train(variables: Any) -> list[ScatterMethods]:
    trainable = tf.trainable_variables()
    if variables is None:
        variables = trainable
    else:
        assert all(variable.trainable or variable in trainable for variable in variables)
    assert variables
    return variables


@export("contrib.training.create_train_op")
def create_train_op(
    total_loss: Any,
    optimizer: Any,
    global_step: Any = USE_GLOBAL_STEP,
    update_ops: Any = None,
    variables_to_train: Any = None,
    transform_grads_fn: Callable[[Pairs], Pairs] | None = None,
    summarize_gradients: bool = False,
    gate_gradients: int = Optimizer.GATE_OP,
    aggregation_method: Any = None,
    colocate_gradients_with_ops: bool = False,
    check_numerics: bool = True,
) -> Tensor:
    """Return a tensor that trains when it is run, and gives the loss.

    Args:
      total_loss: a scalar tensor.
      optimizer: an optimizer.
      global_step: what counts steps; by default the graph's global step, None for nothing.
      update_ops: operations run before the loss; by default the collection UPDATE_OPS.
      variables_to_train: variables; by default all trainable ones.
      transform_grads_fn: makes other (gradient, variable) pairs of these.
      summarize_gradients: whether to summarize gradients.
      gate_gradients, aggregation_method, colocate_gradients_with_ops: as of
        `tf.train.Optimizer.compute_gradients`.
      check_numerics: whether a loss that is not finite is an error.
    """
    step = get_or_create_global_step() if global_step is USE_GLOBAL_STEP else global_step
    loss = _after_updates(total_loss, update_ops)
    options = {
        "gate_gradients": gate_gradients,
        "aggregation_method": aggregation_method,
        "colocate_gradients_with_ops": colocate_gradients_with_ops,
    }
    pairs = optimizer.compute_gradients(loss, _to_train(variables_to_train), **options)
    pairs = transform_grads_fn(pairs) if transform_grads_fn else pairs
    if summarize_gradients:
        with tf.name_scope("summarize_grads"):
            add_gradients_summaries(pairs)
    updates = optimizer.apply_gradients(pairs, global_step=step)
    with tf.name_scope("train_op"):
        if check_numerics:
            loss = tf.check_numerics(loss, "LossTensor is inf or nan")
        train_op = with_dependencies([updates], loss)
    known = get_collection_ref(GraphKeys.TRAIN_OP)
    if train_op not in known:
        known.append(train_op)
    return train_op


@export("contrib.training.train")
def train(
    train_op: Any,
    logdir: Any,
    master: str = "",
    is_chief: bool = True,
    scaffold: Any = None,
    hooks: Any = None,
    chief_only_hooks: Any = None,
    save_checkpoint_secs: Any = 600,
    save_summaries_steps: Any = 100,
    config: Any = None,
    max_wait_secs: int = 7200,
    run_metadata: Any = None,
) -> Any:
    """Run the training operation until a hook or the end of the input stops it.

    Args:
      train_op: the training op; its value is the loss.
      logdir: where checkpoints and summaries go; None for none of either.
      master, is_chief, scaffold, hooks, chief_only_hooks, save_checkpoint_secs,
        save_summaries_steps, config, max_wait_secs: as of `tf.train.MonitoredTrainingSession`.
      run_metadata: a `RunMetadata` that every step fills.

    Returns:
      The last loss; None if there was no step.

    Raises:
      ValueError: something is to be saved, and there is no `logdir`.
    """
    if logdir is None and is_chief:
        saved = {"save_summaries_steps": save_summaries_steps,
                 "save_checkpoint_secs": save_checkpoint_secs}  # fmt: skip
        for name, value in saved.items():
            if value:
                raise ValueError(f"logdir cannot be None when {name} is not None")
    loss = None
    with MonitoredTrainingSession(
        master=master, is_chief=is_chief, checkpoint_dir=logdir, scaffold=scaffold, hooks=hooks,
        chief_only_hooks=chief_only_hooks, save_checkpoint_secs=save_checkpoint_secs,
        save_summaries_steps=save_summaries_steps, config=config, max_wait_secs=max_wait_secs,
    ) as session:  # fmt: skip
        while not session.should_stop():
            loss = session.run(train_op, run_metadata=run_metadata)
    return loss
