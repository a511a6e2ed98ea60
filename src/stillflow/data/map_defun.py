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
    """Call a function for each row of tensors, and stack the results in a list.

    `fn` has an input signature, as `tf.function` makes it. All of `elems` have as many rows; a call
    may use `max_intra_op_parallelism` threads.
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
