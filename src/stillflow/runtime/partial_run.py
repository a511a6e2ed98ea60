"""`Session.partial_run`: one run of a graph, cut into steps that feed each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.graph import dtypes
from stillflow.graph.operation import Operation, Tensor
from stillflow.runtime.frames import inner_ops
from stillflow.runtime.prune import needed_ops
from stillflow.runtime.repeats import Repeats


class PartialRun:
    """The state of one partial run: what was declared, fed, fetched and computed so far."""

    def __init__(self, handle: str, fetches: Any, feeds: Sequence[Tensor]) -> None:
        if not fetches.tensors and not fetches.targets:
            raise errors.InvalidArgumentError(
                None, None, "Must specify at least one target to fetch or execute."
            )
        self.handle = handle
        self._feeds = set(feeds)
        self._fetches = set(fetches.tensors) | set(fetches.targets)
        self._needed = needed_ops(fetches.tensors, fetches.targets, feeds)
        self._fed: dict[Tensor, Any] = {}
        self._done: set[Any] = set()
        self._executed: set[Operation] = set()
        self._values: dict[Tensor, Any] = {}  # run-time values of executed operations
        self._repeats = Repeats()

    def run(self, resources: Any, fetches: Any, feeds: dict[Tensor, np.ndarray]) -> list[Any]:
        """Computes the next fetches from what has been fed up to now.

        Raises:
          RuntimeError: if an operation is fetched, rather than a tensor.
          tf.errors.InvalidArgumentError: if a feed or fetch was not declared or was used before.
        """
        from stillflow.runtime.plan import make_plan
        from stillflow.runtime.values import from_array

        if fetches.targets:
            raise RuntimeError("partial_run() requires empty target_list.")
        self._check(fetches, feeds)
        for tensor, array in feeds.items():
            self._fed[tensor] = from_array(array)
        known = {**self._fed, **self._values}
        ops = [
            op for op in needed_ops(fetches.tensors, fetches.targets, known)
            if op not in self._executed
        ]  # fmt: skip
        # A loop is left as a whole; if a later step needs more of it, it runs again. So does what
        # gives handles, which are no values, and what fills arrays of tensors for it.
        looped = inner_ops(ops, known)
        again = looped | {op for op in ops if _names_state(op)}
        keep = self._used_later(set(ops) - again, known)
        fetched = [tensor for tensor in fetches.tensors if tensor not in known]
        plan = make_plan(
            resources.drawing_again(),
            fetched,
            [op for op in fetches.targets if op not in self._executed],
            {tensor: tuple(value.shape) for tensor, value in known.items()},
            raw=keep,
            skip=self._executed,
        )
        with self._repeats.of(looped, resources):
            results = plan(*known.values())
        self._values.update(zip(keep, results[len(fetched) :], strict=True))
        self._executed.update(op for op in ops if op not in again)
        self._done.update(fetches.tensors, fetches.targets)
        found = dict(zip(fetched, results, strict=False))
        return [found[t] if t in found else _to_numpy(t, known[t]) for t in fetches.tensors]

    def _used_later(self, ops: set[Operation], known: dict[Tensor, Any]) -> list[Tensor]:
        """Outputs of `ops`, which run only once, that later steps or fetches still need."""
        later = [op for op in self._needed if op not in ops and op not in self._executed]
        used = {tensor for op in later for tensor in op._inputs}
        used |= {item for item in self._fetches if isinstance(item, Tensor)}
        return [
            tensor for op in self._needed if op in ops for tensor in op._outputs
            if tensor in used and tensor not in known
        ]  # fmt: skip

    def _check(self, fetches: Any, feeds: dict[Tensor, np.ndarray]) -> None:
        if self._done.issuperset(self._fetches) and self._feeds.issubset(self._fed):
            raise _invalid("Must run 'setup' before performing partial runs!")
        for tensor in feeds:
            if tensor not in self._feeds:
                raise _invalid(f"The feed {tensor.name} was not specified in partial_run_setup.")
            if tensor in self._fed:
                raise _invalid(f"The feed {tensor.name} has already been fed.")
        for item in (*fetches.tensors, *fetches.targets):
            if item not in self._fetches:
                raise _invalid(f"The fetch {item.name} was not specified in partial_run_setup.")
            if item in self._done:
                raise _invalid(f"The fetch {item.name} has already been fetched.")
        missing = self._feeds - set(self._fed) - set(feeds)
        for op in needed_ops(fetches.tensors, fetches.targets, {*self._fed, *feeds, *self._values}):
            for tensor in missing:
                if tensor.op is op:
                    name = (*fetches.tensors, *fetches.targets)[0].name
                    raise _invalid(
                        f"Fetch {name} can't be computed from the feeds that have been fed so far."
                    )


def _names_state(op: Operation) -> bool:
    """Whether an operation says what a variable, queue or stack is, or is one of a TensorArray."""
    if op.type.startswith("TensorArray"):
        return True
    kinds = [tensor.dtype for tensor in op._outputs]
    return bool(kinds) and all(
        kind == dtypes.resource or (kind._is_ref_dtype and not op._inputs) for kind in kinds
    )


def _invalid(message: str) -> errors.OpError:
    return errors.InvalidArgumentError(None, None, message)


def _to_numpy(tensor: Tensor, value: Any) -> Any:
    from stillflow.runtime.values import fetch_converter

    convert = fetch_converter(tensor, True)
    return value if convert is None else convert(value)
