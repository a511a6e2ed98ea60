"""Base class of all queues: `tf.queue.QueueBase`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from stillflow.graph import dtypes as dtypes_lib
from stillflow.graph import tensor_shape
from stillflow.graph.api import name_scope
from stillflow.graph.constant_value import constant_value
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.dtypes import DType
from stillflow.graph.eager_mode import executing_eagerly
from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow.ops.arrays.gather import gather
from stillflow.ops.arrays.stack import stack
from stillflow.ops.queues import operations


def named(reference: Any) -> str:
    """Return the name of the operation that made a queue; that of the scope in eager execution."""
    if reference.holds_value:
        return get_default_graph().get_name_scope() or "Empty"
    return reference.op.name


def shared(name: str | None) -> str | None:
    """Return a name that sessions share a queue by; none in eager execution, where nobody does."""
    return None if executing_eagerly() else name


@export("queue.QueueBase", "io.QueueBase", "QueueBase")
class QueueBase:
    """A queue of tuples of tensors, kept by the session.

    Args:
      dtypes: the types of an element's components.
      shapes: their shapes, or None.
      names: names of the components, which are then dictionaries to the outside, or None.
      queue_ref: the tensor that stands for the queue.

    Raises:
      ValueError: if there are not as many shapes or names as types.
    """

    def __init__(self, dtypes: Any, shapes: Any, names: Any, queue_ref: Any) -> None:
        self._dtypes = dtypes
        if shapes is not None and len(shapes) != len(dtypes):
            raise ValueError("Queue shapes must have the same length as dtypes")
        if names is not None and len(names) != len(dtypes):
            raise ValueError("Queue names must have the same length as dtypes")
        given = [None] * len(dtypes) if shapes is None else shapes
        self._shapes = [TensorShape(shape) for shape in given]
        self._names = names
        self._queue_ref = queue_ref
        self._full_name: str = named(queue_ref)
        self._name = self._full_name.split("/")[-1]

    @staticmethod
    def from_list(index: Any, queues: Any) -> QueueBase:
        """Return the queue at `index` (int32 scalar) of a list.

        Raises:
          TypeError: if it is no list of queues or they differ in types or names.
        """
        is_list = isinstance(queues, list) and bool(queues)
        if not is_list or not all(isinstance(queue, QueueBase) for queue in queues):
            raise TypeError("A list of queues expected")
        first = queues[0]
        if any(queue.dtypes != first.dtypes for queue in queues):
            raise TypeError("Queues do not have matching component dtypes.")
        if any(queue.names != first.names for queue in queues):
            raise TypeError("Queues do not have matching component names.")
        columns = zip(*(queue.shapes for queue in queues), strict=True)
        shapes = [reduce(_common, column) for column in columns]
        chosen = gather(stack([queue.queue_ref for queue in queues]), index)
        return QueueBase(first.dtypes, shapes, first.names, chosen)

    @property
    def queue_ref(self) -> Tensor:
        """The tensor that stands for the queue."""
        return self._queue_ref

    @property
    def name(self) -> str:
        """The name of the operation that made the queue."""
        return self._full_name

    @property
    def dtypes(self) -> list[DType]:
        """The types of an element's components."""
        return self._dtypes

    @property
    def shapes(self) -> list[TensorShape]:
        """The shapes of an element's components."""
        return self._shapes

    @property
    def names(self) -> Any:
        """The names of an element's components, or None."""
        return self._names

    @property
    def _is_resource(self) -> bool:
        return bool(self._queue_ref.dtype == dtypes_lib.resource)

    def _in_order(self, vals: Any) -> list[Any] | tuple[Any, ...]:
        """Return the components to enqueue, in the queue's order."""
        if not isinstance(vals, dict):
            if self._names:
                raise ValueError("You must enqueue a dictionary in a Queue with names")
            return vals if isinstance(vals, (list, tuple)) else [vals]
        if not self._names:
            raise ValueError("Queue must have names to enqueue a dictionary")
        if sorted(self._names, key=str) != sorted(vals, key=str):
            raise ValueError(
                "Keys in dictionary to enqueue do not match names of Queue.  Dictionary: "
                f"({sorted(vals)}), Queue: ({sorted(self._names)})"
            )
        return [vals[name] for name in self._names]

    def _components(self, vals: Any) -> list[Tensor]:
        pairs = zip(self._in_order(vals), self._dtypes, strict=False)
        return [
            convert_to_tensor(value, dtype=dtype, name=f"component_{i}")
            for i, (value, dtype) in enumerate(pairs)
        ]

    def enqueue(self, vals: Any, name: str | None = None) -> Operation:
        """Put one element in, waiting while the queue is full.

        Args:
          vals: a tensor, or a list, tuple or dict of the components.
          name: of the operation.

        Raises:
          ValueError: if the names or shapes of the components do not fit.
        """
        with name_scope(name, f"{self._name}_enqueue", _values(vals)) as scope:
            components = self._components(vals)
            for value, shape in zip(components, self._shapes, strict=False):
                value.get_shape().assert_is_compatible_with(shape)
            card = (
                operations.queue_enqueue_v2_op if self._is_resource else operations.queue_enqueue_op
            )
            operation: Operation = card(self._queue_ref, components, name=scope)
            return operation

    def enqueue_many(self, vals: Any, name: str | None = None) -> Operation:
        """Put the elements of a batch in; components as `enqueue` takes them, stacked."""
        with name_scope(name, f"{self._name}_EnqueueMany", _values(vals)) as scope:
            components = self._components(vals)
            size = _length(components[0])
            for value, shape in zip(components, self._shapes, strict=False):
                size = size.merge_with(_length(value))
                value.get_shape()[1:].assert_is_compatible_with(shape)
            operation: Operation = operations.queue_enqueue_many_v2_op(
                self._queue_ref, components, name=scope
            )
            return operation

    def _taken(self, tensors: Any, lead: Callable[[], Sequence[Any]]) -> Any:
        if not tensors[0].holds_value:
            before = TensorShape(list(lead()))
            for output, shape in zip(tensors, self._shapes, strict=True):
                output.set_shape(before.concatenate(shape))
        if self._names:
            return dict(zip(self._names, tensors, strict=True))
        return tensors[0] if len(tensors) == 1 else tensors

    def dequeue(self, name: str | None = None) -> Any:
        """Remove and return one element, waiting while the queue is empty.

        Returns:
          The only component, or a list of them, or a dict if they have names.
        """
        card = operations.queue_dequeue_v2_op if self._is_resource else operations.queue_dequeue_op
        name = f"{self._name}_Dequeue" if name is None else name
        return self._taken(card(self._queue_ref, component_types=self._dtypes, name=name), list)

    def dequeue_many(self, n: Any, name: str | None = None) -> Any:
        """Dequeue `n` elements, stacked; fail if the queue is closed before there are as many."""
        name = f"{self._name}_DequeueMany" if name is None else name
        taken = operations.queue_dequeue_many_v2_op(
            self._queue_ref, n, component_types=self._dtypes, name=name
        )
        return self._taken(taken, lambda: [constant_value(taken[0].op.inputs[1])])

    def dequeue_up_to(self, n: Any, name: str | None = None) -> Tensor | list[Tensor]:
        """Dequeue `n` elements, stacked, or the remaining ones if the queue is closed before."""
        name = f"{self._name}_DequeueUpTo" if name is None else name
        taken = operations.queue_dequeue_up_to_v2_op(
            self._queue_ref, n, component_types=self._dtypes, name=name
        )
        return self._taken(taken, lambda: [None])

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Operation:
        """Accept no more elements.

        Args:
          cancel_pending_enqueues: whether what waits to come in is cancelled.
          name: of the operation.
        """
        card = operations.queue_close_v2_op if self._is_resource else operations.queue_close_op
        operation: Operation = card(
            self._queue_ref,
            cancel_pending_enqueues=cancel_pending_enqueues,
            name=f"{self._name}_Close" if name is None else name,
        )
        return operation

    def is_closed(self, name: str | None = None) -> Tensor:
        """Return True if the queue was closed, a bool scalar."""
        card = (
            operations.queue_is_closed_v2_op if self._is_resource else operations.queue_is_closed_op
        )
        name = f"{self._name}_Is_Closed" if name is None else name
        closed: Tensor = card(self._queue_ref, name=name)
        return closed

    def size(self, name: str | None = None) -> Tensor:
        """Return the number of elements in the queue, an int32 scalar."""
        card = operations.queue_size_v2_op if self._is_resource else operations.queue_size_op
        size: Tensor = card(self._queue_ref, name=f"{self._name}_Size" if name is None else name)
        return size


def _values(vals: Any) -> list[Any] | tuple[Any, ...]:
    if isinstance(vals, dict):
        return list(vals.values())
    return vals if isinstance(vals, (list, tuple)) else [vals]


def _length(batch: Tensor) -> Any:
    dims = batch.get_shape().with_rank_at_least(1).dims
    return tensor_shape.Dimension(None) if dims is None else dims[0]


def _common(one: TensorShape, other: TensorShape) -> TensorShape:
    """Return the most specific common shape of two shapes."""
    if one.ndims is None or one.ndims != other.ndims:
        return tensor_shape.unknown_shape()
    pairs = zip(one.as_list(), other.as_list(), strict=True)
    return TensorShape([a if a == b else None for a, b in pairs])
