"""Messages between Python and a library, in binary (`include/stillflow/attributes.h`)."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from stillflow.graph import dtypes
from stillflow.graph.dtypes import DType, as_dtype
from stillflow.graph.tensor_shape import TensorShape

Dims = Sequence[int | None] | None


class Writer:
    """A message that is written piece by piece: integers, floating-point numbers, texts."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def number(self, value: int) -> None:
        self._parts.append(struct.pack("=q", value))

    def real(self, value: float) -> None:
        self._parts.append(struct.pack("=d", value))

    def text(self, value: str | bytes) -> None:
        encoded = value.encode() if isinstance(value, str) else value
        self.number(len(encoded))
        self._parts.append(encoded)

    def shape(self, dims: Dims) -> None:
        self.number(-1 if dims is None else len(dims))
        for size in dims or ():
            self.number(-1 if size is None else size)

    def value(self, array: np.ndarray, dtype: DType) -> None:
        """Write a tensor; the elements of strings are bytes."""
        self.number(dtype.base_dtype.as_datatype_enum)
        self.shape(array.shape)
        if dtype == dtypes.string:
            for element in array.ravel().tolist():
                self.text(element)
        else:
            self.text(np.ascontiguousarray(array).tobytes())

    def attributes(self, attrs: dict[str, Any], kinds: dict[str, str]) -> None:
        """Write the attributes of a node whose kinds are declared, each a message of its own."""
        known = [name for name in attrs if name in kinds]
        self.number(len(known))
        for name in known:
            self.text(name)
            attribute = Writer()
            attribute._attribute(attrs[name], kinds[name])
            self.text(attribute.finish())

    def arguments(self, counts: Sequence[tuple[str, int]]) -> None:
        """Write the names of arguments with the number of their tensors, as one message."""
        inner = Writer()
        inner.number(len(counts))
        for name, count in counts:
            inner.text(name)
            inner.number(count)
        self.text(inner.finish())

    def _attribute(self, value: Any, kind: str) -> None:
        self.text(kind)
        is_list = kind.startswith("list(")
        element = kind[5:-1] if is_list else kind
        values = list(value) if is_list else [value]
        self.number(len(values))
        for each in values:
            self._element(each, element)

    def _element(self, value: Any, kind: str) -> None:
        if kind == "type":
            self.number(as_dtype(value).as_datatype_enum)
        elif kind == "float":
            self.real(value)
        elif kind == "string":
            self.text(value)
        elif kind == "shape":
            self.shape(value._dims if isinstance(value, TensorShape) else value)
        elif kind == "func":
            self.text(value.name)
        elif kind == "tensor":
            array = _as_array(value)
            self.value(array, as_dtype(array.dtype))
        else:
            self.number(int(value))

    def finish(self) -> bytes:
        """Return the message."""
        return b"".join(self._parts)


def _as_array(value: Any) -> np.ndarray:
    if isinstance(value, np.ndarray):
        return value
    from stillflow.graph.tensor_proto import make_ndarray

    array: np.ndarray = make_ndarray(value)
    return array


class Reader:
    """Reads a message piece by piece."""

    def __init__(self, message: bytes) -> None:
        self._message, self._at = message, 0

    def number(self) -> int:
        (value,) = struct.unpack_from("=q", self._message, self._at)
        self._at += 8
        return int(value)

    def bytes(self) -> bytes:
        size = self.number()
        self._at += size
        return self._message[self._at - size : self._at]

    def text(self) -> str:
        return self.bytes().decode(errors="replace")

    def texts(self) -> list[str]:
        return [self.text() for _ in range(self.number())]

    def numbers(self) -> list[int]:
        return [self.number() for _ in range(self.number())]

    def shape(self) -> tuple[int | None, ...] | None:
        rank = self.number()
        if rank < 0:
            return None
        return tuple(None if size < 0 else size for size in (self.number() for _ in range(rank)))


def handle_message(parts: Iterable[Any]) -> bytes:
    """Return the message of a resource handle: device, container, name, type, hash code."""
    writer = Writer()
    *texts, code = parts
    for text in texts:
        writer.text(text)
    writer.number(code)
    return writer.finish()
