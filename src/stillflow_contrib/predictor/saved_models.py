"""Predictors of SavedModels."""

from __future__ import annotations

from typing import Any

from stillflow.graph.export import export
from stillflow.graph.graph import Graph
from stillflow.platform import tf_logging as logging
from stillflow.runtime.session.session import Session
from stillflow.saved_model import names
from stillflow.saved_model.reading import load
from stillflow_contrib.predictor.base import Predictor, tensor_names

DEFAULT_TAGS = "serve"


class SavedModelPredictor(Predictor):
    """The model of a SavedModel; arguments and errors are those of `from_saved_model`."""

    def __init__(
        self, export_dir: Any, signature_def_key: str | None = None, signature_def: Any = None,
        input_names: dict[str, str] | None = None, output_names: dict[str, str] | None = None,
        tags: str | None = None, graph: Graph | None = None, config: Any = None,
    ) -> None:  # fmt: skip
        _check_one_way(signature_def_key, signature_def, input_names, output_names)
        self._graph = graph or Graph()
        with self._graph.as_default():
            self._session = Session(config=config)
            message = load(self._session, (tags or DEFAULT_TAGS).split(","), export_dir)
        if input_names is None or output_names is None:
            signature = signature_def
            if signature is None:
                signature = _signature(message, signature_def_key)
            input_names = tensor_names(signature.inputs)
            output_names = tensor_names(signature.outputs)
        self._use_signature(input_names, output_names)


def _check_one_way(
    signature_def_key: Any, signature_def: Any, input_names: Any, output_names: Any
) -> None:
    if (input_names is None) != (output_names is None):
        raise ValueError(
            "input_names and output_names must both be specified or both be unspecified."
        )
    ways = (signature_def_key, signature_def, input_names)
    if sum(way is not None for way in ways) > 1:
        raise ValueError(
            "You must specify at most one of signature_def_key OR signature_def OR(input_names AND "
            "output_names)."
        )


def _signature(message: Any, key: str | None) -> Any:
    """Return the signature of a `MetaGraphDef`.

    An empty one, as in TensorFlow, if it has no such.
    """
    key = key or names.DEFAULT_SERVING_SIGNATURE_DEF_KEY
    if key not in message.signature_def:
        logging.warning(
            'There is no signature_def_key "%s": the predictor has neither inputs nor outputs. '
            "Available signatures are %s.", key, sorted(message.signature_def)
        )  # fmt: skip
    return message.signature_def[key]


@export("contrib.predictor.from_saved_model")
def from_saved_model(
    export_dir: Any, signature_def_key: str | None = None, signature_def: Any = None,
    input_names: dict[str, str] | None = None, output_names: dict[str, str] | None = None,
    tags: str | None = None, graph: Graph | None = None, config: Any = None,
) -> Predictor:  # fmt: skip
    """Return a predictor of a model that was exported as a SavedModel.

    Args:
      export_dir: its folder.
      signature_def_key: the signature of feeds and fetches; "serving_default" if None.
      signature_def: a `SignatureDef` instead.
      input_names, output_names: {name: name of a tensor in the model} instead, both.
      tags: all tags of the graph, with commas between them; "serve" if None.
      graph: which the model is added to; a new one if None.
      config: a `ConfigProto` for the session.

    Raises:
      ValueError: if inputs and outputs are specified in several ways, or only one of
        `input_names` and `output_names` is there.
      RuntimeError: if there is no graph with these tags.
      IOError: if there is no SavedModel in the folder.
    """
    return SavedModelPredictor(
        export_dir, signature_def_key, signature_def, input_names, output_names, tags, graph, config
    )
