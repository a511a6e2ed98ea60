"""`If` and `Case` nodes: branches that are functions of the graph's library."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from stillflow import nest
from stillflow.graph import dtypes
from stillflow.graph.api import control_dependencies, name_scope
from stillflow.graph.card import Card
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.graph import get_default_graph
from stillflow.graph.indexed_slices import IndexedSlices
from stillflow.graph.operation import Tensor
from stillflow.ops.arrays.shape import squeeze
from stillflow.ops.constants import placeholder
from stillflow.ops.control_flow.flows import packed
from stillflow.ops.control_flow.identity_and_group import identity
from stillflow.ops.data.optionals import optional_from_value_op, optional_none_op
from stillflow.ops.functional.cards import case_op, if_op, stateless_if_op
from stillflow.ops.functional.intermediates import outputs_all_intermediates
from stillflow.ops.functional.nodes import (
    CondBranchFuncGraph,
    control_captures,
    finish,
    function_attribute,
    function_name,
    is_stateful,
    shares_collections,
)
from stillflow.ops.functional.traced_graph import TracedGraph
from stillflow.ops.functional.tracing import trace_body
from stillflow.ops.math.cast import cast


class Kind(NamedTuple):
    """Kind of a choice between functions: its node type and its name in messages.

    Attributes:
      function: what programs call.
      op: its short name.
      stateless, stateful: cards of the node.
    """

    function: str
    op: str
    stateless: Card
    stateful: Card

    def label(self, index: int) -> str:
        """Return the name of a branch argument in messages."""
        return _SIDES[index] if self is COND else f"branches[{index}]"

    def functions(self, named: list[Any]) -> dict[str, Any]:
        """Return the attributes that name the branches."""
        if self is COND:
            return dict(zip(("then_branch", "else_branch"), named, strict=True))
        return {"branches": named}


_SIDES = ("true_fn", "false_fn")
COND = Kind("tf.cond", "cond", stateless_if_op, if_op)
CASE = Kind("tf.switch_case", "case", case_op, case_op)


def cond(pred: Any, true_fn: Any, false_fn: Any, name: str | None = None) -> Any:
    """`tf.cond` as an `If` node; TypeError if `pred` is a bool, or the branches differ."""
    if isinstance(pred, bool):
        raise TypeError("pred must not be a Python bool", pred)
    with name_scope(name or "cond") as scope:
        names = [function_name(scope, part) for part in ("true", "false")]
        pred = scalar_condition(convert_to_tensor(pred))
        bodies = _traced(names, (true_fn, false_fn), pred)
        _check_captures(bodies, _SIDES)
        return build(COND, pred, bodies, [body.captured_inputs for body in bodies], name=scope)


def indexed_case(
    branch_index: Any, branch_fns: Sequence[Callable[[], Any]], name: str = "indexed_case"
) -> Tensor | dict[str, Tensor]:
    """`tf.switch_case` as a `Case` node; TypeError for a Python int, or branches that differ."""
    if isinstance(branch_index, int):
        raise TypeError("branch_index must not be a Python int", branch_index)
    with name_scope(name) as scope:
        names = [function_name(scope, f"branch{i}") for i in range(len(branch_fns))]
        branch_index = convert_to_tensor(branch_index, name="branch_index")
        bodies = _traced(names, branch_fns, branch_index)
        _check_captures(bodies, [f"branch {i}" for i in range(len(bodies))])
        captured = [body.captured_inputs for body in bodies]
        return build(CASE, branch_index, bodies, captured, name=scope)


def scalar_condition(pred: Any) -> Any:
    """Return a condition without dimensions of one element."""
    if isinstance(pred, Tensor) and pred._dims != ():
        return squeeze(pred)
    return pred


def _traced(
    names: Sequence[str], functions: Sequence[Callable[[], Any]], chosen: Tensor
) -> list[TracedGraph]:
    ordered = getattr(get_default_graph(), "orders_effects", False)
    return [
        trace_body(
            CondBranchFuncGraph(name, shares_collections()),
            function,
            ordered=ordered,
            for_operations=chosen,
        )
        for name, function in zip(names, functions, strict=True)
    ]


def _check_captures(bodies: Sequence[TracedGraph], labels: Sequence[str]) -> None:
    """Raise ValueError for a branch that uses a tensor of another."""
    of_body: dict[Any, str] = dict(zip(bodies, labels, strict=True))
    for body, label in zip(bodies, labels, strict=True):
        for tensor in body.captured_inputs:
            if tensor.home in of_body:
                raise ValueError(
                    f"Tensor {tensor.name} in {of_body[tensor.graph]} is accessed from {label}."
                )


def build(
    kind: Kind,
    chosen: Tensor,
    bodies: Sequence[TracedGraph],
    inputs: Sequence[Sequence[Tensor]],
    is_gradient: bool = False,
    name: str | None = None,
) -> Any:
    """Add the node; give its results in the structure that the branches gave.

    `bodies`, the branches, are changed to take and give the same; `inputs` are each one's.
    """
    _match_indices(kind, bodies)
    check_same_outputs(kind, bodies)
    taken = _match_inputs(bodies, inputs)
    count = len(bodies[0].outputs)
    if kind is COND and not is_gradient and outputs_all_intermediates():
        give_intermediates(bodies, [_wrapped_intermediates(body) for body in bodies])
        check_same_outputs(kind, bodies)
    card = kind.stateful if is_stateful(bodies) else kind.stateless
    with control_dependencies(control_captures(bodies)):
        made = card(
            chosen,
            taken,
            Tout=[tensor.dtype for tensor in bodies[0].outputs],
            output_shapes=_common_shapes(bodies),
            name=name,
            **kind.functions([function_attribute(body) for body in bodies]),
        )
    if not count:
        raise TypeError(f"Branches of {kind.function} must return at least one result.")
    op = made[0].op
    finish(op)
    op.graph.prevent_fetching(op)
    # Not the node itself is fetched, which would run all of a branch.
    results = [identity(tensor) for tensor in made]
    return packed(bodies[0].structured_outputs, results[:count])


def _match_inputs(
    bodies: Sequence[TracedGraph], inputs: Sequence[Sequence[Tensor]]
) -> list[Tensor]:
    """Make all bodies take the inputs of any of them; return these."""
    taken = list(dict.fromkeys(tensor for tensors in inputs for tensor in tensors))
    for body, tensors in zip(bodies, inputs, strict=True):
        mine = dict(zip(tensors, body.inputs, strict=True))
        with body.as_default():
            body.inputs = [
                mine[tensor] if tensor in mine else placeholder(tensor.dtype, tensor.shape)
                for tensor in taken
            ]
        body.reset_captures(zip(taken, body.inputs, strict=True))
    return taken


def give_intermediates(
    bodies: Sequence[TracedGraph], optionals: Sequence[Sequence[Tensor]]
) -> list[list[Tensor]]:
    """Make the bodies return optionals too, the same number each; return the additions."""
    most = max(map(len, optionals))
    added = []
    for body, mine in zip(bodies, optionals, strict=True):
        with body.as_default():
            more = [*mine, *(optional_none_op() for _ in range(most - len(mine)))]
        body.outputs.extend(more)
        added.append(more)
    return added


def _wrapped_intermediates(body: TracedGraph) -> list[Tensor]:
    known = {*body.inputs, *body.outputs}
    found = [
        tensor
        for op in body.get_operations()
        for tensor in op._outputs
        if tensor not in known and tensor.dtype != dtypes.resource and op.type != "MutexLock"
    ]
    with body.as_default():
        return [optional_from_value_op([tensor]) for tensor in found]


def check_same_outputs(kind: Kind, bodies: Sequence[TracedGraph]) -> None:
    """Raise TypeError or ValueError for branches with different structures or types."""
    first = bodies[0]
    for index, body in enumerate(bodies[1:], 1):
        try:
            nest.assert_same_structure(
                first.structured_outputs, body.structured_outputs, expand_composites=True
            )
        except (ValueError, TypeError) as error:
            raise _different(kind, bodies, index, str(error)) from None
        if len(first.outputs) != len(body.outputs):
            raise ValueError(
                f"Lengths of branch outputs of {kind.op} must match.\n"
                f"len(graphs[0].outputs): {len(first.outputs)}\n"
                f"len(graphs[{index}].outputs): {len(body.outputs)}\n"
            )
        for a, b in zip(first.outputs, body.outputs, strict=True):
            if a.dtype != b.dtype:
                raise _different(kind, bodies, index, f"{a} and {b} have different types")


def _different(kind: Kind, bodies: Sequence[TracedGraph], index: int, detail: str) -> TypeError:
    a, b = kind.label(0), kind.label(index)
    return TypeError(
        f"{a} and {b} arguments to {kind.function} must have the same number, type, and overall "
        "structure of return values.\n\n"
        f"{a} output: {bodies[0].structured_outputs}\n"
        f"{b} output: {bodies[index].structured_outputs}\n\n"
        f"Error details:\n{detail}"
    )


def _match_indices(kind: Kind, bodies: Sequence[TracedGraph]) -> None:
    """Brings indices of slices together where one branch has int32 and another int64."""
    results = [nest.flatten(b.structured_outputs, expand_composites=False) for b in bodies]
    if len({len(result) for result in results}) != 1:
        return  # other errors are reported afterwards
    position, found = 0, []
    for number, parts in enumerate(zip(*results, strict=True)):
        if len({isinstance(part, IndexedSlices) for part in parts}) != 1:
            raise TypeError(
                f"Cannot reconcile tf.{'cond' if kind is COND else 'switch_case'} {number}-th "
                f"outputs:\n  branches returned: {parts}"
            )
        if isinstance(parts[0], IndexedSlices):
            found.append(position + 1)
        position += len(nest.flatten(parts[0], expand_composites=True))
    for index in found:
        if len({body.outputs[index].dtype for body in bodies}) != 1:
            for body in bodies:
                with body.as_default():
                    body.outputs[index] = cast(body.outputs[index], dtypes.int64)
    if found:
        for body in bodies:
            body.structured_outputs = packed(body.structured_outputs, body.outputs)


def _common_shapes(bodies: Sequence[TracedGraph]) -> list[Any]:
    """Return the common static shape of each result."""
    shapes = []
    for outputs in zip(*(body.outputs for body in bodies), strict=True):
        shape = outputs[0].shape
        for output in outputs[1:]:
            shape = shape.most_specific_compatible_shape(output.shape)
        shapes.append(shape)
    return shapes
