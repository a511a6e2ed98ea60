"""Barriers: tuples whose components come in one by one, by key, and go out when complete."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.graph import dims as dims_lib
from stillflow.graph import dtypes
from stillflow.graph.arrays import Array
from stillflow.graph.card import op
from stillflow.graph.constant_value import Dims, constant_value
from stillflow.graph.dims import shape_text
from stillflow.graph.dtypes import DType
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.parts import Kernel
from stillflow.graph.tensor_shape import TensorShape
from stillflow.ops.queues import elements as elements_lib
from stillflow.ops.queues.attempts import private_name
from stillflow.ops.queues.classes import shape_list, type_list
from stillflow.ops.queues.creation import shapes_text, types_text
from stillflow.ops.queues.queue import Queue
from stillflow.ops.queues.stores import PriorityStore

_HANDLE = "handle: &string"
barrier_op = op(
    f"Barrier() -> {_HANDLE}\ncomponent_types: list(type) >= 1\nshapes: list(shape) >= 0 = []\n"
    'capacity: int = -1\ncontainer: string = ""\nshared_name: string = ""\nflags: stateful',
    differentiable=False,
    handle="barrier",
    gives="barrier",
)
barrier_insert_many_op = op(
    f"BarrierInsertMany({_HANDLE}, keys: string, values: T)\nT: type\ncomponent_index: int",
    effect="state", differentiable=False, handle="barrier")  # fmt: skip
barrier_take_many_op = op(
    f"BarrierTakeMany({_HANDLE}, num_elements: int32) -> "
    "(indices: int64, keys: string, values: [component_types])\n"
    "component_types: list(type) >= 1\nallow_small_batch: bool = false\n"
    "wait_for_incomplete: bool = false\ntimeout_ms: int = -1",
    effect="state", differentiable=False, handle="barrier")  # fmt: skip
barrier_close_op = op(
    f"BarrierClose({_HANDLE})\ncancel_pending_enqueues: bool = false",
    effect="state", differentiable=False, handle="barrier")  # fmt: skip
_SIZE = f"({_HANDLE}) -> size: int32"
barrier_ready_size_op = op(
    f"BarrierReadySize{_SIZE}", effect="state", differentiable=False, handle="barrier"
)
barrier_incomplete_size_op = op(
    f"BarrierIncompleteSize{_SIZE}", effect="state", differentiable=False, handle="barrier"
)
_FIRST_INDEX = -(2**63)


class BarrierStore:
    """A barrier while it runs.

    Args:
      name: in messages.
      types: of the components.
      shapes: of the components, or none.
    """

    def __init__(self, name: str, types: Sequence[DType], shapes: Sequence[Dims]) -> None:
        self.name = name
        self.types, self.shapes = list(types), list(shapes)
        self.count = len(types)
        all_types = [dtypes.int64, dtypes.string, *types]
        all_shapes: list[Dims] = [(), (), *shapes] if len(shapes) == len(types) else []
        store = PriorityStore()
        self.ready = Queue("PriorityQueue", f"{name}_queue", all_types, all_shapes, -1, store)
        self.closed = False
        self._cancelled = False
        self._next_index = _FIRST_INDEX
        self._incomplete: dict[bytes, tuple[int, list[Any]]] = {}
        self._lock = threading.Lock()

    @property
    def incomplete(self) -> int:
        """The number of keys with a missing component."""
        return len(self._incomplete)

    def insert(self, keys: list[bytes], place: int, values: Any, waits: Any) -> None:
        """Put one component of some keys in.

        Raises:
          InvalidArgumentError: a key has that component.
          CancelledError: the barrier is closed and a key is new.
        """
        shape = tuple(values.shape)
        if not 0 <= place < self.count:
            raise errors.invalid_argument(
                f"The component ID is out of range {place} > num_components (= {self.count})"
            )
        if not shape or shape[0] != len(keys):
            raise errors.invalid_argument(
                f"{len(keys)} keys and a tensor of shape {shape_text(shape)} do not go together"
            )
        if keys and 0 in shape:
            raise errors.invalid_argument(
                f"Tensors with no elements are not supported {self.name}: received shape "
                f"{shape_text(shape)}"
            )
        with self._lock:
            self._check_open(len(keys))
            rows = elements_lib.rows([values]) if keys else []
            complete, is_new = [], False
            for i, (key, (value,)) in enumerate(zip(keys, rows, strict=True)):
                is_new = self._begin(key, i) or is_new
                complete += self._insert_one(key, place, value)
            if is_new:
                self._next_index += 1
            for element in complete:
                self.ready.enqueue(element, waits)
            if self.closed and not self._incomplete and len(complete):
                self._close_queue(False, waits)

    def _check_open(self, count: int) -> None:
        if self.closed and (self._cancelled or (count and not self._incomplete)):
            raise errors.cancelled(
                f"Barrier {self.name} is closed.  Pending enqueues cancelled: "
                f"{int(self._cancelled)}.  Number of new insertions: {count}.  Number of "
                f"incomplete keys: {len(self._incomplete)}."
            )

    def _begin(self, key: bytes, place: int) -> bool:
        """Make room for a key; say whether it is new."""
        if key in self._incomplete:
            return False
        if self.closed:
            raise errors.cancelled(
                f"Barrier {self.name} is closed, but attempted to insert a brand new key: "
                f"{key.decode(errors='replace')}.  Pending enqueues cancelled: "
                f"{int(self._cancelled)}.  Insertion index: {place}.  Number of incomplete keys: "
                f"{len(self._incomplete)}."
            )
        self._incomplete[key] = self._next_index, [None] * self.count
        return True

    def _insert_one(self, key: bytes, place: int, value: Any) -> list[Any]:
        index, components = self._incomplete[key]
        if components[place] is not None:
            raise errors.invalid_argument(
                f"Key {key.decode(errors='replace')} already has a value for component {place} "
                f"in barrier {self.name}"
            )
        components[place] = value
        if any(component is None for component in components):
            return []
        del self._incomplete[key]
        name = np.empty((), dtype=object)
        name[()] = key
        element = (torch.tensor(index), name, *components)
        self.ready.check_element(element)
        return [element]

    def take(self, count: int, fewer: bool, waits: Any) -> tuple[torch.Tensor | Array, ...]:
        """Remove complete tuples; return indices, keys, components.

        Raises:
          OutOfRangeError: the barrier is closed and has too few.
        """
        with self._lock:
            if self.closed:
                available = self.ready.size()
                if fewer:
                    count = min(count, available)
                else:
                    available += len(self._incomplete)
                if available < max(count, 1):
                    raise errors.out_of_range(
                        f"Barrier '{self.name}' is closed and has insufficient elements "
                        f"(requested {count}, total size {available})"
                    )
        return self.ready.dequeue_many(count, waits, fewer)

    def close(self, cancel: bool, waits: Any) -> None:
        """Accept no new keys; incomplete ones may be completed, unless cancelled.

        Raises:
          CancelledError: it was closed before.
        """
        with self._lock:
            if self.closed and (self._cancelled or not cancel):
                raise errors.cancelled(f"Barrier '{self.name}' is already closed.")
            self._cancelled = cancel
            self.closed = True
            if cancel or not self._incomplete:
                self._incomplete.clear()
                self._close_queue(cancel, waits)

    def _close_queue(self, cancel: bool, waits: Any) -> None:
        if cancel or not self.ready.closed:
            self.ready.close(cancel, waits)


barrier_op.shape(lambda node: (2,))
barrier_ready_size_op.shape(lambda node: ())
barrier_incomplete_size_op.shape(lambda node: ())
barrier_take_many_op.shape(
    lambda node: [*[(None,) if node.planning else None] * 2, *[None] * (len(node.outputs) - 2)]
)


@barrier_op.kernel
def barrier_kernel(node: Any) -> Kernel:
    shared = node.op.attrs["shared_name"].decode()
    shapes = [None if s.ndims is None else tuple(s.as_list()) for s in node.op.attrs["shapes"]]
    if len(shapes) != len(node.component_types):
        raise errors.invalid_argument("All of the component shapes must be specified")
    if node.capacity != -1:
        raise errors.invalid_argument(
            "Barrier only accepts capacity=-1.  Feed the inputs to your Barrier through a queue "
            "to enforce a limited capacity."
        )
    known = [shape for shape in shapes if dims_lib.is_known(shape)]

    def make() -> BarrierStore:
        return BarrierStore(shared or private_name(node.name), node.component_types, known)

    store = node.resource(make, kind="barrier", private=True)
    _check_shared(store, list(node.component_types), known)
    return node.handle(store)


def _check_shared(store: BarrierStore, types: list[DType], shapes: Sequence[Dims]) -> None:
    """Raise an error for another barrier under the same name."""
    start = f"Shared barrier '{store.name}' has component "
    if types != store.types:
        raise errors.invalid_argument(
            f"{start}types {types_text(store.types)} but requested component types were "
            f"{types_text(types)}"
        )
    if shapes != store.shapes:
        raise errors.invalid_argument(
            f"{start}shapes {shapes_text(store.shapes)} but requested component shapes were "
            f"{shapes_text(shapes)}"
        )


@barrier_insert_many_op.check
def barrier_insert_many_check(node: Node) -> None:
    keys, values = node.dims(1), node.dims(2)
    if node.planning:
        return  # the kernel has words of its own
    keys, values = dims_lib.with_rank(keys, 1), dims_lib.with_rank_at_least(values, 1)
    dims_lib.merge(keys, (dims_lib.dim(values, 0),))


@barrier_insert_many_op.kernel
def barrier_insert_many_kernel(node: Any) -> Kernel:
    place, waits = node.component_index, node.waits()

    def insert(store: BarrierStore, keys: Any, values: Any) -> None:
        if keys.ndim != 1:
            raise errors.invalid_argument(f"keys must be a vector, not {shape_text(keys.shape)}")
        store.insert(keys.tolist(), place, values, waits)

    return insert


@barrier_take_many_op.kernel
def barrier_take_many_kernel(node: Any) -> Kernel:
    fewer, waits = node.allow_small_batch, node.waits()
    return lambda store, count: store.take(int(count), fewer, waits)


@barrier_close_op.kernel
def barrier_close_kernel(node: Any) -> Kernel:
    cancel, waits = node.cancel_pending_enqueues, node.waits()
    return lambda store: store.close(cancel, waits)


barrier_ready_size_op.kernel(
    lambda node: lambda store: torch.tensor(store.ready.size(), dtype=torch.int32)
)
barrier_incomplete_size_op.kernel(
    lambda node: lambda store: torch.tensor(store.incomplete, dtype=torch.int32)
)


class Barrier:
    """A map from keys to tuples, whose components come in one by one.

    Args:
      types: of the components.
      shapes: of the components, or None.
      shared_name: under which sessions share it.
      name: of the operation.

    Raises:
      ValueError: if a shape has no elements.
    """

    def __init__(
        self, types: Any, shapes: Any = None, shared_name: str | None = None,
        name: str = "barrier",
    ) -> None:  # fmt: skip
        self._types = type_list(types)
        self._shapes = [TensorShape(None) for _ in self._types]
        given = shape_list(shapes)
        if given is not None:
            self._shapes = [TensorShape(shape) for shape in given]
            for i, shape in enumerate(self._shapes):
                if shape.num_elements() == 0:
                    raise ValueError(
                        f"Empty tensors are not supported, but received shape '{shape}' at index "
                        f"{i}"
                    )
        self._barrier_ref: Tensor = barrier_op(
            component_types=self._types, shapes=self._shapes, shared_name=shared_name, name=name
        )
        self._name = self._barrier_ref.op.name.split("/")[-1]

    @property
    def barrier_ref(self) -> Tensor:
        """The tensor that stands for the barrier."""
        return self._barrier_ref

    @property
    def name(self) -> str:
        """The name of the operation that made it."""
        return self._barrier_ref.op.name

    def insert_many(
        self, component_index: int, keys: Any, values: Any, name: str | None = None
    ) -> Operation:
        """Put one component of some keys in."""
        name = f"{self._name}_BarrierInsertMany" if name is None else name
        operation: Operation = barrier_insert_many_op(
            self._barrier_ref, keys, values, component_index=component_index, name=name
        )
        return operation

    def take_many(
        self, num_elements: Any, allow_small_batch: bool = False, timeout: int | None = None,
        name: str | None = None,
    ) -> Any:  # fmt: skip
        """Remove complete tuples; return their indices in order of arrival, keys, components."""
        name = f"{self._name}_BarrierTakeMany" if name is None else name
        taken = barrier_take_many_op(
            self._barrier_ref, num_elements, component_types=self._types,
            allow_small_batch=allow_small_batch, wait_for_incomplete=None, timeout_ms=timeout,
            name=name,
        )  # fmt: skip
        outputs = taken[0].op.outputs
        size = None if allow_small_batch else constant_value(taken[0].op.inputs[1])
        batch = TensorShape([size])
        shapes = [TensorShape([]), TensorShape([]), *self._shapes]
        for output, shape in zip(outputs, shapes, strict=True):
            output.set_shape(batch.concatenate(shape))
        return taken

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Operation:
        """Accept no new keys."""
        name = f"{self._name}_BarrierClose" if name is None else name
        operation: Operation = barrier_close_op(
            self._barrier_ref, cancel_pending_enqueues=cancel_pending_enqueues, name=name
        )
        return operation

    def ready_size(self, name: str | None = None) -> Tensor:
        """Return the number of complete tuples, an int32 scalar."""
        name = f"{self._name}_BarrierReadySize" if name is None else name
        size: Tensor = barrier_ready_size_op(self._barrier_ref, name=name)
        return size

    def incomplete_size(self, name: str | None = None) -> Tensor:
        """Return the number of keys with a missing component, an int32 scalar."""
        name = f"{self._name}_BarrierIncompleteSize" if name is None else name
        size: Tensor = barrier_incomplete_size_op(self._barrier_ref, name=name)
        return size
