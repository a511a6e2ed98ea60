"""tf.train.load_checkpoint and related functions: contents of checkpoints, new checkpoints."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

from stillflow.files import whole_file
from stillflow.files.checkpoint_reader import CheckpointReader as FileReader
from stillflow.files.filesystem import name_of
from stillflow.graph import dtypes
from stillflow.graph.dtypes import DType
from stillflow.graph.export import export
from stillflow.platform import tf_logging as logging
from stillflow.train.checkpoint_management import latest_checkpoint


class CheckpointReader(FileReader):
    """Reader of the tensors in a checkpoint; the result of `tf.train.NewCheckpointReader`."""

    def get_variable_to_dtype_map(self) -> dict[str, DType]:
        """Return the type of each tensor, by name."""
        return {name: dtypes.as_dtype(number) for name, number in self.type_numbers().items()}

    _GetVariableToDataTypeMap = FileReader.type_numbers
    _HasTensor = FileReader.has_tensor


@export("train.NewCheckpointReader")
def new_checkpoint_reader(filepattern: Any) -> CheckpointReader:
    """Open a checkpoint of either format to read single tensors from it.

    Args:
      filepattern: The result of `Saver.save`.

    Raises:
      NotFoundError: If there is no such checkpoint.
      DataLossError: If it is damaged, or no checkpoint.
    """
    return CheckpointReader(filepattern)


@export("train.load_checkpoint")
def load_checkpoint(ckpt_dir_or_file: Any) -> CheckpointReader:
    """Open a checkpoint, or the latest one of a directory.

    Raises:
      ValueError: If the directory has none.
    """
    return new_checkpoint_reader(checkpoint_filename(ckpt_dir_or_file))


def checkpoint_filename(ckpt_dir_or_file: Any) -> str:
    """Return a checkpoint's prefix: the given one, or the latest in a directory, or ValueError."""
    path = name_of(ckpt_dir_or_file)
    if not whole_file.is_directory(path):
        return path
    latest = latest_checkpoint(path)
    if latest is None:
        raise ValueError(
            f"Couldn't find 'checkpoint' file or checkpoints in given directory {path}"
        )
    return latest


@export("train.load_variable")
def load_variable(ckpt_dir_or_file: Any, name: str) -> Any:
    """Return the value of one tensor in a checkpoint, as an array.

    Args:
      ckpt_dir_or_file: The checkpoint or its directory.
      name: The tensor's name; a ":0" at its end is dropped.
    """
    return load_checkpoint(ckpt_dir_or_file).get_tensor(name.removesuffix(":0"))


@export("train.list_variables")
def list_variables(ckpt_dir_or_file: Any) -> list[tuple[str, list[int]]]:
    """Return the names and shapes of all tensors in a checkpoint, in the order of their names.

    Args:
      ckpt_dir_or_file: the path of a checkpoint, or of a folder whose latest one is meant.

    Returns:
      A list of (name, shape), a shape being a list of integers.

    Raises:
      ValueError: if the folder has no checkpoint.

    Example:
      >>> v, sess = tf.get_variable("v", initializer=[1.0, 2.0]), tf.Session()
      >>> sess.run(v.initializer), tf.train.Saver().save(sess, "model/v")
      (None, 'model/v')
      >>> tf.train.list_variables("model")
      [('v', [2])]
    """
    shapes = load_checkpoint(ckpt_dir_or_file).get_variable_to_shape_map()
    return sorted(shapes.items())


_POLL_SECONDS = 1


@export("contrib.training.wait_for_new_checkpoint")
def wait_for_new_checkpoint(
    checkpoint_dir: Any,
    last_checkpoint: str | None = None,
    seconds_to_sleep: float = _POLL_SECONDS,
    timeout: float | None = None,
) -> str | None:
    """Wait until the latest checkpoint of a directory is another one.

    Args:
      checkpoint_dir: The directory.
      last_checkpoint: The one that is known.
      seconds_to_sleep: Between two looks.
      timeout: How many seconds at most; by default for ever.

    Returns:
      The new checkpoint; None if the time is over.
    """
    logging.info("Waiting for new checkpoint at %s", checkpoint_dir)
    stop_time = time.time() + timeout if timeout is not None else None
    while True:
        path = latest_checkpoint(checkpoint_dir)
        if path is not None and path != last_checkpoint:
            logging.info("Found new checkpoint at %s", path)
            return path
        if stop_time is not None and time.time() + seconds_to_sleep > stop_time:
            return None
        time.sleep(seconds_to_sleep)


@export("train.checkpoints_iterator", "contrib.training.checkpoints_iterator")
def checkpoints_iterator(
    checkpoint_dir: Any,
    min_interval_secs: float = 0,
    timeout: float | None = None,
    timeout_fn: Callable[[], bool] | None = None,
) -> Iterator[str]:
    """Yield each new checkpoint of a directory as it appears; some may be missed.

    Args:
      checkpoint_dir: The directory.
      min_interval_secs: The least time between two.
      timeout: How many seconds to wait for one at most.
      timeout_fn: Asked when that time is over; True ends the iteration, else it goes on.
    """
    last = None
    while True:
        found = wait_for_new_checkpoint(checkpoint_dir, last, timeout=timeout)
        if found is not None:
            next_look = time.time() + min_interval_secs
            yield (last := found)
            time.sleep(max(0, next_look - time.time()))
        elif not timeout_fn:
            logging.info("Timed-out waiting for a checkpoint.")
            break
        elif timeout_fn():
            break
