"""On which kinds of devices an operation can run."""

from __future__ import annotations

from functools import cache

from stillflow.graph.operation import Operation

_BOTH, _CPU = frozenset(("GPU", "CPU")), frozenset(("CPU",))
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


def kinds_of(op: Operation) -> frozenset[str]:
    """The types of devices that have a kernel for an operation."""
    if op.type in _ON_HOST:
        return _CPU
    names = tuple(tensor.dtype.base_dtype.name for tensor in (*op._inputs, *op._outputs))
    return _kinds(op.type, names)


@cache
def _kinds(op_type: str, dtypes: tuple[str, ...]) -> frozenset[str]:
    if not _OF_HOST.isdisjoint(dtypes):
        return _CPU
    if "resource" in dtypes and not (op_type in _OF_VARIABLES or op_type.startswith(_PREFIXES)):
        return _CPU
    return _BOTH
