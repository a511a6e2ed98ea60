"""The functions of `tf.compat.v2.linalg` whose arguments differ from those of `tf.linalg`."""

from __future__ import annotations

from stillflow.graph.export import export
from stillflow.linalg import norms
from stillflow.util.newer_arguments import handed_on

norm = export("compat.v2.norm", "compat.v2.linalg.norm")(
    handed_on('tensor, ord="euclidean", axis=None, keepdims=None, name=None', norms, "norm")
)
