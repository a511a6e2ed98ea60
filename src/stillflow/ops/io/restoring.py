"""Whole checkpoints read straight into variables.

First every checksum is verified where the tensors lie in the mapped files, then all are copied, so
that a damaged checkpoint changes nothing. Both use all processors.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np

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
    """Reads tensors into memory that is there.

    Args:
      reader: the checkpoint.
      names: names of tensors in it.
      numbers: their types in the `DataType` enum.
      targets: for each a torch tensor, all of different memory.

    Returns:
      Whether it did. If types, shapes or memory are not alike it changes nothing.

    Raises:
      NotFoundError, DataLossError: if the checkpoint lacks one or is damaged; nothing is changed.
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


def _torch_type(number: int) -> Any:
    """The type in torch of what is stored bit for bit as torch keeps it; else None."""
    if number in tensor_types.OF_BYTES or number not in tensor_types.STORAGE:
        return None
    name = dtypes.as_dtype(number).torch_name
    return name and getattr(torch, name)


def _copy(stretch: Stretch, targets: Sequence[Any]) -> None:
    octets, start, members = stretch
    small = []
    for member in members:
        entry, index = member
        if entry.size >= _SMALL:
            place = entry.offset - start
            memory = targets[index].view(-1).view(torch.uint8).numpy()
            np.copyto(memory, octets[place : place + entry.size])
        elif entry.size:
            small.append(member)
    if small:
        values: list[Any] = []
        for _, group in groupby(small, key=_type_and_shape):
            values += _values([entry for entry, _ in group], octets, start)
        torch._foreach_copy_([targets[index] for _, index in small], values)


def _type_and_shape(member: tuple[Entry, int]) -> tuple[int, tuple[int, ...]]:
    return member[0].number, member[0].shape


def _values(entries: list[Entry], octets: Any, start: int) -> Sequence[Any]:
    """The values of entries of one type and shape, in order."""
    first, last = entries[0], entries[-1]
    begin, end = first.offset - start, last.offset + last.size - start
    if end - begin != first.size * len(entries):  # something lies between them
        return [_values([entry], octets, start)[0] for entry in entries]
    memory = torch.frombuffer(bytearray(octets[begin:end]), dtype=_torch_type(first.number))
    return memory.view(len(entries), *first.shape).unbind(0)  # type: ignore[no-any-return]
