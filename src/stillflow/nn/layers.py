"""Small compositions: layers without variables, the fraction of zeros."""

from __future__ import annotations

from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.ops.arrays.fill import zeros
from stillflow.ops.arrays.shape import size
from stillflow.ops.control_flow.cond import cond
from stillflow.ops.control_flow.identity_and_group import identity
from stillflow.ops.linalg.matmul import matmul
from stillflow.ops.math.cast import cast
from stillflow.ops.math.comparison import not_equal
from stillflow.ops.math.reductions import reduce_sum
from stillflow.ops.nn.activations import relu
from stillflow.ops.nn.bias import bias_add


def _converted(x: Any, weights: Any, biases: Any) -> tuple[Tensor, Tensor, Tensor]:
    return (
        convert_to_tensor(x, name="x"),
        convert_to_tensor(weights, name="weights"),
        convert_to_tensor(biases, name="biases"),
    )


@export("nn.xw_plus_b")
def xw_plus_b(x: Any, weights: Any, biases: Any, name: str | None = None) -> Tensor:
    """`matmul(x, weights) + biases`.

    Args:
      x: [batch, inputs] of numbers.
      weights: [inputs, units], of the same type.
      biases: [units].
      name: of the operation.

    Returns:
      [batch, units], of the same type.

    Example:
      >>> print(tf.Session().run(tf.nn.xw_plus_b([[1, 2]], [[3], [4]], [100])))
      [[111]]
    """
    with name_scope(name, "xw_plus_b", [x, weights, biases]) as scope:
        x, weights, biases = _converted(x, weights, biases)
        return bias_add(matmul(x, weights), biases, name=scope)


@export("nn.relu_layer")
def relu_layer(x: Any, weights: Any, biases: Any, name: str | None = None) -> Tensor:
    """`relu(matmul(x, weights) + biases)`."""
    with name_scope(name, "relu_layer", [x, weights, biases]) as scope:
        x, weights, biases = _converted(x, weights, biases)
        return relu(bias_add(matmul(x, weights), biases), name=scope)


def _count_nonzero(value: Tensor, dtype: Any) -> Tensor:
    with name_scope("count_nonzero", values=[value]):
        zero = zeros([], dtype=value.dtype)
        return reduce_sum(cast(not_equal(value, zero), dtype=dtype), name="nonzero_count")


@export("math.zero_fraction", "nn.zero_fraction")
def zero_fraction(value: Any, name: str | None = None) -> Tensor:
    """Return the fraction of elements that are zero, a float32 scalar."""
    with name_scope(name, "zero_fraction", [value]):
        value = convert_to_tensor(value, name="value")
        count = size(value, out_type=dtypes.int64)
        nonzero = cond(
            count <= dtypes.int32.max,
            true_fn=lambda: cast(_count_nonzero(value, dtypes.int32), dtype=dtypes.int64),
            false_fn=lambda: _count_nonzero(value, dtypes.int64),
        )
        with name_scope("counts_to_fraction"):
            zero = count - nonzero
            fraction = cast(zero, dtype=dtypes.float32) / cast(count, dtype=dtypes.float32)
        return identity(fraction, "fraction")
