"""Adam."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from stillflow.graph.api import init_scope
from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph
from stillflow.graph.indexed_slices import IndexedSlices
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.control_flow.identity_and_group import group
from stillflow.ops.math.cast import cast
from stillflow.ops.math.unary import sqrt
from stillflow.train.optimizer import Optimizer
from stillflow.train.rule_optimizer import Step, applies_rules
from stillflow.variables.scatter import card, resource_scatter_add
from stillflow.variables.state_ops import assign, assign_sub


@export("train.AdamOptimizer")
@applies_rules
class AdamOptimizer(Optimizer):
    """Scales steps by moving averages of gradients and their squares (Kingma and Ba, 2015).

    A sparse gradient lets all rows of the averages decay, and moves all rows of the variable.

    Args:
      learning_rate: a float, a tensor or a function of no arguments, as all hyperparameters.
      beta1: decay of the average of gradients.
      beta2: decay of the average of squares.
      epsilon: added to the root of the average of squares; "epsilon hat" of the paper.
      use_locking: whether updates hold the variable's lock.
      name: of the operations and slots.

    Example:
      >>> w = tf.Variable(4.0, name="w")
      >>> step = tf.train.AdamOptimizer(learning_rate=0.001).minimize(tf.square(w))
      >>> [v.name for v in tf.global_variables()]
      ['w:0', 'beta1_power:0', 'beta2_power:0', 'w/Adam:0', 'w/Adam_1:0']
    """

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
        self._lr, self._beta1, self._beta2, self._epsilon = learning_rate, beta1, beta2, epsilon
        self._lr_t: Any = None
        self._beta1_t: Any = None
        self._beta2_t: Any = None
        self._epsilon_t: Any = None

    def _get_beta_accumulators(self) -> tuple[Any, Any]:
        """Return the variables that hold `beta1` and `beta2` to the power of the step's number."""
        with init_scope():
            graph = get_default_graph()
            return (
                self._get_non_slot_variable("beta1_power", graph=graph),
                self._get_non_slot_variable("beta2_power", graph=graph),
            )

    def _create_slots(self, var_list: Sequence[Any]) -> None:
        # The first by name, so that all workers choose the same one.
        first = min(var_list, key=lambda var: var.name)
        self._create_non_slot_variable(self._beta1, name="beta1_power", colocate_with=first)
        self._create_non_slot_variable(self._beta2, name="beta2_power", colocate_with=first)
        for var in var_list:
            self._zeros_slot(var, "m", self._name)
            self._zeros_slot(var, "v", self._name)

    def _prepare(self) -> None:
        self._lr_t, self._beta1_t, self._beta2_t, self._epsilon_t = self._tensors(
            learning_rate=self._lr, beta1=self._beta1, beta2=self._beta2, epsilon=self._epsilon
        )

    def _step(self, var: Any) -> Step:
        beta1_power, beta2_power = self._get_beta_accumulators()
        return Step(
            "Adam",
            ("m", "v"),
            {
                "beta1_power": beta1_power,
                "beta2_power": beta2_power,
                "lr": self._lr_t,
                "beta1": self._beta1_t,
                "beta2": self._beta2_t,
                "epsilon": self._epsilon_t,
            },
        )

    def _cast_scalars(self, var: Any) -> list[Any]:
        """Return the hyperparameters in the order of the training op, in the variable's type."""
        dtype = var.dtype.base_dtype
        return [cast(value, dtype) for value in self._step(var).scalars.values()]

    def _apply_sparse_shared(
        self, grad: Tensor, var: Any, indices: Tensor, scatter_add: Callable[..., Any]
    ) -> Operation:
        slots = [self.get_slot(var, name) for name in ("m", "v")]
        scalars = self._cast_scalars(var)
        return update_of_rows(grad, var, indices, scatter_add, slots, scalars, self._use_locking)

    def _apply_sparse(self, grad: IndexedSlices, var: Any) -> Operation:
        def add(ref: Any, indices: Tensor, updates: Tensor) -> Any:
            return card("ScatterAdd")(ref, indices, updates, use_locking=self._use_locking)

        return self._apply_sparse_shared(grad.values, var, grad.indices, add)

    _resource_scatter_add = staticmethod(resource_scatter_add)  # for subclasses in programs

    def _resource_apply_sparse(
        self, grad: Tensor, handle: Any, indices: Tensor
    ) -> Operation | None:
        return self._apply_sparse_shared(grad, handle, indices, resource_scatter_add)

    def _finish(self, update_ops: list[Any], name_scope: str) -> Operation:
        graph = get_default_graph()
        with graph.control_dependencies(update_ops):
            beta1_power, beta2_power = self._get_beta_accumulators()
            with graph.colocate_with(beta1_power):
                updates = [
                    power.assign(power * beta, use_locking=self._use_locking)
                    for power, beta in (
                        (beta1_power, self._beta1_t),
                        (beta2_power, self._beta2_t),
                    )
                ]
        return group(*update_ops, *updates, name=name_scope)


def update_of_rows(
    grad: Tensor,
    var: Any,
    indices: Tensor,
    scatter_add: Callable[..., Any],
    slots: Sequence[Any],
    scalars: Sequence[Any],
    use_locking: bool,
) -> Operation:
    """Return the operation that changes a variable by gradients of some of its rows.

    `scatter_add` is (variable, indices, values) -> the variable, afterwards. Slots are the averages
    of gradients and of squares; scalars are in the order of the training op.
    """
    beta1_power, beta2_power, lr, beta1, beta2, epsilon = scalars
    rate = lr * sqrt(1 - beta2_power) / (1 - beta1_power)
    graph = get_default_graph()
    averages = []
    values: list[Callable[[], Any]] = [lambda: grad, lambda: grad * grad]
    for average, value, beta in zip(slots, values, (beta1, beta2), strict=True):
        scaled = value() * (1 - beta)
        decayed = assign(average, average * beta, use_locking=use_locking)
        with graph.control_dependencies([decayed]):
            averages.append(scatter_add(average, indices, scaled))
    m, v = averages
    root = sqrt(v)
    update = assign_sub(var, rate * m / (root + epsilon), use_locking=use_locking)
    return group(update, m, v)
