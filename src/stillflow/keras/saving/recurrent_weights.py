"""Saved weights of recurrent layers, for layers that keep the same weights in another way.

cuDNN's layers keep each gate's kernels transposed, and biases for inputs and for states apart.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stillflow.graph.arrays import Array
from stillflow.keras.saving.older_weights import CURRENT, Origin, modernized

Arrays = list[np.ndarray]


def fitting(layer: Any, arrays: Arrays, origin: Origin = CURRENT) -> Arrays:
    """Return saved weights in the form of `layer`, or of others in it; ValueError if unlike.

    They may be those of its counterpart with or without cuDNN.
    """
    kind = type(layer).__name__
    if kind in _OF_LAYERS_INSIDE:
        return _OF_LAYERS_INSIDE[kind](layer, arrays, origin)
    arrays = modernized(layer, arrays, origin)
    convert = _CONVERTERS.get(kind)
    return arrays if convert is None else convert(layer, arrays)


def preprocess_weights_for_loading(
    layer: Any, weights: Arrays, original_keras_version: Any = None, original_backend: Any = None
) -> Arrays:
    """`fitting` with TensorFlow's arguments."""
    return fitting(layer, weights, Origin(original_keras_version, original_backend))


def _of_both_directions(layer: Any, arrays: Arrays, origin: Origin) -> Arrays:
    half = len(arrays) // 2
    forward = fitting(layer.forward_layer, arrays[:half], origin)
    return forward + fitting(layer.backward_layer, arrays[half:], origin)


def _of_every_step(layer: Any, arrays: Arrays, origin: Origin) -> Arrays:
    arrays = fitting(layer.layer, arrays, origin)
    # TensorFlow converts weights of Keras 1 twice.
    return fitting(layer.layer, arrays, origin) if origin.version == "1" else arrays


def _of_model(model: Any, arrays: Arrays, origin: Origin) -> Arrays:
    """Return the weights of a model, whose trainable weights come first."""
    count = len(model.trainable_weights)
    trainable, other = arrays[:count], arrays[count:]
    found: tuple[Arrays, Arrays] = [], []
    for layer in model.layers:
        own, rest = len(layer.trainable_weights), len(layer.non_trainable_weights)
        if own or rest:
            converted = fitting(layer, trainable[:own] + other[:rest], origin)
            found[0].extend(converted[:own])
            found[1].extend(converted[own:])
            trainable, other = trainable[own:], other[rest:]
    return found[0] + found[1]


def _of_lstm(layer: Any, arrays: Arrays) -> Arrays:
    if len(arrays) != 3:
        return arrays
    kernel, recurrent_kernel, bias = arrays
    width = 4 * recurrent_kernel.shape[0]
    kinds = {(2 * width,): "CuDNNLSTM", (width,): "LSTM"}
    if bias.shape not in kinds:
        raise ValueError(f"Invalid bias shape: {bias.shape}")
    if kinds[bias.shape] == type(layer).__name__:
        return arrays
    from_cudnn = kinds[bias.shape] == "CuDNNLSTM"
    # Only the sum of both biases counts.
    bias = np.sum(np.split(bias, 2), axis=0) if from_cudnn else np.tile(0.5 * bias, 2)
    return [*_kernels(kernel, recurrent_kernel, 4, from_cudnn), bias]


def _of_gru(layer: Any, arrays: Arrays) -> Arrays:
    if len(arrays) != 3:
        return arrays
    kernel, recurrent_kernel, bias = arrays
    width = 3 * recurrent_kernel.shape[0]
    kinds = {
        (2 * width,): "CuDNNGRU",
        (2, width): "GRU(reset_after=True)",
        (width,): "GRU(reset_after=False)",
    }
    if bias.shape not in kinds:
        raise ValueError(f"Invalid bias shape: {bias.shape}")
    source, target = kinds[bias.shape], type(layer).__name__
    if target == "GRU":
        target = f"GRU(reset_after={bool(layer.reset_after)})"
    if source == target:
        return arrays
    if "GRU(reset_after=False)" in (source, target):
        raise ValueError(f"{source} is not compatible with {target}")
    from_cudnn = source == "CuDNNGRU"
    bias = bias.reshape((2, -1) if from_cudnn else -1)
    return [*_kernels(kernel, recurrent_kernel, 3, from_cudnn), bias]


def _kernels(kernel: Any, recurrent_kernel: Any, gates: int, from_cudnn: bool) -> Arrays:
    """Both kernels with each gate's matrix in the other order."""
    order: Any = "F" if from_cudnn else "C"

    def of_each_gate(matrix: Any, change: Callable[[Any], Any]) -> Array:
        return np.hstack([change(part) for part in np.hsplit(matrix, gates)])

    return [
        of_each_gate(kernel, lambda part: part.T.reshape(part.shape, order=order)),
        of_each_gate(recurrent_kernel, np.transpose),
    ]


_OF_LAYERS_INSIDE: dict[str, Callable[[Any, Arrays, Origin], Arrays]] = {
    "Bidirectional": _of_both_directions,
    "TimeDistributed": _of_every_step,
    "Model": _of_model,
    "Sequential": _of_model,
}
_CONVERTERS: dict[str, Callable[[Any, Arrays], Arrays]] = {
    "LSTM": _of_lstm,
    "CuDNNLSTM": _of_lstm,
    "GRU": _of_gru,
    "CuDNNGRU": _of_gru,
}
