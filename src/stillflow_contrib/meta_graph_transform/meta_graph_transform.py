"""Graph transforms of a MetaGraphDef: its graph rewritten, its collections and signatures cut.

Names with an underscore are those by which TensorFlow's tests reach the steps.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from stillflow.graph.export import export
from stillflow.graph.graph import Graph
from stillflow.graph.graph_keys import GraphKeys
from stillflow.graph.importer import import_graph_def
from stillflow.graph_util import convert_variables_to_constants
from stillflow.platform import tf_logging as logging
from stillflow.protos import GraphDef, MetaGraphDef
from stillflow.runtime.session.session import Session
from stillflow.saved_model import names
from stillflow.tools import graph_transforms
from stillflow.train.saver import Saver
from stillflow_contrib.meta_graph_transform import retained

Nodes = dict[str, list[str]]

_FREEZE = "freeze_graph"
_SPARSIFY = "sparsify_gather"


@export("contrib.meta_graph_transform.meta_graph_transform.meta_graph_transform")
def meta_graph_transform(
    base_meta_graph_def: Any,
    input_names: Sequence[str],
    output_names: Sequence[str],
    transforms: Sequence[str],
    tags: Sequence[str],
    checkpoint_path: str | None = None,
) -> Any:
    """Apply graph transforms to a MetaGraphDef.

    Args:
      base_meta_graph_def: the MetaGraphDef.
      input_names: the names of the nodes that are fed.
      output_names: the names of the nodes that are fetched. What initializes variables, tables
        and sessions, and what savers do, stays as well.
      transforms: those of `TransformGraph`, and "freeze_graph", after which constants stand for
        variables.
      tags: what the new one is for.
      checkpoint_path: the checkpoint that variables are restored from for "freeze_graph".

    Returns:
      A new MetaGraphDef. Of the signatures those are left whose tensors are, of the collections
      what names no removed node; without its saver if the graph is frozen.

    Raises:
      InvalidArgumentError: for a transform that there is not, or cannot be applied.
      UnimplementedError: for an unsupported one.
      ValueError: if a node of the saver was removed, or a collection is of another kind.
    """
    base = base_meta_graph_def
    result = MetaGraphDef()
    graph_def, kept = _do_transforms(
        base.graph_def, input_names, output_names, retained.retained_nodes(base), transforms,
        base.saver_def, checkpoint_path,
    )  # fmt: skip
    result.graph_def.CopyFrom(graph_def)
    result.meta_info_def.CopyFrom(base.meta_info_def)
    result.meta_info_def.ClearField("tags")
    result.meta_info_def.tags.extend(tags)
    removed = _removed(base.graph_def, result.graph_def)
    if _FREEZE not in transforms:
        _add_pruned_saver(base, result, removed)
    for key in base.collection_def:
        _add_pruned_collection(base, result, key, removed)
    _add_new_inits_to_collection(result, kept)
    for key in base.signature_def:
        _add_pruned_signature(base, result, key, removed)
    return result


def _removed(before: Any, after: Any) -> set[str]:
    old, new = ({node.name for node in graph.node} for graph in (before, after))
    logging.info("Node names in base graph: %s", sorted(old))
    logging.info("Node names retained: %s", sorted(new))
    logging.info("Node names removed: %s", sorted(old - new))
    return old - new


def _copy(graph_def: Any) -> Any:
    result = GraphDef()
    result.CopyFrom(graph_def)
    return result


def _find(graph_def: Any, name: str | None) -> Any:
    return next((node for node in graph_def.node if node.name == name), None)


def _node_name(tensor_name: str) -> str:
    return tensor_name.removeprefix("^").partition(":")[0]


def _get_shared_init_op(initializer_names: Nodes) -> str | None:
    """Return the node that initializes sessions, if there is one."""
    for key in (names.MAIN_OP_KEY, names.LEGACY_INIT_OP_KEY):
        if found := initializer_names.get(key):
            return str(found[0])
    return None


# ---- The transforms, one after the other


def _do_transforms(
    graph_def: Any, input_names: Sequence[str], output_names: Sequence[str],
    initializer_names: Nodes, transforms: Sequence[str], saver_def: Any = None,
    checkpoint_path: str | None = None,
) -> tuple[Any, Nodes]:  # fmt: skip
    """Return the graph after all transforms, and the nodes to be kept that it has."""
    graph_def, nodes = _copy(graph_def), dict(initializer_names)
    if not transforms:
        return graph_def, nodes
    waiting: list[str] = []
    for transform in transforms:
        if transform not in (_FREEZE, _SPARSIFY):
            waiting.append(transform)
            continue
        graph_def = _gtt_transforms(graph_def, input_names, output_names, nodes, waiting)
        waiting = []
        if transform == _FREEZE:
            outputs = [_node_name(name) for name in output_names]
            graph_def, nodes = _freeze_transform(
                graph_def, outputs, nodes, saver_def, checkpoint_path
            )
        else:
            graph_def, nodes = _sparsify_gather_transform(
                graph_def, input_names, output_names, nodes, checkpoint_path
            )
    return _gtt_transforms(graph_def, input_names, output_names, nodes, waiting), nodes


def _gtt_transforms(
    graph_def: Any, input_names: Sequence[str], output_names: Sequence[str],
    initializer_names: Nodes, transforms: Sequence[str],
) -> Any:  # fmt: skip
    """Return the graph after transforms of `TransformGraph`."""
    if not transforms:
        return _copy(graph_def)
    kept = sorted(name for group in initializer_names.values() for name in group)
    return graph_transforms.TransformGraph(
        graph_def, input_names, [*output_names, *kept], transforms
    )


def _freeze_transform(
    graph_def: Any, output_names: Sequence[str], initializer_names: Nodes, saver_def: Any,
    checkpoint_path: str | None,
) -> tuple[Any, Nodes]:  # fmt: skip
    """Return the graph with constants for variables, and which nodes to be kept that leaves."""
    tables = initializer_names.get(GraphKeys.TABLE_INITIALIZERS, [])
    graph_def = _freeze_graph_with_def_protos(
        graph_def, output_names, tables, _get_shared_init_op(initializer_names), saver_def,
        checkpoint_path,
    )  # fmt: skip
    left = (GraphKeys.TABLE_INITIALIZERS, names.LEGACY_INIT_OP_KEY, names.MAIN_OP_KEY)
    return graph_def, {
        key: initializer_names[key] for key in left if tables and key in initializer_names
    }


def _freeze_graph_with_def_protos(
    input_graph_def: Any, output_node_names: Sequence[str], initializer_names: Sequence[str],
    shared_init_op_name: str | None, input_saver_def: Any, input_checkpoint: str | None,
) -> Any:  # fmt: skip
    """Constants for variables, whose values come from a checkpoint."""
    with Graph().as_default():
        import_graph_def(input_graph_def, name="")
        with Session() as session:
            Saver(saver_def=input_saver_def).restore(session, input_checkpoint)
            graph_def = convert_variables_to_constants(
                session, input_graph_def, [*output_node_names, *initializer_names]
            )
    _connect_to_shared_init_op(graph_def, shared_init_op_name, initializer_names)
    return graph_def


def _connect_to_shared_init_op(
    graph_def: Any, shared_init_op_name: str | None, nodes_to_connect: Sequence[str]
) -> None:
    """Add a node that runs others, if there are any."""
    if nodes_to_connect:
        inputs = [f"^{name}" for name in nodes_to_connect]
        graph_def.node.add(name=shared_init_op_name, op="NoOp", input=inputs)


def _sparsify_gather_transform(
    graph_def: Any, input_names: Sequence[str], output_names: Sequence[str],
    initializer_names: Nodes, checkpoint_path: str | None,
) -> tuple[Any, Nodes]:  # fmt: skip
    """Return the graph with tables for sparse weights.

    The operations that fill them are added to the session's initialization.
    """
    group = "sparify_gather_init_op"  # so written in TensorFlow
    while _find(graph_def, group) is not None:
        group += "_1"
    source = f'input_checkpoint="{checkpoint_path}", ' if checkpoint_path else ""
    transform = f'{_SPARSIFY}({source}group_init_node="{group}")'
    before = {node.name for node in graph_def.node}
    graph_def = _gtt_transforms(
        graph_def, input_names, output_names, initializer_names, [transform]
    )
    removed = sorted(before - {node.name for node in graph_def.node})
    # Checkpoints know the parts of a variable by the variable's name.
    whole = [name.rpartition("/part_")[0] if _is_part(name) else name for name in removed]
    fillers: list[str] = []
    for place, node in enumerate(graph_def.node):
        if node.name == group:
            fillers = [name.removeprefix("^") for name in node.input]
            initializer_names.setdefault(GraphKeys.TABLE_INITIALIZERS, []).extend(fillers)
            del graph_def.node[place]
            break
    shared = _find(graph_def, _get_shared_init_op(initializer_names))
    if fillers:
        shared.input.extend(f"^{name}" for name in fillers)
    for node in graph_def.node:
        if node.name.endswith("SaveV2"):
            _clean_save_and_restore(graph_def, node, whole)
    return graph_def, initializer_names


def _is_part(name: str) -> bool:
    return name.rpartition("/")[2].startswith("part_") and "/" in name


def _clean_save_and_restore(graph_def: Any, op: Any, removed_op_names: Collection[str]) -> None:
    """Remove removed variables from a save operation."""
    keys, slices = (
        _find(graph_def, f"{op.name}/{what}") for what in ("tensor_names", "shape_and_slices")
    )
    kept = [
        place for place, key in enumerate(keys.attr["value"].tensor.string_val)
        if not retained.is_removed(key.decode(), removed_op_names)
    ]  # fmt: skip
    types = op.attr["dtypes"].list.type
    types[:] = [types[place] for place in kept]
    for node in (keys, slices):
        value = node.attr["value"].tensor
        value.string_val[:] = [value.string_val[place] for place in kept]
        value.tensor_shape.dim[0].size = len(kept)
        shapes = node.attr["_output_shapes"].list.shape
        if not shapes:
            shapes.add().dim.add()
        shapes[0].dim[0].size = len(kept)


# ---- Other parts of a MetaGraphDef

_add_pruned_collection = retained.copy_collection


def _add_pruned_saver(base: Any, target: Any, removed_op_names: Collection[str]) -> None:
    """Copy the saver; ValueError if one of its nodes was removed."""
    if base.HasField("saver_def"):
        saver = base.saver_def
        for name in (saver.filename_tensor_name, saver.save_tensor_name, saver.restore_op_name):
            retained.require_kept(name, removed_op_names)
        target.saver_def.CopyFrom(saver)


def _add_pruned_signature(
    base: Any, target: Any, signature_name: str, removed_op_names: Collection[str]
) -> None:
    """Copy a signature, unless one of its tensors was removed."""
    signature = base.signature_def[signature_name]
    tensors = [*signature.inputs.values(), *signature.outputs.values()]
    try:
        for tensor in tensors:
            retained.require_kept(tensor.name, removed_op_names)
    except ValueError:
        return
    target.signature_def[signature_name].CopyFrom(signature)


def _add_new_inits_to_collection(target: Any, updated_initializer_names: Nodes) -> None:
    """Add the initializers of new tables to the collection of tables' initializers."""
    key = GraphKeys.TABLE_INITIALIZERS
    if key in updated_initializer_names:
        new = set(updated_initializer_names[key]) - set(retained.node_names(target, key))
        target.collection_def[key].node_list.value.extend(sorted(new))
