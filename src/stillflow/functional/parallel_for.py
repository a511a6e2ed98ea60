"""`pfor` and `for_loop`: a body for each number, whose iterations do not depend on one another.

As in TensorFlow, `pfor` calls the body once, for a placeholder, in the scope `loop_body`. Where
TensorFlow makes operations that work on all iterations at once, here copies of them run for one
number after the other: the values are the same, the nodes are not. A body that has loops of its own
is called again within the loop, and for every number where it adds to earlier loops (gradients of
their results).
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from stillflow import nest
from stillflow.functional.polymorphic import defun
from stillflow.graph import dtypes
from stillflow.graph.api import control_dependencies, name_scope
from stillflow.graph.constant_value import constant_value
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.eager_mode import executing_eagerly
from stillflow.graph.graph import Graph, get_default_graph
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.sparse_tensor import SparseTensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow.ops.arrays.concat import stack
from stillflow.ops.arrays.gather import gather
from stillflow.ops.arrays.shape import expand_dims
from stillflow.ops.constants import constant, placeholder
from stillflow.ops.control_flow.identity_and_group import group
from stillflow.ops.control_flow.while_loop import while_loop
from stillflow.ops.math.cast import cast
from stillflow.ops.math.reductions import reduce_mean, reduce_sum
from stillflow.ops.sparse.serialization import deserialize_sparse, serialize_sparse
from stillflow.ops.tensor_array.tensor_array import TensorArray
from stillflow.runtime.schedule.prune import sources

_CONTROL_FLOW = {"Switch", "Merge", "Enter", "RefEnter", "Exit", "NextIteration", "LoopCond"}
# Stateful operations that give every iteration the same.
_SHARED = {"VarHandleOp", "VariableV2", "Variable", "ReadVariableOp", "Placeholder"}


def for_loop(
    loop_fn: Callable[[Any], Any],
    loop_fn_dtypes: Any,
    iters: Any,
    parallel_iterations: int | None = None,
) -> Tensor | list[Tensor | None]:
    """Call `loop_fn(i)` in a loop of the graph, `iters` times, and stack its results.

    `loop_fn_dtypes` are the dtypes of tensors in the structure of its results, some of which may be
    None. ValueError if the body gives another number of results.
    """
    flat_types = nest.flatten(loop_fn_dtypes)
    absent = [True] * len(flat_types)  # where there is not a single iteration

    def step(i: Any, *arrays: Any) -> tuple[Any, ...]:
        made = nest.flatten(loop_fn(i))
        if len(made) != len(flat_types):
            raise ValueError(
                f"Number of expected outputs, {len(flat_types)}, does not match the number of "
                f"actual outputs, {len(made)}, from loop_fn"
            )
        absent[:] = [item is None for item in made]
        written = [
            array if item is None else array.write(i, expand_dims(item, 0))
            for item, array in zip(made, arrays, strict=True)
        ]
        return (i + 1, *written)

    options = {} if parallel_iterations is None else {"parallel_iterations": parallel_iterations}
    start = [0, *(TensorArray(dtype.base_dtype, iters) for dtype in flat_types)]
    _, *arrays = while_loop(lambda i, *_: i < iters, step, start, **options)  # type: ignore[arg-type]
    result = [None if no else a.concat() for no, a in zip(absent, arrays, strict=True)]
    return nest.pack_sequence_as(loop_fn_dtypes, result)


class PForConfig:
    """Argument `pfor_config` of a body: results over all iterations."""

    def __init__(self) -> None:
        self._count: int | None = None
        self._stacks: dict[Tensor, Tensor] = {}  # placeholders by their stacked tensors

    def _has_reductions(self) -> bool:
        return bool(self._stacks)

    def reduce_concat(self, x: Tensor) -> Tensor:
        """Return the values of `x` in all iterations, along a first dimension more."""
        if x not in self._stacks:
            with control_dependencies([x]):
                shape = TensorShape([self._count]).concatenate(x.shape)
                self._stacks[x] = placeholder(x.dtype, shape)
        return self._stacks[x]

    def reduce_mean(self, x: Tensor) -> Tensor:
        """Return the mean of `x` over all iterations, of the shape of `x`."""
        result: Tensor = reduce_mean(self.reduce_concat(x), axis=0)
        return result

    def reduce_sum(self, x: Tensor) -> Tensor:
        """Return the sum of `x` over all iterations, of the shape of `x`."""
        result: Tensor = reduce_sum(self.reduce_concat(x), axis=0)
        return result


def pfor(loop_fn: Callable[..., Any], iters: Any, parallel_iterations: int | None = None) -> Any:
    """Call `loop_fn(i)` for each number below `iters` and stack its results.

    `loop_fn` takes an int32 scalar, and a `PForConfig` if it has an argument `pfor_config`; it
    gives a structure of tensors, operations or None, whose shapes do not depend on the number. Each
    tensor gets a first dimension more; an operation stands for all of its. Iterations run one after
    the other in any case; ValueError for `parallel_iterations` of 1, and for a `tf.cond` in the
    body. NotImplementedError if `iters` is not known or 0, where the body adds to loops outside of
    it.
    """

    def run() -> Any:
        return _run(loop_fn, iters, parallel_iterations)

    return defun(run, autograph=False)() if executing_eagerly() else run()


def _run(loop_fn: Callable[..., Any], iters: Any, parallel_iterations: int | None) -> Any:
    config = PForConfig() if _takes_config(loop_fn) else None
    function = functools.partial(loop_fn, pfor_config=config) if config else loop_fn
    count = cast(iters, dtypes.int32)
    value = constant_value(count)
    known = None if value is None else int(value)
    if config is not None:
        config._count = known
    body = Body(function, config)
    _check_parallel(parallel_iterations)
    tiled = parallel_iterations is not None and (known is None or known >= parallel_iterations)
    if tiled and config is not None and config._has_reductions():
        raise ValueError(
            "Setting parallel_iterations currently unsupported if reductions across iterations "
            "are performed."
        )
    # Where TensorFlow puts parts together, the graph does not know how many there are.
    return body.for_each(count, known, size=None if tiled else known)


def _check_parallel(number: int | None) -> None:
    if number is not None and number < 1:
        raise ValueError("parallel_iterations must be None or a positive integer")
    if number == 1:
        raise ValueError("Found parallel_iterations == 1. Use for_loop instead.")


def _takes_config(function: Any) -> bool:
    """Return True if a body has an argument `pfor_config` that is still free."""
    if not callable(function):
        raise ValueError("loop_fn object did not have a __call__ method")
    given = function.keywords if isinstance(function, functools.partial) else {}
    return "pfor_config" in inspect.signature(function).parameters and "pfor_config" not in given


class Body:
    """Body of a loop, built for a placeholder of the iteration's number.

    Args:
      function: takes the number; gives a structure of tensors, operations or None.
      config: what was handed to it, if anything.
    """

    def __init__(self, function: Callable[[Any], Any], config: PForConfig | None = None) -> None:
        self.function = function
        self.config = config
        graph = get_default_graph()
        before = graph.get_operations()
        with name_scope("loop_body"):
            self.number = placeholder(dtypes.int32, shape=[])
            self.structure = function(self.number)
            self.results = [_Result(result) for result in nest.flatten(self.structure)]
        self.made = graph.get_operations()[len(before) :]
        self.tensors = [r.tensor for r in self.results if r.tensor is not None]
        self.operations = [r.given for r in self.results if isinstance(r.given, Operation)]
        self._outer = _contexts(before) - {id(graph._get_control_flow_context())}

    def for_each(self, count: Tensor, known: int | None, size: int | None) -> Any:
        """Return the results for all numbers.

        Args:
          count: how many there are.
          known: the same, if the graph knows it.
          size: of the results, as their static shapes say.

        Raises:
          ValueError: if there is a `tf.cond` that depends on the number.
          NotImplementedError: if the body adds to loops outside of it, and the count is not known.
        """
        stacks = {} if self.config is None else self.config._stacks
        with name_scope("pfor"):
            inside = _needed(
                [*(t.op for t in self.tensors), *self.operations],
                _differing(self.made, self.number, stacks.values()),
            )
            _check(inside, set(self.made))
            self.operations = [op for op in self.operations if op in inside]
            found, done = self._stacked(inside, count, known, size)
            stacked = iter(found)
            flat = [r.given if r.tensor is None else r.whole(next(stacked)) for r in self.results]
        flat = [done if _is_among(each, self.operations) else each for each in flat]
        return nest.pack_sequence_as(self.structure, flat)

    def _stacked(
        self, inside: list[Operation], count: Tensor, known: int | None, size: int | None
    ) -> tuple[list[Tensor], Operation | None]:
        """Return the tensors stacked over all iterations, and an operation after all others."""
        loops = any(op.type in _CONTROL_FLOW for op in inside)
        unrolled = self._adds_to_others(loops)
        if (loops or unrolled) and self.config is not None and self.config._has_reductions():
            raise NotImplementedError(
                "Reductions of a pfor whose body has loops are not supported by Stillflow"
            )
        if unrolled:
            return self._unrolled(known)
        if loops:
            return _loop(self._again, self.tensors, self.operations, count, size)
        copies = _Copies(self.number, inside)
        for tensor, whole in () if self.config is None else self.config._stacks.items():
            copies.stack(tensor, whole, count, known)
        return _loop(copies.of, self.tensors, self.operations, count, size)

    def _adds_to_others(self, loops: bool) -> bool:
        """Return True if a gradient of the body adds to loops or arrays outside of it."""
        own = set(self.made)
        return any(
            (op.type == "TensorArrayGradV3" and op.inputs[0].op not in own)
            or (loops and id(op._get_control_flow_context()) in self._outer)
            for op in self.made
        )

    def _again(
        self, number: Tensor, tensors: Sequence[Tensor], operations: Sequence[Operation]
    ) -> tuple[list[Tensor], list[Operation]]:
        """Call the function for another number."""
        results = [_Result(result) for result in nest.flatten(self.function(number))]
        return (
            [r.tensor for r in results if r.tensor is not None],
            [r.given for r in results if isinstance(r.given, Operation)],
        )

    def _unrolled(self, count: int | None) -> tuple[list[Tensor], Operation | None]:
        """Call the function for every number but the first, whose operations exist."""
        if not count:
            raise NotImplementedError(
                f"A pfor of {'no' if count == 0 else 'unknown'} iterations whose body adds to a "
                "loop outside of it (the gradient of what that gave) is not supported by Stillflow"
            )
        first = constant(0)
        for op in self.made:
            for index, tensor in enumerate(op.inputs):
                if tensor is self.number:
                    op._update_input(index, first)
        made = [(self.tensors, self.operations)]
        made += [self._again(constant(i), (), ()) for i in range(1, count)]
        columns = zip(*(tensors for tensors, _ in made), strict=True)
        done = group(*(op for _, operations in made for op in operations))
        return [stack(list(column)) for column in columns], done


def _is_among(result: Any, operations: list[Operation]) -> bool:
    return isinstance(result, Operation) and result in operations


class _Result:
    """One result of a body, `given` as a tensor or the like, an operation or None.

    `tensor` is what is stacked for it, if anything.
    """

    def __init__(self, given: Any) -> None:
        self.given = given
        self.tensor: Tensor | None = None
        if isinstance(given, SparseTensor):
            self.tensor = serialize_sparse(given)
        elif given is not None and not isinstance(given, Operation):
            self.tensor = convert_to_tensor(given)

    def whole(self, stacked: Tensor) -> Tensor | SparseTensor:
        """Return the result for all numbers."""
        if not isinstance(self.given, SparseTensor):
            return stacked
        rank = self.given.dense_shape.shape[0].value
        return deserialize_sparse(stacked, self.given.dtype, None if rank is None else rank + 1)


class _Copies:
    """Copies of operations of a body, for other numbers."""

    def __init__(self, number: Tensor, inside: list[Operation]) -> None:
        self._number = number
        self._inside = inside
        self._wholes: dict[Tensor, Tensor] = {}  # replacements of placeholders
        self._stacks: dict[Tensor, Tensor] = {}  # values of all numbers that there are already

    def stack(self, tensor: Tensor, whole: Tensor, count: Tensor, known: int | None) -> None:
        """Compute a tensor for all numbers, for its placeholder."""
        (found,), _ = _loop(self.of, [tensor], [], count, known)
        self._stacks[tensor] = self._wholes[whole] = found

    def of(
        self, i: Tensor, tensors: Sequence[Tensor], operations: Sequence[Operation]
    ) -> tuple[list[Tensor], list[Operation]]:
        """Return the tensors and operations in the iteration of a number."""
        copies = {self._number.op: i.op}
        made = {self._number: i, **self._wholes}
        for tensor, stacked in self._stacks.items():
            made[tensor] = gather(stacked, i)
        there = {tensor.op for tensor in made}
        wanted = set(_needed([*(t.op for t in tensors), *operations], set(self._inside) - there))
        for op in self._inside:
            if op in wanted:
                copies[op] = _copy(op, copies, made)
                made.update(zip(op.outputs, copies[op].outputs, strict=True))
        return [made.get(tensor, tensor) for tensor in tensors], [copies[op] for op in operations]


def _contexts(operations: Sequence[Operation]) -> set[int]:
    """Return the loops and branches that operations are in."""
    found = (op._get_control_flow_context() for op in operations)
    return {id(context) for context in found if context is not None}


def _differing(made: list[Operation], number: Tensor, wholes: Any) -> set[Operation]:
    """Return the operations that differ between iterations."""
    own = set(made)
    differing = {number.op, *(whole.op for whole in wholes)}
    differing.update(op for op in made if op._is_stateful and not _is_shared(op, own))
    before = 0
    while len(differing) > before:  # again where loops lead back
        before = len(differing)
        for op in made:
            if any(source in differing for source in sources(op)):
                differing.add(op)
    return differing


def _is_shared(op: Operation, own: set[Operation]) -> bool:
    """Return True if a stateful operation runs once for all iterations."""
    if op.type.startswith("StackPop"):  # of a stack that all of them see
        return op.inputs[0].op not in own
    return op.type in _SHARED


def _needed(results: Sequence[Operation], differing: set[Operation]) -> list[Operation]:
    """Those of them that the results depend on, in the order in which they were made."""
    waiting = list(results)
    found: set[Operation] = set()
    while waiting:
        op = waiting.pop()
        if op in differing and op not in found:
            found.add(op)
            waiting += sources(op)
    return sorted(found, key=lambda op: op._id)


def _check(inside: list[Operation], own: set[Operation]) -> None:
    for op in inside:
        context = op._get_control_flow_context()
        if op.type in ("Switch", "Merge") and context is not None and context.IsCondContext():
            raise ValueError(f"No converter defined for {op.type}\n{op.node_def}")
        pushes = op.type.startswith("StackPush") and op.inputs[0].op not in own
        if pushes and context is None:
            raise ValueError(f"{op.type} not allowed on stacks created outside pfor")


_Step = Callable[
    [Tensor, Sequence[Tensor], Sequence[Operation]], tuple[list[Tensor], list[Operation]]
]


def _loop(
    step: _Step, tensors: Sequence[Tensor], operations: Sequence[Operation], count: Tensor,
    known: int | None,
) -> tuple[list[Tensor], Operation | None]:  # fmt: skip
    """Run a step for each number, and stack its values of `tensors`.

    Returns the stacks, and an operation behind all that `operations` became.
    """
    if not tensors and not operations:
        return [], None

    def turn(i: Any, *arrays: Any) -> tuple[Any, ...]:
        values, done = step(i, tensors, operations)
        written = [array.write(i, value) for value, array in zip(values, arrays, strict=True)]
        with control_dependencies(done):
            return (i + 1, *written)

    arrays = [
        TensorArray(tensor.dtype.base_dtype, count, element_shape=tensor.shape)
        for tensor in tensors
    ]
    ends = while_loop(lambda i, *_: i < count, turn, [0, *arrays], return_same_structure=True)
    last, *arrays = ends
    stacks: list[Tensor] = [array.stack() for array in arrays]
    for stacked, tensor in zip(stacks, tensors, strict=True):
        stacked.set_shape(TensorShape([known]).concatenate(tensor.shape))
    return stacks, group(last.op) if operations else None


def _copy(
    op: Operation, copies: dict[Operation, Operation], made: dict[Tensor, Tensor]
) -> Operation:
    graph: Graph = get_default_graph()
    inputs = [made.get(tensor, tensor) for tensor in op.inputs]
    attrs = {key: value for key, value in op.attrs.items() if key != "_class"}
    types = [tensor.dtype for tensor in op.outputs]
    with graph.control_dependencies([copies.get(c, c) for c in op.control_inputs]):
        copied = graph.add_op(op.card, inputs, attrs, types, graph.unique_name(op.type))
    for tensor, other in zip(op.outputs, copied.outputs, strict=True):
        other.set_shape(tensor.shape)
    return copied
