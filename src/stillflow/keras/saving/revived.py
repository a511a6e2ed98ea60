"""Models and layers made of the functions that a SavedModel has of them, not of their class."""

from __future__ import annotations

import functools
import json
from typing import Any

from stillflow import nest
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_spec import TensorSpec
from stillflow.keras.engine.model import Model
from stillflow.keras.engine.sequential import Sequential
from stillflow.keras.regularizers import deserialize as regularizer_of
from stillflow.keras.utils.objects import deserialize_keras_object
from stillflow.layers.base_layer import Layer
from stillflow.layers.input_spec import InputSpec
from stillflow.layers.learning_phase import learning_phase
from stillflow.ops.control_flow.cond import smart_cond

# Contents of a layer in a SavedModel besides the attributes that are parts of it.
_NO_ATTRIBUTES = {
    "call_and_return_conditional_losses", "call_and_return_all_conditional_losses", "keras_api",
    "layer_regularization_losses", "layers", "metrics", "non_trainable_variables", "optimizer",
    "regularization_losses", "trainable_variables", "variables", "signatures",
}  # fmt: skip


class _Revived:
    """Base of loaded layers and models; `saved` is the result of `tf.saved_model.load`."""

    _saved: Any
    _described_as: dict[str, Any]
    _call_accepts_kwargs: bool
    activity_regularizer: Any
    add_loss: Any

    def _begin(self, saved: Any, described: dict[str, Any]) -> None:
        object.__setattr__(self, "_saved", saved)
        object.__setattr__(self, "_described_as", described)

    @property
    def _saved_api(self) -> Any:
        """The lists and functions that were saved; None of a layer that was not built."""
        return getattr(self._saved, "keras_api", None)

    def _expects(self, argument: str) -> bool:
        """Return True if calls are given `training` or `mask`."""
        return argument == "training" and bool(self._described_as.get("expects_training_arg"))

    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Tensor:
        """Return the outputs, by the function that was saved; adds the losses that it gives.

        Raises:
          ValueError: if the function was not saved for such inputs.
        """
        run = self._saved_api.call_and_return_conditional_losses
        if self._expects("training"):
            training = kwargs.pop("training", None)
            training = learning_phase() if training is None else training
            outputs, losses = smart_cond(
                training,
                functools.partial(run, inputs, *args, training=True, **kwargs),
                functools.partial(run, inputs, *args, training=False, **kwargs),
            )
        else:
            outputs, losses = run(inputs, *args, **kwargs)
        self.add_loss(losses, inputs=True)
        return outputs

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments of the class that was saved, if it said them."""
        if "config" not in self._described_as:
            raise NotImplementedError
        return self._described_as["config"]

    def _take_parts(self, parts: dict[str, Any]) -> None:
        """Set attributes, and variables that belong to objects other than layers."""
        for name, part in parts.items():
            setattr(self, name, part)
        own: Any = self
        known = {id(variable) for variable in own.weights}
        left = [v for v in getattr(self._saved_api, "variables", ()) if id(v) not in known]
        if left:
            own.other_variables = left

    def _finish(self) -> None:
        """Set its description, and its own losses."""
        own: Any = self
        described, api = self._described_as, self._saved_api
        regularizer = described.get("activity_regularizer")
        if regularizer is not None:
            self.activity_regularizer = regularizer_of(regularizer)
        elif self.activity_regularizer is None:
            self.activity_regularizer = getattr(api, "activity_regularizer_fn", None)
        for loss in getattr(api, "layer_regularization_losses", ()):
            self.add_loss(loss)
        own.trainable = described.get("trainable", True)
        own.built = api is not None


class RevivedLayer(_Revived, Layer):
    """Layer made of a loaded object of `tf.saved_model.load`."""

    def __init__(self, saved: Any, described: dict[str, Any]) -> None:
        self._begin(saved, described)
        given = {
            name: described[name]
            for name in ("dtype", "batch_input_shape") if described.get(name) is not None
        }  # fmt: skip
        super().__init__(name=described["name"], **given)
        self._call_accepts_kwargs = False  # the reverse of `_expects`
        if described.get("input_spec") is not None:
            self.input_spec = _input_spec(described["input_spec"])
        if "_is_feature_layer" in described:
            self._is_feature_layer = described["_is_feature_layer"]


class RevivedModel(_Revived, Model):
    """Model made of a loaded object of `tf.saved_model.load`."""

    def __init__(self, saved: Any, described: dict[str, Any]) -> None:
        self._begin(saved, described)
        super().__init__(name=described["name"])
        self._call_accepts_kwargs = False

    def _take_parts(self, parts: dict[str, Any]) -> None:
        super()._take_parts(parts)
        run = getattr(self._saved_api, "call_and_return_conditional_losses", None)
        if run is not None and run.concrete_functions:
            self._set_inputs(_inputs_of(run))


class RevivedSequential(_Revived, Sequential):
    """A sequential model of layers that were revived."""

    call: Any = Sequential.call
    _expects: Any = Sequential._expects

    def __init__(self, saved: Any, described: dict[str, Any]) -> None:
        self._begin(saved, described)
        super().__init__(name=described["name"])

    def _take_parts(self, parts: dict[str, Any]) -> None:
        """Set the layers one after the other."""
        for layer in parts["layers"]:
            self.add(layer)
        if not self.inputs:
            self._set_inputs(_inputs_of(self._saved_api.call_and_return_conditional_losses))


_KINDS: dict[str, Any] = {
    "_tf_keras_layer": RevivedLayer,
    "_tf_keras_network": RevivedModel,
    "_tf_keras_model": RevivedModel,
    "_tf_keras_sequential": RevivedSequential,
}


class _Reviver:
    """Builder of layers from loaded objects, each once."""

    def __init__(self) -> None:
        self._made: dict[int, Any] = {}

    def of(self, saved: Any) -> Any:
        """Return the layer of something loaded, the layers in a list or dictionary.

        Others as they are.
        """
        if isinstance(saved, list):
            return [self.of(part) for part in saved]
        if isinstance(saved, dict):
            return {key: self.of(part) for key, part in saved.items()}
        kind = _KINDS.get(getattr(saved, "_saved_identifier", ""))
        if kind is None:
            return saved
        if id(saved) not in self._made:
            described = json.loads(saved._saved_metadata)
            revived = type(str(described["class_name"]), (kind,), {})(saved, described)
            self._made[id(saved)] = revived
            revived._take_parts(self._parts(saved, kind))
            revived._finish()
        return self._made[id(saved)]

    def _parts(self, saved: Any, kind: Any) -> dict[str, Any]:
        if kind is RevivedSequential:
            return {"layers": self.of(list(saved.keras_api.layers))}
        return {
            name: self.of(part)
            for name, part in vars(saved).items()
            if not (name.startswith("_") or name in _NO_ATTRIBUTES)
        }


def _input_spec(described: Any) -> Any:
    """Return the `InputSpec`s that were described, in their structure."""
    if isinstance(described, dict) and "class_name" in described:
        return deserialize_keras_object(described, module_objects={"InputSpec": InputSpec})
    if isinstance(described, dict):
        return {key: _input_spec(part) for key, part in described.items()}
    return [_input_spec(part) for part in described]


def _inputs_of(function: Any) -> Any:
    """Return a function's first argument: specs of all inputs that it was saved for."""
    first, *others = [one.structured_input_signature[0][0] for one in function.concrete_functions]
    for other in others:
        first = nest.map_structure(_common, first, other)
    return first


def _common(one: TensorSpec, other: TensorSpec) -> TensorSpec:
    return TensorSpec(one.shape.most_specific_compatible_shape(other.shape), one.dtype, one.name)


def revive(saved: Any) -> Any:
    """Return a layer or model of the name of the class that was saved, from what was loaded.

    NotImplementedError if its functions were not saved with it.
    """
    has_functions = hasattr(getattr(saved, "keras_api", None), "call_and_return_conditional_losses")
    if not has_functions and saved._saved_identifier != "_tf_keras_layer":
        class_name = json.loads(saved._saved_metadata)["class_name"]
        raise NotImplementedError(
            f"keras.models.load_model: the SavedModel holds a model of the class {class_name} "
            "without get_config() and without the functions that TensorFlow saves of models; "
            "tf.saved_model.load reads its graph"
        )
    revived = _Reviver().of(saved)
    object.__setattr__(revived, "signatures", getattr(saved, "signatures", None))
    return revived
