"""Transfers between the host and a running computation of TPUs: infeed and outfeed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.card import op
from stillflow.graph.export import export
from stillflow.graph.node import Node
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.parts import OutputDims

infeed_dequeue_op = op(
    "InfeedDequeue() -> output: dtype; dtype: type; shape: shape; flags: stateful", elsewhere=True
)
infeed_dequeue_tuple_op = op(
    """
    InfeedDequeueTuple() -> outputs: [dtypes]
    dtypes: list(type) >= 1
    shapes: list(shape)
    flags: stateful
""",
    elsewhere=True,
)
infeed_enqueue_op = op(
    """
    InfeedEnqueue(input: dtype)
    dtype: type
    shape: shape = []
    layout: list(int) = []
    device_ordinal: int = -1
    flags: stateful
""",
    elsewhere=True,
)
infeed_enqueue_tuple_op = op(
    """
    InfeedEnqueueTuple(inputs: [dtypes])
    dtypes: list(type) >= 1
    shapes: list(shape)
    layouts: list(int) = []
    device_ordinal: int = -1
    flags: stateful
""",
    elsewhere=True,
)
outfeed_dequeue_op = op(
    """
    OutfeedDequeue() -> output: dtype
    dtype: type
    shape: shape
    device_ordinal: int = -1
    flags: stateful
""",
    elsewhere=True,
)
outfeed_dequeue_tuple_op = op(
    """
    OutfeedDequeueTuple() -> outputs: [dtypes]
    dtypes: list(type) >= 1
    shapes: list(shape)
    device_ordinal: int = -1
    flags: stateful
""",
    elsewhere=True,
)
outfeed_enqueue_op = op(
    "OutfeedEnqueue(input: dtype); dtype: type; flags: stateful", elsewhere=True
)
outfeed_enqueue_tuple_op = op(
    "OutfeedEnqueueTuple(inputs: [dtypes]); dtypes: list(type) >= 1; flags: stateful",
    elsewhere=True,
)

# Types that a computation can receive.
_SUPPORTED = frozenset((
    dtypes.bool, dtypes.int32, dtypes.int64, dtypes.bfloat16, dtypes.float32, dtypes.complex64,
    dtypes.uint32,
))  # fmt: skip


@infeed_dequeue_op.shape
@outfeed_dequeue_op.shape
def one_shape(node: Node) -> OutputDims:
    return node.shape._dims


@infeed_dequeue_tuple_op.check
def infeed_dequeue_tuple_check(node: Node) -> None:
    if len(node.shapes) > len(node.dtypes):
        raise ValueError(f"{len(node.shapes)} shapes for {len(node.dtypes)} tensors")


@infeed_dequeue_tuple_op.shape
def infeed_dequeue_tuple_shape(node: Node) -> OutputDims:
    missing = [None] * (len(node.dtypes) - len(node.shapes))
    return [shape._dims for shape in node.shapes] + missing


@outfeed_dequeue_tuple_op.shape
def outfeed_dequeue_tuple_shape(node: Node) -> OutputDims:
    if len(node.shapes) != len(node.dtypes):
        raise ValueError("Incorrect number of output shapes specified")
    return [shape._dims for shape in node.shapes]


def _check_type(dtype: Any) -> None:
    if dtype not in _SUPPORTED:
        raise TypeError(
            f"{dtype!r} is not a supported TPU infeed type. Supported types are: "
            f"{sorted(_SUPPORTED, key=lambda each: each.name)}"
        )


@export("contrib.tpu.infeed_dequeue")
def infeed_dequeue(dtype: Any, shape: Any, name: str | None = None) -> Tensor:
    """Return a tensor that the host hands in; only TPUs take it.

    Args:
      dtype: its type.
      shape: its shape.
      name: of the operation.

    Raises:
      TypeError: for a type that cannot be handed in.
    """
    _check_type(dtype)
    return infeed_dequeue_op(dtype=dtype, shape=shape, name=name)


@export("contrib.tpu.infeed_dequeue_tuple")
def infeed_dequeue_tuple(
    dtypes: Sequence[Any], shapes: Sequence[Any], name: str | None = None
) -> list[Tensor]:
    """Tensors that the host hands in together.

    Args:
      dtypes: their types.
      shapes: their shapes.
      name: of the operation.

    Raises:
      TypeError: for a type that cannot be handed in.
    """
    for dtype in dtypes:
        _check_type(dtype)
    return infeed_dequeue_tuple_op(dtypes=dtypes, shapes=shapes, name=name)


@export("contrib.tpu.infeed_enqueue")
def infeed_enqueue(
    input: Any, shape: Any = [], layout: Sequence[int] = [], device_ordinal: int = -1,  # noqa: B006
    name: str | None = None,
) -> Operation:  # fmt: skip
    """Hand a tensor to a device.

    Args:
      input: the tensor.
      shape: its shape.
      layout: the order of its dimensions in memory, the fastest first; the device's own if empty.
      device_ordinal: which device; -1 where the operation itself is on one.
      name: of the operation.
    """
    return infeed_enqueue_op(
        input, shape=shape, layout=layout, device_ordinal=device_ordinal, name=name
    )


@export("contrib.tpu.infeed_enqueue_tuple")
def infeed_enqueue_tuple(
    inputs: Sequence[Any], shapes: Sequence[Any], layouts: Sequence[int] = [],
    device_ordinal: int = -1, name: str | None = None,
) -> Operation:  # fmt: skip
    """Hand several tensors to a device together.

    Args:
      inputs: the tensors.
      shapes: their shapes.
      layouts: the orders of their dimensions in memory, one after the other.
      device_ordinal: which device; -1 where the operation itself is on one.
      name: of the operation.
    """
    return infeed_enqueue_tuple_op(
        inputs, shapes=shapes, layouts=layouts, device_ordinal=device_ordinal, name=name
    )


@export("contrib.tpu.outfeed_dequeue")
def outfeed_dequeue(
    dtype: Any, shape: Any, device_ordinal: int = -1, name: str | None = None
) -> Tensor:
    """Return a tensor that a device hands out; waits for it.

    Args:
      dtype: its type.
      shape: its shape.
      device_ordinal: which device; -1 where the operation itself is on one.
      name: of the operation.
    """
    return outfeed_dequeue_op(dtype=dtype, shape=shape, device_ordinal=device_ordinal, name=name)


@export("contrib.tpu.outfeed_dequeue_tuple")
def outfeed_dequeue_tuple(
    dtypes: Sequence[Any], shapes: Sequence[Any], device_ordinal: int = -1,
    name: str | None = None,
) -> list[Tensor]:  # fmt: skip
    """Tensors that a device hands out together; waits for them.

    Args:
      dtypes: their types.
      shapes: their shapes.
      device_ordinal: which device; -1 where the operation itself is on one.
      name: of the operation.
    """
    return outfeed_dequeue_tuple_op(
        dtypes=dtypes, shapes=shapes, device_ordinal=device_ordinal, name=name
    )


@export("contrib.tpu.outfeed_enqueue")
def outfeed_enqueue(input: Any, name: str | None = None) -> Operation:
    """Hand a tensor of a computation to the host.

    Args:
      input: the tensor.
      name: of the operation.
    """
    return outfeed_enqueue_op(input, name=name)


@export("contrib.tpu.outfeed_enqueue_tuple")
def outfeed_enqueue_tuple(inputs: Sequence[Any], name: str | None = None) -> Operation:
    """Hand several tensors of a computation to the host together.

    Args:
      inputs: the tensors.
      name: of the operation.
    """
    return outfeed_enqueue_tuple_op(inputs, name=name)
