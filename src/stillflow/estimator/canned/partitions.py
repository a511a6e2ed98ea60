"""Features of canned models, and partitions of their variables for parameter servers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.variables.partitioned import min_max_variable_partitioner

_LARGE = 64 << 20  # bytes


def check_features(features: Any) -> None:
    """Raise ValueError for features that are no dict."""
    if not isinstance(features, dict):
        raise ValueError(
            f"features should be a dictionary of `Tensor`s. Given type: {type(features)}"
        )


def by_servers(config: Any) -> Callable[..., Any]:
    """Cuts variables for as many parameter servers as there are."""
    return min_max_variable_partitioner(max_partitions=_servers(config))


def by_servers_if_large(config: Any) -> Callable[..., Any]:
    """Partition like `by_servers`, into slices of 64 MiB or more."""
    return min_max_variable_partitioner(max_partitions=_servers(config), min_slice_size=_LARGE)


def _servers(config: Any) -> int:
    return config.num_ps_replicas if config else 0
