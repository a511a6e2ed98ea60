"""Models in files, as sessions with names for their inputs and outputs."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from stillflow import errors
from stillflow.export.problems import ExportError
from stillflow.files import kinds
from stillflow.files.checkpoint_paths import prefix_of
from stillflow.files.graph_files import read_graph
from stillflow.graph import trust as trust_lib
from stillflow.graph.graph import Graph
from stillflow.graph.importer import import_graph_def
from stillflow.graph.operation import Operation, Tensor
from stillflow.protos import MetaGraphDef
from stillflow.runtime.session.session import Session

_MOST = 20  # outputs that are proposed
_FED = ("Placeholder", "PlaceholderV2", "PlaceholderWithDefault")


@dataclass
class OpenModel:
    """A model that is loaded.

    Attributes:
      session: with its graph and variables.
      inputs, outputs: names of tensors; None where the file does not say.
      notes: what the user should know of the choice.
    """

    session: Any
    inputs: list[str] | None = None
    outputs: list[str] | None = None
    notes: list[str] = field(default_factory=list)


@contextmanager
def open_model(
    path: str, tags: Sequence[str] = ("serve",), signature: str = "serving_default",
    trust: str = "pure",
) -> Iterator[OpenModel]:  # fmt: skip
    """Load a frozen graph, a SavedModel, a checkpoint with its `.meta`, or a model of Keras.

    A SavedModel is named by its directory, a checkpoint by its prefix. `trust` are the effects that
    the graph may have, as in `stillflow.graph.trust`. OpError if it cannot be loaded.
    """
    with trust_lib.limited(trust):
        if path.endswith((".h5", ".hdf5", ".keras")):
            with _keras_model(path) as model:
                yield model
            return
        kind = kinds.identify(path)
        with Graph().as_default() as graph, Session(graph=graph) as session:
            model = OpenModel(session)
            if kind.name == kinds.SAVED_MODEL:
                _load_saved_model(model, path, tags, signature)
            elif kind.name == kinds.GRAPH:
                load_graph(model, path)
            elif kind.name in (kinds.CHECKPOINT, kinds.CHECKPOINT_STATE, kinds.DIRECTORY):
                prefix = prefix_of(path)
                load_meta_graph(model, f"{prefix}.meta", prefix)
            else:
                raise errors.invalid_argument(
                    f"{path} is no model that can be exported: {kind.name}"
                )
            yield model


@contextmanager
def _keras_model(path: str) -> Iterator[OpenModel]:
    from stillflow.keras.backend import session
    from stillflow.keras.saving.models import load_model

    with Graph().as_default():
        model = load_model(path, compile=False)
        inputs = [tensor.name for tensor in model.inputs]
        outputs = [tensor.name for tensor in model.outputs]
        yield OpenModel(session.get_session(), inputs, outputs)


def load_graph(model: OpenModel, path: str) -> None:
    """Import a frozen graph, or a `.meta` file with its checkpoint, into the model's session."""
    message = read_graph(path)
    if isinstance(message, MetaGraphDef):
        load_meta_graph(model, path, path.removesuffix(".meta"))
        return
    import_graph_def(message, name="")


def load_meta_graph(model: OpenModel, meta: str, prefix: str) -> None:
    """Import a `.meta` file into the model's session, and restore its checkpoint.

    Raises:
      NotFoundError: if there is no `.meta` file.
    """
    from stillflow.train.meta_graph import import_meta_graph
    from stillflow.train.saver import Saver

    if not os.path.exists(meta):
        raise errors.not_found(
            f"{meta} is missing: a checkpoint holds variables, its .meta file holds the graph"
        )
    saver = import_meta_graph(meta, clear_devices=True)
    if saver is None:
        saver = Saver()
    saver.restore(model.session, _sharded(prefix))


def _sharded(prefix: str) -> str:
    """Return a checkpoint's name; of old ones in several files, the pattern of these."""
    shards = glob.glob(f"{glob.escape(prefix)}-00000-of-?????")
    return f"{prefix}-?????-of-{shards[0][-5:]}" if shards else prefix


def _load_saved_model(model: OpenModel, path: str, tags: Sequence[str], signature: str) -> None:
    from stillflow.saved_model.reading import load

    folder = path if os.path.isdir(path) else os.path.dirname(path)
    message = load(model.session, list(tags), folder)
    signatures = dict(message.signature_def)
    if signature not in signatures:
        others = [key for key in signatures if signatures[key].outputs]
        if signature != "serving_default" or len(others) != 1:
            listed = ", ".join(sorted(others)) or "none"
            raise errors.not_found(
                f"there is no signature {signature!r}; those there are: {listed}"
            )
        model.notes.append(f"the only signature is {others[0]!r}")
        signature = others[0]
    chosen = signatures[signature]
    model.inputs = _parsed_features(model, [info.name for _, info in sorted(chosen.inputs.items())])
    model.outputs = [info.name for _, info in sorted(chosen.outputs.items())]


def _parsed_features(model: OpenModel, names: Sequence[str]) -> list[str]:
    """Return the inputs, with the features of serialized examples instead of these."""
    found: list[str] = []
    for name in names:
        tensor = model.session.graph.get_tensor_by_name(name)
        parsers = [op for op in tensor.consumers() if op.type in ("ParseExample", "ParseExampleV2")]
        if tensor.dtype.name != "string" or not parsers:
            found.append(name)
            continue
        features = [
            each.name for op in parsers for each in op._outputs
            if each.dtype.name != "string" and each.consumers()
        ]  # fmt: skip
        model.notes.append(
            f"{name} takes serialized examples; the parsed features are the inputs instead: "
            f"{', '.join(features)}"
        )
        found += features
    return found


def default_outputs(graph: Any) -> list[str]:
    """Return the outputs of a graph that does not name them: the one result that nothing takes.

    ExportError if there are several such results, or none.
    """
    results = [
        op._outputs[0] for op in graph.get_operations()
        if op._outputs and op.type not in ("Const", *_FED) and _is_result(op)
    ]  # fmt: skip
    if len(results) == 1:
        return [results[0].name]
    listed = ", ".join(tensor.name for tensor in results[:_MOST])
    more = f" and {len(results) - _MOST} more" if len(results) > _MOST else ""
    raise ExportError(
        f"the file does not say which tensors are outputs; name them with --outputs. Nothing "
        f"takes {listed}{more}"
        if results
        else "the graph has no result"
    )


def _is_result(op: Operation) -> bool:
    def is_number(tensor: Tensor) -> bool:
        dtype = tensor.dtype
        return not dtype._is_ref_dtype and dtype.name not in ("string", "resource", "variant")

    return is_number(op._outputs[0]) and not any(tensor.consumers() for tensor in op._outputs)
