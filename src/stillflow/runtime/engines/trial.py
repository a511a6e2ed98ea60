"""Runs by engines: compared with the plan first, and timed where the choice is free."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from stillflow.platform import tf_logging as logging
from stillflow.runtime.engines import forks
from stillflow.runtime.engines.region import Assignment, Engine, OutOfBounds
from stillflow.runtime.engines.stored import note_of

if TYPE_CHECKING:
    from stillflow.runtime.ir.request import PlanRequest
    from stillflow.runtime.resources import Resources

Plan = Callable[..., list[Any]]
_ROUNDS = 4  # timed runs of each; the fastest counts
# Answers may differ by so many times their precision, relative to the largest value: about the
# condition of a deep network, whose sums each engine adds in an order of its own.
_CONDITION = 1000


def with_engines(make: Callable[..., Plan], resources: Resources, request: PlanRequest) -> Plan:
    """Return the plan of a run, whose pure regions the session's engines may run.

    Args:
      make: makes a plan, as `make_plan` does.
      resources: the session's state.
      request: the request of the plan.
    """
    choice = resources.engines
    if choice is None or request.raw or request.targets or request.see is not None:
        return make(resources, request)
    candidates: list[tuple[str, Plan]] = []
    assignments: dict[str, Assignment] = {}
    plain: Plan | None = None
    for engine in choice.engines:
        found, assignment = _for_any_sizes(make, resources, request, engine)
        if found is None:
            assignment = Assignment(engine)
            plan = make(resources, replace(request, engine=assignment))
            found = plan if assignment.regions else None
            plain = plan if found is None else plain  # with nothing replaced it is the plan itself
        if found is not None:
            candidates.append((engine.name, found))
            assignments[engine.name] = assignment
    if not candidates:
        return plain or make(resources, request)
    note = note_of(choice, request, assignments)
    return Trial(lambda: plain or make(resources, request), candidates, choice.timed, note)


def _for_any_sizes(
    make: Callable[..., Plan], resources: Resources, request: PlanRequest, engine: Engine
) -> tuple[Plan | None, Assignment]:
    """Return an engine's plan for all sizes that the graph leaves open, made once.

    None if the engine does not run the whole of it, or if nothing is left open.
    """
    known = tuple((tensor, value.tobytes()) for tensor, value in request.known.items())
    feeds = {
        tensor: dims if tensor._dims is None or tensor in request.known else tensor._dims
        for tensor, dims in request.feeds.items()
    }
    if not engine.any_sizes or all(dims is None or None not in dims for dims in feeds.values()):
        return None, Assignment(engine)
    edition = request.tensors[0].graph._edition if request.tensors else 0
    key = (engine.name, *request.tensors, *feeds.items(), known, edition)

    def shared() -> tuple[Plan | None, Assignment]:
        assignment = Assignment(engine)
        plan = make(resources, replace(request, feeds=feeds, engine=assignment))
        return plan if assignment.is_whole else None, assignment

    found: tuple[Plan | None, Assignment] = resources.engines.shared(key, shared)
    return found


class Trial:
    """A run that engines can do: it compares their first answers, and keeps the fastest.

    Args:
      make_plan: makes the plan without engines.
      candidates: the plans with engines, by the engines' names.
      timed: whether the plan's own kernels may be chosen, if they are faster.
      note: called with the name of an engine whose answers are right, or that of the plan.
    """

    def __init__(
        self, make_plan: Callable[[], Plan], candidates: Sequence[tuple[str, Plan]], timed: bool,
        note: Callable[[str, bool], None] = lambda name, timed: None,
    ) -> None:  # fmt: skip
        self._make_plan, self._timed, self._note = make_plan, timed, note
        self._left = dict(candidates)
        self._plain: Plan | None = None
        self._lock = threading.RLock()
        self._times: dict[str, list[float]] = {}
        self._compared = False
        self.chosen: str = ""  # the name of the engine; "plan" for the plan's own kernels
        self._function: Plan | None = None
        forks.note(self)

    def __call__(self, *arrays: Any) -> list[Any]:
        function = self._function
        if function is None:
            with self._lock:
                return self._try(arrays)
        if self.chosen == "plan":
            return function(*arrays)
        try:
            return function(*arrays)
        except Exception as error:
            return self._instead(error, arrays)

    @property
    def plain(self) -> Plan:
        """The plan without engines."""
        with self._lock:
            if self._plain is None:
                self._plain = self._make_plan()
            return self._plain

    def _instead(self, error: Exception, arrays: Sequence[Any]) -> list[Any]:
        """Run the plan where an engine failed: its error is TensorFlow's, or it has an answer."""
        values = self.plain(*arrays)
        if not _is_bound(error):
            notice(f"The engine {self.chosen} failed where the plan did not: {_first_line(error)}")
            self._keep("plan")
            self._note("plan", True)
        return values

    def after_fork(self) -> None:
        """Leave all runs of a forked process to the plan: it has none of the engine's threads."""
        self._lock, self.chosen = threading.RLock(), "plan"
        self._function = self._run_plain
        self._left.clear()

    def _run_plain(self, *arrays: Any) -> list[Any]:
        return self.plain(*arrays)

    def _keep(self, name: str) -> None:
        self.chosen = name
        self._function = self.plain if name == "plan" else self._left[name]
        if name == "plan":
            self._left.clear()

    def _try(self, arrays: Sequence[Any]) -> list[Any]:
        """Do a run while it is not yet decided by what."""
        if self._function is not None:  # another thread was quicker
            return self(*arrays)
        if not self._compared:
            return self._compare(arrays)
        names = ["plan", *self._left]
        name = min(names, key=lambda each: len(self._times.get(each, ())))
        plan = self.plain if name == "plan" else self._left[name]
        begun = time.perf_counter()
        try:
            values = plan(*arrays)
        except Exception as error:
            if name == "plan":
                raise
            values = self.plain(*arrays)
            if not _is_bound(error):
                self._drop(name, _first_line(error))
            return values
        self._times.setdefault(name, []).append(time.perf_counter() - begun)
        if all(len(self._times.get(each, ())) >= _ROUNDS for each in names):
            self._keep(min(names, key=lambda each: min(self._times[each])))
            self._note(self.chosen, True)
        return values

    def _compare(self, arrays: Sequence[Any]) -> list[Any]:
        """Run the plan and every engine, and drop the engines with other answers."""
        wanted = self.plain(*arrays)  # raises TensorFlow's errors
        agreed = []
        for name, plan in tuple(self._left.items()):
            try:
                found = plan(*arrays)
            except Exception as error:
                if not _is_bound(error):
                    self._drop(name, _first_line(error))
                continue
            problem = difference(wanted, found)
            if problem:
                self._drop(name, problem)
            else:
                agreed.append(name)
        self._compared = True
        if not self._left:
            self._keep("plan")
        elif not self._timed:
            self._keep(next(iter(self._left)))
        if agreed and agreed[0] == next(iter(self._left)):
            self._note(agreed[0], not self._timed)
        return wanted

    def _drop(self, name: str, reason: str) -> None:
        self._left.pop(name, None)
        notice(f"The engine {name} is not used for this run: {reason}")
        if not self._left:
            self._keep("plan")
            self._note("plan", True)


def _is_bound(error: BaseException | None) -> bool:
    """Return True for an error of a guard: a value that the plan has an error for."""
    while error is not None:
        if isinstance(error, OutOfBounds):
            return True
        error = error.__cause__
    return False


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__


def difference(wanted: Sequence[Any], found: Sequence[Any]) -> str:
    """Return how answers differ by more than rounding; "" if they do not."""
    for number, (one, other) in enumerate(zip(wanted, found, strict=True)):
        first, second = np.asarray(one), np.asarray(other)
        if first.shape != second.shape or first.dtype != second.dtype:
            return f"answer {number} is {second.dtype} {list(second.shape)}"
        if first.dtype.kind != "f":
            if not np.array_equal(first, second):
                return f"answer {number} differs from the plan's"
            continue
        finite = np.isfinite(first)
        if not np.array_equal(first[~finite], second[~finite], equal_nan=True):
            return f"answer {number} differs in infinities or NaNs"
        values = np.abs(first[finite], dtype=np.float64)
        allowed = _CONDITION * float(np.finfo(first.dtype).eps) * float(values.max(initial=0))
        apart = np.abs(np.subtract(first[finite], second[finite], dtype=np.float64))
        if not apart.max(initial=0) <= allowed:
            return f"answer {number} is {apart.max():.3g} from the plan's, more than {allowed:.3g}"
    return ""


@cache
def notice(text: str) -> None:
    """Say something once."""
    logging.warning(text)
