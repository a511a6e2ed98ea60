"""Convert a checkpoint to safetensors, NumPy's npz or the newer checkpoint format, and back.

What SOURCE is, is found out; what TARGET is to be, its ending says: .safetensors, .npz, or else a
checkpoint of format V2. Types and names of tensors stay as they are.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import zipfile
from collections.abc import Iterator
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.files import atomic, safetensors, tensor_types
from stillflow.files.bundle_format import index_path
from stillflow.files.bundle_writer import BundleWriter
from stillflow.files.checkpoint_reader import open_checkpoint
from stillflow.files.failures import data_loss, os_errors
from stillflow.files.safetensors import StoredTensor
from stillflow.files.v1_checkpoint import V1Reader


def main(arguments: list[str]) -> int:
    """Convert; returns the exit status."""
    summary, _, details = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        prog="python -m stillflow convert", description=summary, epilog=details
    )
    parser.add_argument("source", help="a checkpoint's prefix, a .safetensors or an .npz file")
    parser.add_argument("target", help="a .safetensors or an .npz file, or a checkpoint's prefix")
    parser.add_argument("--force", action="store_true", help="replace a target that exists")
    parser.add_argument("--json", action="store_true", help="print a report as JSON")
    flags = parser.parse_args(arguments)
    try:
        report = convert(flags.source, flags.target, flags.force)
    except errors.OpError as error:
        print(f"stillflow: {error.message}", file=sys.stderr)
        return 1
    if flags.json:
        print(json.dumps(report, ensure_ascii=False))
    else:
        print(f"{report['target']}: {report['tensors']} tensors, {report['bytes']} bytes")
    return 0


def convert(source: str, target: str, force: bool = False) -> dict[str, Any]:
    """Writes the tensors of one file into another.

    Args:
      source: what to read.
      target: what to write.
      force: whether to replace what is there.

    Returns:
      How many tensors there are, and how many bytes they have.

    Raises:
      OpError: If it cannot be read or written, or the target cannot hold one of the tensors.
    """
    if not force and (os.path.exists(target) or os.path.exists(index_path(target))):
        raise errors.AlreadyExistsError(None, None, f"{target} exists; --force replaces it")
    tensors = list(_read(source))
    if target.endswith(".safetensors"):
        safetensors.write(target, tensors)
    elif target.endswith(".npz"):
        _write_npz(target, tensors)
    else:
        with BundleWriter(target) as writer:
            for tensor in tensors:
                writer.add(tensor.name.encode(), tensor.array, tensor.number)
    size = sum(tensor.array.nbytes for tensor in tensors if tensor.array.dtype != object)
    return {"source": source, "target": target, "tensors": len(tensors), "bytes": size}


def _read(source: str) -> Iterator[StoredTensor]:
    if source.endswith(".safetensors"):
        yield from safetensors.read(source)
    elif source.endswith(".npz"):
        yield from _read_npz(source)
    else:
        reader = open_checkpoint(source)
        found: Any = reader.tensors if isinstance(reader, V1Reader) else reader.tensors()
        for key, entry in found.items():
            yield StoredTensor(key.decode(), entry.number, reader.lookup(key))


def _read_npz(path: str) -> Iterator[StoredTensor]:
    try:
        with os_errors(path), np.load(path, allow_pickle=False) as arrays:
            for name in arrays.files:
                yield _from_numpy(name, arrays[name])
    except (ValueError, zipfile.BadZipFile, EOFError) as error:
        raise data_loss(f"not a readable npz file: {error}", path) from None


def _from_numpy(name: str, array: np.ndarray[Any, Any]) -> StoredTensor:
    number = tensor_types.number_of(array)
    if number == tensor_types.STRING:
        texts = np.char.encode(array) if array.dtype.kind == "U" else array
        return StoredTensor(name, number, texts.astype(object))
    return StoredTensor(name, number, array.astype(array.dtype.newbyteorder("="), copy=False))


def _write_npz(path: str, tensors: list[StoredTensor]) -> None:
    arrays = {tensor.name: _for_numpy(tensor) for tensor in tensors}
    temporary = atomic.temporary_name(path)
    try:
        with os_errors(path):
            with open(temporary, "wb") as file:
                np.savez(file, allow_pickle=False, **arrays)
                file.flush()
                atomic.sync_file(file.fileno())
            os.replace(temporary, path)
    finally:
        atomic.remove(temporary)
    atomic.sync_directory(os.path.dirname(path))


def _for_numpy(tensor: StoredTensor) -> np.ndarray[Any, Any]:
    """A tensor as npz files hold it; UnimplementedError if they cannot."""
    array = tensor.array
    if tensor.number == tensor_types.STRING:
        fixed = array.astype("S")
        if array.size and not (fixed.astype(object) == array).all():
            raise _unfit(tensor, "strings that end in zero bytes")
        return fixed
    if array.dtype.kind == "V" or tensor_types.NUMBER_OF[array.dtype] != tensor.number:
        raise _unfit(tensor, tensor_types.name_of(tensor.number))
    return array


def _unfit(tensor: StoredTensor, what: str) -> errors.UnimplementedError:
    return errors.UnimplementedError(
        None, None, f"npz files cannot hold {tensor.name}: {what}; safetensors can"
    )
