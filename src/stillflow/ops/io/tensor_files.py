"""Checkpoints of format V1: Save, SaveSlices, Restore, RestoreSlice; names of shards."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.files import checkpoint_reader, staging, v1_checkpoint
from stillflow.files.tensor_slice import TensorSlice, parse_shape_and_slice
from stillflow.graph import dims as dims_lib
from stillflow.graph.card import op
from stillflow.graph.dims import shape_text
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.io.bundles import check_slice, slice_dims
from stillflow.ops.io.stored import from_stored, path_in, to_stored

save_op = op(
    """
    Save(filename: string, tensor_names: string, data: [T])
    T: list(type) >= 1
    flags: stateful
""",
    effect="writes files",
    differentiable=False,
)
save_slices_op = op(
    """
    SaveSlices(filename: string, tensor_names: string, shapes_and_slices: string, data: [T])
    T: list(type) >= 1
    flags: stateful
""",
    effect="writes files",
    differentiable=False,
)


def _fixed_inputs(node: Node) -> int:
    return 3 if node.op.type == "SaveSlices" else 2


@save_op.shape
@save_slices_op.shape
def save_shape(node: Node) -> OutputDims:
    dims_lib.with_rank(node.dims(0), 0)
    fixed = _fixed_inputs(node)
    for index in range(1, fixed):
        (size,) = dims_lib.with_rank(node.dims(index), 1)
        dims_lib.with_value(size, len(node.inputs) - fixed)
    return []


@save_op.kernel
@save_slices_op.kernel
def save_kernel(node: Node) -> Kernel:
    fixed = _fixed_inputs(node)
    numbers = [tensor.dtype.base_dtype.as_datatype_enum for tensor in node.inputs[fixed:]]

    def save(filename: Any, names: Any, *rest: Any) -> None:
        specs = rest[0].reshape(-1) if fixed == 3 else [b""] * names.size
        tensors = rest[fixed - 2 :]
        _check_counts(filename, names.size, len(specs), len(tensors), fixed)
        saved = [
            _saved(name, spec.decode(), to_stored(tensor), number)
            for name, spec, tensor, number in zip(names.reshape(-1), specs, tensors, numbers)
        ]
        with staging.written(path_in(filename)) as path:
            v1_checkpoint.write(path, saved)

    return save


def _check_counts(filename: Any, names: int, specs: int, tensors: int, fixed: int) -> None:
    if filename.size != 1:
        raise ValueError(
            f"Input 0 (filename) must be a string scalar; got a tensor of {filename.size}elements"
        )
    if specs != names:
        raise ValueError(
            f"Expected {names} elements for the tensor shapes and slices but got {specs}"
        )
    if tensors != names:
        raise ValueError(
            f"Expected totally {names + fixed} inputs as input #1 (which is a string tensor of "
            f"saved names) contains {names} names, but received {tensors + fixed} inputs"
        )


def _saved(name: bytes, spec: str, array: np.ndarray, number: int) -> v1_checkpoint.Saved:
    shape, part = array.shape, TensorSlice.full(array.ndim)
    if spec:
        shape, part, part_shape = parse_shape_and_slice(spec)
        check_slice(spec, part_shape, array)
    return v1_checkpoint.Saved(name, array, number, shape, part)


# ---- Restore, RestoreSlice

restore_op = op(
    """
    Restore(file_pattern: string, tensor_name: string) -> tensor: dt
    dt: type
    preferred_shard: int = -1
    flags: stateful
""",
    effect="reads files",
    differentiable=False,
)
restore_slice_op = op(
    """
    RestoreSlice(file_pattern: string, tensor_name: string, shape_and_slice: string) -> tensor: dt
    dt: type
    preferred_shard: int = -1
    flags: stateful
""",
    effect="reads files",
    differentiable=False,
)


@restore_op.shape
@restore_slice_op.shape
def restore_shape(node: Node) -> OutputDims:
    for index in range(len(node.inputs)):
        dims_lib.with_rank(node.dims(index), 0)
    spec = node.value(2) if len(node.inputs) == 3 else None
    return None if spec is None else slice_dims(spec.reshape(-1)[0])


@restore_op.kernel
@restore_slice_op.kernel
def restore_kernel(node: Any) -> Kernel:
    dtype, device = node.dt, node.device

    def restore(pattern: Any, name: Any, spec: Any = None) -> Any:
        if pattern.size != 1:
            raise ValueError(
                "Input 0 (file_pattern) must be a string scalar; got a tensor of "
                f"{pattern.size} elements"
            )
        if not name.size:
            raise ValueError("Input 1 (file_pattern) must be a have at least 1 elements")
        reader = staging.open_v1(path_in(pattern))
        part = "" if spec is None else spec.reshape(-1)[0].decode()
        array = checkpoint_reader.restore(reader, name.reshape(-1)[0], part, dtype.as_datatype_enum)
        return from_stored(array, dtype, device)

    return restore


# ---- ShardedFilename, ShardedFilespec

sharded_filename_op = op(
    "ShardedFilename(basename: string, shard: int32, num_shards: int32) -> filename: string",
    differentiable=False,
)
sharded_filespec_op = op(
    "ShardedFilespec(basename: string, num_shards: int32) -> filename: string",
    differentiable=False,
)


@sharded_filename_op.shape
@sharded_filespec_op.shape
def sharded_shape(node: Node) -> OutputDims:
    if not node.planning:  # the kernel has words of its own
        for index in range(len(node.inputs)):
            dims_lib.with_rank(node.dims(index), 0)
    return ()


@sharded_filename_op.kernel
@sharded_filespec_op.kernel
def sharded_kernel(node: Node) -> Kernel:
    with_shard = node.op.type == "ShardedFilename"
    arguments = ("basename", "shard", "num_shards") if with_shard else ("basename", "num_shards")

    def name(*inputs: Any) -> Any:
        for argument, value in zip(arguments, inputs):
            if value.ndim:
                raise ValueError(
                    f"{argument} must be a scalar, got shape {shape_text(value.shape)}"
                )
        shard = f"{int(inputs[1]):05d}" if with_shard else "?????"
        result = np.empty((), object)
        result[()] = inputs[0].item() + f"-{shard}-of-{int(inputs[-1]):05d}".encode()
        return result

    return name
