"""Variables of other tasks that a loop reads: they are read once, before it begins.

A loop runs in one task, and a handle has no meaning outside of its own task. So the loop carries
the value inside: the `Enter` of the handle, and all operations that pass it on, get the value's
type, and each `ReadVariableOp` becomes an `Identity`. A loop that does anything else with a handle
of another task runs in several.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from stillflow.graph.card import get
from stillflow.graph.dtypes import DType
from stillflow.graph.operation import Operation, Tensor
from stillflow.runtime.cluster.control_loops import SpansTasks
from stillflow.runtime.ir.inputs import wants_reference

_HAND_ON = ("enter", "identity", "switch")


class LoopReads:
    """Rewrites of loops' operations that read variables of other tasks.

    Attributes:
      inputs: of the operations that take the value in.
      types: of the values that operations hand on or take instead of a handle.
    """

    def __init__(self) -> None:
        self.inputs: dict[Operation, list[Tensor]] = {}
        self.types: dict[Operation, DType] = {}

    def find(
        self, inside: Collection[Operation], is_elsewhere: Callable[[Operation], bool]
    ) -> list[Operation]:
        """Find the reads of a loop; return the operations that read before it.

        Args:
          inside: the operations of a loop.
          is_elsewhere: whether an operation is in another task than the loop.

        Raises:
          SpansTasks: if the loop does something else with a handle.
        """
        made = []
        for enter in inside:
            if enter.card.flow != "enter" or not is_elsewhere(enter._inputs[0].op):
                continue
            (handle,) = enter._inputs
            if handle.dtype._is_ref_dtype:
                _check_references(enter, inside)
            elif handle.dtype.name == "resource" and handle.op not in inside:
                read = _read_before(enter, handle, self._follow(enter, inside))
                self.inputs[enter] = read._outputs
                made.append(read)
        return made

    def _follow(self, enter: Operation, inside: Collection[Operation]) -> DType:
        """Mark the path of a handle; return the type of its variable's value."""
        ways = [enter]
        reads: list[Operation] = []
        for op in ways:
            for tensor in op._outputs:
                users = [user for user in tensor.consumers() if user in inside]
                reads += [user for user in users if user.card.reads_variable]
                ways += [user for user in users if user.card.flow in _HAND_ON and user not in ways]
                for user in users:
                    if user not in reads and user not in ways:
                        raise SpansTasks
        dtype: DType = reads[0].attrs["dtype"]
        self.types.update(dict.fromkeys((*ways, *reads), dtype))
        return dtype

    def rewrite(self, op: Operation, node: Any) -> None:
        """Change a `NodeDef` so that it takes the value where its operation takes the handle."""
        dtype = self.types.get(op)
        if dtype is None:
            return
        if op.card.reads_variable:
            node.op = "Identity"
            del node.attr["dtype"]
        node.attr["T"].type = dtype.as_datatype_enum


def _read_before(enter: Operation, handle: Tensor, dtype: DType) -> Operation:
    """Return an operation that no graph has, which reads a variable when a loop is entered."""
    read = Operation.__new__(Operation)
    read.card, read.graph, read.type = get("ReadVariableOp"), enter.graph, "ReadVariableOp"
    read.name, read.attrs = f"{enter.name}/_read", {"dtype": dtype}
    inputs: Sequence[Tensor] = [handle]
    read._inputs, read._control_inputs, read._device = list(inputs), enter._control_inputs, ""
    read._outputs = [Tensor(read, 0, dtype)]
    read._outputs[0]._dims = handle._handle_dims
    return read


def _check_references(enter: Operation, inside: Collection[Operation]) -> None:
    """Raise SpansTasks if the loop changes the variable of a reference."""
    for user in enter._outputs[0].consumers():
        if user in inside and any(
            tensor.op is enter and wants_reference(user, index)
            for index, tensor in enumerate(user._inputs)
        ):
            raise SpansTasks
