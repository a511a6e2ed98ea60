"""tf.train.SessionManager: sessions whose variables are restored or initialized."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.graph.export import export
from stillflow.graph.graph import Graph, get_default_graph
from stillflow.platform import tf_logging as logging
from stillflow.runtime.session import session as session_lib
from stillflow.train import checkpoint_management

_FOR_EVER = float("inf")


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
      recovery_wait_secs: how long to wait between two looks.
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

    def _restore_checkpoint(
        self, master: str, saver: Any, checkpoint_dir: Any, checkpoint_filename_with_path: Any,
        wait_for_checkpoint: bool, max_wait_secs: float, config: Any,
    ) -> tuple[Any, bool]:  # fmt: skip
        """Return a new session, and whether a checkpoint was restored in it."""
        self._target = master
        sess = session_lib.Session(self._target, graph=self._graph, config=config)
        if checkpoint_dir and checkpoint_filename_with_path:
            raise ValueError(
                "Can not provide both checkpoint_dir and checkpoint_filename_with_path."
            )
        if not saver or not (checkpoint_dir or checkpoint_filename_with_path):
            return sess, False
        if checkpoint_filename_with_path:
            saver.restore(sess, checkpoint_filename_with_path)
            return sess, True
        state = self._checkpoint(checkpoint_dir, wait_for_checkpoint, max_wait_secs)
        if state is None:
            return sess, False
        saver.restore(sess, state.model_checkpoint_path)
        saver.recover_last_checkpoints(state.all_model_checkpoint_paths)
        return sess, True

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
    ) -> Any:  # fmt: skip
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
        sess, is_restored = self._restore_checkpoint(
            master, saver, checkpoint_dir, checkpoint_filename_with_path, wait_for_checkpoint,
            max_wait_secs, config,
        )  # fmt: skip
        if not is_restored:
            if init_op is None and not init_fn and self._local_init_op is None:
                raise RuntimeError(
                    "Model is not initialized and no init_op or init_fn or local_init_op was given"
                )
            if init_op is not None:
                sess.run(init_op, feed_dict=init_feed_dict)
            if init_fn:
                init_fn(sess)
        ok, message = self._try_run_local_init_op(sess)
        if not ok:
            raise RuntimeError(
                "Init operations did not make model ready for local_init.  "
                f"Init op: {_name(init_op)}, init fn: {init_fn}, error: {message}"
            )
        ok, message = self._model_ready(sess)
        if not ok:
            raise RuntimeError(
                f"Init operations did not make model ready.  Init op: {_name(init_op)}, init fn: "
                f"{init_fn}, local_init_op: {self._local_init_op}, error: {message}"
            )
        return sess

    def recover_session(
        self, master: str, saver: Any = None, checkpoint_dir: Any = None,
        checkpoint_filename_with_path: Any = None, wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200, config: Any = None,
    ) -> tuple[Any, bool]:  # fmt: skip
        """Return a session, and whether a checkpoint was restored and has made it ready."""
        sess, is_restored = self._restore_checkpoint(
            master, saver, checkpoint_dir, checkpoint_filename_with_path, wait_for_checkpoint,
            max_wait_secs, config,
        )  # fmt: skip
        local_ok, message = self._try_run_local_init_op(sess)
        if not is_restored:
            return sess, False
        place = checkpoint_dir or checkpoint_filename_with_path
        if not local_ok:
            logging.info(
                "Restoring model from %s did not make model ready for local init: %s",
                place, message,
            )  # fmt: skip
            return sess, False
        ok, message = self._model_ready(sess)
        if not ok:
            logging.info("Restoring model from %s did not make model ready: %s", place, message)
            return sess, False
        logging.info("Restored model from %s", place)
        return sess, True

    def wait_for_session(
        self, master: str, config: Any = None, max_wait_secs: float | None = _FOR_EVER
    ) -> Any:
        """Return a session, once another process has made its variables ready.

        Raises:
          DeadlineExceededError: if they are not within `max_wait_secs`.
        """
        self._target = master
        limit = _FOR_EVER if max_wait_secs is None else max_wait_secs
        end = time.time() + limit
        while True:
            sess = session_lib.Session(self._target, graph=self._graph, config=config)
            message = None
            local_ok, local_message = self._try_run_local_init_op(sess)
            if local_ok:
                ok, message = self._model_ready(sess)
                if ok:
                    return sess
            self._safe_close(sess)
            if max(0, end - time.time()) - self._recovery_wait_secs < 0:
                raise errors.deadline_exceeded(
                    f"Session was not ready after waiting {int(limit)} secs."
                )
            logging.info(
                "Waiting for model to be ready.  Ready_for_local_init_op:  %s, ready: %s",
                local_message, message,
            )  # fmt: skip
            time.sleep(self._recovery_wait_secs)

    @staticmethod
    def _safe_close(sess: Any) -> None:
        try:
            sess.close()
        except Exception as error:
            logging.vlog(1, "Ignored exception: %s", error)

    def _model_ready(self, sess: Any) -> tuple[bool, str | None]:
        return _ready(self._ready_op, sess, "Model not ready")

    def _model_ready_for_local_init(self, sess: Any) -> tuple[bool, str | None]:
        return _ready(self._ready_for_local_init_op, sess, "Model not ready for local init")

    def _try_run_local_init_op(self, sess: Any) -> tuple[bool, str | None]:
        if self._local_init_op is None:
            return True, None
        ok, message = self._model_ready_for_local_init(sess)
        if not ok:
            return False, message
        logging.info("Running local_init_op.")
        sess.run(self._local_init_op, options=self._local_init_run_options)
        logging.info("Done running local_init_op.")
        return True, None


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
