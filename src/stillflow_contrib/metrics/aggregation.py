"""Pairs of a metric's value and update, sorted into values and updates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stillflow.graph.export import export


@export("contrib.metrics.aggregate_metrics", "contrib.slim.metrics.aggregate_metrics")
def aggregate_metrics(*value_update_tuples: Any) -> tuple[list[Any], list[Any]]:
    """Sorts the pairs that metrics return.

    Args:
      *value_update_tuples: pairs of a value and the operation that updates it.

    Returns:
      A list of the values and a list of the updates.

    Raises:
      ValueError: if there is no pair.
    """
    if not value_update_tuples:
        raise ValueError("Expected at least one value_tensor/update_op pair")
    values, updates = zip(*value_update_tuples, strict=True)
    return list(values), list(updates)


@export("contrib.metrics.aggregate_metric_map", "contrib.slim.metrics.aggregate_metric_map")
def aggregate_metric_map(
    names_to_tuples: Mapping[Any, Any],
) -> tuple[dict[Any, Any], dict[Any, Any]]:
    """Sorts the pairs that metrics return, by their names.

    Args:
      names_to_tuples: name -> pair of a value and the operation that updates it.

    Returns:
      The values by name and the updates by name.

    Raises:
      ValueError: if there is no pair.
    """
    values, updates = zip(*names_to_tuples.values(), strict=True)
    names = list(names_to_tuples)
    return (
        dict(zip(names, values, strict=True)),
        dict(zip(names, updates, strict=True)),
    )
