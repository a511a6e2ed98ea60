"""`not`, `and`, `or`, `==`, `!=` and conditional expressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.autograph.operators.control_flow import if_stmt
from stillflow.graph.tensor_like import is_tensor
from stillflow.ops.control_flow.cond import cond
from stillflow.ops.math.comparison import equal, logical_not

Thunk = Callable[[], Any]


def not_(a: Any) -> Any:
    """`not a`."""
    return logical_not(a) if is_tensor(a) else not a


def and_(a: Thunk, b: Thunk) -> Any:
    """Return `a() and b()`; call `b` only if `a` is True."""
    first = a()
    return cond(first, b, lambda: first) if is_tensor(first) else first and b()


def or_(a: Thunk, b: Thunk) -> Any:
    """Return `a() or b()`; call `b` only if `a` is False."""
    first = a()
    return cond(first, lambda: first, b) if is_tensor(first) else first or b()


def eq(a: Any, b: Any) -> Any:
    """Return `a == b`, for tensors element by element."""
    return equal(a, b) if is_tensor(a) or is_tensor(b) else a == b


def not_eq(a: Any, b: Any) -> Any:
    """Return `a != b`, for tensors element by element."""
    return not_(eq(a, b))


def if_exp(test: Any, body: Thunk, orelse: Thunk) -> Any:
    """`body() if test else orelse()`."""
    return if_stmt(test, body, orelse, lambda: (), lambda state: None)
