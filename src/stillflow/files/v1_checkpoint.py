"""V1 checkpoints: one table a shard, of protocol buffers.

The empty key leads to a list of all tensors with their types, shapes and saved parts; under
`TensorSlice.key` stands each part's value.
"""

from __future__ import annotations

import glob
import mmap
import os
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from stillflow import errors
from stillflow.files import (
    atomic,
    bundle_entry,
    bundle_format,
    sstable,
    tensor_types,
    v1_values,
    wire,
)
from stillflow.files.checkpoint_paths import advice
from stillflow.files.failures import data_loss, os_errors
from stillflow.files.slice_assembly import assemble
from stillflow.files.tensor_slice import Shape, TensorSlice, shape_text

Array = np.ndarray[Any, Any]

VERSION = 1
MIN_PRODUCER = 0
_META_KEY = b""


class Saved(NamedTuple):
    """One tensor, or part of one, to be saved."""

    name: bytes
    array: Array
    number: int  # its type in the DataType enum
    full_shape: Shape
    part: TensorSlice


def write(path: str, tensors: Sequence[Saved]) -> None:
    """Write a checkpoint of one shard; a file that stands there is replaced at once.

    UnimplementedError if the format cannot hold a type, InvalidArgumentError if a tensor is too
    large for it, InternalError if parts of one tensor do not agree.
    """
    meta, values = _messages(sorted(tensors, key=lambda saved: saved.name))
    temporary = atomic.temporary_name(path)
    try:
        with os_errors(path):
            with open(temporary, "wb") as file:
                builder = sstable.TableBuilder(file.write)
                builder.add(_META_KEY, meta.SerializeToString())
                for key in sorted(values):
                    builder.add(key, _value_message(values[key]))
                builder.finish()
                file.flush()
                atomic.sync_file(file.fileno())
            os.replace(temporary, path)
    except BaseException:
        atomic.remove(temporary)
        raise
    atomic.sync_directory(os.path.dirname(path))


def _messages(tensors: list[Saved]) -> tuple[Any, dict[bytes, Saved]]:
    """Return the message that lists all tensors, and the saved tensors by key."""
    from stillflow.protos import SavedTensorSlices, VersionDef

    message = SavedTensorSlices()
    message.meta.versions.CopyFrom(VersionDef(producer=VERSION))
    listed: dict[bytes, Any] = {}
    values: dict[bytes, Saved] = {}
    for saved in tensors:
        if not v1_values.is_supported(saved.number):
            raise errors.unimplemented(
                f"Saving data type {tensor_types.name_of(saved.number)} not yet supported"
            )
        meta = listed.get(saved.name)
        if meta is None:
            meta = listed[saved.name] = message.meta.tensor.add()
            meta.name, meta.type = saved.name.decode(), saved.number
            meta.shape.SetInParent()
            for size in saved.full_shape:
                meta.shape.dim.add().size = size
        _check_agrees(meta, saved)
        saved.part.to_proto(meta.slice.add())
        values.setdefault(saved.part.key(saved.name), saved)
    return message, values


def _check_agrees(meta: Any, saved: Saved) -> None:
    shape = tuple(dim.size for dim in meta.shape.dim)
    if shape != tuple(saved.full_shape):
        raise errors.internal(
            f"Mismatching shapes: existing tensor = {shape_text(shape)}, trying to add name "
            f"{meta.name}, shape = {shape_text(saved.full_shape)}"
        )
    if meta.type != saved.number:
        names = tensor_types.name_of(meta.type), tensor_types.name_of(saved.number)
        raise errors.internal(
            f"Mismatching types: existing type = {names[0]}, trying to add name {meta.name}, "
            f"type = {names[1]}"
        )
    bound = v1_values.size_bound(saved.array, saved.number)
    if bound > v1_values.MAX_BYTES:
        raise errors.invalid_argument(
            f"Tensor slice is too large to serialize (conservative estimate: {bound} bytes)"
        )


def _value_message(saved: Saved) -> bytes:
    """Return the SavedTensorSlices message with one value."""
    from stillflow.protos import SavedSlice

    head = SavedSlice(name=saved.name.decode())
    head.slice.SetInParent()
    saved.part.to_proto(head.slice)
    value = v1_values.encode(saved.array, saved.number)
    content = head.SerializeToString() + wire.header(3, len(value)) + value
    return wire.header(2, len(content)) + content


class Tensor(NamedTuple):
    """Description of a tensor in a checkpoint."""

    number: int
    shape: Shape
    slices: list[TensorSlice]
    shards: list[int]  # the file that holds each of these


class V1Reader:
    """A V1 checkpoint to read from.

    Args:
      pattern: Its file, or a glob pattern for its shards.

    Raises:
      NotFoundError: If there is no such file.
      DataLossError: If one is no table, or damaged.
    """

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self._paths = [pattern] if os.path.isfile(pattern) else sorted(glob.glob(pattern))
        if pattern.endswith("/"):
            self._paths = []
        parent = os.path.dirname(pattern)
        if parent and not glob.has_magic(parent) and not os.path.isdir(parent):
            raise errors.invalid_argument(
                "Unsuccessful TensorSliceReader constructor: Failed to get matching files on "
                f"{pattern}: Not found: {parent}; No such file or directory{advice(pattern)}"
            )
        if not self._paths:
            raise errors.not_found(
                "Unsuccessful TensorSliceReader constructor: Failed to find any matching files "
                f"for {pattern}{advice(pattern)}"
            )
        self._tables = [_open(path) for path in self._paths]
        self.tensors: dict[bytes, Tensor] = {}
        for shard, table in enumerate(self._tables):
            self._load(shard, table)

    def _load(self, shard: int, table: sstable.Table) -> None:
        from google.protobuf.message import DecodeError

        from stillflow.protos import SavedTensorSlices

        why = ""
        try:
            raw = table.get(_META_KEY)
            message = None if raw is None else SavedTensorSlices.FromString(bytes(raw))
        except (DecodeError, errors.DataLossError) as error:
            message, why = None, f"\n{error}"
        if message is None:
            raise errors.internal(
                "Failed to find the saved tensor slices at the beginning of the checkpoint file: "
                f"{table.path}{why}"
            )
        bundle_format.check_versions(message.meta.versions, VERSION, MIN_PRODUCER)
        for meta in message.meta.tensor:
            shape = bundle_entry.shape_of(meta.shape)
            if shape is None:
                raise data_loss(f"Invalid tensor shape: {meta.name}", table.path)
            name = meta.name.encode()
            known = self.tensors.setdefault(name, Tensor(meta.type, shape, [], []))
            if (known.number, known.shape) != (meta.type, shape):
                raise errors.internal(
                    f"Incompatible tensor shapes or types detected for tensor {meta.name}"
                )
            parts = [TensorSlice.from_proto(part) for part in meta.slice]
            known.slices.extend(parts)
            known.shards.extend([shard] * len(parts))

    def lookup(self, name: bytes) -> Array:
        """Return the value of a tensor."""
        return self.lookup_slice(name, TensorSlice.full(len(self._tensor(name).shape)))

    def lookup_slice(self, name: bytes, part: TensorSlice) -> Array:
        """Return the value of a part of a tensor, assembled from the saved parts."""
        tensor = self._tensor(name)
        if part in tensor.slices:
            return self._read(name, tensor, part)
        return assemble(
            name,
            tensor.shape,
            part,
            tensor.slices,
            lambda piece: self._read(name, tensor, piece),
        )

    def _tensor(self, name: bytes) -> Tensor:
        try:
            return self.tensors[name]
        except KeyError:
            text = name.decode(errors="replace")
            message = f"{text} not found in checkpoint file"
            raise errors.not_found(message) from None

    def _read(self, name: bytes, tensor: Tensor, part: TensorSlice) -> Array:
        """Return the value of one saved part."""
        text = name.decode(errors="replace")
        if not v1_values.is_supported(tensor.number):
            raise errors.unimplemented(
                f"Restoring data type {tensor_types.name_of(tensor.number)} not yet supported"
            )
        table = self._tables[tensor.shards[tensor.slices.index(part)]]
        raw = table.get(part.key(name))
        if raw is None:
            raise data_loss(f"The value of {text} is missing", table.path)
        shape = part.shape_in(tensor.shape)
        try:
            data = _last(_last(raw, 2), 3)
            return v1_values.decode(data, tensor.number, shape)
        except ValueError as error:
            raise data_loss(f"The value of {text} is damaged: {error}", table.path) from None


def _last(message: Any, number: int) -> Any:
    """Return the last field of this number that is a message; nothing if there is none."""
    found: Any = b""
    for at, kind, value in wire.fields(message):
        if at == number and kind == wire.BYTES:
            found = value
    return found


def _open(path: str) -> sstable.Table:
    try:
        with os_errors(path):
            with open(path, "rb") as file:
                size = os.fstat(file.fileno()).st_size
                data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if size else b""
        return sstable.Table(data, path)
    except errors.OpError as error:
        what, line, rest = error.message.partition("\n")
        kind = re.sub(r"(?<!^)(?=[A-Z])", " ", type(error).__name__.removesuffix("Error"))
        raise errors.data_loss(
            f"Unable to open table file {path}: {kind.capitalize()}: {what}: perhaps your file is "
            f"in a different file format and you need to use a different restore operator?"
            f"{line}{rest}{advice(path)}"
        ) from None
