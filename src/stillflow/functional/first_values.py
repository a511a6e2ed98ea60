"""First values of variables that functions make out of tensors that they compute."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from stillflow.graph.api import init_scope, name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.graph import get_default_graph
from stillflow.graph.operation import Tensor
from stillflow.ops.control_flow.identity_and_group import no_op

# TensorFlow adds nodes to the function for each variable, besides the capture of its handle, to
# create a missing variable at the call: op seeds count these nodes. The function is traced again
# without them.
_NODES_FOR_EACH = 3


def made_in_function(
    make: Callable[..., Any], given: Sequence[Any], options: dict[str, Any]
) -> Any:
    """Return a variable that a function makes, with a value for the function's computation.

    `given` has what the function is called with, for each of its arguments that are tensors.
    """
    body: Any = get_default_graph()
    value = options.get("initial_value")
    if body.building_function and value is not None:
        with name_scope(options.get("name"), "Variable"), name_scope("Initializer"):
            made = value() if callable(value) else value
            made = convert_to_tensor(made, name="initial_value", dtype=options.get("dtype"))
        options = {**options, "initial_value": _computed(body, made, given)}
    variable = make(**options)
    if body.building_function:
        if hasattr(variable, "handle"):
            convert_to_tensor(variable.handle)
        for _ in range(_NODES_FOR_EACH):
            no_op()
    return variable


def _computed(body: Any, tensor: Tensor, given: Sequence[Any]) -> Tensor:
    """Return the value of a tensor of the function being built; itself if that is not known yet."""
    own: Any = tensor.graph
    if tensor.holds_value or own is not body:
        return tensor
    known = dict(zip(body.arguments, given, strict=False))
    known.update((inner, outer) for outer, inner in body.captures)
    needed = _needed(tensor, set(body.inputs))
    values = [known.get(place) for place in needed]
    if not all(isinstance(value, Tensor) and value.holds_value for value in values):
        return tensor
    from stillflow.functional.immediate_calls import Body

    run: Callable[..., list[Tensor]] = Body(body, [tensor], needed)
    with init_scope():
        (result,) = run(values)
    return result


def _needed(tensor: Tensor, places: set[Tensor]) -> list[Tensor]:
    """Return those of some tensors from which another is computed, in the order of the search."""
    found: dict[Tensor, None] = {}
    waiting, seen = [tensor], {tensor}
    while waiting:
        one = waiting.pop()
        if one in places:
            found[one] = None
            continue
        before = [*one.op._inputs]
        before += [output for op in one.op.control_inputs for output in op._outputs[:1]]
        waiting.extend(each for each in before if each not in seen)
        seen.update(before)
    return list(found)
