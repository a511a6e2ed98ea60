"""`tf.nn.pool`: pools of any rank, dilated or not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.nn.space_to_batch import strides_and_dilation_rate, with_space_to_batch
from stillflow.ops.arrays.shape import expand_dims, squeeze
from stillflow.ops.nn.pooling_functions import avg_pool, avg_pool3d, max_pool, max_pool3d
from stillflow.util.renamed import renamed_argument

_POOLS: dict[tuple[str, int], Callable[..., Tensor]] = {
    ("MAX", 1): max_pool, ("MAX", 2): max_pool, ("MAX", 3): max_pool3d,
    ("AVG", 1): avg_pool, ("AVG", 2): avg_pool, ("AVG", 3): avg_pool3d,
}  # fmt: skip


def _sequence_format(data_format: str | None) -> str:
    """Return the format of images of height 1 for that of sequences."""
    if data_format in (None, "NWC"):
        return "NHWC"
    if data_format == "NCW":
        return "NCHW"
    raise ValueError('data_format must be either "NWC" or "NCW".')


@export("nn.pool")
def pool(
    input: Any,
    window_shape: Sequence[int],
    pooling_type: str,
    padding: str,
    dilation_rate: Any = None,
    strides: Any = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: Any = None,
) -> Tensor:
    """Return a pool over sequences, images or volumes, whose windows may be dilated.

    Args:
      window_shape: the window's size along every spatial dimension.
      pooling_type: "MAX" or "AVG".
      padding: "SAME" or "VALID"; with dilation only "VALID".
      dilation_rate, strides: one number per spatial dimension; not both above 1.
      dilations: the newer name of `dilation_rate`.

    Raises:
      ValueError: if the parameters do not fit each other.
    """
    dilation_rate = renamed_argument("dilations", dilations, "dilation_rate", dilation_rate)
    with name_scope(name, f"{pooling_type.lower()}_pool", [input]) as scope:
        input = convert_to_tensor(input, name="input")
        count = len(window_shape)
        if not 1 <= count <= 3:
            raise ValueError("It is required that 1 <= num_spatial_dims <= 3.")
        input.shape.with_rank(count + 2)
        steps: Any
        steps, rate = strides_and_dilation_rate(count, strides, dilation_rate)
        if padding == "SAME" and np.any(rate > 1):
            raise ValueError("pooling with SAME padding is not implemented for dilation_rate > 1")
        if np.any(steps > window_shape):
            raise ValueError(
                "strides > window_shape not supported due to inconsistency between CPU and GPU "
                "implementations"
            )
        function = _POOLS.get((pooling_type, count))
        if function is None:
            raise ValueError(f"{count}-D {pooling_type} pooling is not supported.")
        first = data_format is not None and data_format.startswith("NC")
        lead, tail = ([1, 1], []) if first else ([1], [1])
        window, steps = [*lead, *window_shape, *tail], [*lead, *steps, *tail]
        axes = range(len(lead), len(lead) + count)
        if count == 1:
            form: Any = _sequence_format(data_format)
            window, steps = [1, *window], [1, *steps]
        else:
            form = data_format

        def op(value: Tensor, _: Any, padding: str) -> Tensor:
            if count == 1:
                value = expand_dims(value, axes[0])
            result = function(value, window, steps, padding, name=scope, data_format=form)
            return squeeze(result, [axes[0]]) if count == 1 else result

        return with_space_to_batch(
            input=input, dilation_rate=rate, padding=padding, op=op, spatial_dims=axes,
            filter_shape=window_shape,
        )  # fmt: skip
