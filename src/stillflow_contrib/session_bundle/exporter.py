"""Exports of models: a checkpoint, its graph and its signatures, by their number."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from stillflow import protos
from stillflow.files import gfile
from stillflow.graph import dtypes
from stillflow.graph.api import add_to_collection
from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph
from stillflow.graph.operation import Operation, Tensor
from stillflow.platform import compat
from stillflow.platform import tf_logging as logging
from stillflow.train.global_step import global_step as value_of_step
from stillflow.train.saver import Saver
from stillflow.util.deprecation import deprecated
from stillflow_contrib.session_bundle import constants, gc

_INSTEAD = "No longer supported. Switch to SavedModel immediately."


def _message(name: str) -> Any:
    return protos.file("tensorflow/contrib/session_bundle/manifest.proto")[name]()


def _signature(kind: str, tensors: Mapping[str, Tensor]) -> Any:
    signature = _message("Signature")
    for part, tensor in tensors.items():
        getattr(getattr(signature, f"{kind}_signature"), part).tensor_name = tensor.name
    return signature


@export("contrib.session_bundle.exporter.gfile_copy_callback")
@deprecated("2017-06-30", _INSTEAD)
def gfile_copy_callback(files_to_copy: Mapping[Any, Any], export_dir_path: Any) -> None:
    """Copy assets into an export.

    Args:
      files_to_copy: For each file, its name there.
      export_dir_path: The directory.
    """
    logging.info("Write assets into: %s using gfile_copy.", export_dir_path)
    gfile.recursive_create_dir_v2(export_dir_path)
    for source, name in files_to_copy.items():
        target = os.path.join(compat.as_bytes(export_dir_path), compat.as_bytes(name))
        logging.info("Copying asset %s to path %s.", source, target)
        gfile.copy_v2(source, target, overwrite=True)


@export("contrib.session_bundle.exporter.regression_signature")
@deprecated("2017-06-30", _INSTEAD)
def regression_signature(input_tensor: Tensor, output_tensor: Tensor) -> Any:
    """Return the `Signature` of a regression: its input and its output."""
    return _signature("regression", {"input": input_tensor, "output": output_tensor})


@export("contrib.session_bundle.exporter.classification_signature")
@deprecated("2017-06-30", _INSTEAD)
def classification_signature(
    input_tensor: Tensor, classes_tensor: Tensor | None = None, scores_tensor: Tensor | None = None
) -> Any:
    """Return the `Signature` of a classification: its input, the classes, their scores."""
    outputs = {"classes": classes_tensor, "scores": scores_tensor}
    given = {part: tensor for part, tensor in outputs.items() if tensor is not None}
    return _signature("classification", {"input": input_tensor, **given})


@export("contrib.session_bundle.exporter.generic_signature")
@deprecated("2017-06-30", _INSTEAD)
def generic_signature(name_tensor_map: Mapping[str, Tensor]) -> Any:
    """Return the `Signature` of anything: tensors by names of one's own."""
    signature = _message("Signature")
    for name, tensor in name_tensor_map.items():
        signature.generic_signature.map[name].tensor_name = tensor.name
    return signature


@export("contrib.session_bundle.exporter.Exporter")
class Exporter:
    """Exports a model, again and again: `init` once, then `export`.

    Args:
      saver: The `Saver` of its variables.
    """

    def __init__(self, saver: Any) -> None:
        # Nothing that is exported makes room for the next.
        saver_def = saver.as_saver_def()
        saver_def.ClearField("max_to_keep")
        self._saver = Saver(saver_def=saver_def)
        self._has_init = False
        self._assets_to_copy: dict[bytes, bytes] = {}
        self._assets_callback: Callable[[Any, Any], None] | None = None

    @deprecated("2017-06-30", _INSTEAD)
    def init(
        self,
        graph_def: Any = None,
        init_op: Any = None,
        clear_devices: bool = False,
        default_graph_signature: Any = None,
        named_graph_signatures: Mapping[str, Any] | None = None,
        assets_collection: Iterable[Tensor] | None = None,
        assets_callback: Callable[[Any, Any], None] | None = gfile_copy_callback,
    ) -> None:
        """Add an export's description to collections of the default graph.

        Args:
          graph_def: The graph to serve, if it is another.
          init_op: An operation that has to run after the variables are restored.
          clear_devices: Whether the graph to serve names no devices.
          default_graph_signature: A `Signature`.
          named_graph_signatures: More of them by name.
          assets_collection: Constants: paths of files that are copied into the export.
          assets_callback: What copies them; None if nobody is to.

        Raises:
          RuntimeError: If it is called again.
          TypeError: If something is no operation, or no constant path.
        """
        assets = []
        for tensor in assets_collection or ():
            path = self._file_path_value(tensor)
            if not path:
                raise ValueError(f"invalid asset filepath tensor {tensor}")
            self._assets_to_copy[path] = os.path.basename(path)
            assets.append((os.path.basename(path).decode(), tensor))
        if self._has_init:
            raise RuntimeError("init should be called only once")
        self._has_init = True
        if graph_def or clear_devices:
            _collect(constants.GRAPH_KEY, _graph_to_serve(graph_def, clear_devices))
        if init_op:
            if not isinstance(init_op, Operation):
                raise TypeError(f"init_op needs to be an Operation: {init_op}")
            add_to_collection(constants.INIT_OP_KEY, init_op)
        signatures = _message("Signatures")
        if default_graph_signature:
            signatures.default_signature.CopyFrom(default_graph_signature)
        for name, signature in (named_graph_signatures or {}).items():
            signatures.named_signatures[name].CopyFrom(signature)
        _collect(constants.SIGNATURES_KEY, signatures)
        for name, tensor in assets:
            asset = _message("AssetFile")
            asset.filename = name
            asset.tensor_binding.tensor_name = tensor.name
            _collect(constants.ASSETS_KEY, asset)
        self._assets_callback = assets_callback

    @deprecated("2017-06-30", _INSTEAD)
    def export(
        self,
        export_dir_base: str,
        global_step_tensor: Any,
        sess: Any = None,
        exports_to_keep: gc.Keep | None = None,
    ) -> bytes:
        """Export the model with the present values of its variables.

        Args:
          export_dir_base: The directory of all exports of the model.
          global_step_tensor: Gives the number of this one.
          sess: The session.
          exports_to_keep: Says which exports stay; all by default.

        Returns:
          The directory of the export.

        Raises:
          RuntimeError: If `init` was not called, or the export is there already.
        """
        if not self._has_init:
            raise RuntimeError("init must be called first")
        base = export_dir_base.removesuffix("/")
        number = constants.VERSION_FORMAT_SPECIFIER % value_of_step(sess, global_step_tensor)
        target = os.path.join(compat.as_bytes(base), compat.as_bytes(number))
        if gfile.file_exists_v2(target):
            raise RuntimeError(
                "Overwriting exports can cause corruption and are not allowed. Duplicate export "
                f"dir: {target!r}"
            )
        # Made under another name, so that nobody serves half of it.
        temporary = compat.as_text(target) + "-tmp"
        gfile.recursive_create_dir_v2(temporary)
        self._saver.save(
            sess,
            os.path.join(temporary, constants.EXPORT_BASE_NAME),
            meta_graph_suffix=constants.EXPORT_SUFFIX_NAME,
        )
        if self._assets_callback and self._assets_to_copy:
            directory = os.path.join(temporary, constants.ASSETS_DIRECTORY).encode()
            gfile.recursive_create_dir_v2(directory)
            self._assets_callback(self._assets_to_copy, directory)
        gfile.rename_v2(temporary, target)
        if exports_to_keep:
            gone = gc.negation(exports_to_keep)
            for path in gone(gc.get_paths(base, parser=_numbered(base))):
                gfile.delete_recursively_v2(path.path)
        return target

    def _file_path_value(self, path_tensor: Any) -> bytes:
        if not isinstance(path_tensor, Tensor):
            raise TypeError("tensor is not a Tensor")

        def paths() -> Any:
            return path_tensor.op.get_attr("value").string_val

        demands = {
            "Only constants tensor are supported": lambda: path_tensor.op.type == "Const",
            "File paths should be string": lambda: path_tensor.dtype == dtypes.string,
            "Only scalar tensors are supported": lambda: len(paths()) == 1,
        }
        for demand, is_met in demands.items():
            if not is_met():
                raise TypeError(demand)
        return paths()[0]


def _graph_to_serve(graph_def: Any, clear_devices: bool) -> Any:
    result = protos.GraphDef()
    result.CopyFrom(graph_def if graph_def else get_default_graph().as_graph_def())
    if clear_devices:
        for node in result.node:
            node.device = ""
    return result


def _collect(key: str, message: Any) -> None:
    from google.protobuf.any_pb2 import Any as AnyMessage

    packed = AnyMessage()
    packed.Pack(message)
    add_to_collection(key, packed)


def _numbered(base: str) -> Callable[[gc.Path], gc.Path | None]:
    """Return a function to the number of an export from its path."""
    pattern = re.compile(re.escape(base.replace("\\", "/")) + r"/(\d{8})$")

    def parse(path: gc.Path) -> gc.Path | None:
        match = pattern.match(path.path.replace("\\", "/"))
        return path._replace(export_version=int(match.group(1))) if match else None

    return parse
