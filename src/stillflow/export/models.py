"""Models in files, as sessions with names for their inputs and outputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from stillflow import errors
from stillflow.export.problems import ExportError
from stillflow.graph import trust as trust_lib
from stillflow.graph.graph import Graph
from stillflow.graph.operation import Operation, Tensor
from stillflow.runtime.session.session import Session
from stillflow.saved_model.opening import load_model

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
    """Load a frozen graph, SavedModel, checkpoint with its `.meta`, or model of Keras or TFLite.

    A SavedModel is named by its directory, a checkpoint by its prefix. `trust` are the effects that
    the graph may have, as in `stillflow.graph.trust`. OpError if it cannot be loaded.
    """
    with trust_lib.limited(trust):
        if path.endswith((".h5", ".hdf5", ".keras")):
            with _keras_model(path) as model:
                yield model
            return
        if path.endswith(".tflite"):
            yield _lite_model(path)
            return
        with Graph().as_default() as graph, Session(graph=graph) as session:
            model = OpenModel(session)
            signatures = load_model(session, path, tags)
            if signatures:
                _choose(model, signatures, signature)
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


def _lite_model(path: str) -> OpenModel:
    """Return a model of TensorFlow Lite as the graph of its operators."""
    from stillflow.lite.interpreter import Interpreter

    interpreter = Interpreter(path)
    interpreter.allocate_tensors()
    values: Any = interpreter._values
    places = interpreter._subgraph.inputs, interpreter._subgraph.outputs
    inputs, outputs = ([values[index].name for index in part] for part in places)
    return OpenModel(interpreter._session, inputs, outputs)


def _choose(model: OpenModel, signatures: Mapping[str, Any], signature: str) -> None:
    """Take inputs and outputs from a signature, the one asked for or the only one."""
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
