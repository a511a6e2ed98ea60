"""The optimizers of this package, each with its training op."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, overload

from stillflow.graph.export import export
from stillflow.graph.indexed_slices import IndexedSlices
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.arrays.fill import fill, ones_like
from stillflow.ops.arrays.shape import shape
from stillflow.ops.control_flow.identity_and_group import group
from stillflow.ops.math.cast import cast
from stillflow.ops.training.cards import training_op
from stillflow.train.adam import update_of_rows
from stillflow.variables.initializers import Constant
from stillflow.variables.scatter import card, resource_scatter_add
from stillflow_contrib.optimizer_v2.optimizer import OptimizerV2
from stillflow_contrib.optimizer_v2.state import OptimizerState


class _RuleOptimizer(OptimizerV2):
    """Base of optimizers with one training op per variable."""

    _rule = ""
    _slot_names: tuple[str, ...] = ()
    # The hyperparameters by their names in the training op.
    _hyper_names: dict[str, str] = {"lr": "learning_rate"}
    _flags: dict[str, Any] = {}

    def _create_vars(self, var_list: Sequence[Any], state: OptimizerState) -> None:
        for var in var_list:
            for name in self._slot_names:
                state.zeros_slot(var, name)

    def _scalar(self, name: str, dtype: Any, state: OptimizerState) -> Tensor | int:
        """Return an input of the training op that is no state and no gradient."""
        return state.get_hyper(self._hyper_names.get(name, name), dtype)

    @overload
    def _update(
        self, kind: Literal["", "Sparse"], var: Any, grad: Tensor, indices: Any,
        state: OptimizerState,
    ) -> Tensor: ...  # fmt: skip
    @overload
    def _update(
        self, kind: str, var: Any, grad: Tensor, indices: Any, state: OptimizerState
    ) -> Tensor | Operation: ...
    def _update(
        self, kind: str, var: Any, grad: Tensor, indices: Any, state: OptimizerState
    ) -> Tensor | Operation:
        """Add the training op; `kind` is "", "Resource", "Sparse" or "ResourceSparse"."""
        op = training_op(f"{kind}Apply{self._rule}")
        states = [var, *(state.get_slot(var, name) for name in self._slot_names)]
        if kind.startswith("Resource"):
            states = [each.handle for each in states]
        given = {"grad": grad, "delta": grad, "indices": indices}
        dtype = var.dtype.base_dtype
        others = [
            given[each.name] if each.name in given else self._scalar(each.name, dtype, state)
            for each in op.signature.inputs[len(states) :]
        ]
        return op(*states, *others, use_locking=self._use_locking, **self._flags)

    def _apply_dense(self, grad: Tensor, var: Any, state: OptimizerState) -> Operation:
        return self._update("", var, grad, None, state).op

    def _resource_apply_dense(self, grad: Tensor, handle: Any, state: OptimizerState) -> Any:
        return self._update("Resource", handle, grad, None, state)

    def _apply_sparse(self, grad: IndexedSlices, var: Any, state: OptimizerState) -> Operation:
        return self._update("Sparse", var, grad.values, grad.indices, state).op

    def _resource_apply_sparse(
        self, grad: Tensor, handle: Any, indices: Tensor, state: OptimizerState
    ) -> Any:
        return self._update("ResourceSparse", handle, grad, indices, state)


@export("contrib.optimizer_v2.GradientDescentOptimizer")
class GradientDescentOptimizer(_RuleOptimizer):
    """Steps against gradients.

    Args:
      learning_rate: a float, a tensor or a function of no arguments, as all hyperparameters.
      use_locking: whether updates hold the variable's lock.
      name: of the operations.
    """

    _rule = "GradientDescent"
    _hyper_names = {"alpha": "learning_rate"}

    def __init__(
        self, learning_rate: Any, use_locking: bool = False, name: str = "GradientDescent"
    ) -> None:
        super().__init__(use_locking, name)
        self._set_hyper("learning_rate", learning_rate)

    def _resource_apply_dense(self, grad: Tensor, handle: Any, state: OptimizerState) -> Operation:
        rate = state.get_hyper("learning_rate", grad.dtype.base_dtype)
        op = training_op("ResourceApplyGradientDescent")
        return op(handle.handle, rate, grad, use_locking=self._use_locking)

    def _resource_apply_sparse_duplicate_indices(
        self, grad: Tensor, handle: Any, indices: Tensor, state: OptimizerState
    ) -> Operation:
        rate = state.get_hyper("learning_rate", grad.dtype.base_dtype)
        return card("ResourceScatterAdd")(handle.handle, indices, -grad * rate)

    def _apply_sparse_duplicate_indices(
        self, grad: IndexedSlices, var: Any, state: OptimizerState
    ) -> Any:
        step = grad.values * state.get_hyper("learning_rate", var.dtype.base_dtype)
        delta = IndexedSlices(step, grad.indices, grad.dense_shape)
        return var.scatter_sub(delta, use_locking=self._use_locking)


@export("contrib.optimizer_v2.MomentumOptimizer")
class MomentumOptimizer(_RuleOptimizer):
    """Steps along a decaying sum of gradients.

    Args:
      learning_rate: a float, a tensor or a function of no arguments, as all hyperparameters.
      momentum: the share of the sum that stays.
      use_locking: whether updates hold the variable's lock.
      name: of the operations and slots.
      use_nesterov: whether gradients are taken where the sum leads (Nesterov, 1983).
    """

    _rule = "Momentum"
    _slot_names = ("momentum",)

    def __init__(
        self,
        learning_rate: Any,
        momentum: Any,
        use_locking: bool = False,
        name: str = "Momentum",
        use_nesterov: bool = False,
    ) -> None:
        super().__init__(use_locking, name)
        self._set_hypers(learning_rate=learning_rate, momentum=momentum)
        self._use_nesterov = use_nesterov
        self._flags = {"use_nesterov": use_nesterov}


@export("contrib.optimizer_v2.AdagradOptimizer")
class AdagradOptimizer(_RuleOptimizer):
    """Divides gradients by the root of the sum of their squares.

    Args:
      learning_rate: a float, a tensor or a function of no arguments.
      initial_accumulator_value: the initial sums, positive.
      use_locking: whether updates hold the variable's lock.
      name: of the operations and slots.

    Raises:
      ValueError: if sums do not begin with a positive number.
    """

    _rule = "Adagrad"
    _slot_names = ("accumulator",)

    def __init__(
        self,
        learning_rate: Any,
        initial_accumulator_value: float = 0.1,
        use_locking: bool = False,
        name: str = "Adagrad",
    ) -> None:
        if initial_accumulator_value <= 0.0:
            raise ValueError(
                f"initial_accumulator_value must be positive: {initial_accumulator_value}"
            )
        super().__init__(use_locking, name)
        self._set_hyper("learning_rate", learning_rate)
        self._initial_accumulator_value = initial_accumulator_value

    def _create_vars(self, var_list: Sequence[Any], state: OptimizerState) -> None:
        for var in var_list:
            dtype = var.dtype.base_dtype
            initial: Any = Constant(self._initial_accumulator_value, dtype=dtype)
            if not var.get_shape().is_fully_defined():
                initial = self._filled(var, dtype)
            state.create_slot_with_initializer(var, initial, var.get_shape(), dtype, "accumulator")

    def _filled(self, var: Any, dtype: Any) -> Callable[[], Any]:
        return lambda: cast(fill(shape(var), self._initial_accumulator_value), dtype)


@export("contrib.optimizer_v2.AdadeltaOptimizer")
class AdadeltaOptimizer(_RuleOptimizer):
    """Scales gradients by former steps over former gradients (Zeiler, 2012).

    Args:
      learning_rate: a float, a tensor or a function of no arguments, as all hyperparameters.
      rho: decay of the averages of squares.
      epsilon: added to them.
      use_locking: whether updates hold the variable's lock.
      name: of the operations and slots.
    """

    _rule = "Adadelta"
    _slot_names = ("accum", "accum_update")

    def __init__(
        self,
        learning_rate: Any = 0.001,
        rho: Any = 0.95,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "Adadelta",
    ) -> None:
        super().__init__(use_locking, name)
        self._set_hypers(learning_rate=learning_rate, rho=rho, epsilon=epsilon)


@export("contrib.optimizer_v2.RMSPropOptimizer")
class RMSPropOptimizer(_RuleOptimizer):
    """Divides gradients by the root of a moving average of their squares.

    Args:
      learning_rate: a float, a tensor or a function of no arguments, as all hyperparameters.
      decay: of the moving averages.
      momentum: of the steps.
      epsilon: what the average of squares begins with.
      use_locking: whether updates hold the variable's lock.
      centered: whether the average gradient is subtracted: the variance instead of the square.
      name: of the operations and slots.
    """

    _rule = "RMSProp"
    _slot_names: tuple[str, ...] = ("rms", "momentum")
    _hyper_names = {"lr": "learning_rate", "rho": "decay"}

    def __init__(
        self,
        learning_rate: Any,
        decay: Any = 0.9,
        momentum: Any = 0.0,
        epsilon: Any = 1e-10,
        use_locking: bool = False,
        centered: bool = False,
        name: str = "RMSProp",
    ) -> None:
        super().__init__(use_locking, name)
        self._set_hypers(
            learning_rate=learning_rate, decay=decay, momentum=momentum, epsilon=epsilon
        )
        self._centered = centered
        if centered:
            self._rule, self._slot_names = "CenteredRMSProp", ("mg", "rms", "momentum")

    def _create_vars(self, var_list: Sequence[Any], state: OptimizerState) -> None:
        for var in var_list:
            dtype = var.dtype.base_dtype
            initial = state.get_hyper("epsilon", dtype) * ones_like(var)
            state.create_slot_with_initializer(var, initial, var.get_shape(), dtype, "rms")
            if self._centered:
                state.zeros_slot(var, "mg")
            state.zeros_slot(var, "momentum")

    def _scalar(self, name: str, dtype: Any, state: OptimizerState) -> Tensor | int:
        # Nothing is added to the average: it begins with epsilon.
        return 0 if name == "epsilon" else super()._scalar(name, dtype, state)


@export("contrib.optimizer_v2.AdamOptimizer")
class AdamOptimizer(_RuleOptimizer):
    """Scales steps by moving averages of gradients and their squares (Kingma and Ba, 2015).

    Args:
      learning_rate: a float, a tensor or a function of no arguments, as all hyperparameters.
      beta1: decay of the average of gradients.
      beta2: decay of the average of squares.
      epsilon: added to the root of the average of squares.
      use_locking: whether updates hold the variable's lock.
      name: of the operations and slots.
    """

    _rule = "Adam"
    _slot_names = ("m", "v")

    def __init__(
        self,
        learning_rate: Any = 0.001,
        beta1: Any = 0.9,
        beta2: Any = 0.999,
        epsilon: Any = 1e-8,
        use_locking: bool = False,
        name: str = "Adam",
    ) -> None:
        super().__init__(use_locking, name)
        self._set_hypers(learning_rate=learning_rate, beta1=beta1, beta2=beta2, epsilon=epsilon)

    def _get_beta_accumulators(self, state: OptimizerState | None = None) -> tuple[Any, Any]:
        """Return the variables that hold `beta1` and `beta2` to the power of the step's number."""
        found: Any = self._get_per_graph_state() if state is None else state
        return found.get_non_slot("beta1_power"), found.get_non_slot("beta2_power")

    def _create_vars(self, var_list: Sequence[Any], state: OptimizerState) -> None:
        for name in ("beta1", "beta2"):
            state.create_non_slot(
                initial_value=lambda name=name: state.get_hyper(name), name=f"{name}_power"
            )
        super()._create_vars(var_list, state)

    def _scalar(self, name: str, dtype: Any, state: OptimizerState) -> Tensor | int:
        if name.endswith("_power"):
            return cast(state.get_non_slot(name), dtype)
        return super()._scalar(name, dtype, state)

    def _update_rows(
        self, grad: Tensor, var: Any, indices: Tensor, add: Callable[..., Any], state: Any
    ) -> Operation:
        inputs = training_op("ApplyAdam").signature.inputs
        scalars = [self._scalar(each.name, var.dtype.base_dtype, state) for each in inputs[3:-1]]
        slots = [state.get_slot(var, name) for name in self._slot_names]
        return update_of_rows(grad, var, indices, add, slots, scalars, self._use_locking)

    def _apply_sparse(self, grad: IndexedSlices, var: Any, state: OptimizerState) -> Operation:
        def add(ref: Any, indices: Tensor, updates: Tensor) -> Any:
            return card("ScatterAdd")(ref, indices, updates, use_locking=self._use_locking)

        return self._update_rows(grad.values, var, grad.indices, add, state)

    def _resource_apply_sparse(
        self, grad: Tensor, handle: Any, indices: Tensor, state: OptimizerState
    ) -> Operation:
        return self._update_rows(grad, handle, indices, resource_scatter_add, state)

    def _finish(self, state: OptimizerState) -> Any:
        powers = self._get_beta_accumulators(state)
        return group(
            *(
                power.assign(power * state.get_hyper(name), use_locking=self._use_locking)
                for power, name in zip(powers, ("beta1", "beta2"), strict=True)
            )
        )
