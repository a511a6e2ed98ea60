"""Checkpoints of format V2: SaveV2, RestoreV2, MergeV2Checkpoints."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.files import checkpoint_reader, in_parallel, staging, tensor_types
from stillflow.files.bundle_reader import BundleReader
from stillflow.files.bundle_writer import BundleWriter
from stillflow.files.filesystem import file_system
from stillflow.files.tensor_slice import parse_shape_and_slice
from stillflow.graph import dims as dims_lib
from stillflow.graph.card import op
from stillflow.graph.dims import shape_text
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.io import restoring
from stillflow.ops.io.stored import from_stored, path_in, to_stored
from stillflow.ops.io.variants import decode_array, encode_array

# Tensors of at least so many bytes are worth threads when they are read.
_LARGE = 1 << 20
# Tensors of less bytes are saved together.
_SMALL = 1 << 12

save_v2_op = op(
    """
    SaveV2(prefix: string, tensor_names: string, shape_and_slices: string, tensors: [dtypes])
    dtypes: list(type) >= 1
    flags: stateful
""",
    effect="writes files",
    differentiable=False,
)


@save_v2_op.shape
def save_v2_shape(node: Node) -> OutputDims:
    dims_lib.with_rank(node.dims(0), 0)
    for index in (1, 2):
        (size,) = dims_lib.with_rank(node.dims(index), 1)
        dims_lib.with_value(size, len(node.inputs) - 3)
    return []


@save_v2_op.kernel
def save_v2_kernel(node: Node) -> Kernel:
    numbers = [tensor.dtype.base_dtype.as_datatype_enum for tensor in node.inputs[3:]]

    def save(prefix: Any, names: Any, specs: Any, *tensors: Any) -> None:
        _check_inputs(prefix, names, specs)
        if len(names) != len(tensors):
            raise ValueError(f"Got {len(names)} tensor names but {len(tensors)} tensors.")
        size = sum([getattr(tensor, "nbytes", 0) for tensor in tensors])
        with staging.written(path_in(prefix)) as path, BundleWriter(path, size) as writer:
            items = zip(names, specs, tensors, numbers)
            for number, group in groupby(items, key=_alike):
                if number is None:
                    for item in group:
                        _add(writer, *item)
                else:
                    _add_all(writer, number, list(group))

    return save


def _alike(item: tuple[bytes, bytes, Any, int]) -> int | None:
    """Return the type of a tensor that may be saved together with others like it."""
    _, spec, tensor, number = item
    small = not spec and number not in tensor_types.OF_BYTES and tensor.nbytes < _SMALL
    return number if small and tensor.is_cpu else None


def _add_all(
    writer: BundleWriter, number: int, items: Sequence[tuple[bytes, bytes, Any, int]]
) -> None:
    names, _, tensors, _ = zip(*items)
    flat = torch._utils._flatten_dense_tensors(tensors)
    # An empty tensor may have strides that allow no other view of it.
    content = flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""
    writer.add_all(names, [tuple(tensor.shape) for tensor in tensors], number, content)


def _add(writer: BundleWriter, name: bytes, spec: bytes, tensor: Any, number: int) -> None:
    is_variant = number == tensor_types.VARIANT
    array = encode_array(tensor) if is_variant else to_stored(tensor)
    if spec:
        _add_slice(writer, name, spec.decode(), array, number)
    else:
        writer.add(name, array, number)


def _add_slice(
    writer: BundleWriter, name: bytes, spec: str, array: np.ndarray, number: int
) -> None:
    shape, part, part_shape = parse_shape_and_slice(spec)
    check_slice(spec, part_shape, array)
    writer.add_slice(name, shape, part, array, number)


def check_slice(spec: str, part_shape: tuple[int, ...], array: np.ndarray) -> None:
    """ValueError if a tensor has not the shape that its `shape_and_slice` says."""
    if part_shape != array.shape:
        raise ValueError(
            "Slice in shape_and_slice specification does not match the shape of the tensor to  "
            f"save: {spec}, tensor: {shape_text(array.shape)}"
        )


def _check_inputs(prefix: Any, names: Any, specs: Any) -> None:
    if prefix.size != 1:
        raise ValueError(f"Input prefix should have a single element, got {prefix.size} instead.")
    if names.ndim != 1 or specs.ndim != 1:
        raise ValueError(
            "Input tensor_names and shape_and_slices should be an 1-D tensors, got "
            f"{shape_text(names.shape)} and {shape_text(specs.shape)} instead."
        )
    if len(names) != len(specs):
        raise ValueError(
            "tensor_names and shape_and_slices have different number of elements: "
            f"{len(names)} vs. {len(specs)}"
        )


# ---- RestoreV2

restore_v2_op = op(
    """
    RestoreV2(prefix: string, tensor_names: string, shape_and_slices: string) -> tensors: [dtypes]
    dtypes: list(type) >= 1
    flags: stateful
""",
    effect="reads files",
    differentiable=False,
)


@restore_v2_op.shape
def restore_v2_shape(node: Node) -> OutputDims:
    dims_lib.with_rank(node.dims(0), 0)
    dims_lib.merge(dims_lib.with_rank(node.dims(1), 1), dims_lib.with_rank(node.dims(2), 1))
    specs = node.value(2)
    count = len(node.dtypes)
    if specs is None:
        return [None] * count
    if specs.size != count:
        raise ValueError("The number of shape_and_slice doesn't match tensor outputs.")
    return [slice_dims(spec) for spec in specs.reshape(-1)]


def slice_dims(spec: bytes) -> tuple[int, ...] | None:
    """Return the shape of a part of a tensor; not known if no part is named."""
    try:
        return parse_shape_and_slice(spec.decode())[2] if spec else None
    except errors.OpError as error:
        raise ValueError(error.message) from None


@restore_v2_op.kernel
def restore_v2_kernel(node: Any) -> Kernel:
    return Restore(list(node.dtypes), node.device)


class Restore:
    """Kernel of RestoreV2; a plan may fuse it with the assignments of the values.

    Args:
      dtypes: the types of its outputs.
      device: where they shall be.
    """

    def __init__(self, dtypes: list[Any], device: Any) -> None:
        self.dtypes, self._device = dtypes, device
        self._numbers = [dtype.as_datatype_enum for dtype in dtypes]

    def __call__(self, prefix: Any, names: Any, specs: Any) -> Any:
        reader, keys, parts = self._open(prefix, names, specs)
        arrays = _read_all(reader, keys, parts, self._numbers)
        values = [
            decode_array(array)
            if number == tensor_types.VARIANT
            else from_stored(array, dtype, self._device)
            for array, dtype, number in zip(arrays, self.dtypes, self._numbers)
        ]
        return values[0] if len(values) == 1 else values

    def into(self, targets: Sequence[Any], prefix: Any, names: Any, specs: Any) -> bool:
        """Read the values into the memory of tensors, if these are alike.

        Returns:
          Whether it did; else nothing has been changed.
        """
        reader, keys, parts = self._open(prefix, names, specs)
        if not isinstance(reader, BundleReader) or any(parts):
            return False
        return restoring.restore(reader, keys, self._numbers, targets)

    def _open(self, prefix: Any, names: Any, specs: Any) -> tuple[Any, list[bytes], list[str]]:
        if names.size != len(self.dtypes):
            raise ValueError(
                f"Got {names.size} tensor names, but {len(self.dtypes)} expected dtypes."
            )
        _check_inputs(prefix, names, specs)
        reader = checkpoint_reader.open_checkpoint(path_in(prefix))
        return reader, names.tolist(), [spec.decode() for spec in specs]


def _read_all(reader: Any, names: list[bytes], specs: list[str], numbers: list[int]) -> list[Any]:
    arrays: list[Any] = [None] * len(names)
    found: dict[bytes, np.ndarray] = {}
    largest = 0
    if isinstance(reader, BundleReader):
        entries = reader.entries(names)
        stored = [entry.number for entry in entries]
        if stored != numbers:
            _check_types(names, stored, numbers)
        largest = max(entry.size for entry in entries)
        found = reader.lookup_small([name for name, spec in zip(names, specs) if not spec])

    def read(index: int) -> None:
        name, spec = names[index], specs[index]
        array = None if spec else found.get(name)
        if array is None:
            array = checkpoint_reader.restore(reader, name, spec, numbers[index])
        arrays[index] = array

    if largest < _LARGE:
        for index in range(len(names)):
            read(index)
    else:
        in_parallel.for_each(read, range(len(names)))
    return arrays


def _check_types(names: list[bytes], stored: list[int], expected: list[int]) -> None:
    """Says which tensors are of other types, all in one message."""
    wrong = [
        f"tensor_name = {name.decode(errors='replace')}; expected dtype "
        f"{tensor_types.name_of(second)} does not equal original dtype "
        f"{tensor_types.name_of(first)}"
        for name, first, second in sorted(zip(names, stored, expected))
        if first != second
    ]
    raise ValueError("\n".join(wrong))


# ---- MergeV2Checkpoints

merge_v2_checkpoints_op = op(
    """
    MergeV2Checkpoints(checkpoint_prefixes: string, destination_prefix: string)
    delete_old_dirs: bool = true
    flags: stateful
""",
    effect="writes files",
    differentiable=False,
)


@merge_v2_checkpoints_op.shape
def merge_v2_checkpoints_shape(node: Node) -> OutputDims:
    dims_lib.with_rank(node.dims(0), 1)
    dims_lib.with_rank(node.dims(1), 0)
    return []


@merge_v2_checkpoints_op.kernel
def merge_v2_checkpoints_kernel(node: Node) -> Kernel:
    delete = node.delete_old_dirs

    def run(prefixes: Any, destination: Any) -> None:
        if prefixes.ndim != 1:
            raise ValueError(
                "Input checkpoint_prefixes should be an 1-D tensor, got "
                f"{shape_text(prefixes.shape)} instead."
            )
        sources = [prefix.decode(errors="surrogateescape") for prefix in prefixes]
        target = path_in(destination)
        staging.merge(sources, target)
        if delete:
            for directory in {os.path.dirname(source) for source in sources}:
                if directory != os.path.dirname(target):
                    _remove_empty(directory)

    return run


def _remove_empty(directory: str) -> None:
    """Remove a directory if nothing is left in it."""
    try:
        file_system(directory).remove_directory(directory)
    except errors.OpError:
        pass
