"""Saved weights of Keras 1 and of other backends than TensorFlow, as layers keep them now."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from stillflow.keras.utils.kernels import convert_kernel
from stillflow.layers.node import int_shape

Arrays = list[np.ndarray]


class Origin(NamedTuple):
    """Origin of weights.

    Attributes:
      version: of Keras; "1" for files that do not say it.
      backend: "tensorflow", "theano", ...; None for files that do not say it.
    """

    version: str | None = "2"
    backend: str | None = "tensorflow"


CURRENT = Origin()


def modernized(layer: Any, arrays: Arrays, origin: Origin) -> Arrays:
    """Return weights of a layer with none inside as Keras 2 keeps them on TensorFlow."""
    kind = type(layer).__name__
    if origin.version == "1" and kind in _OF_KERAS_1:
        arrays = _OF_KERAS_1[kind](layer, list(arrays))
    count = _KERNELS.get(kind, 0)
    kernels = arrays[:count]
    if origin.backend == "theano":
        kernels = [convert_kernel(kernel) for kernel in kernels]
    if kernels and kernels[0].ndim == 4 and int_shape(layer.weights[0]) != kernels[0].shape:
        kernels = [np.transpose(kernel, (3, 2, 0, 1)) for kernel in kernels]
    return [*kernels, *arrays[count:]]


def _conv1d(layer: Any, arrays: Arrays) -> Arrays:
    kernel, *others = arrays
    is_current = (*kernel.shape[:2], kernel.shape[3]) == (*layer.kernel_size, 1, layer.filters)
    kernel = kernel if is_current else np.transpose(kernel, (2, 3, 1, 0))
    return [kernel[:, 0], *others]


def _conv2d(layer: Any, arrays: Arrays) -> Arrays:
    if layer.data_format == "channels_first":
        arrays[0] = np.transpose(arrays[0], (2, 3, 1, 0))
    return arrays


def _conv2d_transpose(layer: Any, arrays: Arrays) -> Arrays:
    axes = (2, 3, 0, 1) if layer.data_format == "channels_first" else (0, 1, 3, 2)
    arrays[0] = np.transpose(arrays[0], axes)
    return arrays


def _conv3d(layer: Any, arrays: Arrays) -> Arrays:
    if layer.data_format == "channels_first":
        arrays[0] = np.transpose(arrays[0], (2, 3, 4, 1, 0))
    return arrays


def _gru(layer: Any, arrays: Arrays) -> Arrays:
    return _joined(arrays, (0, 3, 6))


def _lstm(layer: Any, arrays: Arrays) -> Arrays:
    return _joined(arrays, (0, 6, 3, 9))


def _conv_lstm(layer: Any, arrays: Arrays) -> Arrays:
    joined = _joined(arrays, (0, 6, 3, 9))
    if len(arrays) == 12 and layer.data_format == "channels_first":
        joined[:2] = [np.transpose(kernel, (2, 3, 1, 0)) for kernel in joined[:2]]
    return joined


def _joined(arrays: Arrays, gates: tuple[int, ...]) -> Arrays:
    """Kernel, recurrent kernel and bias of gates that were kept one by one."""
    if len(arrays) != 3 * len(gates):
        return arrays
    return [np.concatenate([arrays[gate + i] for gate in gates], axis=-1) for i in range(3)]


_OF_KERAS_1 = {
    "Conv1D": _conv1d,
    "Conv2D": _conv2d,
    "Conv2DTranspose": _conv2d_transpose,
    "Conv3D": _conv3d,
    "GRU": _gru,
    "LSTM": _lstm,
    "ConvLSTM2D": _conv_lstm,
}
# How many kernels of convolutions come first among the weights.
_KERNELS = {"Conv1D": 1, "Conv2D": 1, "Conv3D": 1, "Conv2DTranspose": 1, "ConvLSTM2D": 2}
