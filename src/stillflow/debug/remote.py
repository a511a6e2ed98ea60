"""The debugger's sessions that send what runs compute to a server; not supported yet."""

from __future__ import annotations

from typing import Any, NoReturn

from stillflow import errors
from stillflow.debug.wrapper_session import BaseDebugWrapperSession
from stillflow.train.session_run_hook import SessionRunHook


def _refuse(name: str) -> NoReturn:
    raise errors.UnimplementedError(
        None, None, f"{name} is not supported yet: TensorBoard has dropped the debugger plugin it "
        "talks to. LocalCLIDebugWrapperSession and DumpingDebugWrapperSession look at runs here",
    )  # fmt: skip


class GrpcDebugWrapperSession(BaseDebugWrapperSession):
    """Sends what runs compute to gRPC servers: not supported yet.

    Raises:
      tf.errors.UnimplementedError: always.
    """

    def __init__(
        self,
        sess: Any,
        grpc_debug_server_addresses: Any,
        watch_fn: Any = None,
        thread_name_filter: str | None = None,
        log_usage: bool = True,
    ) -> None:
        _refuse(type(self).__name__)


class TensorBoardDebugWrapperSession(GrpcDebugWrapperSession):
    """Lets TensorBoard's debugger look at runs: not supported yet.

    Raises:
      tf.errors.UnimplementedError: always.
    """

    def __init__(
        self,
        sess: Any,
        grpc_debug_server_addresses: Any,
        thread_name_filter: str | None = None,
        send_traceback_and_source_code: bool = True,
        log_usage: bool = True,
    ) -> None:
        super().__init__(sess, grpc_debug_server_addresses)


class GrpcDebugHook(SessionRunHook):
    """Sends what runs compute to gRPC servers: not supported yet.

    Raises:
      tf.errors.UnimplementedError: always.
    """

    def __init__(
        self,
        grpc_debug_server_addresses: Any,
        watch_fn: Any = None,
        thread_name_filter: str | None = None,
        log_usage: bool = True,
    ) -> None:
        _refuse(type(self).__name__)


class TensorBoardDebugHook(GrpcDebugHook):
    """Lets TensorBoard's debugger look at runs: not supported yet.

    Raises:
      tf.errors.UnimplementedError: always.
    """

    def __init__(
        self,
        grpc_debug_server_addresses: Any,
        thread_name_filter: str | None = None,
        send_traceback_and_source_code: bool = True,
        log_usage: bool = True,
    ) -> None:
        super().__init__(grpc_debug_server_addresses)
