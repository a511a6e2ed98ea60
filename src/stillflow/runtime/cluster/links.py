"""Connections to other tasks: requests with answers, and messages without."""

from __future__ import annotations

import itertools
import os
import socket
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from stillflow import errors
from stillflow.runtime import native_log
from stillflow.runtime.cluster import security
from stillflow.runtime.cluster.wire import Broken, OtherProtocol, OtherVersion, Packed, Wire
from stillflow.runtime.interrupts import current_interrupt
from stillflow.util.interpreter_exit import Resting
from stillflow.util.threads import our_thread

_CONNECTING = 20.0  # seconds after which a host counts as not there
_PAUSES = (0.02, 0.05, 0.1, 0.2, 0.5)  # seconds between attempts to connect; the last stays
_TOLD_EVERY = 10.0  # seconds


class Answer:
    """Pending answer to a request."""

    def __init__(self, settled: Callable[[Answer], None] | None = None) -> None:
        self.content: Any = None
        self.tensors: list[Any] = []
        self.error: errors.OpError | None = None
        self._settled = settled
        self._once = threading.Lock()
        self._open = threading.Lock()
        self._open.acquire()

    def settle(self, content: Any, tensors: list[Any], error: errors.OpError | None = None) -> None:
        """Set the answer, unless the wait for it has ended."""
        if not self._once.acquire(blocking=False):
            return
        self.content, self.tensors, self.error = content, tensors, error
        if self._settled is not None:
            self._settled(self)
        self._open.release()

    def wait(self) -> Any:
        """Wait for it, as long as the run in this thread may take; give its content.

        Raises:
          tf.errors.OpError: the task's error, UnavailableError if the connection failed,
            DeadlineExceededError after the time limit.
        """
        limit = current_interrupt()
        limit.watch(self._give_up)
        try:
            with Resting(), self._open:
                pass
        finally:
            limit.forget(self._give_up)
        if self.error is not None:
            raise self.error
        return self.content

    def _give_up(self, error: errors.OpError) -> None:
        self.settle(None, [], error)


class Link:
    """A connection to a task.

    Args:
      address: "host:port".
      connection: a socket that is connected to it.
    """

    def __init__(self, address: str, connection: socket.socket) -> None:
        self._address = address
        self._wire = Wire(connection)
        self._numbers = itertools.count(1)
        self._waiting: dict[int, Answer] = {}
        self._lock = threading.Lock()
        self._broken: str | None = None
        self.is_tensorflow = False  # known once it is broken
        name = f"stillflow-link-{address}"
        our_thread(threading.Thread(target=self._read, name=name, daemon=True)).start()

    @property
    def is_broken(self) -> bool:
        """True if the connection failed."""
        return self._broken is not None

    def ask(
        self,
        tensors: Sequence[Packed] = (),
        settled: Callable[[Answer], None] | None = None,
        step: int = 0,
        **content: Any,
    ) -> Answer:
        """Send a request; its answer comes later.

        Args:
          tensors: its tensors.
          settled: called with the answer once it is there, in another thread maybe.
          step: the number of the step that it is about.
          **content: the request, by the name of its message's field.
        """
        answer = Answer(settled)
        number = next(self._numbers)
        with self._lock:
            broken = self._broken
            if broken is None:
                self._waiting[number] = answer
        if broken is not None:
            answer.settle(None, [], _unavailable(broken))
            return answer
        try:
            self._wire.send(tensors, number, step, **content)
        except Broken as error:
            self._end(str(error))
        return answer

    def tell(
        self, tensors: Sequence[Packed] = (), step: int = 0, more: bool = False, **content: Any
    ) -> None:
        """Send a message that needs no answer; with `more`, it may wait for the next one.

        Without content, it sends the messages that wait for more.

        Raises:
          tf.errors.UnavailableError: if the task is not reachable any more.
        """
        try:
            if not content:
                self._wire.flush()
            elif self._broken is not None:
                raise Broken(self._broken)
            else:
                self._wire.send(tensors, 0, step, more, **content)
        except Broken as error:
            self._end(str(error))
            raise _unavailable(str(error)) from None

    def _read(self) -> None:
        try:
            while True:
                kind, content, number, _, tensors = self._wire.receive()
                with self._lock:
                    answer = self._waiting.pop(number, None)
                if answer is None or kind is None:
                    continue
                failed = as_error(content) if kind == "failure" else None
                answer.settle(content, tensors, failed)
                del content, tensors, answer  # not to hold them until the next comes
        except Broken as error:
            self.is_tensorflow = isinstance(error, OtherProtocol)
            self._end(str(error), isinstance(error, OtherVersion))

    def _end(self, reason: str, for_good: bool = False) -> None:
        with self._lock:
            self._broken = self._broken or reason
            waiting, self._waiting = list(self._waiting.values()), {}
        self._wire.close()
        for answer in waiting:
            error = errors.failed_precondition(reason) if for_good else _unavailable(reason)
            answer.settle(None, [], error)


def as_error(failure: Any) -> errors.OpError:
    """Return the error that a `Failure` message tells of; its `op` is the name of the operation."""
    kind = _KINDS.get(failure.code, errors.UnknownError)
    error: errors.OpError = kind(None, failure.op or None, failure.message)
    return error


_KINDS: dict[int, Any] = {
    code: errors.exception_type_from_error_code(code)
    for code in range(errors.CANCELLED, errors.UNAUTHENTICATED + 1)
}


def _unavailable(reason: str) -> errors.OpError:
    return errors.UnavailableError(None, None, reason)


_links: dict[str, Link] = {}
_links_lock = threading.Lock()


def link_to(address: str) -> Link:
    """Return the connection to an address that everything in this process shares.

    UnavailableError if nobody listens there.
    """
    link = _links.get(address)
    if link is not None and not link.is_broken:
        return link
    connection = _connected(address)
    with _links_lock:
        link = _links.get(address)
        if link is None or link.is_broken:
            link = _links[address] = Link(address, connection)
        else:
            connection.close()  # another thread was faster
    return link


def _connected(address: str) -> socket.socket:
    host, _, port = address.rpartition(":")
    try:
        connection = socket.create_connection((host.strip("[]"), int(port)), _CONNECTING)
        if connection.getsockname() == connection.getpeername():
            # The system may choose, as our own port, the one that nobody listens on yet.
            connection.close()
            raise ConnectionRefusedError("nobody listens there")
        connection.settimeout(None)
    except (OSError, ValueError) as error:
        raise _unavailable(f"Connect Failed: {address}: {error}") from None
    return connection


class IsTensorFlow(Exception):
    """The server at an address is TensorFlow's."""


def ask_when_there(
    address: str, task: str, check: Callable[[], None], **content: Any
) -> tuple[Link, Any]:
    """Ask something of a task that may not have been started yet: wait until it is.

    `check` is called now and then, and raises what ends the waiting; DeadlineExceededError if the
    run in this thread may take no longer, `IsTensorFlow` if TensorFlow's protocol is spoken there.
    Returns the connection, and the answer.
    """
    limit = current_interrupt()
    told = time.monotonic()
    for attempt in itertools.count():
        link = None
        try:
            if security.from_environment().is_on:  # which gRPC alone has
                _connected(address).close()
                raise IsTensorFlow
            link = link_to(address)
            return link, link.ask(**content).wait()
        except errors.UnavailableError:
            if link is not None and link.is_tensorflow:
                raise IsTensorFlow from None
            check()
            if limit.error is not None:
                raise errors.DeadlineExceededError(None, None, "Deadline Exceeded") from None
        if time.monotonic() - told >= _TOLD_EVERY:
            told = time.monotonic()
            native_log.info(f"CreateSession still waiting for response from worker: {task}")
        with Resting():
            time.sleep(_PAUSES[min(attempt, len(_PAUSES) - 1)])
    raise AssertionError


if hasattr(os, "register_at_fork"):  # the threads that read from them do not survive a fork
    os.register_at_fork(after_in_child=_links.clear)
