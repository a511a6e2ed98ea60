"""The checkpoints of a directory: which there are, which is the latest, and how they go."""

from __future__ import annotations

import glob
import os
import re
import time
from collections.abc import Sequence
from typing import Any

from stillflow import errors
from stillflow.files import checkpoint_state, gfile
from stillflow.files.bundle_reader import is_cut_off
from stillflow.files.durability import write_back
from stillflow.files.failures import os_errors
from stillflow.files.local_path import is_remote, plain_path, plain_prefix
from stillflow.graph.export import export
from stillflow.platform import compat
from stillflow.platform import tf_logging as logging
from stillflow.protos import CheckpointState, SaverDef


@export("train.generate_checkpoint_state_proto")
def generate_checkpoint_state_proto(
    save_dir: str,
    model_checkpoint_path: str,
    all_model_checkpoint_paths: list[str] | None = None,
    all_model_checkpoint_timestamps: Sequence[float] | None = None,
    last_preserved_timestamp: float | None = None,
) -> Any:
    """Return a `CheckpointState` that lists checkpoints.

    Args:
      save_dir: Their directory; if it is relative, so are the paths written.
      model_checkpoint_path: The latest.
      all_model_checkpoint_paths: All that are kept, the oldest first.
      all_model_checkpoint_timestamps: When each was made, in seconds.
      last_preserved_timestamp: When one was last kept for good.

    Raises:
      ValueError: If there are not as many times as paths.
    """
    paths = [] if all_model_checkpoint_paths is None else all_model_checkpoint_paths
    if not paths or paths[-1] != model_checkpoint_path:
        logging.info(
            "%s is not in all_model_checkpoint_paths. Manually adding it.", model_checkpoint_path
        )
        paths.append(model_checkpoint_path)
    times = all_model_checkpoint_timestamps
    if times and len(times) != len(paths):
        raise ValueError(
            "Checkpoint timestamps, if provided, must match checkpoint paths (got paths "
            f"{paths} and timestamps {times})"
        )

    def written(path: str) -> str:
        is_as_given = os.path.isabs(save_dir) or os.path.isabs(path)
        return path if is_as_given else os.path.relpath(path, save_dir)

    shown = [written(path) for path in paths]
    if shown != list(paths):
        paths[:] = shown  # the caller's list, as in TensorFlow
    return CheckpointState(
        model_checkpoint_path=written(model_checkpoint_path),
        all_model_checkpoint_paths=paths,
        all_model_checkpoint_timestamps=times,
        last_preserved_timestamp=last_preserved_timestamp,
    )


@export("train.update_checkpoint_state")
def update_checkpoint_state(
    save_dir: str,
    model_checkpoint_path: str,
    all_model_checkpoint_paths: list[str] | None = None,
    latest_filename: str | None = None,
    all_model_checkpoint_timestamps: Sequence[float] | None = None,
    last_preserved_timestamp: float | None = None,
) -> None:
    """Write the file that lists the checkpoints of a directory.

    Args:
      save_dir: The directory.
      latest_filename: The file's name, "checkpoint" by default.
      model_checkpoint_path, all_model_checkpoint_paths, all_model_checkpoint_timestamps,
        last_preserved_timestamp: As for `generate_checkpoint_state_proto`.

    Raises:
      RuntimeError: If a checkpoint has the name of that file.
    """
    update_checkpoint_state_internal(
        save_dir,
        model_checkpoint_path,
        all_model_checkpoint_paths=all_model_checkpoint_paths,
        latest_filename=latest_filename,
        all_model_checkpoint_timestamps=all_model_checkpoint_timestamps,
        last_preserved_timestamp=last_preserved_timestamp,
    )


def update_checkpoint_state_internal(
    save_dir: str,
    model_checkpoint_path: str,
    all_model_checkpoint_paths: list[str] | None = None,
    latest_filename: str | None = None,
    save_relative_paths: bool = False,
    all_model_checkpoint_timestamps: Sequence[float] | None = None,
    last_preserved_timestamp: float | None = None,
) -> None:
    """Update the state file like `update_checkpoint_state`.

    `save_relative_paths` makes paths relative.
    """
    target = checkpoint_state.state_path(save_dir, latest_filename)
    given = model_checkpoint_path
    if save_relative_paths:
        model_checkpoint_path = _relative(model_checkpoint_path, save_dir)
        paths = all_model_checkpoint_paths or []
        all_model_checkpoint_paths = [_relative(path, save_dir) for path in paths]
    state = generate_checkpoint_state_proto(
        save_dir,
        model_checkpoint_path,
        all_model_checkpoint_paths=all_model_checkpoint_paths,
        all_model_checkpoint_timestamps=all_model_checkpoint_timestamps,
        last_preserved_timestamp=last_preserved_timestamp,
    )
    if target == state.model_checkpoint_path:
        raise RuntimeError(
            f"Save path '{given}' conflicts with path used for checkpoint state.  Please use a "
            "different save path."
        )
    checkpoint_state.write(target, state)


def _relative(path: str, directory: str) -> str:
    return os.path.relpath(path, directory) if os.path.isabs(path) else path


@export("train.get_checkpoint_state")
def get_checkpoint_state(checkpoint_dir: Any, latest_filename: str | None = None) -> Any:
    """Return the `CheckpointState` of a directory, with whole paths.

    None if there is none to be read.

    Args:
      checkpoint_dir: The directory.
      latest_filename: The name of its state file, "checkpoint" by default.

    Raises:
      ValueError: If the file names no checkpoint.

    Example:
      >>> tf.gfile.MakeDirs("model")
      >>> tf.train.update_checkpoint_state("model", "model/v-7")
      >>> tf.train.get_checkpoint_state("model").model_checkpoint_path
      'model/v-7'
    """
    from google.protobuf.text_format import ParseError

    checkpoint_dir = os.fspath(checkpoint_dir)
    path = checkpoint_state.state_path(checkpoint_dir, latest_filename)
    try:
        state = checkpoint_state.read(path)
    except (errors.OpError, ParseError) as error:
        logging.warning("%s: %s", type(error).__name__, error)
        logging.warning("%s: Checkpoint ignored", path)
        return None
    if state is None:
        return None
    if not state.model_checkpoint_path:
        raise ValueError("Invalid checkpoint state loaded from " + checkpoint_dir)
    if not os.path.isabs(state.model_checkpoint_path):
        state.model_checkpoint_path = os.path.join(checkpoint_dir, state.model_checkpoint_path)
    for place, listed in enumerate(state.all_model_checkpoint_paths):
        if not os.path.isabs(listed):
            state.all_model_checkpoint_paths[place] = os.path.join(checkpoint_dir, listed)
    return state


def _matching(pattern: str) -> list[str]:
    """Return the files a pattern names; brackets of a plain path mean themselves."""
    if is_remote(pattern):
        return gfile.get_matching_files_v2(pattern)
    if pattern.endswith("/"):  # directories are listed, which gives no name of that form
        return []
    pattern = plain_path(pattern)
    if os.path.exists(pattern):
        return [pattern]
    parent = os.path.dirname(pattern)
    if parent and not glob.has_magic(parent) and not os.path.isdir(parent):
        raise errors.not_found(f"{parent}; No such file or directory")
    with os_errors(pattern):
        return sorted(glob.glob(pattern))


def checkpoint_file(prefix: str, version: int) -> str:
    """Return the file that makes `prefix` a checkpoint of this format."""
    return prefix + ".index" if version == SaverDef.V2 else prefix


@export("train.latest_checkpoint")
def latest_checkpoint(checkpoint_dir: Any, latest_filename: str | None = None) -> str | None:
    """Return the latest checkpoint of a directory, by its state file; None if there is none.

    Where a loss of power has cut off the latest, or the state file, it is the last that is whole,
    and a warning says so.

    Args:
      checkpoint_dir: The directory.
      latest_filename: The name of its state file, "checkpoint" by default.

    Example:
      >>> v, sess = tf.get_variable("v", initializer=[1.0, 2.0]), tf.Session()
      >>> sess.run(v.initializer), tf.train.Saver().save(sess, "model/v", global_step=7)
      (None, 'model/v-7')
      >>> tf.train.latest_checkpoint("model")
      'model/v-7'
    """
    path = checkpoint_state.state_path(os.fspath(checkpoint_dir), latest_filename)
    if os.path.exists(path) and not os.path.getsize(path):
        return _newest(os.fspath(checkpoint_dir), path)
    state = get_checkpoint_state(checkpoint_dir, latest_filename)
    if state and state.model_checkpoint_path:
        if checkpoint_exists_internal(state.model_checkpoint_path):
            return _whole(str(state.model_checkpoint_path), state.all_model_checkpoint_paths)
        logging.error("Couldn't match files for checkpoint %s", state.model_checkpoint_path)
    return None


def _whole(latest: str, kept: Sequence[str]) -> str:
    """Return the latest checkpoint, or the last of those kept that is whole if this one is not."""
    if is_remote(latest) or not is_cut_off(plain_prefix(latest)):
        return latest
    for path in reversed(kept):
        if path == latest or not checkpoint_exists_internal(path):
            continue
        if not is_cut_off(plain_prefix(path)):
            logging.warning("The checkpoint %s is cut off: %s is used instead", latest, path)
            return path
    return latest


def _newest(directory: str, state_path: str) -> str:
    """Return the newest whole checkpoint in a directory whose state file has lost its content."""
    found = _matching(os.path.join(directory, "*.index"))
    found = [path for path in found if not is_cut_off(path.removesuffix(".index"))]
    if not found:
        raise ValueError("Invalid checkpoint state loaded from " + directory)
    newest = max(found, key=os.path.getmtime).removesuffix(".index")
    logging.warning("%s is empty: the newest checkpoint, %s, is used", state_path, newest)
    return newest


def checkpoint_exists_internal(checkpoint_prefix: str) -> bool:
    """Return True if there is a checkpoint of either format."""
    return bool(
        _matching(checkpoint_file(checkpoint_prefix, SaverDef.V2)) or _matching(checkpoint_prefix)
    )


@export("train.checkpoint_exists")
def checkpoint_exists(checkpoint_prefix: str) -> bool:
    """Return True if there is a checkpoint of either format.

    Args:
      checkpoint_prefix: The result of `Saver.save`.
    """
    return checkpoint_exists_internal(checkpoint_prefix)


@export("train.get_checkpoint_mtimes")
def get_checkpoint_mtimes(checkpoint_prefixes: Sequence[str]) -> list[float]:
    """When checkpoints were written, in seconds; those that do not exist are left out."""
    return checkpoint_mtimes(checkpoint_prefixes)


def checkpoint_mtimes(checkpoint_prefixes: Sequence[str]) -> list[float]:
    """Return modification times; see `get_checkpoint_mtimes`."""
    times = []
    for prefix in checkpoint_prefixes:
        found = _matching(checkpoint_file(prefix, SaverDef.V2)) or _matching(prefix)
        if found:
            times.append(_changed(found[0]))
    return times


def _changed(path: str) -> float:
    if is_remote(path):
        return gfile.stat_v2(path).mtime_nsec / 1e9
    return os.stat(path).st_mtime_ns / 1e9


@export("train.remove_checkpoint")
def remove_checkpoint(
    checkpoint_prefix: str,
    checkpoint_format_version: int = SaverDef.V2,
    meta_graph_suffix: str = "meta",
) -> None:
    """Delete the files of a checkpoint.

    Args:
      checkpoint_prefix: The checkpoint.
      checkpoint_format_version: Its format.
      meta_graph_suffix: How the file of its graph ends.
    """
    delete_checkpoint(checkpoint_prefix, checkpoint_format_version, meta_graph_suffix)


def delete_checkpoint(
    checkpoint_prefix: str,
    checkpoint_format_version: int = SaverDef.V2,
    meta_graph_suffix: str = "meta",
) -> None:
    """Delete a checkpoint; see `remove_checkpoint`."""
    write_back.forget(checkpoint_prefix)
    _delete(meta_graph_filename(checkpoint_prefix, meta_graph_suffix))
    if checkpoint_format_version == SaverDef.V2:
        # The index first: without it the rest is no checkpoint, with it all has to be there.
        _delete(checkpoint_prefix + ".index")
        _delete(checkpoint_prefix + ".data-?????-of-?????")
    else:
        _delete(checkpoint_prefix)


def _delete(pattern: str) -> None:
    for path in _matching(pattern):
        if is_remote(path):
            gfile.delete_file_v2(path)
            continue
        with os_errors(path):
            write_back.remove(path)


def meta_graph_filename(checkpoint_filename: str, meta_graph_suffix: str = "meta") -> str:
    """Return the file that holds the graph of a checkpoint."""
    base = re.sub(r"-[\d\?]+-of-\d+$", "", checkpoint_filename)
    return f"{base}.{meta_graph_suffix}"


@export("train.CheckpointManager", "contrib.checkpoint.CheckpointManager")
class CheckpointManager:
    """Manager that saves an object repeatedly, and deletes old checkpoints.

    The checkpoints of an earlier manager in the directory are taken over.

    Args:
      checkpoint: A `tf.train.Checkpoint`.
      directory: Where; its file `checkpoint` is this manager's.
      max_to_keep: How many are kept; None for all.
      keep_checkpoint_every_n_hours: If given, of those that would go, one in so many hours stays.
      checkpoint_name: The prefix of the file names.

    Raises:
      ValueError: If `max_to_keep` is not above 0.
    """

    def __init__(
        self,
        checkpoint: Any,
        directory: Any,
        max_to_keep: int | None,
        keep_checkpoint_every_n_hours: float | None = None,
        checkpoint_name: str = "ckpt",
    ) -> None:
        self._checkpoint = checkpoint
        self._save_counter_assign: Any = None
        if max_to_keep is not None and max_to_keep <= 0:
            raise ValueError(
                "Expected a positive integer or `None` for `max_to_max_to_keep`, got "
                f"{max_to_keep}."
            )
        self._max_to_keep = max_to_keep
        self._keep_checkpoint_every_n_hours = keep_checkpoint_every_n_hours
        self._directory = os.fspath(directory)
        self._checkpoint_prefix = os.path.join(self._directory, checkpoint_name)
        now = time.time()
        self._maybe_delete: dict[str, float] = {}
        self._last_preserved_timestamp = now - 1.0
        self._latest_checkpoint: str | None = None
        self._take_over(now)

    def _take_over(self, now: float) -> None:
        state = get_checkpoint_state(self._directory)
        if state is None:
            return
        self._latest_checkpoint = state.model_checkpoint_path
        preserved = state.last_preserved_timestamp
        if now < preserved:
            logging.warning(
                "time.time() returned a value %f seconds behind the last preserved checkpoint "
                "timestamp.",
                preserved - now,
            )
            preserved = now
        self._last_preserved_timestamp = preserved
        # Checkpoints that no manager has written have no times, and are never deleted.
        for path, stamp in zip(
            state.all_model_checkpoint_paths, state.all_model_checkpoint_timestamps
        ):
            if min(stamp, now) > preserved:
                self._maybe_delete[path] = min(stamp, now)

    @property
    def latest_checkpoint(self) -> str | None:
        """The latest checkpoint, or None."""
        return self._latest_checkpoint

    @property
    def checkpoints(self) -> list[str]:
        """Those that are kept, the oldest first."""
        return list(self._maybe_delete)

    @property
    def _prefix(self) -> str:
        return self._checkpoint_prefix

    def _sweep(self) -> None:
        """Delete old checkpoints."""
        if not self._max_to_keep:
            return
        while len(self._maybe_delete) > self._max_to_keep:
            path, stamp = next(iter(self._maybe_delete.items()))
            del self._maybe_delete[path]
            hours = self._keep_checkpoint_every_n_hours
            if hours and stamp - hours * 3600.0 >= self._last_preserved_timestamp:
                self._last_preserved_timestamp = stamp
                continue
            try:
                write_back.wait_for_one(self._maybe_delete)
                delete_checkpoint(path)
            except Exception as error:
                logging.warning("Ignoring: %s", str(error))

    def _record_state(self) -> None:
        paths = list(self._maybe_delete)
        update_checkpoint_state_internal(
            self._directory,
            model_checkpoint_path=self._latest_checkpoint or "",
            all_model_checkpoint_paths=paths,
            all_model_checkpoint_timestamps=list(self._maybe_delete.values()),
            last_preserved_timestamp=self._last_preserved_timestamp,
            save_relative_paths=True,
        )

    def save(self, checkpoint_number: Any = None) -> str:
        """Save, record the checkpoint, and delete old ones.

        Args:
          checkpoint_number: What to put into the name: an integer, variable or tensor; by default
            how often was saved.

        Returns:
          The path of the checkpoint.
        """
        from stillflow.train.global_step import global_step
        from stillflow.train.tracking.status import session_or_default

        session = session_or_default(None)
        new = self._checkpoint._save_counter is None
        counter = self._checkpoint.save_counter
        if session is None:
            counter.assign_add(1)
        else:
            if new:
                session.run(counter.initializer)
            if self._save_counter_assign is None:
                self._save_counter_assign = counter.assign_add(1, read_value=False)
            session.run(self._save_counter_assign)
        if checkpoint_number is None:
            checkpoint_number = counter
        if not isinstance(checkpoint_number, compat.integral_types):
            checkpoint_number = global_step(session, checkpoint_number)
        path = self._checkpoint.write(f"{self._prefix}-{int(checkpoint_number)}")
        stamp = time.time()
        self._maybe_delete.pop(path, None)
        self._maybe_delete[path] = stamp
        self._latest_checkpoint = path
        # Listed before the others are deleted: the files named in the state always exist.
        self._record_state()
        self._sweep()
        self._record_state()
        return str(path)


# Old programs find these here: tensorflow.python.training.checkpoint_management is this module.
_GetCheckpointFilename = checkpoint_state.state_path
_prefix_to_checkpoint_path = checkpoint_file
