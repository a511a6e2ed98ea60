"""Handlers of gRPC services, and the health service.

Handlers are made from the services' descriptors, so that no generated code is needed. grpcio is
imported with this module: processes that may do without it import it when they serve.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import grpc
from google.protobuf.message import DecodeError

from stillflow import errors
from stillflow.protos.other_files import serving_file as file

HEALTH = "grpc/health/v1/health.proto"
HealthCheckResponse = file(HEALTH)["HealthCheckResponse"]

_logger = logging.getLogger(__name__)
_Codes = {code.value[0]: code for code in grpc.StatusCode}
_HEALTH_SECONDS = 0.5  # between two looks for a change, for `Watch`
MOST_STREAMS = 8  # of a method
_FOREVER = 365 * 86400.0  # gRPC gives a call without deadline one in centuries


class Health:
    """The state of `grpc.health.v1.Health`.

    Args:
      ready: returns True if the models serve.
      services: names that may be asked for, besides "" for the server.
    """

    def __init__(self, ready: Callable[[], bool], services: tuple[str, ...]) -> None:
        self._ready, self._services = ready, ("", *services)
        self.stopping = threading.Event()

    def status(self, service: str) -> int:
        """Return a `ServingStatus`."""
        kinds = HealthCheckResponse.ServingStatus
        if service not in self._services:
            return int(kinds.SERVICE_UNKNOWN)
        serving = self._ready() and not self.stopping.is_set()
        return int(kinds.SERVING if serving else kinds.NOT_SERVING)

    def handler(self) -> Any:
        """Return the service's handler."""

        def check(request: Any, deadline: float | None) -> Any:
            status = self.status(request.service)
            if status == HealthCheckResponse.ServingStatus.SERVICE_UNKNOWN:
                raise errors.not_found(f"unknown service {request.service!r}")
            return HealthCheckResponse(status=status)

        def watch(request: Any, context: Any) -> Iterator[Any]:
            told = None
            while context.is_active() and not self.stopping.is_set():
                status = self.status(request.service)
                if status != told:
                    told = status
                    yield HealthCheckResponse(status=status)
                self.stopping.wait(_HEALTH_SECONDS)

        return handler(HEALTH, {"Check": unary(check), "Watch": watch})


def add_port(server: Any, address: str, credentials: Any) -> int:
    """Let a server listen on an address, with TLS if there are credentials; return the port.

    Raises:
      RuntimeError: if the address is taken.
    """
    if credentials is None:
        return int(server.add_insecure_port(address))
    return int(server.add_secure_port(address, credentials))


# ---- Handlers ----------------------------------------------------------------------------------


def handler(path: str, calls: Mapping[str, Callable[[Any, Any], Any]]) -> Any:
    """Return the handler of the service in a `.proto` file.

    Args:
      path: of the file.
      calls: by the names of methods: functions of the request, or of the requests where the
        method takes a stream, and the context.
    """
    from google.protobuf.message_factory import GetMessageClass

    (service,) = file(path)["DESCRIPTOR"].services_by_name.values()
    methods = {}
    for name, call in calls.items():
        method = service.methods_by_name[name]
        streams = bool(method.client_streaming), bool(method.server_streaming)
        make = _MAKERS[streams]
        parse = _parser(GetMessageClass(method.input_type))
        run = _parsing(call, parse, streams[0])
        methods[name] = make(_bounded(run) if streams[1] else run, None, _serialized)
    return grpc.method_handlers_generic_handler(service.full_name, methods)


_MAKERS = {
    (False, False): grpc.unary_unary_rpc_method_handler,
    (False, True): grpc.unary_stream_rpc_method_handler,
    (True, True): grpc.stream_stream_rpc_method_handler,
}


def _serialized(message: Any) -> bytes:
    data: bytes = message.SerializeToString()
    return data


def _parser(kind: Any) -> Callable[[bytes, Any], Any]:
    def parse(data: bytes, context: Any) -> Any:
        try:
            return kind.FromString(data)
        except DecodeError:
            context.abort(
                grpc.StatusCode.INVALID_ARGUMENT,
                f"The request is not a {kind.DESCRIPTOR.full_name}",
            )

    return parse


def _parsing(
    call: Callable[[Any, Any], Any], parse: Callable[[bytes, Any], Any], streams: bool
) -> Callable[[Any, Any], Any]:
    """Return a function of bytes, because an error of parsing is the client's, not the server's."""
    if streams:
        return lambda requests, context: call((parse(d, context) for d in requests), context)
    return lambda data, context: call(parse(data, context), context)


def _bounded(
    call: Callable[[Any, Any], Iterator[Any]],
) -> Callable[[Any, Any], Iterator[Any]]:
    """Return the call of a stream, for so many clients at a time: each holds a thread."""
    free = threading.BoundedSemaphore(MOST_STREAMS)

    def run(request: Any, context: Any) -> Iterator[Any]:
        if not free.acquire(blocking=False):
            context.abort(
                grpc.StatusCode.RESOURCE_EXHAUSTED, f"{MOST_STREAMS} clients hold this stream"
            )
        try:
            yield from call(request, context)
        finally:
            free.release()

    return run


def unary(call: Callable[[Any, float | None], Any]) -> Callable[[Any, Any], Any]:
    """Return a handler of a call that takes a deadline and raises `OpError`."""

    def answer(request: Any, context: Any) -> Any:
        left = context.time_remaining()
        deadline = None if left is None or left > _FOREVER else time.monotonic() + left
        try:
            return call(request, deadline)
        except errors.OpError as error:
            context.set_code(_Codes[error.error_code])
            context.set_details(error.message)
        except Exception as error:  # a fault of ours: the client is told, the log has the rest
            _logger.exception("request failed")
            context.set_code(grpc.StatusCode.INTERNAL)
            context.set_details(f"{type(error).__name__}: {error}")
        return _NOTHING

    return answer


class _Nothing:
    """The answer of a call that has failed; gRPC sends the status alone."""

    def SerializeToString(self) -> bytes:
        return b""


_NOTHING = _Nothing()
