"""Files of TensorBoard's plugins next to the events."""

from __future__ import annotations

import abc
from typing import Any

from stillflow.graph.graph import get_default_graph

_COLLECTION = "__tensorboard_plugin_asset__"


class PluginAsset(abc.ABC):
    """Assets that one plugin keeps with a graph.

    Attributes:
      plugin_name: the plugin's name, the directory of its files.
    """

    plugin_name: str | None = None

    @abc.abstractmethod
    def assets(self) -> dict[str, Any]:
        """Return {name of a file: its contents}."""
        raise NotImplementedError


def get_plugin_asset(plugin_asset_cls: Any, graph: Any = None) -> Any:
    """Return the graph's asset of a class, and make it if there is none.

    ValueError if the class has no name, or another class has that name.
    """
    graph = graph or get_default_graph()
    name = plugin_asset_cls.plugin_name
    if not name:
        raise ValueError(f"Class {plugin_asset_cls.__name__} has no plugin_name")
    container = _only(graph, name)
    if not container:
        instance = plugin_asset_cls()
        graph.add_to_collection(_COLLECTION + name, instance)
        graph.add_to_collection(_COLLECTION, name)
        return instance
    if not isinstance(container[0], plugin_asset_cls):
        raise ValueError(
            f"Plugin name collision between classes {plugin_asset_cls.__name__} and "
            f"{type(container[0]).__name__}"
        )
    return container[0]


def get_all_plugin_assets(graph: Any = None) -> list[Any]:
    """Return all assets of a graph, by default of the default graph."""
    graph = graph or get_default_graph()
    return [each for name in graph.get_collection(_COLLECTION) for each in _only(graph, name)]


def _only(graph: Any, name: str) -> list[Any]:
    container: list[Any] = graph.get_collection(_COLLECTION + name)
    if len(container) > 1:
        raise ValueError(f"Collection for {name} had {len(container)} items, expected 1")
    return container
