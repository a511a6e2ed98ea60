"""Models in files, loaded into sessions: SavedModels, frozen graphs, checkpoints with `.meta`."""

from __future__ import annotations

import glob
import os
from collections.abc import Sequence
from typing import Any

from stillflow import errors
from stillflow.files import kinds, whole_file
from stillflow.files.checkpoint_paths import prefix_of
from stillflow.files.graph_files import read_graph
from stillflow.graph.importer import import_graph_def
from stillflow.protos import MetaGraphDef
from stillflow.saved_model.reading import SavedModelLoader
from stillflow.train.meta_graph import import_meta_graph


def load_model(session: Any, path: str, tags: Sequence[str] = ("serve",)) -> dict[str, Any]:
    """Load the model of a path into a session and its graph, which is empty so far.

    Args:
      session: the session.
      path: the folder of a SavedModel, a frozen graph, or the prefix or folder of a checkpoint with
        its `.meta` file, or that file.
      tags: of the graph in a SavedModel.

    Returns:
      The `SignatureDef` messages by key; none of a model that is no SavedModel.

    Raises:
      OpError: if it cannot be read, or is no model.
      RuntimeError: if a SavedModel has no graph with these tags.
    """
    with session.graph.as_default():
        if whole_file.exists(f"{path}.meta"):
            _restore(session, path)
            return {}
        kind = kinds.identify(path)
        if kind.name == kinds.SAVED_MODEL:
            folder = path if whole_file.is_directory(path) else os.path.dirname(path)
            return dict(SavedModelLoader(folder).load(session, list(tags)).signature_def)
        if kind.name == kinds.GRAPH:
            message = read_graph(path)
            if isinstance(message, MetaGraphDef):
                _restore(session, path.removesuffix(".meta"), path)
            else:
                import_graph_def(message, name="")
        elif kind.name in (kinds.CHECKPOINT, kinds.CHECKPOINT_STATE, kinds.DIRECTORY):
            _restore(session, prefix_of(path))
        else:
            raise errors.invalid_argument(f"{path} is not a model but: {kind.name}")
    return {}


def _restore(session: Any, prefix: str, meta: str | None = None) -> None:
    """Import the graph of a checkpoint from its `.meta` file, and restore the variables."""
    meta = meta or f"{prefix}.meta"
    if not whole_file.exists(meta):
        raise errors.not_found(
            f"{meta} is missing: a checkpoint holds variables, its .meta file holds the graph"
        )
    saver = import_meta_graph(meta, clear_devices=True)
    if saver is not None:  # None: there are no variables
        saver.restore(session, _sharded(prefix))


def _sharded(prefix: str) -> str:
    """Return a checkpoint's name; of old ones in several files, the pattern of these."""
    shards = glob.glob(f"{glob.escape(prefix)}-00000-of-?????")
    return f"{prefix}-?????-of-{shards[0][-5:]}" if shards else prefix
