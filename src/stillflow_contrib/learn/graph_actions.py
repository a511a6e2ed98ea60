"""tf.contrib.learn.run_n, run_feeds and infer: values of a graph, in a session of their own."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

from stillflow.graph.export import export
from stillflow.graph.graph_keys import GraphKeys
from stillflow.platform import tf_logging as logging
from stillflow.runtime.session.session import Session
from stillflow.train.coordinator import Coordinator
from stillflow.train.queue_runner import start_queue_runners
from stillflow.train.saver import Saver
from stillflow.train.scaffold import Scaffold
from stillflow.util.deprecation import deprecated
from stillflow.variables.collections import global_variables_initializer
from stillflow.variables.resources import initialize_resources, shared_resources
from stillflow_contrib.framework.elsewhere import get_graph_from_inputs

DEPRECATED = deprecated(
    "2017-02-15",
    "graph_actions.py will be deleted. Use tf.train.* utilities instead. You can use "
    "learn/estimators/estimator.py as an example.",
)


def checkpoint_saver(graph: Any, keep_checkpoint_max: int = 5) -> Saver | None:
    """Return a saver of all that a graph has to save; None if there is nothing."""
    saved = graph.get_collection(GraphKeys.GLOBAL_VARIABLES)
    saved = saved + graph.get_collection(GraphKeys.SAVEABLE_OBJECTS)
    return Saver(saved, sharded=True, max_to_keep=keep_checkpoint_max) if saved else None


def restore_from(session: Session, path: Any, saver: Saver | None) -> None:
    """Set variables to those of a checkpoint."""
    logging.info("Loading model from checkpoint: %s.", path)
    if saver is None:
        logging.info("No variables found in graph, not creating Saver() object.")
    else:
        saver.restore(session, path)


@export("contrib.learn.run_feeds")
@DEPRECATED
def run_feeds(
    output_dict: dict[str, Any], feed_dicts: Iterable[Any], restore_checkpoint_path: Any = None
) -> list[dict[str, Any]]:
    """Run tensors once for each of some feeds.

    Args:
      output_dict: {name: tensor}.
      feed_dicts: the feeds; None for nothing.
      restore_checkpoint_path: the values of variables; they are initialized if None.

    Returns:
      A list of {name: value}.

    Raises:
      ValueError: if there is nothing to run.
    """
    if not output_dict:
        raise ValueError(f"output_dict is invalid: {output_dict}.")
    graph = get_graph_from_inputs(list(output_dict.values()))
    with graph.as_default(), Session("") as session:
        session.run(initialize_resources(shared_resources()))
        if restore_checkpoint_path:
            restore_from(session, restore_checkpoint_path, checkpoint_saver(graph))
        else:
            session.run(global_variables_initializer())
        session.run(Scaffold.default_local_init_op())
        coord = Coordinator()
        threads = start_queue_runners(session, coord=coord)
        try:
            return [session.run(output_dict, feeds) for feeds in feed_dicts]
        finally:
            coord.request_stop()
            coord.join(threads, stop_grace_period_secs=120)


@export("contrib.learn.run_n")
@DEPRECATED
def run_n(
    output_dict: dict[str, Any], feed_dict: Any = None, restore_checkpoint_path: Any = None,
    n: int = 1,
) -> list[dict[str, Any]]:  # fmt: skip
    """Run like `run_feeds`, `n` times with the same feed."""
    return run_feeds(output_dict, itertools.repeat(feed_dict, n), restore_checkpoint_path)


@export("contrib.learn.infer")
@DEPRECATED
def infer(
    restore_checkpoint_path: Any, output_dict: dict[str, Any], feed_dict: Any = None
) -> dict[str, Any]:
    """Run tensors once, with variables from a checkpoint.

    Args:
      restore_checkpoint_path: the values of variables; they are initialized if None.
      output_dict: {name: tensor}.
      feed_dict: the feeds.

    Returns:
      {name: value}.

    Raises:
      ValueError: if there is nothing to run.
    """
    found: dict[str, Any] = run_feeds(output_dict, [feed_dict], restore_checkpoint_path)[0]
    return found
