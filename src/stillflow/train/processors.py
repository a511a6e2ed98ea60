"""Optimizers' access to each kind of variable: differentiation and update."""

from __future__ import annotations

from typing import Any

from stillflow.graph.graph import get_default_graph
from stillflow.graph.indexed_slices import IndexedSlices
from stillflow.graph.operation import Tensor
from stillflow.variables.base import VariableV2
from stillflow.variables.resource_variable import is_resource_variable


class _OptimizableVariable:
    """Interface of optimizers to a variable."""

    def __init__(self, v: Any) -> None:
        self._v = v

    def target(self) -> Any:
        """Return the tensor to differentiate by."""
        return self._v

    def update_op(self, optimizer: Any, g: Any) -> Any:
        """Return the operation that applies the gradient `g`."""
        raise NotImplementedError("Calling an abstract method.")

    def _constrained(self, update_op: Any) -> Any:
        """`update_op`, followed by the variable's constraint if it has one."""
        variable = self._v
        if variable.constraint is None:
            return update_op
        with get_default_graph().control_dependencies([update_op]):
            return variable.assign(variable.constraint(variable))

    def _reject_constraint(self) -> None:
        if self._v.constraint is not None:
            raise RuntimeError("Cannot use a constraint function on a sparse variable.")


class _RefVariableProcessor(_OptimizableVariable):
    """Processor of reference variables."""

    def __str__(self) -> str:
        return f"<_RefVariableProcessor({self._v})>"

    def target(self) -> Tensor:
        return self._v._ref()

    def update_op(self, optimizer: Any, g: Any) -> Any:
        if isinstance(g, Tensor):
            return self._constrained(optimizer._apply_dense(g, self._v))
        if not isinstance(g, IndexedSlices):
            raise AssertionError("Gradient ", g, " is neither a tensor nor IndexedSlices.")
        self._reject_constraint()
        return optimizer._apply_sparse_duplicate_indices(g, self._v)


class _DenseResourceVariableProcessor(_OptimizableVariable):
    """Processor of resource variables."""

    def update_op(self, optimizer: Any, g: Any) -> Any:
        if isinstance(g, IndexedSlices):
            self._reject_constraint()
            return optimizer._resource_apply_sparse_duplicate_indices(g.values, self._v, g.indices)
        return self._constrained(optimizer._resource_apply_dense(g, self._v))


class _TensorProcessor(_OptimizableVariable):
    """Processor of tensors: they have gradients but cannot be updated."""

    def update_op(self, optimizer: Any, g: Any) -> Any:
        raise NotImplementedError("Trying to update a Tensor ", self._v)


def get_processor(v: Any) -> _OptimizableVariable:
    """Return the processor for a variable or tensor."""
    if isinstance(v, Tensor) and v.holds_value:
        return _TensorProcessor(v)
    if (is_resource_variable(v) and v.handle.holds_value) or v.op.type == "VarHandleOp":
        return _DenseResourceVariableProcessor(v)
    if isinstance(v, VariableV2):
        return _RefVariableProcessor(v)
    if isinstance(v, Tensor):
        return _TensorProcessor(v)
    raise NotImplementedError("Trying to optimize unsupported type ", v)
