"""Reference variables: VariableV2 and the ops that read and change it through its reference."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any
from weakref import WeakValueDictionary

from stillflow import errors
from stillflow.graph import dims
from stillflow.graph.card import op
from stillflow.graph.lazy import torch
from stillflow.graph.node import Handle, Node
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.graph.tensor_shape import TensorShape
from stillflow.ops.variables.buffer import Buffer, buffer_of

_VARIABLE = """
    shape: shape
    dtype: type
    container: string = ""
    shared_name: string = ""
    flags: stateful
"""
_NUMBERS = (
    "T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, "
    "bfloat16, uint16, complex128, half, uint32, uint64}"
)

variable_v2_op = op(
    "VariableV2() -> ref: &dtype" + _VARIABLE,
    latency="none",
    handle="variable",
    gives="variable",
    idempotent=True,
)
variable_op = op(
    "Variable() -> ref: &dtype" + _VARIABLE,
    latency="none",
    handle="variable",
    gives="variable",
    idempotent=True,
)


def variable_shape(node: Node) -> TensorShape:
    return node.op.attrs["shape"]


def variable_kernel(node: Any) -> Handle:
    name = node.op.attrs["shared_name"].decode() or node.name
    return node.handle(buffer_of(node, name))


@variable_op.shape
def old_variable_shape(node: Node) -> OutputDims:
    # A shape of [] meant an unknown one before scalars could be told apart.
    shape = node.op.attrs["shape"]
    return None if shape._dims == () else shape


variable_v2_op.shape(variable_shape)
variable_v2_op.kernel(variable_kernel)
variable_op.kernel(variable_kernel)

temporary_variable_op = op("""
    TemporaryVariable() -> ref: &dtype
    shape: shape
    dtype: type
    var_name: string = ""
    flags: stateful
""")
temporary_variable_op.shape(variable_shape)


_TEMPORARY_TYPE = "N10tensorflow19TemporaryVariableOp6TmpVarE"


def _temporary_variables(node: Any) -> WeakValueDictionary[tuple[int, str], Buffer]:
    """Return the session's temporary variables that are not destroyed, by thread and name.

    A step that ends without destroying its temporary variables drops them.
    """
    result: WeakValueDictionary[tuple[int, str], Buffer] = node.resource(
        WeakValueDictionary, kind="temporary", name="temporary variables"
    )
    return result


@temporary_variable_op.kernel
def temporary_variable_kernel(node: Any) -> Kernel:
    name = node.op.attrs["var_name"].decode() or node.name
    shape = tuple(node.op.attrs["shape"].as_list())
    dtype = getattr(torch, node.op.attrs["dtype"].torch_name)
    device, owner = node.device, node.name
    alive = _temporary_variables(node)

    def create() -> Buffer:
        key = (threading.get_ident(), name)
        other = alive.get(key)
        if other is not None and other.name != owner:  # not left over from an earlier step
            raise errors.already_exists(f"Resource __per_step__/{name}/{_TEMPORARY_TYPE}")
        buffer = Buffer(owner)
        buffer.value = torch.zeros(shape, dtype=dtype, device=device)
        alive[key] = buffer
        return buffer

    return create


destroy_temporary_variable_op = op(
    """
    DestroyTemporaryVariable(ref: &T) -> value: T
    T: type
    var_name: string
""",
)


@destroy_temporary_variable_op.shape
def destroy_temporary_variable_shape(node: Node) -> OutputDims:
    return node.dims(0)


@destroy_temporary_variable_op.kernel
def destroy_temporary_variable_kernel(node: Node) -> Kernel:
    name = node.var_name.decode()
    alive = _temporary_variables(node)

    def destroy(ref: Any) -> Any:
        if alive.pop((threading.get_ident(), name), None) is None:
            raise errors.not_found(
                f"Resource __per_step__/{name}/{_TEMPORARY_TYPE} does not exist."
            )
        return ref.read().clone()

    return destroy


assign_op = op(
    """
    Assign(ref: &T, value: T) -> output_ref: &T
    T: type
    validate_shape: bool = true
    use_locking: bool = true
    flags: uninitialized
""",
    writes=(0,),
    differentiable=False,
    handle="variable",
    access="write",
)


@assign_op.shape
def assign_shape(node: Node) -> OutputDims:
    if node.validate_shape:
        kept, given = node.dims(0), node.dims(1)
        if node.planning and not dims.is_compatible(kept, given):
            raise ValueError(_mismatch(kept, given))
        return dims.merge(kept, given)
    kept, given = node.dims(0), node.dims(1)
    if node.planning and kept is not None and kept != given:
        node.reshape_variable(0)
    return given


class Assignment:
    """Kernel of Assign; a plan may fuse it with the read of the value from a file.

    Attributes:
      expected: the shape that a value must have, None if any may be given.
      keeps_shape: whether it must have the one of the value before.
    """

    def __init__(self, expected: tuple[int, ...] | None, keeps_shape: bool) -> None:
        self.expected, self.keeps_shape = expected, keeps_shape

    def __call__(self, ref: Any, value: Any) -> Any:
        current = ref.value
        if self.expected is not None and tuple(value.shape) != self.expected:
            raise errors.invalid_argument(_mismatch(self.expected, value.shape))
        if self.keeps_shape and current is not None and current.shape != value.shape:
            raise errors.invalid_argument(_mismatch(current.shape, value.shape))
        set_value(ref, value)
        return ref


@assign_op.kernel
def assign_kernel(node: Node) -> Kernel:
    dims_of_ref = node.op.inputs[0]._dims if node.validate_shape else None
    known = dims_of_ref is not None and None not in dims_of_ref
    return Assignment(dims_of_ref if known else None, node.validate_shape)


def set_value(ref: Any, value: Any) -> None:
    """Set a variable's value, in its own memory if the value fits, so that readers see it."""
    current = ref.value
    if not isinstance(value, torch.Tensor):  # strings
        ref.value = value.copy()
    elif current is None or current.shape != value.shape or current.dtype != value.dtype:
        ref.value = value.clone(memory_format=torch.contiguous_format)
    elif value.untyped_storage().data_ptr() == current.untyped_storage().data_ptr():
        current.copy_(value.clone())
    else:
        current.copy_(value)


def _mismatch(left: Any, right: Any) -> str:
    return (
        "Assign requires shapes of both tensors to match. lhs shape= "
        f"{dims.to_string(tuple(left))} rhs shape= {dims.to_string(tuple(right))}"
    )


def _update_mismatch(ref: Any, current: Any, value: Any) -> str:
    if not ref.is_resource:
        return "Parameters and update must be the same size"
    own, given = dims.to_string(tuple(current.shape)), dims.to_string(tuple(value.shape))
    return (
        f"Cannot update variable with shape {own} using a Tensor with shape {given}, shapes must "
        "be equal."
    )


def changed_shape(node: Node) -> tuple[int | None, ...] | None:
    if node.planning:  # the kernel compares with the shape that the variable has by then
        return node.dims(0)
    return dims.merge(node.dims(0), node.dims(1))


def in_place(method: str) -> Callable[..., Any]:
    """Return a kernel of a torch in-place method, under the variable's lock on request."""

    def kernel(node: Node) -> Callable[..., Any]:
        locked = node.use_locking

        def change(ref: Any, value: Any) -> Any:
            if locked:
                with ref.lock:
                    update(ref, method, value)
            else:
                update(ref, method, value)
            return ref

        return change

    return kernel


def update(ref: Any, method: str, value: Any) -> None:
    """Apply `add_` or `sub_` to a variable's value; InvalidArgumentError if shapes differ."""
    current = ref.read()
    if current.shape != value.shape:
        raise errors.invalid_argument(_update_mismatch(ref, current, value))
    if current.dtype in (torch.uint16, torch.uint32, torch.uint64):
        wide = getattr(current.to(torch.int64), method)(value.to(torch.int64))
        current.copy_(wide.to(current.dtype))
        return
    getattr(current, method)(value)


assign_add_op = op(
    f"AssignAdd(ref: &T, value: T) -> output_ref: &T\n{_NUMBERS}\nuse_locking: bool = false",
    writes=(0,),
    differentiable=False,
    handle="variable",
    access="add",
)
assign_sub_op = op(
    f"AssignSub(ref: &T, value: T) -> output_ref: &T\n{_NUMBERS}\nuse_locking: bool = false",
    writes=(0,),
    differentiable=False,
    handle="variable",
    access="subtract",
)
for _card, _method in ((assign_add_op, "add_"), (assign_sub_op, "sub_")):
    _card.shape(changed_shape)
    _card.kernel(in_place(_method))


is_variable_initialized_op = op(
    """
    IsVariableInitialized(ref: &dtype) -> is_initialized: bool
    dtype: type
    flags: uninitialized
""",
    latency="brief",
    handle="variable",
    access="is initialized",
)


@is_variable_initialized_op.shape
def is_variable_initialized_shape(node: Node) -> OutputDims:
    return ()


@is_variable_initialized_op.kernel
def is_variable_initialized_kernel(node: Node) -> Kernel:
    return lambda ref: torch.tensor(ref.value is not None)


count_up_to_op = op(
    """
    CountUpTo(ref: &T) -> output: T
    limit: int
    T: {int32, int64}
""",
    writes=(0,),
)


@count_up_to_op.shape
def count_up_to_shape(node: Node) -> OutputDims:
    dims.with_rank(node.dims(0), 0)
    return ()


@count_up_to_op.kernel
def count_up_to_kernel(node: Node) -> Kernel:
    return count_up_to(node.limit)


def count_up_to(limit: int) -> Callable[..., Any]:
    """Return the counter and increment it, up to `limit`."""

    def count(ref: Any) -> Any:
        with ref.lock:
            current = ref.read()
            if int(current) >= limit:
                raise errors.out_of_range(f"Reached limit of {limit}")
            before = current.clone()
            current.add_(1)
        return before

    return count
