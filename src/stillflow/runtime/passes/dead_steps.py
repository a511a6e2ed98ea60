"""Steps whose results nobody takes.

A control input on a pure operation orders nothing that can be seen: `tf.tuple` ties the gradients
of both arguments of a power together, and one of them is that of a constant.
"""

from __future__ import annotations

from collections.abc import Collection

from stillflow.graph.operation import Operation
from stillflow.ops.kernels import order_only
from stillflow.runtime.plan.steps import Step


def drop_unused(
    steps: list[Step], fetched: Collection[str], targets: Collection[Operation]
) -> list[Step]:
    """Return the steps without those that only compute what no other step takes.

    Args:
      steps: in the order in which they run.
      fetched: names of values that the run gives back.
      targets: operations that were asked for by themselves.
    """
    used = set(fetched)
    kept: list[Step] = []
    for step in reversed(steps):
        if _is_pure(step) and step.op not in targets and used.isdisjoint(step.outputs):
            continue
        used.update(step.inputs)
        used.update(name for name, _ in step.guard or ())
        kept.append(step)
    kept.reverse()
    return kept


def drop_no_ops(steps: list[Step]) -> list[Step]:
    """Return the steps without those of NoOp and ControlTrigger: what they order is in order."""
    return [step for step in steps if step.function is not order_only]


def _is_pure(step: Step) -> bool:
    """Return True if a step is a kernel without effect.

    A read fails for uninitialized variables.
    """
    if step.kind == "move":
        return True
    if step.kind != "call" or step.op is None or not step.outputs or step.writes:
        return False
    return step.op.card.foldable and not step.op.card.asserts
