"""tf.queue: FIFOQueue, PaddingFIFOQueue, RandomShuffleQueue, PriorityQueue."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from stillflow.graph import dtypes as dtypes_lib
from stillflow.graph import tensor_shape
from stillflow.graph.export import export
from stillflow.graph.random_seed import get_seed
from stillflow.graph.tensor_shape import TensorShape
from stillflow.ops.queues import creation
from stillflow.ops.queues.base import QueueBase, shared


def type_list(dtypes: Any) -> list[Any]:
    """Return a type or a list of them as a list."""
    assert dtypes is not None
    return list(dtypes) if isinstance(dtypes, (list, tuple)) else [dtypes]


def shape_list(
    shapes: Any, partial: bool = False, any_rank: bool = False
) -> list[TensorShape] | None:
    """Return a shape or a list of them as a list."""
    if partial:
        is_list = isinstance(shapes, Sequence) and bool(shapes)
        if not is_list or any(shape is None or isinstance(shape, int) for shape in shapes):
            raise ValueError("When providing partial shapes, a list of shapes must be provided.")
    if shapes is None:
        return None
    if isinstance(shapes, tensor_shape.TensorShape):
        shapes = [shapes]
    if not isinstance(shapes, (tuple, list)):
        raise TypeError("shapes must be a TensorShape or a list or tuple of TensorShapes.")
    if all(shape is None or isinstance(shape, int) for shape in shapes):
        shapes = [shapes]
    made = [tensor_shape.as_shape(shape) for shape in shapes]
    if not partial and not all(shape.is_fully_defined() for shape in made):
        raise ValueError(f"All shapes must be fully defined: {made}")
    if not any_rank and any(shape.ndims is None for shape in made):
        raise ValueError(f"All shapes must have a defined rank: {made}")
    return made


def _name_list(names: Any, dtypes: list[Any]) -> list[Any] | None:
    if names is None:
        return None
    if not isinstance(names, (list, tuple)):
        names = [names]
    if len(names) != len(dtypes):
        raise ValueError("List of names must have the same length as the list of dtypes")
    return list(names)


def _make(
    queue: QueueBase, card: Any, types: list[Any], shapes: Any, names: Any,
    shared_name: str | None, **attributes: Any,
) -> None:  # fmt: skip
    """Initialize a queue and add the operation that makes it."""
    names = _name_list(names, types)
    reference = card(
        component_types=types, shapes=shapes, shared_name=shared(shared_name), **attributes
    )
    QueueBase.__init__(queue, types, shapes, names, reference)


def _seeds(seed: int | None, shared_name: str | None) -> dict[str, Any]:
    """Return the two seeds of a queue's order; shared queues get different ones by their names."""
    first, second = get_seed(seed)
    if first is None and second is None:
        first, second = 0, 0
    elif seed is None and shared_name is not None:
        digest = hashlib.md5(f"{first}{shared_name}".encode(), usedforsecurity=False)
        second = int(digest.hexdigest()[:8], 16) & 0x7FFFFFFF
    return {"seed": first, "seed2": second}


@export("queue.RandomShuffleQueue", "io.RandomShuffleQueue", "RandomShuffleQueue")
class RandomShuffleQueue(QueueBase):
    """A queue whose elements come out in random order.

    Args:
      capacity: how many elements it holds at most.
      min_after_dequeue: how many stay in, so that they mix well, until it is closed.
      dtypes: the types of an element's components.
      shapes: their shapes, fully defined, or None if elements may differ.
      names: names of the components, or None.
      seed: of the random order; see `tf.set_random_seed`.
      shared_name: under which sessions share it.
      name: of the operation.
    """

    def __init__(
        self, capacity: Any, min_after_dequeue: Any, dtypes: Any, shapes: Any = None,
        names: Any = None, seed: int | None = None, shared_name: str | None = None,
        name: str = "random_shuffle_queue",
    ) -> None:  # fmt: skip
        types, sizes = type_list(dtypes), shape_list(shapes)
        _make(
            self, creation.random_shuffle_queue_v2_op, types, sizes, names, shared_name,
            capacity=capacity, min_after_dequeue=min_after_dequeue, name=name,
            **_seeds(seed, shared_name),
        )  # fmt: skip


@export("queue.FIFOQueue", "FIFOQueue")
class FIFOQueue(QueueBase):
    """A queue: first in, first out.

    Args:
      capacity: how many elements it holds at most.
      dtypes: the types of an element's components.
      shapes: their shapes, fully defined, or None if elements may differ.
      names: names of the components, or None.
      shared_name: under which sessions share it.
      name: of the operation.

    Example:
      >>> queue = tf.FIFOQueue(capacity=3, dtypes=[tf.int32], shapes=[[]])
      >>> with tf.control_dependencies([queue.enqueue_many([[7, 8, 9]])]): first = queue.dequeue()
      >>> print(tf.Session().run([first, queue.size()])[0])
      7
    """

    def __init__(
        self, capacity: Any, dtypes: Any, shapes: Any = None, names: Any = None,
        shared_name: str | None = None, name: str = "fifo_queue",
    ) -> None:  # fmt: skip
        types, sizes = type_list(dtypes), shape_list(shapes)
        _make(
            self, creation.fifo_queue_v2_op, types, sizes, names, shared_name,
            capacity=capacity, name=name,
        )  # fmt: skip


@export("queue.PaddingFIFOQueue", "io.PaddingFIFOQueue", "PaddingFIFOQueue")
class PaddingFIFOQueue(QueueBase):
    """A queue, first in, first out, whose batches are filled up to the largest element.

    Args:
      capacity: how many elements it holds at most.
      dtypes: the types of an element's components.
      shapes: their shapes, with None where sizes vary.
      names: names of the components, or None.
      shared_name: under which sessions share it.
      name: of the operation.

    Raises:
      ValueError: if there are not as many shapes as types.
    """

    def __init__(
        self, capacity: Any, dtypes: Any, shapes: Any, names: Any = None,
        shared_name: str | None = None, name: str = "padding_fifo_queue",
    ) -> None:  # fmt: skip
        types, sizes = type_list(dtypes), shape_list(shapes, partial=True) or []
        names = _name_list(names, types)  # its error comes first
        if len(types) != len(sizes):
            raise ValueError(
                "Shapes must be provided for all components, but received "
                f"{len(types)} dtypes and {len(sizes)} shapes."
            )
        _make(
            self, creation.padding_fifo_queue_v2_op, types, sizes, names, shared_name,
            capacity=capacity, name=name,
        )  # fmt: skip


@export("queue.PriorityQueue", "io.PriorityQueue", "PriorityQueue")
class PriorityQueue(QueueBase):
    """A queue whose elements come out by their priority, an int64 scalar before the components.

    Args:
      capacity: how many elements it holds at most.
      types: the types of an element's components after the priority.
      shapes: their shapes, fully defined, or None if elements may differ.
      names: names of the components, the priority included, or None.
      shared_name: under which sessions share it.
      name: of the operation.
    """

    def __init__(
        self, capacity: Any, types: Any, shapes: Any = None, names: Any = None,
        shared_name: str | None = None, name: str = "priority_queue",
    ) -> None:  # fmt: skip
        types = type_list(types)
        shapes = shape_list(shapes)
        reference = creation.priority_queue_v2_op(
            component_types=types, shapes=[] if shapes is None else shapes, capacity=capacity,
            shared_name=shared(shared_name), name=name,
        )  # fmt: skip
        all_shapes = [(), *shapes] if shapes else shapes
        super().__init__([dtypes_lib.int64, *types], all_shapes, names, reference)
