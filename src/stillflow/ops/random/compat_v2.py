"""The functions of `tf.compat.v2.random` whose arguments differ from those of `tf.random`."""

from __future__ import annotations

from typing import Any

from stillflow.graph import dtypes, random_seed
from stillflow.graph.export import export
from stillflow.ops.random import poisson
from stillflow.util.newer_arguments import handed_on

random_poisson = export("compat.v2.random.poisson")(
    handed_on(
        "shape, lam, dtype=..., seed=None, name=None",
        poisson,
        "random_poisson",
        dtype=dtypes.float32,
    )
)


@export("compat.v2.random.set_seed")
def set_seed(seed: Any) -> None:
    """See `tf.set_random_seed`."""
    random_seed.set_random_seed(seed)
