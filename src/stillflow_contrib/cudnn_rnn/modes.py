"""Kinds of networks, and the checks of their names."""

from __future__ import annotations

CUDNN_RNN_UNIDIRECTION = "unidirectional"
CUDNN_RNN_BIDIRECTION = "bidirectional"
CUDNN_LSTM = "lstm"
CUDNN_GRU = "gru"
CUDNN_RNN_RELU = "rnn_relu"
CUDNN_RNN_TANH = "rnn_tanh"
CUDNN_INPUT_LINEAR_MODE = "linear_input"
CUDNN_INPUT_SKIP_MODE = "skip_input"
CUDNN_INPUT_AUTO_MODE = "auto_select"

CUDNN_LSTM_PARAMS_PER_LAYER = 8
CUDNN_GRU_PARAMS_PER_LAYER = 6
CUDNN_RNN_TANH_PARAMS_PER_LAYER = 2
CUDNN_RNN_RELU_PARAMS_PER_LAYER = 2

# How many weights, and as many biases, one direction of a layer has.
PARAMS_PER_LAYER = {
    CUDNN_LSTM: CUDNN_LSTM_PARAMS_PER_LAYER,
    CUDNN_GRU: CUDNN_GRU_PARAMS_PER_LAYER,
    CUDNN_RNN_TANH: CUDNN_RNN_TANH_PARAMS_PER_LAYER,
    CUDNN_RNN_RELU: CUDNN_RNN_RELU_PARAMS_PER_LAYER,
}
_INPUT_MODES = (CUDNN_INPUT_LINEAR_MODE, CUDNN_INPUT_SKIP_MODE, CUDNN_INPUT_AUTO_MODE)


def check_rnn_mode(rnn_mode: str) -> None:
    """Raise an error for an unknown kind of network.

    Raises:
      ValueError: if so.
    """
    if rnn_mode not in PARAMS_PER_LAYER:
        known = ", ".join((CUDNN_LSTM, CUDNN_GRU, CUDNN_RNN_TANH, CUDNN_RNN_RELU))
        raise ValueError(f"Invalid rnn_mode: {rnn_mode}, expect one of ({known})")


def check_direction(direction: str) -> None:
    """Raise an error for an unknown direction.

    Raises:
      ValueError: if so.
    """
    if direction not in (CUDNN_RNN_UNIDIRECTION, CUDNN_RNN_BIDIRECTION):
        raise ValueError(
            f"Invalid direction: {direction}, expecting {CUDNN_RNN_UNIDIRECTION} or "
            f"{CUDNN_RNN_BIDIRECTION}"
        )


def check_input_mode(input_mode: str) -> None:
    """Raise an error for an unknown input mode.

    Raises:
      ValueError: if so.
    """
    if input_mode not in _INPUT_MODES:
        raise ValueError(
            f"Invalid input_mode: {input_mode}, expect one of ({', '.join(_INPUT_MODES)})"
        )


def directions_of(direction: str) -> int:
    """Return the number of directions of a layer."""
    return 1 if direction == CUDNN_RNN_UNIDIRECTION else 2
