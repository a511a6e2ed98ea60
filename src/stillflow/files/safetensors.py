"""Files of the safetensors format, read and written without its library.

Such a file is the length of a header (8 bytes, little-endian), the header, a JSON object with each
tensor's type, shape and place, and then the tensors, one after the other. Tensors whose types the
format does not have (strings, quantized and complex numbers) are in its metadata, or their stored
form is described there, under a name of ours: other readers see plain numbers.
"""

from __future__ import annotations

import base64
import json
import os
import struct
from collections.abc import Iterable, Iterator
from math import prod
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from stillflow import errors
from stillflow.files import atomic, tensor_types
from stillflow.files.failures import data_loss, os_errors
from stillflow.files.new_file import NewFile
from stillflow.util import progress

Array = np.ndarray[Any, Any]

MAX_HEADER = 100_000_000  # that of the format's own library
_METADATA = "__metadata__"
_OURS = "stillflow"
_LENGTH = struct.Struct("<Q")

_DTYPES: dict[str, np.dtype[Any]] = {
    name: np.dtype(kind)
    for name, kind in {
        "BOOL": np.bool_, "U8": np.uint8, "I8": np.int8, "U16": np.uint16, "I16": np.int16,
        "U32": np.uint32, "I32": np.int32, "U64": np.uint64, "I64": np.int64, "F16": np.float16,
        "BF16": ml_dtypes.bfloat16, "F32": np.float32, "F64": np.float64, "C64": np.complex64,
    }.items()
}  # fmt: skip
_NAMES = {dtype: name for name, dtype in _DTYPES.items() if name != "C64"}  # few readers know C64
_PARTS = {np.dtype(np.complex64): np.float32, np.dtype(np.complex128): np.float64}


class StoredTensor(NamedTuple):
    """A tensor as checkpoints store it."""

    name: str
    number: int  # its type in the DataType enum
    array: Array


def write(path: str, tensors: Iterable[StoredTensor]) -> None:
    """Write tensors, all in memory, or OpError; a reader sees the old file or the new."""
    header: dict[str, Any] = {}
    special: dict[str, Any] = {}
    contents: list[Array] = []
    offset = 0
    ordered = sorted(tensors, key=lambda tensor: -tensor.array.dtype.itemsize)
    for tensor in ordered:
        if tensor.name == _METADATA:
            raise errors.invalid_argument(f"no tensor can be called {_METADATA}")
        stored = _plain(tensor, special)
        if stored is None:
            continue
        header[tensor.name] = {
            "dtype": _NAMES[stored.dtype],
            "shape": list(stored.shape),
            "data_offsets": [offset, offset + stored.nbytes],
        }
        contents.append(stored)
        offset += stored.nbytes
    metadata = {"format": "pt"} | ({_OURS: json.dumps(special)} if special else {})
    text = json.dumps({_METADATA: metadata} | header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    file = NewFile(atomic.temporary_name(path), sync=True, size=offset)
    try:
        file.append(_LENGTH.pack(len(text)) + text)
        for content in progress.over(contents, "writing", "tensors"):
            file.append_array(np.ascontiguousarray(content).reshape(-1).view(np.uint8))
        file.close()
        with os_errors(path):
            os.replace(file.path, path)
    except BaseException:
        file.abandon()
        raise
    atomic.sync_directory(os.path.dirname(path))


def _plain(tensor: StoredTensor, special: dict[str, Any]) -> Array | None:
    """Return a tensor as numbers of the format's types; None if it stands in `special` alone."""
    array = tensor.array
    if tensor.number == tensor_types.STRING:
        items = array.reshape(-1).tolist()
        special[tensor.name] = {
            "type": "string",
            "shape": list(array.shape),
            "values": [base64.b64encode(item).decode() for item in items],
        }
        return None
    if array.dtype in _PARTS:
        special[tensor.name] = {"type": tensor_types.name_of(tensor.number)}
        parts = np.ascontiguousarray(array).reshape(-1).view(_PARTS[array.dtype])
        return parts.reshape(*array.shape, 2)
    if tensor_types.NUMBER_OF[array.dtype] != tensor.number:
        special[tensor.name] = {"type": tensor_types.name_of(tensor.number)}
    return array


def read(path: str) -> Iterator[StoredTensor]:
    """Yield the tensors of a file, each where it lies in the mapped file.

    DataLossError, before anything is allocated, if it is no such file, or damaged. OpError if the
    file cannot be opened.
    """
    with os_errors(path):
        size = os.path.getsize(path)
        with open(path, "rb") as file:
            header, start = _read_header(file, size, path)
        data = np.memmap(path, np.uint8, "r") if size else np.empty(0, np.uint8)
    special = _special(header.pop(_METADATA, {}), path)
    for name, entry in _in_order(header, size - start, path):
        first, last = entry["data_offsets"]
        octets = data[start + first : start + last]
        array = np.asarray(octets).view(_DTYPES[entry["dtype"]]).reshape(entry["shape"])
        yield _restored(name, array, special.pop(name, None), path)
    for name, note in special.items():
        yield StoredTensor(name, tensor_types.STRING, _strings(name, note, path))


def _read_header(file: Any, size: int, path: str) -> tuple[dict[str, Any], int]:
    head = file.read(_LENGTH.size)
    length = _LENGTH.unpack(head)[0] if len(head) == _LENGTH.size else 0
    if not 2 <= length <= min(MAX_HEADER, size - _LENGTH.size):
        raise data_loss("not a safetensors file: its header has no proper length", path)
    try:
        header = json.loads(file.read(length), object_pairs_hook=_unique)
    except (ValueError, RecursionError) as error:
        raise data_loss(f"the header of the safetensors file is damaged: {error}", path) from None
    if not isinstance(header, dict):
        raise data_loss("the header of the safetensors file is no object", path)
    return header, _LENGTH.size + length


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name stands in it twice")
    return found


def _special(metadata: Any, path: str) -> dict[str, Any]:
    """Return our description of the tensors whose types the format does not have."""
    try:
        special = json.loads(metadata.get(_OURS, "{}"))
        if all(isinstance(note, dict) and "type" in note for note in special.values()):
            return dict(special)
    except (ValueError, AttributeError, TypeError, RecursionError):
        pass
    raise data_loss("the metadata of the safetensors file are damaged", path)


def _in_order(header: dict[str, Any], size: int, path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the entries in the order of their bytes, which must fill the file without gaps."""
    for name, entry in header.items():
        if not _is_sound(entry):
            raise data_loss(f"the entry of {name!r} is damaged", path)
    entries = sorted(header.items(), key=lambda item: item[1]["data_offsets"])
    position = 0
    for name, entry in entries:
        first, position_after = entry["data_offsets"]
        if first != position or position_after > size:
            raise data_loss(f"the bytes of {name!r} overlap, leave a gap or are cut off", path)
        position = position_after
    if position != size:
        raise data_loss(f"{size - position} bytes belong to no tensor", path)
    yield from entries


def _is_sound(entry: Any) -> bool:
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        return False
    shape, offsets = entry["shape"], entry["data_offsets"]
    if not (_are_sizes(shape) and _are_sizes(offsets)) or len(offsets) != 2 or len(shape) > 64:
        return False
    if not isinstance(entry["dtype"], str) or entry["dtype"] not in _DTYPES:
        return False
    return bool(prod(shape) * _DTYPES[entry["dtype"]].itemsize == offsets[1] - offsets[0])


def _are_sizes(values: Any) -> bool:
    return isinstance(values, list) and all(
        type(value) is int and 0 <= value < 1 << 62 for value in values
    )


def _restored(name: str, array: Array, note: Any, path: str) -> StoredTensor:
    """Return a tensor as it was before `write` stored it."""
    if note is None:
        return StoredTensor(name, tensor_types.NUMBER_OF[array.dtype], array)
    number = tensor_types.NUMBERS.get(str(note["type"]), 0)
    storage = tensor_types.STORAGE.get(number)
    if (
        storage is not None
        and storage in _PARTS
        and array.dtype == _PARTS[storage]
        and array.shape[-1:] == (2,)
    ):
        complex_array = np.ascontiguousarray(array).reshape(-1).view(storage)
        return StoredTensor(name, number, complex_array.reshape(array.shape[:-1]))
    if storage is None or storage != array.dtype:
        raise data_loss(f"the metadata call {name!r} {note['type']}, which it is not", path)
    return StoredTensor(name, number, array)


def _strings(name: str, note: dict[str, Any], path: str) -> Array:
    try:
        values = [base64.b64decode(value, validate=True) for value in note["values"]]
        if note["type"] != "string" or not _are_sizes(note["shape"]):
            raise ValueError
        array = np.empty(len(values), object)
        array[:] = values
        return array.reshape(note["shape"])
    except (KeyError, ValueError, TypeError):
        raise data_loss(f"the metadata hold no proper strings {name!r}", path) from None
