"""A version of a model that is loaded: its session, its signatures, its runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.export.models import OpenModel, default_outputs, load_graph, load_meta_graph
from stillflow.files import gfile
from stillflow.files.checkpoint_paths import prefix_of
from stillflow.graph import trust
from stillflow.graph.graph import Graph
from stillflow.protos import ConfigProto, SignatureDef
from stillflow.runtime.session.session import Session
from stillflow.saved_model.names import INIT_OP_SIGNATURE_KEY, TRAIN_OP_SIGNATURE_KEY
from stillflow.saved_model.reading import SavedModelLoader, maybe_saved_model_directory
from stillflow.serve.effects import check_effects
from stillflow.serve.settings import Settings

DEFAULT_SIGNATURE = "serving_default"
PREDICT = "tensorflow/serving/predict"
CLASSIFY = "tensorflow/serving/classify"
REGRESS = "tensorflow/serving/regress"
_INTERNAL = (INIT_OP_SIGNATURE_KEY, TRAIN_OP_SIGNATURE_KEY)

Arrays = Mapping[str, np.ndarray[Any, Any]]


class Servable:
    """A loaded version of a model.

    Attributes:
      name, version: which one it is.
      path: the folder or file that it comes from.
      tags: of the SavedModel's graph.
      signatures: the `SignatureDef` messages by key.
    """

    def __init__(
        self, name: str, version: int, path: str, session: Any, signatures: Mapping[str, Any],
        tags: Sequence[str] = (),
    ) -> None:  # fmt: skip
        self.name, self.version, self.path, self.tags = name, version, path, list(tags)
        self.signatures = dict(signatures)
        self._session = session

    def signature(self, key: str) -> Any:
        """Return a signature, the default one for "".

        Raises:
          FailedPreconditionError: if there is none of this key.
        """
        key = key or DEFAULT_SIGNATURE
        if key not in self.signatures:
            raise errors.failed_precondition(f'Serving signature key "{key}" not found.')
        return self.signatures[key]

    def run(self, feeds: Arrays, fetches: Sequence[str]) -> list[np.ndarray[Any, Any]]:
        """Run the session.

        Args:
          feeds: arrays by the names of tensors.
          fetches: names of tensors.

        Raises:
          OpError: if the run fails.
        """
        try:
            found = self._session.run(list(fetches), dict(feeds))
        except errors.OpError:
            raise
        except (KeyError, TypeError, ValueError) as error:
            raise errors.invalid_argument(str(error)) from None
        except RuntimeError as error:
            closed = "closed Session" in str(error)
            make = errors.unavailable if closed else errors.internal
            raise make(f"{self.name}/{self.version} cannot run: {error}") from None
        return [np.asarray(value, object if isinstance(value, bytes) else None) for value in found]

    def close(self) -> None:
        """Release the session."""
        self._session.close()


def load(name: str, version: int, path: str, settings: Settings) -> Servable:
    """Load a SavedModel, a frozen graph or a checkpoint with its `.meta` file.

    Raises:
      OpError: if it cannot be loaded, or has effects that are not allowed.
    """
    with trust.limited(settings.trust):
        graph = Graph()
        session = Session(graph=graph, config=session_config(settings))
        try:
            with graph.as_default():
                if gfile.is_directory(path) and maybe_saved_model_directory(path):
                    signatures: Mapping[str, Any] = _saved_model(session, path, settings)
                else:
                    signatures = _graph(session, path, settings)
        except BaseException as error:
            session.close()
            if isinstance(error, (errors.OpError, OSError, ValueError, RuntimeError, KeyError)):
                raise _as_op_error(error, path) from error
            raise
    return Servable(name, version, path, session, signatures, settings.tags)


def _as_op_error(error: Exception, path: str) -> errors.OpError:
    if isinstance(error, errors.OpError):
        return error
    missing = isinstance(error, FileNotFoundError) or "does not exist" in str(error)
    make = errors.not_found if missing else errors.invalid_argument
    return make(f"{path} cannot be loaded: {error}")


def _saved_model(session: Any, path: str, settings: Settings) -> Mapping[str, Any]:
    loader = SavedModelLoader(path)
    message = loader.get_meta_graph_def_from_tags(settings.tags)
    signatures = {k: v for k, v in message.signature_def.items() if k not in _INTERNAL}
    if settings.trust != "all":
        outputs = [info.name for each in signatures.values() for info in each.outputs.values()]
        check_effects(message.graph_def, outputs, path)
    loader.load(session, settings.tags)
    for key, signature in signatures.items():
        _check_tensors(session.graph, key, signature)
    return signatures


def _graph(session: Any, path: str, settings: Settings) -> Mapping[str, Any]:
    """Load a graph without signatures; its one signature has the inputs and outputs named."""
    model = OpenModel(session)
    if gfile.file_exists(path + ".index") or gfile.is_directory(path):
        prefix = prefix_of(path)
        load_meta_graph(model, f"{prefix}.meta", prefix)
    else:
        load_graph(model, path)
    graph = session.graph
    inputs = settings.inputs or [
        op.outputs[0].name for op in graph.get_operations() if op.type == "Placeholder"
    ]
    signature = SignatureDef(method_name=PREDICT)
    _describe(graph, signature.inputs, inputs)
    _describe(graph, signature.outputs, settings.outputs or default_outputs(graph))
    if settings.trust != "all":
        names = [info.name for info in signature.outputs.values()]
        check_effects(graph.as_graph_def(), names, path)
    return {DEFAULT_SIGNATURE: signature}


def _describe(graph: Any, infos: Any, names: Iterable[str]) -> None:
    """Fill one side of a signature from names such as `x:0`, `x`, or `alias=x:0`."""
    for text in names:
        alias, equals, name = text.rpartition("=")
        name = name if ":" in name else f"{name}:0"
        tensor = graph.get_tensor_by_name(name)
        info = infos[alias if equals else name.partition(":")[0]]
        info.name, info.dtype = name, tensor.dtype.base_dtype.as_datatype_enum
        info.tensor_shape.CopyFrom(tensor.shape.as_proto())


def _check_tensors(graph: Any, key: str, signature: Any) -> None:
    """Raise InvalidArgumentError where a signature names tensors that the graph does not have."""
    for info in (*signature.inputs.values(), *signature.outputs.values()):
        if info.WhichOneof("encoding") != "name":
            continue
        try:
            graph.get_tensor_by_name(info.name)
        except (KeyError, ValueError) as error:
            raise errors.invalid_argument(f"Signature {key!r}: {error}") from None


def session_config(settings: Settings) -> Any:
    """Return the `ConfigProto` of sessions."""
    config = ConfigProto(allow_soft_placement=True)
    both = settings.tensorflow_session_parallelism
    config.intra_op_parallelism_threads = settings.tensorflow_intra_op_parallelism or both
    config.inter_op_parallelism_threads = settings.tensorflow_inter_op_parallelism or both
    share = settings.per_process_gpu_memory_fraction
    if share:
        config.gpu_options.per_process_gpu_memory_fraction = share
    else:
        config.gpu_options.allow_growth = True
    return config
