"""`tf.vectorized_map`: a function of every element, which is called but once.

As in TensorFlow the function is called for the element of a placeholder's number, in the scope
`loop_body`. Where TensorFlow makes operations of those that work on all elements at once, here
copies of them run for one element after the other: the values are the same, the nodes are not.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow import nest
from stillflow.functional.polymorphic import defun
from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.eager_mode import executing_eagerly
from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.tensor_shape import TensorShape, dimension_value
from stillflow.ops.arrays.gather import gather
from stillflow.ops.arrays.shape import shape
from stillflow.ops.constants import placeholder
from stillflow.ops.control_flow.while_loop import while_loop
from stillflow.ops.tensor_array.tensor_array import TensorArray

_CONTROL_FLOW = {"Switch", "Merge", "Enter", "RefEnter", "Exit", "NextIteration", "LoopCond"}
# Stateful operations that give every element the same.
_SHARED = {"VarHandleOp", "VariableV2", "Variable", "ReadVariableOp", "Placeholder"}


@export("vectorized_map")
def vectorized_map(fn: Callable[[Any], Any], elems: Any) -> Any:
    """Applies `fn` to each element of `elems`; elements must not depend on one another.

    Args:
      fn: of an element, of the structure of `elems`; gives (nested) tensors of shapes that do not
        depend on the element. It is called once.
      elems: (nested) tensors, whose elements along the first dimension are taken.

    Returns:
      (nested) tensors with a first dimension more.

    Raises:
      ValueError: if there is control flow (`tf.cond`, `tf.while_loop`) in `fn`.
      NotImplementedError: if `fn` returns an operation that works on an element.
    """

    def mapped() -> Any:
        first = nest.flatten(elems)[0]
        count = shape(first)[0]
        known = dimension_value(convert_to_tensor(first).shape[0])
        return _for_each(lambda i: fn(nest.map_structure(lambda x: gather(x, i), elems)),
                         count, known)  # fmt: skip

    return defun(mapped, autograph=False)() if executing_eagerly() else mapped()


def _for_each(function: Callable[[Any], Any], count: Tensor, known: int | None) -> Any:
    graph = get_default_graph()
    before = len(graph.get_operations())
    with name_scope("loop_body"):
        number = placeholder(dtypes.int32, shape=[])
        structure = function(number)
        results = [_as_result(result) for result in nest.flatten(structure)]
    made = graph.get_operations()[before:]
    tensors = [result for result in results if isinstance(result, Tensor)]
    with name_scope("pfor"):
        inside = _needed(tensors, _differing(made, number))
        _check(results, inside)
        stacks = iter(_loop(number, inside, tensors, count, known) if tensors else ())
    flat = [next(stacks) if isinstance(result, Tensor) else result for result in results]
    return nest.pack_sequence_as(structure, flat)


def _as_result(result: Any) -> Any:
    return result if result is None or isinstance(result, Operation) else convert_to_tensor(result)


def _differing(made: list[Operation], number: Tensor) -> set[Operation]:
    """Which operations give each element something of its own."""
    differing = {number.op}
    for op in made:
        depends = any(t.op in differing for t in op.inputs)
        depends = depends or any(control in differing for control in op.control_inputs)
        if depends or (op._is_stateful and op.type not in _SHARED):
            differing.add(op)
    return differing


def _needed(tensors: list[Tensor], differing: set[Operation]) -> list[Operation]:
    """Those of them that the results depend on, in the order in which they were made."""
    waiting = [tensor.op for tensor in tensors]
    found: set[Operation] = set()
    while waiting:
        op = waiting.pop()
        if op in differing and op not in found:
            found.add(op)
            waiting += [t.op for t in op.inputs] + list(op.control_inputs)
    return sorted(found, key=lambda op: op._id)


def _check(results: list[Any], inside: list[Operation]) -> None:
    for op in inside:
        if op.type in _CONTROL_FLOW:
            raise ValueError(f"No converter defined for {op.type}\n{op.node_def}")
    for result in results:
        if isinstance(result, Operation) and result.inputs:
            raise NotImplementedError(
                f"tf.vectorized_map of an operation ({result.name}) is not supported by Stillflow: "
                "return a tensor"
            )


def _loop(
    number: Tensor, inside: list[Operation], tensors: list[Tensor], count: Tensor,
    known: int | None,
) -> list[Tensor]:  # fmt: skip
    """Runs copies of operations for each number; stacks what they make of `tensors`."""

    def step(i: Any, *arrays: Any) -> Any:
        copies: dict[Operation, Operation] = {number.op: i.op}
        made = {number: i}
        for op in inside:
            if op is not number.op:
                copies[op] = _copy(op, copies, made)
                made.update(zip(op.outputs, copies[op].outputs, strict=True))
        written = [
            array.write(i, made.get(tensor, tensor))
            for tensor, array in zip(tensors, arrays, strict=True)
        ]
        return (i + 1, *written)

    arrays = [
        TensorArray(tensor.dtype.base_dtype, count, element_shape=tensor.shape)
        for tensor in tensors
    ]
    _, *arrays = while_loop(lambda i, *_: i < count, step, [0, *arrays])
    stacks: list[Tensor] = [array.stack() for array in arrays]
    for stacked, tensor in zip(stacks, tensors, strict=True):
        stacked.set_shape(TensorShape([known]).concatenate(tensor.shape))
    return stacks


def _copy(
    op: Operation, copies: dict[Operation, Operation], made: dict[Tensor, Tensor]
) -> Operation:
    graph = get_default_graph()
    inputs = [made.get(tensor, tensor) for tensor in op.inputs]
    attrs = {key: value for key, value in op.attrs.items() if key != "_class"}
    types = [tensor.dtype for tensor in op.outputs]
    with graph.control_dependencies([copies.get(c, c) for c in op.control_inputs]):
        copied = graph.add_op(op.card, inputs, attrs, types, graph.unique_name(op.type))
    for tensor, other in zip(op.outputs, copied.outputs, strict=True):
        other.set_shape(tensor.shape)
    return copied
