"""tf.train.basic_train_loop: a training loop under a Supervisor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow import errors
from stillflow.graph.export import export


@export("train.basic_train_loop")
def basic_train_loop(
    supervisor: Any,
    train_step_fn: Callable[..., Any],
    args: Any = None,
    kwargs: Any = None,
    master: str = "",
) -> None:
    """Call a function repeatedly until the supervisor stops.

    Where it raises `AbortedError`, a new session takes over from the last checkpoint.

    Args:
      supervisor: a `tf.train.Supervisor`.
      train_step_fn: called with the session and the arguments.
      args: positional arguments after the session.
      kwargs: keyword arguments.
      master: the target of the session.
    """
    args, kwargs = args or (), kwargs or {}
    while True:
        try:
            with supervisor.managed_session(master) as sess:
                while not supervisor.should_stop():
                    train_step_fn(sess, *args, **kwargs)
        except errors.AbortedError:
            continue
        return
