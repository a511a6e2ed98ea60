"""TensorFlow's gRPC services on the port of a task, together with Stillflow's own protocol.

A connection that does not begin as Stillflow's own is passed on, byte by byte, to grpcio behind a
Unix socket that only this user reaches (a port of the loopback device where there are none), so
that the address in the ClusterSpec alone decides who may connect. grpcio is loaded by the first
such connection: a cluster of Stillflow's tasks needs none of it, and pays one look at a byte.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, Future
from typing import Any

from stillflow import errors
from stillflow.ops.kernel_errors import as_op_error
from stillflow.protos.other_files import distributed_file
from stillflow.runtime.cluster import security
from stillflow.runtime.cluster.helpers import hand_over
from stillflow.runtime.interrupts import Interrupt, interrupted_by
from stillflow.util.threads import our_thread

file = distributed_file
MASTER = "tensorflow/core/protobuf/master_service.proto"
WORKER = "tensorflow/core/protobuf/worker_service.proto"
# Options of both ends: a message is as long as protobuf allows, 2 GB, and a task that has been
# started again is reached within a second, where gRPC's own pauses grow up to two minutes.
OPTIONS = [
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1000),
]

Call = Callable[[Any, Any], Any]

_RAW = ("RunGraph", "RunStep")  # calls that are given bytes, as those hold values
_PIECE = 1 << 18
_LONGEST_TEXT = 3072  # of an error, as gRPC's headers are limited


def grpcio() -> Any:
    """Return the package grpc.

    Raises:
      tf.errors.UnimplementedError: if it is not installed.
    """
    try:
        import grpc
    except ImportError:
        raise errors.unimplemented(
            "Clients and tasks of TensorFlow need the package grpcio: pip install "
            "'stillflow[cluster]'"
        ) from None
    return grpc


class GrpcPort:
    """A gRPC server that takes connections from a task's own socket.

    Args:
      services: the calls of each service, by the path of its `.proto` file and the method's name.
      settings: say who may connect.
    """

    def __init__(
        self, services: Mapping[str, Mapping[str, Call]], settings: security.Security
    ) -> None:
        grpc = grpcio()
        from stillflow.util import grpc_handlers  # needs grpcio

        handlers = [_handler(grpc, path, calls) for path, calls in services.items()]
        names = tuple(handler.service_name() for handler in handlers)
        handlers.append(grpc_handlers.Health(lambda: True, names).handler())
        credentials = settings.server_credentials(grpc)
        self._server = grpc.server(_Threads(), handlers, settings.interceptors(grpc), OPTIONS)
        self._address: Any = None
        if hasattr(socket, "AF_UNIX"):
            folder = tempfile.mkdtemp(prefix="stillflow-")
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
            self._address = os.path.join(folder, "grpc")
            grpc_handlers.add_port(self._server, f"unix:{self._address}", credentials)
        else:
            port = grpc_handlers.add_port(self._server, "127.0.0.1:0", credentials)
            self._address = "127.0.0.1", port
        self._server.start()

    def take(self, connection: socket.socket) -> None:
        """Serve a connection, in this thread, until it ends."""
        with connection:
            kind = socket.AF_UNIX if isinstance(self._address, str) else socket.AF_INET
            with socket.socket(kind, socket.SOCK_STREAM) as there:
                there.connect(self._address)
                back = threading.Thread(target=_pass_on, args=(there, connection), daemon=True)
                our_thread(back).start()
                _pass_on(connection, there)
                back.join()


def _pass_on(source: socket.socket, target: socket.socket) -> None:
    buffer = memoryview(bytearray(_PIECE))
    with contextlib.suppress(OSError):
        while count := source.recv_into(buffer):
            target.sendall(buffer[:count])
    for end in (source, target):
        with contextlib.suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


class _Threads(Executor):
    """Threads without a bound, since a call may wait in a queue for ever."""

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        done: Future[Any] = Future()

        def run() -> None:
            try:
                done.set_result(function(*arguments, **named))
            except BaseException as error:  # is logged by grpcio
                done.set_exception(error)

        hand_over(run)
        return done


def _handler(grpc: Any, path: str, calls: Mapping[str, Call]) -> Any:
    """Return the handler of the service in a `.proto` file, made without generated code."""
    from google.protobuf.message_factory import GetMessageClass

    (service,) = file(path)["DESCRIPTOR"].services_by_name.values()
    methods = {}
    for name, call in calls.items():
        method = service.methods_by_name[name]
        kind = GetMessageClass(method.input_type)
        takes = bytes if name in _RAW else kind.FromString
        methods[name] = grpc.unary_unary_rpc_method_handler(_answering(grpc, call, kind, takes))
    return grpc.method_handlers_generic_handler(service.full_name, methods)


def _answering(grpc: Any, call: Call, request_type: Any, takes: Callable[[bytes], Any]) -> Call:
    """Return a function of bytes: errors of the call, and of its bytes, become a status."""
    from google.protobuf.message import DecodeError

    codes = {code.value[0]: code for code in grpc.StatusCode}

    def answer(data: bytes, context: Any) -> bytes:
        try:
            found = call(takes(data), context)
            if found is None:
                return b""
            return found if isinstance(found, bytes) else bytes(found.SerializeToString())
        except DecodeError:
            error = errors.invalid_argument(f"No {request_type.DESCRIPTOR.full_name} message")
        except Exception as raised:
            error = as_failure(raised)
        # Without a message: clients do not expect one with an error.
        context.abort(codes[error.error_code], error._message[:_LONGEST_TEXT])
        raise AssertionError

    return answer


def as_failure(raised: BaseException) -> errors.OpError:
    """Return an exception as an error that another process can be told of."""
    error = raised if isinstance(raised, errors.OpError) else as_op_error(raised, None)
    if isinstance(error, errors.OpError):
        return error
    return errors.UnknownError(None, None, f"{type(raised).__name__}: {raised}")


@contextlib.contextmanager
def while_wanted(context: Any) -> Iterator[Interrupt]:
    """Return a context whose runs end when the caller cancels the call, or its deadline passes."""
    interrupt = Interrupt()

    def end() -> None:
        left = context.time_remaining()
        if left is not None and left <= 0:
            interrupt.leave(errors.DeadlineExceededError(None, None, "Deadline Exceeded"))
        else:
            interrupt.leave(errors.CancelledError(None, None, "Step was cancelled"))

    if not context.add_callback(end):
        end()
    with interrupted_by(interrupt):
        yield interrupt
