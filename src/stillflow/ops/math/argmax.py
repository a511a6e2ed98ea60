"""Positions of the largest or smallest elements along an axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.graph import dims, dtypes
from stillflow.graph.card import Card, op
from stillflow.graph.export import export
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients, Kernel, OutputDims
from stillflow.graph.traits import Cost
from stillflow.ops.dispatch import dispatchable
from stillflow.ops.math.kernels import ANY_NUMBER
from stillflow.ops.math.reduction_kernels import arg_extreme
from stillflow.ops.samples import Bad, Sample, Samples
from stillflow.util.renamed import renamed_argument

_SIGNATURE = f"""(input: T, dimension: Tidx) -> output: output_type
    T: {ANY_NUMBER}
    Tidx: {{int32, int64}} = int32
    output_type: {{int32, int64}} = int64
"""

arg_max_op = op(
    "ArgMax" + _SIGNATURE, numbers=("dimension",), cost=Cost(counts="first input"), batching="vmap"
)
arg_min_op = op(
    "ArgMin" + _SIGNATURE, numbers=("dimension",), cost=Cost(counts="first input"), batching="vmap"
)


@arg_max_op.shape
@arg_min_op.shape
def arg_extreme_shape(node: Node) -> OutputDims:
    if node.planning:
        if node.dims(1) not in (None, ()):
            raise ValueError(
                "dim must be a scalar, but received tensor of shape: "
                f"{dims.to_string(node.dims(1))}"
            )
    else:
        dims.with_rank(node.dims(1), 0)
    shape = node.dims(0)
    if shape is None:
        return None
    if len(shape) <= 1:
        return ()
    axis = node.value(1)
    if axis is None:
        return (None,) * (len(shape) - 1)
    number, rank = int(axis), len(shape)
    if not -rank <= number < rank:
        if node.planning:
            raise ValueError(f"Expected dimension in the range [{-rank}, {rank}), but got {number}")
        raise ValueError(
            f"Dimension ({number}) must be in the range [{-rank}, {rank}), where {rank} is the "
            "number of dimensions in the input."
        )
    number %= rank
    return shape[:number] + shape[number + 1 :]


@arg_max_op.kernel
def arg_max_kernel(node: Node) -> Kernel:
    return arg_extreme(node, largest=True)


@arg_min_op.kernel
def arg_min_kernel(node: Node) -> Kernel:
    return arg_extreme(node, largest=False)


@arg_max_op.gradient
@arg_min_op.gradient
def arg_extreme_gradient(node: Node, grad: Any) -> Gradients:
    return [None, None]


@arg_max_op.samples
@arg_min_op.samples
def arg_extreme_samples() -> Samples:
    x = np.array([[1.0, 4.0, 4.0], [0.5, -4.0, -1.5]], np.float32)
    yield Sample(x, np.int32(1), fixed=(1,), grad=False)
    yield Sample(x, np.int64(-2), fixed=(1,), grad=False, output_type=dtypes.int32)
    yield Bad(x, np.int32(2), match="in the range")


def _find(card: Card, x: Any, axis: Any, output_type: Any, name: str | None) -> Tensor:
    return card(x, 0 if axis is None else axis, output_type=output_type, name=name)


@export("math.argmax", "argmax")
@dispatchable
def argmax(
    input: Any,
    axis: Any = None,
    name: str | None = None,
    dimension: Any = None,
    output_type: Any = dtypes.int64,
) -> Tensor:
    """Return the position of the largest element along an axis; of several, the first.

    Args:
      input: a tensor of numbers.
      axis: a scalar, by default 0.
      name: of the operation.
      dimension: the older name of `axis`.
      output_type: int32 or int64.

    Example:
      >>> scores = [[0.1, 0.7, 0.2], [0.5, 0.3, 0.2]]
      >>> print(tf.Session().run(tf.argmax(scores, axis=1)))
      [1 0]
    """
    axis = renamed_argument("axis", axis, "dimension", dimension)
    return _find(arg_max_op, input, axis, output_type, name)


@export("math.argmin", "argmin")
@dispatchable
def argmin(
    input: Any,
    axis: Any = None,
    name: str | None = None,
    dimension: Any = None,
    output_type: Any = dtypes.int64,
) -> Tensor:
    """Return the position of the smallest element along an axis; see `argmax`."""
    axis = renamed_argument("axis", axis, "dimension", dimension)
    return _find(arg_min_op, input, axis, output_type, name)


@export("arg_max")
@dispatchable
def arg_max(
    input: Any, dimension: Any, output_type: Any = dtypes.int64, name: str | None = None
) -> Tensor:
    """Return the older spelling of `argmax`."""
    return _find(arg_max_op, input, dimension, output_type, name)


@export("arg_min")
@dispatchable
def arg_min(
    input: Any, dimension: Any, output_type: Any = dtypes.int64, name: str | None = None
) -> Tensor:
    """Return the older spelling of `argmin`."""
    return _find(arg_min_op, input, dimension, output_type, name)
