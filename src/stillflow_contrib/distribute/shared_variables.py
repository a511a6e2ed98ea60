"""Creators of variables that replicas share, each with its own function and one common store."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.distribute.replica_threads import SharedVariables


def make_fn(shared_variable_store: dict[str, list[Any]], device_id: int) -> Callable[..., Any]:
    """Return the variable creator of a replica.

    Args:
      shared_variable_store: the variables that the first replica has made, by plain names.
      device_id: the replica's number; the first one, 0, makes the variables that others find.
    """
    return SharedVariables(shared_variable_store).creator(device_id)
