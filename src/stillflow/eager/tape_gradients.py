"""Gradients of a tape's targets with respect to its sources."""

from __future__ import annotations

import collections
from collections.abc import Callable, Sequence
from typing import Any

from stillflow import errors
from stillflow.graph import dtypes
from stillflow.graph.indexed_slices import IndexedSlices
from stillflow.graph.operation import Tensor
from stillflow.graph.tapes import WATCHED, Entry, Tape
from stillflow.ops.arrays.fill import ones, zeros
from stillflow.ops.arrays.shape import shape_op
from stillflow.ops.gradients.aggregation import sum_slices
from stillflow.ops.gradients.gradients import UnconnectedGradients
from stillflow.ops.math.add_n import add_n_op

# Losses whose gradient takes None for the gradient of these outputs, rather than zeros.
_OUTPUTS_LEFT_OUT = {
    "SoftmaxCrossEntropyWithLogits": (1,),
    "SparseSoftmaxCrossEntropyWithLogits": (1,),
    "FusedBatchNorm": (1, 2, 3, 4),
}


_NONE_SKIPPED: frozenset[int] = frozenset()


class _Walk:
    """One way back over the entries of a tape between targets and sources."""

    def __init__(self, tape: Tape, targets: Sequence[Tensor], sources: Sequence[Tensor]) -> None:
        self._all, self._producers = tape.entries, tape.producers
        self._sources = set(sources)
        self._entries, self._uses = self._between(targets)
        # How many tensors of each entry still wait for gradients.
        self._missing: dict[int, int] = {}
        for tensor in self._uses:
            number = self._producers.get(tensor)
            if number is not None and number != WATCHED:
                self._missing[number] = self._missing.get(number, 0) + 1
        self._grads: dict[Tensor, list[Any]] = {}

    def _between(self, targets: Sequence[Tensor]) -> tuple[dict[int, Entry], dict[Tensor, int]]:
        """Return the entries that the targets depend on, and how often these take each tensor."""
        entries: dict[int, Entry] = {}
        uses: dict[Tensor, int] = {}
        known, producers = self._all, self._producers
        pending = [producers.get(target) for target in targets]
        while pending:
            number: Any = pending.pop()
            if number in entries or number not in known:
                continue
            entry = entries[number] = known[number]
            for tensor in entry.inputs:
                if tensor in uses:
                    uses[tensor] += 1
                else:
                    uses[tensor] = 1
                    pending.append(producers.get(tensor))
        return entries, uses

    def start(self, target: Tensor, grad: Any) -> None:
        """Return a target's initial gradient: ones by default."""
        if grad is None:
            known = self._producers.get(target) not in (None, WATCHED)
            if not known and target not in self._sources:
                return
            grad = like(target, ones)
        self._grads.setdefault(target, []).append(grad)

    def run(self) -> None:
        """Build the gradients of all entries on the way."""
        missing, uses, producers, grads = self._missing, self._uses, self._producers, self._grads
        queue = collections.deque(n for n in self._entries if n not in missing)
        while queue:
            entry = self._entries.pop(queue.popleft())
            for tensor, grad in zip(entry.inputs, self._backward(entry), strict=False):
                if grad is not None:
                    grads.setdefault(tensor, []).append(grad)
                uses[tensor] -= 1
                number = producers.get(tensor)
                if uses[tensor] or number == WATCHED:
                    continue
                if number is None:  # not watched, be it a source or not
                    grads.pop(tensor, None)
                    continue
                missing[number] -= 1
                if not missing[number]:
                    queue.append(number)
        if self._entries:
            raise errors.internal("Invalid tape state.")

    def _backward(self, entry: Entry) -> Sequence[Any]:
        found = False
        grads = []
        for output in entry.outputs:
            grad = self._collected(output)
            found = found or grad is not None
            grads.append(grad)
        if not found:
            return [None] * len(entry.inputs)
        if any(grad is None for grad in grads):
            left_out = _OUTPUTS_LEFT_OUT.get(entry.op_type, ())
            for i, output in enumerate(entry.outputs):
                if grads[i] is None and i not in left_out:
                    grads[i] = like(output, zeros)
        skipped = [
            i
            for i, tensor in enumerate(entry.inputs)
            if tensor not in self._producers and tensor not in self._sources
        ]
        return entry.backward(grads, frozenset(skipped) if skipped else _NONE_SKIPPED)

    def _collected(self, tensor: Tensor) -> Tensor | IndexedSlices | None:
        """Return the sum of a tensor's gradients so far."""
        grads = self._grads.get(tensor)
        if grads is None:
            return None
        total = grads[0] if len(grads) == 1 else _sum(grads)
        if tensor in self._sources:
            self._grads[tensor] = [total]
        else:
            del self._grads[tensor]
        return total

    def result(self, source: Tensor) -> Any:
        return self._collected(source)


def _sum(grads: list[Any]) -> Tensor:
    if all(isinstance(grad, Tensor) for grad in grads):
        return add_n_op(grads)
    return sum_slices(grads)


def like(tensor: Any, make: Callable[..., Any]) -> Tensor | None:
    """Return ones or zeros of a tensor's type and shape; None for types without numbers."""
    dtype = tensor.dtype.base_dtype
    if dtype == dtypes.string or (make is zeros and dtype in (dtypes.resource, dtypes.variant)):
        return None
    shape = tensor._shape_tuple()
    if shape is None or None in shape:
        shape = shape_op(tensor)
    return make(shape, dtype)


def tape_gradients(
    tape: Tape,
    targets: Sequence[Tensor],
    sources: Sequence[Tensor],
    raw_sources: Sequence[Any],
    output_gradients: Sequence[Any] | None,
    unconnected_gradients: Any,
) -> list[Any]:
    """Return the gradients of the targets' sum by each source: Tensors, IndexedSlices or None.

    Sources are the handles of variables, too, `raw_sources` these themselves, for the shape of
    zeros, which sources without a gradient may get. `output_gradients` are None for ones.
    """
    try:
        unconnected = UnconnectedGradients(unconnected_gradients)
    except ValueError:
        raise ValueError(
            f"Unknown value for unconnected_gradients: {unconnected_gradients!r}"
        ) from None
    walk = _Walk(tape, targets, sources)
    for i, target in enumerate(targets):
        walk.start(target, output_gradients[i] if output_gradients else None)
    if not tape.persistent:
        tape.entries.clear()
    walk.run()
    result = [walk.result(source) for source in sources]
    if unconnected is UnconnectedGradients.ZERO:
        for i, raw in enumerate(raw_sources):
            if result[i] is None:
                result[i] = zeros(shape_op(raw), raw.dtype.base_dtype)
    return result
