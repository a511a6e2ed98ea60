"""One round of evaluation of a checkpoint, for estimators, slim and contrib.training."""

from __future__ import annotations

import time
from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.api import control_dependencies
from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph
from stillflow.graph.graph_keys import GraphKeys
from stillflow.graph.operation import Tensor
from stillflow.ops.control_flow.identity_and_group import identity
from stillflow.platform import tf_logging as logging
from stillflow.train.logging_hooks import FinalOpsHook
from stillflow.train.monitored_session import MonitoredSession
from stillflow.train.session_creator import ChiefSessionCreator
from stillflow.train.session_run_hook import SessionRunArgs, SessionRunHook
from stillflow.variables.initializers import zeros_initializer
from stillflow.variables.state_ops import assign_add
from stillflow.variables.variable_scope import get_variable

# From so many rounds on, progress is logged every tenth of them only.
_MANY = 20


@export("contrib.training.StopAfterNEvalsHook")
class StopAfterNEvalsHook(SessionRunHook):
    """Hook that ends an evaluation after some rounds, and logs its progress.

    Args:
      num_evals: how many rounds; None for as long as there is input.
      log_progress: whether to log.
    """

    def __init__(self, num_evals: int | None, log_progress: bool = True) -> None:
        self._num_evals = num_evals
        self._evals_completed: Any = None
        self._log_progress = log_progress
        self._log_frequency = 1 if num_evals is None or num_evals < _MANY else num_evals // 10

    def _set_evals_completed_tensor(self, updated_eval_step: Any) -> None:
        """Says which tensor counts the rounds."""
        self._evals_completed = updated_eval_step

    def before_run(self, run_context: Any) -> SessionRunArgs:
        return SessionRunArgs({"evals_completed": self._evals_completed})

    def after_run(self, run_context: Any, run_values: Any) -> None:
        done = run_values.results["evals_completed"]
        if self._log_progress:
            self._log(done)
        if self._num_evals is not None and done >= self._num_evals:
            run_context.request_stop()

    def _log(self, done: int) -> None:
        if self._num_evals is None:
            logging.info("Evaluation [%d]", done)
        elif done % self._log_frequency == 0 or done == self._num_evals:
            logging.info("Evaluation [%d/%d]", done, self._num_evals)


@export("contrib.training.get_or_create_eval_step")
def get_or_create_eval_step() -> Any:
    """Return the local variable `eval_step` that counts the rounds of an evaluation.

    Raises:
      ValueError: if the graph has several.
    """
    steps = get_default_graph().get_collection(GraphKeys.EVAL_STEP)
    if len(steps) > 1:
        raise ValueError("Multiple tensors added to tf.GraphKeys.EVAL_STEP")
    return steps[0] if steps else get_variable(
        "eval_step", shape=[], dtype=dtypes.int64, initializer=zeros_initializer(),
        trainable=False, collections=[GraphKeys.LOCAL_VARIABLES, GraphKeys.EVAL_STEP],
    )  # fmt: skip


@export("contrib.training.evaluate_once")
def evaluate_once(
    checkpoint_path: Any, master: str = "", scaffold: Any = None, eval_ops: Any = None,
    feed_dict: Any = None, final_ops: Any = None, final_ops_feed_dict: Any = None,
    hooks: Any = None, config: Any = None,
) -> dict[str, Any]:  # fmt: skip
    """Restores a checkpoint, runs `eval_ops` until a hook or the input ends it, then `final_ops`.

    Args:
      checkpoint_path: the checkpoint to restore; variables are initialized if None.
      master: the target of the session.
      scaffold: a `Scaffold`.
      eval_ops: the fetches of a round: one thing, a list, or a dict (to which the counter is
        added).
      feed_dict: fed to it.
      final_ops: the fetches at the end, in any structure.
      final_ops_feed_dict: fed to that.
      hooks: `SessionRunHook`s; a `StopAfterNEvalsHook` in it gets the counter.
      config: a `ConfigProto`.

    Returns:
      The results of `final_ops`.
    """
    eval_step = get_or_create_eval_step()
    hooks = list(hooks or [])
    if eval_ops is not None:
        eval_ops = with_counter(eval_ops, assign_add(eval_step, 1, use_locking=True))
        done = _counter_after(eval_ops)
        for hook in hooks:
            if isinstance(hook, StopAfterNEvalsHook):
                hook._set_evals_completed_tensor(done)
    logging.info("Starting evaluation at " + time.strftime("%Y-%m-%dT%H:%M:%SZ", time.localtime()))
    creator = ChiefSessionCreator(
        scaffold=scaffold, checkpoint_filename_with_path=checkpoint_path, master=master,
        config=config,
    )  # fmt: skip
    final = FinalOpsHook(final_ops, final_ops_feed_dict)
    with MonitoredSession(session_creator=creator, hooks=[*hooks, final]) as session:
        if eval_ops is not None:
            while not session.should_stop():
                session.run(eval_ops, feed_dict)
    logging.info("Finished evaluation at " + time.strftime("%Y-%m-%d-%H:%M:%S", time.localtime()))
    return final.final_ops_values


def with_counter(eval_ops: Any, update: Any) -> dict[Any, Any] | list[Any]:
    """Return the fetches of a round, with the counter's update."""
    if isinstance(eval_ops, dict):
        eval_ops["update_eval_step"] = update
        return eval_ops
    return [*eval_ops, update] if isinstance(eval_ops, (tuple, list)) else [eval_ops, update]


def _counter_after(eval_ops: Any) -> Tensor:
    """Return the counter as it stands once a round is done."""
    with control_dependencies(list(eval_ops.values()) if isinstance(eval_ops, dict) else eval_ops):
        return identity(get_or_create_eval_step().read_value())
