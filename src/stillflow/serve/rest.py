"""The REST interface: an ASGI application over the calls of `inference`.

Paths, bodies and status codes are TensorFlow Serving's. An error's body is `{"error": message}`.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anyio
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from stillflow import errors
from stillflow.serve import json_examples, json_tensors, signatures
from stillflow.serve.inference import Inference, spec_of
from stillflow.serve.log import logger
from stillflow.serve.messages import (
    ClassificationRequest,
    GetModelMetadataRequest,
    GetModelStatusRequest,
    RegressionRequest,
    SignatureDefMap,
)
from stillflow.serve.metrics import CONTENT_TYPE

_MODEL = r"/v1/models/(?P<name>[^/:]+)(?:/versions/(?P<version>\d+)|/labels/(?P<label>[^/:]+))?"
_CALL = re.compile(_MODEL + ":(?P<method>classify|regress|predict)", re.IGNORECASE)
_LOOK = re.compile(_MODEL + "(?P<metadata>/metadata)?", re.IGNORECASE)
_CORS = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Methods": "POST, GET",
    "Access-Control-Allow-Headers": "Content-Type",
}
_STATUS = {
    errors.CANCELLED: 499, errors.UNKNOWN: 500, errors.INVALID_ARGUMENT: 400,
    errors.DEADLINE_EXCEEDED: 504, errors.NOT_FOUND: 404, errors.ALREADY_EXISTS: 409,
    errors.PERMISSION_DENIED: 403, errors.RESOURCE_EXHAUSTED: 429,
    errors.FAILED_PRECONDITION: 400, errors.ABORTED: 409, errors.OUT_OF_RANGE: 400,
    errors.UNIMPLEMENTED: 501, errors.INTERNAL: 500, errors.UNAVAILABLE: 503,
    errors.DATA_LOSS: 500, errors.UNAUTHENTICATED: 401,
}  # fmt: skip
_MAX_VERSION = 1 << 63


class Rest:
    """The handlers of REST.

    Args:
      inference: the calls.
      pool: threads that run them.
      metrics_path: of the page for Prometheus; "" for none.
      page: returns that page.
      timeout: seconds that a call may take, its body included.
      most_bytes: of a body.
      cors: whether pages of other origins are answered.
    """

    def __init__(
        self, inference: Inference, pool: ThreadPoolExecutor, metrics_path: str,
        page: Callable[[], str], timeout: float, most_bytes: int, cors: bool,
    ) -> None:  # fmt: skip
        self._inference, self._pool, self._timeout, self._page = inference, pool, timeout, page
        self._metrics_path, self._most_bytes, self._cors = metrics_path, most_bytes, cors

    def application(self) -> Starlette:
        """Return the ASGI application."""
        methods = ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"]
        return Starlette(routes=[Route("/{path:path}", self._answer, methods=methods)])

    async def _answer(self, request: Request) -> Response:
        path = request.scope["path"]
        if self._metrics_path and path == self._metrics_path:
            text = await asyncio.get_running_loop().run_in_executor(self._pool, self._page)
            return Response(text, media_type=CONTENT_TYPE)
        if not path.lower().startswith("/v1/"):
            return self._response(404, _error(f"Not found: {path}"))
        deadline = time.monotonic() + self._timeout
        try:
            with anyio.fail_after(self._timeout):
                body = await self._respond(request, path, deadline)
        except TimeoutError:
            return self._response(504, _error(f"Timed out after {self._timeout:g} s"))
        except errors.OpError as error:
            return self._response(_STATUS[error.error_code], _error(error.message))
        except ClientDisconnect:
            return self._response(499, _error("The client has disconnected"))
        except Exception as error:  # a fault of ours: the client is told, the log has the rest
            logger.exception("request failed", extra={"path": path})
            return self._response(500, _error(f"{type(error).__name__}: {error}"))
        return self._response(200, body)

    def _response(self, status: int, body: bytes) -> Response:
        headers = dict(_CORS) if self._cors else {}
        return Response(body, status, headers, media_type="application/json")

    async def _respond(self, request: Request, path: str, deadline: float) -> bytes:
        method = request.method
        if method == "OPTIONS" and self._cors:
            if not re.search("https?://", request.headers.get("origin", "")):
                raise errors.failed_precondition("Origin header is missing in CORS preflight")
            return b""
        call = _CALL.fullmatch(path) if method == "POST" else None
        look = _LOOK.fullmatch(path) if method in ("GET", "HEAD") else None
        loop = asyncio.get_running_loop()
        if call is not None:
            body = await self._body(request)
            name = call["method"].lower()
            handler = {
                "predict": self._predict, "classify": self._classify, "regress": self._regress,
            }[name]  # fmt: skip
            run = self._observed(handler, name.capitalize(), _spec(call), body, deadline)
        elif look is not None:
            handler = self._metadata if look["metadata"] else self._status
            api = "GetModelMetadata" if look["metadata"] else "GetModelStatus"
            run = self._observed(handler, api, _spec(look), b"", deadline)
        else:
            raise errors.invalid_argument(f"Malformed request: {method} {path}")
        return await loop.run_in_executor(self._pool, run)

    def _observed(
        self, handler: Callable[[Any, bytes, float], bytes], api: str, spec: Any, body: bytes,
        deadline: float,
    ) -> Callable[[], bytes]:  # fmt: skip
        def run() -> bytes:
            with self._inference.observed(spec.name, api, "REST"):
                return handler(spec, body, deadline)

        return run

    async def _body(self, request: Request) -> bytes:
        parts, size = [], 0
        async for part in request.stream():
            size += len(part)
            if size > self._most_bytes:
                raise errors.resource_exhausted(
                    f"The body is larger than {self._most_bytes} bytes (--max_message_bytes)"
                )
            parts.append(part)
        body = b"".join(parts)
        coding = request.headers.get("content-encoding", "identity").lower()
        if coding == "gzip":
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._pool, _unzipped, body, self._most_bytes)
        if coding != "identity":
            raise errors.unimplemented(f"Content-Encoding {coding} is not supported")
        return body

    # ---- Calls, in threads ---------------------------------------------------------------------

    def _predict(self, spec: Any, body: bytes, deadline: float) -> bytes:
        inference = self._inference
        request = json_tensors.parse(body)
        key = json_tensors.signature_name(request)
        with inference.models.use(spec) as servable:
            if key and key not in servable.signatures:
                raise errors.invalid_argument(
                    f'Serving signature name: "{key}" not found in signature def'
                )
            signature = signatures.predict_signature(servable, key)
            arrays, in_rows = json_tensors.inputs_of(request, signature)
            found = inference.predict_arrays(servable, key, arrays, (), deadline)
            inference.log_prediction(servable, key, arrays, found)
        return json_tensors.encode(found, in_rows)

    def _classify(self, spec: Any, body: bytes, deadline: float) -> bytes:
        message = self._on_examples(ClassificationRequest, spec, body)
        found = self._inference.classify(message, deadline)
        return json_tensors.dump(json_examples.classifications(found.result))

    def _regress(self, spec: Any, body: bytes, deadline: float) -> bytes:
        message = self._on_examples(RegressionRequest, spec, body)
        found = self._inference.regress(message, deadline)
        return json_tensors.dump(json_examples.regressions(found.result))

    def _on_examples(self, kind: Any, spec: Any, body: bytes) -> Any:
        request = json_tensors.parse(body)
        message = kind(model_spec=spec, input=json_examples.input_of(request))
        message.model_spec.signature_name = json_tensors.signature_name(request)
        return message

    def _status(self, spec: Any, body: bytes, deadline: float) -> bytes:
        return _proto(self._inference.status(GetModelStatusRequest(model_spec=spec)))

    def _metadata(self, spec: Any, body: bytes, deadline: float) -> bytes:
        request = GetModelMetadataRequest(model_spec=spec, metadata_field=["signature_def"])
        found = self._inference.metadata(request)
        by_key = SignatureDefMap()
        found.metadata["signature_def"].Unpack(by_key)
        return json_tensors.dump(
            {
                "model_spec": json.loads(_proto(found.model_spec)),
                "metadata": {"signature_def": json.loads(_proto(by_key))},
            }
        )


def _error(message: str) -> bytes:
    return json.dumps({"error": message}).encode()


def _spec(match: re.Match[str]) -> Any:
    version = None if match["version"] is None else int(match["version"])
    if version is not None and version >= _MAX_VERSION:
        raise errors.invalid_argument(f"Failed to convert version: {match['version']} to numeric.")
    return spec_of(match["name"], version, match["label"] or "")


def _proto(message: Any) -> bytes:
    from google.protobuf.json_format import MessageToJson

    text: str = MessageToJson(
        message, always_print_fields_with_no_presence=True, preserving_proto_field_name=True,
        indent=1,
    )  # fmt: skip
    return text.encode()


def _unzipped(body: bytes, most: int) -> bytes:
    """Return an uncompressed body; one that would become too large is not unpacked.

    Raises:
      InvalidArgumentError: if it is damaged.
      ResourceExhaustedError: if it is too large.
    """
    unpacker = zlib.decompressobj(wbits=31)  # with the head of gzip
    try:
        found = unpacker.decompress(body, most + 1)
    except zlib.error as error:
        raise errors.invalid_argument(f"The body is not gzip: {error}") from None
    if len(found) > most:
        raise errors.resource_exhausted(
            f"The body is larger than {most} bytes (--max_message_bytes)"
        )
    if not unpacker.eof:
        raise errors.invalid_argument("The body is not gzip: it is cut off")
    return found
