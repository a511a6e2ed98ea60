"""Entry to and exit from the frame of a loop, for tensors and composite tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from stillflow import nest
from stillflow.graph.composite_tensor import CompositeTensor
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.control_flow.identity_and_group import identity, ref_identity_op
from stillflow.ops.control_flow.switch import (
    enter_op,
    exit_op,
    next_iteration_op,
    ref_enter_op,
    ref_exit_op,
    ref_next_iteration_op,
)

if TYPE_CHECKING:
    from stillflow.ops.control_flow.while_context import WhileContext


_ENTERS = frozenset({"Enter", "RefEnter"})
_EXITS = frozenset({"Exit", "RefExit"})
_SWITCHES = frozenset({"Switch", "RefSwitch"})
_HAND_ON = _SWITCHES | {"Identity", "RefIdentity"}


def tensor_or_composite(value: Any, as_ref: bool = True) -> Any:
    """`value` as a tensor, unless it is made of several."""
    if isinstance(value, CompositeTensor):
        return value
    return convert_to_tensor(value, as_ref=as_ref)


def _componentwise(function: Callable[..., Any], value: Any) -> Any:
    return nest.map_structure(function, value, expand_composites=True)


def enter(
    data: Any,
    frame_name: str,
    is_constant: bool = False,
    parallel_iterations: int = 10,
    use_ref: bool = True,
    use_input_shape: bool = True,
    name: str | None = None,
) -> Tensor:
    """Brings `data` into the frame; its static shape too, unless the loop may change it."""
    data = tensor_or_composite(data)
    frame: dict[str, Any] = {
        "frame_name": frame_name,
        "is_constant": is_constant,
        "parallel_iterations": parallel_iterations,
    }
    if not isinstance(data, Tensor):
        return _componentwise(
            lambda part: enter(part, use_ref=use_ref, use_input_shape=use_input_shape, **frame),
            data,
        )
    card = ref_enter_op if use_ref and data.dtype._is_ref_dtype else enter_op
    result = card(data, name=name, **frame)
    if use_input_shape:
        result.set_shape(data.shape)
    return result


def exit_(data: Any, name: str | None = None) -> Tensor:
    """Hand `data` to the frame outside when the loop ends."""
    data = tensor_or_composite(data)
    if not isinstance(data, Tensor):
        return _componentwise(exit_, data)
    return (ref_exit_op if data.dtype._is_ref_dtype else exit_op)(data, name=name)


def next_iteration(data: Any, name: str | None = None) -> Tensor:
    """Hand `data` to the next iteration."""
    data = tensor_or_composite(data)
    if not isinstance(data, Tensor):
        return _componentwise(next_iteration, data)
    return (ref_next_iteration_op if data.dtype._is_ref_dtype else next_iteration_op)(
        data, name=name
    )


def hand_on(data: Any, name: str | None = None) -> Tensor:
    """Return the same as `data`; a reference stays one."""
    data = tensor_or_composite(data)
    if not isinstance(data, Tensor):
        return _componentwise(hand_on, data)
    return (ref_identity_op if data.dtype._is_ref_dtype else identity)(data, name=name)


def is_loop_enter(op: Operation) -> bool:
    return op.type in _ENTERS


def is_loop_exit(op: Operation) -> bool:
    return op.type in _EXITS


def is_switch(op: Operation) -> bool:
    return op.type in _SWITCHES


def is_loop_constant_enter(op: Operation) -> bool:
    """Return True if `op` enters a loop invariant."""
    return is_loop_enter(op) and bool(op.attrs["is_constant"])


def loop_constant_enter(value: Tensor) -> Operation | None:
    """Return the Enter from which `value` came unchanged, if it is loop-invariant."""
    op = value.op
    while op.type in _HAND_ON:
        op = op._inputs[0].op
    return op if is_loop_constant_enter(op) else None


def is_cond_switch(op: Operation) -> bool:
    """Return True if `op` is a Switch whose users are all in branches of a cond."""
    if not is_switch(op):
        return False
    for output in op._outputs:
        for user in output.consumers():
            context = user._get_control_flow_context()
            if is_loop_enter(user) and context is not None:
                context = context.outer_context
            if context is None or not context.IsCondContext():
                return False
    return True


def is_loop_switch(op: Operation) -> bool:
    """Return True if `op` is the Switch of a loop variable."""
    if not is_switch(op):
        return False
    context = op._get_control_flow_context()
    return context is not None and context.IsWhileContext() and not is_cond_switch(op)


def while_context(op: Operation) -> WhileContext | None:
    """Return the innermost loop that `op` is in, or None."""
    context = op._get_control_flow_context()
    return None if context is None else context.GetWhileContext()


def is_containing(context: Any, maybe_outer: Any) -> bool:
    """Return True if `maybe_outer` is `context` or around it."""
    while context is not maybe_outer:
        if context is None:
            return False
        context = context.outer_context
    return True


def in_xla(op: Operation) -> bool:
    """Return True if `op` is marked for compilation."""
    if op.attrs.get("_XlaCompile"):
        return True
    context = op._get_control_flow_context()
    while context is not None and not context.IsXLAContext():
        context = context.outer_context
    return context is not None
