"""The functions of `tf.compat.v2.linalg` whose arguments differ from those of `tf.linalg`."""

from __future__ import annotations

from typing import Any

from stillflow.graph.export import export
from stillflow.graph.lazy import LazyModule
from stillflow.graph.operation import Tensor

# By path, since public functions of the packages hide modules of their names.
norms: Any = LazyModule("stillflow.linalg.norms")


@export("compat.v2.norm", "compat.v2.linalg.norm")
def norm(
    tensor: Any,
    ord: Any = "euclidean",
    axis: Any = None,
    keepdims: Any = None,
    name: str | None = None,
) -> Tensor:
    """See `tf.norm`."""
    return norms.norm(tensor, ord, axis, keepdims, name)  # type: ignore[no-any-return]
