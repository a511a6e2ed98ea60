"""Calls of Python functions when the graph runs, with tensors among their arguments."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable
from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_like import is_tensor

MatchDType = namedtuple("MatchDType", ("arg_number",))
MatchDType.__doc__ = "The type of an argument, by its number, as the type of a result."


def call_python(
    f: Callable[..., Any],
    return_dtypes: Any,
    args: Any,
    kwargs: dict[str, Any] | None = None,
    use_dummy_return: bool = False,
) -> Tensor:
    """Return an operation that calls a Python function; arguments that are no tensors are kept.

    `return_dtypes` are types of results, or `MatchDType`; none for a dummy, which is 1.
    """
    from stillflow.eager.py_function import py_function

    if return_dtypes and use_dummy_return:
        raise ValueError("if use_dummy_return is True, return_dtypes must be empty")
    every = [*args, *(kwargs or {}).values()]
    tensors = [value for value in every if is_tensor(value)]

    def call(*values: Any) -> Any:
        given = iter(values)
        now = [next(given) if is_tensor(value) else value for value in every]
        named = dict(zip(kwargs or {}, now[len(args) :], strict=True))
        result = f(*now[: len(args)], **named)
        return 1 if use_dummy_return else result

    types = dtypes.int32 if use_dummy_return else _types(return_dtypes, args)
    return py_function(call, tensors, types)


def _types(wanted: Any, args: Any) -> Any:
    if isinstance(wanted, MatchDType):
        arg = args[wanted.arg_number]
        if not is_tensor(arg):
            raise ValueError(
                f"argument {wanted.arg_number} was used with MatchDType and must be a tf.Tensor, "
                f"but was {type(arg)} instead"
            )
        return arg.dtype
    if isinstance(wanted, list | tuple):
        return tuple(_types(one, args) for one in wanted)
    return wanted
