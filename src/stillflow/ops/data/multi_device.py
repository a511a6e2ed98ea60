"""One walk through a dataset whose elements go to several devices in turn."""

from __future__ import annotations

import collections
import threading
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.graph.arrays import Array
from stillflow.graph.card import op
from stillflow.graph.device import merge_over
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel
from stillflow.ops.data.handles import named_by
from stillflow.ops.data.pipeline import (
    TYPED,
    Context,
    Dataset,
    Elements,
    as_dataset,
    component_dims,
    invalid,
    verify,
)
from stillflow.ops.data.walk import Element
from stillflow.ops.queues.attempts import private_name

_DEVICE = "/job:localhost/replica:0/task:0/device:CPU:0"
_KIND = "multi device iterator by handle"
_TYPE_NAME = "N10tensorflow4data12_GLOBAL__N_119MultiDeviceIteratorE"


class MultiDeviceIterator:
    """Iterator that gives elements to shards round-robin; each waits until its shard asks for it.

    Args:
      name: its name.
      types, shapes: of the components of an element.
      device: where it is.
      shards: how many devices get elements.
    """

    shape = ()

    def __init__(self, name: str, types: Any, shapes: Any, device: str, shards: int) -> None:
        self.name, self.types, self.shapes, self.device = name, types, shapes, device
        self.incarnation = 0
        self._waiting: list[collections.deque[Any]] = [collections.deque() for _ in range(shards)]
        self._turn = 0
        self._context: Context | None = None
        self._elements: Elements | None = None
        self._lock = threading.Lock()

    def start(self, dataset: Dataset, waits: Any) -> int:
        """Begins to walk a dataset; gives the number of the walk.

        Shuffled datasets go on to their next order, and the content of a cache is kept.
        """
        verify(self.types, self.shapes, dataset)
        context = Context(waits, self._context)
        elements = dataset.iterate(context, "Iterator")
        with self._lock:
            before, self._context, self._elements = self._context, context, elements
            self._turn = 0
            for waiting in self._waiting:
                waiting.clear()
            self.incarnation += 1
        if before is not None:
            before.close()
        return self.incarnation

    def next(self, shard: int, incarnation: int) -> Element:
        """Return the next element for a shard.

        Raises:
          InvalidArgumentError: if another walk has begun, or there is no such shard.
          OutOfRangeError: if there is none.
        """
        if not 0 <= shard < len(self._waiting):
            raise invalid(f"Invalid shard_num: {shard}")
        with self._lock:
            if incarnation != self.incarnation:
                raise invalid("Invalid incarnation id")
            waiting = self._waiting[shard]
            while not waiting:
                self._waiting[self._turn].append(self._pull())
                self._turn = (self._turn + 1) % len(self._waiting)
            found = waiting.popleft()
        if isinstance(found, errors.OpError):
            raise found
        return found

    def _pull(self) -> Any:
        """Return the next element, or the error that took its place."""
        if self._elements is None:
            raise errors.failed_precondition("The iterator was not initialized.")
        try:
            return next(self._elements)
        except StopIteration:
            raise errors.out_of_range("End of sequence") from None
        except (errors.CancelledError, errors.DeadlineExceededError):
            raise
        except errors.OpError as error:
            return error

    def close_session(self) -> None:
        if self._context is not None:
            self._context.close()


multi_device_iterator_op = op(
    "MultiDeviceIterator() -> handle: resource\ndevices: list(string) >= 1\nshared_name: string"
    f"\ncontainer: string{TYPED}\nflags: stateful"
)
multi_device_iterator_op.shape(lambda node: ())


@multi_device_iterator_op.kernel
def multi_device_iterator_kernel(node: Any) -> Kernel:
    types, shapes = list(node.output_types), component_dims(node)
    shared = node.op.attrs.get("shared_name", b"").decode()
    name = shared or private_name(node.name)
    device, shards = merge_over(_DEVICE, node.op.device), len(node.devices)

    def create() -> MultiDeviceIterator:
        return MultiDeviceIterator(name, types, shapes, device, shards)

    return node.handle(node.resource(create, kind="iterator", private=True))


anonymous_multi_device_iterator_op = op(
    "AnonymousMultiDeviceIterator() -> (handle: resource, deleter: variant)"
    f"\ndevices: list(string) >= 1{TYPED}\nflags: stateful"
)
anonymous_multi_device_iterator_op.shape(lambda node: [(), ()])
delete_multi_device_iterator_op = op(
    "DeleteMultiDeviceIterator(multi_device_iterator: resource, iterators: N*resource, "
    "deleter: variant)\nN: int >= 0\nflags: stateful"
)


@anonymous_multi_device_iterator_op.kernel
def anonymous_multi_device_iterator_kernel(node: Any) -> Kernel:
    types, shapes = list(node.output_types), component_dims(node)
    device, shards = merge_over(_DEVICE, node.op.device), len(node.devices)

    def run() -> tuple[MultiDeviceIterator, MultiDeviceIterator]:
        name = private_name("AnonymousMultiDeviceIterator")
        made = MultiDeviceIterator(name, types, shapes, device, shards)
        return made, made

    return run


@delete_multi_device_iterator_op.kernel
def delete_multi_device_iterator_kernel(node: Any) -> Kernel:
    resources = node.facts.resources

    def run(iterator: MultiDeviceIterator, *rest: Any) -> None:
        iterator.close_session()
        resources.forget(_KIND, iterator.name)

    return run


multi_device_iterator_init_op = op(
    "MultiDeviceIteratorInit(dataset: variant, multi_device_iterator: resource, "
    "max_buffer_size: int64) -> incarnation_id: int64\nflags: stateful"
)
multi_device_iterator_init_op.shape(lambda node: ())


@multi_device_iterator_init_op.kernel
def multi_device_iterator_init_kernel(node: Any) -> Kernel:
    waits, restart = node.waits(), node.restart_functions

    def run(value: Any, iterator: MultiDeviceIterator, max_buffer_size: Any) -> torch.Tensor:
        dataset = as_dataset(value)
        restart(dataset.bodies)
        return torch.tensor(iterator.start(dataset, waits), dtype=torch.int64)

    return run


multi_device_iterator_get_next_from_shard_op = op(
    "MultiDeviceIteratorGetNextFromShard(multi_device_iterator: resource, shard_num: int32, "
    f"incarnation_id: int64) -> components: [output_types]{TYPED}\nflags: stateful"
)
multi_device_iterator_get_next_from_shard_op.shape(lambda node: component_dims(node))


@multi_device_iterator_get_next_from_shard_op.kernel
def multi_device_iterator_get_next_from_shard_kernel(node: Node) -> Kernel:
    def run(iterator: MultiDeviceIterator, shard: Any, incarnation: Any) -> Element:
        return iterator.next(int(shard), int(incarnation))

    if len(node.outputs) == 1:
        return lambda *inputs: run(*inputs)[0]
    return run


multi_device_iterator_to_string_handle_op = op(
    "MultiDeviceIteratorToStringHandle(multi_device_iterator: resource) -> string_handle: string"
    "\nflags: stateful"
)
multi_device_iterator_to_string_handle_op.shape(lambda node: ())


@multi_device_iterator_to_string_handle_op.kernel
def multi_device_iterator_to_string_handle_kernel(node: Any) -> Kernel:
    resources = node.facts.resources

    def run(iterator: MultiDeviceIterator) -> Array:
        from stillflow.protos import ResourceHandleProto

        proto = ResourceHandleProto(
            device=iterator.device, container="localhost", name=iterator.name,
            maybe_type_name=_TYPE_NAME,
        )  # fmt: skip
        resources.get("", _KIND, iterator.name, lambda: iterator)
        return np.array(proto.SerializeToString(), object)

    return run


multi_device_iterator_from_string_handle_op = op(
    "MultiDeviceIteratorFromStringHandle(string_handle: string) -> multi_device_iterator: resource"
    "\noutput_types: list(type) >= 0 = []\noutput_shapes: list(shape) >= 0 = []\nflags: stateful"
)
multi_device_iterator_from_string_handle_op.shape(lambda node: ())


@multi_device_iterator_from_string_handle_op.kernel
def multi_device_iterator_from_string_handle_kernel(node: Any) -> Kernel:
    resources = node.facts.resources

    def run(handle: Any) -> MultiDeviceIterator:
        found: MultiDeviceIterator = named_by(handle, _KIND, resources)
        return found

    return run
