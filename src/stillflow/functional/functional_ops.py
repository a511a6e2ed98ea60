"""Branches, loops and calls whose parts are functions of the library."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stillflow.functional.defun import DefinedFunction, Defun, get_extra_args
from stillflow.graph import dtypes
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.functional import cards
from stillflow.ops.functional.nodes import disabled_rewriter_config
from stillflow.ops.math.cast import cast
from stillflow.ops.math.unary import abs as absolute


def symbolic_gradient(input: Any, Tout: Any, f: Any, name: str | None = None) -> list[Tensor]:
    """Return the gradients of a function's arguments, which are of the types `Tout`.

    `input` are the function's arguments and the gradients of its results.
    """
    return cards.symbolic_gradient_op(list(input), Tout=list(Tout), f=f, name=name)


def If(
    cond: Any,
    inputs: Sequence[Any],
    then_branch: DefinedFunction,
    else_branch: DefinedFunction,
    name: str | None = None,
) -> list[Tensor]:
    """Call one of two functions of the same types on `inputs`; return the results.

    `cond` is true, a number that is not zero, or text that is not empty.
    """
    types = _result_types(then_branch)
    return cards.if_op(
        cond, list(inputs), Tout=types, then_branch=then_branch, else_branch=else_branch, name=name
    )


def Gradient(inputs: Sequence[Any], f: DefinedFunction, name: str | None = None) -> list[Tensor]:
    """Return the gradients of a function's arguments.

    `inputs` are the function's arguments and the gradients of its results.
    """
    types = [dtypes.as_dtype(arg.type) for arg in f.definition.signature.input_arg]
    return symbolic_gradient(list(inputs), Tout=types, f=f, name=name)


def While(
    input_: Sequence[Any],
    cond: DefinedFunction,
    body: DefinedFunction,
    name: str | None = None,
    hostmem: Sequence[int] | None = None,
) -> list[Tensor]:
    """Call `body` on its own results for as long as `cond` says so of them.

    `body` gives as many values as it takes, of the same types; those at positions `hostmem` stay in
    the host's memory. ValueError if `cond` captures tensors, or takes other types.
    """
    if cond.captured_inputs:
        raise ValueError(
            "While op 'cond' argument must be a function without implicitly captured inputs."
        )
    declared = body.declared_input_types
    if cond.declared_input_types != declared:
        raise ValueError(
            "While op 'cond' and 'body' signatures do not match. "
            f"{cond.declared_input_types!r} vs {declared!r}"
        )
    if body.captured_inputs:
        types = [*declared, *(tensor.dtype for tensor in body.captured_inputs)]

        @Defun(*types, func_name=f"{cond.name}_Wrapper")
        def condition(*args: Any) -> Any:
            return cond(*args[: len(declared)])

        condition._func.__doc__ = "A wrapper that handles loop-carried captured inputs."
        values = [*input_, *body.captured_inputs]
        made = _as_list(cards.while_op(values, cond=condition, body=_carrying(body), name=name))
        made = made[: -len(body.captured_inputs)]
    else:
        made = _as_list(cards.while_op(list(input_), cond=cond, body=body, name=name))
    _place(made, hostmem, 0)
    return made


def For(
    start: Any,
    limit: Any,
    delta: Any,
    inputs: Sequence[Any],
    body: DefinedFunction,
    name: str | None = None,
    hostmem: Sequence[int] | None = None,
    rewrite_with_while: bool | None = None,
) -> list[Tensor]:
    """Call `body` with each number of a range and its own results; return the last.

    Values at positions `hostmem` stay in the host's memory; `rewrite_with_while` makes a `While`.
    """
    if rewrite_with_while:
        return _for_using_while(start, limit, delta, inputs, body, name, hostmem)
    captured = body.captured_inputs
    made = _as_list(
        cards.for_op(
            start, limit, delta, [*inputs, *captured],
            body=_carrying(body) if captured else body, name=name,
        )
    )  # fmt: skip
    if captured:
        made = made[: -len(captured)]
    _place(made, hostmem, 3)
    return made


def _for_using_while(
    start: Any,
    limit: Any,
    delta: Any,
    inputs: Sequence[Any],
    body: DefinedFunction,
    name: str | None,
    hostmem: Sequence[int] | None,
) -> list[Tensor]:
    step = absolute(delta)
    span = cast(absolute(limit - start) + step - 1, dtypes.float32)
    count = cast(span / cast(step, dtypes.float32), dtypes.int32)
    types = [dtypes.int32] * 4 + list(body.declared_input_types)[1:]

    @Defun(*types, func_name=f"{body.name}_Cond")
    def condition(i: Any, n: Any, *args: Any) -> Tensor:
        del args
        return i < n

    @Defun(*types, func_name=f"{body.name}_Body")
    def turn(i: Any, n: Any, start: Any, delta: Any, *args: Any) -> tuple[Tensor, ...]:
        made = body(start + i * delta, *args)
        values = () if isinstance(made, Operation) else made
        values = (values,) if isinstance(values, Tensor) else values
        return (i + 1, n, start, delta, *values)

    turn._func.__doc__ = "A While wrapper for forbody that handles loop-carried captured inputs."
    places = [0, 1, 2, 3, *(4 + position for position in hostmem or ())]
    made = While([0, count, start, delta, *inputs], condition, turn, name, places)
    return made[4:]


def _carrying(body: DefinedFunction) -> DefinedFunction:
    """Return a loop's body that passes its captures on."""

    @Defun(*body.declared_input_types, func_name=f"{body.name}_Wrapper")
    def wrapper(*args: Any) -> tuple[Tensor, ...]:
        made = body(*args)
        extra = tuple(get_extra_args())
        if isinstance(made, Operation):
            return extra
        return (made if isinstance(made, tuple) else (made,)) + extra

    wrapper._func.__doc__ = "A wrapper that handles loop-carried captured inputs."
    return wrapper


def _place(made: Sequence[Tensor], hostmem: Sequence[int] | None, before: int) -> None:
    if hostmem:
        op = made[0].op
        op.attrs["_input_hostmem"] = [before + position for position in hostmem]
        op.attrs["_output_hostmem"] = list(hostmem)


def _as_list(made: Any) -> list[Tensor]:
    if isinstance(made, Operation):
        return []
    return list(made) if isinstance(made, (list, tuple)) else [made]


def _result_types(function: DefinedFunction) -> list[Any]:
    return [dtypes.as_dtype(arg.type) for arg in function.definition.signature.output_arg]


def remote_call(args: Any, Tout: Any, f: Any, target: Any, name: str | None = None) -> list[Tensor]:
    """Call a function on the device `target`; its results are of types `Tout`."""
    return cards.remote_call_op(target, list(args), Tout=list(Tout), f=f, name=name)


def partitioned_call(
    args: Sequence[Any],
    f: Any,
    tout: Sequence[Any] | None = None,
    executing_eagerly: bool | None = None,
    config: bytes | None = None,
    executor_type: str | None = None,
) -> Operation | list[Any]:
    """Call a function whose operations may be on several devices; return a list or operation.

    `args` include captures; `tout` are by default the types in its definition, `config` is a
    serialized `ConfigProto`. `executing_eagerly` has no effect.
    """
    del executing_eagerly
    types = _result_types(f) if tout is None else [dtypes.as_dtype(dtype) for dtype in tout]
    card = cards.stateful_partitioned_call_op if f.stateful_ops else cards.partitioned_call_op
    made = card(
        [convert_to_tensor(arg) for arg in args],
        Tout=types,
        f=f,
        config_proto=disabled_rewriter_config() if config is None else config,
        executor_type=executor_type or "",
        name=None if types else "PartitionedFunctionCall",
    )
    return made if isinstance(made, (list, Operation)) else [made]
