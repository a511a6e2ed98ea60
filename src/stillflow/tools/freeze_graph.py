"""Put a checkpoint's values into a graph as constants: one file with all that inference needs."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from stillflow.graph import trust
from stillflow.graph.importer import import_graph_def
from stillflow.protos import GraphDef, MetaGraphDef, SaverDef
from stillflow.tools import saved_model_utils
from stillflow.tools.command_line import names, parser, read_message, write_message

_PARTITIONED = (
    "Models containing partition variables cannot be converted from checkpoint files. Please pass "
    "in a SavedModel using the flag --input_saved_model_dir."
)
_FROZEN = (
    "No variables were found in this model. It is likely the model was frozen previously. You "
    "cannot freeze a graph twice."
)


def freeze_graph_with_def_protos(
    input_graph_def: Any,
    input_saver_def: Any,
    input_checkpoint: Any,
    output_node_names: str,
    restore_op_name: Any,
    filename_tensor_name: Any,
    output_graph: Any,
    clear_devices: bool,
    initializer_nodes: str,
    variable_names_whitelist: str = "",
    variable_names_blacklist: str = "",
    input_meta_graph_def: Any = None,
    input_saved_model_dir: Any = None,
    saved_model_tags: Sequence[str] | None = None,
    checkpoint_version: int = SaverDef.V2,
) -> Any:
    """Return a GraphDef with constants instead of variables.

    Args:
      input_graph_def: a `GraphDef`, imported into the default graph.
      input_saver_def: a `SaverDef` whose nodes in the graph restore it, or None.
      input_checkpoint: the checkpoint.
      output_node_names: the nodes that are needed, with commas between them.
      restore_op_name, filename_tensor_name: not used.
      output_graph: the file to write, if any.
      clear_devices: whether to forget on which devices nodes were placed.
      initializer_nodes: nodes to run before, with commas between them.
      variable_names_whitelist: if given, the only variables to replace, with commas.
      variable_names_blacklist: variables to keep, with commas.
      input_meta_graph_def: a `MetaGraphDef` instead of the graph.
      input_saved_model_dir: the directory of a SavedModel instead of graph and checkpoint.
      saved_model_tags: the tags of its graph.
      checkpoint_version: the format of checkpoints that the restoring nodes are made for.

    Raises:
      ValueError: If the checkpoint or the output names are missing, or nothing can be frozen.
    """
    from stillflow.graph_util import convert_variables_to_constants
    from stillflow.runtime.session.session import Session
    from stillflow.train.checkpoint_management import checkpoint_exists

    if not input_saved_model_dir and not checkpoint_exists(input_checkpoint):
        raise ValueError(f"Input checkpoint '{input_checkpoint}' doesn't exist!")
    if not output_node_names:
        raise ValueError("You need to supply the name of a node to --output_node_names.")
    graph_def = input_meta_graph_def.graph_def if input_meta_graph_def else input_graph_def
    if clear_devices and graph_def is not None:
        for node in graph_def.node:
            node.device = ""
    if input_graph_def:
        import_graph_def(input_graph_def, name="")
    with Session() as sess:
        if input_saver_def:
            _restore(
                sess, input_checkpoint, saver_def=input_saver_def, write_version=checkpoint_version
            )
        elif input_meta_graph_def:
            _restore_meta_graph(sess, input_meta_graph_def, input_checkpoint)
            _initialize(sess, initializer_nodes)
        elif input_saved_model_dir:
            from stillflow.saved_model.loader import load  # type: ignore[import-not-found]

            load(sess, saved_model_tags or [], input_saved_model_dir)
        else:
            _restore_by_names(sess, input_checkpoint, checkpoint_version)
            _initialize(sess, initializer_nodes)
        result = convert_variables_to_constants(
            sess,
            graph_def,
            names(output_node_names),
            variable_names_whitelist=_optional(variable_names_whitelist),
            variable_names_blacklist=_optional(variable_names_blacklist),
        )
    if output_graph:
        write_message(result, output_graph, True)
    return result


def _optional(text: str) -> list[str] | None:
    return names(text) if text else None


def _initialize(sess: Any, nodes: str) -> None:
    if nodes:
        sess.run(names(nodes))


def _restore(sess: Any, checkpoint: Any, **arguments: Any) -> None:
    from stillflow.train.saver import Saver

    Saver(**arguments).restore(sess, checkpoint)


def _restore_meta_graph(sess: Any, meta_graph_def: Any, checkpoint: Any) -> None:
    from stillflow.train.meta_graph import import_meta_graph

    saver: Any = import_meta_graph(meta_graph_def, clear_devices=True)
    saver.restore(sess, checkpoint)


def _restore_by_names(sess: Any, checkpoint: Any, version: int) -> None:
    """Restores the tensors of the graph that are called as those in a checkpoint."""
    from stillflow.train.checkpoint_utils import new_checkpoint_reader

    graph = sess.graph
    parts = [
        output.name
        for each in graph.get_operations()
        for output in each.outputs
        if re.search(r"/part_\d+/", output.name)
    ]
    tensors, is_partitioned = {}, False
    for key in new_checkpoint_reader(checkpoint).get_variable_to_shape_map():
        try:
            tensors[key] = graph.get_tensor_by_name(f"{key}:0")
        except KeyError:  # global_step and the like
            continue
        is_partitioned = is_partitioned or any(key in part for part in parts)
    try:
        _restore(sess, checkpoint, var_list=tensors, write_version=version)
    except (TypeError, ValueError) as error:
        if isinstance(error, TypeError) and is_partitioned:
            raise ValueError(_PARTITIONED) from error
        if not any(map(_is_variable, graph.get_operations())):
            raise ValueError(_FROZEN) from error
        raise


def _is_variable(operation: Any) -> bool:
    return operation.type.startswith("Variable") or operation.type.endswith("VariableOp")


def freeze_graph(
    input_graph: Any,
    input_saver: Any,
    input_binary: bool,
    input_checkpoint: Any,
    output_node_names: str,
    restore_op_name: Any,
    filename_tensor_name: Any,
    output_graph: Any,
    clear_devices: bool,
    initializer_nodes: str,
    variable_names_whitelist: str = "",
    variable_names_blacklist: str = "",
    input_meta_graph: Any = None,
    input_saved_model_dir: Any = None,
    saved_model_tags: str = "serve",
    checkpoint_version: int = SaverDef.V2,
) -> Any:
    """Return a GraphDef with constants instead of variables; all inputs are files.

    Args:
      input_graph: the file of a `GraphDef`.
      input_saver: the file of a `SaverDef`, if any.
      input_binary: whether these files are serialized, rather than text.
      input_checkpoint: the checkpoint.
      output_node_names: the nodes that are needed, with commas between them.
      restore_op_name, filename_tensor_name: not used.
      output_graph: the file to write, if any.
      clear_devices: whether to forget on which devices nodes were placed.
      initializer_nodes: nodes to run before, with commas between them.
      variable_names_whitelist: if given, the only variables to replace, with commas.
      variable_names_blacklist: variables to keep, with commas.
      input_meta_graph: the file of a `MetaGraphDef` instead of the graph.
      input_saved_model_dir: the directory of a SavedModel instead of graph and checkpoint.
      saved_model_tags: the tags of its graph, with commas between them.
      checkpoint_version: the format of checkpoints that the restoring nodes are made for.

    Raises:
      IOError: If a file is not there.
      ValueError: If the checkpoint or the output names are missing, or nothing can be frozen.
    """
    graph_def = meta_graph_def = saver_def = None
    if input_saved_model_dir:
        tags = saved_model_tags
        graph_def = saved_model_utils.get_meta_graph_def(input_saved_model_dir, tags).graph_def
    elif input_graph:
        graph_def = read_message(GraphDef, input_graph, input_binary, "graph")
    if input_meta_graph:
        meta_graph_def = read_message(MetaGraphDef, input_meta_graph, input_binary, "meta graph")
    if input_saver:
        saver_def = read_message(SaverDef, input_saver, input_binary, "saver")
    return freeze_graph_with_def_protos(
        graph_def,
        saver_def,
        input_checkpoint,
        output_node_names,
        restore_op_name,
        filename_tensor_name,
        output_graph,
        clear_devices,
        initializer_nodes,
        variable_names_whitelist,
        variable_names_blacklist,
        meta_graph_def,
        input_saved_model_dir,
        names(saved_model_tags),
        checkpoint_version=checkpoint_version,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    flags = parser(
        "freeze_graph",
        __doc__,
        ("input_graph", "", "TensorFlow 'GraphDef' file to load."),
        ("input_saver", "", "TensorFlow saver file to load."),
        ("input_checkpoint", "", "TensorFlow variables file to load."),
        ("checkpoint_version", 2, "Tensorflow variable file format: 1 or 2."),
        ("output_graph", "", "Output 'GraphDef' file name."),
        ("input_binary", False, "Whether the input files are in binary format."),
        ("output_node_names", "", "The name of the output nodes, comma separated."),
        ("restore_op_name", "save/restore_all", "Not used."),
        ("filename_tensor_name", "save/Const:0", "Not used."),
        ("clear_devices", True, "Whether to remove device specifications."),
        ("initializer_nodes", "", "Initializer nodes to run before freezing, comma separated."),
        ("variable_names_whitelist", "", "The only variables to freeze, comma separated."),
        ("variable_names_blacklist", "", "Variables not to freeze, comma separated."),
        ("input_meta_graph", "", "TensorFlow 'MetaGraphDef' file to load."),
        ("input_saved_model_dir", "", "Path to the dir with TensorFlow 'SavedModel' file."),
        ("saved_model_tags", "serve", "The tags of the SavedModel's graph, comma separated."),
        ("trust", "pure", "all: let the graph read and write files and run Python."),
    ).parse_args(arguments)
    versions = {1: SaverDef.V1, 2: SaverDef.V2}
    if flags.checkpoint_version not in versions:
        raise ValueError(
            f"Invalid checkpoint version (must be '1' or '2'): {flags.checkpoint_version}"
        )
    flags.checkpoint_version = versions[flags.checkpoint_version]
    arguments_of_function = vars(flags)
    with trust.limited(arguments_of_function.pop("trust")):
        freeze_graph(**arguments_of_function)
    return 0


def run_main() -> NoReturn:
    """Run the program's own command line, and end the program."""
    raise SystemExit(main())


if __name__ == "__main__":
    sys.exit(main())
