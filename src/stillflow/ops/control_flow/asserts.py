"""`tf.Assert`: a condition that must hold when the graph runs."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow import errors
from stillflow.graph import dims, dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.card import op
from stillflow.graph.conversion import convert_n_to_tensor, convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.node import Node
from stillflow.ops.control import no_op
from stillflow.ops.control_flow.cond import cond

assert_op = op("""
    Assert(condition: bool, data: [T])
    T: list(type) >= 1
    summarize: int = 3
    flags: stateful
""")


@assert_op.shape
def assert_shape(node: Node) -> Any:
    dims.with_rank(node.dims(0), 0)
    return []


@assert_op.kernel
def assert_kernel(node: Node) -> Any:
    limit = node.summarize

    def check(condition: Any, *data: Any) -> None:
        if not bool(condition):
            parts = " ".join(f"[{summarize_value(_array(value), limit)}]" for value in data)
            raise errors.InvalidArgumentError(None, None, f"assertion failed: {parts}")

    return check


def _array(value: Any) -> np.ndarray:
    return value if isinstance(value, np.ndarray) else value.float().numpy() if str(
        value.dtype
    ) == "torch.bfloat16" else value.cpu().numpy()


def summarize_value(array: np.ndarray, limit: int) -> str:
    """An array's first elements as TF prints them: `1 2 3...`, `[1 2][3 4]...`.

    Args:
      array: of any type; strings are bytes.
      limit: how many elements to print, all if negative.
    """
    total = array.size
    limit = total if limit < 0 else limit
    if array.ndim == 0:
        return _item(array.reshape(-1)[0]) if total else ""
    left = [min(limit, total)]
    text = _rows(array, left)
    if array.ndim == 1:
        text = text[1:-1]
    return text + "..." if total > limit else text


def _rows(array: np.ndarray, left: list[int]) -> str:
    if array.ndim == 1:
        items = []
        for item in array:
            if not left[0]:
                break
            items.append(_item(item))
            left[0] -= 1
        return f"[{' '.join(items)}]"
    parts = []
    for row in array:
        if not left[0]:
            break
        parts.append(_rows(row, left))
    return "".join(parts) if array.ndim == 2 else f"[{''.join(parts)}]"


def _item(item: Any) -> str:
    if isinstance(item, bytes):
        return item.decode(errors="replace")
    if isinstance(item, (bool, np.bool_)):
        return str(int(item))
    if isinstance(item, (float, np.floating)):
        return f"{float(item):.9g}" if isinstance(item, np.float32) else f"{float(item):.17g}"
    return str(item)


@export("Assert", "debugging.Assert")
def Assert(
    condition: Any, data: Any, summarize: int | None = None, name: str | None = None
) -> Any:
    """An operation that fails with `data` in its message unless `condition` holds.

    Args:
      condition: a scalar boolean tensor.
      data: tensors to print.
      summarize: how many elements of each to print.
      name: of the operation.

    Returns:
      The operation; whatever relies on the condition takes it as a control dependency.
    """
    with name_scope(name, "Assert", [condition, data]):
        values = convert_n_to_tensor(data)
        if all(value.dtype in (dtypes.string, dtypes.int32) for value in values):
            return assert_op(condition, data, summarize=summarize, name="Assert")
        condition = convert_to_tensor(condition, name="Condition")

        def fail() -> Any:
            return assert_op(condition, data, summarize=summarize, name="Assert")

        return cond(condition, no_op, fail, name="AssertGuard").op
