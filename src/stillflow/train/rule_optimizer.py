"""Optimizers whose step is one training op for each variable: most of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from stillflow.graph.dtypes import DType
from stillflow.graph.indexed_slices import IndexedSlices
from stillflow.graph.operation import Tensor
from stillflow.ops.math.cast import cast
from stillflow.ops.training.cards import training_op
from stillflow.train.optimizer import Optimizer

# Inputs of training ops that keep their own type.
_NOT_CAST = ("grad", "delta", "indices", "global_step")


@dataclass
class Step:
    """What a training op takes beside the variable and its gradient.

    Attributes:
      rule: as in `Apply<rule>`.
      slots: names of the slots, in the op's order.
      scalars: its other inputs, by their names in the op.
      flags: its attributes.
    """

    rule: str
    slots: tuple[str, ...]
    scalars: dict[str, Any]
    flags: dict[str, Any] = field(default_factory=dict)


class RuleOptimizer(Optimizer):
    """Applies the training op that `_step` describes."""

    # The kinds of update whose scalars are not converted to the type of the variable.
    _uncast: tuple[str, ...] = ()

    def _step(self, var: Any) -> Step:
        """What to apply to `var`."""
        raise NotImplementedError()

    def _update(self, kind: str, var: Any, dtype: DType, grad: Tensor, indices: Any = None) -> Any:
        """Adds the training op; `kind` is "", "Resource", "Sparse" or "ResourceSparse"."""
        step = self._step(var)
        card = training_op(f"{kind}Apply{step.rule}")
        states = [var, *(self.get_slot(var, name) for name in step.slots)]
        if kind.startswith("Resource"):
            states = [state.handle for state in states]
        given = {"grad": grad, "delta": grad, "indices": indices, **step.scalars}
        others = []
        for argument in card.signature.inputs[len(states) :]:
            value = given[argument.name]
            if argument.name not in _NOT_CAST and kind not in self._uncast:
                value = cast(value, dtype)
            others.append(value)
        return card(*states, *others, use_locking=self._use_locking, **step.flags)

    def _apply_dense(self, grad: Tensor, var: Any) -> Any:
        return self._update("", var, var.dtype.base_dtype, grad).op

    def _resource_apply_dense(self, grad: Tensor, handle: Any) -> Any:
        return self._update("Resource", handle, grad.dtype.base_dtype, grad)

    def _apply_sparse(self, grad: IndexedSlices, var: Any) -> Any:
        return self._update("Sparse", var, var.dtype.base_dtype, grad.values, grad.indices).op

    def _resource_apply_sparse(self, grad: Tensor, handle: Any, indices: Tensor) -> Any:
        return self._update("ResourceSparse", handle, grad.dtype, grad, indices)
