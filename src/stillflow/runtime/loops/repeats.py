"""Repetition of a loop with the same results as its first run.

A step of a partial run that needs more of a loop than an earlier one runs the loop once more, where
TensorFlow has kept the loop's other results. Random numbers are drawn again from the first run's
positions; operations that would have an effect twice raise an error.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator
from typing import Any

from stillflow import errors
from stillflow.graph.operation import Operation
from stillflow.ops.random.philox import Philox
from stillflow.ops.random.streams import OpStream
from stillflow.runtime.ir.facts import op_state


class Repeats:
    """Loops' operations that have run, and the earlier positions of their random streams."""

    def __init__(self) -> None:
        self._ran: set[Operation] = set()
        self._starts: dict[Operation, Philox] = {}

    @contextlib.contextmanager
    def of(self, ops: Collection[Operation], resources: Any) -> Iterator[None]:
        """Make `ops`, those of the loops of a step, draw the numbers of their earlier run.

        Args:
          ops: operations inside of loops.
          resources: those of the session.

        Raises:
          UnimplementedError: If one of them ran before and may not run twice.
        """
        streams = {op: op_state(resources, op) for op in ops}
        for op in self._ran.intersection(ops):
            if isinstance(streams[op], OpStream):
                streams[op].move_to(self._starts[op])
            elif not _may_run_twice(op):
                raise errors.unimplemented(
                    "This step of a partial run needs a loop that an earlier step has run. "
                    f"Stillflow would run it again: what its operation {op.type} does would be "
                    "done twice. Fetch all that is needed of the loop in one step.",
                    op,
                )
        before = {op: s.position() for op, s in streams.items() if isinstance(s, OpStream)}
        yield
        for op in set(ops) - self._ran:
            stream = op_state(resources, op)
            if isinstance(stream, OpStream):
                self._starts[op] = before[op] if op in before else stream.start()
        self._ran.update(ops)


def _may_run_twice(op: Operation) -> bool:
    card = op.card
    if card.effect in ("pure", "reads files") or card.idempotent:
        return True
    return card.handle in ("stack", "tensor array")  # the second run has its own
