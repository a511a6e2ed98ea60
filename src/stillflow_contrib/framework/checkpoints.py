"""Contents of checkpoints as in `tf.train`, with tf.contrib's argument names."""

from __future__ import annotations

from typing import Any

from stillflow.graph.export import export
from stillflow.train import checkpoint_utils
from stillflow.train.checkpoint_utils import CheckpointReader


@export("contrib.framework.load_checkpoint")
def load_checkpoint(filepattern: Any) -> CheckpointReader:
    """Open a checkpoint, or the latest one of a directory.

    Args:
      filepattern: The checkpoint or the directory.

    Raises:
      ValueError: If the directory has none.
    """
    return checkpoint_utils.load_checkpoint(filepattern)


@export("contrib.framework.load_variable")
def load_variable(checkpoint_dir: Any, name: str) -> Any:
    """Return the value of a variable in a checkpoint.

    Args:
      checkpoint_dir: The checkpoint, or a directory, of which it is the latest.
      name: The variable's name, with or without `:0`.

    Raises:
      ValueError: If the directory has none.
      NotFoundError: If the checkpoint has no such variable.
    """
    return checkpoint_utils.load_variable(checkpoint_dir, name)


@export("contrib.framework.list_variables")
def list_variables(checkpoint_dir: Any) -> list[tuple[str, list[int]]]:
    """Return the names and shapes of a checkpoint's tensors, in order.

    Args:
      checkpoint_dir: The checkpoint, or a directory, of which it is the latest.

    Raises:
      ValueError: If the directory has none.
    """
    return checkpoint_utils.list_variables(checkpoint_dir)
