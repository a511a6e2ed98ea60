"""Recurrent layers with a cell of their own: simple ones, GRUs, LSTMs."""

from __future__ import annotations

from typing import Any

from stillflow.graph.eager_mode import executing_eagerly_outside_functions
from stillflow.graph.export import export
from stillflow.keras.layers.recurrent.rnn import RNN
from stillflow.keras.layers.recurrent.standard import GRUCell, LSTMCell, SimpleRNNCell
from stillflow.layers.identifiers import regularizer_of, serialized
from stillflow.layers.input_spec import InputSpec
from stillflow.layers.signatures import recurrent_constructor
from stillflow.platform import tf_logging as logging


def of_cell(name: str) -> property:
    return property(lambda self: getattr(self.cell, name), doc=f"The cell's `{name}`.")


class StandardRNN(RNN):
    """A recurrent layer that makes its cell.

    Args:
      **given: the arguments of the cell and of `RNN`.
    """

    cell_type: Any  # a class
    _inputs_rank = 3

    def __init__(self, **given: Any) -> None:
        code = self.cell_type.__init__.__code__
        names = code.co_varnames[1 : code.co_argcount]
        cell_given = {name: given.pop(name) for name in names}
        activity_regularizer = given.pop("activity_regularizer")
        if self.cell_type is SimpleRNNCell and given.pop("implementation", None) is not None:
            logging.warning(
                "The `implementation` argument in `SimpleRNN` has been deprecated. Please remove "
                "it from your layer call."
            )
        cell = self.cell_type(**cell_given, dtype=given.get("dtype"))
        super().__init__(cell, **given)
        self.activity_regularizer = regularizer_of(activity_regularizer)
        self.input_spec = [InputSpec(ndim=self._inputs_rank)]

    def call(
        self, inputs: Any, mask: Any = None, training: Any = None, initial_state: Any = None
    ) -> Any:
        """Return the output; a list with the states if these are given."""
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
        """Return the constructor's arguments."""
        config = {**super().get_config(), **self.cell.cell_config()}
        config["activity_regularizer"] = serialized("regularizers", self.activity_regularizer)
        del config["cell"]
        return config

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> StandardRNN:
        """Return the layer with these constructor's arguments."""
        return cls(**config)


def _fits_cudnn(given: dict[str, Any]) -> bool:
    """Return True for arguments of a layer that computes, outside of graphs, as cuDNN's does."""
    activations = given["activation"] == "tanh" and given["recurrent_activation"] == "sigmoid"
    plain = given["recurrent_dropout"] == 0 and not given["unroll"] and given["use_bias"]
    reset_after = given.get("reset_after", True)
    return activations and plain and reset_after and executing_eagerly_outside_functions()


class _GatedRNN(StandardRNN):
    """A recurrent layer whose cell has gates, and two ways to compute them."""

    _in_version_2 = False

    def __init__(self, **given: Any) -> None:
        if given["implementation"] == 0:
            logging.warning(
                "`implementation=0` has been deprecated, and now defaults to `implementation=1`."
                "Please update your layer call."
            )
        super().__init__(**given)
        if self._in_version_2:
            self.could_use_cudnn = _fits_cudnn(given)

    recurrent_activation = of_cell("recurrent_activation")
    implementation = of_cell("implementation")

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> StandardRNN:
        """Return the layer with these constructor's arguments."""
        if config.get("implementation") == 0:
            config["implementation"] = 1
        return super().from_config(config, custom_objects)


@export("keras.layers.SimpleRNN")
class SimpleRNN(StandardRNN):
    """A simple recurrent network, [batch, time, features] to [batch, units].

    Args:
      See `SimpleRNNCell` and `RNN`.
    """

    cell_type = SimpleRNNCell
    __init__ = recurrent_constructor(SimpleRNNCell.__init__)


@export("keras.layers.GRU")
class GRU(_GatedRNN):
    """Gated recurrent units, [batch, time, features] to [batch, units].

    Args:
      See `GRUCell` and `RNN`.
    """

    cell_type = GRUCell
    __init__ = recurrent_constructor(GRUCell.__init__, before="reset_after")

    reset_after = of_cell("reset_after")


@export("keras.layers.LSTM")
class LSTM(_GatedRNN):
    """Long short-term memory, [batch, time, features] to [batch, units].

    Args:
      See `LSTMCell` and `RNN`.
    """

    cell_type = LSTMCell
    __init__ = recurrent_constructor(LSTMCell.__init__)

    unit_forget_bias = of_cell("unit_forget_bias")
