"""Features as tensors of the rank that a layer needs."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.contrib.layers.core import inner_flatten
from stillflow.graph.operation import Tensor
from stillflow.platform import tf_logging as logging


def _refuse(rank: int, output_rank: int) -> str:
    return (
        f"Rank of input Tensor ({rank}) should be the same as output_rank ({output_rank}). For "
        "example, sequence data should typically be 3 dimensional (rank 3) while non-sequence "
        "data is typically 2 dimensional (rank 2)."
    )


def with_rank(tensor: Any, output_rank: int, column_name: str | None = None) -> Tensor:
    """Return a dense feature with one more axis, or with its last axes made one."""
    rank = tensor.get_shape().ndims
    if rank is None or rank > output_rank:
        flat = inner_flatten(tensor, output_rank)
        assert isinstance(flat, Tensor)
        return flat
    if rank == output_rank:
        return tensor
    if rank + 1 < output_rank:
        named = "" if column_name is None else f"Error while processing column {column_name}."
        raise ValueError(named + _refuse(rank, output_rank))
    logging.warning(
        f"Rank of input Tensor ({rank}) should be the same as output_rank ({output_rank}) for "
        "column. Will attempt to expand dims. It is highly recommended that you resize your "
        "input, as this behavior may change."
    )
    return tf.expand_dims(tensor, -1, name="expand_dims")


def transformed_with_rank(tensor: Any, column_name: str, output_rank: int) -> Any:
    """Return a transformed feature, dense or sparse, with one more axis, or fewer, merged ones."""
    sparse = isinstance(tensor, tf.SparseTensor)
    rank = tensor.get_shape().ndims
    if rank is None and sparse:
        rank = tensor.dense_shape.get_shape().as_list()[0]
    if rank is None:
        raise ValueError(
            f"Error while processing column {column_name}. Rank of input Tensor can not be None."
        )
    if rank + 1 < output_rank:
        raise ValueError(
            f"Error while processing column {column_name}. {_refuse(rank, output_rank)}"
        )
    if rank > output_rank:
        return inner_flatten(tensor, output_rank)
    if rank == output_rank:
        return tensor
    if sparse:
        return tf.sparse_reshape(tensor, tf.concat([tensor.dense_shape, [1]], 0))
    return tf.expand_dims(tensor, -1)
