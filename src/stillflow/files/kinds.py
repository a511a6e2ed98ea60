"""Kinds of TensorFlow files, found from their content."""

from __future__ import annotations

import os
import re
import struct
from typing import NamedTuple

from stillflow import errors
from stillflow.files import sniff
from stillflow.files.crc32c import masked_crc32c
from stillflow.files.failures import os_errors
from stillflow.files.filesystem import file_system, open_file
from stillflow.files.records import open_records

CHECKPOINT = "checkpoint"
CHECKPOINT_STATE = "checkpoint state"
DIRECTORY = "directory"
EVENTS = "event file"
GRAPH = "graph"
LITE_MODEL = "TensorFlow Lite model"
NPZ = "npz file"
RECORDS = "TFRecord file"
SAFETENSORS = "safetensors file"
SAVED_MODEL = "SavedModel"
UNKNOWN = "unknown"

_HEAD = 512
_TABLE_MAGIC = struct.pack("<Q", 0xDB4775248B80FB57)
_LITE_IDENTIFIER = b"TFL3"
_PART = re.compile(r"(.*)\.(?:index|data-\d{5}-of-\d{5})", re.DOTALL)
_TEXT = re.compile(rb"\s*(?:#[^\n]*\n\s*)*([a-z_]+)\s*[:{]")
_TEXT_GRAPHS = frozenset(
    {
        b"node",
        b"versions",
        b"library",
        b"version",
        b"meta_info_def",
        b"graph_def",
        b"saver_def",
        b"collection_def",
        b"signature_def",
        b"asset_file_def",
    }
)
_TEXT_SAVED_MODELS = frozenset({b"saved_model_schema_version", b"meta_graphs"})
_TEXT_STATES = frozenset({b"model_checkpoint_path", b"all_model_checkpoint_paths"})
_LENGTH_AND_CRC = struct.Struct("<QI")


class Kind(NamedTuple):
    """Kind of a file, with its description.

    Attributes:
      name: one of the constants of this module.
      path: what to open: of a checkpoint, what the names of its files begin with.
      compression: of records, "", "ZLIB" or "GZIP".
      note: what else is known.
    """

    name: str
    path: str
    compression: str = ""
    note: str = ""


def identify(path: str) -> Kind:
    """Return the kind of a path's file, by its contents; OpError if nothing can be read."""
    system = file_system(path)
    part = _PART.fullmatch(path)
    if part and system.exists(f"{part[1]}.index"):
        return Kind(CHECKPOINT, part[1])
    if not system.exists(path) and system.exists(f"{path}.index"):
        return Kind(CHECKPOINT, path)
    if system.entry(path).is_directory:
        return _directory(path)
    if sniff.is_special(path):
        return Kind(UNKNOWN, path, note=sniff.SPECIAL)
    with open_file(path) as file, os_errors(path):
        head = file.read(_HEAD)
        ends_as_table = _ends_with(file, _TABLE_MAGIC)
    return _file(path, head, ends_as_table)


def _ends_with(file: object, end: bytes) -> bool:
    try:
        file.seek(-len(end), os.SEEK_END)  # type: ignore[attr-defined]
    except (OSError, ValueError):  # shorter than that
        return False
    return file.read() == end  # type: ignore[attr-defined]


def _directory(path: str) -> Kind:
    children = file_system(path).children(path)
    for name in ("saved_model.pb", "saved_model.pbtxt"):
        if name in children:
            return Kind(SAVED_MODEL, path)
    if "checkpoint" in children:
        return Kind(CHECKPOINT_STATE, os.path.join(path, "checkpoint"))
    return Kind(DIRECTORY, path)


def _file(path: str, head: bytes, ends_as_table: bool) -> Kind:
    if ends_as_table:
        return Kind(CHECKPOINT, path)
    if is_record_header(head):
        return Kind(EVENTS if _is_event(head) else RECORDS, path)
    for kind in ("GZIP", "ZLIB"):
        start = _unpacked(path, kind) if _may_be(kind, head) else b""
        if is_record_header(start):
            return Kind(RECORDS, path, kind)
    word = _TEXT.match(head)
    if word and word[1] in _TEXT_GRAPHS:
        return Kind(GRAPH, path)
    if word and word[1] in _TEXT_SAVED_MODELS:
        return Kind(SAVED_MODEL, path)
    if word and word[1] in _TEXT_STATES:
        return Kind(CHECKPOINT_STATE, path)
    if head[4:8] == _LITE_IDENTIFIER:
        return Kind(LITE_MODEL, path)
    if path.endswith(".safetensors"):
        return Kind(SAFETENSORS, path)
    if path.endswith(".npz"):
        return Kind(NPZ, path)
    guess = sniff.describe(head)
    if guess is None and os.path.basename(path).startswith("saved_model.pb"):
        return Kind(SAVED_MODEL, path)
    return Kind(UNKNOWN if guess else GRAPH, path, note=guess or "")


def is_record_header(data: bytes) -> bool:
    """Return True if bytes begin like a TFRecord file, with a length and its checksum."""
    if len(data) < _LENGTH_AND_CRC.size:
        return False
    _, crc = _LENGTH_AND_CRC.unpack_from(data)
    return bool(crc == masked_crc32c(data[:8]))


def _is_event(head: bytes) -> bool:
    """Return True if the first record is the Event with the file's version."""
    length, _ = _LENGTH_AND_CRC.unpack_from(head)
    first = head[_LENGTH_AND_CRC.size :][:length]
    return b"brain.Event:" in first and first[:1] in (b"\x09", b"\x1a")


def _may_be(kind: str, head: bytes) -> bool:
    if kind == "GZIP":
        return head.startswith(b"\x1f\x8b")
    # The method is 8, and the first two bytes a multiple of 31.
    return len(head) > 1 and head[0] & 15 == 8 and not (head[0] << 8 | head[1]) % 31


def _unpacked(path: str, kind: str) -> bytes:
    try:
        with open_records(path, kind) as file:
            data: bytes = file.read(_LENGTH_AND_CRC.size)
            return data
    except errors.OpError:
        return b""
