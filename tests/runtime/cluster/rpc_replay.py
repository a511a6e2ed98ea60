"""Calls that were recorded by `record_rpc.py`, made once more."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from google.protobuf.message_factory import GetMessageClass
from tests.runtime.cluster import record_rpc as recorder

from stillflow.runtime.cluster.grpc_port import MASTER, WORKER, file

RECORDED = Path(__file__).parent / "recorded"
__all__ = ["Client", "answer_of", "message_types", "programs", "recorder", "repeated", "status"]
HANDLES = ("session_handle", "partial_run_handle", "graph_handle")


def programs(name: str) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = json.loads((RECORDED / name).read_text())
    return found


def message_types(method: str) -> tuple[Any, Any]:
    found = _method(method)
    return GetMessageClass(found.input_type), GetMessageClass(found.output_type)


def _method(name: str) -> Any:
    for path in (MASTER, WORKER):
        (service,) = file(path)["DESCRIPTOR"].services_by_name.values()
        if name in service.methods_by_name:
            return service.methods_by_name[name]
    raise KeyError(name)


def status(code: int) -> Any:
    """Return the status of the package grpc for a code."""
    import grpc

    return next(each for each in grpc.StatusCode if each.value[0] == code)


def answer_of(record: dict[str, Any]) -> Any:
    """Return the answer of a recorded call."""
    _, kind = message_types(record["method"])
    return kind.FromString(base64.b64decode(record["answer"]))


class Client:
    """A client that makes recorded calls; it knows the handles that it got instead.

    Args:
      channel: of the package grpc.
    """

    def __init__(self, channel: Any) -> None:
        self._channel = channel
        self._handles: dict[str, str] = {}

    def repeat(self, record: dict[str, Any]) -> tuple[Any, Any]:
        """Return the answer that was recorded, and today's: messages, or a code with its text."""
        import grpc

        kind, answer_kind = message_types(record["method"])
        service = _method(record["method"]).containing_service.full_name
        request = kind.FromString(base64.b64decode(record["request"]))
        for field in HANDLES:
            if getattr(request, field, ""):
                old = getattr(request, field)
                setattr(request, field, self._handles.get(old, old))
        method = f"/{service}/{record['method']}"
        try:
            data = self._channel.unary_unary(method)(request.SerializeToString(), timeout=60)
            answer = answer_kind.FromString(data)
        except grpc.RpcError as error:
            answer = error.code().value[0], self._recorded(error.details())
        if "answer" not in record:
            return (record["code"], record["details"]), answer
        expected = answer_kind.FromString(base64.b64decode(record["answer"]))
        for field in HANDLES:
            if getattr(expected, field, "") and not isinstance(answer, tuple):
                self._handles[getattr(expected, field)] = getattr(answer, field)
                setattr(answer, field, getattr(expected, field))
        return expected, answer

    def _recorded(self, text: str) -> str:
        for old, new in self._handles.items():
            text = text.replace(new, old)
        return text


def repeated(channel: Any, calls: list[dict[str, Any]]) -> Iterator[tuple[str, Any, Any]]:
    """Yield the method of each call, the recorded answer and today's."""
    client = Client(channel)
    for record in calls:
        yield record["method"], *client.repeat(record)
