"""On which kinds of devices an operation can run."""

from __future__ import annotations

from functools import cache

from stillflow.graph.operation import Operation

_BOTH, _CPU, _NONE = frozenset(("GPU", "CPU")), frozenset(("CPU",)), frozenset[str]()
# Values that live in Python's own memory.
_OF_HOST = frozenset(("string", "variant"))
# Handles of variables stand for tensors; all other resources (queues, tables, ...) are of the host.
_OF_VARIABLES = frozenset((
    "VarHandleOp", "ReadVariableOp", "AssignVariableOp", "AssignAddVariableOp",
    "AssignSubVariableOp", "VarIsInitializedOp", "VariableShape", "DestroyResourceOp",
    "ResourceGather", "ResourceGatherNd", "Identity", "Switch", "Merge", "Enter", "Exit",
    "NextIteration",
))  # fmt: skip
# Of variables too, or of arrays and stacks of tensors, which stay where they were made.
_PREFIXES = ("ResourceApply", "ResourceSparseApply", "ResourceScatter", "ResourceStridedSlice",
             "TensorArray", "Stack")  # fmt: skip
# Kernels that compute with NumPy or Python on the host.
_ON_HOST = frozenset((
    "PyFunc", "PyFuncStateless", "EagerPyFunc", "Print", "PrintV2", "Assert", "Timestamp",
    "NoOp",
))  # fmt: skip
# Arguments that kernels read as plain numbers: shapes, axes, counts.
_NUMBERS = frozenset((
    "axis", "begin", "block_shape", "concat_dim", "crops", "depth", "dim", "dimension", "dims",
    "element_shape", "end", "fft_length", "filter_sizes", "index", "input_shape", "input_sizes",
    "k", "ksize", "max_output_size", "multiples", "n", "num", "num_lower", "num_samples",
    "num_segments", "num_upper", "orig_input_shape", "output_dim0", "output_shape", "paddings",
    "perm", "reduction_indices", "seed", "seed2", "shape", "shift", "size", "size_splits",
    "split_dim", "strides",
))  # fmt: skip
_INTEGERS = frozenset(("int32", "int64"))


def reads_number(op: Operation, position: int) -> bool:
    """Whether an input says how to compute, so that the kernel reads it on the host."""
    if op._inputs[position].dtype.name not in _INTEGERS:
        return False
    return op.type.startswith(("TensorArray", "Stack")) or position in _number_positions(op)


def _number_positions(op: Operation) -> frozenset[int]:
    found, position = [], 0
    for argument in op.card.signature.inputs:
        if argument.number_attr is not None:
            position += op.attrs[argument.number_attr]
        elif argument.type_list_attr is not None:
            position += len(op.attrs[argument.type_list_attr])
        else:
            if argument.name in _NUMBERS:
                found.append(position)
            position += 1
    return frozenset(found)


def kinds_of(op: Operation) -> frozenset[str]:
    """The types of devices that have a kernel for an operation."""
    if op.type in _ON_HOST:
        return _CPU
    if op.card.elsewhere:
        return _NONE
    names = tuple(tensor.dtype.base_dtype.name for tensor in (*op._inputs, *op._outputs))
    return _kinds(op.type, names)


@cache
def _kinds(op_type: str, dtypes: tuple[str, ...]) -> frozenset[str]:
    if not _OF_HOST.isdisjoint(dtypes) or op_type.startswith("BoostedTrees"):
        return _CPU
    if "resource" in dtypes and not (op_type in _OF_VARIABLES or op_type.startswith(_PREFIXES)):
        return _CPU
    return _BOTH
