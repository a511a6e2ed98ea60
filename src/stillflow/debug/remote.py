"""The debugger's sessions that send what runs compute to a server; not supported yet."""

from __future__ import annotations

from typing import Any

from stillflow import errors
from stillflow.debug.wrapper_session import BaseDebugWrapperSession
from stillflow.train.session_run_hook import SessionRunHook


class _Refused:
    """What cannot be made, whatever the arguments.

    Raises:
      tf.errors.UnimplementedError: always.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise errors.unimplemented(
            f"{type(self).__name__} is not supported yet: TensorBoard has dropped the debugger "
            "plugin it talks to. LocalCLIDebugWrapperSession and DumpingDebugWrapperSession look "
            "at runs here"
        )


class GrpcDebugWrapperSession(_Refused, BaseDebugWrapperSession):
    """Sends what runs compute to gRPC servers: not supported yet."""


class TensorBoardDebugWrapperSession(GrpcDebugWrapperSession):
    """Lets TensorBoard's debugger look at runs: not supported yet."""

    def __init__(
        self,
        sess: Any,
        grpc_debug_server_addresses: Any,
        thread_name_filter: str | None = None,
        send_traceback_and_source_code: bool = True,
        log_usage: bool = True,
    ) -> None:
        super().__init__()


class GrpcDebugHook(_Refused, SessionRunHook):
    """Sends what runs compute to gRPC servers: not supported yet."""


class TensorBoardDebugHook(GrpcDebugHook):
    """Lets TensorBoard's debugger look at runs: not supported yet."""
