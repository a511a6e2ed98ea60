"""`tf.contrib.factorization.WALSMatrixFactorization`: an estimator of factors of a matrix."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.ops.summary.numbers import scalar
from stillflow_contrib.factorization import wals_hooks
from stillflow_contrib.factorization.wals_model import WALSModel
from stillflow_contrib.learn.estimator import Estimator
from stillflow_contrib.learn.mode_keys import ModeKeys
from stillflow_contrib.learn.model_fn_ops import ModelFnOps


@export("contrib.factorization.WALSMatrixFactorization")
class WALSMatrixFactorization(Estimator):
    """Factorizes a sparse matrix by weighted alternating least squares, in one worker.

    Its input functions give {`INPUT_ROWS`: rows, `INPUT_COLS`: columns as rows}, both SparseTensors
    float, and None for labels; to evaluate and to predict with `PROJECT_ROW`, a bool scalar that
    says which of the two counts, and to predict with `PROJECTION_WEIGHTS` if wanted.

    Args:
      num_rows: how many rows the matrix has.
      num_cols: how many columns.
      embedding_dimension: the width of factors.
      unobserved_weight, row_init, col_init, num_row_shards, num_col_shards, row_weights,
        col_weights: as of `WALSModel`.
      regularization_coeff: its `regularization`.
      use_factors_weights_cache_for_training: whether training keeps copies of factors and weights.
      use_gramian_cache_for_training: whether it does so of gramians.
      max_sweeps: after how many sweeps over rows or columns training stops.
      model_dir: the folder of checkpoints and event files.
      config: a `RunConfig` of `tf.contrib.learn`.

    Raises:
      ValueError: if there are several workers.
    """

    INPUT_ROWS = "input_rows"
    INPUT_COLS = "input_cols"
    PROJECT_ROW = "project_row"
    PROJECTION_WEIGHTS = "projection_weights"
    PROJECTION_RESULT = "projection"
    COMPLETED_SWEEPS = wals_hooks.COMPLETED_SWEEPS
    LOSS = "WALS_loss"
    RWSE = "WALS_RWSE"

    def __init__(
        self,
        num_rows: int,
        num_cols: int,
        embedding_dimension: int,
        unobserved_weight: float = 0.1,
        regularization_coeff: float | None = None,
        row_init: Any = "random",
        col_init: Any = "random",
        num_row_shards: int = 1,
        num_col_shards: int = 1,
        row_weights: Any = 1,
        col_weights: Any = 1,
        use_factors_weights_cache_for_training: bool = True,
        use_gramian_cache_for_training: bool = True,
        max_sweeps: int | None = None,
        model_dir: str | None = None,
        config: Any = None,
    ) -> None:
        given = dict(locals())
        for name in ("self", "__class__", "model_dir", "config"):
            given.pop(name, None)
        self._shards = {"row": num_row_shards, "col": num_col_shards}
        super().__init__(model_fn=_model_fn, params=given, model_dir=model_dir, config=config)
        if self._config is not None and self._config.num_worker_replicas > 1:
            raise ValueError("WALSMatrixFactorization must be run on a single worker replica.")

    def _factors(self, side: str) -> list[Any]:
        names = [f"{side}_factors_shard_{shard}" for shard in range(self._shards[side])]
        return [self.get_variable_value(name) for name in names]

    def get_row_factors(self) -> list[Any]:
        """Return the factors of rows in the last checkpoint, an array of each shard."""
        return self._factors("row")

    def get_col_factors(self) -> list[Any]:
        """Return the factors of columns in the last checkpoint, an array of each shard."""
        return self._factors("col")

    def get_projections(self, input_fn: Callable[[], Any]) -> Iterator[Any]:
        """Return the factors that each row, or column, of the input would have."""
        results = self.predict(input_fn=input_fn)
        return (result[self.PROJECTION_RESULT] for result in results)


def _model_fn(features: Any, labels: Any, mode: str, params: dict[str, Any]) -> ModelFnOps:
    """Build the model of a `WALSMatrixFactorization`, whose arguments are `params`."""
    assert labels is None
    trains = mode == ModeKeys.TRAIN
    model = WALSModel(
        params["num_rows"],
        params["num_cols"],
        params["embedding_dimension"],
        unobserved_weight=params["unobserved_weight"],
        regularization=params["regularization_coeff"],
        row_init=params["row_init"],
        col_init=params["col_init"],
        num_row_shards=params["num_row_shards"],
        num_col_shards=params["num_col_shards"],
        row_weights=params["row_weights"],
        col_weights=params["col_weights"],
        use_factors_weights_cache=params["use_factors_weights_cache_for_training"] and trains,
        use_gramian_cache=params["use_gramian_cache_for_training"] and trains,
    )
    rows = features[WALSMatrixFactorization.INPUT_ROWS]
    cols = features[WALSMatrixFactorization.INPUT_COLS]
    if trains:
        return _training(model, rows, cols, params)
    if mode == ModeKeys.INFER:
        return _prediction(model, rows, cols, features)
    if mode == ModeKeys.EVAL:
        return _evaluation(model, rows, cols, features)
    raise ValueError(f"mode={mode} is not recognized.")


class _Progress:
    """Variables that say how far training is."""

    def __init__(self) -> None:
        self.is_row_sweep = _variable(True, "is_row_sweep")
        self.is_sweep_done = _variable(False, "is_sweep_done")
        self.completed_sweeps = _variable(0, WALSMatrixFactorization.COMPLETED_SWEEPS)
        self.loss = _variable(0.0, WALSMatrixFactorization.LOSS)
        self.rwse = _variable(0.0, WALSMatrixFactorization.RWSE)
        scalar("loss", self.loss)
        scalar("root_weighted_squared_error", self.rwse)
        scalar("completed_sweeps", self.completed_sweeps)

    def after(self, update: Any, entries: Any, count: int, name: str) -> tuple[Any, Any]:
        """Return operations that clear the updated rows, and that update some and record them."""
        none = tf.fill(dims=[count], value=False)
        with tf.colocate_with(none):
            processed = _variable(none, f"processed_{name}")
        _, update_op, loss, regularization, sum_weights = update()
        ids = entries.indices[:, 0]
        updated = [
            update_op,
            tf.assign(self.loss, loss + regularization),
            tf.assign(self.rwse, tf.sqrt(loss / sum_weights)),
        ]
        with tf.control_dependencies(updated):
            with tf.colocate_with(processed):
                noted = tf.scatter_update(
                    processed, ids, tf.ones_like(ids, dtype=tf.bool),
                    name=f"update_processed_{name}_indices",
                )  # fmt: skip
            with tf.control_dependencies([noted]):
                done = tf.reduce_all(processed)
                train_op = tf.group(
                    tf.assign(self.is_sweep_done, done),
                    tf.assign_add(self.completed_sweeps, tf.cast(done, tf.int32)),
                    name=f"{name}_sweep_train_op",
                )
        return processed.initializer, train_op


def _variable(value: Any, name: str) -> Any:
    collections = [tf.GraphKeys.GLOBAL_VARIABLES]
    return tf.Variable(value, trainable=False, name=name, collections=collections)


def _training(model: WALSModel, rows: Any, cols: Any, params: dict[str, Any]) -> ModelFnOps:
    progress = _Progress()
    forget_rows, train_rows = progress.after(
        lambda: model.update_row_factors(sp_input=rows), rows, params["num_rows"], "rows"
    )
    forget_cols, train_cols = progress.after(
        lambda: model.update_col_factors(sp_input=cols, transpose_input=True),
        cols, params["num_cols"], "cols",
    )  # fmt: skip
    switch = tf.group(
        tf.assign(progress.is_row_sweep, tf.logical_not(progress.is_row_sweep)),
        forget_rows,
        forget_cols,
        name="sweep_switch_op",
    )
    hooks: list[Any] = [
        wals_hooks.SweepHook(
            progress.is_row_sweep,
            progress.is_sweep_done,
            model.worker_init,
            [model.row_update_prep_gramian_op, model.initialize_row_update_op],
            [model.col_update_prep_gramian_op, model.initialize_col_update_op],
            train_rows,
            train_cols,
            switch,
        ),
        wals_hooks.IncrementGlobalStepHook(),
    ]
    if params["max_sweeps"] is not None:
        hooks.append(wals_hooks.StopAtSweepHook(params["max_sweeps"]))
    return ModelFnOps(
        mode=ModeKeys.TRAIN, predictions={}, loss=progress.loss, eval_metric_ops={},
        train_op=tf.no_op(), training_hooks=hooks,
    )  # fmt: skip


def _prediction(model: WALSModel, rows: Any, cols: Any, features: dict[str, Any]) -> ModelFnOps:
    weights = features.get(WALSMatrixFactorization.PROJECTION_WEIGHTS)
    projection = tf.cond(
        features[WALSMatrixFactorization.PROJECT_ROW],
        lambda: model.project_row_factors(sp_input=rows, projection_weights=weights),
        lambda: model.project_col_factors(
            sp_input=cols, projection_weights=weights, transpose_input=True
        ),
    )
    return ModelFnOps(
        mode=ModeKeys.INFER,
        predictions={WALSMatrixFactorization.PROJECTION_RESULT: projection},
        loss=None, eval_metric_ops={}, train_op=tf.no_op(), training_hooks=[],
    )  # fmt: skip


def _evaluation(model: WALSModel, rows: Any, cols: Any, features: dict[str, Any]) -> ModelFnOps:
    def loss(update: Any) -> Tensor:
        _, _, unregularized, regularization, _ = update
        return unregularized + regularization

    chosen = tf.cond(
        features[WALSMatrixFactorization.PROJECT_ROW],
        lambda: loss(model.update_row_factors(sp_input=rows)),
        lambda: loss(model.update_col_factors(sp_input=cols, transpose_input=True)),
    )
    return ModelFnOps(
        mode=ModeKeys.EVAL, predictions={}, loss=chosen, eval_metric_ops={}, train_op=tf.no_op(),
        training_hooks=[],
    )  # fmt: skip
