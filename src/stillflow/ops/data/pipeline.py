"""Datasets at run time: what makes iterators, which give tuples of run-time values.

An iterator ends with StopIteration. After any other error it goes on with what follows, so it is
never a generator: a generator is over once an error has left it.
"""

from __future__ import annotations

import copy
import itertools
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from stillflow import errors
from stillflow.graph import dims as dims_lib
from stillflow.graph.card import Card, op
from stillflow.graph.constant_value import Dims

Element = tuple[Any, ...]
Elements = Iterator[Element]

INFINITE = -1
UNKNOWN = -2


class Context:
    """What the iterators that belong to one walk through a dataset share.

    Args:
      waits: how to wait so that the session's end and time limits are noticed.
    """

    def __init__(self, waits: Any) -> None:
        self.waits = waits
        self.lock = threading.Lock()
        self._states: dict[str, Any] = {}
        self._closing: weakref.WeakSet[Any] = weakref.WeakSet()
        self._closed = threading.Event()
        self.fuses = False  # whether a shuffle and a repeat are one, as TensorFlow makes them

    @property
    def closed(self) -> bool:
        return self._closed.is_set()

    def fusing(self, fuses: bool) -> Context:
        """The same context, with or without fusion."""
        if fuses == self.fuses:
            return self
        same = copy.copy(self)
        same.fuses = fuses
        return same

    def state(self, prefix: str, create: Callable[[], Any]) -> Any:
        """What iterators at the same place of the pipeline have in common, epoch after epoch."""
        with self.lock:
            if prefix not in self._states:
                self._states[prefix] = create()
            return self._states[prefix]

    def on_close(self, thing: Any) -> None:
        """Has `thing.close()` called when nobody will ask for elements any more."""
        with self.lock:
            if not self.closed:
                self._closing.add(thing)
                return
        thing.close()

    def close(self) -> None:
        with self.lock:
            self._closed.set()
            closing = list(self._closing)
            self._closing.clear()
        for thing in closing:
            thing.close()


class Dataset:
    """A dataset: the value of a variant that a dataset op gives.

    Args:
      kind: the op's name without "Dataset", for the path of an iterator.
      types: of the components of an element.
      shapes: of the components, as far as they are known.
      make: given a context and a path, starts to walk the dataset.
      size: how many elements there are, `INFINITE` or `UNKNOWN`.
    """

    __slots__ = ("kind", "make", "same_as", "shapes", "shuffled", "size", "types")
    shape = ()  # a variant is a scalar

    def __init__(
        self,
        kind: str,
        types: Sequence[Any],
        shapes: Sequence[Dims],
        make: Callable[[Context, str], Elements],
        size: int = UNKNOWN,
    ) -> None:
        self.kind = kind
        self.types = list(types)
        self.shapes = list(shapes)
        self.make = make
        self.size = size
        self.same_as: Dataset | None = None  # what this is where it changes nothing
        self.shuffled: Callable[[Context, str, int], Elements] | None = None  # so many times

    def iterate(self, context: Context, prefix: str) -> Elements:
        """Starts to walk the dataset, as a part of what `prefix` names."""
        return self.make(context, f"{prefix}::{self.kind}")

    def origin(self) -> Dataset:
        """The dataset without what changes nothing."""
        found = self
        while found.same_as is not None:
            found = found.same_as
        return found

    def like(
        self, kind: str, make: Callable[[Context, str], Elements], size: int = UNKNOWN
    ) -> Dataset:
        """A dataset of elements of the same type."""
        return Dataset(kind, self.types, self.shapes, make, size)


def as_dataset(value: Any) -> Dataset:
    """What a variant holds.

    Raises:
      InvalidArgumentError: if that is not a dataset.
    """
    if isinstance(value, Dataset):
        return value
    value = getattr(value, "item", lambda: None)() if getattr(value, "shape", None) == () else value
    if isinstance(value, Dataset):
        return value
    raise invalid("Tensor must be a Dataset object.")


def invalid(message: str) -> errors.OpError:
    return errors.InvalidArgumentError(None, None, message)


def scalar(value: Any) -> Any:
    """A scalar argument as a plain number or bytes."""
    return value.item()


def component_dims(node: Any) -> list[Dims]:
    """The attribute `output_shapes`, as dims."""
    return [shape._dims for shape in node.op.attrs["output_shapes"]]


TYPED = "\noutput_types: list(type) >= 1\noutput_shapes: list(shape) >= 1"


def dataset_op(text: str, **options: Any) -> Card:
    """The card of an op that gives a dataset."""
    card = op(text, differentiable=False, **options)
    card.shape(lambda node: ())
    return card


def unary(name: str, inputs: str = "", attrs: str = "", output: str = "handle") -> Card:
    """The card of an op that makes a dataset of another one.

    Args:
      name: the op's.
      inputs: what it takes besides the dataset, in the form of signatures.
      attrs: attributes besides types and shapes, a line each.
    """
    more = f", {inputs}" if inputs else ""
    return dataset_op(f"{name}(input_dataset: variant{more}) -> {output}: variant{attrs}")


def verify(types: Sequence[Any], shapes: Sequence[Dims], dataset: Dataset) -> None:
    """Compares what is expected of a dataset with what it is.

    Raises:
      InvalidArgumentError: if they do not go together.
    """
    if len(types) != len(dataset.types):
        raise invalid(
            "Number of components does not match: "
            f"expected {len(types)} types but got {len(dataset.types)}."
        )
    for index, (wanted, found) in enumerate(zip(types, dataset.types, strict=True)):
        if wanted.base_dtype != found.base_dtype:
            raise invalid(
                f"Data type mismatch at component {index}: expected {_type_name(wanted)} but got "
                f"{_type_name(found)}."
            )
    for index, (wide, dims) in enumerate(zip(shapes, dataset.shapes, strict=True)):
        if not dims_lib.is_compatible(wide, dims):
            raise invalid(
                f"Incompatible shapes at component {index}: expected {shape_text(wide)} but got "
                f"{shape_text(dims)}."
            )


_CPP_NAMES = {"float32": "float", "float64": "double", "float16": "half"}


def _type_name(dtype: Any) -> str:
    name = dtype.base_dtype.name
    return _CPP_NAMES.get(name, name)


def shape_text(dims: Dims) -> str:
    """A shape as the runtime writes it."""
    if dims is None:
        return "<unknown>"
    return "[" + ",".join("?" if dim is None else str(dim) for dim in dims) + "]"


class Repeated:
    """Walks a dataset again and again.

    Args:
      count: how many times, -1 for ever.
    """

    def __init__(self, dataset: Dataset, count: int, context: Context, prefix: str) -> None:
        self._start = lambda: dataset.iterate(context, prefix)
        self._left = itertools.count() if count < 0 else iter(range(count))
        self._endless = count < 0
        self._current: Elements | None = None
        self._fresh = True

    def __iter__(self) -> Repeated:
        return self

    def __next__(self) -> Element:
        while True:
            if self._current is None:
                next(self._left)
                self._current, self._fresh = self._start(), True
            try:
                element = next(self._current)
            except StopIteration:
                self._current = None
                if self._endless and self._fresh:
                    self._left = iter(())  # an empty dataset has no end otherwise
                continue
            self._fresh = False
            return element
