"""`tf.hessians`: second derivatives, one row of the matrix after another, or times a vector."""

from __future__ import annotations

from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.shape import reshape, shape
from stillflow.ops.arrays.shape import size as size_of
from stillflow.ops.constants import constant
from stillflow.ops.control_flow.identity_and_group import stop_gradient
from stillflow.ops.control_flow.while_loop import while_loop
from stillflow.ops.gradients.gradients import gradients
from stillflow.ops.math.binary import multiply
from stillflow.ops.tensor_array.tensor_array import TensorArray


@export("hessians")
def hessians(
    ys: Any,
    xs: Any,
    name: str = "hessians",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: int | None = None,
) -> list[Tensor]:
    """Return the second derivatives of the sum of `ys` with respect to each of `xs`.

    Args:
      ys: tensor or list of tensors to differentiate.
      xs: tensor or list of tensors to differentiate with respect to.
      name: has no effect.
      colocate_gradients_with_ops, gate_gradients, aggregation_method: as for `tf.gradients`, for
        the first derivatives.

    Returns:
      For each x a tensor whose shape is twice that of x.

    Raises:
      LookupError: if an operation on the way has no gradient.
    """
    xs = list(xs) if isinstance(xs, (list, tuple)) else [xs]
    first = gradients(
        ys,
        xs,
        colocate_gradients_with_ops=colocate_gradients_with_ops,
        gate_gradients=gate_gradients,
        aggregation_method=aggregation_method,
    )
    return [_hessian(gradient, x) for gradient, x in zip(first, xs, strict=True)]


def _hessian(gradient: Any, x: Any) -> Tensor:
    gradient = reshape(gradient, [-1])
    n = size_of(x)
    start = [constant(0, dtypes.int32), TensorArray(x.dtype, n)]

    def row(j: Any, rows: Any) -> tuple[Any, Any]:
        return j + 1, rows.write(j, gradients(gradient[j], x)[0])

    _, rows = while_loop(lambda j, _: j < n, row, start)
    size = shape(x)
    result: Tensor = reshape(rows.stack(), concat((size, size), 0))
    return result


def hessian_vector_product(ys: Any, xs: list[Any], v: list[Any]) -> list[Any]:
    """Return the products of the second derivatives of `ys` by `xs` with `v`, without a matrix."""
    if len(v) != len(xs):
        raise ValueError("xs and v must have the same length.")
    first = gradients(ys, xs)
    products = [
        multiply(gradient, stop_gradient(factor))
        for gradient, factor in zip(first, v, strict=True)
        if gradient is not None
    ]
    return gradients(products, xs)
