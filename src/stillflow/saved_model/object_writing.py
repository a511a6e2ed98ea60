"""tf.saved_model.save: objects, their variables and functions, as a SavedModel."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from stillflow import nest
from stillflow.files import gfile, whole_file
from stillflow.functional.concrete import ConcreteFunction
from stillflow.functional.polymorphic import Function
from stillflow.graph import dtypes
from stillflow.graph.api import control_dependencies
from stillflow.graph.constant_value import constant_value
from stillflow.graph.eager_mode import executing_eagerly
from stillflow.graph.export import export
from stillflow.graph.func_graph import FuncGraph
from stillflow.graph.graph import Graph, get_default_graph
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_spec import TensorSpec
from stillflow.keras.backend.session import get_session
from stillflow.lookup.table_initializers import TrackableAsset
from stillflow.ops.constants import constant, placeholder
from stillflow.ops.control_flow.identity_and_group import identity, no_op
from stillflow.protos import (
    SavedBareConcreteFunction,
    SavedConcreteFunction,
    SavedFunction,
    SavedModel,
    SavedObjectGraph,
    SaverDef,
)
from stillflow.saved_model import names, table_writing
from stillflow.saved_model.object_functions import (
    SIGNATURES,
    SignatureMap,
    argument_names,
    call_in_default_graph,
    concrete_functions,
    functions_of,
    placeholders_of,
    signatures_to_export,
)
from stillflow.saved_model.signatures import build_signature_def, op_signature_def, tensor_info
from stillflow.saved_model.structures import encode
from stillflow.saved_model.table_writing import is_table
from stillflow.train.meta_graph_export import create_meta_graph_def
from stillflow.train.saver_builder import BaseSaverBuilder
from stillflow.train.tracking.base import TrackableReference, is_trackable, parts_of
from stillflow.train.tracking.object_graph import ObjectGraph
from stillflow.train.tracking.sharded_saves import restore_from_shards
from stillflow.train.tracking.trackable_saver import SavedGraph, TrackableSaver
from stillflow.train.tracking.wrappers import DictWrapper, ListWrapper
from stillflow.util import tf_inspect
from stillflow.variables.base import VariableV2
from stillflow.variables.resource_variable import (
    copy_to_graph_uninitialized,
    is_resource_variable,
)

# The messages say so of objects that are nothing but their parts.
_KINDS = ((SignatureMap, "signature_map"), (DictWrapper, "trackable_dict_wrapper"),
          (ListWrapper, "trackable_list_wrapper"), (object, "_generic_user_object"))  # fmt: skip


@export("saved_model.save", "saved_model.experimental.save", "compat.v2.saved_model.save")
def save(obj: Any, export_dir: Any, signatures: Any = None) -> None:
    """Write an object with its variables and functions as a SavedModel.

    The variables have the values of the default session, else of Keras' session.

    Args:
      obj: An object that can be saved: a `tf.Module`, `tf.train.Checkpoint`, ...
      export_dir: The directory.
      signatures: What programs without the objects can call: a `tf.function` with an input
        signature, a concrete function, or a dictionary of such; by default the only function of
        `obj` that has one.

    Raises:
      ValueError: If `obj` cannot be saved, or a signature is none.
      AssertionError: If a function uses a variable that `obj` does not lead to, or if this is
        called inside of a function.
    """
    if isinstance(get_default_graph(), FuncGraph):
        raise AssertionError(
            "tf.saved_model.save is not supported inside a traced @tf.function. Move the call to "
            "the outer eagerly-executed context."
        )
    if not is_trackable(obj):
        raise ValueError(f"Expected a Trackable object for export, got {obj}.")
    export_dir = os.fsdecode(export_dir)
    from stillflow.keras.saving.attached import layers_with_functions

    with layers_with_functions(obj):
        _write(obj, export_dir, signatures_to_export(obj, signatures))


def _write(obj: Any, export_dir: str, found: dict[str, ConcreteFunction]) -> None:
    parts = [] if _has_signatures(obj) else [TrackableReference(SIGNATURES, SignatureMap(found))]
    message = SavedModel(saved_model_schema_version=names.SAVED_MODEL_SCHEMA_VERSION)
    export = _Export(ObjectGraph(obj, parts), found)
    message.meta_graphs.add().CopyFrom(export.meta_graph())
    variables = os.path.join(export_dir, names.VARIABLES_DIRECTORY)
    gfile.recursive_create_dir_v2(variables)
    export.assets.copy(export_dir)
    prefix = os.path.join(variables, names.VARIABLES_FILENAME)
    TrackableSaver(obj, parts).save(prefix, None if executing_eagerly() else get_session())
    path = os.path.join(export_dir, names.SAVED_MODEL_FILENAME_PB)
    whole_file.write(path, message.SerializeToString(), sync=False)


def _has_signatures(obj: Any) -> bool:
    """Return True if an object was loaded with signatures; ValueError for others of that name."""
    own = {part.name: part.ref for part in parts_of(obj)}.get(SIGNATURES)
    if own is not None and not isinstance(own, SignatureMap):
        raise ValueError(
            f"Exporting an object {obj} which has an attribute named '{SIGNATURES}'. This is a "
            "reserved attribute used to store SavedModel signatures in objects which come from "
            f"`tf.saved_model.load`. Delete this attribute (e.g. 'del obj.{SIGNATURES}') before "
            "saving if this shadowing is acceptable."
        )
    return own is not None


class _Export:
    """Numbered objects, including functions, and a graph for all of them; signatures by name."""

    def __init__(self, objects: ObjectGraph, signatures: dict[str, ConcreteFunction]) -> None:
        self._objects = objects
        self._signatures = signatures
        self._message = SavedObjectGraph()
        objects.write_nodes(self._message)
        self._concrete: dict[str, ConcreteFunction] = {}
        self._nodes: dict[Tensor, int] = {}  # of functions' captures
        self._inside: dict[Tensor, Tensor] = {}  # stand-ins in the graph
        self._copies: dict[int, Any] = {}  # variables of the graph, by the id of the object's
        self._fillings: list[ConcreteFunction] = []  # of tables
        self.assets = table_writing.Assets()
        self._add_functions()

    def _add_functions(self) -> None:
        numbers: dict[Any, int] = {}
        for entry, thing in zip(list(self._message.nodes), self._objects.objects, strict=True):
            functions = functions_of(thing)
            if is_table(thing):
                functions.update(table_writing.table_functions(thing))
                self._fillings.append(table_writing.filling(thing))
            for name, function in functions.items():
                if function not in numbers:
                    numbers[function] = len(self._message.nodes)
                    self._describe_function(self._message.nodes.add(), function)
                entry.children.add(node_id=numbers[function], local_name=name)

    def _describe_function(self, entry: Any, function: Any) -> None:
        found = concrete_functions(function)
        self._concrete.update((one.library_function.name, one) for one in found)
        if isinstance(function, ConcreteFunction):
            keywords = argument_names(function)
            entry.bare_concrete_function.CopyFrom(SavedBareConcreteFunction(
                concrete_function_name=function.library_function.name, argument_keywords=keywords,
                allowed_positional_arguments=1 if len(keywords) == 1 else 0,
            ))  # fmt: skip
            return
        spec = tf_inspect.FullArgSpec(*function.function_spec)
        names = [one.library_function.name for one in found]
        entry.function.CopyFrom(SavedFunction(concrete_functions=names))
        described = entry.function.function_spec
        described.fullargspec.CopyFrom(encode(spec._replace(annotations={})))
        described.is_method = _is_method(function)
        described.input_signature.CopyFrom(encode(function.input_signature))

    def meta_graph(self) -> Any:
        """Return the `MetaGraphDef`.

        Raises:
          AssertionError: If a function captures what the objects do not lead to.
          ValueError: If it captures a tensor that is computed.
        """
        with Graph().as_default() as graph:
            self._add_state()
            filled = [table_writing.fill(one, self._captures(one)) for one in self._fillings]
            with control_dependencies([*filled, *(v.initializer for v in self.assets.variables)]):
                start = no_op()
            signatures = {
                key: self._add_signature(key, function)
                for key, function in sorted(self._signatures.items())
            }
            for function in self._concrete.values():
                function.add_to_graph(graph)
            saver_def = self._add_saver()
        message = create_meta_graph_def(
            graph_def=graph.as_graph_def(add_shapes=True), saver_def=saver_def,
            collection_list=[], graph=graph, strip_default_attrs=True,
        )  # fmt: skip
        message.asset_file_def.extend(self.assets.messages)
        message.meta_info_def.tags.append(names.SERVING)
        message.collection_def[names.MAIN_OP_KEY].node_list.value.append(start.name)
        signatures[names.INIT_OP_SIGNATURE_KEY] = op_signature_def(
            start, names.INIT_OP_SIGNATURE_KEY
        )
        for key, signature in signatures.items():
            message.signature_def[key].CopyFrom(signature)
        self._describe_objects()
        message.object_graph_def.CopyFrom(self._message)
        return message

    # ---- The graph

    def _add_state(self) -> None:
        """Add variables and constants like those that the functions use."""
        for node, thing in enumerate(self._objects.objects):
            if is_resource_variable(thing):
                copy = self._copies[id(thing)] = copy_to_graph_uninitialized(thing)
                self._nodes[thing.handle], self._inside[thing.handle] = node, copy.handle
            elif isinstance(thing, TrackableAsset):
                self._nodes[thing.asset_path] = node
                self._inside[thing.asset_path] = self.assets.add(thing)
            elif is_table(thing):
                self._nodes[thing.resource_handle] = node
                self._inside[thing.resource_handle] = table_writing.new_resource(thing)
        for function in [*self._concrete.values(), *self._fillings]:
            for capture in function.captured_inputs:
                if capture.dtype in (dtypes.resource, dtypes.variant) or capture in self._nodes:
                    continue
                value = constant_value(capture)
                if value is None:
                    raise ValueError(
                        f"Attempted to save a function {function.name!r} which references "
                        f"a symbolic Tensor {capture} that is not a simple constant. This is not "
                        "supported."
                    )
                made = self._inside[capture] = constant(value, capture.dtype)
                self._nodes[capture] = len(self._message.nodes)
                self._message.nodes.add().constant.operation = made.op.name

    def _captures(self, function: ConcreteFunction) -> list[Tensor]:
        for capture in function.captured_inputs:
            if capture not in self._inside:
                raise AssertionError(
                    f"Tried to export a function which references untracked object {capture!s}."
                    "TensorFlow objects (e.g. tf.Variable) captured by functions must be tracked "
                    "by assigning them to an attribute of a tracked object or assigned to an "
                    "attribute of the main object directly."
                )
        return [self._inside[capture] for capture in function.captured_inputs]

    def _add_signature(self, key: str, function: ConcreteFunction) -> Any:
        given = placeholders_of(key, function)
        outputs = call_in_default_graph(function, list(given.values()), self._captures(function))
        return build_signature_def(
            {name: tensor_info(tensor) for name, tensor in given.items()},
            {name: tensor_info(tensor) for name, tensor in outputs.items()},
            names.PREDICT_METHOD_NAME,
        )

    def _add_saver(self) -> Any:
        """Add the save and restore operations for programs without the objects."""
        filename = placeholder(dtypes.string, shape=[], name="saver_filename")
        for thing in self._objects.objects:
            if isinstance(thing, VariableV2) and id(thing) not in self._copies:
                reference = thing._ref()  # type: ignore[attr-defined]
                raise ValueError(f"{reference} must be from the same graph as {filename}.")
        saveables, message = self._objects.serialize(self._copies)
        saved_graph = SavedGraph(message.SerializeToString(deterministic=True))

        def traced_save(file_prefix: Tensor) -> Tensor:
            return _after([BaseSaverBuilder().save_op(file_prefix, [*saveables, saved_graph])],
                          file_prefix)  # fmt: skip

        def traced_restore(file_prefix: Tensor) -> Tensor:
            restored = restore_from_shards(file_prefix, saveables)
            return _after([op for _, op in restored], file_prefix)

        return SaverDef(
            filename_tensor_name=filename.name,
            save_tensor_name=_call(traced_save, filename).name,
            restore_op_name=_call(traced_restore, filename).op.name,
            version=SaverDef.V2,
        )

    # ---- The objects

    def _describe_objects(self) -> None:
        for thing, entry in zip(self._objects.objects, self._message.nodes, strict=False):
            if is_resource_variable(thing):
                entry.variable.name = thing._shared_name
                entry.variable.dtype = thing.dtype.as_datatype_enum
                entry.variable.trainable = thing.trainable
                entry.variable.synchronization = thing.synchronization.value
                entry.variable.aggregation = thing.aggregation.value
                entry.variable.shape.CopyFrom(thing.shape.as_proto())
            elif isinstance(thing, TrackableAsset):
                entry.asset.asset_file_def_index = self.assets.number_of(thing)
            elif is_table(thing):
                entry.resource.SetInParent()
            else:
                kind = next(kind for types, kind in _KINDS if isinstance(thing, types))
                entry.user_object.identifier = getattr(thing, "_object_identifier", kind)
                entry.user_object.metadata = getattr(thing, "_tracking_metadata", "")
                entry.user_object.version.producer = entry.user_object.version.min_consumer = 1
        for name, function in self._concrete.items():
            described = SavedConcreteFunction(
                bound_inputs=[self._nodes[capture] for capture in function.captured_inputs]
            )
            given = _signature_of(function)
            described.canonicalized_input_signature.CopyFrom(encode(given))
            described.output_signature.CopyFrom(encode(_specs(function.structured_outputs)))
            self._message.concrete_functions[name].CopyFrom(described)


def _is_method(function: Any) -> bool:
    if not isinstance(function, Function):
        return False
    return function._bound is not None or tf_inspect.ismethod(function.python_function)


def _call(function: Callable[[Tensor], Tensor], filename: Tensor) -> Tensor:
    result: Tensor = Function(function, input_signature=[TensorSpec([], dtypes.string)])(filename)
    return result


def _after(operations: list[Any], tensor: Tensor) -> Tensor:
    with control_dependencies(operations):
        return identity(tensor)


def _signature_of(function: ConcreteFunction) -> tuple[tuple[Any, ...], dict[str, TensorSpec]]:
    """Return the arguments of a function, each tensor with the name of its argument."""
    placeholders = iter(zip(function.graph.arguments, argument_names(function), strict=True))

    def one(leaf: Any) -> Any:
        if not isinstance(leaf, (Tensor, TensorSpec)):
            return leaf
        tensor, name = next(placeholders)
        # Placeholders of loaded functions do not have the names of arguments.
        return TensorSpec(leaf.shape.merge_with(tensor.shape), tensor.dtype, name)

    args, kwargs = function.structured_input_signature
    given = tuple(nest.map_structure(one, arg, expand_composites=True) for arg in args)
    return given, {
        key: nest.map_structure(one, kwargs[key], expand_composites=True) for key in sorted(kwargs)
    }


def _specs(structure: Any) -> Any:
    """Return a structure with a `TensorSpec` for each tensor, named by where it is."""

    def one(path: tuple[Any, ...], leaf: Any) -> Any:
        if not isinstance(leaf, Tensor):
            return leaf
        return TensorSpec(leaf.shape, leaf.dtype, "/".join(map(str, path)) or None)

    return nest.map_structure_with_tuple_paths(one, structure, expand_composites=True)
