"""Gradients summed over several backward passes before ranks reduce them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import stillflow as tf


class LocalGradientAggregationHelper:
    """Sums of gradients in local variables, which are reduced every so many passes.

    Args:
      backward_passes_per_step: the number of passes.
      allreduce_func: reduces a list of gradients of a list of variables.
      sparse_as_dense: whether IndexedSlices become tensors first; they are not supported else.
      average_aggregated_gradients: whether sums are divided by the number of passes.
      rank: of this process, for the names of variables.
      optimizer_type: "optimizer_type_keras" or "optimizer_type_legacy".

    Raises:
      ValueError: if the number of passes is not positive.
    """

    _OPTIMIZER_TYPE_KERAS = "optimizer_type_keras"
    _OPTIMIZER_TYPE_LEGACY = "optimizer_type_legacy"

    def __init__(
        self, backward_passes_per_step: int, allreduce_func: Callable[..., Any],
        sparse_as_dense: bool, average_aggregated_gradients: bool, rank: int, optimizer_type: str,
    ) -> None:  # fmt: skip
        if backward_passes_per_step <= 0:
            raise ValueError("backward_passes_per_step must be > 0")
        self.backward_passes_per_step = backward_passes_per_step
        self.average_aggregated_gradients = average_aggregated_gradients
        self.sparse_as_dense, self.rank = sparse_as_dense, rank
        self.optimizer_type = optimizer_type
        self._reduce = allreduce_func
        self.counter: Any = None
        self.sums: list[Any] = []

    def compute_gradients(self, grads: Sequence[Any], variables: Sequence[Any]) -> list[Any]:
        """Return the gradients to apply: reduced sums in the last of a row of passes."""
        places = [place for place, grad in enumerate(grads) if grad is not None]
        dense = [self._dense(grads[place]) for place in places]
        self._make_variables(places, dense)
        cleared = tf.cond(
            tf.equal(self.counter.read_value(), 0),
            lambda: tf.group(*[each.assign(tf.zeros_like(each)) for each in self.sums]),
            tf.no_op,
        )
        with tf.control_dependencies([cleared]):
            added = [each.assign_add(grad) for each, grad in zip(self.sums, dense, strict=True)]
        with tf.control_dependencies([tf.group(*added)]):
            counted = self.counter.assign_add(1)
        of_sums = [variables[place] for place in places]
        with tf.control_dependencies([counted]):
            reduced = tf.cond(
                tf.equal(self.counter.read_value(), self.backward_passes_per_step),
                lambda: self._reduced(of_sums),
                lambda: dense,
            )
        reduced = reduced if isinstance(reduced, (list, tuple)) else [reduced]
        found = dict(zip(places, reduced, strict=True))
        return [found.get(place) for place in range(len(grads))]

    def apply_gradients(
        self, apply_grads_closure: Callable[[], Any], optimizer: Any, *args: Any, **kwargs: Any
    ) -> Any:
        """Apply gradients in the last pass of a row; the others only count steps."""
        pairs = list(args[0])
        with tf.control_dependencies([tf.group(*[grad for grad, _ in pairs if grad is not None])]):
            last = tf.equal(self.counter.read_value(), 0)
        step = tf.train.get_global_step()
        count = [] if step is None else [tf.cond(last, tf.no_op, lambda: _count(step))]

        def skip() -> Any:
            iterations = getattr(optimizer, "_iterations", None)
            return tf.no_op() if iterations is None else iterations.assign_add(1).op

        with tf.control_dependencies(count):
            return tf.cond(last, apply_grads_closure, skip)

    def _dense(self, grad: Any) -> Any:
        if not isinstance(grad, tf.IndexedSlices):
            return grad
        if not self.sparse_as_dense:
            raise ValueError(
                "IndexedSlices are not supported when `backward_passes_per_step` > 1 and "
                "`sparse_as_dense` is False."
            )
        return tf.convert_to_tensor(grad)

    def _make_variables(self, places: Sequence[int], grads: Sequence[Any]) -> None:
        scope, local = f"aggregation_variables_{self.rank}", tf.GraphKeys.LOCAL_VARIABLES
        with tf.variable_scope(scope, reuse=tf.AUTO_REUSE):
            self.counter = tf.get_variable(
                "aggregation_counter", shape=(), dtype=tf.int32, trainable=False,
                initializer=tf.zeros_initializer(), collections=[local],
            )  # fmt: skip
            self.sums = [
                tf.get_variable(
                    str(place), trainable=False, initializer=tf.zeros(grad.shape, grad.dtype),
                    collections=[local, "aggregating_collection"],
                )
                for place, grad in zip(places, grads, strict=True)
            ]  # fmt: skip
        if self.optimizer_type == self._OPTIMIZER_TYPE_KERAS:
            session = tf.keras.backend.get_session(op_input_list=())
            session.run(tf.variables_initializer([self.counter, *self.sums]))

    def _reduced(self, variables: Sequence[Any]) -> list[Any]:
        sums = [each.read_value() for each in self.sums]
        with tf.control_dependencies([tf.group(*sums)]):
            reduced = self._reduce(sums, variables)
        with tf.control_dependencies([each.op for each in reduced]):
            reset = self.counter.assign(0, use_locking=True)
        divisor = self.backward_passes_per_step if self.average_aggregated_gradients else 1
        with tf.control_dependencies([reset]):
            return [tf.divide(each, divisor) for each in reduced]


def _count(step: Any) -> Any:
    return step.assign_add(1, use_locking=True, read_value=False)
