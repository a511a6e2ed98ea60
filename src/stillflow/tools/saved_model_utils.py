"""Reading the graphs of a SavedModel."""

from __future__ import annotations

import os
from typing import Any

from stillflow.files import gfile
from stillflow.files.file_io import FileIO
from stillflow.platform.compat import as_text
from stillflow.protos import SavedModel

_BINARY, _TEXT = "saved_model.pb", "saved_model.pbtxt"


def read_saved_model(saved_model_dir: Any) -> Any:
    """Return the `SavedModel` message in a directory; IOError if there is none."""
    from google.protobuf import text_format
    from google.protobuf.message import DecodeError

    folder = as_text(saved_model_dir)
    for name in (_BINARY, _TEXT):
        path = os.path.join(folder, name)
        if gfile.file_exists(path):
            break
    else:
        raise OSError(f"SavedModel file does not exist at: {folder}")
    with FileIO(path, "rb") as file:
        content = file.read()
    message = SavedModel()
    try:
        if name == _BINARY:
            message.ParseFromString(content)
        else:
            text_format.Merge(content.decode(), message)
    except (DecodeError, text_format.ParseError, UnicodeDecodeError, RecursionError) as error:
        raise OSError(f"Cannot parse file {path}: {error}.") from None
    return message


def get_saved_model_tag_sets(saved_model_dir: Any) -> list[list[str]]:
    """Return the tags of each graph in a SavedModel."""
    graphs = read_saved_model(saved_model_dir).meta_graphs
    return [list(graph.meta_info_def.tags) for graph in graphs]


def get_meta_graph_def(saved_model_dir: Any, tag_set: str) -> Any:
    """Return the `MetaGraphDef` that has exactly these tags, with commas; else RuntimeError."""
    for graph in read_saved_model(saved_model_dir).meta_graphs:
        if set(graph.meta_info_def.tags) == set(tag_set.split(",")):
            return graph
    raise RuntimeError(
        f"MetaGraphDef associated with tag-set {tag_set} could not be found in SavedModel"
    )
