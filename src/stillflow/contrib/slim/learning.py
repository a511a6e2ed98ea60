"""A training operation: updates, gradients that are scaled and clipped, summaries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import stillflow as tf
from stillflow.graph.api import get_collection_ref
from stillflow.graph.export import export
from stillflow.graph.graph_keys import GraphKeys
from stillflow.graph.indexed_slices import IndexedSlices
from stillflow.graph.operation import Tensor
from stillflow.ops.control import with_dependencies
from stillflow.platform import tf_logging as logging
from stillflow.train.global_step import get_or_create_global_step
from stillflow.train.optimizer import Optimizer

# Stands for the graph's global step; None stands for none.
_USE_GLOBAL_STEP = 0

_Pairs = list[tuple[Any, Any]]


def _with_values(gradient: Any, change: Any) -> Any:
    if isinstance(gradient, IndexedSlices):
        return IndexedSlices(change(gradient.values), gradient.indices, gradient.dense_shape)
    return change(gradient)


@export("contrib.slim.learning.clip_gradient_norms")
def clip_gradient_norms(gradients_to_variables: Sequence[Any], max_norm: Any) -> _Pairs:
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


@export("contrib.slim.learning.multiply_gradients")
def multiply_gradients(grads_and_vars: Any, gradient_multipliers: Any) -> _Pairs:
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
    products: _Pairs = []
    for gradient, variable in grads_and_vars:
        key = variable if variable in gradient_multipliers else variable.op.name
        if key in gradient_multipliers:
            if gradient is None:
                raise ValueError("Requested multiple of `None` gradient.")
            gradient = _multiplied(gradient, gradient_multipliers[key])
        products.append((gradient, variable))
    return products


def _multiplied(gradient: Any, factor: Any) -> Any:
    if not isinstance(factor, Tensor):
        factor = tf.constant(factor, dtype=gradient.dtype)
    return _with_values(gradient, lambda values: values * factor)


@export("contrib.slim.learning.add_gradients_summaries")
def add_gradients_summaries(grads_and_vars: Sequence[Any]) -> list[Any]:
    """Summarizes gradients and their norms.

    Args:
      grads_and_vars: (gradient, variable) pairs.

    Returns:
      The summaries.
    """
    return _summarized(grads_and_vars, "/")


def _summarized(grads_and_vars: Sequence[Any], mark: str) -> list[Any]:
    summaries = []
    for gradient, variable in grads_and_vars:
        name = variable.op.name
        if gradient is None:
            logging.info("Var %s has no gradient", name)
            continue
        values = gradient.values if isinstance(gradient, IndexedSlices) else gradient
        summaries.append(tf.summary.histogram(f"{name}{mark}gradient", values))
        summaries.append(tf.summary.scalar(f"{name}{mark}gradient_norm", tf.global_norm([values])))
    return summaries


def _after_updates(total_loss: Any, update_ops: Any) -> Any:
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


def _transformed(grads: _Pairs, multipliers: Any, max_norm: Any, summarize: bool) -> _Pairs:
    if multipliers:
        with tf.name_scope("multiply_grads"):
            grads = multiply_gradients(grads, multipliers)
    if max_norm > 0:
        with tf.name_scope("clip_grads"):
            grads = clip_gradient_norms(grads, max_norm)
    if summarize:
        with tf.name_scope("summarize_grads"):
            _summarized(grads, "_")  # other names than `add_gradients_summaries` gives
    return grads


@export("contrib.slim.learning.create_train_op")
def create_train_op(
    total_loss: Any,
    optimizer: Any,
    global_step: Any = _USE_GLOBAL_STEP,
    update_ops: Any = None,
    variables_to_train: Any = None,
    clip_gradient_norm: Any = 0,
    summarize_gradients: bool = False,
    gate_gradients: int = Optimizer.GATE_OP,
    aggregation_method: Any = None,
    colocate_gradients_with_ops: bool = False,
    gradient_multipliers: Any = None,
    check_numerics: bool = True,
) -> Any:
    """A tensor that trains when it is run, and gives the loss.

    Args:
      total_loss: a scalar tensor.
      optimizer: an optimizer.
      global_step: what counts steps; by default the graph's global step, None for nothing.
      update_ops: what runs before the loss; by default the collection UPDATE_OPS.
      variables_to_train: variables; by default all trainable ones.
      clip_gradient_norm: the norm each gradient is scaled down to; 0 for none.
      summarize_gradients: whether to summarize gradients.
      gate_gradients, aggregation_method, colocate_gradients_with_ops: as of
        `tf.train.Optimizer.compute_gradients`.
      gradient_multipliers: {variable or name of its operation: factor for its gradient}.
      check_numerics: whether a loss that is not finite is an error.
    """
    if global_step is _USE_GLOBAL_STEP:
        global_step = get_or_create_global_step()
    total_loss = _after_updates(total_loss, update_ops)
    if variables_to_train is None:
        variables_to_train = tf.trainable_variables()
    assert variables_to_train
    grads = optimizer.compute_gradients(
        total_loss, variables_to_train, gate_gradients=gate_gradients,
        aggregation_method=aggregation_method,
        colocate_gradients_with_ops=colocate_gradients_with_ops,
    )  # fmt: skip
    grads = _transformed(grads, gradient_multipliers, clip_gradient_norm, summarize_gradients)
    updates = optimizer.apply_gradients(grads, global_step=global_step)
    with tf.name_scope("train_op"):
        if check_numerics:
            total_loss = tf.check_numerics(total_loss, "LossTensor is inf or nan")
        train_op = with_dependencies([updates], total_loss)
    train_ops = get_collection_ref(GraphKeys.TRAIN_OP)
    if train_op not in train_ops:
        train_ops.append(train_op)
    return train_op
