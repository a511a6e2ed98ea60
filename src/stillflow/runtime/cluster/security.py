"""TLS, and a token that all share, on the connections of a cluster; set by the environment."""

from __future__ import annotations

import hmac
import os
from collections.abc import Sequence
from typing import Any, NamedTuple

from stillflow import errors

TLS_PROTOCOL = "grpc+tls"  # of a `ServerDef`, and the scheme of a target, that want TLS
_OPEN = "/grpc.health.v1.Health/"  # probes have no token
_TOKEN = "authorization"
CERTIFICATE = "STILLFLOW_CLUSTER_CERTIFICATE"
KEY = "STILLFLOW_CLUSTER_KEY"
AUTHORITIES = "STILLFLOW_CLUSTER_AUTHORITIES"
MUTUAL_TLS = "STILLFLOW_CLUSTER_MUTUAL_TLS"
TLS_NAME = "STILLFLOW_CLUSTER_TLS_NAME"
TOKEN_FILE = "STILLFLOW_CLUSTER_TOKEN_FILE"


class Security(NamedTuple):
    """The settings of one process, for its server and for its connections to others.

    Attributes:
      certificate, key: of this process, PEM texts; empty if it has none.
      authorities: certificates of those who sign the others' certificates; the system's if empty.
      mutual: whether clients need certificates, too.
      name: in the others' certificates, if it is not that of their addresses.
      token: in every call, if there is one.
    """

    certificate: bytes = b""
    key: bytes = b""
    authorities: bytes = b""
    mutual: bool = False
    name: str = ""
    token: str = ""

    @property
    def uses_tls(self) -> bool:
        """True if connections are encrypted."""
        return bool(self.certificate or self.key or self.authorities or self.name or self.mutual)

    @property
    def is_on(self) -> bool:
        """True if connections are encrypted, or need a token."""
        return self.uses_tls or bool(self.token)

    def server_credentials(self, grpc: Any) -> Any:
        """Return the credentials of a server; None without TLS.

        Raises:
          tf.errors.InvalidArgumentError: if one of the files is missing.
        """
        if not self.uses_tls:
            return None
        if not (self.certificate and self.key):
            raise errors.invalid_argument(f"A server with TLS needs {CERTIFICATE} and {KEY}")
        if self.mutual and not self.authorities:
            raise errors.invalid_argument(
                f"{MUTUAL_TLS} needs {AUTHORITIES}, who sign clients' certificates"
            )
        pairs = [(self.key, self.certificate)]
        return grpc.ssl_server_credentials(pairs, self.authorities or None, self.mutual)

    def interceptors(self, grpc: Any) -> list[Any]:
        """Return the interceptors of a server: calls without the token are denied."""
        if not self.token:
            return []

        class Check(grpc.ServerInterceptor):  # type: ignore[misc]
            def intercept_service(self, proceed: Any, call: Any) -> Any:
                given = "".join(str(value) for key, value in call.invocation_metadata
                                if key == _TOKEN)  # fmt: skip
                if call.method.startswith(_OPEN) or hmac.compare_digest(given.encode(), expected):
                    return proceed(call)
                return denied

        def deny(request: Any, context: Any) -> None:
            context.abort(grpc.StatusCode.UNAUTHENTICATED, "The token of this cluster is missing")

        expected = f"Bearer {self.token}".encode()
        denied = grpc.unary_unary_rpc_method_handler(deny)
        return [Check()]

    def channel(self, grpc: Any, address: str, options: Sequence[tuple[str, Any]]) -> Any:
        """Return a channel to an address; its calls bring the token."""
        if self.uses_tls:
            pair = (self.key or None, self.certificate or None)
            credentials = grpc.ssl_channel_credentials(self.authorities or None, *pair)
            if self.name:
                options = [*options, ("grpc.ssl_target_name_override", self.name)]
            channel = grpc.secure_channel(address, credentials, options)
        else:
            channel = grpc.insecure_channel(address, options)
        if not self.token:
            return channel
        value = (_TOKEN, f"Bearer {self.token}")

        class Bring(grpc.UnaryUnaryClientInterceptor):  # type: ignore[misc]
            def intercept_unary_unary(self, proceed: Any, call: Any, request: Any) -> Any:
                return proceed(_Call(call, (*(call.metadata or ()), value)), request)

        return grpc.intercept_channel(channel, Bring())


class _Call:
    """The details of a call, with other metadata."""

    def __init__(self, call: Any, metadata: Any) -> None:
        self.method, self.timeout, self.metadata = call.method, call.timeout, metadata
        self.credentials, self.wait_for_ready = call.credentials, call.wait_for_ready
        self.compression = call.compression


def from_environment() -> Security:
    """Return the settings of this process.

    Raises:
      tf.errors.InvalidArgumentError: if a file cannot be read.
    """
    return Security(
        certificate=_file(CERTIFICATE),
        key=_file(KEY),
        authorities=_file(AUTHORITIES),
        mutual=os.environ.get(MUTUAL_TLS, "0") not in ("", "0"),
        name=os.environ.get(TLS_NAME, ""),
        token=_token(),
    )


def check(protocol: str, serves: bool = True) -> None:
    """Check the settings for a server of a protocol, or a client: mistakes end it at once.

    Raises:
      tf.errors.InvalidArgumentError: if the settings are not complete, or the protocol wants TLS.
    """
    settings = from_environment()
    if settings.is_on and serves:
        from stillflow.runtime.cluster.grpc_port import grpcio

        settings.server_credentials(grpcio())
    if protocol == TLS_PROTOCOL and not settings.uses_tls:
        raise errors.invalid_argument(
            f'"{TLS_PROTOCOL}" needs {CERTIFICATE} and {KEY} for a server, '
            f"{AUTHORITIES} for a client"
        )


def _file(name: str) -> bytes:
    path = os.environ.get(name)
    if not path:
        return b""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError as error:
        raise errors.invalid_argument(f"{name}: {error}") from None
    if not data.strip():
        raise errors.invalid_argument(f"{name}: {path} is empty")
    return data


def _token() -> str:
    token = _file(TOKEN_FILE).decode(errors="replace").strip()
    if not (token.isascii() and token.isprintable()):
        raise errors.invalid_argument(f"{TOKEN_FILE}: a token is one line of ASCII text")
    return token
