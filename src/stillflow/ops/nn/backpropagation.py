"""Differentiating a few operations in the order in which a gradient tape does it.

TF builds some second gradients by taping a formula. Unlike `tf.gradients` that makes no scopes,
visits operations first come, first served, and goes no further back than the sources.
"""

from __future__ import annotations

import collections
from collections.abc import Sequence
from typing import Any

from stillflow.graph.gradient_registry import gradient_function
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.math.add_n import add_n


def backpropagate(
    ops: Sequence[Operation],
    targets: Sequence[Tensor],
    sources: Sequence[Tensor],
    starts: Sequence[Tensor],
) -> list[Any]:
    """Return the gradients of `targets` for `sources`, through `ops` alone, from `starts`.

    `ops` are in the order they were made; None stands where no target depends on a source.
    """
    tape = _recorded(ops, sources)
    uses, waits = _counts(tape, targets)
    grads: dict[Tensor, list[Any]] = collections.defaultdict(list)
    for target, start in zip(targets, starts, strict=True):
        grads[target].append(start)
    queue = collections.deque(target.op for target in targets if not waits[target.op])
    while queue:
        op = queue.popleft()
        out_grads = [_total(grads.pop(tensor, [])) for tensor in op._outputs]
        for tensor, grad in zip(op._inputs, _input_gradients(op, out_grads, tape), strict=True):
            if grad is not None:
                grads[tensor].append(grad)
            uses[tensor] -= 1
            if not uses[tensor] and tensor.op in waits:
                waits[tensor.op] -= 1
                if not waits[tensor.op]:
                    queue.append(tensor.op)
    return [_total(grads[source]) for source in sources]


def _recorded(ops: Sequence[Operation], sources: Sequence[Tensor]) -> set[Tensor]:
    """Return the sources and all tensors that depend on them."""
    tracked = set(sources)
    for op in ops:
        if any(tensor in tracked for tensor in op._inputs):
            tracked.update(op._outputs)
    return tracked - set(sources)


def _counts(
    tape: set[Tensor], targets: Sequence[Tensor]
) -> tuple[collections.Counter[Tensor], collections.Counter[Operation]]:
    """Return the targets' uses of each tensor, and of each operation's outputs."""
    uses: collections.Counter[Tensor] = collections.Counter()
    seen: set[Operation] = set()
    stack = list(targets)
    while stack:
        tensor = stack.pop()
        if tensor not in tape or tensor.op in seen:
            continue
        seen.add(tensor.op)
        uses.update(tensor.op._inputs)
        stack.extend(tensor.op._inputs)
    waits = collections.Counter(dict.fromkeys(seen, 0))
    waits.update(tensor.op for tensor in uses if tensor.op in seen)
    return uses, waits


def _total(grads: list[Any]) -> Any:
    if len(grads) < 2:
        return grads[0] if grads else None
    return add_n(grads)


def _input_gradients(op: Operation, grads: list[Any], tape: set[Tensor]) -> Sequence[Any]:
    nothing = [None] * len(op._inputs)
    if all(grad is None for grad in grads):
        return nothing
    if op.type == "AddV2" and op._inputs[1] not in tape and op._inputs[1]._dims == ():
        return grads[0], None  # nobody asks for the gradient of a number that is added
    function = gradient_function(op)
    if function is None:
        return nothing
    made = function(op, *grads)
    return made if isinstance(made, (list, tuple)) else [made]
