"""Zero initialization of variables without a tensor of zeros."""

from __future__ import annotations

from typing import Any

from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.ops.variables.zero_initializer import (
    zero_initializer_op,
    zero_var_initializer_op,
)
from stillflow.variables.resource_variable import is_resource_variable


@export("contrib.framework.zero_initializer")
def zero_initializer(ref: Any, use_locking: bool = True, name: str = "zero_initializer") -> Tensor:
    """Set a variable's first value, zeros, in less memory than its initializer takes.

    Args:
      ref: a variable of real numbers, or the reference to one.
      use_locking: not looked at.
      name: of the operation.

    Returns:
      the reference, or the resource; running it raises InvalidArgumentError if the variable has a
      value.

    Raises:
      TypeError: if the variable is of another type, or none.
    """
    if is_resource_variable(ref):
        return zero_var_initializer_op(ref.handle, dtype=ref.dtype, shape=ref.shape, name=name)
    return zero_initializer_op(ref, name=name)
