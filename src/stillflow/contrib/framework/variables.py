"""Variables that scopes of arguments reach, and the collection of a model's variables."""

from __future__ import annotations

import functools
from typing import Any

import stillflow as tf
from stillflow.contrib.framework.argument_scope import add_arg_scope
from stillflow.graph.export import export
from stillflow.graph.graph_keys import GraphKeys
from stillflow.variables.base import VariableAggregation, VariableSynchronization


def _special(
    collection: str, initial_value: Any, validate_shape: bool, name: Any, use_resource: Any
) -> Any:
    return tf.Variable(
        initial_value, trainable=False, collections=[collection], validate_shape=validate_shape,
        use_resource=use_resource, name=name,
    )  # fmt: skip


@export("contrib.framework.local_variable", "contrib.slim.local_variable")
def local_variable(
    initial_value: Any, validate_shape: bool = True, name: Any = None, use_resource: Any = None
) -> Any:
    """Make a variable that is not trained, in the collection LOCAL_VARIABLES.

    Args:
      initial_value, validate_shape, name, use_resource: as of `tf.Variable`.
    """
    return _special(GraphKeys.LOCAL_VARIABLES, initial_value, validate_shape, name, use_resource)


@export("contrib.framework.global_variable", "contrib.slim.global_variable")
def global_variable(
    initial_value: Any, validate_shape: bool = True, name: Any = None, use_resource: Any = None
) -> Any:
    """Make a variable that is not trained, in the collection GLOBAL_VARIABLES.

    Args:
      initial_value, validate_shape, name, use_resource: as of `tf.Variable`.
    """
    return _special(GraphKeys.GLOBAL_VARIABLES, initial_value, validate_shape, name, use_resource)


@export("contrib.framework.variable", "contrib.slim.variable")
@add_arg_scope
def variable(
    name: str,
    shape: Any = None,
    dtype: Any = None,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool = True,
    collections: Any = None,
    caching_device: Any = None,
    device: Any = None,
    partitioner: Any = None,
    custom_getter: Any = None,
    use_resource: Any = None,
    synchronization: Any = VariableSynchronization.AUTO,
    aggregation: Any = VariableAggregation.NONE,
) -> Any:
    """Get or make a variable, as `tf.get_variable` does.

    Args:
      device: where it lives: a device's name, or a function of the operation.
      custom_getter: function called instead of `tf.get_variable`.
      name, shape, ...: as of `tf.get_variable`.

    Returns:
      The variable.
    """
    given = dict(locals())
    for argument in ("name", "device", "custom_getter"):
        del given[argument]
    usual = [GraphKeys.GLOBAL_VARIABLES]
    given["collections"] = list(dict.fromkeys(usual if collections is None else collections))
    getter = tf.get_variable
    if custom_getter is not None:
        getter = functools.partial(custom_getter, reuse=tf.get_variable_scope().reuse)
    with tf.device(device or ""):
        return getter(name, **given)


@export("contrib.framework.model_variable", "contrib.slim.model_variable")
@add_arg_scope
def model_variable(
    name: str,
    shape: Any = None,
    dtype: Any = tf.float32,
    initializer: Any = None,
    regularizer: Any = None,
    trainable: bool = True,
    collections: Any = None,
    caching_device: Any = None,
    device: Any = None,
    partitioner: Any = None,
    custom_getter: Any = None,
    use_resource: Any = None,
    synchronization: Any = VariableSynchronization.AUTO,
    aggregation: Any = VariableAggregation.NONE,
) -> Any:
    """Get or make a variable, in the collections GLOBAL_VARIABLES and MODEL_VARIABLES as well.

    Args:
      collections: more collections.
      name, shape, ...: as of `variable`.

    Returns:
      The variable.
    """
    own = [GraphKeys.GLOBAL_VARIABLES, GraphKeys.MODEL_VARIABLES]
    return variable(
        name, shape=shape, dtype=dtype, initializer=initializer, regularizer=regularizer,
        trainable=trainable, collections=[*(collections or []), *own],
        caching_device=caching_device, device=device, partitioner=partitioner,
        custom_getter=custom_getter, use_resource=use_resource, synchronization=synchronization,
        aggregation=aggregation,
    )  # fmt: skip


@export("contrib.framework.add_model_variable", "contrib.slim.add_model_variable")
def add_model_variable(var: Any) -> None:
    """Add a variable to the collection MODEL_VARIABLES, unless it is there."""
    if not any(var is known for known in tf.get_collection(GraphKeys.MODEL_VARIABLES)):
        tf.add_to_collection(GraphKeys.MODEL_VARIABLES, var)


@export("contrib.framework.VariableDeviceChooser", "contrib.slim.VariableDeviceChooser")
class VariableDeviceChooser:
    """A function for `device=` that deals variables out to parameter servers in turn.

    Args:
      num_tasks: how many parameter servers there are; 0 for none.
      job_name: of the parameter servers.
      device_type, device_index, replica: of the device.
    """

    def __init__(
        self,
        num_tasks: int = 0,
        job_name: str = "ps",
        device_type: str = "CPU",
        device_index: Any = 0,
        replica: Any = None,
    ) -> None:
        self._job_name, self._num_tasks, self._next_task_id = job_name, num_tasks, 0
        self._device = {
            "replica": replica,
            "device_type": device_type,
            "device_index": device_index,
        }

    def __call__(self, op: Any) -> str:
        place: dict[str, Any] = dict(self._device)
        if self._num_tasks > 0:
            place.update(job=self._job_name, task=self._next_task_id)
            self._next_task_id = (self._next_task_id + 1) % self._num_tasks
        name: str = tf.DeviceSpec(**place).to_string()
        return name
