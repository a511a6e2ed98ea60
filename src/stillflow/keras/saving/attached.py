"""Contents of layers in SavedModels besides their parts: lists of variables, and functions.

TensorFlow finds it under `keras_api`, and some of it on the layer itself too.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from stillflow.functional.polymorphic import Function
from stillflow.keras.engine.model import Model
from stillflow.keras.saving.layer_functions import LayerFunctionsCache, inner_layers
from stillflow.layers.attributes import all_layers
from stillflow.layers.base_layer import Layer
from stillflow.platform import tf_logging as logging
from stillflow.train.tracking.base import Trackable
from stillflow.train.tracking.object_graph import ObjectGraph

_BESIDE = ("variables", "trainable_variables", "regularization_losses")
_FUNCTIONS_BESIDE = (
    "__call__", "call_and_return_all_conditional_losses", "_default_save_signature",
)  # fmt: skip
_DEFAULT = "_default_save_signature"


class _Parts(Trackable):
    """Objects and functions by name."""

    def __init__(self, parts: dict[str, Any], functions: dict[str, Any] | None = None) -> None:
        self._tracked, self._deferred = dict(parts), {}
        self._saved_functions = dict(functions or {})


class _List(_Parts):
    """Objects or functions by number."""

    _object_identifier = "trackable_list_wrapper"

    def __init__(self, items: Any) -> None:
        named = {str(number): item for number, item in enumerate(items)}
        functions = {key: item for key, item in named.items() if isinstance(item, Function)}
        parts = {key: item for key, item in named.items() if key not in functions}
        super().__init__(parts, functions)


@contextlib.contextmanager
def layers_with_functions(root: Any) -> Iterator[None]:
    """Attach the contents for SavedModels to all layers reachable from `root`."""
    layers = _layers_and_metrics(root)
    cache, losses, kept = LayerFunctionsCache(), _LossFunctions(), []
    try:
        for layer in layers:
            if _is_ready(layer):
                kept.append((layer, dict(layer._tracked)))
                _attach(layer, cache, losses, layer is root)
        yield
    finally:
        for layer, tracked in kept:
            object.__setattr__(layer, "_tracked", tracked)
            layer.__dict__.pop("_saved_functions", None)


def _layers_and_metrics(root: Any) -> list[Any]:
    found = {id(x): x for x in ObjectGraph(root).objects if isinstance(x, Layer)}
    for layer in list(found.values()):
        found.update((id(metric), metric) for metric in layer.metrics)
    return list(found.values())


def _is_ready(layer: Any) -> bool:
    if isinstance(layer, Model):
        if layer.inputs:
            return True
        logging.warning(
            f"Skipping full serialization of Keras model {layer}, because its inputs are not "
            "defined."
        )
    elif layer.built:
        return True
    else:
        logging.warning(
            f"Skipping full serialization of Keras layer {layer}, because it is not built."
        )
    return False


def _attach(layer: Any, cache: LayerFunctionsCache, losses: _LossFunctions, is_root: bool) -> None:
    default = layer._default_save_signature if is_root and isinstance(layer, Model) else None
    try:
        functions = dict(cache.of(layer))
    except (ValueError, TypeError) as error:
        logging.warning(
            f"Skipping full serialization of object {layer}, because an error occurred while "
            f"tracing layer functions. Error message: {error}"
        )
        return
    if default is not None:
        functions[_DEFAULT] = default
    parts = _lists_of(layer, losses)
    layer._maybe_initialize_trackable()
    layer._tracked.update({name: parts[name] for name in _BESIDE})
    layer._tracked["keras_api"] = _Parts(parts, functions)
    object.__setattr__(
        layer, "_saved_functions",
        {name: functions[name] for name in _FUNCTIONS_BESIDE if name in functions},
    )  # fmt: skip


def _lists_of(layer: Any, losses: _LossFunctions) -> dict[str, Any]:
    own = [losses.of(loss) for loss in layer._callable_losses]
    inside = [one for inner in all_layers(layer) for one in inner._callable_losses]
    return {
        "variables": _List(layer.variables),
        "trainable_variables": _List(layer.trainable_variables),
        "non_trainable_variables": _List(layer.non_trainable_variables),
        "layers": _List(inner_layers(layer)),
        "metrics": _List(layer.metrics),
        "regularization_losses": _List([losses.of(loss) for loss in inside]),
        "layer_regularization_losses": _List(own),
    }


class _LossFunctions:
    """The losses of regularizers as functions, made once for each."""

    def __init__(self) -> None:
        self._made: dict[int, Function] = {}

    def of(self, loss: Any) -> Function:
        """Return the function of a loss."""
        if id(loss) not in self._made:
            number = len(self._made)
            self._made[id(loss)] = Function(
                lambda: loss(), f"loss_fn_{number}", [], autograph=(False, None)
            )
        return self._made[id(loss)]
