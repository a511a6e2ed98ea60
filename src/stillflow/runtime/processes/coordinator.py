"""The coordinator: a thread of rank 0 that says which operations all ranks run, in which order.

Ranks come to their operations in different orders, and collective operations need one. So each rank
announces an operation when its input exists. The coordinator waits until all have announced it,
compares their requests, and tells all ranks the next batch. While a batch runs, the next one grows:
the slower the network, the more tensors are reduced in one piece.
"""

from __future__ import annotations

import json
import selectors
import time
from collections.abc import Iterable
from multiprocessing.connection import Connection
from typing import Any

from stillflow.platform import tf_logging as logging
from stillflow.runtime.processes.requests import Request, disagreement, next_batch, shared_facts
from stillflow.runtime.processes.settings import Settings
from stillflow.runtime.processes.timeline import Timeline

_TICK = 0.5  # seconds between two looks for requests that wait long
_SILENT = 3.0  # seconds after which a rank that is asked counts as stopped


class _Pending:
    """The requests of the ranks that have come to an operation."""

    __slots__ = ("begun", "requests", "told")

    def __init__(self) -> None:
        self.requests: dict[int, Request] = {}
        self.begun = time.monotonic()
        self.told = False


class Coordinator:
    """The one that matches requests.

    Args:
      members: the connection to each rank, this one's included.
      settings: limits of the group.
      timeline: takes the times at which operations were announced and run.
    """

    def __init__(
        self, members: dict[int, Connection], settings: Settings, timeline: Timeline
    ) -> None:
        self._members, self._settings, self._timeline = members, settings, timeline
        self._size = len(members)
        self._pending: dict[str, _Pending] = {}
        self._complete: dict[str, dict[int, Request]] = {}
        self._joined: dict[int, None] = {}
        self._gone: dict[int, str] = {}
        self._running: tuple[list[str], float] | None = None  # rank 0's batch, and since when
        self._told_of_running = False
        self._heard = dict.fromkeys(members, time.monotonic())
        self._selector = selectors.DefaultSelector()
        for rank, connection in members.items():
            self._selector.register(connection, selectors.EVENT_READ, rank)

    def run(self) -> None:
        """Serve until all ranks have left."""
        while self._members:
            for key, _ in self._selector.select(_TICK):
                self._receive(key.data)
            self._dispatch()
            self._look_for_stalls()
        self._selector.close()

    def _receive(self, rank: int) -> None:
        connection = self._members.get(rank)
        if connection is None:
            return
        try:
            kind, *rest = json.loads(connection.recv_bytes())
        except (EOFError, OSError, ValueError):
            self._leave(rank, "has ended")
            return
        self._heard[rank] = time.monotonic()
        if kind == "want":
            for each in rest[0]:
                self._want(rank, Request(*each))
        elif kind == "done":
            self._running, self._told_of_running = None, False
        elif kind == "join":
            self._join(rank)
        elif kind == "bye":
            if rank == 0:  # this thread ends with its process
                self._tell(["end"], self._members)
            self._leave(rank, "has shut down")

    def _want(self, rank: int, request: Request) -> None:
        pending = self._pending.get(request.name)
        if pending is None:
            pending = self._pending[request.name] = _Pending()
            self._timeline.begin(request.name, f"NEGOTIATE_{request.kind.upper()}")
        pending.requests[rank] = request
        if self._gone:
            self._fail_for_the_gone([request.name])
        else:
            self._advance(request.name)

    def _advance(self, name: str) -> None:
        """Queue an operation that all ranks have come to."""
        requests = self._pending[name].requests
        if len(requests.keys() | self._joined.keys()) < self._size:
            return
        text = disagreement(requests)
        kind = next(iter(requests.values())).kind
        if text is None and len(requests) < self._size and kind != "allreduce":
            text = f"{name}: {kind} is not supported after a rank has joined"
        if text is not None:
            self._fail(name, "FailedPreconditionError", text)
            return
        del self._pending[name]
        self._timeline.end(name)
        self._complete[name] = requests

    def _dispatch(self) -> None:
        if self._running is not None or not self._complete:
            return
        ready = [next(iter(requests.values())) for requests in self._complete.values()]
        batch = next_batch(ready, self._settings.fusion_bytes)
        names = [each.name for each in batch]
        requests = [self._complete.pop(name) for name in names]
        facts = shared_facts(requests[0])
        self._running = names, time.monotonic()
        self._timeline.run(names, batch[0].kind)
        self._tell(["run", names, facts, list(batch) if self._joined else []], self._members)

    def _join(self, rank: int) -> None:
        self._joined[rank] = None
        for name in list(self._pending):
            self._advance(name)
        if len(self._joined) == self._size:
            self._joined.clear()
            self._tell(["joined", rank], self._members)

    def _leave(self, rank: int, how: str) -> None:
        connection = self._members.pop(rank)
        self._selector.unregister(connection)
        connection.close()
        self._gone[rank] = how
        if how == "has ended":  # perhaps in the middle of an operation that runs
            self._tell(["lost", f"rank {rank} {how}"], self._members)
        self._fail_for_the_gone(list(self._pending))

    def _fail_for_the_gone(self, names: Iterable[str]) -> None:
        for name in names:
            requests = self._pending[name].requests
            missing = [rank for rank in self._gone if rank not in requests]
            rank = missing[0] if missing else next(iter(self._gone))
            end = f", and has not come to {name}" if missing else f" before {name} was run"
            self._fail(name, "UnknownError", f"rank {rank} {self._gone[rank]}{end}")

    def _fail(self, name: str, kind: str, text: str) -> None:
        """Tell the ranks that have come to an operation that it cannot be run."""
        requests = self._pending.pop(name).requests
        self._timeline.end(name)
        self._tell(["fail", [name], kind, text], requests)

    def _look_for_stalls(self) -> None:
        warn, fail = self._settings.warn_seconds, self._settings.fail_seconds
        if not (warn or fail):
            return
        now = time.monotonic()
        if self._running is not None:
            self._look_for_stopped(*self._running, now)
        for name, pending in list(self._pending.items()):
            waited = now - pending.begun
            if fail and waited > fail:
                text = f"{name}: {self._missing(pending)} did not come within {fail:g} seconds"
                self._fail(name, "DeadlineExceededError", text)
            elif warn and waited > warn and not pending.told:
                pending.told = True
                logging.warning(
                    "%s has waited for more than %g seconds: %s did not come to it yet, ranks %s "
                    "did. All ranks have to run the same collective operations; a rank that failed "
                    "or takes another branch holds the others up.",
                    name, warn, self._missing(pending), sorted(pending.requests),
                )  # fmt: skip

    def _look_for_stopped(self, names: list[str], since: float, now: float) -> None:
        """Ask all ranks whether they are there, while a batch runs for long; name those silent."""
        warn, fail = self._settings.warn_seconds, self._settings.fail_seconds
        least = min(limit for limit in (warn, fail) if limit)
        if now - since < max(least - _SILENT, least / 2):
            return
        self._tell(["there?"], self._members)
        silent = [
            rank for rank in self._members if now - self._heard[rank] > min(_SILENT, least / 2)
        ]
        if not silent or now - since < least:
            return
        text = f"{_ranks(silent)}, which does not answer any more"
        if fail and now - since > fail:
            self._tell(["lost", text], self._members)
            self._running = None
        elif warn and not self._told_of_running:
            self._told_of_running = True
            logging.warning("%s runs for more than %g seconds: it waits for %s.",
                            names[0], warn, text)  # fmt: skip

    def _missing(self, pending: _Pending) -> str:
        ranks = sorted(set(range(self._size)) - pending.requests.keys() - self._joined.keys())
        return _ranks(ranks)

    def _tell(self, message: list[Any], ranks: Iterable[int]) -> None:
        data = json.dumps(message).encode()
        for rank in list(ranks):
            connection = self._members.get(rank)
            if connection is None:
                continue
            try:
                connection.send_bytes(data)
            except OSError:
                pass  # its end is read next


def _ranks(ranks: list[int]) -> str:
    return f"rank{'s' * (len(ranks) > 1)} {', '.join(map(str, ranks))}"
