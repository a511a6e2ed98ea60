"""Operations that cannot be exported, and places to cut the graph instead."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from stillflow.errors import UnimplementedError
from stillflow.graph.operation import Operation, Tensor
from stillflow.runtime.explain.record import place_of

_MOST = 10  # problems that are named


class Problem(NamedTuple):
    """An operation that cannot be exported.

    Attributes:
      op: the operation.
      reason: what it does.
    """

    op: Operation
    reason: str


class ExportError(UnimplementedError):
    """Error: an export is not possible; the message names the nodes and the remedy.

    Attributes:
      problems: the operations.
      proposals: names of tensors that could be inputs instead of them.
    """

    def __init__(
        self, message: str, problems: Sequence[Problem] = (), proposals: Sequence[str] = ()
    ) -> None:
        first = problems[0].op if problems else None
        super().__init__(None if first is None else first.node_def, first, message)
        self.problems = tuple(problems)
        self.proposals = tuple(proposals)


def explained(problems: Sequence[Problem], inputs: Sequence[Tensor]) -> ExportError:
    """Return the error of operations that cannot be exported; its proposals keep `inputs`."""
    lines = ["these operations cannot be exported:"]
    for problem in problems[:_MOST]:
        place = place_of(problem.op)
        where = f", made at {place}" if place else ""
        lines.append(f"  {problem.op.name} ({problem.op.type}) {problem.reason}{where}")
    if len(problems) > _MOST:
        lines.append(f"  and {len(problems) - _MOST} more")
    cuts = proposals([problem.op for problem in problems])
    if cuts:
        kept = [tensor.name for tensor in inputs]
        lines.append(f"cut the graph behind them: --inputs {','.join([*kept, *cuts])}")
    return ExportError("\n".join(lines), problems, cuts)


def proposals(blocked: Sequence[Operation]) -> list[str]:
    """Names of the tensors with numbers that operations which cannot go out give to others."""
    found: dict[str, None] = {}
    seen = set(blocked)
    stack = list(blocked)
    while stack:
        op = stack.pop(0)
        for tensor in op._outputs:
            if tensor.dtype.name in ("resource", "variant", "string") or tensor.dtype._is_ref_dtype:
                users = [user for user in tensor.consumers() if user not in seen]
                seen.update(users)
                stack.extend(users)
            elif tensor.consumers():
                found[tensor.name] = None
    return list(found)
