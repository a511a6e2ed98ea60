"""Training and evaluation of an estimator by the replicas of a strategy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stillflow import nest
from stillflow.distribute.input import DistributedIterator
from stillflow.distribute.reduce_op import ReduceOp, get_loss_reduction
from stillflow.estimator.evaluation import check_metrics
from stillflow.estimator.input_results import parts_of_element
from stillflow.estimator.mode_keys import ModeKeys
from stillflow.estimator.spec import LOSS_METRIC_KEY, EstimatorSpec
from stillflow.estimator.training import train_with_spec
from stillflow.graph.api import add_to_collection
from stillflow.graph.graph import Graph, get_default_graph
from stillflow.graph.graph_keys import GraphKeys
from stillflow.graph.operation import Tensor
from stillflow.graph.random_seed import set_random_seed
from stillflow.metrics.means import mean
from stillflow.ops.arrays.concat import concat
from stillflow.ops.control_flow.identity_and_group import group
from stillflow.train.global_step import GLOBAL_STEP_READ_KEY
from stillflow.train.scaffold import Scaffold
from stillflow.train.session_run_hook import SessionRunHook
from stillflow.variables.collections import global_variables, report_uninitialized_variables


class DistributedIteratorInitializerHook(SessionRunHook):
    """Hook that initializes the iterators of all workers in every new session."""

    def __init__(self, iterator: DistributedIterator) -> None:
        self._iterator = iterator

    def begin(self) -> None:
        self._initializer = self._iterator.initialize()

    def after_create_session(self, session: Any, coord: Any) -> None:
        session.run(self._initializer)


def train_distributed(
    estimator: Any, strategy: Any, input_fn: Callable[..., Any], hooks: list[Any],
    listeners: list[Any],
) -> np.float32:  # fmt: skip
    """Train until a hook or the input ends it; the losses of replicas are added up.

    `input_fn` makes datasets of each replica's batches. Returns the last loss; None if no step.
    """
    config = estimator._config
    strategy.configure(config.session_config)
    with (
        Graph().as_default() as graph,
        strategy.scope(),
        strategy._scale_loss_for_estimator_enabled(),
    ):
        step, element, input_hooks = _begin(estimator, strategy, graph, input_fn)
        features, labels = parts_of_element(element)
        spec = strategy.extended.call_for_each_replica(
            estimator._call_model_fn, args=(features, labels, ModeKeys.TRAIN, estimator.config)
        )
        loss = strategy.reduce(_loss_reduction(), spec.loss, axis=None)
        scaffold = combined_scaffold(spec.scaffold, strategy)
        whole = EstimatorSpec(
            mode=spec.mode, loss=loss, train_op=strategy.group(spec.train_op),
            training_hooks=_of_first_replica(spec.training_hooks, strategy),
            training_chief_hooks=_of_first_replica(spec.training_chief_hooks, strategy),
            scaffold=scaffold,
        )  # fmt: skip
        if estimator._warm_start_settings:
            estimator._warm_start()
        return train_with_spec(config, whole, [*input_hooks, *hooks], step, listeners)


def _begin(
    estimator: Any, strategy: Any, graph: Graph, input_fn: Callable[..., Any]
) -> tuple[Any, Any, list[Any]]:
    """Return the global step, the next element of the input, and the hooks that start the input."""
    set_random_seed(estimator._config.tf_random_seed)
    iterator, hooks = input_iterator(estimator, strategy, input_fn, ModeKeys.TRAIN)
    step = estimator._create_and_assert_global_step(graph)
    add_to_collection(GLOBAL_STEP_READ_KEY, strategy.extended.read_var(step))
    return step, iterator.get_next(), hooks


def input_iterator(
    estimator: Any, strategy: Any, input_fn: Callable[..., Any], mode: Any
) -> tuple[Any, list[Any]]:
    """Return an iterator over the input function's dataset, and the hooks that start it."""
    iterator = strategy.make_input_fn_iterator(
        lambda context: estimator._call_input_fn(input_fn, mode, context)
    )
    return iterator, [DistributedIteratorInitializerHook(iterator)]


def _loss_reduction() -> ReduceOp:
    """Return the reduction of the replicas' losses to the one that is shown."""
    if get_default_graph()._is_loss_scaled_by_optimizer:
        return get_loss_reduction()
    return ReduceOp.SUM


def _of_first_replica(hooks: Any, strategy: Any) -> list[Any]:
    return [strategy.experimental_local_results(hook)[0] for hook in hooks]


def evaluated_by_replicas(
    estimator: Any, strategy: Any, input_fn: Callable[..., Any], step: Any
) -> tuple[Any, Any, dict[str, Any], list[Any]]:
    """Build the evaluation of a model by replicas, for each of which `input_fn` makes batches.

    Returns the scaffold, the update of metrics, their values, and hooks.
    """
    iterator, hooks = input_iterator(estimator, strategy, input_fn, ModeKeys.EVAL)
    features, labels = parts_of_element(iterator.get_next())
    spec = strategy.extended.call_for_each_replica(
        estimator._call_model_fn, args=(features, labels, ModeKeys.EVAL, estimator.config)
    )
    metrics = check_metrics(spec.eval_metric_ops)
    metrics[LOSS_METRIC_KEY] = strategy.extended.call_for_each_replica(mean, args=(spec.loss,))
    pairs = sorted(metrics.items())
    updates = [strategy.group(update) for _, (_, update) in pairs]
    values = {name: value for name, (value, _) in pairs}
    update = group(*updates)
    scaffold = combined_scaffold(spec.scaffold, strategy)
    values[GraphKeys.GLOBAL_STEP] = step
    return scaffold, update, values, [*hooks, *_of_first_replica(spec.evaluation_hooks, strategy)]


def combined_scaffold(grouped: Any, strategy: Any) -> Scaffold:
    """Return one scaffold of those of all replicas."""
    parts = strategy.experimental_local_results(grouped)

    def given(name: str) -> list[Any]:
        return [value for value in (getattr(part, name) for part in parts) if value is not None]

    def together(name: str) -> Any:
        return strategy.group(given(name)) if given(name) else None

    def first(name: str) -> Any:
        return next(iter(given(name)), None)

    feeds, init_op = together("init_feed_dict"), together("init_op")
    ready_op = _joined(strategy, lambda scaffold: scaffold.ready_op, grouped)
    ready_for_local = _joined(strategy, _ready_for_local_init_op, grouped)
    return Scaffold(
        init_op=init_op, init_feed_dict=feeds, init_fn=first("_user_init_fn"),
        ready_op=ready_op, ready_for_local_init_op=ready_for_local,
        local_init_op=together("local_init_op"), summary_op=together("summary_op"),
        saver=first("saver"),
    )  # fmt: skip


def _joined(strategy: Any, build: Callable[[Any], Any], grouped: Any) -> Tensor | None:
    """Concatenate the results of `build` for each replica's scaffold."""
    made = strategy.extended.call_for_each_replica(build, args=(grouped,))
    if made is None:
        return None
    flat = nest.flatten(strategy.experimental_local_results(made))
    return flat[0] if len(flat) == 1 else concat(flat, 0)


def _ready_for_local_init_op(scaffold: Scaffold) -> Any:
    if scaffold.ready_for_local_init_op is not None:
        return scaffold.ready_for_local_init_op
    return Scaffold.get_or_default(
        "ready_for_local_init_op",
        GraphKeys.READY_FOR_LOCAL_INIT_OP,
        lambda: report_uninitialized_variables(global_variables()),
    )
