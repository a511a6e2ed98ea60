"""Checks of concrete shapes and values by an operation's card, as errors of a run."""

from __future__ import annotations

from stillflow import errors
from stillflow.graph.operation import Operation
from stillflow.ops.kernel_errors import as_op_error
from stillflow.ops.memory_limits import require_possible
from stillflow.runtime.ir.facts import Facts, PlanNode
from stillflow.util.raised import is_deliberate


def refusal(op: Operation, error: Exception) -> BaseException:
    """Return the error of a check or kernel as the error of a run."""
    if type(error) is ValueError and is_deliberate(error):
        return as_op_error(errors.invalid_argument(str(error)), op)
    return as_op_error(error, op)


def check(op: Operation, node: PlanNode, facts: Facts) -> None:
    """Apply the card's shape rule to concrete shapes; its errors are run-time errors.

    Args:
      op: the operation.
      node: what its card sees of it.
      facts: where the shapes of what it gives are noted.

    Raises:
      InvalidArgumentError: if the rule, or the card's check, fails.
    """
    card = op.card
    try:
        if card.check_part is not None:
            card.check_part(node)
        if card.shape_part is not None:
            facts.set_dims(op, card.shape_part(node))
        for tensor in op._outputs:
            dims = facts._dims.get(tensor)
            if dims and None not in dims:
                require_possible(dims, tensor.dtype, touched=not card.view)  # type: ignore[arg-type]
    except Exception as error:
        raise refusal(op, error) from None
