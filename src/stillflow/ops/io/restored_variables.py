"""Kernel of a RestoreV2 together with the assignments of what it reads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from stillflow.graph.lazy import torch
from stillflow.graph.operation import Operation
from stillflow.ops.io.bundles import Restore
from stillflow.ops.kernel_errors import as_op_error, raise_from
from stillflow.ops.variables.reference import Assignment


def restore_into(
    restore: Restore, assignments: Sequence[Assignment], ops: Sequence[Operation | None]
) -> Callable[..., None]:
    """Return a function of a RestoreV2's inputs, and of the references that take its outputs.

    Values go from the file to the variables' memory where this is known.

    Args:
      restore: reads the values.
      assignments: of each value.
      ops: the operations of the assignments, which errors name.
    """
    shapes = [assignment.expected for assignment in assignments]

    def run(prefix: Any, names: Any, specs: Any, *refs: Any) -> None:
        targets = [
            _memory(ref.value, shape, dtype)
            for ref, shape, dtype in zip(refs, shapes, restore.dtypes)
        ]
        known = all(target is not None for target in targets)
        if known and restore.into(targets, prefix, names, specs):
            for ref, target in zip(refs, targets):
                ref.value = target
            return
        found = restore(prefix, names, specs)
        values = [found] if len(refs) == 1 else found
        for assign, op, ref, value in zip(assignments, ops, refs, values):
            try:
                assign(ref, value)
            except Exception as error:
                raise_from(as_op_error(error, op), error)

    return run


def _memory(current: Any, shape: Any, dtype: Any) -> Any:
    """Return the memory for a variable's next value of this shape; None if it is not known."""
    if current is not None:
        return current if shape is None or shape == current.shape else None
    if shape is None or dtype.torch_name is None:
        return None
    return torch.empty(shape, dtype=getattr(torch, dtype.torch_name))
