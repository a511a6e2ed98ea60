"""The server: models, the two interfaces, and an orderly end."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from stillflow import errors
from stillflow.serve import warmup
from stillflow.serve.batching import Batcher, parameters
from stillflow.serve.inference import Inference
from stillflow.serve.log import logger
from stillflow.serve.messages import ModelServerConfig
from stillflow.serve.metrics import Metrics
from stillflow.serve.models import Models
from stillflow.serve.request_log import RequestLogs
from stillflow.serve.servable import Servable, load
from stillflow.serve.settings import Settings, read_text_proto

_PACKAGES = {"grpc": "grpcio", "starlette": "starlette", "uvicorn": "uvicorn"}
_MOST_THREADS = 512
_BACKLOG = 2048
_STEP = 0.1  # seconds between two looks at what there is to do
_KEEP_ALIVE = 75  # seconds; proxies end idle connections after 60, and should be the first to


def check_packages() -> None:
    """Raise ImportError with the names of packages that are missing."""
    from importlib.util import find_spec

    missing = [package for module, package in _PACKAGES.items() if find_spec(module) is None]
    if missing:
        raise ImportError(
            f"stillflow serve needs {', '.join(missing)}: pip install 'stillflow[serve]'"
        )


class Server:
    """A server of models.

    Args:
      settings: of the server.

    Attributes:
      grpc_port, rest_port: the ports, once it has started; 0 for an interface that is off.
      turning_away: set once a server that stops takes no more calls of gRPC.
    """

    def __init__(self, settings: Settings) -> None:
        check_packages()
        self.settings, self.metrics = settings, Metrics()
        self.grpc_port = self.rest_port = 0
        limits = settings.batching()
        self._limits = None if limits is None else parameters(limits)
        self._batcher: Batcher | None = None
        self.models = Models(settings, self._load, self.metrics, self._unloaded)
        self._logs = RequestLogs(settings.log_requests, settings.log_requests_sampling_rate)
        self._stopping = threading.Event()
        self.turning_away = threading.Event()
        self._grpc: Any = None
        self._rest: Any = None
        self._health: Any = None
        self._threads: list[threading.Thread] = []

    def _load(self, name: str, version: int, path: str) -> Servable:
        servable = load(name, version, path, self.settings)
        if self.settings.enable_model_warmup:
            try:
                warmup.warm_up(servable, self.settings.num_request_iterations_for_warmup)
            except BaseException:
                servable.close()
                raise
        return servable

    def _unloaded(self, servable: Servable) -> None:
        if self._batcher is not None:
            self._batcher.forget(servable)

    # ---- Life ----------------------------------------------------------------------------------

    def start(self) -> None:
        """Load the models, then listen.

        Raises:
          OpError: if the configuration is wrong, a model does not load, or a port is taken.
        """
        try:
            self.load()
            self.listen()
        except BaseException:
            self.stop(0)
            raise
        logger.info("serving", extra={"grpc_port": self.grpc_port, "rest_port": self.rest_port})

    def load(self) -> None:
        """Load the models, and look for new versions from now on.

        Raises:
          OpError: if the configuration is wrong, or a model does not load.
        """
        self.reload(self.settings.model_configs(), wait=False)
        self.models.start_polling()
        seconds = self.settings.model_config_file_poll_wait_seconds
        if self.settings.model_config_file and seconds > 0:
            self._start(self._poll_config, "stillflow-config")

    def listen(
        self, listener: socket.socket | None = None, reload: Callable[[Any], None] | None = None,
        page: Callable[[], str] | None = None,
    ) -> None:  # fmt: skip
        """Answer requests from now on.

        Args:
          listener: the socket of REST; by default one by the settings.
          reload: takes the configuration of a request; by default `self.reload`.
          page: gives the page of metrics; by default that of this process.

        Raises:
          OpError: if the settings are wrong, or a port is taken.
        """
        self._logs.metrics = self.metrics
        if self._limits is not None:
            self._batcher = Batcher(self._limits, self.metrics)
            self.metrics.queue_length.read = self._batcher.waiting
        self.inference = Inference(
            self.models, self._batcher, self.metrics, self._logs,
            self.settings.enable_signature_method_name_check,
        )  # fmt: skip
        self._start_grpc(reload or self.reload)
        self._start_rest(listener, page or self.metrics.page)

    def forked(self, settings: Settings) -> None:
        """Begin again in a process that was forked: it has the models, but none of the threads."""
        self.settings, self.metrics, self._threads = settings, Metrics(), []
        self._stopping = threading.Event()
        self.models.forked()

    def reload(self, config: Any, wait: bool = True) -> None:
        """Serve other models from now on; see `Models.reload`."""
        self.models.reload(config, wait)
        self._logs.configure(config.model_config_list.config)

    def _start(self, target: Any, name: str) -> None:
        thread = threading.Thread(target=target, name=name, daemon=True)
        thread.start()
        self._threads.append(thread)

    def _poll_config(self) -> None:
        path = self.settings.model_config_file
        before = None
        while not self._stopping.wait(self.settings.model_config_file_poll_wait_seconds):
            try:
                config = read_text_proto(path, ModelServerConfig)
                if config != before:
                    self.reload(config)
                    before = config
            except errors.OpError as error:  # the models that serve go on
                logger.error("%s is not taken over: %s", path, error.message)

    def _threads_for(self, asked: int) -> int:
        """Return the number of threads of an interface: enough to fill batches."""
        if asked:
            return asked
        threads = 4 * (os.cpu_count() or 1)
        if self._limits is not None:
            rows = min(self._limits.max_batch_size, _MOST_THREADS)
            threads = max(threads, 2 * self._limits.threads * rows)
        return min(threads, _MOST_THREADS)

    def _start_grpc(self, reload: Callable[[Any], None]) -> None:
        settings = self.settings
        if not settings.port and not settings.grpc_socket_path:
            return
        from stillflow.serve.grpc_server import Health, make_server

        self._health = Health(self.models.ready)
        self._grpc = make_server(
            self.inference, reload, self._health, settings,
            self._threads_for(settings.grpc_max_threads),
        )  # fmt: skip
        self.grpc_port = self._grpc.bind(settings)
        self._grpc.start()

    def _start_rest(self, listener: socket.socket | None, page: Callable[[], str]) -> None:
        settings = self.settings
        if not settings.rest_api_port:
            return
        import uvicorn

        from stillflow.serve.rest import Rest

        pool = ThreadPoolExecutor(
            self._threads_for(settings.rest_api_num_threads), "stillflow-rest"
        )
        rest = Rest(
            self.inference, pool, settings.metrics_path(), page,
            settings.rest_api_timeout_in_ms / 1e3, settings.max_message_bytes,
            settings.rest_api_enable_cors_support,
        )  # fmt: skip
        listener = listener or rest_listener(settings)
        self.rest_port = listener.getsockname()[1]
        config = uvicorn.Config(
            rest.application(), log_config=None, access_log=False, lifespan="off",
            server_header=False, timeout_keep_alive=_KEEP_ALIVE,
            timeout_graceful_shutdown=int(settings.shutdown_grace_seconds) + 1,
        )  # fmt: skip
        self._rest = uvicorn.Server(config)
        self._start(lambda: self._run_rest(listener, pool), "stillflow-rest-loop")

    def _run_rest(self, listener: socket.socket, pool: ThreadPoolExecutor) -> None:
        with listener:
            self._rest.run(sockets=[listener])
        pool.shutdown(wait=False, cancel_futures=True)

    def stop(self, grace: float | None = None) -> None:
        """Take no more requests, answer those in flight, unload the models.

        Args:
          grace: seconds for the requests; by default the setting.
        """
        grace = self.settings.shutdown_grace_seconds if grace is None else grace
        self._stopping.set()
        if self._health is not None:
            self._health.stopping.set()
        if self._rest is not None:
            self._rest.should_exit = True
        wait = None if self._grpc is None else self._grpc.stop(grace)
        self.turning_away.set()
        if wait is not None:
            wait()
        for thread in self._threads:
            thread.join(grace + 2)
        if self._batcher is not None:
            self._batcher.stop()
        self.models.stop()
        self._logs.stop()
        logger.info("stopped")

    def run(self) -> None:
        """Serve until SIGINT or SIGTERM."""
        run_until_signal(self, lambda: None)


def run_until_signal(server: Any, step: Callable[[], None]) -> None:
    """Start a server, and stop it at SIGINT or SIGTERM, also while it waits for its models.

    Args:
      server: a `Server`, or `Workers`.
      step: called again and again meanwhile.
    """
    ending = threading.Event()

    def end(*unused: Any) -> None:
        ending.set()
        server.models.interrupt()

    for name in ("SIGINT", "SIGTERM"):
        signal.signal(getattr(signal, name), end)
    try:
        server.start()
    except errors.CancelledError:
        if ending.is_set():
            return
        raise
    while not ending.wait(_STEP):  # with a limit, so that Windows sees Ctrl-C
        step()
    server.stop()


def rest_listener(settings: Settings) -> socket.socket:
    """Return the socket of REST, on which connections wait from now on.

    Raises:
      UnavailableError: if the port is taken.
    """
    host, port = settings.host, max(0, settings.rest_api_port)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio turns Nagle's algorithm off only where the protocol is named.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    if os.name == "posix":
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(_BACKLOG)  # connections wait here until the loop runs
    except OSError as error:
        listener.close()
        raise errors.unavailable(f"REST cannot listen on {host}:{port}: {error}") from None
    return listener
