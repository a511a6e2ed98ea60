"""Recurrent cells and layers as `tf.compat.v2.keras` has them: with other defaults.

TensorFlow lets a function choose cuDNN's kernels for its layers while they run; here the layers
compute as `tf.keras.layers` does.
"""

from __future__ import annotations

from stillflow.graph.export import export
from stillflow.keras.layers.recurrent import standard, standard_layers
from stillflow.layers.signatures import (
    RECURRENT_FLAGS,
    recurrent_constructor,
    with_defaults,
)

_FLAGS = (*RECURRENT_FLAGS, "time_major")


@export("compat.v2.keras.layers.GRUCell")
class GRUCell(standard.GRUCell):
    """Gated recurrent units: see `tf.keras.layers.GRUCell`."""

    __init__ = with_defaults(
        standard.GRUCell.__init__,
        recurrent_activation="sigmoid",
        implementation=2,
        reset_after=True,
    )


@export("compat.v2.keras.layers.LSTMCell")
class LSTMCell(standard.LSTMCell):
    """A long short-term memory: see `tf.keras.layers.LSTMCell`."""

    __init__ = with_defaults(
        standard.LSTMCell.__init__, recurrent_activation="sigmoid", implementation=2
    )


@export("compat.v2.keras.layers.GRU")
class GRU(standard_layers.GRU):
    """Gated recurrent units: see `tf.keras.layers.GRU`."""

    _in_version_2 = True
    __init__ = recurrent_constructor(GRUCell.__init__, "reset_after", _FLAGS)


@export("compat.v2.keras.layers.LSTM")
class LSTM(standard_layers.LSTM):
    """Long short-term memory: see `tf.keras.layers.LSTM`."""

    _in_version_2 = True
    __init__ = recurrent_constructor(
        LSTMCell.__init__, flags=(*RECURRENT_FLAGS[:-1], "time_major", "unroll")
    )
