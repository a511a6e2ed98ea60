"""Iterators as a session's resources, and the ops that make them, walk them and name them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.graph.card import op
from stillflow.graph.constant_value import Dims
from stillflow.graph.device import merge_over
from stillflow.graph.node import Handle, Node
from stillflow.graph.parts import Kernel
from stillflow.ops.data.functions import function_of
from stillflow.ops.data.handles import named_by
from stillflow.ops.data.optionals import OptionalValue
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
from stillflow.ops.data.walk import Element, Ended, State
from stillflow.ops.queues.attempts import private_name

_ASK = "Ensure that you have run the initializer operation for this iterator before"
_UNSET = (
    "GetNext() failed because the iterator has not been initialized. "
    f"{_ASK} getting the next element."
)
_UNSET_SAVE = f"Save() failed because the iterator has not been initialized. {_ASK} saving it."
_UNSET_RESTORE = (
    f"Restore() failed because the iterator has not been initialized. {_ASK} restoring it."
)
_DEVICE = "/job:localhost/replica:0/task:0/device:CPU:0"
_KIND = "iterator by handle"


class IteratorResource:
    """An iterator: where one is in a dataset.

    Args:
      name: its name.
      types: of the components of an element.
      shapes: of the components.
      device: where it is.
    """

    def __init__(
        self, name: str, types: Sequence[Any], shapes: Sequence[Dims], device: str = ""
    ) -> None:
        self.name = name
        self.types = list(types)
        self.shapes = list(shapes)
        self.device = device
        self.shape = ()
        self.context: Context | None = None
        self.dataset: Dataset | None = None
        self.elements: Elements | None = None
        self.registry: Any = None  # where string handles find it
        self._lock = threading.Lock()

    def start(self, dataset: Dataset, waits: Any) -> None:
        """Begins to walk a dataset.

        Raises:
          InvalidArgumentError: if its elements are not of the iterator's type.
        """
        verify(self.types, self.shapes, dataset)
        context = Context(waits)
        elements = dataset.iterate(context, "Iterator")
        self.dataset = dataset
        self._replace(context, elements)

    def next(self) -> Element:
        """Return the next element.

        Raises:
          FailedPreconditionError: it was never started.
          StopIteration: there is none.
        """
        with self._lock:
            if self.elements is None:
                raise errors.failed_precondition(_UNSET)
            return next(self.elements)

    def save(self) -> State:
        """Return the position.

        Raises:
          FailedPreconditionError: it was never started, or what it walks depends on more state.
        """
        if self.elements is None or self.dataset is None:
            raise errors.failed_precondition(_UNSET_SAVE)
        if self.dataset.stateful:
            message = f"{self.dataset.stateful} is stateful."
            raise errors.failed_precondition(message)
        if self.dataset.resource:
            raise errors.failed_precondition(self.dataset.resource)
        state = State()
        with self._lock:
            self.elements.save(state)
        return state

    def restore(self, state: State, waits: Any) -> None:
        """Goes to the place where another iterator of the same dataset was.

        Raises:
          FailedPreconditionError: it was never started.
          NotFoundError: the other dataset was made of other parts.
        """
        if self.dataset is None:
            raise errors.failed_precondition(_UNSET_RESTORE)
        context = Context(waits)
        elements = self.dataset.iterate(context, "Iterator")
        elements.restore(state)
        self._replace(context, elements)

    def _replace(self, context: Context, elements: Elements) -> None:
        before = self.context
        self.context, self.elements = context, elements
        if before is not None:
            before.close()

    def close_session(self) -> None:
        if self.context is not None:
            self.context.close(settle=True)

    def destroy(self) -> None:
        """End the walk and delete the iterator's string handle."""
        self.close_session()
        if self.registry is not None:
            self.registry.forget(_KIND, self.name)


class OneShot(IteratorResource):
    """An iterator that starts by itself, with the dataset that a function gives."""

    def __init__(
        self, name: str, types: Sequence[Any], shapes: Sequence[Dims], device: str,
        factory: Callable[[], Any],
    ) -> None:  # fmt: skip
        super().__init__(name, types, shapes, device)
        self.factory = factory
        self._starting = threading.Lock()

    def _begin(self) -> None:
        if self.elements is None:
            with self._starting:
                if self.elements is None:
                    self.factory()

    def next(self) -> Element:
        self._begin()
        return super().next()

    def save(self) -> State:
        self._begin()
        return super().save()

    def restore(self, state: State, waits: Any) -> None:
        self._begin()
        super().restore(state, waits)


def _resource(node: Any, create: Callable[[str], IteratorResource]) -> IteratorResource:
    shared = node.op.attrs.get("shared_name", b"").decode()
    made: IteratorResource = node.resource(
        lambda: create(shared or private_name(node.name)), kind="iterator", private=True
    )
    return made


def _scalar_shape(node: Node) -> Any:
    return ()


def _component_shapes(node: Node) -> list[Dims]:
    return component_dims(node)


iterator_v2_op = op(
    f"IteratorV2() -> handle: resource\nshared_name: string\ncontainer: string{TYPED}"
    "\nflags: stateful",
    devices="host first",
    handle="iterator",
    gives="iterator",
)
iterator_op = op(
    f"Iterator() -> handle: resource\nshared_name: string\ncontainer: string{TYPED}"
    "\nflags: stateful",
    handle="iterator",
    gives="iterator",
)


def iterator_v2_kernel(node: Any) -> Handle:
    types, shapes = list(node.output_types), component_dims(node)
    device = merge_over(_DEVICE, node.op.device)
    found = _resource(node, lambda name: IteratorResource(name, types, shapes, device))
    if [t.base_dtype for t in found.types] != [t.base_dtype for t in types]:
        raise invalid(f"Iterator {found.name} exists with other types: {found.types}")
    return node.handle(found)


for _card in (iterator_op, iterator_v2_op):
    _card.shape(_scalar_shape)
    _card.kernel(iterator_v2_kernel)

anonymous_iterator_op = op(
    f"AnonymousIterator() -> handle: resource{TYPED}\nflags: stateful",
    devices="host first",
    handle="iterator",
)
anonymous_iterator_op.shape(_scalar_shape)


@anonymous_iterator_op.kernel
def anonymous_iterator_kernel(node: Any) -> Callable[[], IteratorResource]:
    types, shapes = list(node.output_types), component_dims(node)
    return lambda: IteratorResource(private_name("AnonymousIterator"), types, shapes)


# In functions, where the iterator lives until `DeleteIterator` has its deleter.
anonymous_iterator_v2_op = op(
    f"AnonymousIteratorV2() -> (handle: resource, deleter: variant){TYPED}\nflags: stateful",
    devices="host first",
    handle="iterator",
)
anonymous_iterator_v2_op.shape(lambda node: [(), ()])
delete_iterator_op = op(
    "DeleteIterator(handle: resource, deleter: variant)\nflags: stateful",
    devices="host first",
    handle="iterator",
)


@anonymous_iterator_v2_op.kernel
def anonymous_iterator_v2_kernel(node: Any) -> Kernel:
    make = anonymous_iterator_kernel(node)

    def run() -> tuple[IteratorResource, IteratorResource]:
        made = make()
        return made, made

    return run


@delete_iterator_op.kernel
def delete_iterator_kernel(node: Any) -> Kernel:
    return lambda iterator, deleter: deleter.close_session()


# A dataset that a function captures is not to be rewritten as part of the pipeline.
wrap_dataset_variant_op = op(
    "WrapDatasetVariant(input_handle: variant) -> output_handle: variant",
    devices="host first",
    handle="dataset",
)
unwrap_dataset_variant_op = op(
    "UnwrapDatasetVariant(input_handle: variant) -> output_handle: variant",
    devices="host first",
    handle="dataset",
)
for _card in (wrap_dataset_variant_op, unwrap_dataset_variant_op):
    _card.shape(_scalar_shape)
    _card.kernel(lambda node: lambda dataset: dataset)

make_iterator_op = op(
    "MakeIterator(dataset: variant, iterator: resource)\nflags: stateful",
    devices="host first",
    handle="iterator",
)


@make_iterator_op.kernel
def make_iterator_kernel(node: Any) -> Kernel:
    waits, restart = node.waits(), node.restart_functions

    def run(value: Any, iterator: IteratorResource) -> None:
        dataset = as_dataset(value)
        restart(dataset.bodies)
        iterator.start(dataset, waits)

    return run


one_shot_iterator_op = op(
    f"OneShotIterator() -> handle: resource\ndataset_factory: func{TYPED}"
    '\ncontainer: string = ""\nshared_name: string = ""\nflags: stateful',
    handle="iterator",
    gives="iterator",
)
one_shot_iterator_op.shape(_scalar_shape)


@one_shot_iterator_op.kernel
def one_shot_iterator_kernel(node: Any) -> Kernel:
    types, shapes, waits = list(node.output_types), component_dims(node), node.waits()
    factory = function_of(node, "dataset_factory")
    operation = node.op

    def create(name: str) -> IteratorResource:
        def start() -> None:
            try:
                (dataset,) = factory()
                made.start(as_dataset(dataset), waits)
            except errors.OpError as error:
                kind: Any = type(error)
                where = f"\n\t [[{{{{node {operation.name}}}}}]]"
                raise kind(operation.node_def, operation, error.message + where) from error

        device = merge_over(_DEVICE, operation.device)
        made = OneShot(name, types, shapes, device, start)
        return made

    return node.handle(_resource(node, create))


def _next_or_end(iterator: IteratorResource) -> Element:
    try:
        return iterator.next()
    except StopIteration:
        raise errors.out_of_range("End of sequence") from None


def get_next_kernel(node: Any) -> Callable[..., Any]:
    if len(node.outputs) == 1:
        return lambda iterator: _next_or_end(iterator)[0]
    return _next_or_end


iterator_get_next_op = op(
    f"IteratorGetNext(iterator: resource) -> components: [output_types]{TYPED}\nflags: stateful",
    devices="host first",
    access="take",
    handle="iterator",
)
iterator_get_next_sync_op = op(
    f"IteratorGetNextSync(iterator: resource) -> components: [output_types]{TYPED}\n"
    "flags: stateful",
    devices="host first",
    access="take",
    handle="iterator",
)
for _card in (iterator_get_next_op, iterator_get_next_sync_op):
    _card.shape(_component_shapes)
    _card.kernel(get_next_kernel)

iterator_get_next_as_optional_op = op(
    f"IteratorGetNextAsOptional(iterator: resource) -> optional: variant{TYPED}\nflags: stateful",
    devices="host first",
    handle="iterator",
)
iterator_get_next_as_optional_op.shape(_scalar_shape)


@iterator_get_next_as_optional_op.kernel
def iterator_get_next_as_optional_kernel(node: Any) -> Kernel:
    def run(iterator: IteratorResource) -> OptionalValue:
        try:
            return OptionalValue(iterator.next())
        except StopIteration:
            return OptionalValue(None)

    return run


# ---- where it is

serialize_iterator_op = op(
    "SerializeIterator(resource_handle: resource) -> serialized: variant\nflags: stateful",
    handle="iterator",
)
serialize_iterator_op.shape(_scalar_shape)
serialize_iterator_op.kernel(lambda node: lambda iterator: iterator.save())
deserialize_iterator_op = op(
    "DeserializeIterator(resource_handle: resource, serialized: variant)\nflags: stateful",
    handle="iterator",
)


@deserialize_iterator_op.kernel
def deserialize_iterator_kernel(node: Any) -> Kernel:
    waits = node.waits()

    def run(iterator: IteratorResource, serialized: Any) -> None:
        state = serialized.item() if isinstance(serialized, np.ndarray) else serialized
        if not isinstance(state, State):
            raise invalid("Expected a variant that holds the state of an iterator.")
        iterator.restore(state, waits)

    return run


# ---- names


iterator_to_string_handle_op = op(
    "IteratorToStringHandle(resource_handle: resource) -> string_handle: string\nflags: stateful",
    devices="host first",
    handle="iterator",
)
iterator_to_string_handle_op.shape(_scalar_shape)


@iterator_to_string_handle_op.kernel
def iterator_to_string_handle_kernel(node: Any) -> Kernel:
    resources = node.facts.resources

    def run(iterator: IteratorResource) -> np.ndarray:
        from stillflow.protos import ResourceHandleProto

        proto = ResourceHandleProto(
            device=iterator.device or _DEVICE, container="localhost", name=iterator.name,
            maybe_type_name="N10tensorflow4data16IteratorResourceE",
        )  # fmt: skip
        iterator.registry = resources
        resources.get("", _KIND, iterator.name, lambda: iterator)
        return np.array(proto.SerializeToString(), object)

    return run


_FROM_HANDLE = (
    "(string_handle: string) -> resource_handle: resource\n"
    "output_types: list(type) >= 0 = []\noutput_shapes: list(shape) >= 0 = []\nflags: stateful"
)
iterator_from_string_handle_op = op(
    f"IteratorFromStringHandle{_FROM_HANDLE}", handle="iterator", gives="iterator"
)
iterator_from_string_handle_v2_op = op(
    f"IteratorFromStringHandleV2{_FROM_HANDLE}",
    devices="host first",
    handle="iterator",
    gives="iterator",
)


def iterator_from_string_handle_kernel(node: Any) -> Callable[..., Any]:
    resources = node.facts.resources
    types, shapes = list(node.output_types), component_dims(node)
    own = merge_over(_DEVICE, node.op.device) if node.op.device else ""  # else it is at the other

    def run(handle: Any) -> IteratorResource:
        if handle.ndim:
            raise invalid("string_handle must be a scalar")
        found: IteratorResource = named_by(handle, _KIND, resources, own)
        if types:
            verify(types, shapes or found.shapes, _typed(found))
        return found

    return run


def _typed(found: IteratorResource) -> Dataset:
    return Dataset("", found.types, found.shapes, lambda *_: Ended())


for _card in (iterator_from_string_handle_op, iterator_from_string_handle_v2_op):
    _card.shape(_scalar_shape)
    _card.kernel(iterator_from_string_handle_kernel)

iterator_get_device_op = op(
    "IteratorGetDevice(resource: resource) -> device: string\nflags: stateful", handle="iterator"
)
iterator_get_device_op.shape(_scalar_shape)
iterator_get_device_op.kernel(
    lambda node: lambda iterator: np.array((iterator.device or _DEVICE).encode(), object)
)
