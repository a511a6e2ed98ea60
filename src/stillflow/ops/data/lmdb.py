"""LMDBDataset: the entries of LMDB databases."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from stillflow.files import lmdb
from stillflow.graph import dtypes
from stillflow.graph.arrays import string_scalar
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel
from stillflow.ops.data.files import RecordFile, Records, file_names
from stillflow.ops.data.pipeline import (
    TYPED,
    Dataset,
    component_dims,
    dataset_op,
    invalid,
)
from stillflow.ops.data.walk import Element

lmdb_dataset_op = dataset_op(
    f"LMDBDataset(filenames: string) -> handle: variant{TYPED}\nflags: stateful",
    effect="reads files",
)


class _Database(RecordFile):
    """A database; the position is how many entries came before."""

    def __iter__(self) -> Iterator[Any]:
        for number, entry in enumerate(lmdb.entries(self.name)):
            if number >= self.position:
                self.position += 1
                yield entry


def _entry(pair: tuple[bytes, bytes]) -> Element:
    return tuple(map(string_scalar, pair))


@lmdb_dataset_op.kernel
def lmdb_dataset_kernel(node: Node) -> Kernel:
    types, shapes = list(node.output_types), component_dims(node)
    if types != [dtypes.string, dtypes.string]:
        raise invalid("An LMDB database gives pairs of strings.")

    def run(filenames: Any) -> Dataset:
        names = file_names(filenames)
        make = lambda *_: Records(names, _Database, "position", _entry)
        return Dataset("LMDB", types, shapes, make)

    return run
