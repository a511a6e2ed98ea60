"""The switch that programs of the years between TensorFlow 1 and 2 begin with."""

from __future__ import annotations

from stillflow.graph.eager_mode import disable_eager_execution, enable_eager_execution
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import disable_v2_tensorshape, enable_v2_tensorshape
from stillflow.ops.control_flow.toggles import disable_control_flow_v2, enable_control_flow_v2
from stillflow.variables.creation import disable_resource_variables, enable_resource_variables

is_enabled = False


@export("enable_tensor_equality")
def enable_tensor_equality() -> None:
    """Make `==` compare the values of eager tensors; those of graphs stay objects."""
    Tensor._USE_EQUALITY = True


@export("disable_tensor_equality")
def disable_tensor_equality() -> None:
    """Make `==` compare the identity of tensors, which is the default."""
    Tensor._USE_EQUALITY = False


@export("enable_v2_behavior")
def enable_v2_behavior() -> None:
    """Build graphs as TensorFlow 2 does; operations outside of graphs raise errors.

    Dimensions are whole numbers, variables resources, branches and loops functions.

    Raises:
      ValueError: if a graph was built before.
    """
    global is_enabled
    enable_eager_execution()
    enable_v2_tensorshape()
    enable_resource_variables()
    enable_tensor_equality()
    enable_control_flow_v2()
    is_enabled = True


@export("disable_v2_behavior")
def disable_v2_behavior() -> None:
    """Turn off `enable_v2_behavior`, which is the default."""
    global is_enabled
    is_enabled = False
    disable_eager_execution()
    disable_v2_tensorshape()
    disable_resource_variables()
    disable_tensor_equality()
    disable_control_flow_v2()
