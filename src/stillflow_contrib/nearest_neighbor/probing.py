"""Places in hash tables where neighbours of points are looked for."""

from __future__ import annotations

from typing import Any

from stillflow.graph.export import export
from stillflow_contrib.ops.nearest_neighbor import hyperplane_lsh_probes_op


@export("contrib.nearest_neighbor.hyperplane_lsh_probes")
def hyperplane_lsh_probes(
    point_hyperplane_product: Any,
    num_tables: Any,
    num_hyperplanes_per_table: Any,
    num_probes: Any,
    name: str | None = None,
) -> Any:
    """Return the buckets in which to search for the neighbours of points, by hyperplanes.

    Args:
      point_hyperplane_product: the product of each point with each hyperplane, float32 or float64:
        [points, num_tables * num_hyperplanes_per_table].
      num_tables: an int32 scalar, up to 1000.
      num_hyperplanes_per_table: an int32 scalar, up to 30.
      num_probes: how many places are wanted for each point, an int32 scalar. The first are the
        points' own places in each table, the others those that near points are likely to be at.
      name: of the operation.

    Returns:
      A named tuple of int32 [points, num_probes]: `probes`, the places, and `table_ids`, the tables
      that they are in.

    Raises:
      InvalidArgumentError: when run with numbers that do not fit.
      InternalError: when run, if there are fewer places.
    """
    return hyperplane_lsh_probes_op(
        point_hyperplane_product, num_tables, num_hyperplanes_per_table, num_probes, name=name
    )
