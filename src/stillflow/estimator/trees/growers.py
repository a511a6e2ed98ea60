"""Growers of an ensemble: from all examples at once, or from accumulated batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import stillflow as tf
from stillflow.estimator.trees.resources import PruningMode, QuantileAccumulator, TreeEnsemble
from stillflow.graph.operation import Operation
from stillflow.ops.arrays.shape import expand_dims
from stillflow.ops.arrays.splitting import unstack
from stillflow.ops.arrays.stack import stack
from stillflow.ops.boosted_trees.growing import center_bias_op, update_ensemble_op
from stillflow.ops.boosted_trees.splits import calculate_best_gains_per_feature_op
from stillflow.ops.control_flow.identity_and_group import group, no_op
from stillflow.ops.functional.branches import cond
from stillflow.ops.math.comparison import greater_equal
from stillflow.ops.math.reductions import reduce_mean, reduce_min
from stillflow.ops.queues.accumulator_classes import ConditionalAccumulator


class TreeSettings(NamedTuple):
    """Settings of the growth of trees; see `BoostedTreesClassifier`."""

    n_trees: int
    max_depth: int
    learning_rate: float
    l1: float
    l2: float
    tree_complexity: float
    min_node_weight: float
    center_bias: bool
    pruning_mode: str
    quantile_sketch_epsilon: float

    @property
    def max_splits(self) -> int:
        """The maximum number of split nodes of a tree."""
        return (1 << self.max_depth) - 1


class EnsembleGrower:
    """Grows an ensemble from all examples at once.

    Args:
      ensemble: the ensemble.
      quantiles: finds boundaries of features; None if all have some.
      settings: how it is grown.
      feature_ids: numbers of the features of each group.

    Raises:
      ValueError: if splits are left out for their complexity without one, or the other way round.
    """

    def __init__(
        self, ensemble: TreeEnsemble, quantiles: QuantileAccumulator | None,
        settings: TreeSettings, feature_ids: Sequence[Sequence[int]],
    ) -> None:  # fmt: skip
        self._ensemble, self._settings = ensemble, settings
        self._quantiles: Any = quantiles
        self._feature_ids = feature_ids
        self._pruning = PruningMode.from_str(settings.pruning_mode)
        prunes = self._pruning != PruningMode.NO_PRUNING
        if settings.tree_complexity > 0 and not prunes:
            raise ValueError("Tree complexity have no effect unless pruning mode is chosen.")
        if settings.tree_complexity <= 0 and prunes:
            raise ValueError("For pruning, tree_complexity must be positive.")

    def chief_init_op(self) -> Any:
        """Return the first op of the chief."""
        return no_op()

    def accumulate_quantiles(self, features: Any, weights: Any, are_boundaries_ready: Any) -> Any:
        """Add values to the quantile statistics; once there are enough, compute the boundaries.

        Args:
          features: vectors of numbers.
          weights: of the examples.
          are_boundaries_ready: a variable that is set then.
        """
        with tf.control_dependencies([self._quantiles.add_summaries(features, weights)]):
            flush = self._quantiles.flush()
            with tf.control_dependencies([flush]):
                return are_boundaries_ready.assign(True).op

    def center_bias(self, needed: Any, gradients: Any, hessians: Any) -> Any:
        """Move the first leaf to where the loss is least.

        Args:
          needed: a variable: whether it has to be moved on.
          gradients, hessians: of the examples, [examples, 1].
        """
        means = [expand_dims(reduce_mean(each, 0), 0) for each in (gradients, hessians)]
        return self._center(needed, *means)

    def grow_tree(self, stats: Sequence[Sequence[Any]], nodes: Any) -> Operation:
        """Add a layer.

        Args:
          stats: for each group of features, and each feature, sums by node and bucket.
          nodes: the range of the last layer's nodes.
        """
        return self._grow(stats, nodes)

    def _center(self, needed: Any, gradient: Any, hessian: Any) -> Any:
        goes_on = center_bias_op(
            self._ensemble.resource_handle, gradient, hessian, self._settings.l1,
            self._settings.l2,
        )  # fmt: skip
        return needed.assign(goes_on)

    def _grow(self, stats: Sequence[Sequence[Any]], nodes: Any) -> Operation:
        settings = self._settings
        best: list[list[Any]] = [[] for _ in range(5)]
        for group_stats in stats:
            found = calculate_best_gains_per_feature_op(
                nodes, group_stats, settings.l1, settings.l2, settings.tree_complexity,
                settings.min_node_weight, max_splits=settings.max_splits,
            )  # fmt: skip
            for column, values in zip(best, found, strict=True):
                column += values
        every_id = [feature for features in self._feature_ids for feature in features]
        return update_ensemble_op(
            self._ensemble.resource_handle, every_id, *best, settings.max_depth,
            settings.learning_rate, pruning_mode=self._pruning,
        )  # fmt: skip


class AccumulatorEnsembleGrower(EnsembleGrower):
    """Grows an ensemble from sums over batches.

    Args:
      ensemble, quantiles, settings, feature_ids: as of `EnsembleGrower`.
      stamp: the number of the ensemble's state; what comes for an older one is left out.
      batches: how many batches a layer is made of.
      bucket_counts: how many buckets the features of each group have.
      is_chief: whether this is the one that grows; others only add.
    """

    def __init__(
        self, ensemble: TreeEnsemble, quantiles: QuantileAccumulator | None,
        settings: TreeSettings, feature_ids: Sequence[Sequence[int]], stamp: Any, batches: Any,
        bucket_counts: Sequence[int], is_chief: bool,
    ) -> None:  # fmt: skip
        super().__init__(ensemble, quantiles, settings, feature_ids)
        self._stamp, self._batches, self._is_chief = stamp, batches, is_chief
        self._chief_init_ops: list[Any] = []
        self._sums = []
        for index, features in enumerate(feature_ids):
            shape = [len(features), settings.max_splits, bucket_counts[index], 2]
            self._sums.append(
                self._accumulator(shape, f"numeric_stats_summary_accumulator_{index}")
            )
        if settings.center_bias:
            self._bias = self._accumulator([2, 1], "bias_accumulator")

    def _accumulator(self, shape: Any, name: str) -> ConditionalAccumulator:
        made = ConditionalAccumulator(tf.float32, shape, name)
        self._chief_init_ops.append(made.set_global_step(self._stamp))
        return made

    def chief_init_op(self) -> Any:
        return group(self._chief_init_ops)

    def accumulate_quantiles(self, features: Any, weights: Any, are_boundaries_ready: Any) -> Any:
        summary = self._quantiles.add_summaries(features, weights)
        counter = ConditionalAccumulator(tf.float32, {}, "quantile_summary_accum")
        step = counter.set_global_step(self._stamp)
        counted = counter.apply_grad(tf.constant(0.0), self._stamp)
        update = group(summary, step, counted)
        if not self._is_chief:
            return update

        def flush() -> Any:
            taken = counter.take_grad(1)
            flushed = self._quantiles.flush()
            return group(flushed, taken, are_boundaries_ready.assign(True).op)

        with tf.control_dependencies([update]):
            return cond(
                greater_equal(counter.num_accumulated(), self._batches), flush, no_op,
                name="wait_until_quaniles_accumulated",
            )  # fmt: skip

    def center_bias(self, needed: Any, gradients: Any, hessians: Any) -> Any:
        means = reduce_mean(stack([gradients, hessians], axis=0), axis=1)
        added = self._bias.apply_grad(means, self._stamp)

        def begin_growing() -> Any:
            return group([each.set_global_step(self._stamp + 1) for each in self._sums])

        def center() -> Any:
            gradient, hessian = unstack(self._bias.take_grad(1), axis=0)
            centered = self._center(needed, expand_dims(gradient, 0), expand_dims(hessian, 0))
            with tf.control_dependencies([centered]):
                return cond(needed, no_op, begin_growing)

        with tf.control_dependencies([added]):
            if not self._is_chief:
                return no_op()
            return cond(
                greater_equal(self._bias.num_accumulated(), self._batches), center, no_op,
                name="wait_until_n_batches_for_bias_accumulated",
            )  # fmt: skip

    def grow_tree(self, stats: Sequence[Sequence[Any]], nodes: Any) -> Any:
        added = [
            each.apply_grad(stack(summaries, axis=0), self._stamp)
            for each, summaries in zip(self._sums, stats, strict=True)
        ]

        def grow() -> Any:
            return self._grow([unstack(each.take_grad(1), axis=0) for each in self._sums], nodes)

        with tf.control_dependencies(added):
            if not self._is_chief:
                return no_op()
            least = reduce_min(stack([each.num_accumulated() for each in self._sums]))
            return cond(
                greater_equal(least, self._batches), grow, no_op,
                name="wait_until_n_batches_accumulated",
            )  # fmt: skip
