"""``tensorflow.python.eager.graph_only_ops``: nodes of the default graph in eager code, too."""

from __future__ import annotations

from typing import Any

from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.operation import Tensor


def graph_placeholder(dtype: Any, shape: Any, name: str | None = None) -> Tensor:
    """Return a placeholder of the graph."""
    from stillflow.ops.constants import placeholder

    return placeholder(dtype, shape, name)


def graph_zeros_like(tensor: Any) -> Tensor:
    """Return a `ZerosLike` node of the graph."""
    from stillflow.graph.build import apply
    from stillflow.graph.card import get

    made: Tensor = apply(get("ZerosLike"), [convert_to_tensor(tensor)], {}, "zeros_like")
    return made
