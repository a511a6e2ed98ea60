"""The gRPC server: its services, limits, TLS and addresses."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any

import grpc

from stillflow import errors
from stillflow.serve import grpc_services as services
from stillflow.serve import reflection
from stillflow.serve.call_threads import CallThreads
from stillflow.serve.inference import Inference
from stillflow.serve.messages import file
from stillflow.serve.settings import Settings
from stillflow.util import grpc_handlers

_MOST_CALLS = 10_000  # that wait or run


class Health(grpc_handlers.Health):
    """The health of the server's own services."""

    def __init__(self, ready: Callable[[], bool]) -> None:
        paths = (services.PREDICTION, services.MODEL)
        names = [
            n.full_name for p in paths for n in file(p)["DESCRIPTOR"].services_by_name.values()
        ]
        super().__init__(ready, tuple(names))


class GrpcServer:
    """A gRPC server that can be stopped.

    Args:
      server: of the package grpc.
      pool: its threads.
    """

    def __init__(self, server: Any, pool: Executor) -> None:
        self._server, self._pool = server, pool

    def bind(self, settings: Settings) -> int:
        """Listen on the addresses of the settings; return the port.

        Raises:
          UnavailableError: if one is taken.
        """
        credentials = _credentials(settings.ssl())
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        port = 0
        if settings.port:
            port = self._add(f"{host}:{max(0, settings.port)}", credentials)
        if settings.grpc_socket_path:
            self._add(f"unix:{settings.grpc_socket_path}", credentials)
        return port

    def _add(self, address: str, credentials: Any) -> int:
        try:
            return grpc_handlers.add_port(self._server, address, credentials)
        except RuntimeError as error:
            raise errors.unavailable(f"gRPC cannot listen on {address}: {error}") from None

    def start(self) -> None:
        """Take requests."""
        self._server.start()

    def stop(self, grace: float) -> Callable[[], None]:
        """Take no more requests; return a function that waits for those in flight."""
        ended = self._server.stop(grace)

        def wait() -> None:
            ended.wait()
            self._pool.shutdown(wait=False)

        return wait


def make_server(
    inference: Inference, reload: Callable[[Any], None], health: Health, settings: Settings,
    threads: int,
) -> GrpcServer:  # fmt: skip
    """Return the server with its services.

    Args:
      inference: the calls.
      reload: takes a `ModelServerConfig`.
      health: the health service.
      settings: of the server.
      threads: requests that run at a time.
    """
    paths = [services.PREDICTION, services.MODEL]
    handlers = [
        services.prediction_service(inference), services.model_service(inference, reload)
    ]  # fmt: skip
    if settings.enable_grpc_healthcheck_service:
        paths.append(grpc_handlers.HEALTH)
        handlers.append(health.handler())
    paths += [reflection.path_of(version) for version in reflection.VERSIONS]
    for version in reflection.VERSIONS:
        call = reflection.answerer(version, paths)
        handlers.append(
            grpc_handlers.handler(reflection.path_of(version), {"ServerReflectionInfo": call})
        )
    streams = len(paths) * grpc_handlers.MOST_STREAMS  # with threads in addition to those of calls
    pool = CallThreads(threads + streams, "stillflow-grpc")
    server = grpc.server(
        pool, handlers, options=_options(settings), maximum_concurrent_rpcs=_MOST_CALLS
    )
    return GrpcServer(server, pool)


def _options(settings: Settings) -> list[tuple[str, Any]]:
    options: dict[str, Any] = {
        "grpc.max_receive_message_length": settings.max_message_bytes,
        "grpc.max_send_message_length": -1,
        # A second server on the port is an error, not a lottery, but for workers of one server.
        "grpc.so_reuseport": int(settings.workers > 1),
        # gRPC cancels some of more than a thousand calls that no thread has taken yet: a burst
        # waits, and what is too much is told as RESOURCE_EXHAUSTED.
        "grpc.server.max_pending_requests": _MOST_CALLS,
        "grpc.server.max_pending_requests_hard_limit": _MOST_CALLS,
    }
    for text in settings.grpc_channel_arguments.split(","):
        name, equals, value = text.partition("=")
        if name and not equals:
            raise errors.invalid_argument(f"--grpc_channel_arguments: {text!r} is not NAME=VALUE")
        if name:
            options[name] = int(value) if value.lstrip("-").isdigit() else value
    return list(options.items())


def _credentials(config: Any) -> Any:
    """Return the credentials of an `SSLConfig`, whose fields hold PEM texts."""
    if config is None:
        return None
    if not config.server_key or not config.server_cert:
        raise errors.invalid_argument("An SSLConfig needs server_key and server_cert")
    pairs = [(config.server_key.encode(), config.server_cert.encode())]
    authorities = config.custom_ca.encode() or None
    if config.client_verify and authorities is None:
        raise errors.invalid_argument("client_verify needs custom_ca, the clients' authority")
    return grpc.ssl_server_credentials(pairs, authorities, config.client_verify)
