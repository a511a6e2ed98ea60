"""Datasets at run time: producers of walks, which yield tuples of run-time values."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from stillflow import errors
from stillflow.graph import dims as dims_lib
from stillflow.graph.card import Card, Part, op
from stillflow.graph.constant_value import Dims
from stillflow.graph.dims import shape_text
from stillflow.graph.functions import find_function
from stillflow.ops.data.walk import Walk
from stillflow.util.weak import LiveSet

Elements = Walk

INFINITE = -1
UNKNOWN = -2


class Context:
    """State that the iterators of one walk through a dataset share.

    Args:
      waits: how to wait so that the session's end and time limits are noticed.
      before: the previous walk, whose states it continues, such as orders of shuffled epochs; None
        starts afresh.
    """

    def __init__(self, waits: Any, before: Context | None = None) -> None:
        self.waits = waits
        self.lock = threading.Lock()
        self._states: dict[str, Any] = {} if before is None else before._states
        self._closing: LiveSet[Any] = LiveSet()
        self._closed = threading.Event()
        self.fuses = False  # whether a shuffle and a repeat are one, as TensorFlow makes them
        self.elides = False  # whether datasets that change nothing are left out
        self.stats: Any = None  # the target of statistics
        self.sloppy = False  # whether results of parallel work may come as they are ready
        self.names: dict[int, str] = {}  # of rewritten datasets, by identity
        self.name: str | None = None  # of the rewritten dataset that is walked
        self.most_threads: int | None = None  # how many threads parallel work may have

    @property
    def closed(self) -> bool:
        return self._closed.is_set()

    def rewritten(
        self, fuses: bool = False, sloppy: bool = False, elides: bool = False,
        names: dict[int, str] | None = None,
    ) -> Context:  # fmt: skip
        """Return the same context, with these ways to rewrite datasets and no others.

        Args:
          names: of the operations behind datasets where rewriting gives others.
        """
        ways = fuses, sloppy, elides
        if (*ways, names) == (self.fuses, self.sloppy, self.elides, None):
            return self
        same = copy.copy(self)
        same.fuses, same.sloppy, same.elides = ways
        same.names = names or self.names
        return same

    def in_functions(self) -> Context:
        """Return the same context, rewritten as datasets that functions give are."""
        return self.rewritten(elides=self.elides)

    def stats_name(self, operation: Any) -> str:
        """Return the name under which a dataset reports its statistics."""
        return self.name or str(operation.name)

    def within(self, dataset: Dataset) -> Context:
        """Return the same context, for a walk through a dataset."""
        if not self.names:
            return self
        same = copy.copy(self)
        same.name = self.names.get(id(dataset))
        return same

    def reporting(self, stats: Any) -> Context:
        """Return the same context, where numbers are reported to an aggregator."""
        same = copy.copy(self)
        same.stats = stats
        return same

    def limited(self, most_threads: int) -> Context:
        """Return the same context, where parallel work has no more threads than these."""
        same = copy.copy(self)
        same.most_threads = most_threads
        return same

    def state(self, prefix: str, create: Callable[[], Any]) -> Any:
        """Return the state shared by iterators at one place of the pipeline, in all epochs."""
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

    def close(self, settle: bool = False) -> None:
        """Stop the background work.

        Args:
          settle: whether to wait, though not for long, for what is being made.
        """
        with self.lock:
            self._closed.set()
            closing, self._closing = list(self._closing), LiveSet()
        for thing in closing:
            thing.close()
        for thing in closing if settle else ():
            settled = getattr(thing, "settle", None)
            if settled is not None:
                settled()


class Dataset:
    """A dataset: the value of a variant that a dataset op gives.

    Args:
      kind: what a walk adds to the path, in general the op's name without "Dataset".
      types: of the components of an element.
      shapes: of the components, as far as they are known.
      make: given a context and a path, starts to walk the dataset.
      size: how many elements there are, `INFINITE` or `UNKNOWN`.
    """

    __slots__ = (
        "again",
        "bodies",
        "kind",
        "made_by",
        "make",
        "resource",
        "same_as",
        "shapes",
        "shuffled",
        "size",
        "stateful",
        "types",
    )
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
        self.same_as: Dataset | None = None  # the equivalent dataset if this changes nothing
        self.shuffled: Callable[[Context, str, int], Elements] | None = None  # so many times
        self.bodies: list[Any] = []  # of the functions that are called
        self.stateful: str | None = None  # the type of an op whose state a walk does not hold
        self.resource: str | None = None  # an error that says on which one it depends, if any
        self.made_by: tuple[Any, tuple[Any, ...]] | None = None  # an operation and its inputs
        self.again: Callable[..., Dataset] | None = None  # what it computes, of other inputs

    def iterate(self, context: Context, prefix: str) -> Elements:
        """Start to walk the dataset, as a part of the pipeline named by `prefix`."""
        if context.elides and self.same_as is not None:
            return self.same_as.iterate(context, prefix)
        path = f"{prefix}::{self.kind}" if self.kind else prefix
        walk = self.make(context.within(self), path)
        if not walk.prefix:
            walk.prefix = path
        walk.early = self.stateful is None
        return walk

    def origin(self) -> Dataset:
        """Return the dataset without transformations that change nothing."""
        found = self
        while found.same_as is not None:
            found = found.same_as
        return found

    def like(
        self, kind: str, make: Callable[[Context, str], Elements], size: int = UNKNOWN
    ) -> Dataset:
        """Return a dataset of elements of the same type."""
        return Dataset(kind, self.types, self.shapes, make, size)


def as_dataset(value: Any) -> Dataset:
    """Return the dataset in a variant; InvalidArgumentError if it is none."""
    if isinstance(value, Dataset):
        return value
    value = getattr(value, "item", lambda: None)() if getattr(value, "shape", None) == () else value
    if isinstance(value, Dataset):
        return value
    raise invalid("Tensor must be a Dataset object.")


def invalid(message: str) -> errors.OpError:
    return errors.invalid_argument(message)


def scalar(value: Any) -> Any:
    """Return a scalar argument as a plain number or bytes."""
    return value.item()


def component_dims(node: Any) -> list[Dims]:
    """Return the attribute `output_shapes`, as dims."""
    return [shape._dims for shape in node.op.attrs["output_shapes"]]


TYPED = "\noutput_types: list(type) >= 1\noutput_shapes: list(shape) >= 1"


class _DatasetCard(Card):
    """Card of an op that gives a dataset. The dataset knows its dependencies."""

    def kernel(self, part: Part) -> Part:
        def kernel(node: Any) -> Callable[..., Any]:
            run = part(node)
            functions = _functions(node.op, lambda named: node.function(named, on_host=True).body)
            bodies = list(_with_called(functions))
            stateful = next(filter(None, map(stateful_op, bodies)), None)

            def made(*values: Any) -> Dataset:
                inputs = [value for value in values if isinstance(value, Dataset)]
                dataset: Dataset = run(*values)
                if any(dataset is one for one in inputs):
                    dataset = copy.copy(dataset)
                dataset.made_by, dataset.again = (node.op, values), made
                found = (one.stateful for one in inputs)
                dataset.stateful = stateful or next(filter(None, found), dataset.stateful)
                dataset.resource = dataset.resource or next(
                    filter(None, (one.resource for one in inputs)), None
                )
                dataset.bodies = [*bodies, *(body for one in inputs for body in one.bodies)]
                return dataset

            return made

        super().kernel(kernel)
        return part


def _functions(operation: Any, resolve: Callable[[Any], Any]) -> list[Any]:
    """Return the bodies of the functions that an operation names."""
    found: list[Any] = []
    for name, attribute in operation.card.signature.attrs.items():
        value = operation.attrs.get(name) if attribute.element == "func" else None
        if value is not None:
            found.extend(value if attribute.is_list else [value])
    return [resolve(function) for function in found]


def _called(operation: Any) -> list[Any]:
    """Return the bodies of the functions that an operation of a body names."""
    graph = operation.graph

    def resolve(named: Any) -> Any:
        function = find_function(graph, named.name)
        return function and function.instantiate(graph, named.attr)

    return list(filter(None, _functions(operation, resolve)))


def _with_called(bodies: list[Any]) -> Iterator[Any]:
    """Yield bodies, and those of the functions that they call, each of them once."""
    seen: set[Any] = set()
    waiting = bodies[::-1]
    while waiting:
        body = waiting.pop()
        if body not in seen:
            seen.add(body)
            yield body
            called = [each for operation in body._operations for each in _called(operation)]
            waiting.extend(reversed(called))


def stateful_ops(body: Any) -> Iterator[str]:
    """Yield the types of a function's stateful ops that iterator checkpoints cannot hold."""
    for operation in body._operations:
        if operation._is_stateful and not _is_harmless(operation):
            yield str(operation.type)


def stateful_op(body: Any) -> str | None:
    """Return the first of these, if there is one."""
    return next(stateful_ops(body), None)


# Stateful as far as their signature goes, but without a state that a saved iterator would miss.
_HARMLESS = frozenset((
    "Assert", "If", "LegacyStatefulReader", "LookupTableFindV2", "LookupTableSize",
    "LookupTableSizeV2", "Placeholder", "Print", "PrintV2", "Timestamp", "While",
))  # fmt: skip


def _is_harmless(operation: Any) -> bool:
    name: str = operation.type
    makes_dataset = [t.dtype.name for t in operation._outputs] == ["variant"]
    return name in _HARMLESS or (makes_dataset and name.endswith(("Dataset", "DatasetV2")))


def dataset_op(text: str, at_most: Mapping[str, int] | None = None, **options: Any) -> Card:
    """Return the card of an op that gives a dataset, which keeps its origin.

    `at_most` bounds the ranks of arguments while TensorFlow builds; others are scalars by default.
    """
    bounds = at_most or {}
    options.setdefault("keeps", tuple(range(_MOST_INPUTS)))
    options |= {"handle": "dataset", "gives": "dataset"}
    card = op(text, _DatasetCard, differentiable=False, **options)

    @card.shape
    def shape(node: Any) -> Dims:
        for position, argument in enumerate(card.signature.inputs):
            if argument.is_list:
                break  # the rest is checked when the dataset is made
            if argument.name in bounds:
                dims_lib.with_rank_at_most(node.dims(position), bounds[argument.name])
            elif argument.dtype is not None and argument.name not in _VECTORS:
                dims_lib.with_rank(node.dims(position), 0)
        return ()

    return card


_MOST_INPUTS = 64  # whose memory is kept as it was; nobody captures as many
# Arguments of dataset ops that may be more than scalars.
_VECTORS = frozenset((
    "dense_shape", "filenames", "indices", "optimizations", "patterns", "row_shape",
    "select_cols", "transformations",
))  # fmt: skip


def unary(
    name: str, inputs: str = "", attrs: str = "", output: str = "handle", **options: Any
) -> Card:
    """Return the card of an op that makes a dataset of another one.

    `inputs` are the others, in the form of signatures; `attrs` are written a line each.
    """
    more = f", {inputs}" if inputs else ""
    return dataset_op(
        f"{name}(input_dataset: variant{more}) -> {output}: variant{attrs}", **options
    )


def verify(types: Sequence[Any], shapes: Sequence[Dims], dataset: Dataset) -> None:
    """Compare a dataset with its expected types and shapes; InvalidArgumentError if they differ."""
    if len(types) != len(dataset.types):
        raise invalid(
            "Number of components does not match: "
            f"expected {len(types)} types but got {len(dataset.types)}."
        )
    for index, (wanted, found) in enumerate(zip(types, dataset.types, strict=True)):
        if wanted.base_dtype != found.base_dtype:
            raise invalid(
                f"Data type mismatch at component {index}: expected {type_name(wanted)} but got "
                f"{type_name(found)}."
            )
    for index, (wide, dims) in enumerate(zip(shapes, dataset.shapes, strict=True)):
        if not dims_lib.is_compatible(wide, dims):
            raise invalid(
                f"Incompatible shapes at component {index}: expected {shape_text(wide)} but got "
                f"{shape_text(dims)}."
            )


_CPP_NAMES = {"float32": "float", "float64": "double", "float16": "half"}


def type_name(dtype: Any) -> str:
    """Return a type as the runtime writes it."""
    name = dtype.base_dtype.name
    return _CPP_NAMES.get(name, name)
