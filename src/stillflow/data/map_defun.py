"""A function of the rows of tensors."""

from __future__ import annotations

from typing import Any

from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.graph import get_default_graph
from stillflow.graph.tensor_shape import TensorShape
from stillflow.ops.data.rows import map_defun_op


def map_defun(
    fn: Any, elems: Any, output_dtypes: Any, output_shapes: Any, max_intra_op_parallelism: int = 1
) -> list[Any]:
    """Return calls a function for each row of tensors, and stacks the results.

    Args:
      fn: a function with an input signature, as `tf.function` makes it, from a row of each tensor
        to a list of tensors.
      elems: a list of tensors with as many rows.
      output_dtypes, output_shapes: lists of the types and shapes of the results.
      max_intra_op_parallelism: how many threads a call may use.

    Returns:
      A list of tensors.

    Raises:
      ValueError: if an argument is no list.
    """
    for name, value, what in (
        ("elems", elems, "tensors"),
        ("output_dtypes", output_dtypes, "`tf.DType` objects"),
        ("output_shapes", output_shapes, "`tf.TensorShape` objects"),
    ):
        if not isinstance(value, list):
            raise ValueError(f"`{name}` must be a list of {what}.")
    concrete = fn.get_concrete_function()
    concrete.add_to_graph(get_default_graph())
    tensors = [convert_to_tensor(element) for element in elems]
    found: list[Any] = map_defun_op(
        tensors, list(concrete.captured_inputs), output_types=output_dtypes,
        output_shapes=[TensorShape(shape) for shape in output_shapes], f=concrete,
        max_intra_op_parallelism=max_intra_op_parallelism,
    )  # fmt: skip
    return found
