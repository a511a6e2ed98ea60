"""`Session.partial_run`: one run of a graph, cut into steps that feed each other."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from stillflow.errors import invalid_argument
from stillflow.graph import dtypes
from stillflow.graph.operation import Operation, Tensor
from stillflow.runtime.loops.frames import inner_ops
from stillflow.runtime.loops.repeats import Repeats
from stillflow.runtime.plan.cache import PlanCache
from stillflow.runtime.plan.shape_policy import Recent, Shapes
from stillflow.runtime.schedule.prune import needed_ops

_REMEMBERED = 256  # steps


class PartialRun:
    """State of one partial run: its declaration, feeds, fetches and results so far.

    Args:
      handle: its name.
      fetches: all that its steps will fetch.
      feeds: all that they will feed.
      plans: those of the session, for runs of the same steps.
      edition: that of the graph.
    """

    def __init__(
        self, handle: str, fetches: Any, feeds: Sequence[Tensor], plans: PartialPlans, edition: int
    ) -> None:
        if not fetches.tensors and not fetches.targets:
            raise invalid_argument("Must specify at least one target to fetch or execute.")
        self.handle = handle
        self._plans = plans
        self._declared = fetches
        self._feeds = set(feeds)
        self._fetches = set(fetches.tensors) | set(fetches.targets)
        self._fed: dict[Tensor, Any] = {}
        self._done: set[Any] = set()
        self._executed: set[Operation] = set()
        self._values: dict[Tensor, Any] = {}  # run-time values of executed operations
        self._repeats = Repeats()
        # Declaration and steps so far: they decide about the next step.
        self._path: Any = (edition, tuple(fetches.tensors), tuple(fetches.targets), tuple(feeds))

    def run(self, resources: Any, fetches: Any, feeds: dict[Tensor, np.ndarray]) -> list[Any]:
        """Compute the next fetches from the feeds up to now.

        Raises:
          RuntimeError: if an operation is fetched, rather than a tensor.
          tf.errors.InvalidArgumentError: if a feed or fetch was not declared or was used before.
        """
        from stillflow.ops.values import from_array

        if fetches.targets:
            raise RuntimeError("partial_run() requires empty target_list.")
        self._check(fetches, feeds)
        path = (*self._path, tuple(fetches.tensors), tuple(feeds))
        step = self._plans.step(path, lambda: self._step(fetches, feeds))
        for tensor, array in feeds.items():
            self._fed[tensor] = from_array(array)
        known = {**self._fed, **self._values}
        plan = self._plans.plan(step, resources, known)
        with self._repeats.of(step.looped, resources):
            results = plan(*known.values())
        self._path = path
        self._values.update(zip(step.kept, results[len(step.fetched) :], strict=True))
        self._executed.update(step.once)
        self._done.update(fetches.tensors)
        found = dict(zip(step.fetched, results, strict=False))
        return [found[t] if t in found else _to_numpy(t, known[t]) for t in fetches.tensors]

    @property
    def is_over(self) -> bool:
        """True if all has been fed and fetched."""
        return self._done.issuperset(self._fetches) and self._feeds.issubset(self._fed)

    def _step(self, fetches: Any, feeds: dict[Tensor, np.ndarray]) -> Step:
        """Return the next step's results and the values it keeps."""
        declared, known = self._declared, {*self._fed, *self._values, *feeds}
        self._check_fed(fetches, known)
        ops = [op for op in needed_ops(fetches.tensors, [], known) if op not in self._executed]
        # A loop is kept as a whole; if a later step needs more of it, it runs again. So do
        # operations that give handles, which are no values, and those that fill arrays of tensors
        # for it.
        looped = inner_ops(ops, known)
        once = {op for op in ops if op not in looped and not _names_state(op)}
        needed = needed_ops(declared.tensors, declared.targets, list(self._feeds))
        later = [op for op in needed if op not in once and op not in self._executed]
        used = {tensor for op in later for tensor in op._inputs} | self._fetches
        kept = [
            tensor for op in needed if op in once for tensor in op._outputs
            if tensor in used and tensor not in known]  # fmt: skip
        fetched = [tensor for tensor in fetches.tensors if tensor not in known]
        return Step(fetched, kept, looped, once, frozenset(self._executed), PlanCache())

    def _check(self, fetches: Any, feeds: dict[Tensor, np.ndarray]) -> None:
        if self.is_over:
            raise invalid_argument("Must run 'setup' before performing partial runs!")
        for tensor in feeds:
            if tensor not in self._feeds:
                raise invalid_argument(
                    f"The feed {tensor.name} was not specified in partial_run_setup."
                )
            if tensor in self._fed:
                raise invalid_argument(f"The feed {tensor.name} has already been fed.")
        for item in fetches.tensors:
            if item not in self._fetches:
                raise invalid_argument(
                    f"The fetch {item.name} was not specified in partial_run_setup."
                )
            if item in self._done:
                raise invalid_argument(f"The fetch {item.name} has already been fetched.")

    def _check_fed(self, fetches: Any, known: set[Tensor]) -> None:
        missing = {tensor.op for tensor in self._feeds - known}
        if not missing.isdisjoint(needed_ops(fetches.tensors, [], known)):
            raise invalid_argument(
                f"Fetch {fetches.tensors[0].name} can't be computed from the feeds that have been "
                "fed so far."
            )


class Step(NamedTuple):
    """Computation of one step of a partial run.

    Its fields: the tensors that it fetches; those whose values later steps need; the operations
    that it runs inside of loops; those that no later step runs again; those that ran before;
    the plans for the shapes that it was run with.
    """

    fetched: list[Tensor]
    kept: list[Tensor]
    looped: set[Operation]
    once: set[Operation]
    ran: frozenset[Operation]
    plans: PlanCache[Any]


class PartialPlans:
    """Plans of a session's partial runs, by their steps' feeds and fetches so far."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._steps: Recent[Any, Step] = Recent(_REMEMBERED)

    def step(self, path: Any, make: Callable[[], Step]) -> Step:
        """Return the step at the end of a path, made if no run has gone this way before."""
        with self._lock:
            found = self._steps[path]
            if found is None:
                found = make()
                self._steps.put(path, found)
            return found

    def plan(self, step: Step, resources: Any, known: dict[Tensor, Any]) -> Callable[..., Any]:
        """Return the plan of a step for the shapes of the feeds and results."""
        from stillflow.runtime.ir.request import PlanRequest
        from stillflow.runtime.plan.plan import make_plan

        def make(shapes: Shapes) -> Callable[..., Any]:
            dims = dict(zip(known, shapes, strict=True))
            request = PlanRequest(step.fetched, [], dims, raw=step.kept, skip=step.ran)
            return make_plan(resources.drawing_again(), request)

        return step.plans.get(tuple(tuple(value.shape) for value in known.values()), make)


def _names_state(op: Operation) -> bool:
    """Return True if an operation names a variable, queue or stack, or is one of a TensorArray."""
    if op.card.handle == "tensor array":
        return True
    kinds = [tensor.dtype for tensor in op._outputs]
    return bool(kinds) and all(
        kind == dtypes.resource or (kind._is_ref_dtype and not op._inputs) for kind in kinds
    )


def _to_numpy(tensor: Tensor, value: Any) -> Any:
    from stillflow.ops.values import fetch_converter

    convert = fetch_converter(tensor, True)
    return value if convert is None else convert(value)
