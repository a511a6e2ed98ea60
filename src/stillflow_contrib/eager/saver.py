"""`tf.contrib.eager.Saver`: checkpoints by the names of variables, without a session."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.variables.resource_variable import creation_hooks


@export("contrib.eager.Saver")
class Saver:
    """Saves and restores variables where operations run when they are called.

    Args:
      var_list: variables, or a dictionary of them by their names in the checkpoint.

    Raises:
      RuntimeError: where operations are added to graphs.
    """

    def __init__(self, var_list: Any) -> None:
        if not tf.executing_eagerly():
            raise RuntimeError(
                "tfe.Saver can only be used when eager execution is enabled. Use tf.train.Saver "
                "when building graphs."
            )
        self._saver = tf.train.Saver(var_list=var_list)

    def save(self, file_prefix: str, global_step: Any = None) -> str:
        """Write a checkpoint.

        Args:
          file_prefix: the prefix of the file names.
          global_step: a number that is added to it.

        Returns:
          What `restore` takes.
        """
        path: str = self._saver.save(
            None, file_prefix, write_meta_graph=False, global_step=global_step
        )
        return path

    def restore(self, file_prefix: str) -> None:
        """Read a checkpoint.

        Raises:
          tf.errors.OpError: if there is none, or a variable is missing in it.
        """
        self._saver.restore(None, file_prefix)


@export("contrib.eager.get_optimizer_variables")
def get_optimizer_variables(optimizer: Any) -> list[Any]:
    """Return the variables that an optimizer has for itself."""
    return list(optimizer.variables())


@export("contrib.eager.restore_variables_on_create")
@contextlib.contextmanager
def restore_variables_on_create(
    save_path: str | None, map_func: Callable[[str], str] | None = None
) -> Iterator[None]:
    """Return a context in which variables start with a checkpoint's values for their names.

    Args:
      save_path: of the checkpoint; None for nothing.
      map_func: gives the name in the checkpoint for a variable's name.

    Raises:
      ValueError: where operations are added to graphs, or if `map_func` is not callable.
      NotFoundError: if a variable is missing in the checkpoint.
    """
    if not tf.executing_eagerly():
        raise ValueError(
            "Currently, restore_variables_on_create can only be used with eager execution enabled."
        )
    if not save_path:
        yield
        return
    if map_func is not None and not callable(map_func):
        raise ValueError("map_func must be callable.")
    reader = tf.train.load_checkpoint(save_path)
    left = {name: reader.get_tensor(name) for name, _ in tf.train.list_variables(save_path)}

    def restore(variable: Any) -> None:
        name = variable.name.partition(":")[0]
        name = name if map_func is None else map_func(name)
        if name not in left:
            raise tf.errors.NotFoundError(None, None, f"{name} not found in checkpoint")
        if left[name] is not None:  # only the first of a name is restored
            variable.assign(left[name])
            left[name] = None

    creation_hooks.append(restore)
    try:
        yield
    finally:
        creation_hooks.remove(restore)
