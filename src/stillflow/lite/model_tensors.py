"""The tensors of a TensorFlow Lite model: their types, constant values and quantization."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from stillflow.lite.flatbuffer import Table
from stillflow.lite.schema import TENSOR_TYPES

Array = np.ndarray[Any, Any]


def whole(values: Any) -> Any:
    """Return reals rounded to whole ones, halves away from zero, as C rounds."""
    return np.copysign(np.floor(np.abs(values) + np.float32(0.5)), values)


class Quantization(NamedTuple):
    """Mapping of integers to reals: `real = scale * (integer - zero_point)`.

    Attributes:
      scales: one, or one for each index of `axis`; float32.
      zero_point: the integer that stands for zero.
      axis: the dimension that has a scale for each index.
    """

    scales: Array
    zero_point: int
    axis: int

    @property
    def scale(self) -> np.float32:
        """The scale of all values, where there is one for all."""
        return np.float32(self.scales[0])


class ModelTensor(NamedTuple):
    """A tensor of a model.

    Attributes:
      name: its name.
      shape: its dimensions, as the file has them.
      dtype: of its elements; `object` for strings.
      quantization: None if its elements are values themselves.
      value: its elements if it is a constant, else None.
      is_variable: whether it keeps its value from run to run.
    """

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    quantization: Quantization | None
    value: Array | None
    is_variable: bool


def read_tensor(model: Table, tensor: Table) -> ModelTensor:
    """Return a tensor with its constant value, or raise ValueError."""
    if not 0 <= tensor.type < len(TENSOR_TYPES):
        raise ValueError(f"Unsupported data type {tensor.type} in tensor\n")
    kind = TENSOR_TYPES[tensor.type]
    dtype = np.dtype(object if kind == "string" else kind)
    shape = tuple(tensor.shape or ())
    if any(size < 0 for size in shape):
        raise ValueError(f"Tensor {tensor.name} has a negative dimension: {list(shape)}\n")
    buffers = model.buffers or []
    if not 0 <= tensor.buffer < len(buffers):
        raise ValueError(
            f"Tensor {tensor.name} specifies an out of range buffer {tensor.buffer}.\n"
        )
    data, value = buffers[tensor.buffer].data, None
    if data is not None and len(data) and kind != "string":
        if data.nbytes != int(np.prod(shape, dtype=object)) * dtype.itemsize:
            raise ValueError(
                f"The size of the buffer of tensor {tensor.name}, {data.nbytes} bytes, does not "
                f"fit its shape {list(shape)}\n"
            )
        value = data.view(dtype).reshape(shape)
    name = tensor.name or ""
    quantization = _quantization(tensor.quantization, shape, name)
    return ModelTensor(name, shape, dtype, quantization, value, tensor.is_variable)


def stored(value: Array) -> bytes:
    """Return the bytes of a constant in a model file.

    Strings are preceded by their number and by the offsets of each and of the end.
    """
    if not value.dtype.hasobject:
        return value.tobytes()
    texts = [text if isinstance(text, bytes) else str(text).encode() for text in value.ravel()]
    head = 4 * (len(texts) + 2)
    offsets = np.cumsum([head, *map(len, texts)], dtype=np.int32)
    return np.int32(len(texts)).tobytes() + offsets.tobytes() + b"".join(texts)


def _quantization(table: Table | None, shape: tuple[int, ...], name: str) -> Quantization | None:
    if table is None or not table.scale:
        return None
    zero_points = table.zero_point or [0]
    axis = table.axis if len(table.scale) > 1 else 0
    if len(table.scale) > 1 and (
        not 0 <= axis < len(shape) or shape[axis] != len(table.scale) or any(zero_points)
    ):
        raise ValueError(
            f"The quantization of tensor {name} does not fit its shape {list(shape)}\n"
        )
    return Quantization(np.array(table.scale, np.float32), int(zero_points[0]), axis)
