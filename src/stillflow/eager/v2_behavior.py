"""The switch that programs of the years between TensorFlow 1 and 2 begin with."""

from __future__ import annotations

from stillflow.graph.eager_mode import disable_eager_execution
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import disable_v2_tensorshape
from stillflow.ops.control_flow.toggles import disable_control_flow_v2
from stillflow.variables.creation import disable_resource_variables


@export("enable_tensor_equality")
def enable_tensor_equality() -> None:
    """Lets `==` compare the values of tensors that run at once; those of graphs stay objects."""
    Tensor._USE_EQUALITY = True


@export("disable_tensor_equality")
def disable_tensor_equality() -> None:
    """Lets `==` tell whether two tensors are the same object, as is the default."""
    Tensor._USE_EQUALITY = False


@export("disable_v2_behavior")
def disable_v2_behavior() -> None:
    """Turns off all that `enable_v2_behavior` turns on; what it does is the default."""
    disable_eager_execution()
    disable_v2_tensorshape()
    disable_resource_variables()
    disable_tensor_equality()
    disable_control_flow_v2()
