"""Constants and encodings that the writer and the reader of V2 checkpoints share.

A checkpoint of prefix `p` is a table `p.index` and data files `p.data-00000-of-00001`. The table
maps the empty key to a header, and each tensor's name to its type, shape and place. A tensor saved
in parts has an entry that lists the parts, and one more for each of them, under `TensorSlice.key`.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.files import crc32c, varint
from stillflow.files.failures import data_loss

Array = np.ndarray[Any, Any]

HEADER_KEY = b""
VERSION = 1
MIN_PRODUCER = 0


def index_path(prefix: str) -> str:
    """Return the file that makes `prefix` a checkpoint."""
    return f"{prefix}.index"


def data_path(prefix: str, shard: int, shards: int) -> str:
    """Return the file that holds the bytes of one shard."""
    return f"{prefix}.data-{shard:05d}-of-{shards:05d}"


def new_header(shards: int) -> Any:
    """Return the header of a checkpoint in so many data files, as this version writes it."""
    from stillflow.protos import BundleHeaderProto, VersionDef

    return BundleHeaderProto(num_shards=shards, version=VersionDef(producer=VERSION))


def check_versions(versions: Any, version: int, min_producer: int) -> None:
    """InvalidArgumentError if a checkpoint's `VersionDef` excludes this reader."""
    from stillflow.version import VERSION as TF_VERSION

    message = None
    if versions.producer < min_producer:
        message = (
            f"Checkpoint producer version {versions.producer} below min producer {min_producer} "
            f"supported by TensorFlow {TF_VERSION}.  Please regenerate your checkpoint."
        )
    elif versions.min_consumer > version:
        message = (
            f"Checkpoint min consumer version {versions.min_consumer} above current version "
            f"{version} for TensorFlow {TF_VERSION}.  Please upgrade TensorFlow."
        )
    elif version in versions.bad_consumers:
        message = (
            f"Checkpoint disallows consumer version {version}.  Please upgrade TensorFlow: this "
            "version is likely buggy."
        )
    if message:
        raise errors.invalid_argument(message)


# ---- Strings: all lengths, a checksum of the lengths, all bytes


def encode_strings(array: Array) -> tuple[bytes, int]:
    """Return the bytes of a string tensor and their checksum."""
    items = array.reshape(-1).tolist()
    items = [item.encode() if isinstance(item, str) else bytes(item) for item in items]
    lengths = np.fromiter(map(len, items), np.int64, len(items))
    crc = crc32c.crc32c(_lengths_as_summed(lengths, "<"))
    stored = struct.pack("<I", crc32c.mask(crc))
    content = b"".join(items)
    crc = crc32c.extend(crc32c.extend(crc, stored), content)
    return varint.encode_all(lengths) + stored + content, crc


def decode_strings(raw: Any, count: int, path: str, offset: int, swap: bool) -> tuple[Array, int]:
    """Return a string tensor (flat) from its bytes, and their checksum, or raise DataLossError."""
    result = np.empty(count, object)
    if not len(raw):
        result[:] = b""
        return result, 0
    octets = np.frombuffer(raw, np.uint8)
    ends = np.flatnonzero(octets < 0x80)[:count]
    head = int(ends[-1]) + 1 if len(ends) else 0
    if len(ends) < count or head + 4 > len(raw):
        raise data_loss(f"String lengths longer than expected offset {offset}", path, offset)
    try:
        lengths = varint.decode_all(raw[:head])
    except ValueError as error:
        raise data_loss(str(error), path, offset) from None
    order = ">" if swap else "<"
    crc = crc32c.crc32c(_lengths_as_summed(lengths, order))
    stored = raw[head : head + 4]
    expected = crc32c.unmask(struct.unpack(order + "I", stored)[0])
    if expected != crc:
        raise data_loss(
            f"The length checksum does not match: expected {expected:08d} but actual is {crc:08d}",
            path,
            offset,
        )
    content = bytes(raw[head + 4 :])
    stops = np.cumsum(lengths)
    if (lengths < 0).any() or (int(stops[-1]) if count else 0) != len(content):
        raise data_loss("String lengths do not add up to the size stored", path, offset)
    start = 0
    for position, stop in enumerate(stops.tolist()):
        result[position] = content[start:stop]
        start = stop
    return result, crc32c.extend(crc32c.extend(crc, bytes(stored)), content)


def _lengths_as_summed(lengths: Array, order: str) -> bytes:
    """Lengths as the checksum takes them: numbers of 32 bits, or of 64 where that is too few."""
    if not len(lengths) or lengths.max() <= 0xFFFFFFFF:
        return lengths.astype(order + "u4").tobytes()
    return b"".join(
        struct.pack(order + ("I" if length <= 0xFFFFFFFF else "Q"), length)
        for length in lengths.tolist()
    )


# ---- Variants: each its length, the bytes of its message and a checksum of all so far


def encode_variants(array: Array) -> tuple[bytes, int]:
    """Return the bytes and the checksum of a variant tensor, given by its serialized messages."""
    parts, crc = [], 0
    for item in array.reshape(-1).tolist():
        crc = crc32c.extend(crc32c.extend(crc, struct.pack("<Q", len(item))), item)
        stored = struct.pack("<I", crc32c.mask(crc))
        crc = crc32c.extend(crc, stored)
        parts += [varint.encode(len(item)), item, stored]
    return b"".join(parts), crc


def decode_variants(raw: Any, count: int, path: str, offset: int) -> tuple[Array, int]:
    """Return variants' messages (flat) from their bytes, and their checksum, or DataLossError."""
    result = np.empty(count, object)
    position = crc = 0
    for index in range(count):
        try:
            length, position = varint.decode(raw, position, len(raw))
        except ValueError as error:
            raise data_loss(str(error), path, offset) from None
        end = position + length
        if end + 4 > len(raw):
            raise data_loss("A variant longer than the stored data", path, offset)
        item = result[index] = bytes(raw[position:end])
        crc = crc32c.extend(crc32c.extend(crc, struct.pack("<Q", length)), item)
        stored, position = bytes(raw[end : end + 4]), end + 4
        expected = crc32c.unmask(struct.unpack("<I", stored)[0])
        if expected != crc:
            raise data_loss(
                f"The checksum after Variant {index} does not match. Expected: {expected:08d} "
                f"Actual: {crc:08d}",
                path,
                offset,
            )
        crc = crc32c.extend(crc, stored)
    return result, crc
