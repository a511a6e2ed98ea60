"""The primitives of control flow: Switch, Merge and the ops of loop frames.

They have no kernels: a plan turns them back into `if` and `while` (see `runtime/plan/trace.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stillflow.graph import dims
from stillflow.graph.api import name_scope
from stillflow.graph.card import op
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.graph import get_default_graph
from stillflow.graph.indexed_slices import (
    IndexedSlices,
    convert_to_tensor_or_indexed_slices,
)
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.graph.tensor_like import is_tensor_like


def _same(node: Node) -> tuple[int | None, ...] | None:
    return node.dims(0)


def _both(node: Node) -> list[tuple[int | None, ...] | None]:
    dims.with_rank(node.dims(1), 0)
    return [node.dims(0), node.dims(0)]


def _any_of(node: Node) -> list[tuple[int | None, ...] | None]:
    """Merge the facts that all inputs share; a loop's back edge may be missing and may differ."""
    result = node.dims(0)
    for index in range(1, len(node.inputs)):
        result = dims.relax(result, node.dims(index))
    return [result, ()]


switch_op = op(
    "Switch(data: T, pred: bool) -> (output_false: T, output_true: T); T: type",
    view=True,
    handle="any",
    flow="switch",
)
ref_switch_op = op(
    "RefSwitch(data: &T, pred: bool) -> (output_false: &T, output_true: &T)\n"
    "T: type\nflags: uninitialized",
    flow="switch",
)
merge_op = op(
    "Merge(inputs: N*T) -> (output: T, value_index: int32); T: type; N: int >= 1",
    view=True,
    handle="any",
    flow="merge",
)
ref_merge_op = op(
    "RefMerge(inputs: &N*T) -> (output: &T, value_index: int32); T: type; N: int >= 1", flow="merge"
)
for _card in (switch_op, ref_switch_op):
    _card.shape(_both)
for _card in (merge_op, ref_merge_op):
    _card.shape(_any_of)

ref_select_op = op(
    "RefSelect(index: int32, inputs: &N*T) -> output: &T; T: type; N: int >= 1", numbers=("index",)
)


@ref_select_op.shape
def ref_select_shape(node: Node) -> OutputDims:
    dims.with_rank(node.dims(0), 0)
    first, *others = [node.dims(index) for index in range(1, len(node.inputs))]
    known = dims.is_known(first) and all(other == first for other in others)
    return first if known else None


@ref_select_op.kernel
def ref_select_kernel(node: Node) -> Kernel:
    return lambda index, *references: references[int(index)]


_FRAME = "T: type\nframe_name: string\nis_constant: bool = false\nparallel_iterations: int = 10"
enter_op = op(f"Enter(data: T) -> output: T\n{_FRAME}", view=True, handle="any", flow="enter")
ref_enter_op = op(f"RefEnter(data: &T) -> output: &T\n{_FRAME}", flow="enter")
exit_op = op("Exit(data: T) -> output: T; T: type", view=True, handle="any", flow="exit")
ref_exit_op = op("RefExit(data: &T) -> output: &T; T: type", flow="exit")
next_iteration_op = op(
    "NextIteration(data: T) -> output: T; T: type", view=True, handle="any", flow="next iteration"
)
ref_next_iteration_op = op(
    "RefNextIteration(data: &T) -> output: &T; T: type", flow="next iteration"
)
loop_cond_op = op("LoopCond(input: bool) -> output: bool", flow="loop condition")
for _card in (exit_op, ref_exit_op, next_iteration_op, ref_next_iteration_op):
    _card.shape(_same)


@loop_cond_op.shape
def loop_cond_shape(node: Node) -> OutputDims:
    dims.with_rank(node.dims(0), 0)
    return ()


def _enter_shape(node: Node) -> tuple[int | None, ...] | None:
    # Only loop invariants have a shape that is known from outside.
    return node.dims(0) if node.is_constant else None


for _card in (enter_op, ref_enter_op):
    _card.shape(_enter_shape)


def switch(data: Any, pred: Any, dtype: Any = None, name: str | None = None) -> Any:
    """Hand `data` on to the first of two outputs if `pred` is false, else to the second."""
    with name_scope(name, "Switch", [data, pred]) as scope:
        data = convert_to_tensor_or_indexed_slices(data, dtype=dtype, name="data", as_ref=True)
        pred = convert_to_tensor(pred, name="pred")
        if isinstance(data, Tensor):
            return switch_op(data, pred, name=scope)
        from stillflow import nest

        if not is_tensor_like(data):
            raise TypeError(f"Type {type(data)} not supported")
        parts = [switch_op(part, pred) for part in nest.flatten(data, expand_composites=True)]
        false_parts, true_parts = zip(*parts, strict=True)
        return (
            nest.pack_sequence_as(data, false_parts, expand_composites=True),
            nest.pack_sequence_as(data, true_parts, expand_composites=True),
        )


def ref_switch(data: Any, pred: Any, name: str | None = None) -> Any:
    """`switch` for a reference."""
    return ref_switch_op(data, pred, name=name)


def switch_ref_or_tensor(data: Any, pred: Any, name: str = "Switch") -> Any:
    """Switch a tensor, reference or IndexedSlices, placed with `data`; TypeError for others."""
    data = convert_to_tensor_or_indexed_slices(data, name="data")
    with get_default_graph().colocate_with(data, ignore_existing=True):
        if isinstance(data, Tensor) and data.dtype._is_ref_dtype:
            return ref_switch(data, pred, name=name)
        return switch(data, pred, name=name)


def merge(inputs: Sequence[Any], name: str | None = None) -> Any:
    """Whichever input is there, and its index; TypeError for unknown kinds, ValueError for None."""
    if any(item is None for item in inputs):
        raise ValueError(f"At least one of the merge inputs is None: {inputs}")
    with name_scope(name, "Merge", inputs) as scope:
        inputs = [convert_to_tensor_or_indexed_slices(item, as_ref=True) for item in inputs]
        if all(isinstance(item, Tensor) for item in inputs):
            if all(item.dtype._is_ref_dtype for item in inputs):
                return ref_merge_op(inputs, name=scope)
            return merge_op(inputs, name=scope)
        return _merge_composites(inputs)


def _merge_composites(inputs: Sequence[Any]) -> tuple[Any, Any]:
    from stillflow import nest

    if all(isinstance(item, (IndexedSlices, Tensor)) for item in inputs):
        from stillflow.ops.gradients.aggregation import as_slices_list

        inputs = as_slices_list(inputs)
    for item in inputs:
        if not is_tensor_like(item):
            raise TypeError(f"Type {type(item)} not supported")
    for item in inputs[1:]:
        nest.assert_same_structure(inputs[0], item, expand_composites=True)
    flat = [nest.flatten(item, expand_composites=True) for item in inputs]
    merged = [merge_op(list(parts)) for parts in zip(*flat, strict=True)]
    tensors = [tensor for tensor, _ in merged]
    return nest.pack_sequence_as(inputs[0], tensors, expand_composites=True), merged[0][1]
