"""`tf.Assert`: a condition that must hold when the graph runs."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow import errors
from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.card import op
from stillflow.graph.conversion import convert_n_to_tensor, convert_to_tensor
from stillflow.graph.eager_mode import executing_eagerly
from stillflow.graph.export import export
from stillflow.graph.node import Node
from stillflow.graph.operation import Operation
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.graph.summarize import summarize
from stillflow.ops.control_flow.cond import cond
from stillflow.ops.control_flow.identity_and_group import no_op

assert_op = op(
    """
    Assert(condition: bool, data: [T])
    T: list(type) >= 1
    summarize: int = 3
    flags: stateful
""",
    reads_on_host=True,
    latency="brief",
    idempotent=True,
)


@assert_op.shape
def assert_shape(node: Node) -> OutputDims:
    return []


@assert_op.kernel
def assert_kernel(node: Node) -> Kernel:
    limit = node.summarize

    def check(condition: Any, *data: Any) -> None:
        if getattr(condition, "ndim", 0):
            shape = ",".join(map(str, condition.shape))
            raise errors.invalid_argument(f"In[0] should be a scalar: [{shape}]")
        if not bool(condition):
            parts = " ".join(f"[{summarize(_array(value), limit)}]" for value in data)
            raise errors.invalid_argument(f"assertion failed: {parts}")

    return check


def _array(value: Any) -> np.ndarray:
    return (
        value
        if isinstance(value, np.ndarray)
        else value.float().numpy()
        if str(value.dtype) == "torch.bfloat16"
        else value.cpu().numpy()
    )


@export("Assert", "debugging.Assert")
def Assert(
    condition: Any, data: Any, summarize: int | None = None, name: str | None = None
) -> Operation | None:
    """Return an operation that fails with `data` in its message unless `condition` holds.

    Args:
      condition: a scalar boolean tensor.
      data: tensors to print.
      summarize: how many elements of each to print.
      name: of the operation.

    Returns:
      The operation, for consumers of the condition as a control dependency. None where
      operations run when they are called.

    Raises:
      tf.errors.InvalidArgumentError: if it does not hold, where operations run when called.

    Example:
      >>> x = tf.placeholder(tf.float32, [])
      >>> with tf.control_dependencies([tf.Assert(x > 0, [x])]): y = tf.sqrt(x)
      >>> print(tf.Session().run(y, {x: 4.0}))
      2.0
    """
    if executing_eagerly():
        if not condition:
            shown = "\n".join(_shown(value, summarize) for value in convert_n_to_tensor(data))
            raise errors.invalid_argument(
                f"Expected '{condition!s}' to be true. Summarized data: {shown}"
            )
        return None
    with name_scope(name, "Assert", [condition, data]):
        values = convert_n_to_tensor(data)
        if all(value.dtype in (dtypes.string, dtypes.int32) for value in values):
            return assert_op(condition, data, summarize=summarize, name="Assert")
        condition = convert_to_tensor(condition, name="Condition")

        def fail() -> Operation:
            return assert_op(condition, data, summarize=summarize, name="Assert")

        return cond(condition, no_op, fail, name="AssertGuard").op


def _shown(tensor: Any, limit: int | None) -> str:
    """Return the first elements of a tensor that has a value."""
    value = np.asarray(tensor)
    if not value.ndim:
        return str(value[()])
    count = 3 if limit is None else limit if limit >= 0 else value.size
    more = ["..."] if value.size > count else []
    return ", ".join([str(item) for item in value.ravel()[:count]] + more)
