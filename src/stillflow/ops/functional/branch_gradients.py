"""Gradients of `If` and `Case`: a node of the same kind whose branches differentiate the branches.

The branches' intermediates that these need become further results of the node, each in an optional,
which has a value only if its branch ran.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stillflow import nest
from stillflow.graph import dtypes
from stillflow.graph.graph import get_default_graph
from stillflow.graph.indexed_slices import IndexedSlices
from stillflow.graph.node import Node
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.arrays.fill import zeros, zeros_like
from stillflow.ops.control_flow.gradients import zeros_dtype
from stillflow.ops.data.optionals import optional_from_value_op, optional_get_value_op
from stillflow.ops.functional.branches import (
    CASE,
    COND,
    Kind,
    build,
    check_same_outputs,
    give_intermediates,
)
from stillflow.ops.functional.cards import case_op, fake_param_op, if_op, stateless_if_op
from stillflow.ops.functional.nodes import (
    CondBranchFuncGraph,
    add_outputs,
    copy_handle_data,
    function_attribute,
    gradient_name,
    in_xla_graph,
    indirect_source,
    rebuilt_body,
    shares_collections,
)
from stillflow.ops.functional.traced_graph import TracedGraph
from stillflow.ops.functional.tracing import trace_body
from stillflow.ops.gradients.aggregation import as_slices_list
from stillflow.ops.gradients.gradients import differentiate, is_trainable
from stillflow.ops.variables.resource import variable_shape_op


class _GradientBranch(CondBranchFuncGraph):
    """The gradient of a branch; `added` is what the branch then gives beyond its results."""

    def __init__(self, branch: TracedGraph) -> None:
        super().__init__(gradient_name(branch.name), shares_collections())
        self._branch = branch
        self._own = (*branch.inputs, *branch.outputs)
        self._taken: dict[Tensor, Tensor] = {}  # stand-ins for tensors of the branch
        self.added: list[Tensor] = []
        self.rewrites = False

    def capture(self, tensor: Tensor, name: str | None = None) -> Tensor:
        if tensor.home is not self._branch or any(tensor is own for own in self._own):
            return super().capture(tensor, name)
        if in_xla_graph(get_default_graph()):
            if self.captured(tensor) is None:
                self.added.append(tensor)
                self.rewrites = True
            return super().capture(tensor, name)
        if tensor not in self._taken:
            self._taken[tensor] = self._take(tensor, name or tensor.op.name)
        return self._taken[tensor]

    def _take(self, tensor: Tensor, name: str) -> Tensor:
        if tensor.dtype == dtypes.resource:
            place = indirect_source(tensor, self._branch)
            return super().capture(self._branch.inputs[place], name)
        optional = super().capture(self._optional(tensor), name)
        made = optional_get_value_op(
            optional, output_types=[tensor.dtype], output_shapes=[tensor.shape]
        )
        value: Tensor = made[0]
        return value

    def _optional(self, tensor: Tensor) -> Tensor:
        for user in tensor.consumers():
            if user.type == "OptionalFromValue" and user._outputs[0] in self._branch.outputs:
                optional = user._outputs[0]
                break
        else:
            with self._branch.as_default():
                optional = optional_from_value_op([tensor])
            self.rewrites = True
        self.added.append(optional)
        return optional


def _branch_gradient(node: Node, *grads: Any) -> list[Tensor | IndexedSlices | None]:
    op = node.op
    kind = CASE if op.type == "Case" else COND
    branches = _branches(kind, op)
    made = [_differentiated(branch, grads) for branch in branches]
    if any(gradient.rewrites for gradient in made):
        _rewrite(kind, op, branches, made)
    inputs = [
        _inputs(op, branch, gradient) for branch, gradient in zip(branches, made, strict=True)
    ]
    _match_slices(kind, made)
    name = "gradient" if kind is CASE else None
    results = build(kind, op._inputs[0], made, inputs, is_gradient=True, name=name)
    return [None, *results]


for _card in (if_op, stateless_if_op, case_op):
    _card.gradient(_branch_gradient)


def _branches(kind: Kind, op: Operation) -> list[TracedGraph]:
    attrs = op.attrs
    named = attrs["branches"] if kind is CASE else [attrs["then_branch"], attrs["else_branch"]]
    inputs = op._inputs[1:]
    made = []
    for function in named:
        body = rebuilt_body(op, function.name, [tensor.shape for tensor in inputs])
        for outside, inside in zip(inputs, body.inputs, strict=True):
            copy_handle_data(outside, inside)
        body.reset_captures(zip(inputs, body.inputs, strict=True))
        made.append(body)
    return made


def _differentiated(branch: TracedGraph, grads: Sequence[Any]) -> _GradientBranch:
    def build_gradients() -> list[Any]:
        pairs = [
            (y, grad) for y, grad in zip(branch.outputs, grads, strict=True) if is_trainable(y)
        ]
        ys, given = [y for y, _ in pairs], [grad for _, grad in pairs]
        made = differentiate(ys, branch.inputs, given, source=branch)
        return [
            _zeros(x) if grad is None else grad for x, grad in zip(branch.inputs, made, strict=True)
        ]

    graph = _GradientBranch(branch)
    trace_body(graph, build_gradients, ordered=True)
    return graph


def _zeros(tensor: Tensor) -> Tensor:
    """Zeros for an argument that the results do not depend on: functions cannot give None."""
    if tensor.dtype == dtypes.resource:
        return zeros(variable_shape_op(tensor), dtype=zeros_dtype(tensor))
    return zeros_like(tensor)


def _rewrite(
    kind: Kind,
    op: Operation,
    branches: Sequence[TracedGraph],
    made: Sequence[_GradientBranch],
) -> None:
    """Make the node return the inputs of its branches' gradients."""
    wanted = [gradient.added for gradient in made]
    if in_xla_graph(get_default_graph()):
        added = _padded(branches, wanted)
        for branch, more in zip(branches, added, strict=True):
            branch.outputs.extend(more)
    else:
        added = give_intermediates(branches, wanted)
    check_same_outputs(kind, branches)
    for branch in branches:
        branch.name += "_rewritten"
    op.attrs.update(kind.functions([function_attribute(branch) for branch in branches]))
    op.attrs["Tout"] = [tensor.dtype for tensor in branches[0].outputs]
    op.attrs["output_shapes"] = [tensor.shape for tensor in branches[0].outputs]
    add_outputs(op, added[0])


def _padded(
    branches: Sequence[TracedGraph], wanted: Sequence[Sequence[Tensor]]
) -> list[list[Tensor]]:
    """All tensors that any branch gives more; each has stand-ins for those of the others."""
    result = []
    for number, branch in enumerate(branches):
        with branch.as_default():
            result.append([
                tensor if number == owner else fake_param_op(dtype=tensor.dtype, shape=tensor.shape)
                for owner, tensors in enumerate(wanted)
                for tensor in tensors
            ])  # fmt: skip
    return result


def _inputs(op: Operation, branch: TracedGraph, gradient: TracedGraph) -> list[Tensor]:
    """Return the inputs of a branch's gradient; the node's own results replace the branch's."""
    found = []
    for tensor in gradient.captured_inputs:
        if tensor.home is branch:
            outputs, inputs = branch.outputs, branch.inputs
            place = next((i for i, output in enumerate(outputs) if output is tensor), None)
            if place is not None:
                tensor = op._outputs[place]
            else:
                tensor = op._inputs[1 + next(i for i, own in enumerate(inputs) if own is tensor)]
        found.append(tensor)
    return found


def _match_slices(kind: Kind, made: Sequence[TracedGraph]) -> None:
    """Make slices of a gradient that is slices in another branch."""
    results = [gradient.structured_outputs for gradient in made]
    for place, grads in enumerate(zip(*results, strict=True)):
        is_slices = [isinstance(grad, IndexedSlices) for grad in grads]
        if all(is_slices) or not any(is_slices):
            continue
        for gradient, result, grad in zip(made, results, grads, strict=True):
            if isinstance(grad, Tensor):
                with gradient.as_default():
                    (result[place],) = as_slices_list([grad])
            elif not isinstance(grad, IndexedSlices):
                raise TypeError(
                    f"Cannot reconcile {kind.function} {place}-th outputs:\n"
                    f"  outputs from all branches: {grads}"
                )
    for gradient, result in zip(made, results, strict=True):
        gradient.outputs = nest.flatten(result, expand_composites=True)
