"""tf.contrib.staging.StagingArea, and its sibling with keys."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from stillflow.graph.api import colocate_with, name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.dtypes import DType
from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow.ops.control_flow.identity_and_group import identity, no_op
from stillflow.ops.queues.staging_cards import cards


def _scope_values(values: Any) -> list[Any]:
    if isinstance(values, dict):
        return list(values.values())
    return list(values) if isinstance(values, (list, tuple)) else [values]


class BaseStagingArea:
    """Base class of staging areas.

    Args:
      dtypes: the types of an element's components.
      shapes: their shapes, or None.
      names: their names, or None.
      shared_name: under which areas are shared.
      capacity: how many elements it holds at most, 0 for any number.
      memory_limit: how many bytes it holds at most, 0 for any number.

    Raises:
      ValueError: if there are not as many shapes or names as types.
    """

    def __init__(
        self, dtypes: Any, shapes: Any = None, names: Any = None,
        shared_name: str | None = None, capacity: int = 0, memory_limit: int = 0,
    ) -> None:  # fmt: skip
        if shared_name is None:
            self._name = get_default_graph().unique_name(type(self).__name__)
        elif isinstance(shared_name, str):
            self._name = shared_name
        else:
            raise ValueError("shared_name must be a string")
        self._dtypes = dtypes
        if shapes is not None and len(shapes) != len(dtypes):
            raise ValueError("StagingArea shapes must be the same length as dtypes")
        if names is not None and len(names) != len(dtypes):
            raise ValueError("StagingArea names must be the same length as dtypes")
        self._shapes = [TensorShape(s) for s in (shapes or [None] * len(dtypes))]
        self._names = names
        self._capacity = capacity
        self._memory_limit = memory_limit
        with name_scope(f"{self._name}_root"):
            self._coloc_op = no_op()

    @property
    def name(self) -> str:
        """The name of the area."""
        return self._name

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
    def capacity(self) -> int:
        """The maximum number of elements."""
        return self._capacity

    @property
    def memory_limit(self) -> int:
        """The maximum number of bytes."""
        return self._memory_limit

    def _attrs(self) -> dict[str, Any]:
        return {
            "shared_name": self._name,
            "capacity": self._capacity,
            "memory_limit": self._memory_limit,
        }

    def _components(self, vals: Any, indices: Any) -> tuple[list[Tensor], Any]:
        """Return the values to put, and the indices of their components."""
        if isinstance(vals, dict):
            vals, indices = self._by_name(vals)
        elif self._names:
            raise ValueError("You must enqueue a dictionary in a staging area with names")
        elif indices is None:
            raise ValueError("Indices must be supplied when inserting a list of tensors")
        elif len(indices) != len(vals):
            raise ValueError(
                f"Number of indices '{len(indices)}' doesn't match number of values '{len(vals)}'"
            )
        if len(vals) > len(self._dtypes):
            raise ValueError(f"Unexpected number of inputs '{len(vals)}' vs '{len(self._dtypes)}'")
        tensors = []
        for value, i in zip(vals, indices, strict=True):
            if value.dtype != self._dtypes[i]:
                raise ValueError(f"Datatypes do not match. '{value.dtype}' != '{self._dtypes[i]}'")
            value.get_shape().assert_is_compatible_with(self._shapes[i])
            tensors.append(convert_to_tensor(value, dtype=self._dtypes[i], name=f"component_{i}"))
        return tensors, indices

    def _by_name(self, vals: dict[Any, Any]) -> tuple[list[Any], list[int]]:
        if not self._names:
            raise ValueError("Staging areas must have names to enqueue a dictionary")
        if not set(vals).issubset(self._names):
            raise ValueError(
                "Keys in dictionary to put do not match names of staging area. Dictionary: "
                f"({sorted(vals)}), Queue: ({sorted(self._names)})"
            )
        indices = [i for i, name in enumerate(self._names) if name in vals]
        return [vals[self._names[i]] for i in indices], indices

    def _to_here(self, tensors: Any) -> list[Tensor]:
        """Return the tensors, on the device of the caller."""
        listed = list(tensors) if isinstance(tensors, (list, tuple)) else [tensors]
        if no_op().device != self._coloc_op.device:
            return [identity(tensor) for tensor in listed]
        return listed

    def _taken(self, tensors: Any, indices: Sequence[int]) -> dict[str, Tensor] | list[Tensor]:
        outputs = self._to_here(tensors)
        for output, i in zip(outputs, indices, strict=True):
            output.set_shape(self._shapes[i])
        if self._names:
            return {self._names[i]: t for t, i in zip(outputs, indices, strict=True)}
        return outputs


@export("contrib.staging.StagingArea")
class StagingArea(BaseStagingArea):
    """Elements that wait on a device, first in, first out: for data one step ahead."""

    def put(self, values: Any, name: str | None = None) -> Operation:
        """Put an element in: a tensor, or a list or dict of the components."""
        with name_scope(name, f"{self._name}_put", _scope_values(values)) as scope:
            if not isinstance(values, (list, tuple, dict)):
                values = [values]
            tensors, _ = self._components(values, list(range(len(values))))
            with colocate_with(self._coloc_op):
                operation: Operation = cards["Stage"](tensors, name=scope, **self._attrs())
            return operation

    def _get(self, make: Callable[[], Any]) -> dict[str, Tensor] | list[Tensor]:
        with colocate_with(self._coloc_op):
            tensors = make()
        return self._taken(tensors, list(range(len(self._dtypes))))

    def get(self, name: str | None = None) -> Any:
        """Remove and return the first element: a list, or a dict if components have names."""
        name = f"{self._name}_get" if name is None else name
        return self._get(lambda: cards["Unstage"](dtypes=self._dtypes, name=name, **self._attrs()))

    def peek(self, index: Any, name: str | None = None) -> Any:
        """Return the element at a place, which stays where it is."""
        name = f"{self._name}_peek" if name is None else name
        return self._get(
            lambda: cards["StagePeek"](index, dtypes=self._dtypes, name=name, **self._attrs())
        )

    def size(self, name: str | None = None) -> Tensor:
        """Return the number of elements, an int32 scalar."""
        name = f"{self._name}_size" if name is None else name
        size: Tensor = cards["StageSize"](dtypes=self._dtypes, name=name, **self._attrs())
        return size

    def clear(self, name: str | None = None) -> Operation:
        """Forget all elements."""
        name = f"{self._name}_clear" if name is None else name
        operation: Operation = cards["StageClear"](dtypes=self._dtypes, name=name, **self._attrs())
        return operation


class MapStagingArea(BaseStagingArea):
    """Elements by key, an int64, that may come in and go out component by component.

    Args:
      ordered: whether the smallest key comes out first, where none is asked for.
    """

    def __init__(
        self, dtypes: Any, shapes: Any = None, names: Any = None,
        shared_name: str | None = None, ordered: bool = False, capacity: int = 0,
        memory_limit: int = 0,
    ) -> None:  # fmt: skip
        super().__init__(dtypes, shapes, names, shared_name, capacity, memory_limit)
        self._ordered = ordered

    def _call(self, card: str, *inputs: Any, name: str | None, dtypes: Any = None) -> Any:
        made = cards[f"Ordered{card}" if self._ordered else card]
        types = self._dtypes if dtypes is None else dtypes
        return made(*inputs, dtypes=types, name=name, **self._attrs())

    def put(self, key: Any, vals: Any, indices: Any = None, name: str | None = None) -> Operation:
        """Put components of an element in: a list with their `indices`, or a dict."""
        with name_scope(name, f"{self._name}_put", _scope_values(vals)) as scope:
            tensors, places = self._components(vals, indices)
            with colocate_with(self._coloc_op):
                operation: Operation = self._call(
                    "MapStage", key, list(places), tensors, name=scope
                )
            return operation

    def _places(self, indices: Any) -> tuple[list[int], list[Any]]:
        if indices is None:
            indices = list(range(len(self._dtypes)))
        if not isinstance(indices, (tuple, list)):
            raise TypeError(f"Invalid indices type '{type(indices)}'")
        if len(indices) == 0:
            raise ValueError("Empty indices")
        if all(isinstance(i, str) for i in indices):
            indices = [self._place(i, indices) for i in indices]
        elif not all(isinstance(i, int) for i in indices):
            raise TypeError(f"Mixed types in indices '{indices}'. May only be str or int")
        return list(indices), [self._dtypes[i] for i in indices]

    def _place(self, name: str, indices: Any) -> int:
        if self._names is None:
            raise ValueError(
                f"String indices provided '{indices}', but this Staging Area was not created "
                "with names."
            )
        try:
            place: int = self._names.index(name)
        except ValueError:
            raise ValueError(
                f"Named index '{name}' not in Staging Area names '{self._names}'"
            ) from None
        return place

    def peek(
        self, key: Any, indices: Any = None, name: str | None = None
    ) -> dict[str, Tensor] | list[Tensor]:
        """Components of an element, which stay where they are."""
        places, types = self._places(indices)
        name = f"{self._name}_pop" if name is None else name
        with colocate_with(self._coloc_op):
            found = self._call("MapPeek", key, places, name=name, dtypes=types)
        return self._taken(found, places)

    def get(
        self, key: Any = None, indices: Any = None, name: str | None = None
    ) -> tuple[Any, dict[str, Tensor] | list[Tensor]]:
        """Remove and return components of the element `key` (default: any), and the key."""
        places, types = self._places(indices)
        if key is None:
            name = f"{self._name}_get_nokey" if name is None else name
            with colocate_with(self._coloc_op):
                key, found = self._call("MapUnstageNoKey", places, name=name, dtypes=types)
            key = self._to_here(key)[0]
        else:
            name = f"{self._name}_get" if name is None else name
            with colocate_with(self._coloc_op):
                found = self._call("MapUnstage", key, places, name=name, dtypes=types)
        return key, self._taken(found, places)

    def size(self, name: str | None = None) -> Any:
        """Return the number of complete elements, an int32 scalar."""
        return self._call("MapSize", name=f"{self._name}_size" if name is None else name)

    def incomplete_size(self, name: str | None = None) -> Any:
        """Return the number of incomplete elements, an int32 scalar."""
        name = f"{self._name}_incomplete_size" if name is None else name
        return self._call("MapIncompleteSize", name=name)

    def clear(self, name: str | None = None) -> Any:
        """Forget all elements."""
        return self._call("MapClear", name=f"{self._name}_clear" if name is None else name)
