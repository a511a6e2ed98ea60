"""The model function of boosted trees."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import stillflow as tf
from stillflow.estimator.mode_keys import ModeKeys
from stillflow.estimator.trees.caches import NO_NODE, StateCache, cached_features, local_variable
from stillflow.estimator.trees.columns import (
    boundaries_by_column,
    group_by_buckets,
    in_order,
    is_float,
    transformed_features,
    width,
)
from stillflow.estimator.trees.growers import (
    AccumulatorEnsembleGrower,
    EnsembleGrower,
    TreeSettings,
)
from stillflow.estimator.trees.hooks import GrowerInitializationHook, StopAtAttemptsHook
from stillflow.estimator.trees.resources import QuantileAccumulator, TreeEnsemble
from stillflow.feature_column.numeric import numeric_column
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.arrays.fill import ones, zeros
from stillflow.ops.arrays.shape import shape, squeeze
from stillflow.ops.boosted_trees.predicting import predict_op, training_predict_op
from stillflow.ops.boosted_trees.stats import make_stats_summary_op
from stillflow.ops.control_flow.identity_and_group import group, no_op
from stillflow.ops.functional.branches import cond
from stillflow.ops.gradients.gradients import gradients as gradients_of
from stillflow.ops.summary.numbers import scalar
from stillflow.train.global_step import get_or_create_global_step
from stillflow.variables.state_ops import assign_add

if TYPE_CHECKING:
    from stillflow.estimator.spec import EstimatorSpec


_QUANTILES = "QuantileAccumulator"


class Model(NamedTuple):
    """Description of a model.

    Attributes:
      head: the head.
      columns: columns of features.
      settings: how trees are grown.
      batches: of how many batches a layer is made.
      closed_form: of logits and labels, gives gradients and Hessians; those of the loss if None.
      weight_column: of examples' weights: a name, a numeric column, or None.
      in_memory: whether all examples come as one batch.
    """

    head: Any
    columns: Any
    settings: TreeSettings
    batches: Any
    closed_form: Callable[[Any, Any], tuple[Any, Any]] | None = None
    weight_column: Any = None
    in_memory: bool = False


def model_fn(
    model: Model, features: Any, labels: Any, mode: Any, config: Any, name: str = "boosted_trees"
) -> EstimatorSpec:
    """Return the `EstimatorSpec` of a model, for the arguments of every model function."""
    with tf.name_scope(name) as scope:
        graph = _Graph(model, features, scope)
        if mode != ModeKeys.TRAIN:
            return _predicting_spec(graph, labels, mode)
        training = _Training(graph, labels, config)
    return training.spec()  # of which nothing has the model's name, as in TF


def _predicting_spec(graph: _Graph, labels: Any, mode: Any) -> EstimatorSpec:
    model, features = graph.model, graph.features
    logits = predict_op(
        graph.ensemble.resource_handle,
        transformed_features(features, graph.columns, graph.boundaries),
        logits_dimension=model.head.logits_dimension,
    )
    return model.head.create_estimator_spec(
        features=features, mode=mode, labels=labels, train_op_fn=no_op, logits=logits
    )


class Parts(NamedTuple):
    """Resources of a graph: the ensemble, and the finder of boundaries, if there is one."""

    ensemble: TreeEnsemble
    quantiles: QuantileAccumulator | None
    boundaries: dict[str, Any]


def make_parts(name: str, float_columns: list[Any], epsilon: float) -> Parts:
    """Make the resources; `epsilon` is the error of ranks."""
    ensemble = TreeEnsemble(name=name)
    if not float_columns:
        return Parts(ensemble, None, {})
    quantiles = QuantileAccumulator(
        epsilon=epsilon, num_streams=sum(map(width, float_columns)),
        num_quantiles=int(1.0 / epsilon), name=_QUANTILES,
    )  # fmt: skip
    found = boundaries_by_column(float_columns, quantiles.get_bucket_boundaries())
    return Parts(ensemble, quantiles, found)


class _Graph:
    """Graph of a mode: the features and the resources."""

    def __init__(self, model: Model, features: Any, name: str) -> None:
        self.model, self.features, self.name = model, features, name
        self.columns = in_order(model.columns)
        self.float_columns = [column for column in self.columns if is_float(column)]
        self.global_step = get_or_create_global_step()
        epsilon = model.settings.quantile_sketch_epsilon
        self.ensemble, self.quantiles, self.boundaries = make_parts(
            name, self.float_columns, epsilon
        )
        self.bucket_counts, self.feature_ids = group_by_buckets(self.columns, int(1.0 / epsilon))


class _Training:
    """The graph that trains."""

    def __init__(self, graph: _Graph, labels: Any, config: Any) -> None:
        self.graph, self.labels, self.config = graph, labels, config
        self.model, self.settings = graph.model, graph.model.settings
        alone = config.num_worker_replicas <= 1
        self._check_in_memory()
        self._device = no_op().device
        self._are_boundaries_ready = local_variable(not graph.float_columns, "are_boundaries_ready")
        self._cache: StateCache | None = None
        self._keep_features: list[Any] = []
        self._vectors = self._make_features()
        known = self._remembered()
        ensemble, reload = self._own_ensemble(alone)
        with tf.control_dependencies([reload]):
            states = ensemble.get_states()
            self._stamp, *self._counts, self._layer = states
            partial, self._trees, self._nodes = training_predict_op(
                ensemble.resource_handle, known[0], known[1], self._vectors,
                logits_dimension=self.model.head.logits_dimension,
            )  # fmt: skip
        self._logits = known[2] + partial
        self._grower = self._make_grower()
        for count, label in zip(
            self._counts, ("num_trees", "num_finalized_trees", "num_attempted_layers"), strict=True
        ):
            scalar(f"ensemble/{label}", count)
        self._center = local_variable(self.settings.center_bias, "center_bias_needed")
        self._weights = self._make_weights()

    def _check_in_memory(self) -> None:
        if not self.model.in_memory:
            return
        if self.model.batches != 1:
            raise AssertionError(
                "When train_in_memory is enabled, input_fn should return the entire dataset as a "
                "single batch, and n_batches_per_layer should be set as 1."
            )
        config = self.config
        if not config.is_chief or config.num_worker_replicas > 1 or config.num_ps_replicas > 0:
            raise ValueError("train_in_memory is supported only for non-distributed training.")

    def _make_features(self) -> list[Tensor]:
        graph = self.graph
        if not self.model.in_memory:
            return transformed_features(graph.features, graph.columns, graph.boundaries)
        batch_size = shape(self.labels)[0]
        vectors, keep = cached_features(
            graph.features, graph.columns, batch_size, graph.boundaries,
            self._are_boundaries_ready,
        )  # fmt: skip
        self._keep_features = [keep]
        self._cache = StateCache(batch_size, self.model.head.logits_dimension)
        return vectors

    def _remembered(self) -> tuple[Any, Any, Any]:
        """Return the cached trees, nodes and logits of examples."""
        if self._cache is not None:
            return self._cache.lookup()
        batch_size = shape(self.labels)[0]
        return (
            zeros([batch_size], dtype=tf.int32),
            NO_NODE * ones([batch_size], dtype=tf.int32),
            zeros([batch_size, self.model.head.logits_dimension], dtype=tf.float32),
        )

    def _own_ensemble(self, alone: bool) -> tuple[TreeEnsemble, Any]:
        """Return the ensemble that predicts, with other workers a copy, and the op that copies."""
        shared = self.graph.ensemble
        if alone:
            return shared, no_op()
        with tf.device(self._device):
            local = TreeEnsemble(name=f"{self.graph.name}_local", is_local=True)
        return local, local.deserialize(*shared.serialize())

    def _make_grower(self) -> EnsembleGrower:
        graph, settings = self.graph, self.settings
        if self.model.in_memory:
            return EnsembleGrower(graph.ensemble, graph.quantiles, settings, graph.feature_ids)
        return AccumulatorEnsembleGrower(
            graph.ensemble, graph.quantiles, settings, graph.feature_ids, self._stamp,
            self.model.batches, graph.bucket_counts, self.config.is_chief,
        )  # fmt: skip

    def _make_weights(self) -> Tensor:
        column = self.model.weight_column
        if column is None:
            return tf.constant(1.0, shape=[1])
        if isinstance(column, str):
            column = numeric_column(column, shape=(1,))
        return transformed_features(self.graph.features, [column])[0]

    def spec(self) -> Any:
        """Return the `EstimatorSpec`."""
        spec = self.model.head.create_estimator_spec(
            features=self.graph.features, mode=ModeKeys.TRAIN, labels=self.labels,
            train_op_fn=self._train_op, logits=self._logits,
        )  # fmt: skip
        _, finalized, attempted = self._counts
        stop = StopAtAttemptsHook(
            finalized, attempted, self.settings.n_trees, self.settings.max_depth
        )
        begin = GrowerInitializationHook(self._grower.chief_init_op())
        return spec._replace(
            training_hooks=(*spec.training_hooks, stop),
            training_chief_hooks=[begin, *spec.training_chief_hooks],
        )

    def _train_op(self, loss: Any) -> Any:
        if not self.graph.float_columns:
            return self._grow(loss)
        return cond(self._are_boundaries_ready, lambda: self._grow(loss), self._update_quantiles)

    def _update_quantiles(self) -> Tensor | Operation:
        with tf.name_scope("UpdateQuantile"):
            values = transformed_features(self.graph.features, self.graph.float_columns)
            return self._grower.accumulate_quantiles(
                values, self._weights, self._are_boundaries_ready
            )

    def _grow(self, loss: Any) -> Any:
        done = list(self._keep_features)
        cache = self._cache
        if cache is not None:
            done.append(
                cond(
                    self._center, no_op,
                    lambda: cache.insert(self._trees, self._nodes, self._logits),
                )
            )  # fmt: skip
        gradients, hessians = self._derivatives(loss)
        update = self._update(gradients, hessians, self._stats(gradients, hessians))
        done.append(update)
        with tf.control_dependencies([update]):
            done.append(assign_add(self.graph.global_step, 1).op)
        return group(done, name="grow_op")

    def _derivatives(self, loss: Any) -> tuple[Any, Any]:
        if self.model.closed_form is not None:
            return self.model.closed_form(self._logits, self.labels)
        gradients = gradients_of(loss, self._logits, name="Gradients")[0]
        return gradients, gradients_of(gradients, self._logits, name="Hessians")[0]

    def _stats(self, gradients: Any, hessians: Any) -> list[list[Any]]:
        """Return sums by node and bucket, for each group and each feature."""
        return [
            [
                squeeze(
                    make_stats_summary_op(
                        self._nodes, gradients, hessians, [self._vectors[feature]],
                        max_splits=self.settings.max_splits, num_buckets=count,
                    ),
                    axis=0,
                )
                for feature in features
            ]
            for features, count in zip(
                self.graph.feature_ids, self.graph.bucket_counts, strict=True
            )
        ]  # fmt: skip

    def _update(self, gradients: Any, hessians: Any, stats: list[list[Any]]) -> Any:
        if not self.settings.center_bias:
            return self._grower.grow_tree(stats, self._layer)
        return cond(
            self._center,
            lambda: self._grower.center_bias(self._center, gradients, hessians),
            lambda: self._grower.grow_tree(stats, self._layer),
        )
