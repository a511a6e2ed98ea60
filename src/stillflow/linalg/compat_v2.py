"""The functions of `tf.compat.v2.linalg` whose arguments differ from those of `tf.linalg`."""

from __future__ import annotations

from typing import Any

from stillflow.graph.export import export
from stillflow.graph.lazy import LazyModule
from stillflow.util.newer_arguments import handed_on

# By path, since public functions of the packages hide modules of their names.
norms: Any = LazyModule("stillflow.linalg.norms")


norm = export("compat.v2.norm", "compat.v2.linalg.norm")(
    handed_on('tensor, ord="euclidean", axis=None, keepdims=None, name=None', norms, "norm")
)
