"""tf.tpu.CrossShardOptimizer: sums gradients over the shards before they are applied."""

from __future__ import annotations

from typing import Any

from stillflow.graph.api import colocate_with
from stillflow.graph.export import export
from stillflow.graph.indexed_slices import IndexedSlices
from stillflow.graph.operation import Operation, Tensor
from stillflow.keras.optimizers.base import OptimizerV2
from stillflow.losses.reduction import Reduction
from stillflow.ops.tpu.replicas import cross_replica_sum
from stillflow.ops.tpu.shards import get_tpu_context
from stillflow.platform import tf_logging as logging
from stillflow.train.wrapping_optimizer import WrappingOptimizer
from stillflow.variables.scatter import ScatterMethods


@export("tpu.CrossShardOptimizer", "contrib.tpu.CrossShardOptimizer")
class CrossShardOptimizer(WrappingOptimizer):
    """Optimizer whose gradients are averaged over shards; its operations need TPUs.

    Args:
      opt: the optimizer that applies them.
      reduction: `Reduction.MEAN` or `Reduction.SUM`.
      name: of its operations.
      group_assignment: lists of the shards that are averaged together; all if None.

    Raises:
      ValueError: for another reduction.
      TypeError: if `opt` is one of Keras.
    """

    def __init__(
        self, opt: Any, reduction: str = Reduction.MEAN, name: str = "CrossShardOptimizer",
        group_assignment: Any = None,
    ) -> None:  # fmt: skip
        if reduction not in (Reduction.SUM, Reduction.MEAN):
            raise ValueError(f"Unsupported reduction: {reduction}.")
        if isinstance(opt, OptimizerV2):
            raise TypeError(
                "CrossShardOptimizer does not work with OptimizerV2. If you are using TPUStrategy, "
                "OptimizerV2 will sum gradients across replicas.If you are using TPUEstimator, you "
                "may instead sum your gradients with: grads = [tf.compat.v1.tpu.cross_replica_sum"
                "(g) for g in grads]. If you want to average your gradients, rescale your loss "
                "with: loss /= global_batch_size"
            )
        super().__init__(opt, False, name)
        self._reduction = reduction
        self._group_assignment = group_assignment

    def compute_gradients(
        self, loss: Any, var_list: Any = None, **kwargs: Any
    ) -> list[tuple[Tensor | IndexedSlices, ScatterMethods]]:
        """Return the gradients of this shard, of its part of the loss.

        Args:
          loss: as in `Optimizer`.
          var_list: as in `Optimizer`.
          **kwargs: further arguments of the optimizer.

        Raises:
          ValueError: if the groups are not all shards, in groups of one size.
        """
        count = get_tpu_context().number_of_shards
        if count is None:
            logging.warning(
                "CrossShardOptimizer should be used within a tpu_shard_context, but got unset "
                "number_of_shards. Assuming 1."
            )
            count = 1
        size = self._size_of_groups(count)
        if count > 1 and self._reduction == Reduction.MEAN:
            loss *= 1.0 / (count if size is None else size)
        return self._opt.compute_gradients(loss, var_list=var_list, **kwargs)

    def _size_of_groups(self, count: int) -> int | None:
        groups = self._group_assignment
        if not groups:
            return None
        if not isinstance(groups, list) or not all(isinstance(group, list) for group in groups):
            raise ValueError(f"group_assignment must be a list of list. Got {groups}")
        if {shard for group in groups for shard in group} != set(range(count)):
            raise ValueError(
                f"group_assignment must be a permutation of range({count}). Got "
                f"group_assignment={groups}"
            )
        sizes = {len(group) for group in groups}
        if len(sizes) > 1:
            raise ValueError(
                "The size of each subgroup in group_assignment must be equal. Got "
                f"group_assignment={groups}"
            )
        return sizes.pop()

    def apply_gradients(
        self, grads_and_vars: Any, global_step: Any = None, name: str | None = None
    ) -> Operation:
        """Apply the sums of gradients over the shards.

        Args:
          grads_and_vars: as `compute_gradients` gives them.
          global_step: is incremented.
          name: of the operation.
        """
        summed = []
        for grad, var in grads_and_vars:
            if grad is not None:
                with colocate_with(grad):
                    grad = cross_replica_sum(grad, self._group_assignment)
            summed.append((grad, var))
        return self._opt.apply_gradients(summed, global_step, name)

    def variables(self) -> Any:
        """Its variables."""
        return self._opt.variables()
