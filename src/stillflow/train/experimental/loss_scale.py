"""Factors by which a loss is multiplied so that half-precision gradients do not vanish."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, overload

from stillflow import nest
from stillflow.distribute import context as strategies
from stillflow.distribute.reduce_op import ReduceOp
from stillflow.graph import dtypes
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.eager_mode import executing_eagerly
from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.control_flow.cond import cond
from stillflow.ops.control_flow.identity_and_group import group, no_op
from stillflow.ops.math.binary import maximum
from stillflow.ops.math.cast import cast
from stillflow.ops.math.comparison import equal, is_finite
from stillflow.ops.math.reductions import reduce_all
from stillflow.train.tracking.base import Trackable, TrackableReference
from stillflow.variables.base import Variable


@export("train.experimental.LossScale")
class LossScale(Trackable):
    """The base of loss scales: `scale()` gives the factor, `scale.update(grads)` adapts it."""

    def __init__(self) -> None:
        self._weights: dict[tuple[str, Any], Any] = {}

    def __call__(self) -> Tensor:
        """Return the factor, a float32 scalar."""
        raise NotImplementedError

    def update(self, grads: Any) -> tuple[Operation, Any]:
        """Adapts the factor to gradients.

        Returns:
          The operation that does it, and whether the gradients are fit to be applied.
        """
        raise NotImplementedError

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        raise NotImplementedError

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> LossScale:
        """Return the loss scale that `get_config` described."""
        return cls(**config)

    @property
    def _checkpoint_dependencies(self) -> list[TrackableReference]:
        """The variables that are in the default graph."""
        graph = get_default_graph()
        weights = [
            TrackableReference(name, variable)
            for (name, of), variable in sorted(self._weights.items(), key=lambda item: item[0][0])
            if of is graph
        ]
        return super()._checkpoint_dependencies + weights

    def _lookup_dependency(self, name: str) -> Any:
        found = super()._lookup_dependency(name)
        return self._weights.get((name, get_default_graph())) if found is None else found

    def _add_weight(self, name: str, initial_value: Any, dtype: Any = None) -> Any:
        """Make a variable of the loss scale; RuntimeError if the graph has one of that name."""
        variable = Variable(
            initial_value=initial_value, name=name, dtype=dtype, trainable=False, use_resource=True
        )
        key = (name, get_default_graph())
        if key in self._weights:
            raise RuntimeError(f"Duplicate variables detected. {key}")
        self._weights[key] = variable
        self._handle_deferred_dependencies(name, variable)
        return variable


def get_loss_scale_weights(loss_scale: LossScale) -> Iterable[Any]:
    """Return the variables of a loss scale."""
    return loss_scale._weights.values()


@export("train.experimental.FixedLossScale")
class FixedLossScale(LossScale):
    """Always the same factor.

    Args:
      loss_scale_value: a number, at least 1.

    Raises:
      ValueError: if it is not.
    """

    def __init__(self, loss_scale_value: float) -> None:
        super().__init__()
        if not isinstance(loss_scale_value, (int, float)):
            raise ValueError("loss_scale_value must be a Python int or float.")
        if loss_scale_value < 1:
            raise ValueError("loss_scale_value must be at least 1.")
        self._loss_scale_value = float(loss_scale_value)

    def __call__(self) -> Tensor:
        return convert_to_tensor(self._loss_scale_value)

    def update(self, grads: Any) -> tuple[Operation, Any]:
        del grads
        return no_op(), True

    def __repr__(self) -> str:
        return f"FixedLossScale({self._loss_scale_value})"

    def get_config(self) -> dict[str, Any]:
        return {"loss_scale_value": self._loss_scale_value}


@export("train.experimental.DynamicLossScale")
class DynamicLossScale(LossScale):
    """A factor that grows while gradients are finite, and shrinks when one is not.

    Args:
      initial_loss_scale: the factor to begin with.
      increment_period: after how many good steps it grows.
      multiplier: by how much it grows or shrinks.
    """

    def __init__(
        self,
        initial_loss_scale: float = 2**15,
        increment_period: int = 2000,
        multiplier: float = 2.0,
    ) -> None:
        super().__init__()
        self._initial_loss_scale = float(initial_loss_scale)
        self._increment_period = int(increment_period)
        self._multiplier = float(multiplier)
        self._current_loss_scale = self._add_weight(
            "current_loss_scale", self._initial_loss_scale, dtypes.float32
        )
        self._num_good_steps = self._add_weight("good_steps", 0, dtypes.int64)

    @property
    def initial_loss_scale(self) -> float:
        return self._initial_loss_scale

    @property
    def increment_period(self) -> int:
        return self._increment_period

    @property
    def multiplier(self) -> float:
        return self._multiplier

    def __call__(self) -> Tensor:
        return convert_to_tensor(self._current_loss_scale)

    def update(self, grads: Any) -> tuple[Operation, Any]:
        all_finite = _are_finite_in_all_replicas(nest.flatten(grads))
        return cond(all_finite, self._after_good_step, self._after_bad_step), all_finite

    def _after_good_step(self) -> Any:
        scale, steps = self._current_loss_scale, self._num_good_steps

        def grow() -> Operation:
            return group(_assign_if_finite(scale, scale * self._multiplier), steps.assign(0))

        return cond(steps + 1 >= self._increment_period, grow, lambda: _done(steps.assign_add(1)))

    def _after_bad_step(self) -> Operation:
        smaller = maximum(self._current_loss_scale / self._multiplier, 1)
        return group(self._num_good_steps.assign(0), self._current_loss_scale.assign(smaller))

    def __repr__(self) -> str:
        now = ""
        if executing_eagerly():
            scale, steps = self._current_loss_scale.numpy(), self._num_good_steps.numpy()
            now = f"current_loss_scale={scale}, num_good_steps={steps}, "
        return (
            f"DynamicLossScale({now}initial_loss_scale={self.initial_loss_scale}, "
            f"increment_period={self.increment_period}, multiplier={self.multiplier})"
        )

    def get_config(self) -> dict[str, Any]:
        return {
            "initial_loss_scale": self.initial_loss_scale,
            "increment_period": self.increment_period,
            "multiplier": self.multiplier,
        }


def _done(assigned: Any) -> Any:
    """Return the operation of an assignment, or its result in eager execution."""
    return assigned if executing_eagerly() else assigned.op


def _are_all_finite(grads: Sequence[Any]) -> Tensor:
    return reduce_all([reduce_all(is_finite(grad)) for grad in grads if grad is not None])


def _are_finite_in_all_replicas(grads: Sequence[Any]) -> Tensor:
    """Return True if gradients are finite; in a strategy's scope they have parts for replicas."""
    if not strategies.has_strategy():
        return _are_all_finite(grads)
    strategy = strategies.get_cross_replica_context()

    def count(own: Sequence[Any]) -> Tensor:
        return cast(_are_all_finite(own), dtypes.float32)  # truths are not added up

    counts = strategy.extended.call_for_each_replica(count, args=(grads,))
    return equal(strategy.reduce(ReduceOp.SUM, counts, axis=None), strategy.num_replicas_in_sync)


def _assign_if_finite(variable: Any, value: Tensor) -> Any:
    return cond(is_finite(value), lambda: _done(variable.assign(value)), no_op)


@overload
def get(identifier: None) -> None: ...
@overload
def get(identifier: LossScale | float | str) -> LossScale: ...
def get(identifier: LossScale | float | str | None) -> LossScale | None:
    """Return the loss scale that a number, "dynamic", a loss scale or None stands for."""
    if isinstance(identifier, (int, float)):
        return FixedLossScale(identifier)
    if isinstance(identifier, str) and identifier == "dynamic":
        return DynamicLossScale()
    if identifier is None or isinstance(identifier, LossScale):
        return identifier
    raise ValueError(f"Could not interpret loss scale identifier: {identifier}")
