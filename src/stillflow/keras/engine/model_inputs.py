"""Inputs of a model, and their placeholders."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import stillflow as tf
from stillflow import nest
from stillflow.graph.operation import Tensor
from stillflow.graph.sparse_tensor import SparseTensor
from stillflow.graph.tensor_spec import TensorSpec
from stillflow.keras.backend.config import floatx
from stillflow.keras.backend.variables import placeholder


class ModelInputs:
    """One input, a list of such, or a dictionary.

    Args:
      inputs: arrays, tensors or specs of tensors.
    """

    def __init__(self, inputs: Any) -> None:
        self._is_dict = isinstance(inputs, dict)
        self._is_single = not isinstance(inputs, (list, tuple, dict))
        if self._is_dict:
            self.names = sorted(inputs)
            self._flat = [inputs[name] for name in self.names]
        else:
            self._flat = nest.flatten(inputs)
            self.names = [f"input_{i + 1}" for i in range(len(self._flat))]

    def get_input_names(self) -> list[str]:
        """Return the names of the inputs."""
        return self.names

    def get_symbolic_inputs(self, return_single_as_list: bool = False) -> Any:
        """Return the inputs with placeholders instead of arrays, in the structure that was given.

        Args:
          return_single_as_list: whether one input comes in a list.
        """
        pairs = zip(self.names, self._flat, strict=True)
        self._flat = [_symbolic(name, value) for name, value in pairs]
        if self._is_dict:
            return dict(zip(self.names, self._flat, strict=True))
        return self._flat[0] if self._is_single and not return_single_as_list else self._flat

    def items(self) -> Iterator[tuple[str, Any]]:
        """Yield the inputs by their names."""
        yield from zip(self.names, self._flat, strict=True)

    def as_list(self) -> list[Any]:
        """Return the inputs in a list."""
        return self._flat


def _symbolic(name: str, value: Any) -> Tensor | SparseTensor:
    if isinstance(value, (list, float, int)):
        value = np.asarray(value)
        value = np.expand_dims(value, 1) if value.ndim == 1 else value
    if isinstance(value, np.ndarray):
        dtype = tf.as_dtype(value.dtype)
        return _placeholder(name, value.shape, floatx() if dtype.is_floating else dtype)
    if isinstance(value, TensorSpec):
        return _placeholder(name, value.shape.as_list(), value.dtype)
    return value


def _placeholder(name: str, shape: Any, dtype: Any) -> Tensor:
    """Return a placeholder for any number of examples of this shape."""
    return placeholder(shape=(None, *(tuple(shape[1:]) or (1,))), name=name, dtype=dtype)
