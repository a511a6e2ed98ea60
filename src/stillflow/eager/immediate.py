"""Operations that run when they are called, as in the functions of `tf.py_function`.

While an `ImmediateGraph` is the default graph, each operation is added to it as to any graph, with
the same checks and conversions, and runs at once: its outputs are `EagerTensor`s, which know their
values. Tapes record as they always do, so what ran can be differentiated.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from stillflow import errors
from stillflow.eager.eager_tensor import EagerTensor
from stillflow.graph import dtypes
from stillflow.graph.card import Card, find
from stillflow.graph.eager_mode import EagerContext
from stillflow.graph.graph import Graph
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow.runtime.exits import at_work
from stillflow.runtime.facts import Facts, to_array
from stillflow.runtime.failures import as_op_error
from stillflow.runtime.inline import is_call
from stillflow.runtime.plan import make_plan
from stillflow.runtime.resources import Resources
from stillflow.runtime.tokens import argument, kernel_function, read_state
from stillflow.runtime.values import from_array

_HANDLES = (dtypes.resource, dtypes.variant)


class ImmediateGraph(EagerContext):
    """Runs each operation that is added to it, and keeps the values of all of them."""

    def __init__(self) -> None:
        super().__init__()
        self._facts = Facts(Resources(lambda op: "cpu", from_array), {})

    def value(self, tensor: Tensor) -> Any:
        """The run-time value of a tensor: a torch tensor, an array of bytes, or a handle."""
        handles = self._facts.handles
        return handles[tensor] if tensor in handles else self._facts.values[tensor]

    def array(self, tensor: Tensor) -> np.ndarray:
        """The value of a tensor as an array that may share its memory."""
        return to_array(self._facts.values[tensor])

    def tensor(self, value: Any, dtype: Any) -> Tensor:
        """A tensor for a run-time value."""
        card: Any = find("Placeholder")
        attrs = {"dtype": dtype, "shape": TensorShape(None)}
        op = Graph.add_op(self, card, [], attrs, [dtype], self.unique_name("input"))
        self._settle(op, [value])
        return op._outputs[0]

    def add_op(self, card: Card, *args: Any, **kwargs: Any) -> Operation:
        """Adds an operation and runs it.

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
        inputs = [self.value(tensor) for tensor in op._inputs]
        if is_call(op):
            feeds = {tensor: tensor._dims for tensor in op._inputs}
            plan = make_plan(self._facts.resources, [], [op], feeds, raw=op._outputs, own=True)
            return plan(*inputs)
        if op.type == "ReadVariableOp":
            return [read_state(op, inputs[0])]
        try:
            given = [argument(op, index, value) for index, value in enumerate(inputs)]
            result = kernel_function(op, self._facts)(*given)
        except Exception as error:
            raised = as_op_error(error, op)
            if raised is error:
                raise
            raise raised from error
        if len(op._outputs) == 1:
            return [result]
        return list(result) if op._outputs else []

    def _settle(self, op: Operation, values: list[Any]) -> None:
        """Gives the outputs of an operation that ran their values."""
        op._values = []
        for tensor, value in zip(op._outputs, values, strict=True):
            tensor.__class__ = EagerTensor
            if tensor.dtype in _HANDLES or tensor.dtype._is_ref_dtype:
                self._facts.handles[tensor] = value
                op._values.append(None)
            else:
                self._facts.values[tensor] = value
                tensor._dims = tuple(value.shape)
                op._values.append(to_array(value))
