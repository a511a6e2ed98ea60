"""Recurrent cells and layers as `tf.compat.v2.keras` has them: with other defaults.

TensorFlow lets a function choose cuDNN's kernels for its layers while they run; here the layers
compute as `tf.keras.layers` does.
"""

from __future__ import annotations

from typing import Any

from stillflow.graph.eager_mode import executing_eagerly_outside_functions
from stillflow.graph.export import export
from stillflow.keras.layers.recurrent import standard, standard_layers
from stillflow.layers.signatures import arguments


@export("compat.v2.keras.layers.GRUCell")
class GRUCell(standard.GRUCell):
    """Gated recurrent units: see `tf.keras.layers.GRUCell`."""

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        recurrent_activation: Any = "sigmoid",
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        recurrent_regularizer: Any = None,
        bias_regularizer: Any = None,
        kernel_constraint: Any = None,
        recurrent_constraint: Any = None,
        bias_constraint: Any = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        implementation: int = 2,
        reset_after: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(**arguments(locals()))


@export("compat.v2.keras.layers.LSTMCell")
class LSTMCell(standard.LSTMCell):
    """A long short-term memory: see `tf.keras.layers.LSTMCell`."""

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        recurrent_activation: Any = "sigmoid",
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros",
        unit_forget_bias: bool = True,
        kernel_regularizer: Any = None,
        recurrent_regularizer: Any = None,
        bias_regularizer: Any = None,
        kernel_constraint: Any = None,
        recurrent_constraint: Any = None,
        bias_constraint: Any = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        implementation: int = 2,
        **kwargs: Any,
    ) -> None:
        super().__init__(**arguments(locals()))


def _fits_cudnn(given: dict[str, Any]) -> bool:
    """Whether a layer with these arguments computes what cuDNN's does, outside of graphs."""
    activations = given["activation"] == "tanh" and given["recurrent_activation"] == "sigmoid"
    plain = given["recurrent_dropout"] == 0 and not given["unroll"] and given["use_bias"]
    return activations and plain and executing_eagerly_outside_functions()


@export("compat.v2.keras.layers.GRU")
class GRU(standard_layers.GRU):
    """Gated recurrent units: see `tf.keras.layers.GRU`."""

    _in_version_2 = True

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        recurrent_activation: Any = "sigmoid",
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        recurrent_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        recurrent_constraint: Any = None,
        bias_constraint: Any = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        implementation: int = 2,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        time_major: bool = False,
        reset_after: bool = True,
        **kwargs: Any,
    ) -> None:
        given = {**arguments({**locals(), "kwargs": {}}), **kwargs}
        super().__init__(**given)
        self.could_use_cudnn = _fits_cudnn(given) and reset_after


@export("compat.v2.keras.layers.LSTM")
class LSTM(standard_layers.LSTM):
    """Long short-term memory: see `tf.keras.layers.LSTM`."""

    _in_version_2 = True

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        recurrent_activation: Any = "sigmoid",
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros",
        unit_forget_bias: bool = True,
        kernel_regularizer: Any = None,
        recurrent_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        recurrent_constraint: Any = None,
        bias_constraint: Any = None,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
        implementation: int = 2,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        time_major: bool = False,
        **kwargs: Any,
    ) -> None:
        given = {**arguments({**locals(), "kwargs": {}}), **kwargs}
        super().__init__(**given)
        self.could_use_cudnn = _fits_cudnn(given)
