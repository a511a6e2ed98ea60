"""Optimizers whose step is one training op for each variable: most of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeVar

from stillflow.graph.dtypes import DType
from stillflow.graph.indexed_slices import IndexedSlices
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.math.cast import cast
from stillflow.ops.training.cards import training_op
from stillflow.train.optimizer import Optimizer

_Class = TypeVar("_Class", bound=type[Optimizer])
# Inputs of training ops that keep their own type.
_NOT_CAST = ("grad", "delta", "indices", "global_step")


@dataclass
class Step:
    """Operands of a training op after the variable and its gradient.

    Attributes:
      rule: as in `Apply<rule>`.
      slots: names of the slots, in the op's order.
      scalars: its other inputs, by their names in the op.
      flags: its attributes.
      uncast: the kinds of update whose scalars are not converted to the type of the variable.
    """

    rule: str
    slots: tuple[str, ...]
    scalars: dict[str, Any]
    flags: dict[str, Any] = field(default_factory=dict)
    uncast: tuple[str, ...] = ()


def applies_rules(cls: _Class) -> _Class:
    """Decorate an optimizer class: it applies the training op that its `_step(var)` describes.

    A base class between the optimizer and `tf.train.Optimizer` would do as well, but programs check
    the base classes of TensorFlow's optimizers. The class's own definitions stay.
    """
    for name, method in _METHODS.items():
        if name not in vars(cls):
            setattr(cls, name, method)
    return cls


def set_hyperparameters(optimizer: Optimizer, **values: Any) -> None:
    """Store hyperparameters as `_NAME`, and None for now as their tensors, `_NAME_tensor`."""
    for name, value in values.items():
        vars(optimizer).update({f"_{name}": value, f"_{name}_tensor": None})


def scalars_of(optimizer: Optimizer, **names: str) -> dict[str, Any]:
    """Return the tensors of hyperparameters by the arguments of the training op they go to."""
    return {argument: getattr(optimizer, f"_{name}_tensor") for argument, name in names.items()}


def _update(
    optimizer: Any, kind: str, var: Any, dtype: DType, grad: Tensor, indices: Any = None
) -> Tensor | Operation | None:
    """Add the training op; `kind` is "", "Resource", "Sparse" or "ResourceSparse"."""
    step: Step = optimizer._step(var)
    card = training_op(f"{kind}Apply{step.rule}")
    states = [var, *(optimizer.get_slot(var, name) for name in step.slots)]
    if kind.startswith("Resource"):
        states = [state.handle for state in states]
    given = {"grad": grad, "delta": grad, "indices": indices, **step.scalars}
    others = []
    for argument in card.signature.inputs[len(states) :]:
        value = given[argument.name]
        if argument.name not in _NOT_CAST and kind not in step.uncast:
            value = cast(value, dtype)
        others.append(value)
    return card(*states, *others, use_locking=optimizer._use_locking, **step.flags)


def _apply_dense(self: Any, grad: Tensor, var: Any) -> Operation:
    return _update(self, "", var, var.dtype.base_dtype, grad).op  # type: ignore[union-attr]


def _resource_apply_dense(self: Any, grad: Tensor, handle: Any) -> Any:
    return _update(self, "Resource", handle, grad.dtype.base_dtype, grad)


def _apply_sparse(self: Any, grad: IndexedSlices, var: Any) -> Operation:
    return _update(self, "Sparse", var, var.dtype.base_dtype, grad.values, grad.indices).op  # type: ignore[union-attr]


def _resource_apply_sparse(self: Any, grad: Tensor, handle: Any, indices: Tensor) -> Any:
    return _update(self, "ResourceSparse", handle, grad.dtype, grad, indices)


_METHODS = {
    method.__name__: method
    for method in (_apply_dense, _resource_apply_dense, _apply_sparse, _resource_apply_sparse)
}
