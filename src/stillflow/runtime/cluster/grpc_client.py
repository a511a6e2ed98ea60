"""Calls of TensorFlow's gRPC services in other processes."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

from stillflow import errors
from stillflow.runtime.cluster import security
from stillflow.runtime.cluster.grpc_port import OPTIONS, file, grpcio
from stillflow.runtime.interrupts import NEVER, current_interrupt
from stillflow.util.interpreter_exit import Resting

_channels: dict[str, Any] = {}
_lock = threading.Lock()


class Caller:
    """A service at an address; everything in this process shares the connection.

    Args:
      address: "host:port".
      path: of the `.proto` file of the service.
    """

    def __init__(self, address: str, path: str) -> None:
        from google.protobuf.message_factory import GetMessageClass

        grpc = grpcio()
        with _lock:
            channel = _channels.get(address)
            if channel is None:
                settings = security.from_environment()
                channel = _channels[address] = settings.channel(grpc, address, OPTIONS)
        (service,) = file(path)["DESCRIPTOR"].services_by_name.values()
        self._failure = grpc.RpcError
        self._cancelled = grpc.FutureCancelledError
        self._calls = {
            method.name: channel.unary_unary(
                f"/{service.full_name}/{method.name}",
                request_serializer=_as_bytes,
                response_deserializer=None
                if method.name in _RAW
                else GetMessageClass(method.output_type).FromString,
            )
            for method in service.methods
        }

    def ask(self, method: str, request: Any) -> Any:
        """Call a method, as long as the run in this thread may take; return its answer.

        The request is a message, or its bytes.

        Raises:
          tf.errors.OpError: the other side's error, UnavailableError if it cannot be reached,
            DeadlineExceededError after the time limit.
        """
        limit = current_interrupt()
        try:
            if limit is NEVER:
                with Resting():
                    return self._calls[method](request)
            future = self._calls[method].future(request)

            def end(error: errors.OpError) -> None:
                del error
                future.cancel()

            limit.watch(end)
            try:
                with Resting():
                    return future.result()
            finally:
                limit.forget(end)
        except self._failure as error:
            raise as_error(error) from None
        except self._cancelled:
            kind: Any = type(limit.error)
            raise kind(None, None, _ENDED.get(kind, "Step was cancelled")) from None

    def begin(self, method: str, request: Any, done: Callable[[Any], None]) -> Any:
        """Call a method; its future is given to `done`, in another thread, when it has an end."""
        future = self._calls[method].future(request)
        future.add_done_callback(done)
        return future


# Calls whose answers are left as bytes, as they are or hold values.
_RAW = ("RecvTensor", "RunGraph", "RunStep")


def _as_bytes(request: Any) -> bytes:
    data: bytes = request if isinstance(request, bytes) else request.SerializeToString()
    return data


_callers: dict[tuple[str, str], Caller] = {}


def caller(address: str, path: str) -> Caller:
    """Return the `Caller` of these arguments that everything in this process shares."""
    found = _callers.get((address, path))
    return found or _callers.setdefault((address, path), Caller(address, path))


_ENDED = {errors.DeadlineExceededError: "Deadline Exceeded"}


def as_error(failure: Any) -> errors.OpError:
    """Return a failed call as TensorFlow's error."""
    kind: Any = errors.exception_type_from_error_code(failure.code().value[0])
    error: errors.OpError = kind(None, None, failure.details() or "")
    return error


if hasattr(os, "register_at_fork"):  # connections do not survive a fork
    os.register_at_fork(after_in_child=_channels.clear)
    os.register_at_fork(after_in_child=_callers.clear)
