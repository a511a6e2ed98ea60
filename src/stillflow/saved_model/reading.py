"""tf.saved_model.load: SavedModels read."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from stillflow import errors
from stillflow.files import sniff, whole_file
from stillflow.graph import trust
from stillflow.graph.api import get_collection
from stillflow.graph.export import export
from stillflow.graph.operation import Operation
from stillflow.platform import tf_logging as logging
from stillflow.protos import AssetFileDef, SavedModel
from stillflow.saved_model import names
from stillflow.saved_model.signatures import load_op_from_signature_def
from stillflow.train.meta_graph import import_meta_graph_with_return_elements
from stillflow.train.saver import Saver
from stillflow.variables.collections import all_saveable_objects


def parse_saved_model(export_dir: Any) -> Any:
    """Read the `SavedModel` message of a directory; IOError if there is none, or it is damaged."""
    from google.protobuf import text_format
    from google.protobuf.message import DecodeError

    directory = os.fsdecode(export_dir)
    binary = os.path.join(directory, names.SAVED_MODEL_FILENAME_PB)
    text = os.path.join(directory, names.SAVED_MODEL_FILENAME_PBTXT)
    message = SavedModel()
    for path in (binary, text):
        if not whole_file.exists(path):
            continue
        content = whole_file.read(path)
        what = sniff.describe(content[:512])
        try:
            if path == text:
                text_format.Merge(content.decode("utf-8"), message)
            else:
                message.ParseFromString(content)
        except (DecodeError, text_format.ParseError, UnicodeDecodeError) as error:
            guess = f" It is {what}." if what else ""
            raise OSError(f"Cannot parse file {path}: {error}.{guess}") from None
        return message
    raise OSError(
        f"SavedModel file does not exist at: {directory}/{{{names.SAVED_MODEL_FILENAME_PBTXT}|"
        f"{names.SAVED_MODEL_FILENAME_PB}}}"
    )


@export(
    "saved_model.contains_saved_model",
    "compat.v2.saved_model.contains_saved_model",
    "saved_model.maybe_saved_model_directory",
    "saved_model.loader.maybe_saved_model_directory",
)
def maybe_saved_model_directory(export_dir: Any) -> bool:
    """Return True if a directory holds a SavedModel."""
    directory = os.fsdecode(export_dir)
    files = (names.SAVED_MODEL_FILENAME_PBTXT, names.SAVED_MODEL_FILENAME_PB)
    return any(whole_file.exists(os.path.join(directory, name)) for name in files)


@export("saved_model.load", "saved_model.loader.load")
def load(
    sess: Any,
    tags: Sequence[str],
    export_dir: Any,
    import_scope: str | None = None,
    **saver_kwargs: Any,
) -> Any:
    """Add a graph of a SavedModel to a session's graph, with its variables, and initialize it.

    Args:
      sess: The session.
      tags: All tags of the graph.
      export_dir: The directory.
      import_scope: A name scope to add.
      **saver_kwargs: As for `tf.train.import_meta_graph`.

    Returns:
      The `MetaGraphDef`, with the signatures.

    Raises:
      RuntimeError: If there is no graph with these tags.
    """
    return SavedModelLoader(export_dir).load(sess, tags, import_scope, **saver_kwargs)


class SavedModelLoader:
    """Loader of a SavedModel, in one step or several.

    Args:
      export_dir: The directory.
    """

    def __init__(self, export_dir: Any) -> None:
        self.export_dir = os.fsdecode(export_dir)
        self.variables_path = os.path.join(
            self.export_dir, names.VARIABLES_DIRECTORY, names.VARIABLES_FILENAME
        )
        self.saved_model = parse_saved_model(export_dir)

    def get_meta_graph_def_from_tags(self, tags: Sequence[str]) -> Any:
        """Return the graph with exactly these tags.

        Raises:
          RuntimeError: If there is none.
        """
        for message in self.saved_model.meta_graphs:
            if set(message.meta_info_def.tags) == set(tags):
                return message
        available = [set(each.meta_info_def.tags) for each in self.saved_model.meta_graphs]
        raise RuntimeError(
            f"MetaGraphDef associated with tags {str(tags).strip('[]')} could not be found in "
            "SavedModel. To inspect available tag-sets in the SavedModel, please use the "
            f"SavedModel CLI: `saved_model_cli`\navailable_tags: {available}"
        )

    def load_graph(
        self, graph: Any, tags: Sequence[str], import_scope: str | None = None, **kwargs: Any
    ) -> tuple[Any, Any]:
        """Add the nodes; give the saver, and the elements that `return_elements` names."""
        message = self.get_meta_graph_def_from_tags(tags)
        with graph.as_default():
            return import_meta_graph_with_return_elements(
                message, import_scope=import_scope, **kwargs
            )

    def restore_variables(self, sess: Any, saver: Any, import_scope: str | None = None) -> None:
        """Restore the variables.

        Raises:
          ValueError: If there are variables and no saver.
        """
        with sess.graph.as_default():
            if saver is None and not all_saveable_objects(scope=import_scope):
                logging.info(
                    "The specified SavedModel has no variables; no checkpoints were restored."
                )
            elif isinstance(saver, Saver):
                saver.restore(sess, self.variables_path)
            else:
                raise ValueError(
                    "No tf.train.Saver object was passed to the function "
                    "SavedModelLoader.restore_variables. Since there are variables in the graph, "
                    "a saver is required."
                )

    def run_init_ops(self, sess: Any, tags: Sequence[str], import_scope: str | None = None) -> None:
        """Run the initialization operations after loading."""
        message = self.get_meta_graph_def_from_tags(tags)
        with sess.graph.as_default():
            assets = get_asset_tensors(self.export_dir, message, import_scope)
            op = get_init_op(message, import_scope)
            if op is not None:
                with trust.reading(sess.graph, assets):
                    sess.run(fetches=[op], feed_dict=assets)

    def load(
        self, sess: Any, tags: Sequence[str], import_scope: str | None = None, **kwargs: Any
    ) -> Any:
        """All of it; see `tf.saved_model.load`."""
        message = self.get_meta_graph_def_from_tags(tags)
        with sess.graph.as_default():
            saver = self.load_graph(sess.graph, tags, import_scope, **kwargs)[0]
            self.restore_variables(sess, saver, import_scope)
            self.run_init_ops(sess, tags, import_scope)
        return message


def get_asset_tensors(
    export_dir: str, message: Any, import_scope: str | None = None
) -> dict[str, str]:
    """Return the paths of a SavedModel's assets, by the tensors that take them."""
    assets = list(message.asset_file_def)
    if not assets and names.ASSETS_KEY in message.collection_def:
        packed = message.collection_def[names.ASSETS_KEY].any_list.value
        assets = [AssetFileDef.FromString(one.value) for one in packed]
    prefix = f"{import_scope}/" if import_scope else ""
    directory = os.path.join(export_dir, names.ASSETS_DIRECTORY)
    if trust.current() is not None:
        check_inside(directory, [asset.filename for asset in assets])
    return {
        prefix + asset.tensor_info.name: os.path.join(directory, asset.filename) for asset in assets
    }


def check_inside(directory: str, files: Sequence[str]) -> None:
    """Raise PermissionDeniedError for an asset's file that is not in the folder of assets."""
    for file in files:
        path = os.path.normpath(os.path.join(directory, file))
        if not path.startswith(os.path.normpath(directory) + os.sep):
            raise errors.permission_denied(f"The asset {file!r} is outside of {directory}")


def get_init_op(message: Any, import_scope: str | None = None) -> Operation | None:
    """Return the op of a `MetaGraphDef` to run after loading, or None."""
    for found in (
        _op_of_signature(message, names.INIT_OP_SIGNATURE_KEY, import_scope),
        _op_of_collection(message, names.MAIN_OP_KEY),
        _op_of_collection(message, names.LEGACY_INIT_OP_KEY),
    ):
        if found is not None:
            return found
    return None


def get_train_op(message: Any, import_scope: str | None = None) -> Any:
    """Return the training op of a `MetaGraphDef`, or None."""
    found = _op_of_signature(message, names.TRAIN_OP_SIGNATURE_KEY, import_scope)
    return _op_of_collection(message, names.TRAIN_OP_KEY) if found is None else found


def _op_of_signature(message: Any, key: str, import_scope: str | None) -> Any:
    if key not in message.signature_def:
        return None
    return load_op_from_signature_def(message.signature_def[key], key, import_scope)


def _op_of_collection(message: Any, key: str) -> Operation | None:
    if key not in message.collection_def:
        return None
    listed = message.collection_def[key].node_list.value
    if len(listed) != 1:
        raise RuntimeError(f"Expected exactly one SavedModel init op. Found: {listed}")
    return get_collection(key)[0]
