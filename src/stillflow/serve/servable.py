"""A version of a model that is loaded: its session, its signatures, its runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.export.models import default_outputs
from stillflow.graph import trust
from stillflow.graph.graph import Graph
from stillflow.ops.variables.buffer import fix_variables
from stillflow.protos import ConfigProto, SignatureDef
from stillflow.runtime.schedule.prune import needed_ops
from stillflow.runtime.session.session import Session
from stillflow.saved_model.names import INIT_OP_SIGNATURE_KEY, TRAIN_OP_SIGNATURE_KEY
from stillflow.saved_model.opening import load_model
from stillflow.serve.settings import Settings

DEFAULT_SIGNATURE = "serving_default"
PREDICT = "tensorflow/serving/predict"
CLASSIFY = "tensorflow/serving/classify"
REGRESS = "tensorflow/serving/regress"
_INTERNAL = (INIT_OP_SIGNATURE_KEY, TRAIN_OP_SIGNATURE_KEY)
_UNTOLD = ("unknown", trust.HIDDEN)  # an import says the first; the policy holds in the second

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
        session = Session(graph=Graph(), config=session_config(settings))
        try:
            signatures = _signatures(session, path, settings)
            needed = _needed_part(session.graph, signatures)
            if settings.trust != "all":
                _check_effects(needed, path)
            if not trust.writes_variables(needed):
                fix_variables(session._get_resources())
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


def _signatures(session: Any, path: str, settings: Settings) -> Mapping[str, Any]:
    """Load a model into a session; one without signatures gets that of the settings."""
    found = load_model(session, path, settings.tags)
    graph = session.graph
    if not found:
        signature = SignatureDef(method_name=PREDICT)
        outputs = settings.outputs or default_outputs(graph)
        _describe(graph, signature.outputs, outputs)
        _describe(graph, signature.inputs, settings.inputs or _needed(graph, signature.outputs))
        return {DEFAULT_SIGNATURE: signature}
    signatures = {key: each for key, each in found.items() if key not in _INTERNAL}
    for key, signature in signatures.items():
        _check_tensors(graph, key, signature)
    return signatures


def _needed(graph: Any, outputs: Any) -> list[str]:
    """Return the placeholders that outputs need, in the order of the graph."""
    tensors = [graph.get_tensor_by_name(info.name) for info in outputs.values()]
    placeholders = ("Placeholder", "PlaceholderV2")
    return [op.outputs[0].name for op in needed_ops(tensors, (), ()) if op.type in placeholders]


def _needed_part(graph: Any, signatures: Mapping[str, Any]) -> Any:
    """Return the part of the graph that signatures need, a `GraphDef`."""
    outputs = [info.name for each in signatures.values() for info in each.outputs.values()]
    return trust.part_of_outputs(graph.as_graph_def(), outputs)


def _check_effects(needed: Any, path: str) -> None:
    """Raise PermissionDeniedError where outputs need operations with effects on files and the like.

    A run of such an operation raises anyway. A version that has one is turned down while it loads,
    so that it never takes the place of a good one.
    """
    effects = trust.effects_of(needed)
    told = "; ".join(
        f"{effect}: {', '.join(names)}"
        for effect, names in effects.items()
        if effect not in _UNTOLD
    )
    if told:
        raise errors.permission_denied(
            f"{path} is not served, because its graph does more than compute ({told}). "
            "Serve it with --trust if you know where it comes from."
        )


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
