"""Folders of exported models, written as a whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.export.torch_writer import Written
from stillflow.export.verification import Comparison
from stillflow.files import atomic, safetensors
from stillflow.files.failures import os_errors
from stillflow.files.safetensors import StoredTensor
from stillflow.graph import dtypes

_TEST = '''\
"""The model against values recorded when it was exported."""

from pathlib import Path

import torch

import model as exported

TOLERANCE = {tolerance}  # of the larger of 1 and the largest value


def test_outputs_are_those_recorded():
    recorded = exported.read_tensors(Path(__file__).with_name("recorded.safetensors"))
    inputs = [recorded[f"in|{{name}}"] for name in exported.INPUTS]
    with torch.no_grad():
        outputs = exported.load()(*inputs)
    if not isinstance(outputs, tuple):
        outputs = (outputs,)
    for name, output in zip(exported.OUTPUTS, outputs):
        wanted = recorded[f"out|{{name}}"]
        scale = 1.0
        if wanted.is_floating_point() and wanted.numel():
            scale = max(scale, wanted.nan_to_num(0.0, 0.0, 0.0).abs().max().item())
        torch.testing.assert_close(output, wanted, rtol=0, atol=TOLERANCE * scale, equal_nan=True)


if __name__ == "__main__":
    test_outputs_are_those_recorded()
    print("The outputs are those recorded.")
'''


@contextmanager
def new_folder(path: str, force: bool = False) -> Iterator[str]:
    """Return a folder that becomes `path` on success; on failure nothing is left."""
    path = os.path.abspath(path)
    if os.path.lexists(path) and not force:
        raise errors.already_exists(f"{path} exists; --force replaces it")
    temporary = atomic.temporary_name(path)
    with os_errors(path):
        os.makedirs(temporary)
    try:
        with os_errors(path):
            yield temporary
            if os.path.isdir(path) and not os.path.islink(path):
                shutil.rmtree(path)
            elif os.path.lexists(path):
                os.remove(path)
            os.rename(temporary, path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


@contextmanager
def new_file(path: str, force: bool = False) -> Iterator[str]:
    """Return the path of a file that becomes `path` on success; on failure nothing is left."""
    path = os.path.abspath(path)
    if os.path.lexists(path) and not (force and os.path.isfile(path)):
        raise errors.already_exists(f"{path} exists; --force replaces a file")
    home, name = os.path.split(path)
    temporary = atomic.temporary_name(path)
    with os_errors(path):
        os.mkdir(temporary)
    try:
        with os_errors(path):
            yield os.path.join(temporary, name)  # a writer may add other files
            made = sorted(os.listdir(temporary), reverse=True)
            for each in made:
                if os.path.lexists(os.path.join(home, each)) and not force:
                    raise errors.already_exists(f"{each} exists in {home}; --force replaces it")
            for each in made:
                os.replace(os.path.join(temporary, each), os.path.join(home, each))
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def write_package(
    path: str, written: Written, comparison: Comparison | None, force: bool = False
) -> None:
    """Write the folder of a model: its source, weights, and a test if it was compared.

    A model that differs from the session is marked: its first line says so. OpError if the folder
    cannot be written; then nothing has changed.
    """
    text = written.text
    if comparison is None or not comparison.equal:
        text = f"# UNVERIFIED: {comparison.message if comparison else 'not compared'}\n{text}"
    with new_folder(path, force) as folder:
        with open(os.path.join(folder, "model.py"), "w", encoding="utf-8") as file:
            file.write(text)
        safetensors.write(
            os.path.join(folder, "model.safetensors"),
            [_stored(key, value) for key, value in written.tensors.items()],
        )
        if comparison is not None and comparison.equal and _is_recordable(comparison):
            arrays = {f"in|{name}": value for name, value in comparison.inputs.items()}
            arrays.update({f"out|{name}": value for name, value in comparison.outputs.items()})
            safetensors.write(
                os.path.join(folder, "recorded.safetensors"),
                [_stored_array(name, value) for name, value in arrays.items()],
            )
            with open(os.path.join(folder, "test_model.py"), "w", encoding="utf-8") as file:
                file.write(_TEST.format(tolerance=comparison.tolerance))


def _is_recordable(comparison: Comparison) -> bool:
    arrays = [*comparison.inputs.values(), *comparison.outputs.values()]
    return all(a.dtype.kind in "fiub" or a.dtype.name in ("bfloat16", "complex64") for a in arrays)


def _stored(name: str, value: Any) -> StoredTensor:
    from stillflow.ops.value_arrays import to_array

    return _stored_array(name, to_array(value))


def _stored_array(name: str, array: np.ndarray) -> StoredTensor:
    number = dtypes.as_dtype(array.dtype).as_datatype_enum
    return StoredTensor(name, number, np.ascontiguousarray(array).reshape(array.shape))
