"""Giving variables values from a checkpoint or from arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stillflow as tf
from stillflow.contrib.framework.search import get_variable_full_name
from stillflow.graph.export import export
from stillflow.graph.graph_keys import GraphKeys
from stillflow.graph.operation import Tensor
from stillflow.platform import tf_logging as logging


def _placeholder(var: Any) -> Tensor:
    return tf.placeholder(
        dtype=var.dtype.base_dtype, shape=var.get_shape(), name="placeholder/" + var.op.name
    )


def _variable_of(name: str) -> Any:
    found = tf.get_collection(GraphKeys.GLOBAL_VARIABLES, name)
    if not found:
        raise ValueError(f"Variable {name} wasn't found")
    if len(found) == 1:
        return found[0]
    for var in found:
        if var.op.name == name:
            return var
    raise ValueError(f"Variable {name} doesn't uniquely identify a variable")


@export("contrib.framework.assign_from_values", "contrib.slim.assign_from_values")
def assign_from_values(var_names_to_values: dict[str, Any]) -> tuple[Any, dict[Any, Any]]:
    """Build an assignment of arrays to variables that feeds the arrays.

    Args:
      var_names_to_values: {name of a variable: array}.

    Returns:
      The operation, and its feeds.

    Raises:
      ValueError: if there is no variable of a name.
    """
    feeds: dict[Any, Any] = {}
    assigned = []
    for name, value in var_names_to_values.items():
        var = _variable_of(name)
        placeholder = _placeholder(var)
        assigned.append(var.assign(placeholder))
        feeds[placeholder] = value.reshape(var.get_shape().as_list())
    return tf.group(*assigned), feeds


@export("contrib.framework.assign_from_values_fn", "contrib.slim.assign_from_values_fn")
def assign_from_values_fn(var_names_to_values: dict[str, Any]) -> Callable[[Any], Any]:
    """Return a function of a session that gives variables the values of arrays.

    Args:
      var_names_to_values: {name of a variable: array}.

    Raises:
      ValueError: if there is no variable of a name.
    """
    assign_op, feeds = assign_from_values(var_names_to_values)

    def callback(session: Any) -> Any:
        return session.run(assign_op, feeds)

    return callback


def _by_checkpoint_name(var_list: Any) -> dict[str, list[Any]]:
    grouped: dict[str, list[Any]] = {}
    if isinstance(var_list, (tuple, list)):
        for var in var_list:
            grouped.setdefault(get_variable_full_name(var), []).append(var)
    else:
        for name, value in var_list.items():
            grouped[name] = list(value) if isinstance(value, (tuple, list)) else [value]
    return grouped


def _part_for(var: Any, name: str, value: Any) -> Any:
    """Return a variable's value of a checkpoint's array; the variable may be a part of it."""
    part = var._save_slice_info
    if part:
        ranges = zip(part.var_offset, part.var_shape)
        return value[tuple(slice(at, at + size) for at, size in ranges)].reshape(part.var_shape)
    if var.get_shape().as_list() != list(value.shape):
        raise ValueError(
            f"Total size of new array must be unchanged for {name} "
            f"lh_shape: [{value.shape}], rh_shape: [{var.get_shape()}]"
        )
    return value


@export("contrib.framework.assign_from_checkpoint", "contrib.slim.assign_from_checkpoint")
def assign_from_checkpoint(
    model_path: str, var_list: Any, ignore_missing_vars: bool = False
) -> tuple[Any, dict[Any, Any]]:
    """Build an assignment of a checkpoint's values to variables that feeds them.

    Args:
      model_path: the checkpoint's prefix.
      var_list: variables, or {name in the checkpoint: variable or variables}.
      ignore_missing_vars: True to skip variables that are missing in the checkpoint.

    Returns:
      The operation, and its feeds.

    Raises:
      ValueError: if a variable is missing in the checkpoint, or has another shape.
    """
    reader = tf.train.NewCheckpointReader(model_path)
    feeds: dict[Any, Any] = {}
    assigned = []
    for name, variables in _by_checkpoint_name(var_list).items():
        if not reader.has_tensor(name):
            message = f"Checkpoint is missing variable [{name}]"
            if not ignore_missing_vars:
                raise ValueError(message)
            logging.warning(message)
            continue
        value = reader.get_tensor(name)
        for var in variables:
            placeholder = _placeholder(var)
            assigned.append(var.assign(placeholder))
            feeds[placeholder] = _part_for(var, name, value)
    return tf.group(*assigned), feeds


@export("contrib.framework.assign_from_checkpoint_fn", "contrib.slim.assign_from_checkpoint_fn")
def assign_from_checkpoint_fn(
    model_path: str,
    var_list: Any,
    ignore_missing_vars: bool = False,
    reshape_variables: bool = False,
) -> Callable[[Any], None] | None:
    """Return a function of a session that restores variables from a checkpoint.

    Args:
      model_path: the checkpoint's prefix.
      var_list: variables, or {name in the checkpoint: variable}.
      ignore_missing_vars: True to skip variables that are missing in the checkpoint.
      reshape_variables: whether an array of another shape and the same size will do.

    Returns:
      The function; None if nothing is left to restore.

    Raises:
      ValueError: if `var_list` is empty.
    """
    if not var_list:
        raise ValueError("var_list cannot be empty")
    if ignore_missing_vars:
        reader = tf.train.NewCheckpointReader(model_path)
        wanted = var_list if isinstance(var_list, dict) else {v.op.name: v for v in var_list}
        for name in wanted:
            if not reader.has_tensor(name):
                logging.warning("Variable %s missing in checkpoint %s", name, model_path)
        var_list = {name: var for name, var in wanted.items() if reader.has_tensor(name)}
    if not var_list:
        logging.warning("No Variables to restore")
        return None
    saver = tf.train.Saver(var_list, reshape=reshape_variables, write_version=tf.train.SaverDef.V1)
    return lambda session: saver.restore(session, model_path)
