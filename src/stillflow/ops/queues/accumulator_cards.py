"""ConditionalAccumulator, SparseConditionalAccumulator and the ops on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.graph import dims as dims_lib
from stillflow.graph.card import Card, op
from stillflow.graph.constant_value import Dims
from stillflow.graph.lazy import torch
from stillflow.graph.node import Handle, Node
from stillflow.ops.queues.accumulator import Accumulator, SparseAccumulator, scalar
from stillflow.ops.queues.attempts import private_name

_NUMBERS = (
    "{float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, "
    "bfloat16, uint16, complex128, half, uint32, uint64}"
)
_MAKING = (
    (
        f'dtype: {_NUMBERS}\nshape: shape\ncontainer: string = ""\nshared_name: string = ""\n'
        'reduction_type: {{"MEAN", "SUM"}} = "MEAN"\nflags: stateful'
    )
    .replace("{{", "{")
    .replace("}}", "}")
)
_SPARSE = "gradient_indices: int64, gradient_values: dtype, gradient_shape: int64"

# By name: the inputs between the handle and the attributes, and the attributes.
_USES = {
    "NumAccumulated": (") -> num_accumulated: int32", ""),
    "SetGlobalStep": (", new_global_step: int64)", ""),
    "ApplyGradient": (", local_step: int64, gradient: dtype)", f"dtype: {_NUMBERS}\n"),
    "TakeGradient": (", num_required: int32) -> average: dtype", f"dtype: {_NUMBERS}\n"),
}


def _card(prefix: str, name: str) -> Card:
    rest, attrs = _USES[name]
    handle = "resource" if prefix else "&string"
    flags = "flags: stateful" if prefix else ""
    return op(
        f"{prefix}Accumulator{name}(handle: {handle}{rest}\n{attrs}{flags}".rstrip(),
        effect="state",
        handle="accumulator",
        differentiable=False,
    )


cards: dict[str, Card] = {
    f"{prefix}Accumulator{name}": _card(prefix, name)
    for prefix in ("", "Resource")
    for name in _USES
}
for _name, _handle in (
    ("ConditionalAccumulator", "&string"),
    ("ResourceConditionalAccumulator", "resource"),
    ("SparseConditionalAccumulator", "&string"),
):
    cards[_name] = op(
        f"{_name}() -> handle: {_handle}\n{_MAKING}",
        differentiable=False,
        handle="accumulator",
        gives="accumulator",
    )
cards["SparseAccumulatorApplyGradient"] = op(
    f"SparseAccumulatorApplyGradient(handle: &string, local_step: int64, {_SPARSE})\n"
    f"dtype: {_NUMBERS}\nhas_known_shape: bool",
    effect="state",
    handle="accumulator",
    differentiable=False,
)
cards["SparseAccumulatorTakeGradient"] = op(
    "SparseAccumulatorTakeGradient(handle: &string, num_required: int32) -> "
    f"(indices: int64, values: dtype, shape: int64)\ndtype: {_NUMBERS}",
    effect="state",
    handle="accumulator",
    differentiable=False,
)


def _make_kernel(node: Any) -> Handle:
    shared = node.op.attrs["shared_name"].decode()
    shape = node.op.attrs["shape"]
    dims: Dims = None if shape.ndims is None else tuple(shape.as_list())
    kind = SparseAccumulator if node.op.type.startswith("Sparse") else Accumulator
    mean = node.reduction_type == b"MEAN"
    dtype = node.op.attrs["dtype"]

    def make() -> Accumulator:
        return kind(shared or private_name(node.name), dtype, dims, mean)

    return node.handle(node.resource(make, kind="accumulator", private=True))


def _apply_kernel(node: Node) -> Callable[..., Any]:
    return lambda accumulator, step, gradient: accumulator.apply(
        scalar(step, "local_step"), gradient
    )


def _sparse_apply_kernel(node: Node) -> Callable[..., Any]:
    known = node.has_known_shape
    return lambda accumulator, step, indices, values, shape: accumulator.apply(
        scalar(step, "local_step"), indices, values, shape, known
    )


def _take_kernel(node: Any) -> Callable[..., Any]:
    waits = node.waits()
    return lambda accumulator, required: accumulator.take(scalar(required, "num_required"), waits)


def _count_kernel(node: Node) -> Callable[..., Any]:
    return lambda accumulator: torch.tensor(accumulator.count, dtype=torch.int32)


def _step_kernel(node: Node) -> Callable[..., Any]:
    return lambda accumulator, step: accumulator.set_step(scalar(step, "new_global_step"))


def _scalar_input(node: Node) -> None:
    if not node.planning:
        dims_lib.with_rank(node.dims(1), 0)


_KERNELS = {
    "NumAccumulated": _count_kernel,
    "SetGlobalStep": _step_kernel,
    "ApplyGradient": _apply_kernel,
    "TakeGradient": _take_kernel,
}
for _name, _made in cards.items():
    if _name.endswith("ConditionalAccumulator"):
        _made.shape(lambda node: (2,))
        _made.kernel(_make_kernel)
        continue
    _use = _name.rpartition("Accumulator")[2]
    _made.kernel(_KERNELS[_use] if _name != "SparseAccumulatorApplyGradient"
                 else _sparse_apply_kernel)  # fmt: skip
    if _name == "SparseAccumulatorTakeGradient":
        _made.shape(lambda node: [None] * 3)
    elif _use == "TakeGradient":
        _made.shape(lambda node: None)
    elif _use == "NumAccumulated":
        _made.shape(lambda node: ())
    else:
        _made.check(_scalar_input)
