"""Assertions that compare tensors element by element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.eager_mode import executing_eagerly
from stillflow.graph.export import export
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.static_value import static_value
from stillflow.ops.control_flow.identity_and_group import no_op
from stillflow.ops.debugging.asserts import Assert
from stillflow.ops.debugging.eager_comparisons import check_now
from stillflow.ops.debugging.tensor_names import described
from stillflow.ops.math import comparison
from stillflow.ops.math.reductions import reduce_all
from stillflow.ops.math.unary import abs as abs_


def _text(item: Any) -> str:
    value = static_value(item) if isinstance(item, Tensor) else None
    return str(item if value is None else value)


def _binary(
    symbol: str, name: str, function: Callable[..., Any], static: Callable[..., Any]
) -> Callable[..., Any]:
    """Make `assert_<name>(x, y)`; where both are known it is checked at once."""
    op_name = f"assert_{name}"

    def assertion(
        x: Any,
        y: Any,
        data: Any = None,
        summarize: int | None = None,
        message: str | None = None,
        name: str | None = None,
    ) -> Operation | None:
        with name_scope(name, op_name, [x, y, data]):
            x = convert_to_tensor(x, name="x")
            y = convert_to_tensor(y, name="y")
            if executing_eagerly():
                check_now(symbol, x, y, function(x, y), data, summarize, message)
                return None
            if data is None:
                data = [
                    f"Condition x {symbol} y did not hold element-wise:",
                    f"x ({described(x)}) = ", x, f"y ({described(y)}) = ", y,
                ]  # fmt: skip
            if message is not None:
                data = [message, *data]
            condition = reduce_all(function(x, y))
            known_x, known_y = static_value(x), static_value(y)
            known = known_x is not None and known_y is not None
            if known and not np.all(static(known_x, known_y)):
                text = "\n".join(_text(item) for item in data)
                raise errors.invalid_argument(text)
            return Assert(condition, data, summarize=summarize)

    assertion.__name__ = op_name
    assertion.__doc__ = f"""An operation that fails unless x {symbol} y everywhere.

    Args:
      x, y: tensors that broadcast with each other.
      data: what to print on failure, instead of both tensors.
      summarize: how many elements to print.
      message: what to print before.
      name: of the scope, "{op_name}" by default.

    Raises:
      tf.errors.InvalidArgumentError: at once, if both are known and the condition does not hold.
    """
    return assertion


assert_less = export("debugging.assert_less", "assert_less")(
    _binary("<", "less", comparison.less, np.less)
)
assert_less_equal = export("debugging.assert_less_equal", "assert_less_equal")(
    _binary("<=", "less_equal", comparison.less_equal, np.less_equal)
)
assert_greater = export("debugging.assert_greater", "assert_greater")(
    _binary(">", "greater", comparison.greater, np.greater)
)
assert_greater_equal = export("debugging.assert_greater_equal", "assert_greater_equal")(
    _binary(">=", "greater_equal", comparison.greater_equal, np.greater_equal)
)
assert_none_equal = export("debugging.assert_none_equal", "assert_none_equal")(
    _binary("!=", "none_equal", comparison.not_equal, np.not_equal)
)
_assert_equal = _binary("==", "equal", comparison.equal, np.equal)


@export("debugging.assert_equal", "assert_equal")
def assert_equal(
    x: Any,
    y: Any,
    data: Any = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation | None:
    """Return an operation that fails unless x == y everywhere; see `assert_less`."""
    with name_scope(name, "assert_equal", [x, y, data]):
        if x is y:
            return None if executing_eagerly() else no_op()
    return _assert_equal(x, y, data, summarize, message, name)


def _signed(
    name: str, symbol: str, compare: Callable[..., Any], zero_first: bool
) -> Callable[..., Any]:
    """Make `assert_<name>(x)`, a comparison with zero."""
    op_name = f"assert_{name}"

    def assertion(
        x: Any,
        data: Any = None,
        summarize: int | None = None,
        message: str | None = None,
        name: str | None = None,
    ) -> Operation | None:
        with name_scope(name, op_name, [x, data]):
            x = convert_to_tensor(x, name="x")
            if data is None:
                text = f"Condition x {symbol} 0 did not hold element-wise:"
                source = f"x ({described(x)}) = "
                # One string where TF's own list has no comma.
                parts = [text + source] if symbol == "<=" else [text, source]
                data = [message or "", *parts, x]
            zero = convert_to_tensor(0, dtype=x.dtype)
            pair = (zero, x) if zero_first else (x, zero)
            return compare(*pair, data=data, summarize=summarize)

    assertion.__name__ = op_name
    assertion.__doc__ = f"""An operation that fails unless x {symbol} 0 everywhere.

    Args:
      x: a numeric tensor.
      data: what to print on failure, instead of x.
      summarize: how many elements to print.
      message: what to print before.
      name: of the scope, "{op_name}" by default.
    """
    return assertion


assert_negative = export("debugging.assert_negative", "assert_negative")(
    _signed("negative", "<", assert_less, False)
)
assert_positive = export("debugging.assert_positive", "assert_positive")(
    _signed("positive", ">", assert_less, True)
)
assert_non_negative = export("debugging.assert_non_negative", "assert_non_negative")(
    _signed("non_negative", ">=", assert_less_equal, True)
)
assert_non_positive = export("debugging.assert_non_positive", "assert_non_positive")(
    _signed("non_positive", "<=", assert_less_equal, False)
)


@export("debugging.assert_near", "assert_near")
def assert_near(
    x: Any,
    y: Any,
    rtol: Any = None,
    atol: Any = None,
    data: Any = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Any:
    """Return an operation that fails unless |x - y| < atol + rtol |y| everywhere.

    Args:
      x, y: floating-point tensors.
      rtol, atol: tolerances, ten times the type's precision by default.
      data, summarize, message, name: as in `assert_less`.
    """
    with name_scope(name, "assert_near", [x, y, rtol, atol, data]):
        x = convert_to_tensor(x, name="x")
        y = convert_to_tensor(y, name="y", dtype=x.dtype)
        default = 10 * np.finfo(x.dtype.as_numpy_dtype).eps
        relative, absolute = (
            convert_to_tensor(default if given is None else given, x.dtype, argument)
            for argument, given in (("rtol", rtol), ("atol", atol))
        )
        if data is None:
            text = f"x and y not equal to tolerance rtol = {relative}, atol = {absolute}"
            values = f"x ({described(x)}) = ", x, f"y ({described(y)}) = ", y
            data = [message or "", text, *values]
        tolerance: Any = absolute + relative * abs_(y)
        is_near = comparison.less(abs_(x - y), tolerance)
        return Assert(reduce_all(is_near), data, summarize)
