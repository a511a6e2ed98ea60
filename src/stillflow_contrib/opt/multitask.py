"""Optimizers for several tasks that take turns, so that gradients are often all zeros."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.arrays.fill import zeros
from stillflow.ops.control_flow.cond import cond
from stillflow.ops.control_flow.identity_and_group import no_op
from stillflow.ops.math.clip import clip_by_global_norm, global_norm
from stillflow.ops.math.comparison import equal
from stillflow.ops.math.reductions import count_nonzero
from stillflow.train.optimizer import Optimizer


def _are_all_zeros(grad: Any) -> Tensor:
    return equal(count_nonzero(grad), 0)


def _unless_zero(apply: Callable[..., Any]) -> Callable[..., Any]:
    def wrapper(grad: Any, *args: Any, **kwargs: Any) -> Any:
        all_zeros = _are_all_zeros(grad)

        def call() -> Operation:
            with get_default_graph().control_dependencies([apply(grad, *args, **kwargs)]):
                return no_op()

        return cond(all_zeros, no_op, call)

    return wrapper


@export("contrib.opt.MultitaskOptimizerWrapper")
class MultitaskOptimizerWrapper:
    """Wrapper of an optimizer that skips variables, with their slots, whose gradient is zero.

    Args:
      opt: the optimizer; it is changed.

    Raises:
      TypeError: if it is none.
    """

    def __init__(self, opt: Optimizer) -> None:
        if not isinstance(opt, Optimizer):
            raise TypeError("Supplied optimizer must be an instance of tf.train.Optimizer")
        self._opt = opt
        for name in (
            "_apply_dense",
            "_resource_apply_dense",
            "_apply_sparse",
            "_resource_apply_sparse",
        ):
            setattr(opt, name, _unless_zero(getattr(opt, name)))

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return getattr(self._opt, name)


@export("contrib.opt.clip_gradients_by_global_norm")
def clip_gradients_by_global_norm(
    gradients_variables: Any, clip_norm: Any = 20.0
) -> tuple[list[tuple[Any, Any]], Tensor]:
    """Clips gradients by their global norm, to which those that are all zeros add nothing.

    Args:
      gradients_variables: pairs of gradient and variable.
      clip_norm: the bound.

    Returns:
      The pairs with clipped gradients, and the norm before.
    """

    def without_zeros(grad: Any) -> Tensor | None:
        if grad is None:
            return None
        return cond(_are_all_zeros(grad), lambda: zeros([], dtype=grad.dtype), lambda: grad)

    gradients, variables = zip(*gradients_variables, strict=True)
    norm = global_norm([without_zeros(grad) for grad in gradients])
    clipped, _ = clip_by_global_norm(list(gradients), clip_norm, use_norm=norm)
    return list(zip(clipped, variables, strict=True)), norm
