"""Forward-mode differentiation: Jacobian-vector products, computed along with the operations.

An accumulator stands among the tapes of its thread. For each operation that takes a tensor with a
tangent it computes the tangents of the results from the gradient of the operation, which is linear
in the gradients of the results: the derivative of that linear function by these is the product
with the Jacobian.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from stillflow import nest
from stillflow.eager.tape_gradients import like, tape_gradients
from stillflow.graph import tapes
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.operation import Tensor
from stillflow.ops.arrays.fill import ones, zeros
from stillflow.ops.gradients.gradients import UnconnectedGradients
from stillflow.ops.math.binary import add
from stillflow.platform import tf_logging as logging


class _Tangents:
    """Tangents by the tensors that have them; a tangent ends with its tensor."""

    def __init__(self) -> None:
        self._of: dict[int, tuple[weakref.ref[Tensor], Tensor]] = {}

    def get(self, tensor: Any) -> Tensor | None:
        found = self._of.get(id(tensor))
        return None if found is None else found[1]

    def set(self, tensor: Tensor, tangent: Tensor) -> None:
        known, key = self._of, id(tensor)
        known[key] = (weakref.ref(tensor, lambda _: known.pop(key, None)), tangent)


class _Recorder(tapes.Tape):
    """The tape through which an accumulator sees operations; it keeps tangents, no entries."""

    def __init__(self) -> None:
        # Persistent: a call of a function must give all that its gradient needs.
        super().__init__(persistent=True, watch_accessed_variables=False)
        self.tangents = _Tangents()

    def should_record(self, tensors: Sequence[Tensor]) -> bool:
        """Return True if one of the tensors has a tangent."""
        return any(self.tangents.get(tensor) is not None for tensor in tensors)

    def add(self, entry: tapes.Entry) -> None:
        """Compute the tangents of an operation's results."""
        given = [self.tangents.get(tensor) for tensor in entry.inputs]
        with self._unseen():
            for output, tangent in zip(entry.outputs, _pushed(entry, given), strict=True):
                if tangent is not None:
                    self.tangents.set(output, tangent)

    @contextmanager
    def _unseen(self) -> Iterator[None]:
        """Hide this accumulator within the context, and the ones that began to record after it.

        The accumulators around it go on: theirs are the derivatives of higher order.
        """
        before = tapes.active.tapes
        place = next((i for i, tape in enumerate(before) if tape is self), len(before))
        later = [tape for tape in before[place:] if not isinstance(tape, _Recorder)]
        tapes.active.tapes = before[:place] + later
        try:
            yield
        finally:
            tapes.active.tapes = before


def _pushed(entry: tapes.Entry, given: Sequence[Tensor | None]) -> list[Tensor | None]:
    """Return the tangents of an operation's results, for those of its inputs; None for zeros."""
    places = [i for i, output in enumerate(entry.outputs) if _has_gradient(output)]
    tape = tapes.Tape()
    with tapes.recording(tape):
        # The value makes no difference: the gradients are linear in these.
        aids: list[Any] = [like(output, zeros) for output in entry.outputs]
        for place in places:
            aids[place] = like(entry.outputs[place], ones)
            tape.watch(aids[place])
        skipped = frozenset(i for i, tangent in enumerate(given) if tangent is None)
        backward = entry.backward(aids, skipped)
        grads, tangents = [], []
        for grad, tangent in zip(backward, given, strict=True):
            if grad is not None and tangent is not None:
                grads.append(convert_to_tensor(grad))
                tangents.append(tangent)
    wanted = [aids[place] for place in places]
    none = UnconnectedGradients.NONE
    result: list[Tensor | None] = [None] * len(entry.outputs)
    for place, tangent in zip(
        places, tape_gradients(tape, grads, wanted, wanted, tangents, none), strict=True
    ):
        result[place] = None if tangent is None else convert_to_tensor(tangent)
    return result


def _has_gradient(tensor: Tensor) -> bool:
    return bool(tensor.dtype.is_floating or tensor.dtype.is_complex)


class ForwardGradientAccumulator:
    """Accumulator of Jacobian-vector products of the operations within its context.

    Accumulators see each operation in the order in which they were entered, and the outer ones see
    the computations of the inner ones: derivatives of higher order are asked of the outer one.

        with ForwardGradientAccumulator() as accumulator:
            accumulator.watch(x, tf.constant([1.0, 0.0]))
            y = tf.sin(x)
        accumulator.jvp(y)  # cos(x) * [1, 0]
    """

    def __init__(self) -> None:
        self._accumulator: _Recorder | None = None
        self._recording = False

    def __enter__(self) -> ForwardGradientAccumulator:
        self._push_accumulator()
        return self

    def __exit__(self, typ: Any, value: Any, traceback: Any) -> None:
        if self._recording:
            self._pop_accumulator()

    def _push_accumulator(self) -> None:
        if self._recording:
            raise ValueError("Accumulator is already recording.")
        if self._accumulator is not None:
            raise NotImplementedError("Accumulator reuse isn't implemented yet.")
        self._accumulator = _Recorder()
        tapes.push(self._accumulator)
        self._recording = True

    def _pop_accumulator(self) -> None:
        if not self._recording:
            raise ValueError("Tape is not recording.")
        assert self._accumulator is not None
        tapes.pop(self._accumulator)
        self._recording = False

    def watch(self, tensor: Any, tangents: Any) -> None:
        """Give tensors their tangents, the part of the vector that the Jacobian is multiplied by.

        Args:
          tensor: a tensor, or a structure of them.
          tangents: a tangent for each; a tensor that is watched again gets their sum.

        Raises:
          ValueError: the structures differ, or the context was not entered.
          NotImplementedError: for variables.
        """
        nest.assert_same_structure(tensor, tangents)
        if self._accumulator is None:
            raise ValueError("Called watch() outside of the accumulator's context.")
        known = self._accumulator.tangents
        for one, tangent in zip(nest.flatten(tensor), nest.flatten(tangents), strict=True):
            if not one.dtype.is_floating:
                logging.log_first_n(
                    logging.WARN, "The dtype of the watched tensor must be floating (e.g. "
                    "tf.float32), got %r", 5, one.dtype,
                )  # fmt: skip
            if not isinstance(one, Tensor):
                raise NotImplementedError("Currently only Tensors may be watched.")
            with self._accumulator._unseen():
                new, before = convert_to_tensor(tangent, one.dtype), known.get(one)
                known.set(one, new if before is None else add(before, new))

    def jvp(self, target: Any) -> Tensor | list[Tensor | None] | None:
        """Return the product that was computed for each tensor of a structure.

        Returns:
          A tensor of the target's type and shape; None if it depends on nothing that is watched.

        Raises:
          ValueError: the context was not entered.
        """
        if self._accumulator is None:
            raise ValueError("Called jvp() without first tracing anything.")
        return nest.map_structure(self._accumulator.tangents.get, target)


def tangents_of(
    run: Callable[[], Sequence[Tensor]], inputs: Sequence[Tensor], tangents: Sequence[Tensor]
) -> list[Tensor | None]:
    """Return the tangents of a function's results, for those of its arguments."""
    recorder = _Recorder()
    for tensor, tangent in zip(inputs, tangents, strict=True):
        recorder.tangents.set(tensor, tangent)
    with tapes.recording(recorder):
        found = run()
    return [recorder.tangents.get(output) for output in found]
