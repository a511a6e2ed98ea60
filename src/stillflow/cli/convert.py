"""Convert a checkpoint to safetensors, NumPy's npz or the newer checkpoint format, and back.

The kind of SOURCE is found out; the ending of TARGET decides its kind: .safetensors, .npz, or else
a checkpoint of format V2. Types and names of tensors stay unchanged. Patterns are regular
expressions, found anywhere in a name: --skip 'Adam|global_step' leaves an optimizer's state out.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import zipfile
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.files import atomic, safetensors, sniff, tensor_types
from stillflow.files.bundle_format import index_path
from stillflow.files.bundle_writer import BundleWriter
from stillflow.files.checkpoint_paths import prefix_of
from stillflow.files.checkpoint_reader import open_checkpoint
from stillflow.files.failures import data_loss, os_errors
from stillflow.files.safetensors import StoredTensor
from stillflow.files.v1_checkpoint import V1Reader
from stillflow.util import progress


def main(arguments: list[str]) -> int:
    """Convert; returns the exit status, 1 also where tensors were left out as damaged."""
    flags = _parser().parse_args(arguments)
    try:
        report = convert(
            flags.source,
            flags.target,
            flags.force,
            lambda name: _is_wanted(name, flags.only, flags.skip),
            flags.salvage,
        )
    except errors.OpError as error:
        print(f"stillflow: {error.message}", file=sys.stderr)
        return 1
    for name, reason in report["damaged"].items():
        print(f"stillflow: left out {name}: {reason}", file=sys.stderr)
    if flags.json:
        print(json.dumps(report, ensure_ascii=False))
    else:
        print(f"{report['target']}: {report['tensors']} tensors, {report['bytes']} bytes")
    return int(bool(report["damaged"]))


def _parser() -> argparse.ArgumentParser:
    summary, _, details = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        prog="python -m stillflow convert", description=summary, epilog=details
    )
    parser.add_argument(
        "source",
        help="a checkpoint (its prefix, one of its files, or the folder "
        "whose last one is meant), a .safetensors or an .npz file",
    )
    parser.add_argument("target", help="a .safetensors or an .npz file, or a checkpoint's prefix")
    parser.add_argument(
        "--only",
        metavar="PATTERN",
        type=pattern,
        help="leave out tensors in whose names this is not found",
    )
    parser.add_argument(
        "--skip",
        metavar="PATTERN",
        type=pattern,
        help="leave out tensors in whose names this is found",
    )
    parser.add_argument(
        "--salvage",
        action="store_true",
        help="leave out tensors that cannot be read, and name them",
    )
    parser.add_argument("--force", action="store_true", help="replace a target that exists")
    parser.add_argument("--json", action="store_true", help="print a report as JSON")
    return parser


def pattern(text: str) -> re.Pattern[str]:
    """Return a regular expression of the command line; ArgumentTypeError if it is none."""
    try:
        return re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no regular expression: {error}") from None


def _is_wanted(name: str, only: re.Pattern[str] | None, skip: re.Pattern[str] | None) -> bool:
    return not (only and not only.search(name)) and not (skip and skip.search(name))


def convert(
    source: str,
    target: str,
    force: bool = False,
    is_wanted: Callable[[str], bool] = lambda name: True,
    salvage: bool = False,
) -> dict[str, Any]:
    """Write the tensors of one file into another.

    `is_wanted` tells by its name whether a tensor is to be written; `salvage` leaves out what
    cannot be read of a checkpoint. Returns how many tensors were written, how many bytes they have,
    and why those that were left out could not be read, by name. OpError if a file cannot be read or
    written, the target cannot hold one of the tensors, or no tensor is left.
    """
    if not force and (os.path.exists(target) or os.path.exists(index_path(target))):
        raise errors.already_exists(f"{target} exists; --force replaces it")
    damaged: dict[str, str] | None = {} if salvage else None
    tensors = list(progress.over(_read(source, is_wanted, damaged), "reading", "tensors"))
    if not tensors:
        raise errors.not_found(f"{source} holds no tensor that could be written")
    if target.endswith(".safetensors"):
        safetensors.write(target, tensors)
    elif target.endswith(".npz"):
        _write_npz(target, tensors)
    else:
        with BundleWriter(target) as writer:
            for tensor in progress.over(tensors, "writing", "tensors"):
                writer.add(tensor.name.encode(), tensor.array, tensor.number)
    size = sum(tensor.array.nbytes for tensor in tensors if tensor.array.dtype != object)
    return {
        "source": source,
        "target": target,
        "tensors": len(tensors),
        "bytes": size,
        "damaged": damaged or {},
    }


def _read(
    source: str, is_wanted: Callable[[str], bool], damaged: dict[str, str] | None
) -> Iterator[StoredTensor]:
    if sniff.is_special(source):
        raise errors.invalid_argument(f"{source} is {sniff.SPECIAL}")
    if source.endswith((".safetensors", ".npz")):
        read = safetensors.read if source.endswith(".safetensors") else _read_npz
        yield from (tensor for tensor in read(source) if is_wanted(tensor.name))
        return
    reader = open_checkpoint(prefix_of(source))
    found: Any = reader.tensors if isinstance(reader, V1Reader) else reader.tensors()
    for key, entry in found.items():
        if not is_wanted(key.decode()):
            continue
        try:
            array = reader.lookup(key)
        except errors.OpError as error:
            if damaged is None:
                raise
            damaged[key.decode()] = error.message
        else:
            yield StoredTensor(key.decode(), entry.number, array)


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
                with zipfile.ZipFile(file, "w") as archive:  # np.savez has names of its own
                    for name, array in progress.over(arrays.items(), "writing", "tensors"):
                        with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                            np.lib.format.write_array(entry, array, allow_pickle=False)
                file.flush()
                atomic.sync_file(file.fileno())
            os.replace(temporary, path)
    finally:
        atomic.remove(temporary)
    atomic.sync_directory(os.path.dirname(path))


def _for_numpy(tensor: StoredTensor) -> np.ndarray[Any, Any]:
    """Return a tensor as npz files hold it; UnimplementedError if they cannot."""
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
    return errors.unimplemented(
        f"npz files cannot hold {tensor.name}: {what}; safetensors can, or --skip leaves it out"
    )
