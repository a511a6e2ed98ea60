"""Weight decay apart from the gradient (Loshchilov and Hutter, 2019)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph
from stillflow.graph.indexed_slices import IndexedSlices
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.arrays.gather import gather
from stillflow.ops.arrays.scatter_variables import scatter_add
from stillflow.ops.control_flow.identity_and_group import no_op
from stillflow.train.adam import AdamOptimizer
from stillflow.train.momentum import MomentumOptimizer
from stillflow.train.optimizer import Optimizer
from stillflow.variables.scatter import resource_scatter_add

if TYPE_CHECKING:
    _Base = Optimizer  # which a class derives from next
else:
    _Base = object


@export("contrib.opt.DecoupledWeightDecayExtension")
class DecoupledWeightDecayExtension(_Base):
    """Extension of an optimizer that also subtracts `weight_decay * var` in every step.

    A class derives from this first, and then from the optimizer. A sparse gradient decays only the
    rows that it names.

    Args:
      weight_decay: a float, a tensor or a function of no arguments.
      **kwargs: the optimizer's arguments.
    """

    def __init__(self, weight_decay: Any, **kwargs: Any) -> None:
        self._decay_var_list: Any = None
        self._weight_decay = weight_decay
        self._weight_decay_tensor: Any = None
        super().__init__(**kwargs)

    def minimize(
        self,
        loss: Any,
        global_step: Any = None,
        var_list: Any = None,
        gate_gradients: int = Optimizer.GATE_OP,
        aggregation_method: int | None = None,
        colocate_gradients_with_ops: bool = False,
        name: str | None = None,
        grad_loss: Any = None,
        decay_var_list: Sequence[Any] | None = None,
    ) -> Operation:
        """Minimize; see `tf.train.Optimizer.minimize`.

        `decay_var_list` has no effect here, as in TF, where `apply_gradients` resets it: pass it to
        `apply_gradients` to decay only some variables.
        """
        self._decay_var_list = set(decay_var_list) if decay_var_list else False
        return super().minimize(
            loss,
            global_step=global_step,
            var_list=var_list,
            gate_gradients=gate_gradients,
            aggregation_method=aggregation_method,
            colocate_gradients_with_ops=colocate_gradients_with_ops,
            name=name,
            grad_loss=grad_loss,
        )

    def apply_gradients(
        self,
        grads_and_vars: Any,
        global_step: Any = None,
        name: str | None = None,
        decay_var_list: Sequence[Any] | None = None,
    ) -> Operation:
        """Apply gradients and decay `decay_var_list`, or all variables."""
        self._decay_var_list = set(decay_var_list) if decay_var_list else False
        return super().apply_gradients(grads_and_vars, global_step=global_step, name=name)

    def _prepare(self) -> None:
        decay = self._weight_decay
        decay = decay() if callable(decay) else decay
        self._weight_decay_tensor = convert_to_tensor(decay, name="weight_decay")
        super()._prepare()

    def _decays(self, var: Any) -> bool:
        return not self._decay_var_list or var in self._decay_var_list

    def _decay_weights_op(self, var: Any) -> Any:
        if self._decays(var):
            return var.assign_sub(self._weight_decay * var, self._use_locking)
        return no_op()

    def _decay_weights_sparse_op(
        self, var: Any, indices: Tensor, scatter_add: Callable[..., Any]
    ) -> Any:
        if self._decays(var):
            update = -self._weight_decay * gather(var, indices)
            return scatter_add(var, indices, update, self._use_locking)
        return no_op()

    def _apply_dense(self, grad: Tensor, var: Any) -> Operation:
        with get_default_graph().control_dependencies([self._decay_weights_op(var)]):
            return super()._apply_dense(grad, var)

    def _resource_apply_dense(self, grad: Tensor, handle: Any) -> Operation:
        with get_default_graph().control_dependencies([self._decay_weights_op(handle)]):
            return super()._resource_apply_dense(grad, handle)

    def _apply_sparse(self, grad: IndexedSlices, var: Any) -> Operation:
        decay = self._decay_weights_sparse_op(var, grad.indices, scatter_add)
        with get_default_graph().control_dependencies([decay]):
            return super()._apply_sparse(grad, var)

    def _resource_scatter_add(self, x: Any, i: Tensor, v: Tensor, _: Any = None) -> Tensor:
        return resource_scatter_add(x, i, v)

    def _resource_apply_sparse(self, grad: Tensor, handle: Any, indices: Tensor) -> Operation:
        decay = self._decay_weights_sparse_op(handle, indices, self._resource_scatter_add)
        with get_default_graph().control_dependencies([decay]):
            return super()._resource_apply_sparse(grad, handle, indices)


@export("contrib.opt.extend_with_decoupled_weight_decay")
def extend_with_decoupled_weight_decay(base_optimizer: type[Optimizer]) -> type[Optimizer]:
    """Return a class like `base_optimizer` whose first argument is the weight decay."""

    class OptimizerWithDecoupledWeightDecay(
        DecoupledWeightDecayExtension,
        base_optimizer,  # type: ignore[valid-type,misc]
    ):
        """An optimizer with weight decay apart from the gradient."""

        def __init__(self, weight_decay: Any, *args: Any, **kwargs: Any) -> None:
            super().__init__(weight_decay, *args, **kwargs)

    return OptimizerWithDecoupledWeightDecay


@export("contrib.opt.MomentumWOptimizer")
class MomentumWOptimizer(DecoupledWeightDecayExtension, MomentumOptimizer):
    """`tf.train.MomentumOptimizer` with weight decay; other arguments are that optimizer's."""

    def __init__(
        self,
        weight_decay: Any,
        learning_rate: Any,
        momentum: Any,
        use_locking: bool = False,
        name: str = "MomentumW",
        use_nesterov: bool = False,
    ) -> None:
        super().__init__(
            weight_decay,
            learning_rate=learning_rate,
            momentum=momentum,
            use_locking=use_locking,
            name=name,
            use_nesterov=use_nesterov,
        )


@export("contrib.opt.AdamWOptimizer")
class AdamWOptimizer(DecoupledWeightDecayExtension, AdamOptimizer):
    """`tf.train.AdamOptimizer` with weight decay; other arguments are that optimizer's."""

    def __init__(
        self,
        weight_decay: Any,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "AdamW",
    ) -> None:
        super().__init__(
            weight_decay,
            learning_rate=learning_rate,
            beta1=beta1,
            beta2=beta2,
            epsilon=epsilon,
            use_locking=use_locking,
            name=name,
        )
