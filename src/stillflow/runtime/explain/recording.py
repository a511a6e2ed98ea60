"""Recording of the plans that are made while somebody asks for reports.

Every plan comes by, so the reports themselves are imported when one is asked for.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stillflow.runtime.explain.record import PlanReport as PlanReport
    from stillflow.runtime.ir.request import PlanRequest
    from stillflow.runtime.ir.steps import Step


class _Recording:
    """Reports of the plans that are made, in order, and whether these time their steps."""

    def __init__(self, timed: bool) -> None:
        self.timed = timed
        self.plans: list[PlanReport] = []


_recordings: list[_Recording] = []  # the innermost counts


@contextlib.contextmanager
def recorded(timed: bool = False) -> Iterator[list[PlanReport]]:
    """Have plans that are made inside report themselves into the list that is given.

    If `timed`, they also note how long each step takes, in every run.
    """
    recording = _Recording(timed)
    _recordings.append(recording)
    try:
        yield recording.plans
    finally:
        _recordings.remove(recording)


def begin(request: PlanRequest) -> PlanReport | None:
    """Open a report of the plan that is about to be made; None if nobody asks."""
    if not _recordings:
        return None
    from stillflow.runtime.explain.record import PlanReport

    fetches = [*request.tensors, *request.raw]
    names = [tensor.name for tensor in fetches] + [op.name for op in request.targets]
    fed = [(tensor.name, dims) for tensor, dims in request.feeds.items()]
    report = PlanReport(names, fed, _recordings[-1].timed)
    _recordings[-1].plans.append(report)
    return report


def timed_emitter(emitter: Any, report: PlanReport | None) -> type[Any]:
    """Return a kind of emitter whose plans time their steps, if the report asks for it.

    Else the same.
    """
    return emitter if report is None or not report.timed else _timed(emitter, report)


def _timed(emitter: Any, report: PlanReport) -> type[Any]:
    clock: Callable[[], float] = time.perf_counter
    last = clock()

    def begin_run() -> None:
        nonlocal last
        report.runs += 1
        last = clock()

    def end_step(number: int) -> None:
        nonlocal last
        now = clock()
        report.lines[number].seconds += now - last
        last = now

    class Timed(emitter):
        """Emitter that adds a clock call behind every step."""

        def __init__(self, *args: Any) -> None:
            super().__init__(*args)
            self._written = 0

        def step(self, step: Step) -> None:
            if not self._written:
                self.line((), f"{self.bind(begin_run, 'clock')}()")
            super().step(step)
            self.line((), f"{self.bind(end_step, 'clock')}({self._written})")
            self._written += 1

    return Timed
