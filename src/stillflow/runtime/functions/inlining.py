"""Calls of functions become the operations of their bodies, before a plan is traced.

All operations of a run are copied; a call becomes copies of its function's operations, with the
caller's values instead of the arguments. `If` and `While` become the Switch, Merge, Enter and Exit
that `tf.cond` and `tf.while_loop` make (see `lowering.py`), which plans can run. Only a recursive
function stays a call, executed when it is reached.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.graph.attrs import from_proto
from stillflow.graph.card import Card
from stillflow.graph.constant_value import constant_value
from stillflow.graph.device import DeviceSpecV2
from stillflow.graph.dtypes import DType, cpp_name
from stillflow.graph.func_graph import FuncGraph
from stillflow.graph.functions import FunctionCard, LibraryFunction, find_function
from stillflow.graph.infer import set_dims
from stillflow.graph.node import Node
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.constants import const_op
from stillflow.ops.control_flow.identity_and_group import identity_op
from stillflow.ops.functional.cards import EXECUTORS
from stillflow.ops.functional.lowered import pivot_op
from stillflow.ops.kernel_errors import as_op_error, raise_from
from stillflow.runtime.functions.call_bounds import MOST_CALLS, checked_calls
from stillflow.runtime.ir.inputs import LOWERED, is_pruned, takes_handle
from stillflow.runtime.schedule.prune import needed_ops

# Take references: they are read in the branch that is taken.
_BRANCHES = frozenset({"If", "StatelessIf", "Case"})


class Scope:
    """One level of calls: the copies of a body's tensors and operations.

    Attributes:
      prefix: of the names of operations.
      pivot: control dependency of operations without inputs.
      names: the functions that are being called, outermost first.
      device: what operations that name no device, or not all of it, are on; "" for anywhere.
      beside: all operations of the level.
    """

    def __init__(
        self, prefix: str = "", pivot: Operation | None = None, names: tuple[str, ...] = ()
    ) -> None:
        self.prefix, self.pivot, self.names = prefix, pivot, names
        self.device = ""
        self.beside: Sequence[Operation] = ()
        self.tensors: dict[Tensor, Tensor] = {}
        self.ops: dict[Operation, Operation] = {}


class Inliner:
    """Inliner: copies operations in execution order, with calls inlined.

    Args:
      device_of: the full name of the device of an operation of the graph, which bodies of functions
        that it calls are on, too; None if they may be anywhere.

    Attributes:
      targets: fed names of devices that functions are called on.
    """

    def __init__(self, device_of: Callable[[Operation], str] | None = None) -> None:
        self.device_of = device_of
        self.targets: Mapping[Tensor, Any] = {}
        self.made: list[Operation] = []
        # Operations that run although no result needs them: called functions run as a whole.
        self.kept: list[Operation] = []
        self.fed: set[Tensor] = set()
        self._late: list[tuple[Operation, int, Tensor, Scope]] = []
        self._calls = 0  # made so far, those inside of others included
        self._known_calls: dict[str, int] = {}  # by function

    def top(self, ops: Sequence[Operation], fed: Collection[Tensor]) -> Scope:
        """Copy the operations of a run; fed tensors are copied without their producers."""
        scope = Scope()
        scope.tensors.update((tensor, tensor.__copy__()) for tensor in fed)
        self.fed = set(scope.tensors.values())
        self.copy_all(ops, scope)
        for op, index, tensor, inner in self._late:
            op._inputs[index] = self.use(inner.tensors[tensor], op)
        return scope

    def copy_all(self, ops: Sequence[Operation], scope: Scope) -> None:
        scope.beside = ops
        for op in ops:
            lower = expansion_of(op, scope)
            if lower is None:
                self.copy(op, scope)
            else:
                self._expand(op, scope, lower)

    def copy(self, op: Operation, scope: Scope) -> Operation:
        """Return a copy of one operation in a scope."""
        attrs = op.attrs
        if scope.prefix and "frame_name" in attrs:
            attrs = {**attrs, "frame_name": scope.prefix.encode() + attrs["frame_name"]}
        if scope.device and "_class" in attrs:  # which names operations of the body
            beside = [b"loc:@" + scope.prefix.encode() + name[5:] for name in attrs["_class"]]
            attrs = {**attrs, "_class": beside}
        controls = [scope.ops[c] for c in op._control_inputs if c in scope.ops]
        if scope.pivot is not None and not op._inputs and not controls:
            controls = [scope.pivot]
        inputs: list[Any] = [scope.tensors.get(tensor) for tensor in op._inputs]
        types = [tensor.dtype for tensor in op._outputs]
        copy = self.make(op.card, inputs, attrs, types, scope.prefix + op.name, controls, op)
        copy._values, copy._varies = op._values, op._varies
        handles = (takes_handle(op, index) for index in range(len(op._inputs)))
        if scope.device and not any(handles):  # those are where handles are
            copy._device = _on(scope.device, op._device)
        for index, tensor in enumerate(op._inputs):
            if inputs[index] is None:  # the back edge of a loop does not exist yet
                self._late.append((copy, index, tensor, scope))
        for index, (old, new) in enumerate(zip(op._outputs, copy._outputs, strict=True)):
            new._dims = old._dims
            new._handle_dims, new._handle_dtype = old._handle_dims, old._handle_dtype
            fed = scope.tensors.get(old)
            if fed is not None:
                copy._outputs[index] = fed
            scope.tensors[old] = copy._outputs[index]
        scope.ops[op] = copy
        return copy

    def use(self, tensor: Tensor, op: Operation) -> Tensor:
        tensor._consumers.append(op)
        return tensor

    def make(
        self,
        card: Card,
        inputs: list[Any],
        attrs: dict[str, Any],
        types: Sequence[DType],
        name: str,
        controls: Sequence[Operation],
        like: Operation,
    ) -> Operation:
        """Return an operation that no graph has, instead of `like`."""
        op = Operation.__new__(Operation)
        op.card, op.graph, op.name, op.type, op.attrs = card, like.graph, name, card.name, attrs
        op._inputs = inputs
        op._control_inputs = list(dict.fromkeys(controls))
        op._control_outputs = []
        op._device, op._frames = like._device, like._frames
        op._values, op._varies = None, False
        op._original_op = like
        op._control_flow_context = op._gradient_function = None
        op._device_scopes = op._colocation_scopes = ()
        op._outputs = [Tensor(op, index, dtype) for index, dtype in enumerate(types)]
        for tensor in inputs:
            if tensor is not None:
                tensor._consumers.append(op)
        for control in op._control_inputs:
            control._control_outputs.append(op)
        self.made.append(op)
        op._id = len(self.made)
        return op

    def add(
        self,
        card: Card,
        inputs: list[Any],
        name: str,
        like: Operation,
        *,
        controls: Sequence[Operation] = (),
        types: Sequence[DType] | None = None,
        **attrs: Any,
    ) -> Operation:
        """Add an operation of an inlined call; its outputs have the first input's type."""
        dtype = inputs[0].dtype
        if "T" in card.signature.attrs:
            attrs = {"T": dtype.base_dtype, **attrs}
        op = self.make(card, inputs, attrs, types or [dtype], name, controls, like)
        if card.shape_part is not None and None not in inputs:
            set_dims(op, card.shape_part(Node(op)))
        for tensor in op._outputs:
            if tensor.dtype == dtype:
                tensor._handle_dims = inputs[0]._handle_dims
                tensor._handle_dtype = inputs[0]._handle_dtype
        return op

    def make_later(self, card: Card, tensor: Tensor, call: Call, name: str) -> Operation:
        """Return an operation of one tensor of the call's level, which need not be copied yet."""
        dtype = tensor.dtype.base_dtype
        op = self.make(card, [None], {"T": dtype}, [dtype], name, call.controls, call.op)
        op._outputs[0]._dims = tensor._dims
        self._late.append((op, 0, tensor, call.scope))
        return op

    def constant(
        self, value: np.ndarray, dtype: DType, name: str, like: Operation,
        controls: Sequence[Operation],
    ) -> Tensor:  # fmt: skip
        """Return a constant scalar of an inlined call."""
        op = self.make(
            const_op, [], {"dtype": dtype, "value": value}, [dtype], name, controls, like
        )
        op._values = [value]
        op._outputs[0]._dims = ()
        return op._outputs[0]

    def pivot(self, name: str, controls: Sequence[Operation], like: Operation) -> Operation:
        return self.make(pivot_op, [], {}, [], name, controls, like)

    def makers(self, *tensors: Tensor) -> list[Operation]:
        """Return the operations that make tensors; of those that are fed none runs."""
        return [tensor.op for tensor in tensors if tensor not in self.fed]

    # ---- calls

    def _expand(self, op: Operation, scope: Scope, lower: Callable[..., Any]) -> None:
        inputs = [scope.tensors[tensor] for tensor in op._inputs]
        if op.type not in _BRANCHES:
            inputs = [self.plain(tensor, f"{scope.prefix}{op.name}", op) for tensor in inputs]
        controls = [scope.ops[c] for c in op._control_inputs if c in scope.ops]
        if not inputs and not controls and scope.pivot is not None:
            controls = [scope.pivot]
        try:
            outputs, done = lower(self, Call(op, inputs, controls, scope))
        except (ValueError, errors.OpError) as error:
            raise_from(as_op_error(error, op), error)
        if not op.attrs.get(LOWERED):
            self.kept.append(done)
        if len(outputs) != len(op._outputs):
            what = "SymGrad" if op.type == "SymbolicGradient" else f"{op.type} {op.name}"
            raise errors.invalid_argument(
                f"{what} expects to return {len(op._outputs)} tensor(s), but get {len(outputs)} "
                "tensor(s) instead.",
                op,
            )
        for old, new in zip(op._outputs, outputs, strict=True):
            scope.tensors.setdefault(old, new)
        scope.ops[op] = done

    def plain(self, tensor: Tensor, name: str, like: Operation) -> Tensor:
        """Functions take values, not references."""
        if not tensor.dtype._is_ref_dtype:
            return tensor
        name = f"{name}/{tensor.op.name}"
        read = self.add(identity_op, [tensor], name, like, types=[tensor.dtype.base_dtype])
        return read._outputs[0]

    def body(
        self,
        function: LibraryFunction | str,
        body: FuncGraph,
        inputs: Sequence[Tensor],
        pivot: Operation | None,
        call: Call,
        part: str = "",
    ) -> tuple[list[Tensor], list[Operation]]:
        """Copy a body; return its results, and the operations that mark its end."""
        name = function if isinstance(function, str) else function.name
        if not call.scope.names:
            self._calls += checked_calls(call.op, call.op.graph, name, self._known_calls)
            if self._calls > MOST_CALLS:
                text = f"A run makes more than {MOST_CALLS} calls"
                raise errors.resource_exhausted(text, call.op)
        prefix = f"{call.name}/{part}"
        scope = Scope(prefix, pivot, (*call.scope.names, name))
        scope.device = self._device_for(call)
        if len(inputs) != len(body.inputs):
            text = f"Expected {len(body.inputs)} arguments, but got {len(inputs)} (function {name})"
            raise errors.invalid_argument(text, call.op)
        for index, (inner, given) in enumerate(zip(body.inputs, inputs, strict=True)):
            expected, found = inner.dtype.base_dtype, given.dtype.base_dtype
            if expected != found:
                raise errors.invalid_argument(
                    f"Expects arg[{index}] to be {cpp_name(expected)} but {cpp_name(found)} is "
                    "provided",
                    call.op,
                )
        scope.tensors.update(zip(body.inputs, inputs, strict=True))
        pruned = is_pruned(call.op)
        effects = body_effects(body, pruned)
        self.copy_all(needed_ops(body.outputs, effects, body.inputs), scope)
        outputs = [scope.tensors[tensor] for tensor in body.outputs]
        made = [scope.ops[t.op] for t in body.outputs if t.op in scope.ops]
        ran = [scope.ops[op] for op in effects]
        if not pruned:
            self.kept += ran
        return outputs, [*made, *ran]

    def _device_for(self, call: Call) -> str:
        """Return the default device of operations in the body of a function."""
        if self.device_of is None:
            return ""
        if call.device:
            return call.device
        if call.scope.device:
            return _on(call.scope.device, call.op._device)
        return self.device_of(call.op)


def _on(default: str, device: str) -> str:
    """Return a device with missing parts from another one."""
    merged = DeviceSpecV2.from_string(default).make_merged_spec(DeviceSpecV2.from_string(device))
    return str(merged.to_string())


class Call:
    """A call that is being taken apart.

    Attributes:
      op: the operation that calls.
      inputs: the tensors that it takes, copied.
      controls: the operations that it waits for, copied.
      device: the device that the call itself names for the body, "" if it names none.
    """

    device = ""

    def __init__(
        self, op: Operation, inputs: list[Tensor], controls: list[Operation], scope: Scope
    ) -> None:
        self.op, self.inputs, self.controls, self.scope = op, inputs, controls, scope
        self.name = scope.prefix + op.name

    def function(self, value: Any) -> tuple[LibraryFunction, FuncGraph]:
        """Return the function behind an attribute, and its body."""
        return resolve(self.op, value.name, value.attr)


def resolve(op: Operation, name: str, attrs: Any) -> tuple[LibraryFunction, FuncGraph]:
    """Return a function that `op` names, and its body; NotFoundError if there is none."""
    function = find_function(op.graph, name)
    if function is None:
        raise errors.not_found(f"Function {name} is not defined.", op)
    values = {key: from_proto(value, None) and value for key, value in attrs.items()}
    return function, function.instantiate(op.graph, values)


def body_effects(body: FuncGraph, pruned: bool = False) -> list[Operation]:
    """Return the operations of a body that run whether or not a result needs them.

    If `pruned`, they are those alone that its definition asks for (`is_pruned`).
    """
    if pruned:
        return list(body.control_outputs)
    inputs = {tensor.op for tensor in body.inputs}
    ops = [op for op in body._operations if op._is_stateful and op not in inputs]
    return [*ops, *(op for op in body.control_outputs if not op._is_stateful)]


def inline_call(
    inliner: Inliner, call: Call, function: LibraryFunction | str, body: FuncGraph
) -> tuple[list[Tensor], Operation]:
    waits = [*call.controls, *inliner.makers(*call.inputs)]
    pivot = inliner.pivot(f"{call.name}/begin", waits, call.op) if waits else None
    outputs, done = inliner.body(function, body, call.inputs, pivot, call)
    if pivot is not None:
        done = [pivot, *done]
    return outputs, inliner.pivot(call.name, done, call.op)


def _call(inliner: Inliner, call: Call) -> tuple[list[Tensor], Operation]:
    """Return a node whose type is the function's name."""
    function, body = resolve(call.op, call.op.type, call.op.node_def.attr)
    return inline_call(inliner, call, function, body)


def _call_attribute(inliner: Inliner, call: Call) -> tuple[list[Tensor], Operation]:
    """Return a node that names the function in its attribute `f`."""
    executor = call.op.attrs.get("executor_type", b"").decode()
    if executor not in EXECUTORS:
        text = f"No executor factory registered for the given executor type: {executor}"
        raise errors.not_found(text, call.op)
    return inline_call(inliner, call, *call.function(call.op.attrs["f"]))


def _remote_call(inliner: Inliner, call: Call) -> tuple[list[Tensor], Operation]:
    if inliner.device_of is not None:
        name = call.op._inputs[0]
        target = inliner.targets.get(name, constant_value(name))  # if None, only a run can tell it
        call.device = "" if target is None else bytes(target.item()).decode()
        # Operations of several devices have several names.
        call.name += call.device.replace(":", "_") if name in inliner.targets else ""
    call.controls += inliner.makers(call.inputs.pop(0))
    return _call_attribute(inliner, call)


_CALLS: dict[str, Callable[[Inliner, Call], Any]] = {
    "PartitionedCall": _call_attribute, "StatefulPartitionedCall": _call_attribute,
    "RemoteCall": _remote_call,
}  # fmt: skip


@cache
def _expansions() -> dict[str, Callable[[Inliner, Call], Any]]:
    """Return the expansion functions by op type."""
    from stillflow.runtime.functions import lowering

    return {**_CALLS, **lowering.LOWERED}


def expansion_of(op: Operation, scope: Scope) -> Callable[..., Any] | None:
    """Return the expansion of a call; None for other operations, and for recursive calls."""
    if isinstance(op.card, FunctionCard):
        return None if op.type in scope.names or _stays(op, op.card) else _call
    lower = _expansions().get(op.type)
    if lower is None or not scope.names:
        return lower
    return None if any(name in scope.names for name in called_names(op)) else lower


def _stays(op: Operation, card: FunctionCard) -> bool:
    """Return True if the program asks for a call that can be seen as such."""
    of_function = card.function.definition.attr  # looking a missing key up would add it
    value = op.attrs.get("_noinline") or ("_noinline" in of_function and of_function["_noinline"].b)
    return bool(getattr(value, "b", value))


def called_names(op: Operation) -> list[str]:
    """Return the functions that the attributes of an operation name."""
    names = []
    for value in op.attrs.values():
        for item in value if isinstance(value, (list, tuple)) else (value,):
            if type(item).__name__ == "NameAttrList":
                suffix = "_gradient" if op.type == "SymbolicGradient" else ""
                names.append(item.name + suffix)
    return names


def inline(
    ops: Sequence[Operation],
    fed: Collection[Tensor],
    tensors: Sequence[Tensor],
    targets: Sequence[Operation],
    inliner: Inliner | None = None,
) -> tuple[list[Operation], Scope]:
    """Return the operations of a run with all calls inlined, and the copies of the old ones.

    The run gives `tensors` and runs `targets`; the default inliner is one without devices.
    """
    inliner = inliner or Inliner()
    scope = inliner.top(ops, fed)
    wanted = [scope.tensors.get(tensor, tensor) for tensor in tensors]
    run = [scope.ops[op] for op in targets if op in scope.ops]
    return needed_ops(wanted, [*run, *inliner.kept], inliner.fed), scope
