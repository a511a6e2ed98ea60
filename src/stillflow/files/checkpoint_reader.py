"""Checkpoints of either format, read by name."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.files import tensor_types
from stillflow.files.bundle_format import index_path
from stillflow.files.bundle_reader import BundleReader
from stillflow.files.checkpoint_paths import advice
from stillflow.files.local_path import is_remote, plain_prefix
from stillflow.files.tensor_slice import Shape, TensorSlice, parse_shape_and_slice, shape_text
from stillflow.files.v1_checkpoint import V1Reader
from stillflow.platform.compat import as_bytes

Array = np.ndarray[Any, Any]


def open_checkpoint(prefix: str) -> BundleReader | V1Reader:
    """Open a checkpoint, on the disk or elsewhere: V2 if it has an index, else V1.

    NotFoundError if there is neither, DataLossError if it is damaged, or no checkpoint.
    """
    if is_remote(prefix):
        from stillflow.files.staging import open_remote

        return open_remote(prefix)
    prefix = plain_prefix(prefix)
    if os.path.exists(index_path(prefix)):
        return BundleReader(prefix)
    return V1Reader(prefix)


class CheckpointReader:
    """The tensors in a checkpoint of either format, by name.

    Args:
      prefix: The result of `Saver.save`.
    """

    def __init__(self, prefix: str | bytes | os.PathLike[str]) -> None:
        self._prefix = os.fsdecode(prefix)
        self._reader = open_checkpoint(self._prefix)

    def _types_and_shapes(self) -> dict[str, tuple[int, Shape]]:
        if isinstance(self._reader, V1Reader):
            found: Any = self._reader.tensors
        else:
            found = self._reader.tensors()
        return {self._text(key): (entry.number, entry.shape) for key, entry in found.items()}

    def _text(self, key: bytes) -> str:
        try:
            return key.decode()
        except UnicodeDecodeError:
            raise errors.data_loss(
                f"{self._prefix}: the name of a tensor, {key!r}, is no UTF-8 text"
            ) from None

    def has_tensor(self, name: str) -> bool:
        """Return True if there is a tensor of this name."""
        key = name.encode()
        if isinstance(self._reader, V1Reader):
            return key in self._reader.tensors
        return key in self._reader

    def get_variable_to_shape_map(self) -> dict[str, list[int]]:
        """Return the shape of each tensor, by name."""
        return {name: list(shape) for name, (_, shape) in self._types_and_shapes().items()}

    def type_numbers(self) -> dict[str, int]:
        """Return the number of each tensor's type in the `DataType` enum, by name."""
        return {name: number for name, (number, _) in self._types_and_shapes().items()}

    def get_tensor(self, name: str | bytes) -> Array:
        """Return the value of a tensor: an array, or bytes for a single string.

        Raises:
          NotFoundError: If there is none of this name.
          DataLossError: If its bytes do not fit their checksum.
        """
        key = as_bytes(name)
        array = self._reader.lookup(key)
        return array if array.shape else array[()]

    def debug_string(self) -> bytes:
        """One line a tensor: its name, type and shape."""
        lines = []
        for name, number, shape, count in sorted(self._described()):
            kind = tensor_types.name_of(number).upper()
            line = name + f" (DT_{kind}) {shape_text(shape)}".encode()
            lines.append(line + (f", {count} slices\n".encode() if count > 1 else b"\n"))
        return b"".join(lines)

    def _described(self) -> Iterator[tuple[bytes, int, Shape, int]]:
        """Yield the entries of `debug_string`: in V2, parts instead of the whole."""
        if isinstance(self._reader, V1Reader):
            for key, tensor in self._reader.tensors.items():
                yield key, tensor.number, tensor.shape, len(tensor.slices)
            return
        for key in self._reader.names():
            entry = self._reader.entry(key)
            if not entry.slices:
                yield key, entry.number, entry.shape, 0


def restore(
    reader: BundleReader | V1Reader,
    name: bytes,
    shape_and_slice: str,
    number: int | None,
) -> Array:
    """Return the result of the restore ops: a tensor, or the part `shape_and_slice` of it.

    `shape_and_slice` is the shape of the whole and which part, or "". `number` is the type in the
    `DataType` enum, if that is to be checked. NotFoundError if the tensor is missing,
    InvalidArgumentError if its type or shape is another.
    """
    v1 = isinstance(reader, V1Reader)
    text = name.decode(errors="replace")
    if isinstance(reader, V1Reader):
        if name not in reader.tensors:
            raise errors.not_found(
                f'Tensor name "{text}" not found in checkpoint files {reader.pattern}'
                + advice(reader.pattern)
            )
        stored: Any = reader.tensors[name]
    else:
        stored = reader.entry(name)
    if number is not None and v1 and stored.number != number:
        raise errors.invalid_argument(
            f"Expected to restore a tensor of type {tensor_types.name_of(number)}, got a tensor "
            f"of type {tensor_types.name_of(stored.number)} instead: tensor_name = {text}"
        )
    if not shape_and_slice:
        return reader.lookup(name)
    shape, part, _ = parse_shape_and_slice(shape_and_slice)
    if shape != stored.shape:
        raise errors.invalid_argument(_shape_mismatch(v1, text, shape, stored.shape))
    return reader.lookup_slice(name, TensorSlice(part.extents))


def _shape_mismatch(v1: bool, name: str, given: Shape, stored: Shape) -> str:
    texts = [shape_text(shape) for shape in (given, stored)]
    if v1:
        return (
            "Shape in shape_and_slice spec does not match the shape in the save file: "
            f"{texts[0]}, save file shape: {texts[1]}"
        )
    return (
        f"tensor_name = {name}; shape in shape_and_slice spec {texts[0]} does not match the "
        f"shape stored in checkpoint: {texts[1]}"
    )
