"""Tables of an object-based SavedModel, and their asset files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from stillflow.files import gfile
from stillflow.functional.concrete import ConcreteFunction
from stillflow.functional.polymorphic import Function
from stillflow.graph import dtypes
from stillflow.graph.api import control_dependencies
from stillflow.graph.constant_value import constant_value
from stillflow.graph.operation import Operation, Tensor
from stillflow.lookup.interface import LookupInterface
from stillflow.lookup.table_initializers import TrackableAsset
from stillflow.ops.constants import constant, placeholder
from stillflow.protos import AssetFileDef
from stillflow.saved_model import names
from stillflow.saved_model.object_functions import call_in_default_graph
from stillflow.saved_model.signatures import tensor_info
from stillflow.saved_model.writing import free_name
from stillflow.variables.resource_variable import ResourceVariable


def is_table(thing: Any) -> bool:
    """Return True if an object creates and fills a resource of the graph."""
    return hasattr(thing, "_create_resource") and thing.resource_handle is not None


def table_functions(table: Any) -> dict[str, Any]:
    """Return functions without arguments that create, fill and remove a table, by name.

    ValueError if it is filled otherwise, key by key.
    """
    if not hasattr(table, "_initialize"):
        raise ValueError(
            f"{table} cannot be saved with the objects that use it: what it holds is not known "
            "outside of a session."
        )
    was_loaded = not isinstance(table, LookupInterface)
    if was_loaded:  # it has them
        return {}

    def _creator() -> Tensor:
        return new_resource(table)

    def _initializer() -> int:
        table._initialize()
        return 1

    def _destroyer() -> int:
        return 1

    made = {
        "_create_resource": _creator, "_initialize": _initializer, "_destroy_resource": _destroyer,
    }  # fmt: skip
    return {name: Function(function, input_signature=[]) for name, function in made.items()}


def new_resource(table: Any) -> Tensor:
    """Return a resource like a table's in the default graph; the table keeps its own."""
    known = getattr(table, "_table_name", None)
    made: Tensor = table._create_resource()
    if known is not None:
        table._table_name = known
    return made


def filling(table: Any) -> ConcreteFunction:
    """Return the function that fills a table when the model is loaded as a graph."""

    def fill_table() -> Tensor:
        with control_dependencies([table._initialize()]):
            return constant(0.0)

    return Function(fill_table, input_signature=[]).get_concrete_function()


def fill(function: ConcreteFunction, captures: Sequence[Tensor]) -> Operation:
    """Call the result of `filling` in the default graph; return the operation."""
    outputs = call_in_default_graph(function, [], captures)
    return outputs.op


class Assets:
    """The files of a model, in the order in which objects lead to them.

    Attributes:
      sources: where they come from, by the names they get.
      messages: an `AssetFileDef` each.
      variables: of the default graph, each holds a path.
    """

    def __init__(self) -> None:
        self.sources: dict[str, str] = {}
        self.messages: list[Any] = []
        self.variables: list[ResourceVariable] = []
        self._numbers: dict[int, int] = {}

    def add(self, asset: TrackableAsset) -> Tensor:
        """Add a file; return its path in the default graph, which a loader sets.

        Raises:
          ValueError: If the path is none that is known.
        """
        path = constant_value(asset.asset_path)
        if path is None or not path.item():
            raise ValueError(f"The path of an asset is no constant: {asset.asset_path}")
        source = os.fsdecode(path.item())
        name = free_name(source, self.sources)
        self.sources[name] = source
        self._numbers[id(asset)] = len(self.messages)
        given = placeholder(dtypes.string, asset.asset_path.shape, name="asset_path_initializer")
        self.messages.append(AssetFileDef(filename=name, tensor_info=tensor_info(given)))
        variable = ResourceVariable(given, collections=[])
        self.variables.append(variable)
        with control_dependencies([variable.initializer]):
            held: Tensor = variable.read_value()
        return held

    def number_of(self, asset: TrackableAsset) -> int:
        """Return the index of a file's message."""
        return self._numbers[id(asset)]

    def copy(self, export_dir: str) -> None:
        """Copy the files into the directory of a SavedModel."""
        directory = os.path.join(export_dir, names.ASSETS_DIRECTORY)
        gfile.recursive_create_dir_v2(directory)
        for name, source in self.sources.items():
            gfile.copy_v2(source, os.path.join(directory, name), overwrite=True)
