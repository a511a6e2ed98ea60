"""`assert`."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from stillflow.graph.operation import Operation
from stillflow.graph.tensor_like import is_tensor
from stillflow.ops.debugging.asserts import Assert


def assert_stmt(expression1: Any, expression2: Callable[[], Any]) -> Operation | None:
    """`assert expression1, expression2()`; of a tensor, `tf.Assert`."""
    if not callable(expression2):
        raise ValueError(f"{expression2} must be a callable")
    spec = inspect.getfullargspec(expression2)
    if spec.args or spec.varkw:
        raise ValueError(f"{expression2} may not have any arguments")
    if is_tensor(expression1):
        data = expression2()
        return Assert(expression1, data if isinstance(data, list) else [data])
    if not expression1:
        raise AssertionError(expression2())
    return None
