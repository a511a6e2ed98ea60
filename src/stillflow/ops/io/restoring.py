"""Whole checkpoints read straight into variables.

First every checksum is verified where the tensors lie in the mapped files, then all are copied, so
that a damaged checkpoint changes nothing. Both use all processors.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np

from stillflow import native
from stillflow.files import in_parallel, tensor_types
from stillflow.files.bundle_entry import Entry
from stillflow.files.bundle_reader import BundleReader, Stretch
from stillflow.graph import dtypes
from stillflow.graph.lazy import torch

_SMALL = 1 << 16  # tensors of less bytes are copied together
_WORTH_THREADS = 1 << 20


def restore(
    reader: BundleReader, names: list[bytes], numbers: Sequence[int], targets: Sequence[Any]
) -> bool:
    """Read tensors into different memory that is there; return whether it did.

    If types, shapes or memory are not alike it changes nothing, nor where a tensor is missing in
    the checkpoint (NotFoundError) or damaged (DataLossError).
    """
    entries = reader.entries(names)
    if not _fit(reader, entries, numbers, targets):
        return False
    stretches = reader.stretches(names, entries)
    size = sum([len(stretch.octets) for stretch in stretches])

    def check(stretch: Stretch) -> None:
        reader.check(stretch, names)

    def copy(stretch: Stretch) -> None:
        with torch.inference_mode():
            _copy(stretch, targets)

    for work in (check, copy):
        if size < _WORTH_THREADS:
            for stretch in stretches:
                work(stretch)
        else:
            in_parallel.for_each(work, stretches)
    return True


def _fit(
    reader: BundleReader, entries: list[Entry], numbers: Sequence[int], targets: Sequence[Any]
) -> bool:
    kinds = {number: _torch_type(number) for number in set(numbers)}
    return (
        not reader.is_swapped
        and None not in kinds.values()
        and [entry.number for entry in entries] == list(numbers)
        and [target.shape for target in targets] == [entry.shape for entry in entries]
        and [target.dtype for target in targets] == [kinds[number] for number in numbers]
        and all(target.is_cpu and target.is_contiguous() for target in targets)
        and not any(entry.slices for entry in entries)
    )


def _torch_type(number: int) -> torch.dtype:
    """Return the torch type with the stored bits; else None."""
    if number in tensor_types.OF_BYTES or number not in tensor_types.STORAGE:
        return None
    name = dtypes.as_dtype(number).torch_name
    return name and getattr(torch, name)


def _copy(stretch: Stretch, targets: Sequence[Any]) -> None:
    octets, begins, sizes, _, members = stretch
    chosen = [targets[index] for index in members.tolist()]
    library = native.library()
    if library is None:
        _copy_plainly(octets, begins.tolist(), sizes.tolist(), chosen)
        return
    addresses = np.array([target.data_ptr() for target in chosen], np.int64)
    library.copy_pieces(
        octets.ctypes.data, begins.ctypes.data, sizes.ctypes.data, len(sizes), addresses.ctypes.data
    )


def _copy_plainly(octets: Any, begins: list[int], sizes: list[int], targets: Sequence[Any]) -> None:
    small = []
    for place, (begin, size, target) in enumerate(zip(begins, sizes, targets)):
        if size >= _SMALL:
            np.copyto(target.view(-1).view(torch.uint8).numpy(), octets[begin : begin + size])
        elif size:
            small.append(place)
    values: list[Any] = []
    for _, group in groupby(small, key=lambda place: (targets[place].dtype, targets[place].shape)):
        places = list(group)
        values += _values(octets, [begins[place] for place in places], targets[places[0]])
    if small:
        torch._foreach_copy_([targets[place] for place in small], values)


def _values(octets: Any, begins: list[int], like: Any) -> Sequence[Any]:
    """Return the values of tensors of one type and shape, in order."""
    end = begins[-1] + like.nbytes
    if end - begins[0] != like.nbytes * len(begins):  # something lies between them
        return [_values(octets, [begin], like)[0] for begin in begins]
    memory = torch.frombuffer(bytearray(octets[begins[0] : end]), dtype=like.dtype)
    return memory.view(len(begins), *like.shape).unbind(0)
