"""Functions of networkx 1 and 2 that networkx 3 has removed, with their results of 2.6.

Matrices are NumPy's and SciPy's, whose ``*`` multiplies them.
"""

from __future__ import annotations

import bz2
import gzip
import os
import pickle
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

_OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open}


def to_numpy_matrix(G: Any, *args: Any, **options: Any) -> Any:
    """Return the adjacency matrix of a graph."""
    import numpy as np

    return np.asmatrix(import_module("networkx").to_numpy_array(G, *args, **options))


def to_scipy_sparse_matrix(G: Any, *args: Any, **options: Any) -> Any:
    """Return the adjacency matrix of a graph, which is sparse."""
    import scipy.sparse

    found = import_module("networkx").to_scipy_sparse_array(G, *args, **options)
    return getattr(scipy.sparse, f"{found.format}_matrix")(found)


def info(G: Any, n: Any = None) -> str:
    """Return a line about a graph, or three about its node `n`."""
    if n is None:
        name = f" named {G.name!r}" if G.name else ""
        counts = f"{G.number_of_nodes()} nodes and {G.number_of_edges()} edges"
        return f"{type(G).__name__}{name} with {counts}"
    if n not in G:
        raise import_module("networkx").NetworkXError(f"node {n} not in graph")
    neighbors = " ".join(map(str, G.neighbors(n)))
    head = f"Node {n} has the following properties:"
    return f"{head}\nDegree: {G.degree(n)}\nNeighbors: {neighbors}"


def read_gpickle(path: Any) -> Any:
    """Load a graph from a pickle: a path, compressed or not by its ending, or an open file."""
    return _with_file(path, "rb", pickle.load)


def write_gpickle(G: Any, path: Any, protocol: int = pickle.HIGHEST_PROTOCOL) -> None:
    """Write a graph as a pickle, to a path or an open file."""
    _with_file(path, "wb", lambda file: pickle.dump(G, file, protocol))


def _with_file(path: Any, mode: str, use: Callable[[Any], Any]) -> Any:
    if not isinstance(path, (str, os.PathLike)):
        return use(path)
    opener = _OPENERS.get(os.path.splitext(path)[1], open)
    with opener(path, mode) as file:
        return use(file)


def connected_component_subgraphs(G: Any, copy: bool = True) -> Iterator[Any]:
    """Yield the connected parts of an undirected graph."""
    return _subgraphs(G, "connected_components", copy)


def strongly_connected_component_subgraphs(G: Any, copy: bool = True) -> Iterator[Any]:
    """Yield the parts of a directed graph whose nodes all reach each other."""
    return _subgraphs(G, "strongly_connected_components", copy)


def weakly_connected_component_subgraphs(G: Any, copy: bool = True) -> Iterator[Any]:
    """Yield the parts of a directed graph that no edge connects."""
    return _subgraphs(G, "weakly_connected_components", copy)


def biconnected_component_subgraphs(G: Any, copy: bool = True) -> Iterator[Any]:
    """Yield the parts of an undirected graph that stay whole without any one node."""
    return _subgraphs(G, "biconnected_components", copy)


def _subgraphs(G: Any, components: str, copy: bool) -> Iterator[Any]:
    for nodes in getattr(import_module("networkx"), components)(G):
        part = G.subgraph(nodes)
        yield part.copy() if copy else part
