"""Several processes that serve the same models and share their memory.

The first process loads the models and answers no requests; its workers are forked from it. When a
version comes or goes, other workers are forked, and those so far end once they have answered their
requests. A worker that dies is replaced. Workers share the port of gRPC, each with a socket of its
own (SO_REUSEPORT), and the one socket of REST.
"""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import json
import os
import signal
import socket
import sys
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection, Pipe, wait
from typing import Any

from stillflow import errors
from stillflow.serve.log import logger
from stillflow.serve.messages import ModelServerConfig
from stillflow.serve.metrics import Metrics
from stillflow.serve.server import Server, rest_listener, run_until_signal
from stillflow.serve.settings import Settings

_CALM = 0.2  # seconds without a change of the models before workers are forked for it
_BETWEEN = 1.0  # seconds between two starts of a worker that dies at once
_START, _ANSWER = 60.0, 2.0  # seconds for a worker to listen, and to tell its counts


class Workers:
    """A server of several processes.

    Args:
      settings: of the server.

    Attributes:
      models: the models.
      grpc_port, rest_port: the ports, once it has started; 0 for an interface that is off.

    Raises:
      UnimplementedError: where processes cannot share models: no `os.fork`, a GPU.
      InvalidArgumentError: if the settings contradict each other.
    """

    def __init__(self, settings: Settings) -> None:
        _check(settings)
        self.settings, self._server = settings, Server(settings)
        self.models = self._server.models
        self.grpc_port = self.rest_port = 0
        self._reserved: socket.socket | None = None
        self._listener: socket.socket | None = None
        self._workers: list[_Worker] = []
        self._leaving: list[_Worker] = []
        self._ended = Metrics()  # counts of the workers that are no more
        self._followed = self._seen = 0
        self._seen_at = self._forked_at = 0.0
        self._reloads: list[_Reload] = []

    # ---- Life ----------------------------------------------------------------------------------

    def run(self) -> None:
        """Serve until SIGINT or SIGTERM."""
        run_until_signal(self, self.step)

    def start(self) -> None:
        """Load the models, then fork workers that listen.

        Raises:
          OpError: if the configuration is wrong, a model does not load, or a port is taken.
        """
        try:
            self._server.load()
            settings = self.settings
            if settings.port:
                self._reserved, self.grpc_port = _reserved_port(settings)
            if settings.rest_api_port:
                self._listener = rest_listener(settings)
                self.rest_port = self._listener.getsockname()[1]
            self._fork_all()
        except BaseException:
            self.stop(0)
            raise
        ports = {"grpc_port": self.grpc_port, "rest_port": self.rest_port}
        logger.info("serving", extra={**ports, "workers": self.pids()})

    def pids(self) -> list[int]:
        """Return the process numbers of the workers."""
        return [worker.pid for worker in self._workers]

    def step(self) -> None:
        """Answer questions of workers, and do what there is to do."""
        known = {pipe: worker for worker in self._all() for pipe in worker.questions}
        for pipe in wait(list(known), 0):
            self._answer(known[pipe], pipe)  # type: ignore[arg-type, index]
        for reload in [each for each in self._reloads if not each.thread.is_alive()]:
            self._reloads.remove(reload)
            self._fork_again()
            reload.worker.tell(reload.pipe, reload.answer)
        self._leaving = [worker for worker in self._leaving if not self._is_over(worker)]
        self._replace()
        self._follow()

    def stop(self, grace: float | None = None) -> None:
        """End the workers when they have answered their requests, and unload the models.

        Args:
          grace: seconds for the requests; by default the setting.
        """
        grace = self.settings.shutdown_grace_seconds if grace is None else grace
        for worker in self._workers:
            worker.end()
        self._leaving += self._workers
        self._workers = []
        deadline = time.monotonic() + grace + 5
        while self._leaving:
            if time.monotonic() > deadline:
                for worker in self._leaving:
                    worker.kill()
            self._leaving = [worker for worker in self._leaving if not self._is_over(worker)]
            time.sleep(0.01)
        for socket_ in (self._reserved, self._listener):
            if socket_ is not None:
                socket_.close()
        self._server.stop(0)

    # ---- Workers -------------------------------------------------------------------------------

    def _all(self) -> list[_Worker]:
        return [*self._workers, *self._leaving]

    def _fork_all(self) -> None:
        """Fork a whole set of workers.

        Raises:
          OpError: if one does not start.
        """
        self._seen = self._followed = self.models.changes
        fresh: list[_Worker] = []
        try:
            while len(fresh) < self.settings.workers:
                fresh.append(self._fork(fresh))
        except BaseException:
            for worker in fresh:
                worker.end()
            self._leaving += fresh
            raise
        self._workers = fresh

    def _fork_again(self) -> None:
        """Replace all workers by others that have the models of now."""
        before = self._workers
        try:
            self._fork_all()
        except errors.OpError as error:  # those so far go on
            logger.error("workers are not replaced: %s", error.message)
            return
        for worker in before:
            worker.end()
        self._leaving += before

    def _fork(self, beside: Sequence[_Worker] = ()) -> _Worker:
        """Fork a worker; `beside` are those that were forked for the same set."""
        pipes = [Pipe() for _ in range(3)]
        theirs, mine = [list(ends) for ends in zip(*pipes)]
        gc.collect()
        gc.freeze()  # a collection in a worker would write to the memory that it shares
        try:
            with self.models.still(), warnings.catch_warnings():
                # The threads of this process look for versions and load them: they wait meanwhile.
                warnings.simplefilter("ignore", DeprecationWarning)
                pid = os.fork()  # type: ignore[attr-defined, unused-ignore]
        except OSError as error:
            raise errors.resource_exhausted(f"Workers cannot be forked: {error}") from None
        if pid == 0:
            others = (pipe for each in (*self._all(), *beside) for pipe in each.pipes)
            self._become(mine, [*theirs, *others])
        gc.unfreeze()
        for pipe in mine:
            pipe.close()
        self._forked_at = time.monotonic()
        worker = _Worker(pid, theirs)
        self._await(worker)
        return worker

    def _await(self, worker: _Worker) -> None:
        """Wait until a worker listens.

        Raises:
          UnavailableError: if it does not.
        """
        pipe = worker.questions[0]
        told: dict[str, Any] = {"error": "it does not answer"}
        if pipe.poll(_START):
            try:
                told = json.loads(pipe.recv_bytes())
            except EOFError:
                told = {"error": "it has ended"}
        if "error" in told:
            worker.kill()
            self._leaving.append(worker)
            raise errors.unavailable(f"Worker {worker.pid} does not serve: {told['error']}")

    def _become(self, mine: list[Connection], theirs: list[Connection]) -> None:
        """Be a worker, in the process that was forked; does not return.

        Args:
          mine: the worker's ends of its pipes.
          theirs: ends of the first process, of all workers: none gets an end of file while another
            worker holds them.
        """
        status = 1
        try:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all; the first ends us
            for pipe in theirs:
                pipe.close()
            settings = dataclasses.replace(self.settings, port=self.grpc_port)
            status = _serve(self._server, settings, mine, self._listener)
        except BaseException:
            logger.exception("worker failed")
        finally:
            sys.stderr.flush()
            os._exit(status)

    def _is_over(self, worker: _Worker) -> bool:
        """Return True if a worker has ended; its counts are kept."""
        for pipe in list(worker.questions):
            while pipe in worker.questions and pipe.poll():
                self._answer(worker, pipe)
        if not worker.has_ended():
            return False
        # Its counts stay, but nothing waits in its queue any more.
        self._ended.merge({**worker.counts, self._ended.queue_length.name: []})
        worker.close()
        return True

    def _replace(self) -> None:
        """Fork a worker for each one that has died."""
        if time.monotonic() < self._forked_at + _BETWEEN:
            return
        for worker in [each for each in self._workers if self._is_over(each)]:
            self._workers.remove(worker)
            logger.error("worker died: %s; another one takes its place", worker.reason(),
                         extra={"pid": worker.pid})  # fmt: skip
        while len(self._workers) < self.settings.workers:
            try:
                self._workers.append(self._fork())
            except errors.OpError as error:
                logger.error("worker not replaced: %s", error.message)
                return

    def _follow(self) -> None:
        """Replace the workers when models have changed."""
        changes, now = self.models.changes, time.monotonic()
        if changes != self._seen:
            self._seen, self._seen_at = changes, now
        if changes != self._followed and now > self._seen_at + _CALM and not self._reloads:
            self._fork_again()

    # ---- Questions of workers ------------------------------------------------------------------

    def _answer(self, worker: _Worker, pipe: Connection) -> None:
        try:
            question = json.loads(pipe.recv_bytes())
        except (EOFError, OSError):
            worker.questions.remove(pipe)
            return
        if "counts" in question:
            worker.counts = question["counts"]
        elif "reload" in question:
            config = ModelServerConfig.FromString(bytes.fromhex(question["reload"]))
            self._reloads.append(_Reload(self._server.reload, config, worker, pipe))
        else:
            worker.tell(pipe, {"page": self._page()})

    def _page(self) -> str:
        total = Metrics()
        total.merge(self._server.metrics.counts())
        total.merge(self._ended.counts())
        for worker in self._all():
            worker.ask()
        for worker in self._all():
            total.merge(worker.answered())
        return total.page()


class _Worker:
    """A worker, as the first process sees it.

    Attributes:
      pid: of the process.
      questions: pipes on which it asks.
      counts: of its metrics, as it told them last.
    """

    def __init__(self, pid: int, pipes: list[Connection]) -> None:
        self.pid, self.pipes = pid, pipes
        self.questions, self._orders = pipes[:2], pipes[2]
        self.counts: dict[str, Any] = Metrics().counts()
        self._status: int | None = None

    def tell(self, pipe: Connection, message: Any) -> None:
        """Send a message, unless the worker is no more."""
        try:
            pipe.send_bytes(json.dumps(message).encode())
        except OSError:
            pass  # its end is found by `has_ended`

    def ask(self) -> None:
        """Ask for its counts."""
        try:
            while self._orders.poll():  # an answer that came too late
                self._orders.recv_bytes()
        except (EOFError, OSError):
            return
        self.tell(self._orders, {"counts": True})

    def answered(self) -> dict[str, Any]:
        """Return the counts that were asked for, or the last ones where none come."""
        try:
            if self._orders.poll(_ANSWER):
                self.counts = json.loads(self._orders.recv_bytes())
        except (EOFError, OSError):
            pass
        return self.counts

    def end(self) -> None:
        """Ask it to end once it has answered its requests."""
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it at once."""
        self._signal(signal.SIGKILL)  # type: ignore[attr-defined, unused-ignore]

    def _signal(self, number: int) -> None:
        if not self.has_ended():
            os.kill(self.pid, number)

    def has_ended(self) -> bool:
        """Return True if the process is no more."""
        if self._status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)  # type: ignore[attr-defined, unused-ignore]
            self._status = status if pid else None
        return self._status is not None

    def reason(self) -> str:
        """Return why it has ended."""
        code = os.waitstatus_to_exitcode(self._status or 0)
        return f"signal {-code}" if code < 0 else f"exit status {code}"

    def close(self) -> None:
        """Close the pipes."""
        for pipe in self.pipes:
            pipe.close()


class _Reload:
    """Another configuration that a worker was asked for; the models load in a thread."""

    def __init__(
        self, reload: Callable[[Any], None], config: Any, worker: _Worker, pipe: Connection
    ) -> None:
        self.worker, self.pipe = worker, pipe
        self.answer: dict[str, Any] = {}

        def run() -> None:
            try:
                reload(config)
            except errors.OpError as error:
                self.answer = {"code": error.error_code, "message": error.message}

        self.thread = threading.Thread(target=run, name="stillflow-reload", daemon=True)
        self.thread.start()


# ---- In a worker -----------------------------------------------------------------------------


class _First:
    """The first process, as a worker sees it.

    Args:
      pipes: for the page of metrics, for configurations, and for its orders.
      leave: called when the worker has to end.
      turning_away: set when the worker takes no more calls.
    """

    def __init__(
        self, pipes: list[Connection], leave: Callable[[], None], turning_away: threading.Event
    ) -> None:
        self._pages, self._configs, self._orders = pipes
        self._leave, self._turning_away = leave, turning_away
        self._asking, self._reloading = threading.Lock(), threading.Lock()

    def tell(self, message: Any) -> None:
        """Send a message that has no answer."""
        self._pages.send_bytes(json.dumps(message).encode())

    def page(self) -> str:
        """Return the page of metrics of all workers."""
        with self._asking:
            page: str = self._ask(self._pages, {"page": True})["page"]
        return page

    def reload(self, config: Any) -> None:
        """Have other models served, by other workers.

        Raises:
          OpError: if they cannot be.
        """
        with self._reloading:
            answer = self._ask(self._configs, {"reload": config.SerializeToString().hex()})
        if "code" in answer:
            make = errors.exception_type_from_error_code(answer["code"])
            raise make(None, None, answer["message"])
        # This worker has the old models: the client hears of the new ones once it takes no more.
        self._leave()
        self._turning_away.wait(_ANSWER)

    def _ask(self, pipe: Connection, message: Any) -> Any:
        try:
            pipe.send_bytes(json.dumps(message).encode())
            return json.loads(pipe.recv_bytes())
        except (EOFError, OSError):
            raise errors.unavailable("The server stops") from None

    def obey(self, counts: Callable[[], Any]) -> None:
        """Answer questions for the counts until the first process is no more."""
        try:
            while self._orders.recv_bytes():
                self._orders.send_bytes(json.dumps(counts()).encode())
        except (EOFError, OSError):
            self._leave()


def _serve(
    server: Server, settings: Settings, pipes: list[Connection], listener: socket.socket | None
) -> int:
    """Serve the models of a server until a signal comes, or the first process is no more."""
    ending = threading.Event()
    signal.signal(signal.SIGTERM, lambda *unused: ending.set())
    server.forked(settings)
    first = _First(pipes, ending.set, server.turning_away)
    try:
        server.listen(listener, first.reload, first.page)
    except errors.OpError as error:
        first.tell({"error": error.message})
        return 1
    orders = threading.Thread(target=first.obey, args=(server.metrics.counts,), daemon=True)
    orders.start()
    first.tell({"ready": True})
    ending.wait()
    server.stop()
    with contextlib.suppress(OSError):  # the first process may be gone
        first.tell({"counts": server.metrics.counts()})
    return 0


# ---- Settings --------------------------------------------------------------------------------


def _check(settings: Settings) -> None:
    if not hasattr(os, "fork") or not hasattr(socket, "SO_REUSEPORT"):
        raise errors.unimplemented(
            f"--workers needs os.fork and SO_REUSEPORT, which {sys.platform} does not have: start "
            "several servers behind a proxy"
        )
    if settings.grpc_socket_path:
        raise errors.invalid_argument(
            "--grpc_socket_path is one socket, which several processes (--workers) cannot share"
        )
    from stillflow.runtime.devices.devices import gpu_count

    if gpu_count():
        raise errors.unimplemented(
            "--workers shares models by os.fork, which CUDA does not survive: start a server for "
            "each GPU, or hide the GPUs with CUDA_VISIBLE_DEVICES=-1"
        )


def _reserved_port(settings: Settings) -> tuple[socket.socket, int]:
    """Return a socket that keeps the port of gRPC for the workers, and the port.

    Raises:
      UnavailableError: if it is taken.
    """
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    address = (settings.host, max(0, settings.port))
    try:
        with socket.socket(family, socket.SOCK_STREAM) as alone:  # fails where others listen
            alone.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            alone.bind(address)
        shared = socket.socket(family, socket.SOCK_STREAM)
        shared.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)  # type: ignore[attr-defined, unused-ignore]
        shared.bind(address)
    except OSError as error:
        told = f"{settings.host}:{settings.port}: {error}"
        raise errors.unavailable(f"gRPC cannot listen on {told}") from None
    return shared, int(shared.getsockname()[1])
