"""tf.compat.v2.saved_model.load: the objects of a SavedModel with their variables and functions."""

from __future__ import annotations

import contextlib
import os
from typing import Any

from stillflow import nest
from stillflow.graph import trust
from stillflow.graph.api import add_to_collection, device, init_scope
from stillflow.graph.dtypes import as_dtype
from stillflow.graph.eager_mode import executing_eagerly
from stillflow.graph.export import export
from stillflow.graph.graph_keys import GraphKeys
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_proto import make_ndarray
from stillflow.graph.tensor_shape import TensorShape
from stillflow.lookup.table_initializers import TrackableAsset
from stillflow.ops.constants import constant
from stillflow.ops.control_flow.identity_and_group import group
from stillflow.saved_model import names
from stillflow.saved_model.graph_reading import load_graph
from stillflow.saved_model.object_functions import SignatureMap
from stillflow.saved_model.reading import check_inside, parse_saved_model
from stillflow.saved_model.restored_functions import (
    RestoredConcreteFunction,
    RestoredFunction,
    load_library,
)
from stillflow.saved_model.structures import decode
from stillflow.train.tracking.base import AutoTrackable
from stillflow.train.tracking.restoration import Restoration, open_checkpoint
from stillflow.train.tracking.wrappers import DictWrapper, ListWrapper
from stillflow.variables.base import VariableAggregation, VariableSynchronization
from stillflow.variables.no_dependency import NoDependency
from stillflow.variables.resource_variable import UninitializedVariable, is_resource_variable


@export("compat.v2.saved_model.load", "saved_model.load_v2")
def load(export_dir: Any, tags: Any = None) -> Any:
    """Load the object that `tf.saved_model.save` wrote into the default graph.

    Initializing its variables (`tf.global_variables_initializer()`) gives them the values that
    were saved. In the context of `stillflow.graph.trust.limited` its functions are limited, for
    all who call them.

    Args:
      export_dir: The directory.
      tags: The tags of the graph; they need not be given.

    Returns:
      An object with the same attributes: variables, functions, such objects again. Its attribute
      `signatures` holds the signatures by name.

    Raises:
      IOError: If there is no SavedModel.
      ValueError: If its tags are others.
      NotImplementedError: Where operations do not run when they are called, if no objects were
        saved with it, but a graph alone.
      PermissionDeniedError: If the model is not trusted and names a file outside of its folder.
    """
    message = parse_saved_model(export_dir)
    graph = message.meta_graphs[0] if len(message.meta_graphs) == 1 else None
    if graph is None or not graph.HasField("object_graph_def"):
        if not executing_eagerly():
            raise NotImplementedError(
                f"The SavedModel at {os.fsdecode(export_dir)} holds graphs and no objects. Load it "
                "by tf.compat.v1.saved_model.load(session, tags, export_dir)."
            )
        return load_graph(os.fsdecode(export_dir), tags)
    own = list(graph.meta_info_def.tags)
    if tags is not None and set(nest.flatten(tags)) != set(own):
        raise ValueError(
            f"The SavedModel at {os.fsdecode(export_dir)} has one MetaGraph with tags {own}, but "
            f"got an incompatible argument tags={nest.flatten(tags)} to tf.saved_model.load. You "
            "may omit it, pass 'None', or pass matching tags."
        )
    with init_scope():
        root = _Objects(graph, os.fsdecode(export_dir)).root
    root.tensorflow_version = graph.meta_info_def.tensorflow_version
    root.tensorflow_git_version = graph.meta_info_def.tensorflow_git_version
    return root


class _Resource(AutoTrackable):
    """Table of a SavedModel whose functions create and fill it."""

    _handle: Tensor | None = None

    @property
    def resource_handle(self) -> Tensor:
        """The table itself."""
        if self._handle is None:
            make: Any = self._create_resource  # type: ignore[attr-defined]
            self._handle = make()
        return self._handle


class _Objects:
    """The objects of a SavedModel's `MetaGraphDef`, each made of its message."""

    def __init__(self, meta_graph: Any, export_dir: str) -> None:
        self._message = meta_graph.object_graph_def
        self._assets = meta_graph.asset_file_def
        self._nodes = {node.name: node for node in meta_graph.graph_def.node}
        self._export_dir = export_dir
        self._paths: list[Tensor] = []  # of assets
        self._functions = load_library(meta_graph.graph_def.library)
        self._objects = [self._make(entry) for entry in self._message.nodes]
        self._attach()
        self._describe_functions()
        self._restore()
        for thing in self._objects:
            if isinstance(thing, _Resource):
                self._fill(thing)

    @property
    def root(self) -> Any:
        """The first object."""
        return self._objects[0]

    # ---- Each by itself

    def _make(self, entry: Any) -> Any:
        kind = entry.WhichOneof("kind")
        if kind is None:
            raise ValueError(f"Unknown SavedObject type: {kind!r}")
        return getattr(self, f"_make_{kind}")(getattr(entry, kind))

    def _make_user_object(self, message: Any) -> Any:
        plain: dict[str, Any] = {
            "signature_map": SignatureMap,
            "trackable_list_wrapper": ListWrapper,
            "trackable_dict_wrapper": DictWrapper,
        }
        kind = plain.get(message.identifier)
        # Every object has a class of its own: some can be called, some cannot.
        said = {"_saved_identifier": message.identifier, "_saved_metadata": message.metadata}
        return kind() if kind else type("_UserObject", (AutoTrackable,), said)()

    def _make_asset(self, message: Any) -> TrackableAsset:
        name = self._assets[message.asset_file_def_index].filename
        folder = os.path.join(self._export_dir, names.ASSETS_DIRECTORY)
        if trust.current() is not None:
            check_inside(folder, [name])
        asset = TrackableAsset(os.path.join(folder, name))
        self._paths.append(asset.asset_path)
        return asset

    def _make_function(self, message: Any) -> RestoredFunction:
        spec = decode(message.function_spec.fullargspec)
        if message.function_spec.is_method:
            spec = spec._replace(args=spec.args[1:])
        functions = [self._functions[name] for name in message.concrete_functions]
        return RestoredFunction(spec, decode(message.function_spec.input_signature), functions)

    def _make_bare_concrete_function(self, message: Any) -> RestoredConcreteFunction:
        function = self._functions[message.concrete_function_name]
        function.argument_keywords = list(message.argument_keywords)
        function.positional = message.allowed_positional_arguments
        return function

    def _make_variable(self, message: Any) -> UninitializedVariable:
        return UninitializedVariable(
            name=message.name or None,
            shape=TensorShape(message.shape),
            dtype=as_dtype(message.dtype),
            trainable=message.trainable,
            synchronization=VariableSynchronization(message.synchronization),
            aggregation=VariableAggregation(message.aggregation),
        )

    def _make_constant(self, message: Any) -> Tensor:
        value = self._nodes[message.operation].attr["value"].tensor
        return constant(make_ndarray(value), dtype=as_dtype(value.dtype))

    def _make_resource(self, message: Any) -> Any:
        return _Resource()

    # ---- All together

    def _fill(self, table: Any) -> None:
        """Call the function that fills a table, which may read the model's own assets."""
        with contextlib.ExitStack() as stack:
            for function in getattr(table._initialize, "concrete_functions", ()):
                body = function.graph._body
                captured = function.graph.captured_inputs
                inner = body.inputs[len(body.inputs) - len(captured) :]
                files = [x for x, given in zip(inner, captured, strict=True)
                         if any(given is path for path in self._paths)]  # fmt: skip
                stack.enter_context(trust.reading(body, files))
            filled = table._initialize()
        if not executing_eagerly():
            add_to_collection(GraphKeys.TABLE_INITIALIZERS, filled.op)

    def _attach(self) -> None:
        """Make objects attributes of others, lists' contents first: then they are tracked."""
        pairs = list(zip(self._objects, self._message.nodes, strict=True))
        inner = [pair for pair in reversed(pairs) if isinstance(pair[0], (list, dict))]
        for thing, entry in inner + [pair for pair in pairs if pair not in inner]:
            for child in entry.children:
                _set(thing, child.local_name, self._objects[child.node_id])

    def _describe_functions(self) -> None:
        """Set the structures of functions' arguments and results, and their captures."""
        for name, message in self._message.concrete_functions.items():
            body = self._functions[name].graph
            body.structured_input_signature = decode(message.canonicalized_input_signature)
            body.structured_outputs = decode(message.output_signature)
        for name, message in self._message.concrete_functions.items():
            body = self._functions[name].graph
            used = [self._objects[node] for node in message.bound_inputs]
            body.captured_inputs = [_tensor_of(thing) for thing in used]
            body.variables = [thing for thing in used if is_resource_variable(thing)]

    def _restore(self) -> None:
        """Make variables start with the saved values."""
        path = os.path.join(self._export_dir, names.VARIABLES_DIRECTORY, names.VARIABLES_FILENAME)
        _, graph = open_checkpoint(path)
        with device("CPU"):
            restoration = Restoration(path, graph, constant(path), {})
        restoration.start(self.root)
        found = dict(restoration.objects)
        for entry in self._message.nodes:  # the slots of optimizers, which are no optimizers here
            for slot in entry.slot_variables:
                node = slot.slot_variable_node_id
                found.setdefault(node, self._objects[node])
        for node, thing in found.items():
            if is_resource_variable(thing):
                ops = restoration.ops_of(thing, node)
                thing._initializer_op = ops[0] if len(ops) == 1 else group(*ops)


def _tensor_of(thing: Any) -> Tensor:
    for attribute in ("handle", "asset_path", "resource_handle"):
        if hasattr(thing, attribute):
            found: Tensor = getattr(thing, attribute)
            return found
    if isinstance(thing, Tensor):
        return thing
    raise ValueError(f"Can't convert node {type(thing)} to tensor")


def _set(thing: Any, name: str, part: Any) -> None:
    if isinstance(thing, list):
        thing.append(part)
    elif isinstance(thing, dict):
        thing[name] = part
    elif isinstance(thing, SignatureMap):
        thing.add(name, part)
    else:
        setattr(thing, name, NoDependency(part) if isinstance(part, Tensor) else part)
        if name == "__call__":
            type(thing).__call__ = lambda self, *args, **kwargs: part(*args, **kwargs)
