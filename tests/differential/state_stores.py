"""Stores of values between steps, by name: constructors and actions.

Each constructor is a function of the store `s`, which makes its choices, and each action is a
function of the store that returns the fetches of a step; `s.made` is the constructor's result.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

WRONG = 0.04  # how often an element has another shape than the store was made for
KEYS = [b"a", b"b", b"c", b"d"]


class Store:
    """A store, its choices, which depend on the seed alone, and values for it."""

    def __init__(self, tf: Any, seed: int) -> None:
        self.tf = tf
        self.random = random.Random(seed)
        self.numbers = np.random.RandomState(seed % 2**31)
        self.made: Any = None
        self.key, self.value = tf.string, tf.int64
        self.types = [self.choose(TYPES) for _ in range(self.choose([1, 1, 2, 3]))]
        self.shapes = [self.choose([[], [2], [2, 1]]) for _ in self.types]

    def choose(self, items: Sequence[Any]) -> Any:
        """One of the items."""
        return items[self.random.randrange(len(items))]

    def maybe(self, chance: float) -> bool:
        """Return True with the probability `chance`."""
        return self.random.random() < chance

    def dtypes(self) -> list[Any]:
        """Return the types of its elements."""
        return [self.tf.as_dtype(name) for name in self.types]

    def tensor(self, dtype: str, shape: Sequence[int]) -> Any:
        """Return a constant, or what the graph does not know the shape of."""
        if self.maybe(WRONG):
            shape = [*shape, 1] if self.maybe(0.5) else list(shape)[1:]
        values = np.round(self.numbers.uniform(0, 5, shape), 1)
        if dtype == "string":
            texts = np.array([KEYS[int(value) % len(KEYS)] for value in values.ravel()], object)
            return self.tf.constant(texts.reshape(values.shape), self.tf.string, values.shape)
        value = values.astype(dtype)
        if self.maybe(0.2):
            return self.tf.placeholder_with_default(value, self.choose([None, value.shape]))
        return self.tf.constant(value)

    def element(self, first: Sequence[int] = ()) -> list[Any]:
        """Return an element, or several along a first axis."""
        return [self.tensor(name, [*first, *shape]) for name, shape in zip(self.types, self.shapes)]

    def count(self) -> int:
        """Return the number of elements of an action."""
        return self.choose([1, 2, 3, 0])

    def fetched(self, given: Any) -> list[Any]:
        """Return the fetches of a step: tensors and operations."""
        if isinstance(given, dict):
            return [part for key in sorted(given) for part in self.fetched(given[key])]
        if isinstance(given, (self.tf.IndexedSlices, self.tf.SparseTensor)):
            parts = (getattr(given, name) for name in ("indices", "values", "dense_shape"))
            return [part for part in parts if part is not None]
        if isinstance(given, (list, tuple)):
            return [part for item in given for part in self.fetched(item)]
        return [given]


TYPES = ["float32", "int32", "int64", "string", "bool", "float64"]
if TYPE_CHECKING:
    Action = Callable[[Store], Any]  # Python 3.7 cannot evaluate it


def _maybe_shared(s: Store) -> dict[str, Any]:
    return {"shared_name": s.choose([None, "shared"]), "name": s.choose(["q", "store"])}


def _queue(s: Store, kind: str, *first: Any, **more: Any) -> Any:
    shapes = s.shapes if s.maybe(0.7) or kind == "PriorityQueue" else None
    if shapes and kind == "PaddingFIFOQueue":
        shapes = [[None] * len(shape) for shape in shapes]
    options = {} if kind == "PriorityQueue" else {"names": _names(s)}
    if kind == "PaddingFIFOQueue":
        shapes = shapes or s.shapes
    return getattr(s.tf, kind)(
        s.choose([1, 2, 4, 10]), *first, s.dtypes(), shapes, **options, **more, **_maybe_shared(s)
    )


def _names(s: Store) -> Any:
    return [f"n{place}" for place in range(len(s.types))] if s.maybe(0.2) else None


def _as_named(s: Store, values: list[Any]) -> Any:
    return dict(zip(s.made.names, values)) if s.made.names else values


def _prioritized(s: Store, values: list[Any], count: Sequence[int] = ()) -> list[Any]:
    numbers = s.numbers.randint(0, 9, list(count)).astype(np.int64)
    return [s.tf.constant(numbers), *values]


QUEUE: dict[str, Action] = {
    "enqueue": lambda s: s.made.enqueue(_as_named(s, s.element())),
    "enqueue_many": lambda s: s.made.enqueue_many(_as_named(s, s.element([s.count()]))),
    "dequeue": lambda s: s.made.dequeue(),
    "dequeue_many": lambda s: s.made.dequeue_many(s.count()),
    "dequeue_up_to": lambda s: s.made.dequeue_up_to(s.count()),
    "size": lambda s: s.made.size(),
    "is_closed": lambda s: s.made.is_closed(),
}
CLOSED: dict[str, Action] = {
    **QUEUE,
    "close": lambda s: s.made.close(cancel_pending_enqueues=s.maybe(0.5)),
}
PRIORITY: dict[str, Action] = {
    **CLOSED,
    "enqueue": lambda s: s.made.enqueue(_prioritized(s, s.element())),
    "enqueue_many": lambda s: _prioritized_many(s, s.count()),
}


def _prioritized_many(s: Store, count: int) -> Any:
    return s.made.enqueue_many(_prioritized(s, s.element([count]), [count]))


def _barrier(s: Store) -> Any:
    return s.tf.raw_ops.Barrier(
        component_types=s.dtypes(),
        shapes=s.shapes if s.maybe(0.8) else [],
        capacity=-1,
        shared_name=s.choose(["", "b"]),
    )


def _insert(s: Store) -> Any:
    place = s.choose(range(len(s.types)))
    keys = [s.choose(KEYS) for _ in range(s.count())]
    values = s.tensor(s.types[place], [len(keys), *s.shapes[place]])
    return s.tf.raw_ops.BarrierInsertMany(
        handle=s.made, keys=s.tf.constant(keys, s.tf.string), values=values, component_index=place
    )


BARRIER: dict[str, Action] = {
    "insert": _insert,
    "insert more": _insert,
    "take": lambda s: list(
        s.tf.raw_ops.BarrierTakeMany(
            handle=s.made,
            num_elements=s.count(),
            component_types=s.dtypes(),
            allow_small_batch=s.maybe(0.5),
            wait_for_incomplete=s.maybe(0.3),
        )
    ),
    "ready": lambda s: s.tf.raw_ops.BarrierReadySize(handle=s.made),
    "incomplete": lambda s: s.tf.raw_ops.BarrierIncompleteSize(handle=s.made),
    "close": lambda s: s.tf.raw_ops.BarrierClose(
        handle=s.made, cancel_pending_enqueues=s.maybe(0.5)
    ),
}


def _numbers(s: Store, shape: Sequence[int]) -> Any:
    return s.tensor(s.types[0], shape)


def _numeric(s: Store) -> Any:
    s.types = [s.choose(["float32", "float64"])]
    s.shapes = [s.choose([[2], [3, 2], []])]
    return s.dtypes()[0]


def _rows(s: Store) -> Any:
    """Return a sparse gradient."""
    rows, shape = s.choose([1, 2]), s.shapes[0]
    indices = s.numbers.randint(0, 3, [rows]).astype(np.int64)
    size = s.choose([None, [3, *shape]])
    return s.tf.constant(indices), _numbers(s, [rows, *shape]), size


ACCUMULATOR: dict[str, Action] = {
    "apply": lambda s: s.made.apply_grad(_numbers(s, s.shapes[0]), s.choose([0, 0, 1, 2])),
    "take": lambda s: s.made.take_grad(s.choose([1, 2, 0])),
    "count": lambda s: s.made.num_accumulated(),
    "step": lambda s: s.made.set_global_step(s.choose([1, 2])),
}


def _applied_rows(s: Store) -> Any:
    indices, values, size = _rows(s)
    return s.made.apply_grad(indices, values, size, local_step=s.choose([0, 0, 1]))


SPARSE_ACCUMULATOR: dict[str, Action] = {
    **ACCUMULATOR,
    "apply": _applied_rows,
    "apply slices": lambda s: s.made.apply_indexed_slices_grad(
        s.tf.IndexedSlices(*reversed(_rows(s)[:2])), local_step=s.choose([0, 1])
    ),
    "take slices": lambda s: s.made.take_indexed_slices_grad(s.choose([1, 2])),
}


def _keys(s: Store) -> Any:
    shape = s.choose([[], [2], [3], [2, 2]])
    return s.tensor(s.key.name, shape)


def _mapping(s: Store, *shape: int) -> tuple[Any, Any]:
    s.key = s.choose([s.tf.string, s.tf.int64])
    s.value = s.choose([s.tf.int64, s.tf.float32] + [s.tf.string] * (s.key == s.tf.int64))
    return _pairs(s, *shape)


def _pairs(s: Store, *shape: int) -> tuple[Any, Any]:
    count = s.choose([1, 2, 3])
    names = KEYS[:count] if s.key == s.tf.string else np.arange(count) + s.choose([0, 3])
    keys = s.tf.constant(names, s.key)
    return keys, s.tensor(s.value.name, [count, *shape])


def _default(s: Store, *shape: int) -> Any:
    return {"string": b"none", "int64": -1, "float32": -1.0}[s.value.name]


def _hash_table(s: Store) -> Any:
    source = s.tf.contrib.lookup.KeyValueTensorInitializer(*_mapping(s))
    return s.tf.contrib.lookup.HashTable(source, _default(s), name=s.choose([None, "table"]))


def _mutable_table(s: Store) -> Any:
    _mapping(s)
    return s.tf.contrib.lookup.MutableHashTable(s.key, s.value, _default(s))


def _dense_table(s: Store) -> Any:
    s.key, s.value = s.tf.int64, s.choose([s.tf.int64, s.tf.float32])
    return s.tf.contrib.lookup.MutableDenseHashTable(
        s.key, s.value, _default(s), empty_key=-1, deleted_key=-2,
        initial_num_buckets=s.choose([None, 4]),
    )  # fmt: skip


TABLE: dict[str, Action] = {
    "lookup": lambda s: s.made.lookup(_keys(s)),
    "size": lambda s: s.made.size(),
}
MUTABLE: dict[str, Action] = {
    **TABLE,
    "insert": lambda s: s.made.insert(*_pairs(s)),
    "remove": lambda s: s.made.remove(_pairs(s)[0]),
    "size of export": lambda s: s.tf.shape(s.made.export()[0]),
}


def _staging(s: Store) -> Any:
    shapes = s.shapes if s.maybe(0.6) else None
    capacity = s.choose([0, 100])  # TensorFlow waits for room for ever
    area = s.tf.contrib.staging.StagingArea
    return area(s.dtypes(), shapes, capacity=capacity, names=_names(s) if shapes else None)


def _when_put(s: Store, take: Callable[[], Any]) -> Any:
    """Take an element after putting one: TensorFlow would wait forever, too."""
    with s.tf.control_dependencies([s.made.put(_as_named(s, s.element()))]):
        return take()


STAGING: dict[str, Action] = {
    "put": lambda s: s.made.put(_as_named(s, s.element())),
    "put again": lambda s: s.made.put(_as_named(s, s.element())),
    "get": lambda s: _when_put(s, s.made.get),
    "peek": lambda s: _when_put(s, lambda: s.made.peek(0)),
    "size": lambda s: s.made.size(),
    "clear": lambda s: s.made.clear(),
}


def _array(s: Store) -> Any:
    """Make a tensor array in each step, since its handle is valid in one step only."""
    s.types, s.shapes = [s.choose(["float32", "int32", "string"])], [s.choose([[], [2]])]
    return None


def _new_array(s: Store, size: int = 3) -> Any:
    return s.tf.TensorArray(
        s.dtypes()[0],
        size,
        dynamic_size=s.maybe(0.4),
        clear_after_read=s.choose([None, True, False]),
        element_shape=s.choose([None, s.shapes[0]]),
        infer_shape=s.maybe(0.8),
    )


def _written(s: Store) -> Any:
    array = _new_array(s)
    for _ in range(s.choose([1, 2, 3])):
        array = array.write(s.choose([0, 1, 2, 2, 3]), s.element()[0])
    return array


ARRAY: dict[str, Action] = {
    "concat": lambda s: _new_array(s).unstack(s.element([3, 2])[0]).concat(),
    "gather": lambda s: _new_array(s).unstack(s.element([3])[0]).gather(s.choose([[0, 2], [3]])),
    "grow": lambda s: _written(s).size(),
    "read": lambda s: _written(s).read(s.choose([0, 1, 2])),
    "read twice": lambda s: _read_twice(s, _written(s)),
    "scatter": lambda s: _new_array(s).scatter([2, 0], s.element([2])[0]).stack(),
    "split": lambda s: _new_array(s).split(s.element([4])[0], s.choose([[1, 2, 1], [4]])).read(0),
    "stack": lambda s: _written(s).stack(),
}


def _read_twice(s: Store, array: Any) -> Any:
    with s.tf.control_dependencies([s.tf.identity(array.read(0))]):
        return array.read(0)


def _stacks(s: Store) -> Any:
    s.types, s.shapes = [s.choose(["float32", "int32", "string"])], [s.choose([[], [2]])]
    return None


def _pushed(s: Store, count: int, popped: int) -> Any:
    """Push and pop values in one step, since the stack exists in one step only."""
    raw, dtype = s.tf.raw_ops, s.dtypes()[0]
    size = s.choose([-1, 1, 2, 5])
    stack = raw.StackV2(max_size=size, elem_type=dtype, stack_name="")
    found: list[Any] = []
    for _ in range(count):
        with s.tf.control_dependencies(found[-1:]):
            found.append(raw.StackPushV2(handle=stack, elem=s.element()[0]))
    for _ in range(popped):
        with s.tf.control_dependencies(found[-1:]):
            found.append(raw.StackPopV2(handle=stack, elem_type=dtype))
    return found


STACK: dict[str, Action] = {
    "push and pop": lambda s: _pushed(s, s.choose([1, 2, 3]), s.choose([0, 1, 2])),
    "push": lambda s: _pushed(s, s.choose([1, 2, 3]), 0),
}


def _variable(s: Store, use_resource: bool) -> Any:
    s.types, s.shapes = [s.choose(["float32", "int32", "float64", "int64"])], [[4, 2]]
    value = s.numbers.randint(0, 5, [4, 2]).astype(s.types[0])
    if s.maybe(0.3):
        return s.tf.get_variable("got", initializer=value, use_resource=use_resource)
    return s.tf.Variable(value, use_resource=use_resource, name=s.choose([None, "v"]))


def _indexed(s: Store) -> Any:
    rows = s.choose([1, 2])
    indices = s.numbers.randint(0, 5 if s.maybe(0.1) else 4, [rows]).astype(np.int32)
    return s.tf.IndexedSlices(_numbers(s, [rows, 2]), s.tf.constant(indices))


def _scatter_nd(s: Store, name: str) -> Any:
    depth, rows = s.choose([1, 2]), s.choose([1, 2])
    indices = s.numbers.randint(0, 2, [rows, depth]).astype(np.int32)
    return getattr(s.made, name)(indices, _numbers(s, [rows, *[2][depth - 1 :]]))


VARIABLE: dict[str, Action] = {
    "add": lambda s: s.made + _numbers(s, [4, 2]),
    "assign": lambda s: s.made.assign(_numbers(s, [4, 2]), use_locking=s.maybe(0.5)),
    "assign op": lambda s: s.made.assign(_numbers(s, [4, 2]), read_value=False),
    "assign_add": lambda s: s.made.assign_add(_numbers(s, [4, 2]), name=s.choose([None, "n"])),
    "assign_sub": lambda s: s.tf.assign_sub(s.made, _numbers(s, [4, 2])),
    "assign with another shape": lambda s: s.tf.assign(
        s.made, _numbers(s, s.choose([[3], [4, 2]])), validate_shape=s.maybe(0.5)
    ),
    "gather": lambda s: s.tf.gather(s.made, s.choose([[0, 1], [3], [4], []])),
    "initialize": lambda s: s.made.initializer,
    "initialized": lambda s: s.tf.is_variable_initialized(s.made),
    "initialized value": lambda s: s.made.initialized_value(),
    "read": lambda s: s.made.read_value(),
    "row": lambda s: s.made[s.choose([0, 3, -1])],
    "scatter_add": lambda s: s.made.scatter_add(_indexed(s)),
    "scatter_nd_add": lambda s: _scatter_nd(s, "scatter_nd_add"),
    "scatter_nd_update": lambda s: _scatter_nd(s, "scatter_nd_update"),
    "scatter_sub": lambda s: s.made.scatter_sub(_indexed(s)),
    "scatter_update": lambda s: s.made.scatter_update(_indexed(s)),
    "scatter by function": lambda s: _scatter(s, s.choose(SCATTERS)),
    "slice assign": lambda s: s.made[1:3].assign(_numbers(s, [2, 2])),
    "value": lambda s: s.made.value(),
}
SCATTERS = ["scatter_div", "scatter_max", "scatter_min", "scatter_mul", "scatter_update"]


def _scatter(s: Store, name: str) -> Any:
    slices = _indexed(s)
    return getattr(s.tf, name)(s.made, slices.indices, slices.values)


def _count_up(s: Store) -> Any:
    return s.tf.Variable(s.choose([0, 2]), use_resource=s.maybe(0.5))


#: By name: the constructor, and the actions.
STORES: dict[str, tuple[Action, dict[str, Action]]] = {
    "Barrier": (_barrier, BARRIER),
    "ConditionalAccumulator": (
        lambda s: s.tf.ConditionalAccumulator(
            _numeric(s),
            s.choose([None, s.shapes[0]]),
            shared_name=s.choose([None, "a"]),
            reduction_type=s.choose(["MEAN", "SUM"]),
        ),
        ACCUMULATOR,
    ),
    "FIFOQueue": (lambda s: _queue(s, "FIFOQueue"), CLOSED),
    "HashTable": (_hash_table, TABLE),
    "MutableDenseHashTable": (_dense_table, MUTABLE),
    "MutableHashTable": (_mutable_table, MUTABLE),
    "PaddingFIFOQueue": (lambda s: _queue(s, "PaddingFIFOQueue"), CLOSED),
    "PriorityQueue": (lambda s: _queue(s, "PriorityQueue"), PRIORITY),
    "RandomShuffleQueue": (
        lambda s: _queue(s, "RandomShuffleQueue", s.choose([0, 1]), seed=s.choose([1, 7])),
        CLOSED,
    ),
    "SparseConditionalAccumulator": (
        lambda s: s.tf.SparseConditionalAccumulator(
            _numeric(s),
            s.choose([None, [3, *s.shapes[0]]]),
            reduction_type=s.choose(["MEAN", "SUM"]),
        ),
        SPARSE_ACCUMULATOR,
    ),
    "Stack": (_stacks, STACK),
    "StagingArea": (_staging, STAGING),
    "TensorArray": (_array, ARRAY),
    "counter": (
        _count_up,
        {
            "count": lambda s: s.made.count_up_to(s.choose([3, 5])),
            "count by function": lambda s: s.tf.count_up_to(s.made, 4),
        },
    ),
    "reference variable": (lambda s: _variable(s, False), VARIABLE),
    "resource variable": (
        lambda s: _variable(s, True),
        {**VARIABLE, "sparse read": lambda s: s.made.sparse_read([0, 2])},
    ),
}
