"""tf.saved_model.Builder and simple_save: SavedModels written."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

from stillflow.files import gfile, whole_file
from stillflow.graph import dtypes
from stillflow.graph.api import add_to_collection, get_collection
from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph
from stillflow.graph.graph_keys import GraphKeys
from stillflow.graph.operation import Operation, Tensor
from stillflow.platform import tf_logging as logging
from stillflow.protos import AssetFileDef, CollectionDef, SavedModel, SaverDef
from stillflow.saved_model import names
from stillflow.saved_model.signatures import op_signature_def, predict_signature_def
from stillflow.train.saver import Saver
from stillflow.variables.collections import all_saveable_objects


@export("saved_model.Builder", "saved_model.builder.SavedModelBuilder")
class SavedModelBuilder:
    """Builder of a SavedModel: `add_meta_graph_and_variables`, `add_meta_graph` for more, `save`.

    Args:
      export_dir: The directory; it must be empty or not exist.

    Raises:
      AssertionError: If there is something in it.
    """

    def __init__(self, export_dir: Any) -> None:
        self._saved_model = SavedModel(saved_model_schema_version=names.SAVED_MODEL_SCHEMA_VERSION)
        self._export_dir = os.fsdecode(export_dir)
        self._has_saved_variables = False
        if gfile.file_exists_v2(self._export_dir):
            if gfile.list_directory_v2(self._export_dir):
                raise AssertionError(
                    "Export directory already exists, and isn't empty. Please choose a different "
                    "export directory, or delete all the contents of the specified directory: "
                    f"{self._export_dir}"
                )
        else:
            gfile.recursive_create_dir_v2(self._export_dir)

    def add_meta_graph_and_variables(
        self,
        sess: Any,
        tags: Sequence[str],
        signature_def_map: dict[str, Any] | None = None,
        assets_collection: Any = None,
        legacy_init_op: Any = None,
        clear_devices: bool = False,
        main_op: Any = None,
        strip_default_attrs: bool = False,
        saver: Any = None,
    ) -> None:
        """Add the default graph, and save the variables of a session.

        Args:
          sess: The session.
          tags: What the graph is for, `tf.saved_model.SERVING` for instance.
          signature_def_map: `SignatureDef`s by name.
          assets_collection: Constants that hold the paths of files to save along.
          legacy_init_op: An older name of `main_op`.
          clear_devices: Whether devices are left out.
          main_op: An operation to run after loading.
          strip_default_attrs: Whether attributes with their default values are left out.
          saver: What saves the variables, by default a new, sharded `Saver`.

        Raises:
          AssertionError: If variables were saved before, or a signature is not complete.
        """
        if self._has_saved_variables:
            raise AssertionError(
                "Graph state including variables and assets has already been saved. Please invoke "
                "`add_meta_graph()` instead."
            )
        self._check(signature_def_map or {})
        self._add_collections(assets_collection, main_op or legacy_init_op)
        directory = os.path.join(self._export_dir, names.VARIABLES_DIRECTORY)
        gfile.recursive_create_dir_v2(directory)
        saver = saver or _new_saver()
        path = os.path.join(directory, names.VARIABLES_FILENAME)
        saver.save(sess, path, write_meta_graph=False, write_state=False)
        self._add(saver, tags, signature_def_map, clear_devices, strip_default_attrs)
        self._has_saved_variables = True

    def add_meta_graph(
        self,
        tags: Sequence[str],
        signature_def_map: dict[str, Any] | None = None,
        assets_collection: Any = None,
        legacy_init_op: Any = None,
        clear_devices: bool = False,
        main_op: Any = None,
        strip_default_attrs: bool = False,
        saver: Any = None,
    ) -> None:
        """Add the default graph, for the variables that were saved; see the method above.

        Raises:
          AssertionError: If no variables were saved, or a signature is not complete.
        """
        if not self._has_saved_variables:
            raise AssertionError(
                "Graph state including variables and assets has not been saved yet. Please invoke "
                "`add_meta_graph_and_variables()` first."
            )
        self._check(signature_def_map or {})
        self._add_collections(assets_collection, main_op or legacy_init_op)
        saver = saver or _new_saver()
        self._add(saver, tags, signature_def_map, clear_devices, strip_default_attrs)

    def save(self, as_text: bool = False) -> bytes:
        """Write the file that makes the directory a SavedModel; give its path."""
        name = names.SAVED_MODEL_FILENAME_PBTXT if as_text else names.SAVED_MODEL_FILENAME_PB
        path = os.path.join(self._export_dir, name)
        gfile.recursive_create_dir_v2(self._export_dir)
        if as_text:
            content = str(self._saved_model).encode()
        else:
            content = self._saved_model.SerializeToString()
        whole_file.write(path, content)
        logging.info("SavedModel written to: %s", path)
        return os.fsencode(path)

    def _add(
        self, saver: Any, tags: Sequence[str], signatures: Any, clear: bool, strip: bool
    ) -> None:
        message = saver.export_meta_graph(clear_devices=clear, strip_default_attrs=strip)
        message.meta_info_def.tags.extend(tags)
        for key, signature in (signatures or {}).items():
            message.signature_def[key].CopyFrom(signature)
        self._saved_model.meta_graphs.add().CopyFrom(message)

    def _check(self, signatures: dict[str, Any]) -> None:
        _check_signatures(signatures)

    def _copy_assets(self, sources: dict[str, str]) -> None:
        if sources:
            target = os.path.join(self._export_dir, names.ASSETS_DIRECTORY)
            gfile.recursive_create_dir_v2(target)
            for name, source in sources.items():
                path = os.path.join(target, name)
                if not gfile.file_exists_v2(path):
                    gfile.copy_v2(source, path)

    def _add_collections(self, assets: Any, main_op: Any) -> None:
        self._copy_assets(_collect_assets(assets))
        if main_op is None:
            return
        if not isinstance(main_op, Operation):
            raise TypeError(f"main_op needs to be an Operation: {main_op!r}")
        keys = names.MAIN_OP_KEY, names.LEGACY_INIT_OP_KEY
        taken = [key for key in keys if get_collection(key)]
        if taken:
            raise ValueError(
                f"Graph already contains one or more main ops under the collection {taken[0]}."
            )
        add_to_collection(names.MAIN_OP_KEY, main_op)


class InternalBuilder(SavedModelBuilder):
    """The builder of estimators: assets and operations stand in fields, not in collections."""

    def add_meta_graph_and_variables(  # type: ignore[override]
        self,
        sess: Any,
        tags: Sequence[str],
        signature_def_map: dict[str, Any] | None = None,
        assets_list: Any = None,
        clear_devices: bool = False,
        init_op: Any = None,
        train_op: Any = None,
        strip_default_attrs: bool = False,
        saver: Any = None,
    ) -> None:
        """Do as in `SavedModelBuilder`; `init_op` is `main_op`, `train_op` one step of training."""
        signatures = self._with_ops(signature_def_map, init_op, train_op)
        super().add_meta_graph_and_variables(
            sess,
            tags,
            signatures,
            assets_collection=None,
            clear_devices=clear_devices,
            strip_default_attrs=strip_default_attrs,
            saver=saver,
        )
        self._add_assets(assets_list)

    def add_meta_graph(  # type: ignore[override]
        self,
        tags: Sequence[str],
        signature_def_map: dict[str, Any] | None = None,
        assets_list: Any = None,
        clear_devices: bool = False,
        init_op: Any = None,
        train_op: Any = None,
        saver: Any = None,
    ) -> None:
        """Do as in `SavedModelBuilder`, without attributes with default values."""
        signatures = self._with_ops(signature_def_map, init_op, train_op)
        super().add_meta_graph(
            tags, signatures, clear_devices=clear_devices, strip_default_attrs=True, saver=saver
        )
        self._add_assets(assets_list)

    def _with_ops(self, signatures: Any, init_op: Any, train_op: Any) -> dict[str, Any]:
        signatures = dict(signatures or {})
        _check_signatures(signatures)
        for op, key in (
            (init_op, names.INIT_OP_SIGNATURE_KEY),
            (train_op, names.TRAIN_OP_SIGNATURE_KEY),
        ):
            if op is not None:
                signatures[key] = op_signature_def(op, key)
        return signatures

    def _check(self, signatures: Any) -> None:
        """They were checked before the operations came to them."""

    def _add_assets(self, assets: Any) -> None:
        sources: dict[str, str] = {}
        message = self._saved_model.meta_graphs[-1]
        for tensor in assets or ():
            source = _asset_path(tensor)
            name = free_name(source, sources)
            asset = message.asset_file_def.add(filename=name)
            asset.tensor_info.name = tensor.name
            sources[name] = source
        self._copy_assets(sources)


def _new_saver() -> Saver:
    return Saver(all_saveable_objects(), sharded=True, write_version=SaverDef.V2, allow_empty=True)


def _check_signatures(signatures: dict[str, Any]) -> None:
    for signature in signatures.values():
        for info in [*signature.inputs.values(), *signature.outputs.values()]:
            encoding = info.WhichOneof("encoding")
            if encoding is None:
                raise AssertionError(
                    "All TensorInfo protos used in the SignatureDefs must have one of the "
                    f"'encoding' fields (e.g., name or coo_sparse) set: {info}"
                )
            if encoding != "composite_tensor" and not info.dtype:
                raise AssertionError(
                    "All TensorInfo protos used in the SignatureDefs must have the dtype field "
                    f"set: {info}"
                )
    for key, what in (
        (names.INIT_OP_SIGNATURE_KEY, "initialization"),
        (names.TRAIN_OP_SIGNATURE_KEY, "the train op"),
    ):
        if key in signatures:
            raise KeyError(
                f'SignatureDef map key "{key}" is reserved for {what}. Please use a different key.'
            )


def _collect_assets(assets: Any) -> dict[str, str]:
    """Names the assets of a graph in its collection; gives where they come from, by name."""
    sources: dict[str, str] = {}
    for tensor in assets or ():
        source = _asset_path(tensor)
        name = free_name(source, sources)
        asset = AssetFileDef(filename=name)
        asset.tensor_info.name = tensor.name
        packed = CollectionDef.AnyList().value.add()
        packed.type_url = "type.googleapis.com/tensorflow.AssetFileDef"
        packed.value = asset.SerializeToString()
        add_to_collection(names.ASSETS_KEY, packed)
        sources[name] = source
    return sources


_PATH_CHECKS: dict[str, Callable[[Any], bool]] = {
    "a Tensor": lambda tensor: isinstance(tensor, Tensor),
    "of type constant": lambda tensor: tensor.op.type == "Const",
    "of dtype string": lambda tensor: tensor.dtype == dtypes.string,
    "a scalar": lambda tensor: len(tensor.op.get_attr("value").string_val) == 1,
}


def _asset_path(tensor: Any) -> str:
    for kind, holds in _PATH_CHECKS.items():
        if not holds(tensor):
            raise TypeError(f"Asset path tensor must be {kind}.")
    (path,) = tensor.op.get_attr("value").string_val
    if not path:
        raise ValueError(f"Invalid asset filepath tensor {tensor}")
    return os.fsdecode(path)


def free_name(source: str, sources: dict[str, str]) -> str:
    """Return a file's own name, unless another file has it already."""
    base = name = os.path.basename(source)
    other = sources.get(base)
    if other is None or other == source or gfile.filecmp(source, other):
        return base
    number = 1
    while name in sources:
        name = f"{base}_{number}"
        number += 1
    return name


@export("saved_model.simple_save")
def simple_save(
    session: Any, export_dir: Any, inputs: Any, outputs: Any, legacy_init_op: Any = None
) -> None:
    """Write a SavedModel that serves one prediction.

    Args:
      session: The session whose variables are saved.
      export_dir: The directory.
      inputs, outputs: Tensors by name.
      legacy_init_op: An operation to run after loading.
    """
    signature = predict_signature_def(inputs, outputs)
    builder = SavedModelBuilder(export_dir)
    builder.add_meta_graph_and_variables(
        session,
        tags=[names.SERVING],
        signature_def_map={names.DEFAULT_SERVING_SIGNATURE_DEF_KEY: signature},
        assets_collection=get_default_graph().get_collection(GraphKeys.ASSET_FILEPATHS),
        main_op=legacy_init_op,
        clear_devices=True,
    )
    builder.save()
