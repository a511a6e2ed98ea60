"""`If`, `Case`, `While` and `For` of function libraries as Switch, Merge, Enter and Exit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.graph import dtypes
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.control_flow.identity_and_group import identity_op
from stillflow.ops.control_flow.switch import (
    enter_op,
    exit_op,
    loop_cond_op,
    merge_op,
    next_iteration_op,
    ref_switch_op,
    switch_op,
)  # fmt: skip
from stillflow.ops.functional.lowered import counts_op, range_op, truth_op
from stillflow.ops.functional.symbolic import gradient_body
from stillflow.ops.math.binary import add_op
from stillflow.ops.math.comparison import equal_op
from stillflow.runtime.functions.collectives import COLLECTIVES
from stillflow.runtime.functions.inlining import Call, Inliner, inline_call


def _truth(inliner: Inliner, tensor: Tensor, call: Call) -> Tensor:
    if tensor.dtype.base_dtype == dtypes.bool and tensor._rank in (None, 0):
        return tensor
    attrs = {"T": tensor.dtype.base_dtype}
    name = f"{call.name}/truth"
    return inliner.make(truth_op, [tensor], attrs, [dtypes.bool], name, [], call.op)._outputs[0]


# ---- branches

Branch = Callable[[Sequence[Tensor], Operation], tuple[list[Tensor], list[Operation]]]


def _branches(
    inliner: Inliner,
    call: Call,
    predicate: Tensor,
    inputs: Sequence[Tensor],
    then_branch: Branch,
    else_branch: Branch,
    part: str = "",
) -> tuple[list[Tensor], Operation]:
    """Run one of two branches on `inputs`; return the results and the end of the branches."""
    name, like = f"{call.name}/{part}", call.op

    def switch(data: Tensor, label: str) -> list[Tensor]:
        types = [data.dtype, data.dtype]
        card = ref_switch_op if data.dtype._is_ref_dtype else switch_op
        made = inliner.add(card, [data, predicate], name + label, like, types=types)
        return [inliner.plain(side, name + label, like) for side in made._outputs]

    turns = inliner.add(
        switch_op, [predicate, predicate], f"{name}pivot", like,
        controls=call.controls, types=[dtypes.bool, dtypes.bool],
    )._outputs  # fmt: skip
    data = [switch(tensor, f"switch_{i}") for i, tensor in enumerate(inputs)]
    results, ends = [], []
    for side, branch in ((0, else_branch), (1, then_branch)):
        pivot = inliner.add(identity_op, [turns[side]], f"{name}pivot_{side}", like)
        outputs, done = branch([pair[side] for pair in data], pivot)
        results.append(outputs)
        ends.append(
            inliner.add(
                identity_op, [pivot._outputs[0]], f"{name}end_{side}", like, controls=done
            )._outputs[0]
        )
    merged = [
        _merge(inliner, list(pair), f"{name}merge_{i}", like)
        for i, pair in enumerate(zip(*results, strict=True))
    ]
    end = _merge(inliner, ends, f"{name}end", like)
    return merged, inliner.pivot(call.name + part, [end.op], like)


def _merge(inliner: Inliner, sides: list[Any], name: str, like: Operation) -> Tensor:
    types = [sides[0].dtype, dtypes.int32]
    return inliner.add(merge_op, sides, name, like, types=types, N=2)._outputs[0]


def _body_branch(inliner: Inliner, call: Call, named: Any, part: str) -> Branch:
    def branch(inputs: Sequence[Tensor], pivot: Operation) -> tuple[list[Tensor], list[Operation]]:
        function, body = call.function(named)
        return inliner.body(function, body, inputs, pivot, call, part)

    return branch


def _if(inliner: Inliner, call: Call) -> tuple[list[Tensor], Operation]:
    attrs = call.op.attrs
    condition, *inputs = call.inputs
    condition = inliner.plain(condition, call.name, call.op)
    return _branches(
        inliner, call, _truth(inliner, condition, call), inputs,
        _body_branch(inliner, call, attrs["then_branch"], "then/"),
        _body_branch(inliner, call, attrs["else_branch"], "else/"),
    )  # fmt: skip


def _case(inliner: Inliner, call: Call) -> tuple[list[Tensor], Operation]:
    """Return a chain of branches; an index out of range takes the last."""
    index, *inputs = call.inputs
    index = inliner.plain(index, call.name, call.op)
    branches = [
        _body_branch(inliner, call, named, f"branch{i}/")
        for i, named in enumerate(call.op.attrs["branches"])
    ]
    if len(branches) == 1:
        waits = [*call.controls, *inliner.makers(index)]
        pivot = inliner.pivot(f"{call.name}/begin", waits, call.op)
        inputs = [inliner.plain(tensor, call.name, call.op) for tensor in inputs]
        outputs, done = branches[0](inputs, pivot)
        return outputs, inliner.pivot(call.name, [pivot, *done], call.op)
    return _chain(inliner, call, index, inputs, branches, 0)


def _chain(
    inliner: Inliner,
    call: Call,
    index: Tensor,
    inputs: Sequence[Tensor],
    branches: Sequence[Branch],
    first: int,
) -> tuple[list[Tensor], Operation]:
    name = f"{call.name}/number_{first}"
    number = _constant(inliner, first, name, call.op, inliner.makers(index))
    equal = inliner.add(
        equal_op,
        [index, number],
        f"{call.name}/is_{first}",
        call.op,
        types=[dtypes.bool],
        incompatible_shape_error=True,
    )._outputs[0]
    if first == len(branches) - 2:
        rest = branches[-1]
        return _branches(inliner, call, equal, inputs, branches[first], rest, f"case_{first}/")

    def others(given: Sequence[Tensor], pivot: Operation) -> tuple[list[Tensor], list[Operation]]:
        inner, *values = given
        outputs, done = _chain(inliner, call, inner, values, branches, first + 1)
        return outputs, [done]

    def this(given: Sequence[Tensor], pivot: Operation) -> tuple[list[Tensor], list[Operation]]:
        return branches[first](given[1:], pivot)

    return _branches(inliner, call, equal, [index, *inputs], this, others, f"case_{first}/")


def _constant(
    inliner: Inliner, value: int, name: str, like: Operation, controls: Sequence[Operation]
) -> Tensor:
    return inliner.constant(np.asarray(value, np.int32), dtypes.int32, name, like, controls)


# ---- loops


class _Loop:
    """The frame of one loop while it is made."""

    def __init__(self, inliner: Inliner, call: Call, inputs: Sequence[Tensor]) -> None:
        self.inliner, self.call = inliner, call
        self.frame = f"{call.name}/frame".encode()
        controls = call.controls
        self.merges: list[Operation] = []
        for index, tensor in enumerate(inputs):
            enter = self.enter(tensor, f"enter_{index}", False, controls)
            dtype = tensor.dtype
            merge = inliner.add(
                merge_op, [enter, None], f"{call.name}/merge_{index}", call.op,
                types=[dtype, dtypes.int32], N=2,
            )  # fmt: skip
            merge._outputs[1]._dims = ()
            self.merges.append(merge)

    def enter(
        self, tensor: Tensor, label: str, constant: bool, controls: Sequence[Operation] = ()
    ) -> Tensor:
        parallel = self.call.op.attrs.get("parallel_iterations", 10)
        return self.inliner.add(
            enter_op, [tensor], f"{self.call.name}/{label}", self.call.op, controls=controls,
            frame_name=self.frame, is_constant=constant, parallel_iterations=parallel,
        )._outputs[0]  # fmt: skip

    def run(
        self,
        test: Callable[[list[Tensor]], Tensor],
        body: Branch,
        kind: str = "While",
        hidden: int = 0,
    ) -> tuple[list[Tensor], Operation]:
        """Add the condition, the body and the exits."""
        inliner, name, like = self.inliner, self.call.name, self.call.op
        current = [merge._outputs[0] for merge in self.merges]
        condition = inliner.add(loop_cond_op, [test(current)], f"{name}/condition", like)
        truth = condition._outputs[0]
        exits, inside = [], []
        for index, tensor in enumerate(current):
            types = [tensor.dtype, tensor.dtype]
            leave, stay = inliner.add(
                switch_op, [tensor, truth], f"{name}/switch_{index}", like, types=types
            )._outputs
            label = f"{name}/exit_{index}"
            exits.append(inliner.add(exit_op, [leave], label, like)._outputs[0])
            label = f"{name}/identity_{index}"
            inside.append(inliner.add(identity_op, [stay], label, like)._outputs[0])
        outputs, _ = body(inside, inside[0].op)
        expected = len(current) - hidden
        if len(outputs) != len(current):
            raise errors.invalid_argument(
                f"{kind} loop body returned {len(outputs) - hidden} arguments. "
                f"Expected: {expected}",
                like,
            )
        for index, (merge, tensor) in enumerate(zip(self.merges, outputs, strict=True)):
            label = f"{name}/next_{index}"
            back = inliner.add(next_iteration_op, [tensor], label, like)._outputs[0]
            merge._inputs[1] = inliner.use(back, merge)
        done = inliner.pivot(name, [tensor.op for tensor in exits], like)
        return exits, done


def _while(inliner: Inliner, call: Call) -> Any:
    attrs = call.op.attrs
    inputs = call.inputs
    if not inputs:  # a loop needs something that goes round
        inputs = [_constant(inliner, 0, f"{call.name}/nothing", call.op, call.controls)]
    count = len(call.inputs)
    loop = _Loop(inliner, call, inputs)

    def test(current: list[Tensor]) -> Tensor:
        function, body = call.function(attrs["cond"])
        outputs, _ = inliner.body(function, body, current[:count], loop.merges[0], call, "cond/")
        if len(outputs) != 1:
            raise errors.invalid_argument(
                "Expected a single scalar return value from WhileOp cond but got "
                f"{len(outputs)} tensors.",
                call.op,
            )
        return _truth(inliner, outputs[0], call)

    run_body = _body_branch(inliner, call, attrs["body"], "body/")

    def turn(current: Sequence[Tensor], pivot: Operation) -> tuple[list[Tensor], list[Operation]]:
        outputs, done = run_body(current[:count], pivot)
        return [*outputs, *current[count:]], done

    exits, done = loop.run(test, turn)
    return exits[:count], done


def _for(inliner: Inliner, call: Call) -> tuple[list[Tensor], Operation]:
    start, limit, delta, *inputs = call.inputs
    given = [start, limit, delta]
    start = inliner.make(
        range_op, given, {}, [dtypes.int32], f"{call.name}/range", call.controls, call.op
    )._outputs[0]
    loop = _Loop(inliner, call, [start, *inputs])
    limit, delta = loop.enter(limit, "limit", True), loop.enter(delta, "delta", True)

    def test(current: list[Tensor]) -> Tensor:
        given = [current[0], limit, delta]
        return inliner.make(
            counts_op, given, {}, [dtypes.bool], f"{call.name}/counts", [], call.op
        )._outputs[0]

    run_body = _body_branch(inliner, call, call.op.attrs["body"], "body/")

    def turn(current: Sequence[Tensor], pivot: Operation) -> tuple[list[Tensor], list[Operation]]:
        outputs, done = run_body(current, pivot)
        number = inliner.add(add_op, [current[0], delta], f"{call.name}/add", call.op)
        return [number._outputs[0], *outputs], done

    exits, done = loop.run(test, turn, "For", 1)
    return exits[1:], done


def _symbolic_gradient(inliner: Inliner, call: Call) -> tuple[list[Tensor], Operation]:
    named = call.op.attrs["f"]
    body = gradient_body(call.op.graph, named, len(call.op.attrs["Tout"]))
    return inline_call(inliner, call, f"{named.name}_gradient", body)


LOWERED: dict[str, Callable[[Inliner, Call], Any]] = {
    "If": _if, "StatelessIf": _if, "_If": _if, "Case": _case,
    "While": _while, "StatelessWhile": _while, "_While": _while, "For": _for,
    "SymbolicGradient": _symbolic_gradient, **COLLECTIVES,
}  # fmt: skip
