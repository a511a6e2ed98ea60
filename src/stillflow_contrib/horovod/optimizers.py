"""`DistributedOptimizer` and `DistributedGradientTape`: gradients are reduced over all ranks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import stillflow as tf
from stillflow.graph.eager_mode import executing_eagerly
from stillflow.train.wrapping_optimizer import WrappingOptimizer
from stillflow_contrib.horovod import basics
from stillflow_contrib.horovod.aggregation import LocalGradientAggregationHelper
from stillflow_contrib.horovod.compression import Compression
from stillflow_contrib.horovod.reductions import allreduce, grouped_allreduce, in_one_function
from stillflow_contrib.horovod.utilities import split_list


def make_allreduce_grads(
    name: str, device_dense: str, device_sparse: str, compression: Any, sparse_as_dense: bool,
    op: int, gradient_predivide_factor: float = 1.0, groups: Any = None,
) -> Callable[..., list[Any]]:  # fmt: skip
    """Return a function that reduces gradients, given with their variables; None stays None."""
    groups = _checked_groups(groups)
    factor = gradient_predivide_factor if op == basics.Average else 1.0
    options = {
        "device_dense": device_dense, "device_sparse": device_sparse, "compression": compression,
        "op": op, "prescale_factor": 1.0 / factor, "postscale_factor": factor,
    }  # fmt: skip

    def allreduce_grads(grads: Sequence[Any], variables: Sequence[Any] = ()) -> list[Any]:
        with tf.name_scope(name + "_Allreduce"):
            grads = [
                tf.convert_to_tensor(grad)
                if sparse_as_dense and isinstance(grad, tf.IndexedSlices)
                else grad
                for grad in grads
            ]
            result = list(grads)
            for places in _groups(groups, grads, variables):
                given = [grads[place] for place in places]
                if groups is None:
                    reduced = [allreduce(given[0], **options)]
                else:
                    reduced = grouped_allreduce(given, **options)
                for place, each in zip(places, reduced, strict=True):
                    result[place] = each
            return result

    return in_one_function(allreduce_grads)


def _groups(groups: Any, grads: Sequence[Any], variables: Sequence[Any]) -> list[list[int]]:
    """Return the positions of gradients that are reduced together."""
    present = [place for place, grad in enumerate(grads) if grad is not None]
    if groups is None:
        return [[place] for place in present]
    if isinstance(groups, int):
        return [part for part in split_list(present, groups) if part]
    place_of = {variables[place].name: place for place in present}
    found = [
        [place_of.pop(each.name) for each in group if each.name in place_of] for group in groups
    ]
    return [part for part in (*found, *([place] for place in place_of.values())) if part]


class DistributedTrainOptimizer(WrappingOptimizer):
    """Optimizer of tf.train with another one inside, whose gradients all ranks reduce."""

    def __init__(
        self, optimizer: Any, name: str, use_locking: bool,
        allreduce_grads: Callable[..., list[Any]], backward_passes_per_step: int,
        sparse_as_dense: bool, average_aggregated_gradients: bool,
    ) -> None:  # fmt: skip
        super().__init__(optimizer, use_locking, name)
        self._optimizer, self._allreduce_grads = optimizer, allreduce_grads
        self._agg_helper: LocalGradientAggregationHelper | None = None
        if backward_passes_per_step > 1:
            if executing_eagerly():
                raise ValueError(
                    "backward_passes_per_step > 1 is not yet supported for _LegacyOptimizer with "
                    "eager execution."
                )
            self._agg_helper = LocalGradientAggregationHelper(
                backward_passes_per_step, allreduce_grads, sparse_as_dense,
                average_aggregated_gradients, basics.rank(),
                LocalGradientAggregationHelper._OPTIMIZER_TYPE_LEGACY,
            )  # fmt: skip

    def compute_gradients(self, *args: Any, **kwargs: Any) -> Any:
        """Return the pairs of reduced gradients and variables; see tf.train.Optimizer."""
        pairs = self._optimizer.compute_gradients(*args, **kwargs)
        grads, variables = zip(*pairs, strict=True)
        helper = self._agg_helper
        reduce = self._allreduce_grads if helper is None else helper.compute_gradients
        return list(zip(reduce(grads, variables), variables, strict=True))

    def apply_gradients(self, *args: Any, **kwargs: Any) -> Any:
        """Apply gradients by the optimizer inside."""
        if self._agg_helper is None:
            return self._optimizer.apply_gradients(*args, **kwargs)
        return self._agg_helper.apply_gradients(
            lambda: self._optimizer.apply_gradients(*args, **kwargs), self._optimizer,
            *args, **kwargs,
        )  # fmt: skip

    def variables(self, *args: Any, **kwargs: Any) -> Any:
        """Return the variables of the optimizer inside."""
        return self._optimizer.variables(*args, **kwargs)


class DistributedAdasumOptimizer(tf.train.Optimizer):
    """Optimizer whose steps, not gradients, are combined by Adasum.

    Each rank applies the optimizer inside; the change of a variable since the last combination is
    reduced and added to the value that all ranks had then.
    """

    def __init__(
        self, optimizer: Any, name: str | None, use_locking: bool, options: dict[str, Any],
        backward_passes_per_step: int,
    ) -> None:  # fmt: skip
        name = name or f"DistributedDelta{type(optimizer).__name__}"
        super().__init__(name=name, use_locking=use_locking)
        self._optimizer, self._options = optimizer, options
        self._passes = backward_passes_per_step

    def compute_gradients(self, *args: Any, **kwargs: Any) -> Any:
        """Return this rank's own gradients."""
        return self._optimizer.compute_gradients(*args, **kwargs)

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Any:
        """Apply gradients by the optimizer inside, then combine the ranks' changes."""
        pairs = [(grad, var) for grad, var in grads_and_vars if grad is not None]
        variables = [var for _, var in pairs]
        starts = [
            self._get_or_make_slot(var, var.initialized_value(), "delta_start", self._name)
            for var in variables
        ]
        with tf.variable_scope("", reuse=tf.AUTO_REUSE):
            count = tf.get_variable(
                "step_count", shape=[], dtype=tf.int64, trainable=False,
                initializer=tf.zeros_initializer(),
            )  # fmt: skip
        number = tf.identity(count)
        first, last = tf.equal(number, 0), tf.equal(number % self._passes, self._passes - 1)
        kept = [
            tf.cond(first, lambda s=start, v=var: s.assign(v).op, tf.no_op)
            for start, var in zip(starts, variables, strict=True)
        ]
        with tf.control_dependencies([number, *kept]):
            applied = self._optimizer.apply_gradients(pairs, global_step)
        with tf.control_dependencies([applied]):
            combined = [
                tf.cond(last, lambda s=start, v=var: self._combined(s, v), tf.no_op)
                for start, var in zip(starts, variables, strict=True)
            ]
            with tf.control_dependencies(combined):
                return count.assign_add(1, read_value=False, name=name)

    def _combined(self, start: Any, variable: Any) -> Any:
        change = allreduce(variable - start, op=basics.Adasum, **self._options)
        return variable.assign(start.assign_add(change)).op

    def get_slot(self, var: Any, name: str) -> Any:
        """Return a slot of the optimizer inside, or the value at the last combination."""
        return (
            super().get_slot(var, name)
            if name == "delta_start"
            else self._optimizer.get_slot(var, name)
        )

    def variables(self) -> Any:
        """Return the variables of both."""
        return [*self._optimizer.variables(), *super().variables()]


def DistributedOptimizer(
    optimizer: Any, name: str | None = None, use_locking: bool = False, device_dense: str = "",
    device_sparse: str = "", compression: Any = Compression.none, sparse_as_dense: bool = False,
    backward_passes_per_step: int = 1, op: int = basics.Average,
    gradient_predivide_factor: float = 1.0, average_aggregated_gradients: bool = False,
    num_groups: int = 0, groups: Any = None,
) -> Any:  # fmt: skip
    """Return an optimizer that applies gradients which all ranks have averaged.

    Args:
      optimizer: of tf.train or tf.keras.
      name: prefix of the operations; "Distributed" and the optimizer's class by default.
      use_locking: see tf.train.Optimizer.
      device_dense: device of reductions.
      device_sparse: device of gathered rows.
      compression: member of `Compression`.
      sparse_as_dense: whether gradients that are IndexedSlices become tensors first.
      backward_passes_per_step: passes whose gradients are added up before a reduction.
      op: `Average`, `Sum` or `Adasum`.
      gradient_predivide_factor: the part of the average's divisor that is applied before the sum.
      average_aggregated_gradients: whether the sum over passes is divided by their number.
      num_groups: older form of `groups`.
      groups: how many reductions, or lists of variables that are reduced together.

    Raises:
      ValueError: for another kind of optimizer, or options that exclude each other.
    """
    if gradient_predivide_factor != 1.0 and op != basics.Average:
        raise ValueError("gradient_predivide_factor not supported with op != Average")
    groups = _checked_groups(num_groups or groups)
    if isinstance(optimizer, tf.train.Optimizer):
        options = {
            "device_dense": device_dense, "device_sparse": device_sparse,
            "compression": compression,
        }  # fmt: skip
        if op == basics.Adasum:
            return DistributedAdasumOptimizer(
                optimizer, name, use_locking, options, backward_passes_per_step
            )
        name = name or f"Distributed{type(optimizer).__name__}"
        reduce = make_allreduce_grads(
            name, sparse_as_dense=sparse_as_dense, op=op,
            gradient_predivide_factor=gradient_predivide_factor, groups=groups, **options,
        )  # fmt: skip
        return DistributedTrainOptimizer(
            optimizer, name, use_locking, reduce, backward_passes_per_step, sparse_as_dense,
            average_aggregated_gradients,
        )  # fmt: skip
    if isinstance(optimizer, tf.keras.optimizers.Optimizer):
        if op == basics.Adasum:
            raise ValueError("op == Adasum is not supported yet with Keras")
        from stillflow_contrib.horovod import tensorflow_keras

        return tensorflow_keras.DistributedOptimizer(
            optimizer, name, device_dense, device_sparse, compression, sparse_as_dense,
            gradient_predivide_factor, op, backward_passes_per_step, average_aggregated_gradients,
            groups=groups,
        )  # fmt: skip
    raise ValueError(
        "Provided optimizer doesn't inherit from either legacy TensorFlow or Keras optimizer: "
        f"{optimizer}"
    )


def _checked_groups(groups: Any) -> Any:
    if groups is None or groups == 0:
        return None
    is_lists = isinstance(groups, list) and all(isinstance(each, list) for each in groups)
    if not is_lists and not (isinstance(groups, int) and groups > 0):
        raise ValueError(
            "groups should be a non-negative integer or a list of list of tf.Variable."
        )
    return groups


def DistributedGradientTape(
    gradtape: Any, device_dense: str = "", device_sparse: str = "",
    compression: Any = Compression.none, sparse_as_dense: bool = False, op: int = basics.Average,
    gradient_predivide_factor: float = 1.0, num_groups: int = 0, groups: Any = None,
) -> Any:  # fmt: skip
    """Return a tape that has recorded what `gradtape` has, and gives reduced gradients.

    The other arguments are those of `DistributedOptimizer`.
    """
    if gradient_predivide_factor != 1.0 and op != basics.Average:
        raise ValueError("gradient_predivide_factor not supported with op != Average")
    reduce = make_allreduce_grads(
        "DistributedGradientTape", device_dense, device_sparse, compression, sparse_as_dense, op,
        gradient_predivide_factor, num_groups or groups,
    )  # fmt: skip
    kind = type(gradtape)

    def gradient(self: Any, target: Any, sources: Any, *args: Any, **kwargs: Any) -> Any:
        grads = kind.gradient(self, target, sources, *args, **kwargs)
        flat = tf.nest.flatten(grads)
        reduced = reduce(flat, tf.nest.flatten(sources))
        return tf.nest.pack_sequence_as(grads, reduced)

    made: Any = type(kind.__name__, (kind,), {"gradient": gradient})
    tape = made.__new__(made)
    tape.__dict__.update(gradtape.__dict__)
    return tape
