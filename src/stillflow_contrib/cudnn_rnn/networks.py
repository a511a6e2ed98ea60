"""Whole recurrent networks as functions, and as objects that know their sizes."""

from __future__ import annotations

import os
from functools import partial
from typing import Any

import stillflow as tf
from stillflow.graph import dtypes
from stillflow.graph.operation import Tensor
from stillflow.graph.random_seed import get_seed
from stillflow.ops.recurrent.cudnn import (
    cudnn_rnn_params_size_op,
    forward_ops,
    to_canonical_ops,
    to_params_ops,
)
from stillflow_contrib.cudnn_rnn.modes import (
    CUDNN_GRU,
    CUDNN_INPUT_LINEAR_MODE,
    CUDNN_LSTM,
    CUDNN_RNN_RELU,
    CUDNN_RNN_TANH,
    CUDNN_RNN_UNIDIRECTION,
    PARAMS_PER_LAYER,
    check_direction,
    check_input_mode,
    check_rnn_mode,
    directions_of,
)


def _checked(rnn_mode: str, direction: str, input_mode: str, seed: Any) -> dict[str, Any]:
    """Return the attributes that all operations have."""
    check_rnn_mode(rnn_mode)
    check_direction(direction)
    check_input_mode(input_mode)
    seed, seed2 = get_seed(seed)
    return {"rnn_mode": rnn_mode, "direction": direction, "input_mode": input_mode,
            "seed": seed, "seed2": seed2}  # fmt: skip


def cudnn_rnn(
    inputs: Any,
    input_h: Any,
    input_c: Any,
    params: Any,
    is_training: bool,
    rnn_mode: str,
    sequence_lengths: Any = None,
    time_major: bool = True,
    input_mode: str = CUDNN_INPUT_LINEAR_MODE,
    direction: str = CUDNN_RNN_UNIDIRECTION,
    dropout: float = 0.0,
    seed: Any = 0,
    num_proj: int | None = None,
    name: str | None = None,
) -> tuple[Any, Any, Any]:
    """Run a network.

    Args:
      inputs: [time, batch, input size], or [batch, time, ...] if not `time_major`.
      input_h, input_c: the states to begin with, [layers * directions, batch, units], or the batch
        first; `input_c` is empty unless it is an LSTM.
      params: all weights and biases in one vector.
      is_training: whether it drops out, and can be differentiated.
      rnn_mode: "lstm", "gru", "rnn_relu" or "rnn_tanh".
      sequence_lengths: int32 [batch]; all are of full length if None.
      time_major: whether the time comes first.
      input_mode, direction: how the input is taken, and in which directions it is read.
      dropout: which share of a layer's output is dropped before the next.
      seed: of the dropout.
      num_proj: the size the state of an LSTM is brought to, if any.
      name: of the operation.

    Returns:
      The outputs and the last states.

    Raises:
      ValueError: if a mode or direction is not known.
    """
    how = _checked(rnn_mode, direction, input_mode, seed)
    how.update(dropout=dropout, is_training=is_training, name=name)
    if sequence_lengths is None and (time_major is False or num_proj):
        batch, time = (1, 0) if time_major else (0, 1)
        size, longest = tf.shape(inputs)[batch], tf.shape(inputs)[time]
        sequence_lengths = tf.fill([size], longest)
    given = [inputs, input_h, input_c, params]
    if sequence_lengths is not None:
        card = forward_ops["V3"]
        made = card(*given, sequence_lengths, time_major=time_major, num_proj=num_proj or 0, **how)
    else:
        newer = os.environ.get("TF_CUDNN_RNN_USE_V2", "0") == "1"
        made = forward_ops["V2" if newer else ""](*given, **how)
    return made[0], made[1], made[2]


def cudnn_lstm(
    inputs: Any, input_h: Any, input_c: Any, params: Any, is_training: bool, *args: Any,
    **kwargs: Any,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """`cudnn_rnn` of an LSTM."""
    return cudnn_rnn(inputs, input_h, input_c, params, is_training, CUDNN_LSTM, *args, **kwargs)


def _without_memory(
    rnn_mode: str, inputs: Any, input_h: Any, params: Any, is_training: bool, *args: Any,
    **kwargs: Any,
) -> tuple[Any, Any]:  # fmt: skip
    """`cudnn_rnn` of a network that has no second state; gives the outputs and the last state."""
    memory = tf.constant([], dtype=input_h.dtype)
    return cudnn_rnn(
        inputs, input_h, memory, params, is_training, rnn_mode, *args, **kwargs
    )[:2]  # fmt: skip


cudnn_gru = partial(_without_memory, CUDNN_GRU)
cudnn_rnn_relu = partial(_without_memory, CUDNN_RNN_RELU)
cudnn_rnn_tanh = partial(_without_memory, CUDNN_RNN_TANH)


def cudnn_rnn_opaque_params_to_canonical(
    rnn_mode: str,
    num_layers: int,
    num_units: int,
    input_size: int,
    params: Any,
    input_mode: str = CUDNN_INPUT_LINEAR_MODE,
    direction: str = CUDNN_RNN_UNIDIRECTION,
    dropout: float = 0,
    seed: Any = 0,
    num_proj: int | None = None,
    name: str | None = None,
) -> tuple[list[Any], list[Any]]:
    """Return the weights and biases in a network's vector, layer by layer and gate by gate."""
    how = _checked(rnn_mode, direction, input_mode, seed)
    how.update(dropout=dropout, name=name)
    parts = num_layers * directions_of(direction)
    count = parts * PARAMS_PER_LAYER[rnn_mode]
    sizes = (num_layers, num_units, input_size)
    if num_proj:
        made = to_canonical_ops["V2"](
            *sizes, params, num_params_weights=count + parts, num_params_biases=count,
            num_proj=num_proj, **how,
        )  # fmt: skip
    else:
        made = to_canonical_ops[""](*sizes, params, num_params=count, **how)
    return made[0], made[1]


def cudnn_rnn_canonical_to_opaque_params(
    rnn_mode: str,
    num_layers: int,
    num_units: int,
    input_size: int,
    weights: Any,
    biases: Any,
    input_mode: str = CUDNN_INPUT_LINEAR_MODE,
    direction: str = CUDNN_RNN_UNIDIRECTION,
    dropout: float = 0,
    seed: Any = 0,
    num_proj: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Return the vector of a network with these weights and biases."""
    how = _checked(rnn_mode, direction, input_mode, seed)
    how.update(dropout=dropout, name=name)
    sizes = (num_layers, num_units, input_size)
    if num_proj:
        return to_params_ops["V2"](*sizes, weights, biases, num_proj=num_proj, **how)
    return to_params_ops[""](*sizes, weights, biases, **how)


def cudnn_rnn_opaque_params_size(
    rnn_mode: str,
    num_layers: int,
    num_units: int,
    input_size: int,
    input_mode: str = CUDNN_INPUT_LINEAR_MODE,
    direction: str = CUDNN_RNN_UNIDIRECTION,
    dtype: Any = dtypes.float32,
    dropout: float = 0,
    seed: Any = 0,
    num_proj: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Return the length of a network's vector, a tensor."""
    how = _checked(rnn_mode, direction, input_mode, seed)
    return cudnn_rnn_params_size_op(
        num_layers, num_units, input_size, T=dtype, S=dtypes.int32, dropout=dropout,
        num_proj=num_proj, name=name, **how,
    )[0]  # fmt: skip


class _Network:
    """A network that knows its sizes; its weights are given when it is called."""

    _rnn_mode: str

    def __init__(
        self,
        num_layers: int,
        num_units: int,
        input_size: int,
        input_mode: str = CUDNN_INPUT_LINEAR_MODE,
        direction: str = CUDNN_RNN_UNIDIRECTION,
        dtype: Any = dtypes.float32,
        dropout: float = 0.0,
        seed: Any = 0,
    ) -> None:
        check_direction(direction)
        self.num_layers, self.num_units, self.input_size = num_layers, num_units, input_size
        self.input_mode, self.direction = input_mode, direction
        self.num_proj: int | None = None
        self.rnn_mode = self._rnn_mode
        self._dtype = dtype
        self._how = {"input_mode": input_mode, "direction": direction, "dropout": dropout,
                     "seed": seed}  # fmt: skip

    def _sizes(self) -> tuple[str, int, int, int]:
        return self._rnn_mode, self.num_layers, self.num_units, self.input_size

    def params_size(self) -> Tensor:
        """Return the length of the vector of its weights, a tensor."""
        return cudnn_rnn_opaque_params_size(
            *self._sizes(), dtype=self._dtype, num_proj=self.num_proj, **self._how
        )

    def params_to_canonical(self, params: Any) -> tuple[list[Any], list[Any]]:
        """See `cudnn_rnn_opaque_params_to_canonical`."""
        return cudnn_rnn_opaque_params_to_canonical(
            *self._sizes(), params, num_proj=self.num_proj, **self._how
        )

    def canonical_to_params(self, weights: Any, biases: Any) -> Tensor:
        """See `cudnn_rnn_canonical_to_opaque_params`."""
        return cudnn_rnn_canonical_to_opaque_params(
            *self._sizes(), weights, biases, num_proj=self.num_proj, **self._how
        )


class CudnnLSTM(_Network):
    """An LSTM; see `cudnn_rnn` for its arguments."""

    _rnn_mode = CUDNN_LSTM

    def __init__(
        self,
        num_layers: int,
        num_units: int,
        input_size: int,
        input_mode: str = CUDNN_INPUT_LINEAR_MODE,
        direction: str = CUDNN_RNN_UNIDIRECTION,
        dtype: Any = dtypes.float32,
        dropout: float = 0.0,
        seed: Any = 0,
        num_proj: int | None = None,
    ) -> None:
        super().__init__(
            num_layers, num_units, input_size, input_mode, direction, dtype, dropout, seed
        )
        self.num_proj = num_proj

    def __call__(
        self,
        input_data: Any,
        input_h: Any,
        input_c: Any,
        params: Any,
        sequence_lengths: Any = None,
        time_major: bool = True,
        is_training: bool = True,
    ) -> tuple[Any, Any, Any]:
        """Run it."""
        return cudnn_lstm(
            input_data, input_h, input_c, params, is_training, sequence_lengths, time_major,
            num_proj=self.num_proj, **self._how,
        )  # fmt: skip


class _NetworkWithoutMemory(_Network):
    def __call__(
        self,
        input_data: Any,
        input_h: Any,
        params: Any,
        sequence_lengths: Any = None,
        time_major: bool = True,
        is_training: bool = True,
    ) -> tuple[Any, Any]:
        """Run it."""
        return _without_memory(
            self._rnn_mode, input_data, input_h, params, is_training, sequence_lengths,
            time_major, **self._how,
        )  # fmt: skip


class CudnnGRU(_NetworkWithoutMemory):
    """Gated recurrent units; see `cudnn_rnn` for its arguments."""

    _rnn_mode = CUDNN_GRU


class CudnnRNNTanh(_NetworkWithoutMemory):
    """Plain units with a hyperbolic tangent; see `cudnn_rnn` for its arguments."""

    _rnn_mode = CUDNN_RNN_TANH


class CudnnRNNRelu(_NetworkWithoutMemory):
    """Plain units that are rectified; see `cudnn_rnn` for its arguments."""

    _rnn_mode = CUDNN_RNN_RELU
