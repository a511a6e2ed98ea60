"""The modules `horovod.tensorflow.keras` and `horovod.keras`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import stillflow as tf
from stillflow_contrib.horovod import basics as _basics
from stillflow_contrib.horovod import elastic, keras_optimizers, operations, reductions
from stillflow_contrib.horovod import keras_callbacks as callbacks
from stillflow_contrib.horovod.basics import *
from stillflow_contrib.horovod.basics import Average
from stillflow_contrib.horovod.compression import Compression

__all__ = [
    "Compression", "DistributedOptimizer", "allgather", "allreduce", "broadcast",
    "broadcast_global_variables", "callbacks", "elastic", "load_model",
]  # fmt: skip
__all__ += _basics.__all__


def DistributedOptimizer(
    optimizer: Any, name: str | None = None, device_dense: str = "", device_sparse: str = "",
    compression: Any = Compression.none, sparse_as_dense: bool = False,
    gradient_predivide_factor: float = 1.0, op: int = Average, backward_passes_per_step: int = 1,
    average_aggregated_gradients: bool = False, num_groups: int = 0, groups: Any = None,
) -> Any:  # fmt: skip
    """Return a Keras optimizer like the given one that applies gradients which all ranks reduced.

    Its class has the same name, so models that are saved with it load without Horovod. The
    arguments are those of `horovod.tensorflow.DistributedOptimizer`.
    """
    wrap = keras_optimizers.wrapper(
        name, device_dense, device_sparse, compression, sparse_as_dense,
        gradient_predivide_factor, op, backward_passes_per_step, average_aggregated_gradients,
        num_groups or groups,
    )  # fmt: skip
    return wrap(type(optimizer)).from_config(optimizer.get_config())  # type: ignore[attr-defined]


def broadcast_global_variables(root_rank: int) -> Any:
    """Give all global variables the values of rank `root_rank`."""
    return keras_optimizers.evaluate(reductions.broadcast_global_variables(root_rank))


def allreduce(
    value: Any, name: str | None = None, average: bool | None = None,
    prescale_factor: float = 1.0, postscale_factor: float = 1.0, op: int | None = None,
    compression: Any = Compression.none,
) -> Any:  # fmt: skip
    """Return the reduction of a value over all ranks; see `horovod.tensorflow.allreduce`."""
    tensor = tf.constant(value, name=name)
    result = reductions.allreduce(
        tensor, average=average, prescale_factor=prescale_factor,
        postscale_factor=postscale_factor, op=op, compression=compression,
    )  # fmt: skip
    return keras_optimizers.evaluate(result)


def allgather(value: Any, name: str | None = None) -> Any:
    """Return the rows of all ranks' values."""
    return keras_optimizers.evaluate(operations.allgather(tf.constant(value, name=name)))


def broadcast(value: Any, root_rank: int, name: str | None = None) -> Any:
    """Return the value of rank `root_rank`."""
    return keras_optimizers.evaluate(operations.broadcast(tf.constant(value, name=name), root_rank))


def load_model(
    filepath: Any, custom_optimizers: Iterable[type] | None = None,
    custom_objects: dict[str, Any] | None = None, compression: Any = Compression.none,
) -> Any:  # fmt: skip
    """Return a saved model with its optimizer as `DistributedOptimizer` would make it.

    Args:
      filepath: see tf.keras.models.load_model.
      custom_optimizers: classes of optimizers of the program.
      custom_objects: see tf.keras.models.load_model.
      compression: member of `Compression`.
    """
    return keras_optimizers.load_model(
        tf.keras, filepath, custom_optimizers, custom_objects, compression
    )
