"""Small models whose training converges, as steps of strategies, for tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stillflow.data.dataset_v1 import DatasetV1
from stillflow.graph.api import control_dependencies, get_collection
from stillflow.graph.graph_keys import GraphKeys
from stillflow.keras.optimizers.base import OptimizerV2
from stillflow.layers.core import Dense
from stillflow.layers.normalization import BatchNormalization
from stillflow.ops.arrays.shape import reshape
from stillflow.ops.constants import constant
from stillflow.ops.math.reductions import reduce_mean, reduce_sum
from stillflow_contrib.distribute.step_fn import StandardSingleLossStep


def _ones() -> Any:
    return DatasetV1.from_tensors([[1.0]]).repeat()


def _square_error(layer: Any, x: Any) -> Any:
    error = reshape(layer(x), []) - constant(1.0)
    return error * error


def single_loss_example(
    optimizer_fn: Callable[[], Any], distribution: Any, use_bias: bool = False,
    iterations_per_step: int = 1,
) -> tuple[Any, Any]:  # fmt: skip
    """Return a step that trains a layer to give 1 for 1, and the layer."""
    optimizer, layer = optimizer_fn(), Dense(1, use_bias=use_bias)

    def loss(context: Any, x: Any) -> Any:
        del context
        return _square_error(layer, x)

    step = StandardSingleLossStep(_ones, loss, optimizer, distribution, iterations_per_step)
    return step, layer


def minimize_loss_example(
    optimizer: Any, use_bias: bool = False, use_callable_loss: bool = True
) -> tuple[Any, Any, Any]:
    """Return a replica's step, the function that makes its input, and the layer that it trains."""
    layer = Dense(1, use_bias=use_bias)

    def model_fn(x: Any) -> Any:
        def loss() -> Any:
            return _square_error(layer, x)

        return _minimize(optimizer, loss if use_callable_loss else loss(), loss, layer)

    return model_fn, lambda: _ones().batch(1, drop_remainder=True), layer


def _minimize(optimizer: Any, loss: Any, function: Any, layer: Any) -> Any:
    if isinstance(optimizer, OptimizerV2):
        return optimizer.minimize(function, lambda: layer.trainable_variables)
    return optimizer.minimize(loss)


def batchnorm_example(
    optimizer_fn: Callable[[], Any], batch_per_epoch: int = 1, momentum: float = 0.9,
    renorm: bool = False, update_ops_in_replica_mode: bool = False,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Return a replica's step, the function that makes its input, and its batch normalization."""
    optimizer = optimizer_fn()
    normalization = BatchNormalization(renorm=renorm, momentum=momentum, fused=False)
    layer = Dense(1, use_bias=False)

    def dataset_fn() -> Any:
        rows = np.arange(128, dtype="float32").reshape(16, 8)
        batches = np.stack([rows + 100 * number for number in range(batch_per_epoch)])
        return DatasetV1.from_tensor_slices(batches).repeat()

    def model_fn(x: Any) -> Any:
        def loss() -> Any:
            y = normalization(x, training=True)
            updates = get_collection(GraphKeys.UPDATE_OPS) if update_ops_in_replica_mode else []
            with control_dependencies(updates):
                return reduce_mean(reduce_sum(layer(y)) - constant(1.0))

        return _minimize(optimizer, loss, loss, layer)

    return model_fn, dataset_fn, normalization
