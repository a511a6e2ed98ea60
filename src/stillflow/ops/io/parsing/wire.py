"""Features of Examples, from their bytes to arrays.

An Example is read as a map from names to the *bytes* of features: the protobuf library then builds
no object for an unused feature, and the packed numbers in those bytes are extracted for all
examples of a batch at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from google.protobuf.message import DecodeError

from stillflow.files import varint
from stillflow.ops.io.parsing import scanning
from stillflow.ops.strings.kernels import strings_of

# The tag of a feature, by the type of its values, and the first byte of a list.
TAGS = {"string": 0x0A, "float": 0x12, "int64": 0x1A}
TYPES = {tag: name for name, tag in TAGS.items()}
LIST = 0x0A
_VOID = 2  # bytes of the header of a list of nothing
_MANY_BYTES = 256  # of integers: to take fewer one by one is faster
_TYPES = {"float": "<f4", "int64": "<i8"}
NO_HEADER = b"\0"  # how no feature begins
_LISTS = {"string": "bytes_list", "float": "float_list", "int64": "int64_list"}


class WrongKind(Exception):
    """A feature holds values of another type.

    Args:
      index: which one.
      actual: the type it holds.
    """

    def __init__(self, index: int, actual: str) -> None:
        super().__init__(index, actual)
        self.index = index
        self.actual = actual


class Damaged(Exception):
    """The bytes of a feature are not those of a feature.

    Args:
      index: which one.
    """

    def __init__(self, index: int) -> None:
        super().__init__(index)
        self.index = index


class Decoded(NamedTuple):
    """The values of some features, one after the other."""

    values: np.ndarray  # float32, int64 or object (bytes) [total]
    counts: np.ndarray  # int64: how many values each feature has


class Block(NamedTuple):
    """The values of features that are alike, one feature after the other."""

    values: np.ndarray  # float32, int64 or object (bytes) [total]
    counts: np.ndarray  # int64 [features, examples]: how many values each example has
    present: np.ndarray  # bool [features, examples]: whether it has the feature at all


@cache
def messages() -> tuple[Any, Any]:
    """Return the messages Example and SequenceExample, with features as bytes."""
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

    field = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="raw", package="raw", syntax="proto2")

    def message(name: str, *fields: tuple[str, int, int, int, str]) -> Any:
        made = file.message_type.add(name=name)
        for label, number, kind, repeated, type_name in fields:
            made.field.add(
                name=label, number=number, type=kind, label=repeated, type_name=type_name or None
            )
        return made

    def mapping(name: str, label: str, kind: int, type_name: str) -> None:
        made = message(name, (label, 1, field.TYPE_MESSAGE, 3, f".raw.{name}.Entry"))
        entry = made.nested_type.add(name="Entry")
        entry.options.map_entry = True
        entry.field.add(name="key", number=1, type=field.TYPE_STRING, label=1)
        entry.field.add(name="value", number=2, type=kind, label=1, type_name=type_name or None)

    mapping("Features", "feature", field.TYPE_BYTES, "")
    message("FeatureList", ("feature", 1, field.TYPE_BYTES, 3, ""))
    mapping("FeatureLists", "feature_list", field.TYPE_MESSAGE, ".raw.FeatureList")
    features = (field.TYPE_MESSAGE, 1, ".raw.Features")
    lists = (field.TYPE_MESSAGE, 1, ".raw.FeatureLists")
    message("Example", ("features", 1, *features))
    message("SequenceExample", ("context", 1, *features), ("feature_lists", 2, *lists))
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    found = [pool.FindMessageTypeByName(f"raw.{n}") for n in ("Example", "SequenceExample")]
    return tuple(map(message_factory.GetMessageClass, found))


def example_of(text: bytes) -> Any:
    """Parse an Example; an unknown field that its end cuts off is ignored, as in TensorFlow."""
    parse = messages()[0].FromString
    try:
        return parse(text)
    except DecodeError:
        end = _last_unknown(text)
        if end is None:
            raise
        return parse(text[:end])


def _last_unknown(text: bytes) -> int | None:
    """Return the start of an unknown, incomplete field of bytes in an Example."""
    place = 0
    try:
        while place < len(text):
            begin = place
            tag, place = varint.decode(text, place, len(text))
            if tag & 7 != 2:
                return None
            size, place = varint.decode(text, place, len(text))
            place += size
    except (IndexError, ValueError):  # a number is cut off
        return None
    return begin if place > len(text) and tag >> 3 != 1 else None


@cache
def header(tag: int, size: int) -> bytes:
    """Return the first bytes of a feature of `size` bytes: one packed list, or one string.

    `NO_HEADER` if none of that size is.
    """
    if size == 2:
        return bytes((tag, 0))
    for digits in range(1, min(size, 6)):
        inner = varint.encode(size - 1 - digits)
        if len(inner) != digits:
            continue
        for more in range(1, 6):
            length = size - 2 - digits - more
            if length >= 0 and len(varint.encode(length)) == more:
                return bytes((tag,)) + inner + bytes((LIST,)) + varint.encode(length)
    return b"" if not size else NO_HEADER


def _whole(raw: bytes, index: int, kind: str) -> Any:
    """Return the values of a feature in any form."""
    from stillflow.protos import Feature

    try:
        feature = Feature.FromString(raw)
    except Exception:
        raise Damaged(index) from None
    held = feature.WhichOneof("kind")
    if held is None:
        return []
    if held != _LISTS[kind]:
        actual = next(name for name, label in _LISTS.items() if label == held)
        raise WrongKind(index, actual)
    return getattr(feature, held).value


def decode(raws: Sequence[bytes], kind: str) -> Decoded:
    """Return the values of features, none where they are empty; raise WrongKind or Damaged."""
    return _strings(raws) if kind == "string" else _numbers(raws, kind)


def decode_one(raw: bytes, kind: str) -> np.ndarray:
    """Return the values in the bytes of one feature; raise WrongKind or Damaged."""
    start = header(TAGS[kind], len(raw))
    if kind == "float":
        if raw.startswith(start) and (len(raw) - len(start)) % 4 == 0:
            return np.frombuffer(raw, "<f4", offset=len(start)) if raw else np.empty(0, "<f4")
    elif kind == "string":
        if raw.startswith(start) and len(start) > _VOID:
            return strings_of([raw[len(start) :]], (1,))
    elif len(raw) > _MANY_BYTES:
        return _numbers((raw,), kind).values
    found = list(_whole(raw, 0, kind))
    return strings_of(found, (len(found),)) if kind == "string" else np.array(found, _TYPES[kind])


def _numbers(raws: Sequence[bytes], kind: str) -> Decoded:
    tag = TAGS[kind]
    payloads: list[bytes] = []
    add = payloads.append
    for index, raw in enumerate(raws):
        start = header(tag, len(raw))
        if raw.startswith(start):
            add(raw[len(start) :])
        else:
            add(_packed(_whole(raw, index, kind), kind))
    data = b"".join(payloads)
    sizes = np.fromiter(map(len, payloads), np.int64, len(payloads))
    if kind == "float":
        if (sizes % 4).any():
            raise Damaged(int(np.flatnonzero(sizes % 4)[0]))
        return Decoded(np.frombuffer(data, "<f4"), sizes // 4)
    for index, payload in enumerate(payloads):
        if payload and payload[-1] > 127:  # a number that goes on past the feature's end
            raise Damaged(index)
    return varints(np.frombuffer(data, np.uint8), sizes)


def _packed(values: Any, kind: str) -> bytes:
    if kind == "float":
        return np.array(values, dtype="<f4").tobytes()
    return b"".join(varint.encode(value & 0xFFFFFFFFFFFFFFFF) for value in values)


def varints(data: np.ndarray, sizes: np.ndarray) -> Decoded:
    """Return integers of seven bits a byte, of features of these sizes, each of whole numbers."""
    last = data < 128
    if last.all():
        return Decoded(data.astype(np.int64), sizes)
    stops = scanning.running_total(sizes)
    try:
        values = scanning.numbers(data, np.flatnonzero(last) + 1)
    except scanning.TooLong as error:
        raise Damaged(int(np.searchsorted(stops, error.at))) from None
    passed = np.concatenate(([0], scanning.running_total(last)))
    return Decoded(values, np.diff(passed.take(stops), prepend=0))


def _strings(raws: Sequence[bytes]) -> Decoded:
    tag = TAGS["string"]
    values: list[bytes] = []
    counts = np.ones(len(raws), np.int64)
    for index, raw in enumerate(raws):
        start = header(tag, len(raw)) if len(raw) > 2 else NO_HEADER
        if raw.startswith(start):
            values.append(raw[len(start) :])
        elif raw:
            found = _whole(raw, index, "string")
            values.extend(found)
            counts[index] = len(found)
        else:
            counts[index] = 0
    return Decoded(strings_of(values, (len(values),)), counts)
