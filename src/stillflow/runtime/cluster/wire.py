"""Messages over a connection between two tasks of Stillflow.

    frame:   "SFc2"  |  length of the message, 4 bytes  |  numbers of request and step, 8 bytes each
             |  message  |  bytes of tensor after tensor

Incoming data is not trusted: a length is bounded before it is used, and an invalid frame ends the
connection, nothing else. A message differs from that of the last step by its numbers alone, so the
rest is kept, as bytes and parsed. docs/clusters.md says why this is not gRPC.
"""

from __future__ import annotations

import contextlib
import functools
import socket
import struct
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from stillflow import protos
from stillflow.graph.lazy import torch
from stillflow.ops.kernels import LARGE, Memory
from stillflow.runtime.cluster import packed

_HEAD = struct.Struct("<4sI")
_NUMBERS = struct.Struct("<QQ")
_MAGIC, _FILE = b"SFc2", "stillflow/cluster.proto"
_KEPT = 2048  # messages
# A graph with all its constants is one message; protobuf ends at 2 GiB.
_LONGEST = (1 << 31) - 1
_PIECE = 1 << 20
_SETTINGS = 4  # the frame that a server of HTTP/2 begins with, behind its length
# The most that one system call takes.
_AT_ONCE = 64
_AHEAD = 1 << 14  # so many bytes are read with a message's head: small ones come whole

_SHORT = 1 << 10  # a longer one is not kept
_MEMORY = Memory()  # of all connections together, or each would keep as much

Packed = tuple[Any, Any]


class Frame(NamedTuple):
    """A message that came in; another one may have the same content."""

    kind: Any  # the name of its field, None if it has none
    content: Any
    number: int
    step: int
    tensors: list[np.ndarray]


class Broken(Exception):
    """A connection that can be used no more; it says why."""


class OtherProtocol(Broken):
    """The other side speaks gRPC."""


class OtherVersion(Broken):
    """The other side is of another version of Stillflow."""


class Wire:
    """One end of a connection.

    Args:
      connection: a connected socket, which it owns from now on.
    """

    def __init__(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        _keep_alive(connection)
        self._socket = connection
        self._sending = threading.Lock()
        self._held: list[Any] = []
        self._ahead = memoryview(b"")

    def send(
        self, tensors: Sequence[Packed] = (), number: int = 0, step: int = 0, more: bool = False,
        **content: Any,
    ) -> None:  # fmt: skip
        """Send a message.

        Args:
          tensors: its tensors, as `pack` gives it.
          number: tells a request by, and the answer to it.
          step: the number of the step that it is about.
          more: whether it may wait for the next one, or for `flush`.
          **content: its one field, by name.

        Raises:
          Broken: the connection is closed.
        """
        ((kind, fields),) = content.items()
        heads = tuple([head for head, _ in tensors])
        try:
            text = _kept_text(kind, tuple(fields.items()), heads)
        except TypeError:  # lists of strings, or messages
            text = _text(kind, fields, heads)
        head = _HEAD.pack(_MAGIC, len(text)) + _NUMBERS.pack(number, step) + text
        if more:  # the tensors' memory may change until then
            data = b"".join((head, *(data for _, data in tensors)))
            with self._sending:
                self._held.append(data)
        else:
            self._send([head, *(data for _, data in tensors if data)])

    def flush(self) -> None:
        """Send what waits for another message; `Broken` as by `send`."""
        if self._held:
            self._send([])

    def _send(self, buffers: list[Any]) -> None:
        with self._sending:
            held, self._held = self._held, []
            try:
                _send_all(self._socket, held + buffers)
            except OSError as error:
                self.close()
                raise Broken(error.strerror or str(error)) from None
            except BaseException:  # Ctrl-C, maybe in the middle of a frame
                self.close()
                raise

    def receive(self) -> Frame:
        """Wait for a message; give it with its tensors.

        Raises:
          Broken: the connection is closed, or the data is not a message.
        """
        try:
            magic, length = _HEAD.unpack(self._read(_HEAD.size))
            if magic[:1] == b"\0" and magic[3] == _SETTINGS:
                raise OtherProtocol("the server speaks TensorFlow's protocol")
            if magic[:3] == _MAGIC[:3] and magic != _MAGIC:
                raise OtherVersion(
                    f"tasks of Stillflow speak two versions of their protocol: {magic!r} there, "
                    f"{_MAGIC!r} here. Install one version everywhere"
                )
            if magic != _MAGIC or length > _LONGEST:
                raise Broken("what came in is no message of a task")
            data = self._read(_NUMBERS.size + length)
            number, step = _NUMBERS.unpack_from(data)
            parse = _kept_parsed if length <= _SHORT else _parsed
            kind, content, rooms = parse(data[_NUMBERS.size :])
            arrays = [self._used_again(make()) for make in rooms]
            for array in arrays:
                target = packed.writable_bytes(array)
                if target is not None:
                    self._fill(target)
        except OSError as error:
            raise Broken(error.strerror or str(error)) from None
        except (MemoryError, RuntimeError, ValueError, protos_error()) as error:
            raise Broken(f"what came in is no message of a task: {error}") from None
        return Frame(kind, content, number, step, arrays)

    def _used_again(self, room: np.ndarray) -> np.ndarray:
        """Return memory for an array that was not written to; large memory is of earlier ones."""
        if room.nbytes < LARGE or room.dtype.hasobject:
            return room
        room_of_bytes = _MEMORY.empty(room.nbytes, torch.empty(0, dtype=torch.uint8))
        return room_of_bytes.numpy().view(room.dtype).reshape(room.shape)

    def _read(self, count: int) -> bytes:
        """Read a bounded number of bytes; memory grows with the received data."""
        if count > len(self._ahead):
            data = bytearray(self._ahead)
            while len(data) < count:
                piece = self._socket.recv(min(max(count - len(data), _AHEAD), _PIECE))
                if not piece:
                    raise Broken("Socket closed")
                data += piece
            self._ahead = memoryview(data)
        found, self._ahead = self._ahead[:count], self._ahead[count:]
        return bytes(found)

    def _fill(self, target: memoryview) -> None:
        there = min(len(target), len(self._ahead))
        target[:there] = self._ahead[:there]
        target, self._ahead = target[there:], self._ahead[there:]
        while target:
            count = self._socket.recv_into(target)
            if not count:
                raise Broken("Socket closed")
            target = target[count:]

    def close(self) -> None:
        """Close the connection; readers get an error."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


def _text(kind: str, fields: Any, heads: Sequence[tuple[Any, ...]]) -> bytes:
    message = protos.file(_FILE)["Message"](**{kind: dict(fields)})
    for head in heads:
        message.tensors.add(**dict(zip(("dtype", "shape", "strings"), head, strict=False)))
    text: bytes = message.SerializeToString()
    return text


def _parsed(text: bytes) -> tuple[Any, Any, list[Callable[[], np.ndarray]]]:
    message = protos.file(_FILE)["Message"].FromString(text)
    kind = message.WhichOneof("content")
    content = None if kind is None else getattr(message, kind)
    return kind, content, [packed.room_for(head) for head in message.tensors]


_kept_text = functools.lru_cache(_KEPT)(_text)
_kept_parsed = functools.lru_cache(_KEPT)(_parsed)


def protos_error() -> type[Exception]:
    """Return protobuf's exception for bytes that are no message."""
    from google.protobuf.message import DecodeError

    return DecodeError


def _send_all(connection: socket.socket, buffers: list[Any]) -> None:
    if not hasattr(connection, "sendmsg"):  # Windows
        for buffer in buffers:
            connection.sendall(buffer)
        return
    views = [memoryview(buffer) for buffer in buffers]
    while views:
        sent = connection.sendmsg(views[:_AT_ONCE])
        while views and sent >= len(views[0]):
            sent -= len(views.pop(0))
        if sent:
            views[0] = views[0][sent:]


def _keep_alive(connection: socket.socket) -> None:
    """Enable keep-alive, which detects the loss of the other machine within half a minute or so."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, seconds in (("TCP_KEEPIDLE", 15), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 4)):
        option = getattr(socket, name, None)
        if option is not None:
            connection.setsockopt(socket.IPPROTO_TCP, option, seconds)
