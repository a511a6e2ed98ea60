"""Networks that predict a window of a series from the window before it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import stillflow as tf
from stillflow.keras.engine.model import Model
from stillflow.keras.engine.sequential import Sequential
from stillflow.keras.layers.core import Dense, Flatten
from stillflow_contrib.rnn.block import LSTMBlockFusedCell

# Between [batch, time, width] and [time, batch, width].
_SWAPPED = [1, 0, 2]


class FlatPredictionModel(Model):
    """Dense layers of all values of a window.

    Args:
      num_features: how many values there are at each time.
      input_window_size, output_window_size: how many times are known, and predicted.
      hidden_layer_sizes: widths of layers in between.
    """

    def __init__(
        self, num_features: int, input_window_size: int, output_window_size: int,
        hidden_layer_sizes: Sequence[int] | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self._input_flatten = Flatten()
        self._output_flatten = Flatten()
        self._hidden_layers: Any = None
        if hidden_layer_sizes:
            self._hidden_layers = Sequential(
                [Dense(size, activation=tf.nn.relu) for size in hidden_layer_sizes]
            )
        width = num_features * output_window_size
        self._mean_transform = Dense(width, name="predicted_mean")
        self._covariance_transform = Dense(width, name="log_sigma_square")
        self._prediction_shape = [-1, output_window_size, num_features]

    def call(self, input_window_features: Any, output_window_features: Any) -> dict[str, Any]:
        """Return "mean" and "covariance" [batch, output window, features].

        Args:
          input_window_features: [batch, input window, width].
          output_window_features: [batch, output window, width]; the exogenous features.
        """
        if input_window_features.shape.dims[1].value == 0:
            activation = self._output_flatten(output_window_features)
        elif output_window_features.shape.dims[2].value == 0:
            activation = self._input_flatten(input_window_features)
        else:
            both = [
                self._input_flatten(input_window_features),
                self._output_flatten(output_window_features),
            ]
            activation = tf.concat(both, axis=1)
        if self._hidden_layers:
            activation = self._hidden_layers(activation)
        mean = tf.reshape(self._mean_transform(activation), self._prediction_shape)
        covariance = tf.exp(self._covariance_transform(activation))
        return {"mean": mean, "covariance": tf.reshape(covariance, self._prediction_shape)}


class LSTMPredictionModel(Model):
    """An LSTM that reads a window, and one that predicts from its state.

    Args:
      num_features: how many values there are at each time.
      input_window_size, output_window_size: how many times are known, and predicted.
      num_units: the width of the state.
    """

    def __init__(
        self, num_features: int, input_window_size: int, output_window_size: int,
        num_units: int = 128,
    ) -> None:  # fmt: skip
        super().__init__()
        self._encoder, self._decoder = (
            LSTMBlockFusedCell(num_units, name=name) for name in ("encoder", "decoder")
        )
        self._mean_transform, self._covariance_transform = (
            Dense(num_features, name=f"{name}_transform") for name in ("mean", "covariance")
        )

    def call(self, input_window_features: Any, output_window_features: Any) -> dict[str, Any]:
        """See `FlatPredictionModel.call`."""
        windows = input_window_features, output_window_features
        known, coming = (tf.transpose(window, _SWAPPED) for window in windows)
        _, state = self._encoder(known, dtype=self.dtype)
        outputs, _ = self._decoder(coming, dtype=self.dtype, initial_state=state)
        decoded = tf.transpose(outputs, _SWAPPED)
        predictions = {"mean": self._mean_transform(decoded)}
        predictions["covariance"] = tf.exp(self._covariance_transform(decoded))
        return predictions
