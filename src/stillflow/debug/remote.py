"""Debugger sessions that send tensors to a server; not supported yet."""

from __future__ import annotations

from typing import Any

from stillflow import errors
from stillflow.debug.wrapper_session import BaseDebugWrapperSession
from stillflow.train.session_run_hook import SessionRunHook


class _Refused:
    """Base of unsupported classes: the constructor raises UnimplementedError."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise errors.unimplemented(
            f"{type(self).__name__} is not supported yet: TensorBoard has dropped the debugger "
            "plugin it talks to. LocalCLIDebugWrapperSession and DumpingDebugWrapperSession look "
            "at runs here"
        )


class GrpcDebugWrapperSession(_Refused, BaseDebugWrapperSession):
    """Session that sends tensors of runs to gRPC servers: not supported yet."""


class TensorBoardDebugWrapperSession(GrpcDebugWrapperSession):
    """Session for TensorBoard's debugger: not supported yet."""

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
    """Hook that sends tensors of runs to gRPC servers: not supported yet."""


class TensorBoardDebugHook(GrpcDebugHook):
    """Hook for TensorBoard's debugger: not supported yet."""
