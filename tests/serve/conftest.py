"""Servers of the tests, on ports of their own, with models that a test has written."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from stillflow.serve.settings import Settings


def settings(folder: Path, **more: Any) -> Settings:
    """Return settings for one model on free ports of this machine; failures are final."""
    given = {
        "host": "127.0.0.1", "port": -1, "rest_api_port": -1, "model_name": folder.name,
        "model_base_path": str(folder), "max_num_load_retries": 0, "shutdown_grace_seconds": 5,
        "file_system_poll_wait_seconds": 0.05,
    }  # fmt: skip
    return Settings(**{**given, **more})


@pytest.fixture
def serve() -> Iterator[Callable[..., Any]]:
    """Start servers; they are stopped when the test ends."""
    for package in ("grpc", "starlette", "uvicorn"):
        pytest.importorskip(package)
    from stillflow.serve.server import Server

    servers = []

    def start(folder: Path, **more: Any) -> Any:
        server = Server(settings(folder, **more))
        servers.append(server)
        server.start()
        return server

    yield start
    for server in servers:
        server.stop()


def ask(server: Any, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
    """Return the status and the parsed body of an answer of REST."""
    if body is not None and not isinstance(body, bytes):
        body = (body if isinstance(body, str) else json.dumps(body)).encode()
    address = f"http://127.0.0.1:{server.rest_port}{path}"
    request = urllib.request.Request(address, body, headers)
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.loads(answer.read() or b"null")
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.loads(error.read())
