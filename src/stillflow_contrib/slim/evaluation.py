"""Evaluation by `tf.contrib.slim`: of one checkpoint, or of each new one of a training."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stillflow.graph.export import export
from stillflow.ops.summary.merging import merge_all
from stillflow.train.evaluation import StopAfterNEvalsHook
from stillflow.train.evaluation import evaluate_once as _evaluate_once
from stillflow.train.saver import Saver
from stillflow.train.scaffold import Scaffold
from stillflow_contrib.training.evaluation import SummaryAtEndHook, evaluate_repeatedly

_USE_DEFAULT = 0  # stands for all summaries; None stands for none


def _prepared(given: dict[str, Any]) -> dict[str, Any]:
    """Return the common arguments of both functions below, from their `locals()`."""
    summary_op, variables = given["summary_op"], given["variables_to_restore"]
    if summary_op == _USE_DEFAULT:
        summary_op = merge_all()
    hooks: list[Any] = [StopAfterNEvalsHook(given["num_evals"])]
    if summary_op is not None:
        hooks.append(
            SummaryAtEndHook(
                log_dir=given["logdir"],
                summary_op=summary_op,
                feed_dict=given["summary_op_feed_dict"],
            )
        )
    scaffold = Scaffold(
        init_op=given["initial_op"],
        init_feed_dict=given["initial_op_feed_dict"],
        init_fn=given.get("init_fn"),
        saver=None if variables is None else Saver(variables),
    )
    return {
        "master": given["master"],
        "scaffold": scaffold,
        "eval_ops": given["eval_op"],
        "feed_dict": given["eval_op_feed_dict"],
        "final_ops": given["final_op"],
        "final_ops_feed_dict": given["final_op_feed_dict"],
        "hooks": [*hooks, *(given["hooks"] or [])],
        "config": given["session_config"],
    }


@export("contrib.slim.evaluation.evaluate_once")
def evaluate_once(
    master: str,
    checkpoint_path: Any,
    logdir: Any,
    num_evals: int = 1,
    initial_op: Any = None,
    initial_op_feed_dict: Any = None,
    eval_op: Any = None,
    eval_op_feed_dict: Any = None,
    final_op: Any = None,
    final_op_feed_dict: Any = None,
    summary_op: Any = _USE_DEFAULT,
    summary_op_feed_dict: Any = None,
    variables_to_restore: Any = None,
    session_config: Any = None,
    hooks: Any = None,
) -> dict[str, Any]:
    """Evaluate a checkpoint.

    Args:
      master: the target of the session.
      checkpoint_path: the checkpoint to restore.
      logdir: where summaries go.
      num_evals: how often `eval_op` is run.
      initial_op, initial_op_feed_dict: run once at the start, and its feeds.
      eval_op, eval_op_feed_dict: the fetches of a round.
      final_op, final_op_feed_dict: run once at the end.
      summary_op, summary_op_feed_dict: written at the end; all summaries by default.
      variables_to_restore: which variables; all by default.
      session_config: a `ConfigProto`.
      hooks: further `SessionRunHook`s.

    Returns:
      The results of `final_op`.
    """
    return _evaluate_once(checkpoint_path, **_prepared(locals()))


@export("contrib.slim.evaluation.evaluation_loop")
def evaluation_loop(
    master: str,
    checkpoint_dir: Any,
    logdir: Any,
    num_evals: int = 1,
    initial_op: Any = None,
    initial_op_feed_dict: Any = None,
    init_fn: Any = None,
    eval_op: Any = None,
    eval_op_feed_dict: Any = None,
    final_op: Any = None,
    final_op_feed_dict: Any = None,
    summary_op: Any = _USE_DEFAULT,
    summary_op_feed_dict: Any = None,
    variables_to_restore: Any = None,
    eval_interval_secs: float = 60,
    max_number_of_evaluations: int | None = None,
    session_config: Any = None,
    timeout: float | None = None,
    timeout_fn: Callable[[], bool] | None = None,
    hooks: Any = None,
) -> np.float32:
    """Evaluate each new checkpoint of a folder as it appears.

    Args:
      checkpoint_dir: the folder.
      init_fn: called with scaffold and session once variables are restored.
      eval_interval_secs: the least time between two evaluations.
      max_number_of_evaluations: after so many it ends.
      timeout, timeout_fn: as of `tf.contrib.training.evaluate_repeatedly`.
      master, logdir, num_evals, initial_op, initial_op_feed_dict, eval_op, eval_op_feed_dict,
        final_op, final_op_feed_dict, summary_op, summary_op_feed_dict, variables_to_restore,
        session_config, hooks: as of `evaluate_once`.

    Returns:
      The results of `final_op` the last time; None if there was no evaluation.
    """
    return evaluate_repeatedly(
        checkpoint_dir,
        **_prepared(locals()),
        eval_interval_secs=eval_interval_secs,
        max_number_of_evaluations=max_number_of_evaluations,
        timeout=timeout,
        timeout_fn=timeout_fn,
    )
