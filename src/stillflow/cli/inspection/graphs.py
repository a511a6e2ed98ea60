"""Reports on graphs: GraphDef, MetaGraphDef and SavedModel, in binary and text."""

from __future__ import annotations

import collections
import os
from typing import Any

from google.protobuf import text_format
from google.protobuf.message import DecodeError

from stillflow import errors
from stillflow.files.failures import os_errors
from stillflow.files.filesystem import open_file
from stillflow.files.graph_files import from_text, read_graph, require_whole
from stillflow.files.kinds import Kind
from stillflow.graph import dtypes
from stillflow.graph.card import find
from stillflow.graph.tensor_shape import TensorShape
from stillflow.graph.trust import effects_of
from stillflow.protos import MetaGraphDef, SavedModel

Report = dict[str, Any]
_VARIABLES = ("Variable", "VariableV2", "VarHandleOp")
_NO_OUTPUTS = frozenset({"Const", "NoOp", "Assert", "SaveV2", "Placeholder"})


def describe_graph(kind: Kind) -> Report:
    """Return the content of a GraphDef's or MetaGraphDef's file."""
    message = read_graph(kind.path)
    if isinstance(message, MetaGraphDef):
        return {"message": "MetaGraphDef", **_meta_graph(message)}
    return {"message": "GraphDef", **graph_report(message)}


def _meta_graph(message: Any) -> Report:
    info = message.meta_info_def
    collections_ = {
        key: len(getattr(value, value.WhichOneof("kind") or "node_list").value)
        for key, value in sorted(message.collection_def.items())
    }
    return {
        "tags": list(info.tags),
        "TensorFlow": info.tensorflow_version or None,
        "signatures": {
            key: _signature(value) for key, value in sorted(message.signature_def.items())
        },
        "collections": collections_,
        "saver": message.saver_def.restore_op_name or None,
        **graph_report(message.graph_def),
    }


def _signature(signature: Any) -> Report:
    def tensors(infos: Any) -> Report:
        return {
            key: f"{info.name} {_type(info.dtype)} {_shape(info.tensor_shape)}"
            for key, info in sorted(infos.items())
        }

    return {
        "method": signature.method_name,
        "inputs": tensors(signature.inputs),
        "outputs": tensors(signature.outputs),
    }


def _type(number: int) -> str:
    try:
        return str(dtypes.as_dtype(number).name)
    except TypeError:
        return f"type {number}"


def _shape(proto: Any) -> str:
    try:
        return str(TensorShape(proto)).replace(" ", "")
    except (ValueError, TypeError):
        return "a wrong shape"


def graph_report(graph: Any) -> Report:
    """Return a GraphDef's inputs, outputs, variables and unsupported operations."""
    ops = collections.Counter(node.op for node in graph.node)
    functions = {function.signature.name: function for function in graph.library.function}
    for function in functions.values():
        ops.update(node.op for node in function.node_def)
    used = {name.lstrip("^").partition(":")[0] for node in graph.node for name in node.input}
    effects = effects_of(graph)
    effects.pop("unknown", None)  # they are told as not supported
    return {
        "nodes": len(graph.node),
        "producer": graph.versions.producer,
        "inputs": {
            node.name: _placeholder(node)
            for node in graph.node
            if node.op.startswith("Placeholder")
        },
        "outputs": {
            node.name: node.op
            for node in graph.node
            if node.name not in used and node.op not in _NO_OUTPUTS
        },
        "variables": {node.name: _variable(node) for node in graph.node if node.op in _VARIABLES},
        "constants": {
            "count": ops["Const"],
            "bytes": sum(
                node.attr["value"].tensor.ByteSize() for node in graph.node if node.op == "Const"
            ),
        },
        "functions": sorted(functions),
        "operations": dict(ops.most_common()),
        "not supported": {
            op: ops[op] for op in sorted(ops) if find(op) is None and op not in functions
        },
        "effects": effects,
    }


def _placeholder(node: Any) -> str:
    kind = _type(node.attr["dtype"].type)
    shape = _shape(node.attr["shape"].shape) if "shape" in node.attr else "of any shape"
    return f"{kind} {shape}"


def _variable(node: Any) -> str:
    return f"{_type(node.attr['dtype'].type)} {_shape(node.attr['shape'].shape)}"


def describe_saved_model(kind: Kind) -> Report:
    """Return the content of a SavedModel: each of its graphs, and its other files."""
    folder = kind.path
    if not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    message = _read_saved_model(kind.path, folder)
    variables = os.path.join(folder, "variables", "variables")
    assets = os.path.join(folder, "assets")
    report: Report = {
        "schema": message.saved_model_schema_version,
        "assets": sorted(os.listdir(assets)) if os.path.isdir(assets) else [],
        "variables": None,
        "graphs": [_meta_graph(graph) for graph in message.meta_graphs],
    }
    if os.path.exists(f"{variables}.index"):
        from stillflow.cli.inspection.checkpoints import describe_checkpoint

        report["variables"] = describe_checkpoint(variables, verify=False)
    return report


def _read_saved_model(path: str, folder: str) -> Any:
    if os.path.isdir(path):
        binary = os.path.join(folder, "saved_model.pb")
        path = binary if os.path.exists(binary) else os.path.join(folder, "saved_model.pbtxt")
    with open_file(path) as file, os_errors(path):
        content = file.read()
    for parse in (SavedModel.FromString, from_text(SavedModel)):
        try:
            message = parse(content)
        except (DecodeError, text_format.ParseError, UnicodeDecodeError, RecursionError):
            continue
        if message.meta_graphs:
            return message
    require_whole(path, content, SavedModel, "SavedModel")
    raise errors.invalid_argument(f"{path} is no SavedModel")
