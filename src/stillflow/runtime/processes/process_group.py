"""Groups of processes that reduce, gather and broadcast tensors together.

    group = process_group.of_launcher()
    begun = group.submit(Request("grad", "allreduce", "float32", [2], [SUM, 1.0, 1.0]), tensor)
    begun.result()

Operations are matched by name, and run in the order that the coordinator gives (`coordinator.py`).
They run in a thread of their own, while the caller computes.
"""

from __future__ import annotations

import atexit
import json
import threading
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import Any

import torch

from stillflow import errors
from stillflow.graph.dtypes import as_dtype
from stillflow.ops.kernels import zeros
from stillflow.runtime.interrupts import Waits
from stillflow.runtime.processes import rendezvous
from stillflow.runtime.processes.coordinator import Coordinator
from stillflow.runtime.processes.requests import Request, disagreement, shared_facts
from stillflow.runtime.processes.settings import Settings
from stillflow.runtime.processes.timeline import Timeline
from stillflow.runtime.processes.transfers import Transfers
from stillflow.runtime.processes.world import World
from stillflow.util.threads import our_thread

# Requests are announced when so much has come together, or when somebody waits.
_ANNOUNCED_BYTES = 1 << 20
_PATIENCE = 5.0  # seconds for the coordinator to say which rank is behind a broken transfer


class Begun:
    """An operation that was begun, and its result once all ranks have come to it."""

    __slots__ = ("_done", "_error", "_finished", "_group", "_lock", "_started", "_value",
                 "_waits", "request", "tensor")  # fmt: skip

    def __init__(
        self, group: ProcessGroup, request: Request, tensor: torch.Tensor,
        waits: Waits | None = None,
    ) -> None:  # fmt: skip
        self._group, self.request, self.tensor, self._waits = group, request, tensor, waits
        self._lock, self._done = threading.Lock(), threading.Lock()
        self._done.acquire()
        self._started = self._finished = False
        self._value: Any = None
        self._error: Exception | None = None

    def take(self) -> torch.Tensor:
        """Return the input for the thread that runs the operation."""
        with self._lock:
            self._started = True
            return self.tensor

    def finish(self, value: Any, error: Exception | None = None) -> None:
        """Set the result, or an error; the first one counts."""
        with self._lock:
            if self._finished:
                return
            self._finished = True
            self._value, self._error = value, error
        self._done.release()

    def work(self) -> None:
        """Announce the operation now: its result will be waited for."""
        self._group.announce()

    def part_from_memory(self) -> None:
        """Copy the input, so that it may be changed."""
        with self._lock:
            if not self._started:
                self.tensor = self.tensor.clone()
                return
        with self._done:
            pass

    def result(self) -> Any:
        """Return the result; raise the error of the operation, or of an interrupted wait."""
        self._group.announce()
        if self._waits is None:
            self._done.acquire()
        elif not self._done.acquire(blocking=False):
            self._waits.wait(self._done, lambda error: self.finish(None, error))
        self._done.release()
        if self._error is not None:
            kind: Any = type(self._error)
            if isinstance(self._error, errors.OpError):  # one error may end many operations
                raise kind(None, None, self._error.message)
            raise self._error
        return self._value


class ProcessGroup:
    """The processes of a world as a group.

    Args:
      world: the ranks.
      settings: limits.

    Raises:
      DeadlineExceededError: if some ranks do not come.
      UnavailableError: if rank 0 cannot be reached.
    """

    def __init__(self, world: World, settings: Settings) -> None:
        self.world = world
        self.timeline = Timeline(settings.timeline if world.rank == 0 else "", settings.mark_cycles)
        self._lock = threading.Lock()
        self._begun: dict[str, Begun] = {}
        self._running: list[Begun] = []  # those that the coordinator has called
        self._unsaid: list[Request] = []
        self._unsaid_bytes = 0
        self._failure: Exception | None = None
        self._heard_of_loss, self._heard_of_end = threading.Event(), threading.Event()
        self._batches: SimpleQueue[Any] = SimpleQueue()
        self._joined: Begun | None = None
        self.closed = False
        self._may_end = False  # whether rank 0 has said that it leaves
        if world.size == 1:
            self._transfers = Transfers(None, 0, 1, torch.cuda.is_available())
            return
        store = rendezvous.meet(world, settings.start_seconds)
        group, on_cuda = rendezvous.join_group(world, store)
        self._transfers = Transfers(group, world.rank, world.size, on_cuda)
        self._coordinator, members = rendezvous.connect(world, store, settings.start_seconds)
        if members:
            coordinator = Coordinator(members, settings, self.timeline)
            self._start(coordinator.run, "coordinator")
        self._start(self._listen, "listener")
        self._start(self._work, "worker")

    def _start(self, function: Callable[[], None], name: str) -> None:
        name = f"stillflow-group-{name}"
        our_thread(threading.Thread(target=function, name=name, daemon=True)).start()

    # ---- the program's side

    def submit(self, request: Request, tensor: torch.Tensor, waits: Waits | None = None) -> Begun:
        """Begin an operation, whose result `waits` may interrupt.

        Raises:
          InvalidArgumentError: if one of that name has begun and is not done.
        """
        begun = Begun(self, request, tensor, waits)
        if self.world.size == 1:
            self._run_alone(begun)
            return begun
        with self._lock:
            if self._failure is not None:
                begun.finish(None, self._failure)
                return begun
            if request.name in self._begun:
                raise errors.invalid_argument(
                    f"{request.name}: an operation of this name is running; give another one a "
                    "name of its own"
                )
            self._begun[request.name] = begun
            self._unsaid.append(request)
            self._unsaid_bytes += request.bytes
            enough = self._unsaid_bytes >= _ANNOUNCED_BYTES
        if enough:
            self.announce()
        return begun

    def announce(self) -> None:
        """Tell the coordinator about all operations that were begun."""
        if self._unsaid:
            with self._lock:
                said, self._unsaid, self._unsaid_bytes = self._unsaid, [], 0
                if said:
                    self._say(["want", said])

    def join(self) -> int:
        """Take part in the other ranks' reductions with zeros until all have joined.

        Returns:
          The rank that joined last.
        """
        if self.world.size == 1:
            return 0
        request = Request("join", "barrier", "int32", [], [])
        self._joined = begun = Begun(self, request, torch.zeros(()))
        with self._lock:
            self._say(["join"])
        last: int = begun.result()
        return last

    def close(self) -> None:
        """Leave the group; operations that still wait fail."""
        if self.closed:
            return
        self.closed = True
        if self.world.size > 1:
            with self._lock:
                self._say(["bye"])
            self._heard_of_end.wait(_PATIENCE)
            self._fail(errors.unknown("This rank has shut down its process group"))
        self.timeline.stop()

    def _say(self, message: list[Any]) -> None:
        try:
            self._coordinator.send_bytes(json.dumps(message).encode())
        except OSError:
            pass  # the listener reads the end, and says what it means

    def _run_alone(self, begun: Begun) -> None:
        request = begun.request
        text = disagreement({0: request})
        if text is not None:
            begun.finish(None, errors.failed_precondition(text))
            return
        try:
            facts = shared_facts({0: request})
            begun.finish(*self._transfers.run(request.kind, [begun.take()], request.detail, facts))
        except RuntimeError as error:
            begun.finish(None, error)

    # ---- the group's threads

    def _listen(self) -> None:
        """Take what the coordinator says."""
        while True:
            try:
                kind, *rest = json.loads(self._coordinator.recv_bytes())
            except (EOFError, OSError, ValueError):
                self._lose("rank 0 has ended", self._may_end)
                self._heard_of_end.set()
                return
            if kind == "run":
                self._call(*rest)
            elif kind == "fail":
                self._fail_some(*rest)
            elif kind == "joined" and self._joined is not None:
                self._joined.finish(rest[0])
                self._joined = None
            elif kind == "lost":
                self._lose(rest[0], False)
            elif kind == "end":
                self._may_end = True
            elif kind == "there?":
                with self._lock:
                    self._say(["here"])

    def _call(self, names: Sequence[str], facts: Any, requests: Sequence[Any]) -> None:
        """Pass a batch to the thread that runs it; a rank that has joined adds zeros."""
        absent = {each.name: each for each in map(Request._make, requests)}
        batch = []
        with self._lock:
            for name in names:
                begun = self._begun.pop(name, None)
                if begun is None:
                    request = absent[name]
                    begun = Begun(
                        self, request, zeros(tuple(request.shape), as_dtype(request.dtype))
                    )
                batch.append(begun)
            self._running += batch
        self._batches.put((batch, facts))

    def _work(self) -> None:
        """Run the batches."""
        with torch.inference_mode():
            while True:
                batch, facts = self._batches.get()
                self._run(batch, facts)
                self.timeline.ran([each.request.name for each in batch])
                with self._lock:
                    self._running = [each for each in self._running if each not in batch]
                    if self.world.rank == 0:
                        self._say(["done"])
                del batch

    def _run(self, batch: Sequence[Begun], facts: Any) -> None:
        first = batch[0].request
        try:
            inputs = [each.take() for each in batch]
            results = self._transfers.run(first.kind, inputs, first.detail, facts)
        except Exception as error:
            # A rank that ended is the usual cause; the coordinator knows which.
            self._heard_of_loss.wait(_PATIENCE)
            failure = self._failure or errors.unknown(f"{first.name}: {error}")
            self._fail(failure, running=True)
        else:
            for each, result in zip(batch, results, strict=True):
                each.finish(result)

    def _fail_some(self, names: Sequence[str], kind: str, text: str) -> None:
        error = getattr(errors, kind)(None, None, text)
        with self._lock:
            begun = [self._begun.pop(name, None) for name in names]
        for each in begun:
            if each is not None:
                each.finish(None, error)

    def _lose(self, what: str, was_said: bool) -> None:
        """Fail everything that waits, as a rank is not there any more.

        If it said so before, it has done its part of what is running.
        """
        with self._lock:
            waiting = [*self._running, *self._begun.values()]
        if not self.closed:
            text = f", while {waiting[0].request.name} waited for all ranks" if waiting else ""
            self._fail(errors.unknown(f"The process group has lost {what}{text}"), not was_said)
        self._heard_of_loss.set()

    def _fail(self, error: Exception, running: bool = False) -> None:
        with self._lock:
            self._failure = self._failure or error
            begun = list(self._begun.values())
            self._begun.clear()
            if running:
                begun += self._running
        if self._joined is not None:
            begun.append(self._joined)
        for each in begun:
            each.finish(None, error)


class _Started:
    """The process groups of this process, by their worlds."""

    def __init__(self) -> None:
        self.groups: dict[World, ProcessGroup] = {}
        self.lock = threading.Lock()

    def of(self, world: World, settings: Settings) -> ProcessGroup:
        with self.lock:
            group = self.groups.get(world)
            if group is None or group.closed:
                group = self.groups[world] = ProcessGroup(world, settings)
            return group

    def close(self) -> None:
        for group in self.groups.values():
            group.close()


_started = _Started()
atexit.register(_started.close)
of_world = _started.of
