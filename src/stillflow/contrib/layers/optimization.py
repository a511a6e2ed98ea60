"""A training step from a loss: learning rate, clipping, noise, summaries and updates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stillflow as tf
from stillflow.graph.export import export, export_value
from stillflow.graph.graph_keys import GraphKeys
from stillflow.graph.indexed_slices import IndexedSlices
from stillflow.graph.operation import Tensor
from stillflow.ops.control_flow.identity_and_group import with_dependencies
from stillflow.train.adagrad import AdagradOptimizer
from stillflow.train.adam import AdamOptimizer
from stillflow.train.ftrl import FtrlOptimizer
from stillflow.train.global_step import assert_global_step, get_global_step
from stillflow.train.gradient_descent import GradientDescentOptimizer
from stillflow.train.momentum import MomentumOptimizer
from stillflow.train.moving_averages import assign_moving_average
from stillflow.train.optimizer import Optimizer
from stillflow.train.rmsprop import RMSPropOptimizer

OPTIMIZER_CLS_NAMES: dict[str, Callable[..., Any]] = {
    "Adagrad": AdagradOptimizer,
    "Adam": AdamOptimizer,
    "Ftrl": FtrlOptimizer,
    "Momentum": lambda learning_rate: MomentumOptimizer(learning_rate, momentum=0.9),
    "RMSProp": RMSPropOptimizer,
    "SGD": GradientDescentOptimizer,
}
OPTIMIZER_SUMMARIES = [
    "learning_rate",
    "loss",
    "gradients",
    "gradient_norm",
    "global_gradient_norm",
]
export_value(
    "contrib.layers.OPTIMIZER_CLS_NAMES", "contrib.slim.OPTIMIZER_CLS_NAMES", OPTIMIZER_CLS_NAMES
)
export_value(
    "contrib.layers.OPTIMIZER_SUMMARIES", "contrib.slim.OPTIMIZER_SUMMARIES", OPTIMIZER_SUMMARIES
)

_Pairs = list[tuple[Any, Any]]


def _learning_rate(value: Any) -> Any:
    """Return the learning rate as a tensor: a variable, if it is a number."""
    if value is None or (isinstance(value, Tensor) and value.get_shape().ndims == 0):
        return value
    if not isinstance(value, float):
        raise ValueError(
            f"Learning rate should be 0d Tensor or float. Got {value} of type {type(value)}"
        )
    if value < 0.0:
        raise ValueError("Invalid learning_rate %s.", value)
    initializer = tf.constant_initializer(value)
    return tf.get_variable("learning_rate", [], trainable=False, initializer=initializer)


def _named_or_class(optimizer: Any, rate: Any, kind: str) -> Any:
    if rate is None:
        raise ValueError(
            f"Learning rate is None, but should be specified if optimizer is {kind} ({optimizer})."
        )
    if kind == "class":
        return optimizer(learning_rate=rate)
    if optimizer not in OPTIMIZER_CLS_NAMES:
        names = ", ".join(OPTIMIZER_CLS_NAMES)
        raise ValueError(f"Optimizer name should be one of [{names}], you provided {optimizer}.")
    return OPTIMIZER_CLS_NAMES[optimizer](learning_rate=rate)


def _optimizer(optimizer: Any, rate: Any, learning_rate: Any) -> Any:
    if isinstance(optimizer, str):
        return _named_or_class(optimizer, rate, "string")
    if isinstance(optimizer, type) and issubclass(optimizer, Optimizer):
        return _named_or_class(optimizer, rate, "class")
    if isinstance(optimizer, Optimizer):
        return optimizer
    if not callable(optimizer):
        raise ValueError(
            "Unrecognized optimizer: should be string, subclass of Optimizer, instance of "
            f"subclass of Optimizer or function with one argument. Got {optimizer}."
        )
    made = optimizer(rate) if learning_rate is not None else optimizer()
    if not isinstance(made, Optimizer):
        raise ValueError(
            f"Unrecognized optimizer: function should return subclass of Optimizer. Got {made}."
        )
    return made


def _clipped_by_norm(pairs: _Pairs, clip_norm: float) -> _Pairs:
    gradients, variables = zip(*pairs)
    clipped, _ = tf.clip_by_global_norm(gradients, clip_norm)
    return list(zip(clipped, variables))


def _with_noise(pairs: _Pairs, scale: float) -> _Pairs:
    noisy: _Pairs = []
    for gradient, variable in pairs:
        if gradient is not None:
            sparse = isinstance(gradient, IndexedSlices)
            shape = gradient.dense_shape if sparse else gradient.get_shape()
            gradient = gradient + tf.truncated_normal(shape) * scale
        noisy.append((gradient, variable))
    return noisy


def _multiplied(pairs: _Pairs, multipliers: dict[Any, Any]) -> _Pairs:
    products: _Pairs = []
    for gradient, variable in pairs:
        key = variable if variable in multipliers else variable.name
        if gradient is not None and key in multipliers:
            factor = multipliers[key]
            if isinstance(gradient, IndexedSlices):
                gradient = IndexedSlices(
                    gradient.values * factor, gradient.indices, gradient.dense_shape
                )
            else:
                gradient *= tf.cast(factor, gradient.dtype)
        products.append((gradient, variable))
    if not products:
        raise ValueError(
            "Empty list of (gradient, var) pairs encountered. This is most likely to be caused by "
            "an improper value of gradient_multipliers."
        )
    return products


def _clipped(pairs: _Pairs, clip_gradients: Any) -> _Pairs:
    if isinstance(clip_gradients, float):
        return _clipped_by_norm(pairs, clip_gradients)
    if callable(clip_gradients):
        clipped: _Pairs = clip_gradients(pairs)
        return clipped
    if clip_gradients is not None:
        raise ValueError(f"Unknown type {type(clip_gradients)} for clip_gradients")
    return pairs


def _summarize_gradients(pairs: _Pairs, summaries: Any) -> None:
    for gradient, variable in pairs:
        values = gradient.values if isinstance(gradient, IndexedSlices) else gradient
        if values is None:
            continue
        name = variable.name.replace(":", "_")
        if "gradients" in summaries:
            tf.summary.histogram(f"gradients/{name}", values)
        if "gradient_norm" in summaries:
            tf.summary.scalar(f"gradient_norm/{name}", tf.global_norm([values]))


def _summarize_norm(tag: str, pairs: _Pairs, summaries: Any) -> None:
    if "global_gradient_norm" in summaries or "gradient_norm" in summaries:
        tf.summary.scalar(f"global_norm/{tag}", tf.global_norm([pair[0] for pair in pairs]))


def _checked_summaries(summaries: Any) -> Any:
    if summaries is None:
        return ["loss", "learning_rate", "global_gradient_norm"]
    for summary in summaries:
        if summary not in OPTIMIZER_SUMMARIES:
            names = ", ".join(OPTIMIZER_SUMMARIES)
            raise ValueError(f"Summaries should be one of [{names}], you provided {summary}.")
    return summaries


def _decayed(rate: Any, decay: Any, global_step: Any, summaries: Any) -> Any:
    if decay is None:
        return rate
    if global_step is None:
        raise ValueError("global_step is required for learning_rate_decay_fn.")
    rate = decay(rate, global_step)
    if "learning_rate" in summaries:
        tf.summary.scalar("learning_rate", rate)
    return rate


def _changed(pairs: _Pairs, loss: Any, given: dict[str, Any], summaries: Any) -> _Pairs:
    """Gradients with noise, factors and clipping, and their summaries."""
    if given["gradient_noise_scale"] is not None:
        pairs = _with_noise(pairs, given["gradient_noise_scale"])
    if given["gradient_multipliers"] is not None:
        pairs = _multiplied(pairs, given["gradient_multipliers"])
    _summarize_norm("gradient_norm", pairs, summaries)
    pairs = _clipped(pairs, given["clip_gradients"])
    if "loss" in summaries:
        tf.summary.scalar("loss", loss)
    _summarize_gradients(pairs, summaries)
    if given["clip_gradients"] is not None:
        _summarize_norm("clipped_gradient_norm", pairs, summaries)
    return pairs


def _after_updates(loss: Any, update_ops: Any) -> Tensor:
    if update_ops is None:
        update_ops = dict.fromkeys(tf.get_collection(GraphKeys.UPDATE_OPS))
    return with_dependencies(list(update_ops), loss) if update_ops else loss


@export("contrib.layers.optimize_loss", "contrib.slim.optimize_loss")
def optimize_loss(
    loss: Any,
    global_step: Any,
    learning_rate: Any,
    optimizer: Any,
    gradient_noise_scale: float | None = None,
    gradient_multipliers: dict[Any, Any] | None = None,
    clip_gradients: Any = None,
    learning_rate_decay_fn: Any = None,
    update_ops: Any = None,
    variables: Any = None,
    name: Any = None,
    summaries: Any = None,
    colocate_gradients_with_ops: bool = False,
    increment_global_step: bool = True,
) -> Tensor:
    """Return a training step.

    Args:
      loss: a scalar tensor.
      global_step: the global step, which is incremented; None for the graph's.
      learning_rate: a float, a scalar tensor, or None.
      optimizer: an optimizer, its class, its name such as "Adam", or a function of the learning
        rate that gives one.
      gradient_noise_scale: the scale of noise for gradients.
      gradient_multipliers: {variable or its name: factor for its gradient}.
      clip_gradients: a bound of the global norm, or a function of (gradient, variable) pairs.
      learning_rate_decay_fn: a function of learning rate and global step.
      update_ops: operations run before the loss; by default the collection UPDATE_OPS.
      variables: what is trained; by default all trainable variables.
      name: the variable scope.
      summaries: which of OPTIMIZER_SUMMARIES to make.
      colocate_gradients_with_ops: whether gradients are computed where operations are.
      increment_global_step: whether the step increments the global step.

    Returns:
      The loss, after the step.

    Raises:
      ValueError: for arguments of another kind.
    """
    given = dict(locals())
    loss = tf.convert_to_tensor(loss)
    tf.assert_scalar(loss)
    if global_step is None:
        global_step = get_global_step()
    else:
        assert_global_step(global_step)
    with tf.variable_scope(name, "OptimizeLoss", [loss, global_step]):
        loss = _after_updates(loss, update_ops)
        rate = _learning_rate(learning_rate)
        summaries = _checked_summaries(summaries)
        if learning_rate is not None:
            rate = _decayed(rate, learning_rate_decay_fn, global_step, summaries)
        chosen = _optimizer(optimizer, rate, learning_rate)
        pairs = chosen.compute_gradients(
            loss, tf.trainable_variables() if variables is None else variables,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
        )  # fmt: skip
        pairs = _changed(pairs, loss, given, summaries)
        counted = global_step if increment_global_step else None
        updates = chosen.apply_gradients(pairs, global_step=counted, name="train")
        return with_dependencies([updates], loss)


def _adaptive_max_norm(norm: Any, given: dict[str, Any]) -> tuple[Any, Any]:
    """Return a bound from the moving mean and deviation of the norm's logarithm, and that mean."""
    decay, epsilon = given["decay"], given["epsilon"]
    with tf.variable_scope(given["name"], "AdaptiveMaxNorm", [norm]):
        log_norm = tf.log(norm + epsilon)
        if given["global_step"] is not None:
            steps = tf.cast(given["global_step"], tf.float32)
            decay = tf.minimum(decay, steps / (steps + 1.0))

        def moving_average(name: str, value: Any) -> Any:
            variable = tf.get_variable(
                name, shape=value.get_shape(), dtype=value.dtype,
                initializer=tf.zeros_initializer(), trainable=False,
            )  # fmt: skip
            return assign_moving_average(variable, value, decay, zero_debias=False)

        mean = moving_average("mean", log_norm)
        mean_of_squares = moving_average("sq_mean", tf.square(log_norm))
        variance = mean_of_squares - tf.square(mean)
        deviation = tf.sqrt(tf.maximum(epsilon, variance))
        return tf.exp(mean + given["std_factor"] * deviation), mean


@export("contrib.slim.adaptive_clipping_fn")
def adaptive_clipping_fn(
    std_factor: float = 2.0,
    decay: float = 0.95,
    static_max_norm: float | None = None,
    global_step: Any = None,
    report_summary: bool = False,
    epsilon: float = 1e-8,
    name: Any = None,
) -> Callable[[_Pairs], _Pairs]:
    """Return a function for `clip_gradients` whose bound follows the norms seen so far.

    Args:
      std_factor: how many deviations above the mean the bound is.
      decay: the share that moving averages keep in a step.
      static_max_norm: a bound besides.
      global_step: with which averages of few steps keep less.
      report_summary: whether to summarize the bound.
      epsilon: added to norms.
      name: the variable scope.
    """
    given = dict(locals())

    def gradient_clipping(grads_and_vars: _Pairs) -> _Pairs:
        norm = tf.global_norm([pair[0] for pair in grads_and_vars])
        bound, log_mean = _adaptive_max_norm(norm, given)
        if report_summary:
            tf.summary.scalar("global_norm/adaptive_max_gradient_norm", bound)
        factor = tf.where(norm < bound, tf.ones_like(norm), tf.exp(log_mean) / norm)
        if static_max_norm is not None:
            factor = tf.minimum(static_max_norm / norm, factor)
        return [(_scaled(grad, factor), variable) for grad, variable in grads_and_vars]

    return gradient_clipping


def _scaled(gradient: Any, factor: Any) -> Any:
    if gradient is None:
        return None
    if isinstance(gradient, IndexedSlices):
        return IndexedSlices(gradient.values * factor, gradient.indices, gradient.dense_shape)
    return gradient * factor
