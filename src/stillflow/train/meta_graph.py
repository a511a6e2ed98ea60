"""tf.train.export_meta_graph and import_meta_graph: graphs with collections and savers."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from stillflow import errors
from stillflow.files import sniff, whole_file
from stillflow.files.filesystem import name_of
from stillflow.graph.api import get_collection
from stillflow.graph.collection_protos import proto_functions
from stillflow.graph.eager_mode import executing_eagerly
from stillflow.graph.export import export
from stillflow.graph.graph import Graph, get_default_graph
from stillflow.graph.graph_keys import GraphKeys
from stillflow.graph.importer import import_graph_def
from stillflow.ops.control_flow.contexts import with_scope, without_scope
from stillflow.platform import tf_logging as logging
from stillflow.protos import MetaGraphDef
from stillflow.train.meta_graph_export import export_scoped_meta_graph
from stillflow.variables.collections import all_saveable_objects

if TYPE_CHECKING:
    from stillflow.train.saver import Saver


_NOT_EAGERLY = (
    "Exporting/importing meta graphs is not supported when eager execution is enabled. No graph "
    "exists when eager execution is enabled."
)
# Collections that held names in old MetaGraphs, and hold messages now.
_ONCE_NAMES = (GraphKeys.LOCAL_VARIABLES, GraphKeys.MODEL_VARIABLES, GraphKeys.METRIC_VARIABLES)


@export("train.export_meta_graph")
def export_meta_graph(
    filename: str | None = None,
    meta_info_def: Any = None,
    graph_def: Any = None,
    saver_def: Any = None,
    collection_list: Sequence[str] | None = None,
    as_text: bool = False,
    graph: Graph | None = None,
    export_scope: str | None = None,
    clear_devices: bool = False,
    clear_extraneous_savers: bool = False,
    strip_default_attrs: bool = False,
    save_debug_info: bool = False,
    **kwargs: Any,
) -> Any:
    """Return a graph, its collections and a saver as a `MetaGraphDef`.

    Args:
      filename: The file to write it to, if any.
      meta_info_def: A `MetaInfoDef` to start with.
      graph_def: The nodes, by default all of the graph.
      saver_def: The `SaverDef` of the saver.
      collection_list: The collections to write, by default all.
      as_text: Whether the file is text.
      graph: The graph, by default the default one.
      export_scope: The name scope to export, which is removed from names.
      clear_devices: Whether devices are left out.
      clear_extraneous_savers: Whether nodes of other savers are.
      strip_default_attrs: Whether attributes with their default values are.
      save_debug_info: Whether a second file tells where the program made the nodes.
      **kwargs: As for `export_scoped_meta_graph`.

    Raises:
      RuntimeError: If operations run eagerly and no graph is given.
    """
    options = {**locals(), **kwargs}
    del options["kwargs"]
    if executing_eagerly() and (graph_def is None or graph is None):
        raise RuntimeError(_NOT_EAGERLY)
    return export_scoped_meta_graph(**options)[0]


@export("train.import_meta_graph")
def import_meta_graph(
    meta_graph_or_file: Any,
    clear_devices: bool = False,
    import_scope: str | None = None,
    **kwargs: Any,
) -> Saver | None:
    """Add the graph and the collections of a `MetaGraphDef` to the default graph.

    Args:
      meta_graph_or_file: The message, or the file that holds it.
      clear_devices: Whether devices are left out.
      import_scope: A name scope to add.
      **kwargs: As for `import_scoped_meta_graph`.

    Returns:
      Its saver; if it tells none, one of all variables, or None if there are none.

    Raises:
      IOError: If there is no such file, or it is no such message.
      RuntimeError: If eager execution is enabled.

    Example:
      >>> with tf.Graph().as_default() as other: w = tf.get_variable("w", [2])
      >>> saver = tf.train.import_meta_graph(tf.train.export_meta_graph(graph=other))
      >>> [v.name for v in tf.global_variables()]
      ['w:0']
    """
    return import_meta_graph_with_return_elements(
        meta_graph_or_file, clear_devices, import_scope, **kwargs
    )[0]


def import_meta_graph_with_return_elements(
    meta_graph_or_file: Any,
    clear_devices: bool = False,
    import_scope: str | None = None,
    return_elements: Sequence[str] | None = None,
    **kwargs: Any,
) -> tuple[Any, Any]:
    """Import like `import_meta_graph`, and return the named operations and tensors too."""
    if executing_eagerly():
        raise RuntimeError(_NOT_EAGERLY)
    message = as_meta_graph(meta_graph_or_file)
    variables, elements = import_scoped_meta_graph_with_return_elements(
        message,
        clear_devices=clear_devices,
        import_scope=import_scope,
        return_elements=return_elements,
        **kwargs,
    )
    return _saver_of(message, import_scope, variables), elements


def _saver_of(message: Any, import_scope: str | None, variables: dict[str, Any]) -> Saver | None:
    from stillflow.train.saver import Saver

    if message.HasField("saver_def"):
        scope = import_scope
        for name, variable in variables.items():
            scope = variable.name[: -len(name)]
            break
        return Saver(saver_def=message.saver_def, name=scope)
    if all_saveable_objects(scope=import_scope):
        return Saver()
    logging.info("Saver not created because there are no variables in the graph to restore")
    return None


def as_meta_graph(meta_graph_or_file: Any) -> Any:
    """Return a `MetaGraphDef`, from itself or from a file."""
    if isinstance(meta_graph_or_file, MetaGraphDef):
        return meta_graph_or_file
    return read_meta_graph_file(name_of(meta_graph_or_file))


def read_meta_graph_file(filename: str) -> Any:
    """Read a `MetaGraphDef` from a file, binary or text; IOError if there is none."""
    from google.protobuf import text_format
    from google.protobuf.message import DecodeError

    if not whole_file.exists(filename):
        raise OSError(f"File {filename} does not exist.")
    content = whole_file.read(filename)
    guess = sniff.describe(content[:512])
    try:
        if guess is None:
            return MetaGraphDef.FromString(content)
    except DecodeError:
        pass
    message = MetaGraphDef()
    try:
        text_format.Merge(content.decode("utf-8"), message)
    except (text_format.ParseError, UnicodeDecodeError, RecursionError) as error:
        what = f" It is {guess}." if guess else ""
        raise OSError(f"Cannot parse file {filename}: {error}.{what}") from None
    if not content:
        raise OSError(f"Cannot parse file {filename}: it is empty.")
    return message


def import_scoped_meta_graph(
    meta_graph_or_file: Any,
    clear_devices: bool = False,
    graph: Graph | None = None,
    import_scope: str | None = None,
    input_map: dict[str, Any] | None = None,
    unbound_inputs_col_name: str | None = "unbound_inputs",
    restore_collections_predicate: Callable[[str], bool] = lambda key: True,
) -> dict[str, Any]:
    """Add a `MetaGraphDef`, or that in a file, to a graph; give variables by their names in it.

    `input_map` has tensors for inputs, by name; a collection names the inputs that need one, or
    ValueError. `restore_collections_predicate` says which collections are taken over.
    """
    return import_scoped_meta_graph_with_return_elements(
        meta_graph_or_file,
        clear_devices,
        graph,
        import_scope,
        input_map,
        unbound_inputs_col_name,
        restore_collections_predicate,
    )[0]


def import_scoped_meta_graph_with_return_elements(
    meta_graph_or_file: Any,
    clear_devices: bool = False,
    graph: Graph | None = None,
    import_scope: str | None = None,
    input_map: dict[str, Any] | None = None,
    unbound_inputs_col_name: str | None = "unbound_inputs",
    restore_collections_predicate: Callable[[str], bool] = lambda key: True,
    return_elements: Sequence[str] | None = None,
) -> tuple[dict[str, Any], Any]:
    """Import like `import_scoped_meta_graph`, and return the named operations and tensors too."""
    if executing_eagerly():
        raise ValueError(_NOT_EAGERLY.partition(". ")[0] + ".")
    message = as_meta_graph(meta_graph_or_file)
    if unbound_inputs_col_name:
        _check_bound(message, unbound_inputs_col_name, input_map)
    graph = graph or get_default_graph()
    with graph.as_default():
        producer_ops = None
        if message.meta_info_def.HasField("stripped_op_list"):
            producer_ops = message.meta_info_def.stripped_op_list
        if clear_devices:
            for node in message.graph_def.node:
                node.device = ""
        scope = graph.unique_name(import_scope or "", mark_as_used=False)
        elements = import_graph_def(
            message.graph_def,
            name=import_scope or scope,
            input_map=input_map,
            producer_op_list=producer_ops,
            return_elements=return_elements,
        )
        _import_collections(
            message,
            graph,
            scope,
            lambda key: key != unbound_inputs_col_name and restore_collections_predicate(key),
        )
        variables = get_collection(GraphKeys.GLOBAL_VARIABLES, scope=scope)
        return {without_scope(variable.name, scope): variable for variable in variables}, elements


def _check_bound(message: Any, collection: str, input_map: dict[str, Any] | None) -> None:
    if collection not in message.collection_def:
        return
    definition = message.collection_def[collection]
    kind = definition.WhichOneof("kind")
    values = getattr(definition, kind).value if kind else []
    names = [value.decode() if isinstance(value, bytes) else value for value in values]
    if names and (not input_map or sorted(names) != sorted(input_map)):
        missing = [name for name in names if not input_map or name not in input_map]
        raise ValueError(
            f"Graph contains unbound inputs: {','.join(missing)}. Must provide these inputs "
            "through input_map."
        )


# ---- Collections


def _import_collections(
    message: Any, graph: Graph, scope: str, wanted: Callable[[str], bool]
) -> None:
    """Add the collections of a MetaGraph; variables in several of them are made once."""
    has_trainable = _variables_tell_trainable(message.meta_info_def.tensorflow_version)
    first = GraphKeys.TRAINABLE_VARIABLES
    made: dict[bytes, Any] = {}
    for key in sorted(message.collection_def, key=lambda key: (key != first, key)):
        if not wanted(key):
            continue
        definition = message.collection_def[key]
        kind = definition.WhichOneof("kind")
        if kind is None:
            logging.error("Cannot identify data type for collection %s. Skipping.", key)
            continue
        functions = proto_functions(
            GraphKeys.GLOBAL_VARIABLES if key == GraphKeys.METRIC_VARIABLES else key
        )
        if functions.from_proto is None or kind != "bytes_list":
            _import_values(key, kind, getattr(definition, kind).value, graph, scope)
            continue
        shared = made if key in GraphKeys._VARIABLE_COLLECTIONS else {}
        for value in definition.bytes_list.value:
            thing = shared.get(value)
            if thing is None:
                proto = _entry(functions.proto_type, value, key)
                if shared is made and not has_trainable:
                    proto.trainable = key == first
                thing = shared[value] = functions.from_proto(proto, import_scope=scope)
            graph.add_to_collection(key, thing)


def _entry(proto_type: Any, content: bytes, key: str) -> Any:
    from google.protobuf.message import DecodeError

    try:
        return proto_type.FromString(content)
    except DecodeError as error:
        text = f"An entry of the collection '{key}' of a MetaGraphDef is damaged: {error}"
        raise errors.data_loss(text) from None


def _import_values(key: str, kind: str, values: Any, graph: Graph, scope: str) -> None:
    if key in _ONCE_NAMES:
        logging.warning(
            "The saved meta_graph is possibly from an older release:\n"
            "'%s' collection should be of type 'byte_list', but instead is of type '%s'.",
            key,
            kind,
        )
    for value in values:
        if kind == "node_list":
            value = graph.as_graph_element(with_scope(value, scope))
        elif kind == "bytes_list":
            value = _in_scope(value, scope)
        elif kind == "int64_list":
            value = int(value)
        graph.add_to_collection(key, value)


def _in_scope(value: bytes, scope: str) -> Any:
    """Bytes, or with a scope, as TensorFlow has it, the text as if it were a name."""
    return with_scope(value.decode(), scope) if scope else value


def _variables_tell_trainable(version: str) -> bool:
    """Return True if the version that wrote a MetaGraph wrote `VariableDef.trainable`."""
    numbers = [int(number) for number in re.findall(r"\d+", version)[:2]]
    return not numbers or numbers >= [1, 9]


def copy_scoped_meta_graph(
    from_scope: str,
    to_scope: str,
    from_graph: Graph | None = None,
    to_graph: Graph | None = None,
) -> dict[str, Any]:
    """Copy a name scope of a graph to another scope or graph; return the new variables."""
    source, target = (graph or get_default_graph() for graph in (from_graph, to_graph))
    if (source, from_scope) == (target, to_scope):
        raise ValueError(
            "'from_scope' and 'to_scope' need to be different when performing copy in the same "
            "graph."
        )
    exported = export_scoped_meta_graph(export_scope=from_scope, graph=source)[0]
    return import_scoped_meta_graph(exported, graph=target, import_scope=to_scope)
