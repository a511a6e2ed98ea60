"""Queues while they run: bounded, closable, shared by the threads of a session."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stillflow import errors
from stillflow.graph import dims as dims_lib
from stillflow.graph.constant_value import Dims
from stillflow.graph.dims import shape_text
from stillflow.graph.dtypes import DType
from stillflow.ops.queues import elements as elements_lib
from stillflow.ops.queues.attempts import Attempt, Attempts
from stillflow.ops.queues.elements import Tuple

UNBOUNDED = 2**31 - 1


class Queue:
    """A queue of tuples.

    Args:
      kind: its name in messages, `FIFOQueue`.  Where a padding queue does only what a FIFOQueue
        does too, messages speak of that one (`simple_kind`).
      name: that of the queue.
      dtypes: of the components of an element.
      shapes: of the components: empty where they may differ, with None in queues that pad.
      capacity: how many elements it holds at most.
      store: keeps the elements.
      pads: whether batches fill elements up to the largest.
      device: where batches are made.
    """

    def __init__(
        self, kind: str, name: str, dtypes: Sequence[DType], shapes: Sequence[Dims],
        capacity: int, store: Any, pads: bool = False, device: Any = "cpu",
    ) -> None:  # fmt: skip
        self.kind = kind
        self.simple_kind = "FIFOQueue" if pads else kind
        self.name = name
        self.dtypes = list(dtypes)
        self.shapes = list(shapes)
        self.capacity = UNBOUNDED if capacity < 0 else capacity
        self.store = store
        self.pads = pads
        self.device = device
        self.closed = False
        self.attempts = Attempts()

    # ---- operations

    def enqueue(self, element: Tuple, waits: Any, submit: Any = None) -> None:
        """Put one element in.

        Args:
          submit: what carries the attempt out, if not the queue itself: `Begun.leave`.

        Raises:
          CancelledError: the queue is closed, or the wait was cancelled.
          InvalidArgumentError: the element does not fit the queue.
        """
        self.check_element(element)
        self._submit_put([element], waits, submit)

    def enqueue_ready(self, elements: Sequence[Tuple]) -> int:
        """Put in as many elements, which fit the queue, as there is room for now.

        Returns:
          Their number, 0 while others wait to put something in.
        """
        attempts = self.attempts
        with attempts.lock:
            if self.closed or attempts.putting:
                return 0
            room = max(0, min(self.capacity - len(self.store), len(elements)))
            for element in elements[:room]:
                self.store.put(element)
            if room:
                attempts._flush()
        return room

    def enqueue_many(self, components: Tuple, waits: Any, submit: Any = None) -> None:
        """Put the elements of a batch in; as `enqueue`."""
        self._check_batch(components)
        if components[0].shape[0]:
            whole = self.shapes and not self.pads and self.store.keeps_batches
            batch = elements_lib.Stacked(components)
            self._submit_put(batch.owned() if whole else list(batch), waits, submit)

    def _submit_put(self, elements: Sequence[Tuple], waits: Any, submit: Any) -> None:
        (submit or Attempts.submit)(
            self.attempts, _Put(self, elements), self.attempts.putting, waits
        )

    def dequeue(self, waits: Any) -> Tuple:
        """Remove and return one element.

        Raises:
          OutOfRangeError: the queue is closed and empty.
          CancelledError: the wait was cancelled.
        """
        take = _Take(self, 1)
        self.attempts.submit(take, self.attempts.taking, waits)
        taken: Tuple = take.taken[0]
        return taken

    def dequeue_many(self, count: int, waits: Any, fewer: bool = False) -> Tuple:
        """Remove and return a batch; `fewer` elements suffice once the queue is closed.

        Raises:
          InvalidArgumentError: `count` is negative, or elements may differ in shape.
          OutOfRangeError, CancelledError: as `dequeue`.
        """
        if count < 0:
            name = "DequeueUpToOp" if fewer else "DequeueManyOp"
            raise errors.invalid_argument(f"{name} requested {count} < 0 elements")
        if not self.shapes:
            what = "DequeueMany requires" if self.by_priority else "DequeueMany and DequeueUpTo"
            what += "" if self.by_priority else " require"
            raise errors.invalid_argument(
                f"{self.kind}'s {what} the components to have specified shapes."
            )
        if count == 0:
            return elements_lib.empty(self.dtypes, self._ranked(), self.device)
        take = _Take(self, count, batch=True, fewer=fewer)
        self.attempts.submit(take, self.attempts.taking, waits)
        if self.pads:
            return elements_lib.padded(take.taken, self._ranked())
        return elements_lib.stacked(take.taken)

    def _ranked(self) -> list[tuple[int | None, ...]]:
        """Return the shapes, all of a known rank."""
        return [shape for shape in self.shapes if shape is not None]

    def close(self, cancel_pending: bool, waits: Any) -> None:
        """Accept no further elements; waiting ones are added, or cancelled.

        Raises:
          CancelledError: it was closed before, and `cancel_pending` is not set.
        """
        if not cancel_pending:
            self.attempts.submit(_Close(self), self.attempts.putting, waits)
            return
        with self.attempts.lock:
            self.closed = True
            self.attempts.cancel_putting()
            self.attempts._flush()

    def size(self) -> int:
        return len(self.store)

    # ---- checks

    @property
    def by_priority(self) -> bool:
        """True if elements come in the order of their first component."""
        return self.kind == "PriorityQueue"

    def check_element(self, element: Tuple) -> None:
        """Raise an error for an element whose components do not have the queue's shapes.

        Raises:
          InvalidArgumentError: if so.
        """
        for i, (component, shape) in enumerate(zip(element, self.shapes, strict=False)):
            if component.shape != shape and not _fits(tuple(component.shape), shape):
                raise _mismatch(i, shape, component.shape)
        if self.by_priority and element[0].ndim:
            got = shape_text(element[0].shape)
            raise errors.invalid_argument(
                f"Expected the priority element to be a scalar, but received shape: {got}"
            )

    def _check_batch(self, components: Tuple) -> None:
        for i, component in enumerate(components):
            if not component.ndim and (i == 0 or not self.shapes):
                raise errors.invalid_argument(
                    "All components of a batch must have at least one dimension"
                )
        size = components[0].shape[0]
        for i, component in enumerate(components):
            if self.shapes:
                expected = dims_lib.concat((size,), self.shapes[i])
                if not _fits(tuple(component.shape), expected):
                    raise _mismatch(i, expected, component.shape)
            elif component.shape[0] != size:
                raise errors.invalid_argument(
                    "All input tensors must have the same size in the 0th dimension. Component "
                    f"{i} has {component.shape[0]}, and should have {size}"
                )

    def out_of_range(self, requested: int, size: int, batch: bool) -> errors.OpError:
        """Return the error of who takes from a closed queue."""
        kind = self.kind if batch else self.simple_kind
        return errors.out_of_range(
            f"{kind} '{self.name}' is closed and has insufficient elements "
            f"(requested {requested}, current size {size})"
        )


class _Put(Attempt):
    __slots__ = ("elements", "queue")

    def __init__(self, queue: Queue, elements: Sequence[Tuple]) -> None:
        super().__init__("Enqueue", len(elements))
        self.queue = queue
        self.elements = elements

    def run(self) -> bool | None:
        queue, left = self.queue, self.left
        if queue.closed:
            message = f"{queue.simple_kind} '{queue.name}' is closed."
            return self.finish(errors.cancelled(message))
        store, elements = queue.store, self.elements
        room = min(queue.capacity - len(store), left)
        if room <= 0:
            return False
        start = len(elements) - left
        if isinstance(elements, elements_lib.Stacked):
            store.put_batch(elements[start : start + room])
        else:
            for i in range(start, start + room):
                store.put(elements[i])
        self.left = left - room
        return self.finish() if not self.left else None


class _Take(Attempt):
    __slots__ = ("batch", "fewer", "queue")

    def __init__(self, queue: Queue, count: int, batch: bool = False, fewer: bool = False) -> None:
        super().__init__("Dequeue", count)
        self.queue = queue
        self.batch = batch
        self.fewer = fewer

    def run(self) -> bool | None:
        queue, store = self.queue, self.queue.store
        size = len(store)
        if queue.closed:
            if size < self.left:
                return self._end(size)
        else:
            size -= store.reserved
        count = min(size, self.left)
        # A batch of a priority queue is sorted as a whole, so it is taken at once.
        if count <= 0 or (count < self.left and queue.by_priority):
            return False
        self.taken += store.take_many(count) if self.batch else [store.take()]
        self.left -= count
        return self.finish() if not self.left else None

    def _end(self, size: int) -> bool | None:
        """Return the queue is closed and has too little."""
        queue = self.queue
        requested = self.left
        self.give_back()
        if self.fewer and len(queue.store):
            self.left = len(queue.store)
            self.taken = queue.store.take_many(self.left)
            return self.finish()
        return self.finish(queue.out_of_range(requested, size, self.batch))

    def give_back(self) -> None:
        self.queue.store.give_back(self.taken)
        self.left += elements_lib.count(self.taken)
        self.taken = []


class _Close(Attempt):
    __slots__ = ("queue",)

    def __init__(self, queue: Queue) -> None:
        super().__init__("Enqueue", 0)
        self.queue = queue

    def run(self) -> bool | None:
        queue = self.queue
        if queue.closed:
            message = f"Queue '{queue.name}' is already closed."
            return self.finish(errors.cancelled(message))
        queue.closed = True
        return self.finish()


def _fits(shape: tuple[int, ...], expected: Dims) -> bool:
    return shape == expected or (
        expected is None or (None in expected and dims_lib.is_compatible(shape, expected))
    )


def _mismatch(index: int, expected: Dims, shape: Any) -> errors.OpError:
    return errors.invalid_argument(
        f"Shape mismatch in tuple component {index}. Expected "
        f"{shape_text(expected)}, got {shape_text(shape)}"
    )
