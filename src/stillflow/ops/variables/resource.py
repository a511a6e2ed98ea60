"""Resource variables: VarHandleOp and the ops that read and change it through its handle."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow import errors
from stillflow.graph import dims, dtypes
from stillflow.graph.arrays import Array
from stillflow.graph.card import op
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.debugging.handle_types import type_word
from stillflow.ops.variables.buffer import Buffer, buffer_of
from stillflow.ops.variables.reference import count_up_to, update

var_handle_op = op(
    """
    VarHandleOp() -> resource: resource
    container: string = ""
    shared_name: string = ""
    dtype: type
    shape: shape
    flags: stateful
""",
    latency="none",
    handle="variable",
    gives="variable",
    idempotent=True,
)


@var_handle_op.shape
def var_handle_shape(node: Node) -> OutputDims:
    handle = node.outputs[0]
    handle._handle_dims = node.op.attrs["shape"]._dims
    handle._handle_dtype = node.op.attrs["dtype"]
    return ()


@var_handle_op.kernel
def var_handle_kernel(node: Any) -> Kernel:
    name = node.op.attrs["shared_name"].decode() or node.name
    return node.handle(buffer_of(node, name, is_resource=True))


read_variable_op = op(
    """
    ReadVariableOp(resource: resource) -> value: dtype
    dtype: type
    flags: stateful
""",
    latency="brief",
    handle="variable",
    access="read",
    idempotent=True,
)


@read_variable_op.shape
def read_variable_shape(node: Node) -> OutputDims:
    _check_type(node)
    return node.variable_dims(0)


def _check_type(node: Node, changes: bool = False) -> None:
    """Raise an error for a type other than the variable's, with the kernel's message."""
    known, given = node.inputs[0]._handle_dtype, node.op.attrs["dtype"]
    if known is None or known.base_dtype == given.base_dtype:
        return
    verb = "assign" if changes and node.planning else "read"
    if node.planning and not changes:
        known, given = given, known
    raise ValueError(
        f"Trying to {verb} variable with wrong dtype. "
        f"Expected {type_word(known)} got {type_word(given)}"
    )


@read_variable_op.gradient
def read_variable_gradient(node: Node, grad: Tensor) -> Tensor:
    return grad


assign_variable_op = op(
    """
    AssignVariableOp(resource: resource, value: dtype)
    dtype: type
    flags: stateful
""",
    keeps=(1,),
    handle="variable",
    access="replace",
)


@assign_variable_op.shape
def assign_variable_shape(node: Node) -> OutputDims:
    _check_type(node, changes=True)
    if node.is_eager:
        return []
    declared, given = node.variable_dims(0), node.dims(1)
    if node.planning and not dims.is_compatible(declared, given):
        node.reshape_variable(0)
    else:
        dims.merge(declared, given)
    return []


@assign_variable_op.kernel
def assign_variable_kernel(node: Node) -> Kernel:
    def assign(handle: Any, value: Any) -> None:
        handle.value = value

    def assign_checked(handle: Any, value: Any) -> None:
        if not isinstance(handle, Buffer):
            raise ValueError("Trying to access resource using the wrong type for AssignVariableOp")
        handle.value = value

    if node.is_eager:
        return assign_checked  # which serves the variables of a shape
    state = node.state(0) if node.planning else None
    if not (state is None or isinstance(state, Buffer)):
        raise ValueError("Trying to access resource using the wrong type for AssignVariableOp")
    declared = node.variable_dims(0)
    if not node.planning or declared is None or dims.is_known(node.dims(1)):
        return assign

    def assign_any(handle: Any, value: Any) -> None:
        handle.value = value
        if not dims.is_compatible(declared, tuple(value.shape)):
            node.reshape_variable(0)

    return assign_any


def _in_place(method: str) -> Callable[..., Any]:
    def kernel(node: Node) -> Callable[..., Any]:
        def change(handle: Any, value: Any) -> None:
            with handle.lock:
                update(handle, method, value)

        return change

    return kernel


assign_add_variable_op = op(
    "AssignAddVariableOp(resource: resource, value: dtype); dtype: type; flags: stateful",
    writes=(0,),
    handle="variable",
    access="add",
)
assign_sub_variable_op = op(
    "AssignSubVariableOp(resource: resource, value: dtype); dtype: type; flags: stateful",
    writes=(0,),
    handle="variable",
    access="subtract",
)


def _update_shape(node: Node) -> list[Any]:
    _check_type(node, changes=True)
    if not node.planning:  # the kernel compares with the shape that the variable has by then
        dims.merge(node.variable_dims(0), node.dims(1))
    return []


for _card, _method in ((assign_add_variable_op, "add_"), (assign_sub_variable_op, "sub_")):
    _card.shape(_update_shape)
    _card.kernel(_in_place(_method))

var_is_initialized_op = op(
    """
    VarIsInitializedOp(resource: resource) -> is_initialized: bool
    flags: stateful
""",
    latency="brief",
    handle="variable",
    access="is initialized",
    idempotent=True,
)


@var_is_initialized_op.shape
def var_is_initialized_shape(node: Node) -> OutputDims:
    return ()


@var_is_initialized_op.kernel
def var_is_initialized_kernel(node: Node) -> Kernel:
    return lambda handle: torch.tensor(handle.value is not None)


variable_shape_op = op(
    """
    VariableShape(input: resource) -> output: out_type
    out_type: {int32, int64} = int32
    flags: stateful
""",
    differentiable=False,
    handle="variable",
    idempotent=True,
)


@variable_shape_op.shape
def variable_shape_shape(node: Node) -> OutputDims:
    known = node.variable_dims(0)
    return (None,) if known is None else (len(known),)


@variable_shape_op.value
def variable_shape_value(node: Node) -> Array | None:
    known = node.variable_dims(0)
    if known is None or None in known or not node.planning:
        return None  # TF does not look at it either while the graph is built
    import numpy as np

    return np.array(known, dtype=node.out_type.as_numpy_dtype)


@variable_shape_op.kernel
def variable_shape_kernel(node: Node) -> Kernel:
    dtype = getattr(torch, node.out_type.torch_name)
    return lambda handle: torch.tensor(tuple(handle.read().shape), dtype=dtype)


destroy_resource_op = op(
    """
    DestroyResourceOp(resource: resource)
    ignore_lookup_error: bool = true
    flags: stateful
""",
    handle="any",
)


@destroy_resource_op.kernel
def destroy_resource_kernel(node: Node) -> Kernel:
    ignore = node.ignore_lookup_error

    def destroy(handle: Any) -> None:
        if isinstance(handle, Buffer) and handle.value is None and not ignore:
            message = "Container localhost does not exist."
            if handle.has_container:
                message = f"Resource localhost/{handle.name}/<unknown> does not exist."
            raise errors.not_found(message)
        if isinstance(handle, Buffer):
            handle.value = None
        elif hasattr(handle, "destroy"):
            handle.destroy()

    return destroy


resource_count_up_to_op = op(
    """
    ResourceCountUpTo(resource: resource) -> output: T
    limit: int
    T: {int32, int64}
    flags: stateful
""",
    writes=(0,),
)


@resource_count_up_to_op.shape
def resource_count_up_to_shape(node: Node) -> OutputDims:
    held, asked = node.inputs[0]._handle_dtype, node.op.attrs["T"]
    if not node.planning and held is not None and held.base_dtype != asked:
        raise ValueError(f"Data types do not match: {type_word(asked)} and {type_word(held)}")
    known = node.variable_dims(0)
    if known is not None:
        dims.with_rank(known, 0)
    return ()


@resource_count_up_to_op.kernel
def resource_count_up_to_kernel(node: Node) -> Kernel:
    return count_up_to(node.limit)


def variable_shape(handle: Tensor, out_type: Any = dtypes.int32) -> Tensor:
    """Return the shape of the variable behind a handle; a constant if the handle has it."""
    from stillflow.ops.constants import constant

    known = handle._handle_dims
    if known is None or None in known or not _tells_its_shape(handle):
        result: Tensor = variable_shape_op(handle, out_type=out_type)
        return result
    return constant(list(known), dtype=out_type)


def _tells_its_shape(handle: Tensor) -> bool:
    """Return True if TF's Python knows the variable behind a handle.

    Identities pass that on, those in functions with a custom gradient too.
    """
    while not handle.holds_value and handle.op.type != "VarHandleOp":
        op = handle.op
        of_own = op.type == "IdentityN" and "_gradient_op_type" in op.attrs
        if op.type != "Identity" and not of_own:
            return False
        handle = op.inputs[handle.value_index]
    return True
