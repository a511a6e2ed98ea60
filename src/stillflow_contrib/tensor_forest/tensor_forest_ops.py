"""`tf.contrib.tensor_forest.tensor_forest_ops`: additional operations of forests."""

from __future__ import annotations

from stillflow_contrib.ops.tensor_forest.conversions import (
    reinterpret_string_to_float,
    scatter_add_ndim,
)

__all__ = ["reinterpret_string_to_float", "scatter_add_ndim"]
