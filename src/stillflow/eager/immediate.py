"""Operations that run when they are called, as in the functions of `tf.py_function`.

While an `ImmediateGraph` is the default graph, each operation is added to it as to any graph, with
the same checks and conversions, and runs at once: its outputs are `EagerTensor`s, which hold their
values. The graph forgets it then, so that values last as long as their tensors. Tapes record as
they always do: what ran can be differentiated.
"""

from __future__ import annotations

import contextlib
from typing import Any

import torch

from stillflow import errors
from stillflow.eager.eager_tensor import EagerTensor
from stillflow.graph import dtypes, tapes
from stillflow.graph.card import Card, get
from stillflow.graph.eager_mode import EagerContext
from stillflow.graph.graph import Graph
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow.ops.exits import at_work
from stillflow.runtime.facts import Facts, to_array
from stillflow.runtime.failures import as_op_error
from stillflow.runtime.inline import is_call
from stillflow.runtime.plan import make_plan
from stillflow.runtime.resources import Resources
from stillflow.runtime.tokens import argument, kernel_function, read_state
from stillflow.runtime.values import from_array

_HANDLES = (dtypes.resource, dtypes.variant)


class ImmediateGraph(EagerContext):
    """Runs each operation that is added to it, and keeps nothing but the state of variables."""

    def __init__(self) -> None:
        super().__init__()
        self._state = Resources(lambda op: "cpu", from_array)

    def tensor(self, value: Any, dtype: Any) -> Tensor:
        """A tensor for a run-time value."""
        card = get("Placeholder")
        attrs = {"dtype": dtype, "shape": TensorShape(None)}
        op = Graph.add_op(self, card, [], attrs, [dtype], self.unique_name("input"))
        self._settle(op, [value])
        return op._outputs[0]

    def control_dependencies(self, control_inputs: Any) -> Any:
        """Nothing to wait for: whatever was called has run."""
        del control_inputs
        return contextlib.nullcontext()

    def add_op(self, card: Card, *args: Any, **kwargs: Any) -> Operation:
        """Adds an operation, runs it, and takes it out again.

        Raises:
          tf.errors.OpError: if it is refused or fails.
        """
        try:
            op = Graph.add_op(self, card, *args, **kwargs)
        except ValueError as error:
            raise errors.InvalidArgumentError(None, None, f"{error} [Op:{card.name}]") from error
        with at_work, torch.inference_mode():
            self._settle(op, self._run(op))
        return op

    def _run(self, op: Operation) -> list[Any]:
        inputs = [held_by(tensor) for tensor in op._inputs]
        if is_call(op):
            feeds = {tensor: tensor._dims for tensor in op._inputs}
            return make_plan(self._state, [], [op], feeds, raw=op._outputs, own=True)(*inputs)
        if op.type == "ReadVariableOp":
            return [read_state(op, inputs[0])]
        facts = Facts(self._state, {})
        for tensor, value in zip(op._inputs, inputs, strict=True):
            (facts.handles if _is_handle(tensor) else facts.values)[tensor] = value
        try:
            given = [argument(op, index, value) for index, value in enumerate(inputs)]
            result = kernel_function(op, facts)(*given)
        except Exception as error:
            raised = as_op_error(error, op)
            if raised is error:
                raise
            raise raised from error
        if len(op._outputs) == 1:
            return [result]
        return list(result) if op._outputs else []

    def _settle(self, op: Operation, values: list[Any]) -> None:
        """Gives the outputs of an operation that ran their values, and forgets it."""
        op._values = []
        for tensor, value in zip(op._outputs, values, strict=True):
            tensor.__class__ = EagerTensor
            tensor._held = value  # type: ignore[attr-defined]
            if _is_handle(tensor):
                op._values.append(None)
            else:
                tensor._dims = tuple(value.shape)
                op._values.append(to_array(value))
        self._remove([op])
        if not tapes.active.tapes and not any(_is_handle(tensor) for tensor in op._inputs):
            op._inputs = []  # nobody asks how the value came about


def held_by(tensor: Any) -> Any:
    """The run-time value of a tensor: a torch tensor, an array of bytes, or a handle.

    Raises:
      RuntimeError: if it is of a graph that runs in sessions, and has none.
    """
    if not isinstance(tensor, EagerTensor):
        raise RuntimeError(
            f"Attempting to capture a symbolic tensor without building a function: {tensor}"
        )
    return tensor._held


def _is_handle(tensor: Tensor) -> bool:
    return tensor.dtype in _HANDLES or tensor.dtype._is_ref_dtype
