"""Functions of networkx that returned matrices, whose ``*`` multiplies them."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def to_numpy_matrix(G: Any, *args: Any, **options: Any) -> Any:
    """Return the adjacency matrix of a graph."""
    import numpy as np

    return np.asmatrix(import_module("networkx").to_numpy_array(G, *args, **options))


def to_scipy_sparse_matrix(G: Any, *args: Any, **options: Any) -> Any:
    """Return the adjacency matrix of a graph, which is sparse."""
    import scipy.sparse

    found = import_module("networkx").to_scipy_sparse_array(G, *args, **options)
    return getattr(scipy.sparse, f"{found.format}_matrix")(found)
