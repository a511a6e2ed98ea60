"""From a tape and targets back to sources: the gradients of what the tape recorded."""

from __future__ import annotations

import collections
from collections.abc import Callable, Sequence
from typing import Any

from stillflow import errors
from stillflow.graph import dtypes
from stillflow.graph.operation import Tensor
from stillflow.graph.tapes import WATCHED, Entry, Tape
from stillflow.ops.arrays.fill import ones, zeros
from stillflow.ops.arrays.shape import shape_op
from stillflow.ops.gradient_sums import sum_slices
from stillflow.ops.gradients import UnconnectedGradients
from stillflow.ops.math.sums import add_n_op

# Losses whose gradient takes None for the gradient of these outputs, rather than zeros.
_OUTPUTS_LEFT_OUT = {
    "SoftmaxCrossEntropyWithLogits": (1,),
    "SparseSoftmaxCrossEntropyWithLogits": (1,),
    "FusedBatchNorm": (1, 2, 3, 4),
}


class _Walk:
    """One way back over the entries of a tape between targets and sources."""

    def __init__(self, tape: Tape, targets: Sequence[Tensor], sources: Sequence[Tensor]) -> None:
        self._tape, self._sources = tape, set(sources)
        self._entries, self._uses = self._between(targets)
        self._missing: dict[int, int] = collections.Counter(
            number
            for tensor in self._uses
            if (number := tape.producer(tensor)) is not None and number != WATCHED
        )
        self._grads: dict[Tensor, list[Any]] = {}

    def _between(self, targets: Sequence[Tensor]) -> tuple[dict[int, Entry], dict[Tensor, int]]:
        """The entries that the targets depend on, and how often these take each tensor."""
        entries: dict[int, Entry] = {}
        uses: dict[Tensor, int] = collections.Counter()
        pending = list(targets)
        while pending:
            number = self._tape.producer(pending.pop())
            if number is None or number == WATCHED or number in entries:
                continue
            if number not in self._tape.entries:
                continue
            entry = entries[number] = self._tape.entries[number]
            for tensor in entry.inputs:
                if tensor not in uses and self._tape.producer(tensor) is not None:
                    pending.append(tensor)
                uses[tensor] += 1
        return entries, uses

    def start(self, target: Tensor, grad: Any) -> None:
        """Gives a target its gradient: ones where the caller gives none."""
        if grad is None:
            known = self._tape.producer(target) not in (None, WATCHED)
            if not known and target not in self._sources:
                return
            grad = like(target, ones)
        self._grads.setdefault(target, []).append(grad)

    def run(self) -> None:
        """Builds the gradients of all entries on the way."""
        queue = collections.deque(n for n in self._entries if not self._missing[n])
        while queue:
            entry = self._entries.pop(queue.popleft())
            for tensor, grad in zip(entry.inputs, self._backward(entry), strict=False):
                if grad is not None:
                    self._grads.setdefault(tensor, []).append(grad)
                self._uses[tensor] -= 1
                number = self._tape.producer(tensor)
                if self._uses[tensor] or number == WATCHED:
                    continue
                if number is None:  # not watched, be it a source or not
                    self._grads.pop(tensor, None)
                    continue
                self._missing[number] -= 1
                if not self._missing[number]:
                    queue.append(number)
        if self._entries:
            raise errors.InternalError(None, None, "Invalid tape state.")

    def _backward(self, entry: Entry) -> Sequence[Any]:
        grads = [self._collected(output) for output in entry.outputs]
        if all(grad is None for grad in grads):
            return [None] * len(entry.inputs)
        left_out = _OUTPUTS_LEFT_OUT.get(entry.op_type, ())
        for i, output in enumerate(entry.outputs):
            if grads[i] is None and i not in left_out:
                grads[i] = like(output, zeros)
        skipped = frozenset(
            i
            for i, tensor in enumerate(entry.inputs)
            if self._tape.producer(tensor) is None and tensor not in self._sources
        )
        return entry.backward(grads, skipped)

    def _collected(self, tensor: Tensor) -> Any:
        """The sum of a tensor's gradients so far."""
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


def _sum(grads: list[Any]) -> Any:
    if all(isinstance(grad, Tensor) for grad in grads):
        return add_n_op(grads)
    return sum_slices(grads)


def like(tensor: Any, make: Callable[..., Any]) -> Any:
    """Ones or zeros of a tensor's type and shape; None for what has no number."""
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
    """The gradients of the targets' sum by each source.

    Args:
      tape: holds the operations.
      targets: what to differentiate.
      sources: by what; the handles of variables.
      raw_sources: the variables themselves, for the shape of zeros.
      output_gradients: one gradient or None for each target, ones by default.
      unconnected_gradients: whether sources that the targets do not depend on get zeros.

    Returns:
      A Tensor, IndexedSlices or None for each source.

    Raises:
      ValueError: if `unconnected_gradients` is not known.
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
