"""Reports on files of tensors alone: safetensors and NumPy's npz."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Iterator
from typing import Any

import numpy as np

from stillflow.files import safetensors, tensor_types
from stillflow.files.failures import data_loss, os_errors

Described = tuple[str, str, tuple[int, ...]]


def describe_safetensors(path: str) -> dict[str, Any]:
    """Return the content of a safetensors file."""
    return _report(
        [
            (tensor.name, tensor_types.name_of(tensor.number), tensor.array.shape)
            for tensor in safetensors.read(path)
        ]
    )


def describe_npz(path: str) -> dict[str, Any]:
    """Return the content of an npz file; of its arrays only the headers are read."""
    return _report(list(_heads(path)))


def _heads(path: str) -> Iterator[Described]:
    try:
        with os_errors(path), zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                with archive.open(name) as file:
                    version = np.lib.format.read_magic(file)
                    read = (
                        np.lib.format.read_array_header_1_0
                        if version == (1, 0)
                        else np.lib.format.read_array_header_2_0
                    )
                    shape, _, dtype = read(file)
                yield name.removesuffix(".npy"), str(dtype), shape
    except (ValueError, zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError) as error:
        raise data_loss(f"not a readable npz file: {error}", path) from None


def _report(found: list[Described]) -> dict[str, Any]:
    return {
        "tensors": {name: f"{dtype} {list(shape)}" for name, dtype, shape in sorted(found)},
        "count": len(found),
        "parameters": sum(math.prod(shape) for _, _, shape in found),
    }
