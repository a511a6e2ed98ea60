"""A hook that evaluates a model in the midst of its training, without checkpoints."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stillflow as tf
from stillflow.estimator.checks import hook_list
from stillflow.graph.export import export
from stillflow.graph.graph import Graph
from stillflow.graph.graph_keys import GraphKeys
from stillflow.train.evaluation import StopAfterNEvalsHook
from stillflow.train.hook_timer import SecondOrStepTimer
from stillflow.train.scaffold import Scaffold
from stillflow.train.session_run_hook import SessionRunHook


@export("estimator.experimental.InMemoryEvaluatorHook")
class InMemoryEvaluatorHook(SessionRunHook):
    """Hook that evaluates before training, at intervals of steps, and after it.

    Args:
      estimator: whose training it is.
      input_fn: the input of the evaluations.
      steps: over how many batches; None for all.
      hooks: `SessionRunHook`s of the evaluations.
      name: of the evaluations, where there are several.
      every_n_iter: after how many steps.

    Raises:
      ValueError: for other numbers of steps, or if there are several workers.
    """

    def __init__(
        self, estimator: Any, input_fn: Callable[..., Any], steps: int | None = None,
        hooks: Any = None, name: str | None = None, every_n_iter: int = 100,
    ) -> None:  # fmt: skip
        if every_n_iter is None or every_n_iter <= 0:
            raise ValueError(f"invalid every_n_iter={every_n_iter}.")
        if estimator.config.num_ps_replicas > 0 or estimator.config.num_worker_replicas > 1:
            raise ValueError("InMemoryEvaluator supports only single machine (aka Local) setting.")
        self._estimator = estimator
        self._input_fn = input_fn
        self._eval_dir = estimator.eval_dir(name)
        self._hooks = hook_list(hooks)
        if steps is not None:
            if steps <= 0:
                raise ValueError(f"Must specify steps > 0, given: {steps}")
            self._hooks.append(StopAfterNEvalsHook(steps))
        self._timer = SecondOrStepTimer(every_steps=every_n_iter)

    def begin(self) -> None:
        """Build the graph of the evaluations."""
        self._timer.reset()
        self._iter_count = 0
        self._graph = Graph()
        with self._graph.as_default():
            self._scaffold, *self._built = self._estimator._evaluate_build_graph(
                self._input_fn, self._hooks, checkpoint_path=None
            )
            if self._scaffold.saver is not None:
                raise ValueError("InMemoryEvaluator does not support custom saver")
            if self._scaffold.init_fn is not None:
                raise ValueError("InMemoryEvaluator does not support custom init_fn")
            self._variables = _global_variables()
            self._placeholders = {
                name: tf.placeholder(variable.dtype) for name, variable in self._variables.items()
            }

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Evaluate the untrained model."""
        if tf.get_collection(GraphKeys.SAVEABLE_OBJECTS):
            raise ValueError(
                "InMemoryEvaluator does not support saveables other than global variables."
            )
        self._trained = {
            name: variable
            for name, variable in _global_variables().items()
            if name in self._placeholders
        }
        with self._graph.as_default():
            self._take_over = tf.group([
                tf.assign(self._variables[name], self._placeholders[name])
                for name in self._trained
            ])  # fmt: skip
        self._evaluate(session)

    def _evaluate(self, train_session: Any) -> None:
        values = train_session.run(self._trained)
        feeds = {self._placeholders[name]: value for name, value in values.items()}

        def take_over(scaffold: Any, session: Any) -> None:
            session.run(self._take_over, feed_dict=feeds)

        scaffold = Scaffold(init_fn=take_over, copy_from_scaffold=self._scaffold)
        with self._graph.as_default():
            self._estimator._evaluate_run(None, scaffold, *self._built, self._eval_dir)
        self._timer.update_last_triggered_step(self._iter_count)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Evaluate the model, now and then."""
        self._iter_count += 1
        if self._timer.should_trigger_for_step(self._iter_count):
            self._evaluate(run_context.session)

    def end(self, session: Any) -> None:
        """Evaluate the trained model."""
        self._evaluate(session)


def _global_variables() -> dict[str, Any]:
    return {variable.name: variable for variable in tf.get_collection(GraphKeys.GLOBAL_VARIABLES)}
