"""`tf.data.Iterator`: where one is in a dataset."""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from typing import Any

from stillflow.data import nest, structure
from stillflow.data.dataset import _legacy
from stillflow.data.kept_state import Deleter
from stillflow.errors import OutOfRangeError
from stillflow.graph import dtypes
from stillflow.graph.api import add_to_collection, colocate_with, device, name_scope
from stillflow.graph.composite_tensor import CompositeTensor
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.dtypes import DType
from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.tensor_shape import TensorShape, as_shape
from stillflow.graph.tensor_spec import TensorSpec
from stillflow.graph.type_spec import TypeSpec
from stillflow.ops.data import iterators as cards
from stillflow.train.saveables import SaveableObject, SaveSpec
from stillflow.train.tracking.base import Trackable
from stillflow.util.notices import noticed

GET_NEXT_CALL_WARNING_THRESHOLD = 32
GET_NEXT_CALL_WARNING_MESSAGE = (
    "An unusually high number of `Iterator.get_next()` calls was detected. This often indicates "
    "that `Iterator.get_next()` is being called inside a training loop, which will cause gradual "
    "slowdown and eventual resource exhaustion. If this is the case, restructure your code to "
    "call `next_element = iterator.get_next()` once outside the loop, and use `next_element` as "
    "the input to some computation that is invoked inside the loop."
)
GLOBAL_ITERATORS = "iterators"


def _on_cpu() -> Any:
    """On the CPU, unless the program says where."""
    said = get_default_graph()._device_functions_outer_to_inner
    return nullcontext() if said else device("/cpu:0")


def _structure(output_types: Any, output_shapes: Any, output_classes: Any) -> tuple[Any, ...]:
    types = nest.map_structure(dtypes.as_dtype, output_types)

    def everywhere(default: Any) -> type[Any]:
        return nest.map_structure(lambda _: default, types)

    if output_shapes is not None:
        output_shapes = nest.map_structure_up_to(types, as_shape, output_shapes)
    shapes = everywhere(TensorShape(None)) if output_shapes is None else output_shapes
    nest.assert_same_structure(types, shapes)
    return types, shapes, everywhere(Tensor) if output_classes is None else output_classes


def _attrs(element_spec: Any) -> dict[str, Any]:
    return {
        "output_types": structure.get_flat_tensor_types(element_spec),
        "output_shapes": structure.get_flat_tensor_shapes(element_spec),
    }


class IteratorSaveable(SaveableObject):
    """The place of an iterator, for a `tf.train.Saver`.

    Args:
      iterator_resource: of the iterator.
      name: what the saver calls it.
      suffix: what is added to that for the name in the checkpoint.
    """

    def __init__(self, iterator_resource: Any, name: str, suffix: str) -> None:
        serialized = cards.serialize_iterator_op(iterator_resource)
        super().__init__(iterator_resource, [SaveSpec(serialized, "", name + suffix)], name)

    def restore(self, restored_tensors: Any, restored_shapes: Any) -> Operation:
        with colocate_with(self.op):
            return cards.deserialize_iterator_op(self.op, restored_tensors[0])


@export("data.Iterator")
class Iterator(Trackable):
    """Iterator over a dataset: `iterator.get_next()` is the next element in each step.

    Args:
      iterator_resource: the resource behind it.
      initializer: the operation that starts it, None if there is none.
      output_types: dtypes of the components of elements.
      output_shapes: their shapes.
      output_classes: their classes.
    """

    def __init__(
        self, iterator_resource: Any, initializer: Any, output_types: Any, output_shapes: Any,
        output_classes: Any,
    ) -> None:  # fmt: skip
        self._iterator_resource = iterator_resource
        self._initializer = initializer
        if output_types is None or output_shapes is None or output_classes is None:
            raise ValueError(
                "If `structure` is not specified, all of `output_types`, `output_shapes`, and "
                "`output_classes` must be specified."
            )
        self._element_spec = structure.convert_legacy_structure(
            output_types, output_shapes, output_classes
        )
        self._attrs = _attrs(self._element_spec)
        self._string_handle = cards.iterator_to_string_handle_op(iterator_resource)
        self._get_next_call_count = 0
        add_to_collection(GLOBAL_ITERATORS, iterator_resource)

    @staticmethod
    def from_structure(
        output_types: Any, output_shapes: Any = None, shared_name: Any = None,
        output_classes: Any = None,
    ) -> Iterator:  # fmt: skip
        """Return an iterator for any dataset of a type; `make_initializer` says for which.

        Args:
          output_types: dtypes of the components of elements.
          output_shapes: their shapes, unknown by default.
          shared_name: under which sessions of one server share it.
          output_classes: their classes, `tf.Tensor` by default.
        """
        parts = _structure(output_types, output_shapes, output_classes)
        attrs = _attrs(structure.convert_legacy_structure(*parts))
        with _on_cpu():
            resource = cards.iterator_v2_op(container="", shared_name=shared_name or "", **attrs)
        return Iterator(resource, None, *parts)

    @staticmethod
    def from_string_handle(
        string_handle: Any, output_types: Any, output_shapes: Any = None,
        output_classes: Any = None,
    ) -> Iterator:  # fmt: skip
        """Return the iterator that a string names, which may be fed.

        Args:
          string_handle: a scalar string, the value of another iterator's `string_handle()`.
          output_types: dtypes of the components of elements.
          output_shapes: their shapes, unknown by default.
          output_classes: their classes, `tf.Tensor` by default.
        """
        parts = _structure(output_types, output_shapes, output_classes)
        attrs = _attrs(structure.convert_legacy_structure(*parts))
        string_handle = convert_to_tensor(string_handle, dtype=dtypes.string)
        with _on_cpu():
            resource = cards.iterator_from_string_handle_v2_op(string_handle, **attrs)
        return Iterator(resource, None, *parts)

    @property
    def initializer(self) -> Operation:
        """The operation that starts it.

        Raises:
          ValueError: if there is none.
        """
        if self._initializer is None:
            raise ValueError("Iterator does not have an initializer.")
        return self._initializer

    def make_initializer(self, dataset: Any, name: str | None = None) -> Operation:
        """Return an operation that starts it with a dataset.

        Args:
          dataset: what it is to walk.
          name: of the operation.

        Raises:
          TypeError: if the elements are of another type.
        """
        with name_scope(name, "make_initializer") as scope:
            types, shapes, classes = (
                _legacy(what, dataset) for what in ("types", "shapes", "classes")
            )
            mine = [_legacy(what, self) for what in ("types", "shapes", "classes")]
            nest.assert_same_structure(mine[0], types)
            nest.assert_same_structure(mine[1], shapes)
            _check(mine[2], classes, lambda a, b: a is b, "classes {!r} but got dataset with "
                   "output class {!r}.")  # fmt: skip
            _check(mine[0], types, lambda a, b: a == b, "types {!r} but got dataset with output "
                   "types {!r}.")  # fmt: skip
            _check(mine[1], shapes, lambda a, b: a.is_compatible_with(b), "shapes compatible "
                   "with {!r} but got dataset with output shapes {!r}.")  # fmt: skip
        with colocate_with(self._iterator_resource):
            return cards.make_iterator_op(
                dataset._variant_tensor, self._iterator_resource, name=scope
            )

    def get_next(self, name: str | None = None) -> Any:
        """Return the next element. Call it once, and run the result repeatedly.

        Args:
          name: of the operation.
        """
        self._get_next_call_count += 1
        if self._get_next_call_count > GET_NEXT_CALL_WARNING_THRESHOLD:
            warnings.warn(GET_NEXT_CALL_WARNING_MESSAGE, stacklevel=2)
        flat = cards.iterator_get_next_op(self._iterator_resource, name=name, **self._attrs)
        return structure.from_tensor_list(self._element_spec, flat)

    def string_handle(self, name: str | None = None) -> Tensor:
        """Return a scalar string that names this iterator.

        Args:
          name: of the operation.
        """
        if name is None:
            return self._string_handle
        return cards.iterator_to_string_handle_op(self._iterator_resource, name=name)

    @property
    @noticed("data.Iterator")
    def output_classes(self) -> Any:
        """The classes of the components of elements."""
        return _legacy("classes", self)

    @property
    @noticed("data.Iterator")
    def output_shapes(self) -> TensorShape:
        """The static shapes of the components of elements."""
        return _legacy("shapes", self)

    @property
    @noticed("data.Iterator")
    def output_types(self) -> DType:
        """The dtypes of the components of elements."""
        return _legacy("types", self)

    @property
    def element_spec(self) -> TensorSpec:
        """The type of the elements."""
        return self._element_spec

    def _gather_saveables_for_checkpoint(self) -> dict[str, Any]:
        return {"ITERATOR": lambda name: IteratorSaveable(self._iterator_resource, name, "_STATE")}


def _check(mine: Any, theirs: Any, fits: Any, message: str) -> None:
    for a, b in zip(nest.flatten(mine), nest.flatten(theirs), strict=True):
        if not fits(a, b):
            raise TypeError("Expected output " + message.format(mine, theirs))


class IteratorV2(Trackable, CompositeTensor):
    """Walks a dataset with Python's `next`.

    In eager execution, the executor walks it; in the body of a function, each `next` adds an
    operation that does.

    Args:
      dataset: what to walk.
    """

    def __init__(self, dataset: Any = None) -> None:
        self._immediate = get_default_graph().runs_at_once
        with nullcontext() if self._immediate else device("/cpu:0"):
            dataset = dataset._apply_options()
            self._element_spec = dataset.element_spec
            self._attrs = _attrs(self._element_spec)
            if self._immediate:
                self._iterator_resource = cards.anonymous_iterator_op(**self._attrs)
                cards.make_iterator_op(dataset._variant_tensor, self._iterator_resource)
                return
            with colocate_with(dataset._variant_tensor):
                made = cards.anonymous_iterator_v2_op(**self._attrs)
                self._iterator_resource = made.handle
                self._deleter = Deleter(cards.delete_iterator_op, made)
                cards.make_iterator_op(dataset._variant_tensor, self._iterator_resource)

    @property
    def _type_spec(self) -> IteratorSpec:
        return IteratorSpec(self._element_spec)

    def __iter__(self) -> IteratorV2:
        return self

    def __next__(self) -> Any:
        try:
            return self.get_next()
        except OutOfRangeError:
            raise StopIteration from None

    next = __next__

    def get_next(self, name: str | None = None) -> Any:
        """Return the next element.

        Raises:
          OutOfRangeError: after the last one.
        """
        del name
        next_op = cards.iterator_get_next_op
        if self._immediate:
            next_op = cards.iterator_get_next_sync_op
        flat = next_op(self._iterator_resource, **self._attrs)
        return structure.from_tensor_list(self._element_spec, flat)

    _next_internal = get_next
    output_classes = Iterator.output_classes
    output_shapes = Iterator.output_shapes
    output_types = Iterator.output_types
    element_spec = Iterator.element_spec

    def _gather_saveables_for_checkpoint(self) -> dict[str, Any]:
        return {"ITERATOR": lambda name: IteratorSaveable(self._iterator_resource, name, "")}


class IteratorSpec(TypeSpec):
    """The type of iterators: functions are traced once for all that walk elements of one type.

    Args:
      element_spec: the type of the elements.
    """

    __slots__ = ("_element_spec",)

    def __init__(self, element_spec: Any) -> None:
        self._element_spec = element_spec

    @property
    def value_type(self) -> type[Any]:
        return IteratorV2

    def _serialize(self) -> tuple[Any, ...]:
        return (self._element_spec,)

    @property
    def _component_specs(self) -> TensorSpec:
        return TensorSpec((), dtypes.resource)

    def _to_components(self, value: Any) -> Tensor:
        return value._iterator_resource

    def _from_components(self, components: Any) -> IteratorV2:
        made = IteratorV2.__new__(IteratorV2)
        made._iterator_resource, made._element_spec = components, self._element_spec
        made._attrs, made._immediate = _attrs(self._element_spec), components.holds_value
        return made


@export("contrib.eager.Iterator")
class EagerIterator(IteratorV2):
    """Older name of the result of `iter(dataset)`.

    Raises:
      RuntimeError: where operations do not run when they are called.
    """

    def __init__(self, dataset: Any) -> None:
        if not get_default_graph().runs_at_once:
            raise RuntimeError(
                f"{type(self)} objects can only be used when eager execution is enabled, use "
                "tf.data.Dataset.make_initializable_iterator or "
                "tf.data.Dataset.make_one_shot_iterator for graph construction"
            )
        super().__init__(dataset)


@export("data.experimental.get_next_as_optional", "contrib.data.get_next_as_optional")
def get_next_as_optional(iterator: Any) -> Any:
    """Return the next element of an iterator, or none where there are no more.

    Args:
      iterator: a `tf.data.Iterator`.

    Returns:
      A `tf.data.experimental.Optional`.
    """
    from stillflow.data.optional import _OptionalImpl

    spec = iterator.element_spec
    return _OptionalImpl(
        cards.iterator_get_next_as_optional_op(iterator._iterator_resource, **_attrs(spec)), spec
    )
