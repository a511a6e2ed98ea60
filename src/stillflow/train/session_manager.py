"""tf.train.SessionManager: sessions whose variables are restored or initialized."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.graph.export import export
from stillflow.graph.graph import Graph, get_default_graph
from stillflow.platform import tf_logging as logging
from stillflow.runtime.session import session as session_lib
from stillflow.runtime.session.session import Session
from stillflow.train import checkpoint_management

_FOR_EVER = float("inf")
_FIRST_PAUSE = 0.1  # seconds between the first two looks; the next pauses are each twice as long


def _name(thing: Any) -> str:
    if thing is None:
        return "None"
    return str(getattr(thing, "name", f"<no name for {type(thing)}>"))


@export("train.SessionManager")
class SessionManager:
    """Manager that makes sessions ready to use.

    Args:
      local_init_op: initializes the local variables of each process.
      ready_op: gives the names of variables that are not initialized: none, when all are ready.
      ready_for_local_init_op: the same, for the variables that `local_init_op` needs.
      graph: the graph; the default one if None.
      recovery_wait_secs: how long to wait between two looks, at most.
      local_init_run_options: `RunOptions` for `local_init_op`.

    Raises:
      ValueError: if there is a `ready_for_local_init_op` without a `local_init_op`.
    """

    def __init__(
        self, local_init_op: Any = None, ready_op: Any = None,
        ready_for_local_init_op: Any = None, graph: Graph | None = None,
        recovery_wait_secs: float = 30, local_init_run_options: Any = None,
    ) -> None:  # fmt: skip
        self._local_init_op = local_init_op
        self._ready_op = ready_op
        self._ready_for_local_init_op = ready_for_local_init_op
        self._graph = get_default_graph() if graph is None else graph
        self._recovery_wait_secs = recovery_wait_secs
        self._target: Any = None
        self._local_init_run_options = local_init_run_options
        if ready_for_local_init_op is not None and local_init_op is None:
            raise ValueError(
                "If you pass a ready_for_local_init_op you must also pass a local_init_op , "
                f"ready_for_local_init_op [{ready_for_local_init_op}]"
            )

    def _open(self, master: str, config: Any) -> Session:
        self._target = master
        return session_lib.Session(master, graph=self._graph, config=config)

    def _restored(
        self, sess: Any, saver: Any, folder: Any, path: Any, wait: bool, max_wait_secs: float
    ) -> bool:
        """Restore the last checkpoint of a folder or that at a path; False if there is none."""
        if folder and path:
            raise ValueError(
                "Can not provide both checkpoint_dir and checkpoint_filename_with_path."
            )
        state = self._checkpoint(folder, wait, max_wait_secs) if saver and folder else None
        path = path if state is None else state.model_checkpoint_path
        if not (saver and path):
            return False
        saver.restore(sess, path)
        if state is not None:
            saver.recover_last_checkpoints(state.all_model_checkpoint_paths)
        return True

    def _checkpoint(self, folder: Any, wait: bool, max_wait_secs: float) -> Any:
        """Wait for the folder's checkpoint state and return it.

        None if there are no checkpoints.
        """
        waited = 0.0
        while True:
            state = checkpoint_management.get_checkpoint_state(folder)
            if state and state.model_checkpoint_path:
                return state
            if not wait or waited >= max_wait_secs:
                return None
            logging.info("Waiting for checkpoint to be available.")
            time.sleep(self._recovery_wait_secs)
            waited += self._recovery_wait_secs

    def prepare_session(
        self, master: str, init_op: Any = None, saver: Any = None, checkpoint_dir: Any = None,
        checkpoint_filename_with_path: Any = None, wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200, config: Any = None, init_feed_dict: Any = None,
        init_fn: Any = None,
    ) -> Session:  # fmt: skip
        """Return a session that is ready: restored if there is a checkpoint, else initialized.

        Args:
          master: the target of the session.
          init_op: initializes variables.
          saver: restores them.
          checkpoint_dir: a folder with checkpoints.
          checkpoint_filename_with_path: a checkpoint.
          wait_for_checkpoint: whether to wait for a checkpoint.
          max_wait_secs: for how long.
          config: a `ConfigProto`.
          init_feed_dict: fed to `init_op`.
          init_fn: called with the session after `init_op`.

        Raises:
          RuntimeError: if the session does not become ready.
          ValueError: if both places of checkpoints are given.
        """
        sess = self._open(master, config)
        if not self._restored(
            sess, saver, checkpoint_dir, checkpoint_filename_with_path, wait_for_checkpoint,
            max_wait_secs,
        ):  # fmt: skip
            if init_op is None and not init_fn and self._local_init_op is None:
                raise RuntimeError(
                    "Model is not initialized and no init_op or init_fn or local_init_op was given"
                )
            if init_op is not None:
                sess.run(init_op, feed_dict=init_feed_dict)
            if init_fn:
                init_fn(sess)
        used = f"Init op: {_name(init_op)}, init fn: {init_fn}"
        goals = {
            "ready for local_init": used,
            "ready": f"{used}, local_init_op: {self._local_init_op}",
        }
        for (goal, operations), reason in zip(goals.items(), self._unready(sess), strict=True):
            if reason:
                raise RuntimeError(
                    f"Init operations did not make model {goal}.  {operations}, error: {reason}"
                )
        return sess

    def recover_session(
        self, master: str, saver: Any = None, checkpoint_dir: Any = None,
        checkpoint_filename_with_path: Any = None, wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200, config: Any = None,
    ) -> tuple[Any, bool]:  # fmt: skip
        """Return a session, and whether a checkpoint was restored and has made it ready."""
        sess = self._open(master, config)
        is_restored = self._restored(
            sess, saver, checkpoint_dir, checkpoint_filename_with_path, wait_for_checkpoint,
            max_wait_secs,
        )  # fmt: skip
        place = checkpoint_dir or checkpoint_filename_with_path
        goals = "ready for local init", "ready"
        for goal, reason in zip(goals, self._unready(sess), strict=True):
            if not is_restored:
                return sess, False
            if reason:
                message = "Restoring model from %s did not make model %s: %s"
                logging.info(message, place, goal, reason)
                return sess, False
        logging.info("Restored model from %s", place)
        return sess, True

    def wait_for_session(
        self, master: str, config: Any = None, max_wait_secs: float | None = _FOR_EVER
    ) -> Session:
        """Return a session, once another process has made its variables ready.

        Raises:
          DeadlineExceededError: if they are not within `max_wait_secs`.
        """
        limit = _FOR_EVER if max_wait_secs is None else max_wait_secs
        end, pause = time.time() + limit, _FIRST_PAUSE
        while True:
            sess = self._open(master, config)
            reasons = list(self._unready(sess))
            if not any(reasons):
                return sess
            self._safe_close(sess)
            if max(0, end - time.time()) - self._recovery_wait_secs < 0:
                raise errors.deadline_exceeded(
                    f"Session was not ready after waiting {int(limit)} secs."
                )
            logging.info(
                "Waiting for model to be ready.  Ready_for_local_init_op:  %s, ready: %s",
                *(*reasons, None)[:2],
            )  # fmt: skip
            time.sleep(min(pause, self._recovery_wait_secs))
            pause *= 2

    @staticmethod
    def _safe_close(sess: Any) -> None:
        try:
            sess.close()
        except Exception as error:
            logging.vlog(1, "Ignored exception: %s", error)

    def _unready(self, sess: Any) -> Iterator[str | None]:
        """Yield why the local variables cannot be initialized, then why the model is not ready.

        None stands for no reason. They are initialized in between; a reason ends it before that.
        """
        reason = None
        if self._local_init_op is not None:
            message = "Model not ready for local init"
            reason = _ready(self._ready_for_local_init_op, sess, message)[1]
            if reason is None:
                logging.info("Running local_init_op.")
                sess.run(self._local_init_op, options=self._local_init_run_options)
                logging.info("Done running local_init_op.")
        yield reason
        if reason is None:
            yield _ready(self._ready_op, sess, "Model not ready")[1]


def _ready(op: Any, sess: Any, msg: str) -> tuple[bool, str | None]:
    """Return True if everything is initialized, else the names of the rest."""
    if op is None:
        return True, None
    try:
        value = sess.run(op)
    except errors.FailedPreconditionError as error:
        if "uninitialized" not in str(error):
            logging.warning("%s : error [%s]", msg, error)
            raise
        return False, str(error)
    if value is None or value.dtype == np.int32 or value.size == 0:
        return True, None
    names = ", ".join(name.decode() for name in value)
    return False, f"Variables not initialized: {names}"
