"""gRPC's server reflection: descriptors of the services, for clients such as grpcurl."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from stillflow.serve.messages import file

VERSIONS = ("v1alpha", "v1")
_NOT_FOUND, _UNIMPLEMENTED = 5, 12  # gRPC's status codes


def path_of(version: str) -> str:
    """Return the path of the protocol's `.proto` file."""
    return f"grpc/reflection/{version}/reflection.proto"


def answerer(version: str, services: Sequence[str]) -> Callable[[Any, Any], Iterator[Any]]:
    """Return the call `ServerReflectionInfo`.

    Args:
      version: of the protocol.
      services: paths of the `.proto` files whose services there are.
    """
    response_class = file(path_of(version))["ServerReflectionResponse"]
    names = sorted(
        service.full_name
        for path in services
        for service in file(path)["DESCRIPTOR"].services_by_name.values()
    )
    pool = file(services[0])["DESCRIPTOR"].pool

    def answer(requests: Iterator[Any], context: Any) -> Iterator[Any]:
        for request in requests:
            response = response_class(valid_host=request.host, original_request=request)
            try:
                _fill(response, request, pool, names)
            except (KeyError, TypeError):
                error = response.error_response
                error.error_code, error.error_message = _NOT_FOUND, "not found"
            yield response

    return answer


def _fill(response: Any, request: Any, pool: Any, names: Sequence[str]) -> None:
    kind = request.WhichOneof("message_request")
    if kind == "list_services":
        response.list_services_response.SetInParent()
        for name in names:
            response.list_services_response.service.add(name=name)
    elif kind == "file_by_filename":
        _add_files(response, pool.FindFileByName(request.file_by_filename))
    elif kind == "file_containing_symbol":
        _add_files(response, pool.FindFileContainingSymbol(request.file_containing_symbol))
    else:
        error = response.error_response
        error.error_code, error.error_message = _UNIMPLEMENTED, f"{kind} is not supported"


def _add_files(response: Any, descriptor: Any) -> None:
    """Add a file's descriptor and those of the files that it imports, each once."""
    found: dict[str, bytes] = {}
    left = [descriptor]
    while left:
        each = left.pop()
        if each.name not in found:
            found[each.name] = each.serialized_pb
            left += each.dependencies
    response.file_descriptor_response.file_descriptor_proto.extend(found.values())
