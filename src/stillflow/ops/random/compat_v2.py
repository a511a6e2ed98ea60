"""The functions of `tf.compat.v2.random` whose arguments differ from those of `tf.random`."""

from __future__ import annotations

from typing import Any

from stillflow.graph import dtypes, random_seed
from stillflow.graph.export import export
from stillflow.graph.lazy import LazyModule
from stillflow.graph.operation import Tensor

# By path, since public functions of the packages hide modules of their names.
poisson: Any = LazyModule("stillflow.ops.random.poisson")


@export("compat.v2.random.poisson")
def random_poisson(
    shape: Any,
    lam: Any,
    dtype: Any = dtypes.float32,
    seed: Any = None,
    name: str | None = None,
) -> Tensor:
    """See `tf.random.poisson`."""
    return poisson.random_poisson(lam, shape, dtype, seed, name)  # type: ignore[no-any-return]


@export("compat.v2.random.set_seed")
def set_seed(seed: Any) -> None:
    """See `tf.set_random_seed`."""
    random_seed.set_random_seed(seed)
