"""On which kinds of devices an operation can run."""

from __future__ import annotations

from functools import cache

from stillflow.graph.dtypes import DType
from stillflow.graph.operation import Operation
from stillflow.graph.traits import CONTAINERS, Devices, GpuTypes, HandleKind
from stillflow.runtime.devices.devices import are_of_apple

_BOTH, _CPU, _NONE = frozenset(("GPU", "CPU")), frozenset(("CPU",)), frozenset[str]()
_HANDLES = frozenset(("resource", "variant"))
# Handles of variables and containers stand for tensors; all other resources (queues, tables, ...)
# are of the host.
_OF_TENSORS = CONTAINERS | {"any", "variable"}
# Types that hardly any of torch's kernels for GPUs take, nor do TensorFlow's.
_OF_HOST = frozenset(("uint16", "uint32", "uint64"))
_FLOATS = frozenset(("bfloat16", "float16", "float32", "float64"))
_COMPUTED = {"floats": _FLOATS, "fractions": _FLOATS | {"complex64", "complex128"}}
# Types without arithmetic in Metal, and complex numbers, of which PyTorch has few kernels there.
_NOT_OF_APPLE = frozenset(("complex128", "complex64", "float64"))
# Attributes with the type of a variable's or an array's elements.
_TYPES_HELD = ("dtype", "element_dtype")
# TensorFlow keeps variables of other types on the CPU, where counts and indices are read.
_OF_DEVICES = frozenset((
    "bfloat16", "complex128", "complex64", "float16", "float32", "float64", "int64",
))  # fmt: skip
_INTEGERS = frozenset(("int32", "int64"))


def reads_anywhere(op: Operation, position: int) -> bool:
    """Return True if an input is an optimizer's rate, which may be on any device."""
    card = op.card
    return bool(card.anywhere) and card.signature.inputs[position].name in card.anywhere


def reads_number(op: Operation, position: int) -> bool:
    """Return True if an input is a parameter that the kernel reads on the host."""
    if op._inputs[position].dtype.name not in _INTEGERS:
        return False
    # Of arrays and lists of tensors all integers: where elements stand, how many there are.
    return is_of_container(op) or (bool(op.card.numbers) and position in _number_positions(op))


def is_of_container(op: Operation) -> bool:
    """Return True if an operation works on a container of tensors: an array, a list or a stack."""
    return op.card.handle in CONTAINERS


def _number_positions(op: Operation) -> frozenset[int]:
    found, position = [], 0
    for argument in op.card.signature.inputs:
        if argument.number_attr is not None:
            position += op.attrs[argument.number_attr]
        elif argument.type_list_attr is not None:
            position += len(op.attrs[argument.type_list_attr])
        else:
            if argument.name in op.card.numbers:
                found.append(position)
            position += 1
    return frozenset(found)


def kinds_of(op: Operation) -> frozenset[str]:
    """Return the types of devices that have a kernel for an operation."""
    card = op.card
    if card.devices == "host":
        return _CPU
    if card.elsewhere:
        return _NONE
    if card.gives == "variable" and op.attrs["dtype"].base_dtype.name not in _OF_DEVICES:
        return _CPU
    names = tuple(tensor.dtype.base_dtype.name for tensor in (*op._inputs, *op._outputs))
    kinds = _kinds(card.devices, card.gpu_types, card.handle, names)
    return kinds & _CPU if are_of_apple() and limit_of_apple(op) else kinds


def limit_of_apple(op: Operation) -> str:
    """Return why Apple's GPUs cannot run an operation; empty if they can."""
    held = (op.attrs[name] for name in _TYPES_HELD if name in op.attrs)
    dtypes = [*(tensor.dtype for tensor in (*op._inputs, *op._outputs)), *held]
    names = {dtype.base_dtype.name: None for dtype in dtypes if isinstance(dtype, DType)}
    for name in names:
        if name in _NOT_OF_APPLE:
            return f"Apple's GPUs have no {name}"
    # Several elements of one place are added there by atomic operations, which int64 has none of.
    if op.card.apple == "no int64" and "int64" in names and _FLOATS.isdisjoint(names):
        return f"Apple's GPUs do not add int64 by index, as {op.type} does"
    if op.card.apple == "none":
        return f"PyTorch has no {op.type} for Apple's GPUs"
    return ""


def prefers_cpu(op: Operation) -> bool:
    """Return True if an operation runs on a GPU only where its device string says so."""
    if op.card.gives == "variable":  # global steps, which programs ask for
        return op.attrs["dtype"].base_dtype.name == "int64" and op.attrs["shape"].rank == 0
    return op.card.devices == "host first"


@cache
def _kinds(
    devices: Devices, gpu_types: GpuTypes, handle: HandleKind | None, dtypes: tuple[str, ...]
) -> frozenset[str]:
    if devices == "host first":
        return _BOTH
    if "string" in dtypes or not _OF_HOST.isdisjoint(dtypes):
        return _CPU
    if gpu_types != "all" and _COMPUTED[gpu_types].isdisjoint(dtypes):
        return _CPU
    if not _HANDLES.isdisjoint(dtypes):
        return _BOTH if handle in _OF_TENSORS else _CPU
    return _BOTH
