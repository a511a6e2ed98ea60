"""Check of an operation's inputs: none comes from inside a loop around another operation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stillflow.graph.operation import Operation
from stillflow.ops.control_flow.contexts import output_context
from stillflow.ops.control_flow.frames import is_containing, is_loop_enter, is_switch
from stillflow.platform import tf_logging as logging

if TYPE_CHECKING:
    from stillflow.ops.control_flow.while_context import WhileContext


def check_inputs(op: Operation) -> None:
    """Raise ValueError for an operation that takes a value from a loop it is not in."""
    for tensor in op._inputs:
        context = output_context(tensor.op)
        own = op._control_flow_context
        if context is None or context is own or _is_allowed(op, own, context):
            continue
        loop = _loop(own)
        source = tensor.op.name
        why = "they are in different while loops" if loop else f"'{source}' is in a while loop"
        message = f"Cannot use '{source}' as input to '{op.name}' because {why}."
        logging.info(
            "%s\n\n%s while context: %s\n%s while context: %s",
            message, op.name, loop, source, _loop(context),
        )  # fmt: skip
        raise ValueError(f"{message} See info log for more details.")


def _loop(context: Any) -> WhileContext | None:
    return None if context is None else context.GetWhileContext()


def _is_allowed(op: Operation, own: Any, context: Any) -> bool:
    loop, source = _loop(own), _loop(context)
    if loop is None:
        # Enters and Switches are made outside of the contexts that they are put into afterwards.
        return source is None or is_loop_enter(op) or is_switch(op)
    if is_containing(loop, source):
        return True
    state = loop.grad_state
    if state is not None:
        # The gradient of a loop uses values of that loop, and of loops in its branches.
        if is_containing(state.forward_context, source):
            return True
        if source is not None and state.forward_context is source.outer_context:
            return True
    # The gradient of a gradient is rejected later, unless something stops it from going that far.
    first = None if source is None else source.grad_state
    if first is None:
        return False
    if first.forward_context is loop:
        return True
    second = first.forward_context.grad_state
    return second is not None and second.forward_context is loop
