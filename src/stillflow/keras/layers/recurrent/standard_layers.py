"""Recurrent layers with a cell of their own: simple ones, GRUs, LSTMs."""

from __future__ import annotations

from typing import Any

from stillflow.graph.export import export
from stillflow.keras.layers.recurrent.rnn import RNN
from stillflow.keras.layers.recurrent.standard import GRUCell, LSTMCell, SimpleRNNCell
from stillflow.layers.identifiers import regularizer_of, serialized
from stillflow.layers.input_spec import InputSpec
from stillflow.layers.signatures import arguments
from stillflow.platform import tf_logging as logging

_OF_RNN = ("return_sequences", "return_state", "go_backwards", "stateful", "unroll")


def of_cell(name: str) -> property:
    return property(lambda self: getattr(self.cell, name), doc=f"The cell's `{name}`.")


class StandardRNN(RNN):
    """A recurrent layer that makes its cell.

    Args:
      cell_type: the class of the cell.
      given: the constructor's arguments, for the cell and for `RNN`.
    """

    def __init__(self, cell_type: Any, given: dict[str, Any]) -> None:
        activity_regularizer = given.pop("activity_regularizer")
        of_rnn = {name: given.pop(name) for name in _OF_RNN}
        more = given.pop("kwargs")
        cell = cell_type(**given, dtype=more.get("dtype"))
        super().__init__(cell, **of_rnn, **more)
        self.activity_regularizer = regularizer_of(activity_regularizer)
        self.input_spec = [InputSpec(ndim=3)]

    def call(  # type: ignore[override]
        self, inputs: Any, mask: Any = None, training: Any = None, initial_state: Any = None
    ) -> Any:
        """The output; a list with the states if these are given."""
        self.cell.reset_dropout_mask()
        self.cell.reset_recurrent_dropout_mask()
        return super().call(inputs, mask=mask, training=training, initial_state=initial_state)

    units = of_cell("units")
    activation = of_cell("activation")
    use_bias = of_cell("use_bias")
    kernel_initializer = of_cell("kernel_initializer")
    recurrent_initializer = of_cell("recurrent_initializer")
    bias_initializer = of_cell("bias_initializer")
    kernel_regularizer = of_cell("kernel_regularizer")
    recurrent_regularizer = of_cell("recurrent_regularizer")
    bias_regularizer = of_cell("bias_regularizer")
    kernel_constraint = of_cell("kernel_constraint")
    recurrent_constraint = of_cell("recurrent_constraint")
    bias_constraint = of_cell("bias_constraint")
    dropout = of_cell("dropout")
    recurrent_dropout = of_cell("recurrent_dropout")

    def get_config(self) -> dict[str, Any]:
        """The constructor's arguments."""
        config = {**super().get_config(), **self.cell.cell_config()}
        config["activity_regularizer"] = serialized("regularizers", self.activity_regularizer)
        del config["cell"]
        return config

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        """The layer with these constructor's arguments."""
        return cls(**config)


def given_to(given: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a constructor, those that it does not name in a dictionary of their own."""
    named = arguments({**given, "kwargs": {}})
    return {**named, "kwargs": given["kwargs"]}


class _GatedRNN(StandardRNN):
    """A recurrent layer whose cell has gates, and two ways to compute them."""

    _in_version_2 = False

    def __init__(self, cell_type: Any, given: dict[str, Any]) -> None:
        if given["implementation"] == 0:
            logging.warning(
                "`implementation=0` has been deprecated, and now defaults to `implementation=1`."
                "Please update your layer call."
            )
        super().__init__(cell_type, given)

    recurrent_activation = of_cell("recurrent_activation")
    implementation = of_cell("implementation")

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Any:
        """The layer with these constructor's arguments."""
        if config.get("implementation") == 0:
            config["implementation"] = 1
        return super().from_config(config, custom_objects)


@export("keras.layers.SimpleRNN")
class SimpleRNN(StandardRNN):
    """A simple recurrent network, [batch, time, features] to [batch, units].

    Args:
      See `SimpleRNNCell` and `RNN`.
    """

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
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
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        **kwargs: Any,
    ) -> None:
        if kwargs.pop("implementation", None) is not None:
            logging.warning(
                "The `implementation` argument in `SimpleRNN` has been deprecated. Please remove "
                "it from your layer call."
            )
        super().__init__(SimpleRNNCell, given_to(locals()))


@export("keras.layers.GRU")
class GRU(_GatedRNN):
    """Gated recurrent units, [batch, time, features] to [batch, units].

    Args:
      See `GRUCell` and `RNN`.
    """

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        recurrent_activation: Any = "hard_sigmoid",
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
        implementation: int = 1,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        reset_after: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(GRUCell, given_to(locals()))

    reset_after = of_cell("reset_after")


@export("keras.layers.LSTM")
class LSTM(_GatedRNN):
    """Long short-term memory, [batch, time, features] to [batch, units].

    Args:
      See `LSTMCell` and `RNN`.
    """

    def __init__(
        self,
        units: int,
        activation: Any = "tanh",
        recurrent_activation: Any = "hard_sigmoid",
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
        implementation: int = 1,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(LSTMCell, given_to(locals()))

    unit_forget_bias = of_cell("unit_forget_bias")
