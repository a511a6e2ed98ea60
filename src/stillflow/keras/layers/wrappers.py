"""Layers around layers."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow import nest
from stillflow._home import is_our_module
from stillflow.graph.api import name_scope
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow.keras.backend.reductions import any_
from stillflow.keras.backend.rnn import rnn
from stillflow.keras.backend.shaping import concatenate, reverse
from stillflow.keras.backend.variables import is_keras_tensor
from stillflow.keras.layers.recurrent.rnn import standardize_arguments
from stillflow.keras.layers.recurrent.states import takes
from stillflow.layers.base_layer import Layer
from stillflow.layers.input_spec import InputSpec
from stillflow.layers.node import int_shape
from stillflow.util import tf_inspect


@export("keras.layers.Wrapper")
class Wrapper(Layer):
    """A layer around another; a subclass defines `call`.

    Args:
      layer: the other one.
    """

    def __init__(self, layer: Any, **kwargs: Any) -> None:
        assert isinstance(layer, Layer)
        self.layer = layer
        super().__init__(**kwargs)

    def build(self, input_shape: Any = None) -> None:
        """Build the other layer."""
        if not self.layer.built:
            self.layer.build(input_shape)
        self.built = True

    @property  # type: ignore[misc]  # the other layer's
    def activity_regularizer(self) -> Any:
        """The regularizer of the other layer."""
        return getattr(self.layer, "activity_regularizer", None)

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        layer = {"class_name": type(self.layer).__name__, "config": self.layer.get_config()}
        return {**super().get_config(), "layer": layer}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        """Return the layer with these constructor's arguments."""
        from stillflow.keras.layers.serialization import deserialize

        layer = deserialize(config.pop("layer"), custom_objects=custom_objects)
        return cls(layer, **config)


@export("keras.layers.TimeDistributed")
class TimeDistributed(Wrapper):
    """A layer for each step of sequences.

    Args:
      layer: the layer.

    Raises:
      ValueError: if it is none.
    """

    _input_map: dict[int, Any]  # the steps of inputs, by the ids of these

    def __init__(self, layer: Any, **kwargs: Any) -> None:
        if not isinstance(layer, Layer):
            raise ValueError(
                "Please initialize `TimeDistributed` layer with a `Layer` instance. You passed: "
                f"{layer}"
            )
        super().__init__(layer, **kwargs)
        self.supports_masking = True
        kinds = [kind for kind in type(layer).__mro__ if issubclass(kind, Layer)]
        own = any(is_our_module(kind.__module__) for kind in kinds[:-1])
        # TensorFlow counts classes as its own by their names in version 2.
        stateful = getattr(layer, "stateful", False)
        self._always_use_reshape = own and layer._in_version_2 and not stateful
        self.__dict__["_input_map"] = {}

    def build(self, input_shape: Any = None) -> None:
        """Build the layer for one step."""
        sizes = TensorShape(input_shape).as_list()
        if len(sizes) < 3:
            raise ValueError(
                "`TimeDistributed` Layer should be passed an `input_shape ` with at least 3 "
                f"dimensions, received: {sizes}"
            )
        self.input_spec = InputSpec(shape=[None, None, *sizes[2:]])
        super().build((sizes[0], *sizes[2:]))
        self.built = True

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """[batch, time] and the layer's output sizes."""
        sizes = TensorShape(input_shape).as_list()
        inner = self.layer.compute_output_shape(TensorShape([sizes[0], *sizes[2:]]))
        inner = TensorShape(inner).as_list()
        return TensorShape([inner[0], sizes[1], *inner[1:]])

    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Tensor:
        """Return the layer's outputs for all steps."""
        kwargs = {"training": training} if takes(self.layer, "training") else {}
        sizes = int_shape(inputs) or ()
        if sizes[0] and not self._always_use_reshape:
            return rnn(
                lambda x, _: (self.layer(x, **kwargs), []), inputs, initial_states=[],
                input_length=sizes[1], unroll=False,
            )[1]  # fmt: skip
        length = sizes[1] or tf.shape(inputs)[1]
        flat = tf.reshape(inputs, _sizes((-1,), inputs, 2))
        self._input_map[id(inputs)] = flat
        if takes(self.layer, "mask") and mask is not None:
            kwargs["mask"] = tf.reshape(mask, _sizes((-1,), mask, 2))
        outputs = self.layer(flat, **kwargs)
        known = self.compute_output_shape(sizes).as_list()
        return tf.reshape(outputs, _sizes((-1, length), outputs, 1, known[2:]))

    def compute_mask(self, inputs: Any, mask: Any = None) -> Tensor | None:
        """Return the layer's masks for all steps."""
        sizes = int_shape(inputs) or ()
        if sizes[0]:
            return mask
        inner = None if mask is None else tf.reshape(mask, _sizes((-1,), mask, 2))
        flat = self._input_map.get(id(inputs), inputs)
        output_mask = self.layer.compute_mask(flat, inner)
        if output_mask is None:
            for _ in range(2, 0 if mask is None else len(mask.shape)):
                mask = any_(mask, axis=-1)
            return mask
        length = sizes[1] or tf.shape(inputs)[1]
        known = int_shape(output_mask)
        if known is None:
            known = int_shape(mask) if mask is not None else sizes[:-1]
        return tf.reshape(output_mask, _sizes((-1, length), output_mask, 1, (known or ())[1:]))


def _sizes(front: tuple[Any, ...], x: Any, first: int, known: Any = None) -> tuple[Any, ...]:
    """`front` and the sizes of `x` from a dimension on, tensors where they are not known."""
    known = list((int_shape(x) or ())[first:] if known is None else known)
    if not all(known):
        found = tf.shape(x)
        known = [size or found[first + i] for i, size in enumerate(known)]
    return (*front, *known)


_MERGE_MODES = ("sum", "mul", "ave", "concat", None)


@export("keras.layers.Bidirectional")
class Bidirectional(Wrapper):
    """A recurrent layer in both directions of time.

    Args:
      layer: the layer, of which two copies are made.
      merge_mode: "sum", "mul", "ave" or "concat"; None for a list of both outputs.
      weights: the first values of the variables.
      backward_layer: the layer for the other direction, instead of a copy.

    Raises:
      ValueError: for another mode, or layers that do not fit.
    """

    def __init__(
        self,
        layer: Any,
        merge_mode: str | None = "concat",
        weights: Any = None,
        backward_layer: Any = None,
        **kwargs: Any,
    ) -> None:
        for what, given in (("Please initialize `Bidirectional` layer with", layer),
                            ("`backward_layer` need to be", backward_layer)):  # fmt: skip
            if not (isinstance(given, Layer) or (given is None and given is backward_layer)):
                raise ValueError(f"{what} a `Layer` instance. You passed: {given}")
        if merge_mode not in _MERGE_MODES:
            raise ValueError(
                'Invalid merge mode. Merge mode should be one of {"sum", "mul", "ave", "concat", '
                "None}"
            )
        self.forward_layer = _copy(layer)
        if backward_layer is None:
            self.backward_layer = _copy(layer, go_backwards=True)
        else:
            self.backward_layer = backward_layer
            self._backward_layer_config = backward_layer.get_config()
        self.forward_layer._name = f"forward_{self.forward_layer.name}"
        self.backward_layer._name = f"backward_{self.backward_layer.name}"
        self._check_layers()
        for one in (self.forward_layer, self.backward_layer):
            if getattr(one, "zero_output_for_mask", None) is not None:
                one.zero_output_for_mask = one.return_sequences
        self.merge_mode = merge_mode
        if weights:
            half = len(weights) // 2
            self.forward_layer._initial_weights = weights[:half]
            self.backward_layer._initial_weights = weights[half:]
        self._num_constants = 0
        # The layer itself is not used: it is no part of this one.
        object.__setattr__(self, "_self_setattr_tracking", False)
        super().__init__(layer, **kwargs)
        object.__setattr__(self, "_self_setattr_tracking", True)
        self.stateful, self.return_sequences = layer.stateful, layer.return_sequences
        self.return_state, self.supports_masking = layer.return_state, True
        self._trainable = True
        self.input_spec = layer.input_spec

    def _check_layers(self) -> None:
        forward, backward = self.forward_layer, self.backward_layer
        if forward.go_backwards == backward.go_backwards:
            raise ValueError(
                "Forward layer and backward layer should have different `go_backwards` value."
            )
        for name in ("stateful", "return_sequences", "return_state"):
            values = getattr(forward, name), getattr(backward, name)
            if values[0] != values[1]:
                raise ValueError(
                    "Forward layer and backward layer are expected to have the same value for "
                    f"attribute {name}, got {values[0]} and {values[1]}"
                )

    def build(self, input_shape: Any = None) -> None:
        """Build both layers."""
        for layer in (self.forward_layer, self.backward_layer):
            with name_scope(layer.name):
                layer.build(input_shape)
        self.built = True

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Return the shape of the merged outputs; a list with those of the states."""
        shapes = self.forward_layer.compute_output_shape(input_shape)
        states: list[Any] = []
        if self.return_state:
            shapes, states = shapes[0], list(shapes[1:])
        shape = TensorShape(shapes)
        if self.merge_mode == "concat":
            sizes: list[Any] = shape.as_list()
            shape = TensorShape([*sizes[:-1], sizes[-1] * 2])
        outputs = [shape] if self.merge_mode else [shape, shape]
        found = outputs + states * 2
        return found[0] if len(found) == 1 else found

    def __call__(
        self, inputs: Any, initial_state: Any = None, constants: Any = None, **kwargs: Any
    ) -> Tensor:
        """Call the layer.

        Args:
          inputs: [batch, time, features]; a list may have states and constants after it.
          initial_state: the first states of both directions.
          constants: tensors that the cells get in all steps.
          **kwargs: mask and training.

        Raises:
          ValueError: if the number of states is odd, or only some come from layers of Keras.
        """
        inputs, initial_state, constants = standardize_arguments(
            inputs, initial_state, constants, self._num_constants
        )
        if initial_state is None and constants is None:
            return super().__call__(inputs, **kwargs)
        specs = self._take_states(initial_state) + self._take_constants(constants)
        more = [*(initial_state or ()), *(constants or ())]
        of_layers = {is_keras_tensor(x) for x in more}
        if len(of_layers) > 1:
            raise ValueError(
                "The initial state of a Bidirectional layer cannot be specified with a mix of "
                'Keras tensors and non-Keras tensors (a "Keras tensor" is a tensor that was '
                "returned by a Keras layer, or by `Input`)"
            )
        if not of_layers.pop():
            given = {"initial_state": initial_state, "constants": constants}
            kwargs.update((key, value) for key, value in given.items() if value is not None)
            return super().__call__(inputs, **kwargs)
        before = self.input_spec
        self.input_spec = [None] * len(nest.flatten(inputs)) + specs
        output = super().__call__([inputs, *more], **kwargs)
        self.input_spec = before
        return output

    def _take_states(self, states: Any) -> list[InputSpec]:
        if states is None:
            return []
        if len(states) % 2:
            raise ValueError(
                "When passing `initial_state` to a Bidirectional RNN, the state should be a list "
                f"containing the states of the underlying RNNs. Found: {states}"
            )
        specs = [InputSpec(shape=int_shape(x)) for x in states]
        half = len(specs) // 2
        self.forward_layer.state_spec = specs[:half]
        self.backward_layer.state_spec = specs[half:]
        return specs

    def _take_constants(self, constants: Any) -> list[InputSpec]:
        if constants is None:
            return []
        specs = [InputSpec(shape=int_shape(x)) for x in constants]
        self._num_constants = len(specs)
        for layer in (self.forward_layer, self.backward_layer):
            layer.constants_spec, layer._num_constants = specs, len(specs)
        return specs

    def call(
        self,
        inputs: Any,
        training: Any = None,
        mask: Any = None,
        initial_state: Any = None,
        constants: Any = None,
    ) -> Any:
        """Return the merged outputs; a list with the states of both directions."""
        given = {"training": training, "mask": mask, "constants": constants}
        kwargs = {key: value for key, value in given.items() if takes(self.layer, key)}
        forward, backward = inputs, inputs
        states: tuple[Any, Any] = None, None
        if isinstance(inputs, list) and len(inputs) > 1:
            end = len(inputs) - self._num_constants
            half = end // 2 + 1
            shared = inputs[end:]
            forward = [inputs[0], *inputs[1:half], *shared]
            backward = [inputs[0], *inputs[half:end], *shared]
            kwargs.pop("constants", None)
        elif initial_state is not None:
            half = len(initial_state) // 2
            states = initial_state[:half], initial_state[half:]
        if takes(self.layer, "initial_state"):
            y: Any = self.forward_layer(forward, initial_state=states[0], **kwargs)
            y_back: Any = self.backward_layer(backward, initial_state=states[1], **kwargs)
        else:
            y = self.forward_layer(inputs, **kwargs)
            y_back = self.backward_layer(inputs, **kwargs)
        last: Any = []
        if self.return_state:
            last = y[1:] + y_back[1:]
            y, y_back = y[0], y_back[0]
        if self.return_sequences:
            y_back = reverse(y_back, 1)
        merged = self._merged(y, y_back)
        if not self.return_state:
            return merged
        return (merged if self.merge_mode is None else [merged]) + last

    def _merged(self, y: Any, y_back: Any) -> Any:
        if self.merge_mode == "concat":
            return concatenate([y, y_back])
        if self.merge_mode == "sum":
            return y + y_back
        if self.merge_mode == "ave":
            return (y + y_back) / 2
        return y * y_back if self.merge_mode == "mul" else [y, y_back]

    def reset_states(self) -> None:
        """Reset the states of both layers."""
        self.forward_layer.reset_states()
        self.backward_layer.reset_states()

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """Return the mask of the inputs, if all steps are given; none of the states."""
        mask = mask[0] if isinstance(mask, list) else mask
        mask = mask if self.return_sequences else None
        masks = [mask] if self.merge_mode else [mask, mask]
        if self.return_state:
            return masks + [None] * len(self.forward_layer.states) * 2
        return masks[0] if self.merge_mode else masks

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        config = {**super().get_config(), "merge_mode": self.merge_mode}
        if self._num_constants:
            config["num_constants"] = self._num_constants
        if hasattr(self, "_backward_layer_config"):
            config["backward_layer"] = {
                "class_name": type(self.backward_layer).__name__,
                "config": self._backward_layer_config,
            }
        return config

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Bidirectional:
        """Return the layer with these constructor's arguments."""
        from stillflow.keras.layers.serialization import deserialize

        config = dict(config)
        count = config.pop("num_constants", 0)
        if config.get("backward_layer") is not None:
            config["backward_layer"] = deserialize(
                config["backward_layer"], custom_objects=custom_objects
            )
        layer = super().from_config(config, custom_objects=custom_objects)
        layer._num_constants = count
        return layer


def _copy(layer: Any, go_backwards: bool = False) -> Any:
    """Return a layer with the same arguments, in the other direction if that is asked for."""
    config = layer.get_config()
    if go_backwards:
        config["go_backwards"] = not config["go_backwards"]
    kind = type(layer)
    if "custom_objects" not in tf_inspect.getfullargspec(kind.from_config).args:
        return kind.from_config(config)
    cell = getattr(layer, "cell", None)
    cells = [] if cell is None else [cell, *getattr(cell, "cells", ())]
    return kind.from_config(config, custom_objects={type(c).__name__: type(c) for c in cells})
