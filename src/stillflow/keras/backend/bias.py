"""`tf.keras.backend.bias_add`."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.keras.backend.shaping import data_format_or_default


@export("keras.backend.bias_add")
def bias_add(x: Any, bias: Any, data_format: str | None = None) -> Tensor:
    """Add a bias.

    Args:
      x: [batch, ...].
      bias: [channels], or of the shape of an example with channels last.
      data_format: where `x` has its channels.

    Raises:
      ValueError: if the bias has another number of dimensions.
    """
    first = data_format_or_default(data_format) == "channels_first"
    shape, rank = tuple(bias.shape.as_list()), x.shape.ndims
    if len(shape) not in (1, rank - 1):
        raise ValueError(
            f"Unexpected bias dimensions {len(shape)}, expect to be 1 or {rank} dimensions"
        )
    if rank not in (3, 4, 5):
        return tf.nn.bias_add(x, bias)
    if len(shape) == 1:
        if rank == 4 and not first:
            return tf.nn.bias_add(x, bias, data_format="NHWC")
        ones = (1,) * (rank - 2)
        wanted = (1, shape[0], *ones) if first else (1, *ones, shape[0])
    else:
        wanted = (1, shape[-1], *shape[:-1]) if first else (1, *shape)
    return x + tf.reshape(bias, wanted)
