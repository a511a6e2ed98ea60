"""Variants as messages: their form in checkpoints and serialized tensors."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.files import varint
from stillflow.graph import dtypes, tensor_proto
from stillflow.graph.lazy import torch
from stillflow.graph.tensor_shape import TensorShape, shape_from_dims
from stillflow.ops.io.stored import from_stored, to_stored
from stillflow.ops.tensor_list.values import TensorList

_TENSOR = "tensorflow::Tensor"
_ITERATOR = "tensorflow::Iterator"
_LIST = "tensorflow::TensorList"
_SEPARATOR = "@@"


class IteratorState(dict[str, Any]):
    """Position in a dataset's iteration: run-time values by path and name."""

    shape = ()

    def __missing__(self, key: str) -> Any:
        raise errors.not_found(key)


# The types of C++ that a variant may hold by itself, and those of NumPy that are as wide.
_NUMBERS = {"int": np.int32, "float": np.float32, "double": np.float64, "bool": np.bool_}


class VariantNumber:
    """A variant that holds a number.

    Args:
      kind: its type in C++.
      value: the number, of the type of NumPy that `_NUMBERS` has.
    """

    shape = ()

    def __init__(self, kind: str, value: Any) -> None:
        self.kind, self.value = kind, value

    def __add__(self, other: Any) -> VariantNumber:
        if not isinstance(other, VariantNumber) or other.kind != self.kind:
            return NotImplemented
        with np.errstate(over="ignore"):
            return VariantNumber(self.kind, self.value + other.value)

    def zeros_like(self) -> VariantNumber:
        """Zero, of the same type."""
        return VariantNumber(self.kind, _NUMBERS[self.kind](0))

    def __str__(self) -> str:
        number = int(self.value) if self.kind in ("int", "bool") else f"{self.value:g}"
        return f"Variant<type: {self.kind} value: {number}>"


def is_variant(value: Any) -> bool:
    """Return True for a run-time value of variants: an object, or an array of objects."""
    if isinstance(value, torch.Tensor):
        return False
    if not isinstance(value, np.ndarray):
        return True
    return value.size > 0 and not isinstance(value.flat[0], (bytes, str))


def encode_array(value: Any) -> np.ndarray:
    """Return the serialized messages of variants, in an array of the same shape."""
    if not isinstance(value, np.ndarray):
        array = np.empty((), object)
        array[()] = value
        value = array
    encoded = np.empty(value.shape, object)
    for index in np.ndindex(value.shape):
        encoded[index] = _encode(value[index]).SerializeToString()
    return encoded


def decode_array(encoded: np.ndarray) -> Any:
    """Return the variants whose messages `encode_array` gives; one that is a scalar comes bare."""
    from stillflow.protos import VariantTensorDataProto

    decoded = np.empty(encoded.shape, object)
    for index in np.ndindex(encoded.shape):
        decoded[index] = _decode(VariantTensorDataProto.FromString(encoded[index]))
    return decoded if decoded.ndim else decoded.item()


def _encode(value: Any) -> Any:
    from stillflow.protos import VariantTensorDataProto

    if value is None:  # nothing was ever put there
        return VariantTensorDataProto()
    if isinstance(value, TensorList):
        unset = [index for index, item in enumerate(value.items) if item is None]
        numbers = np.array([len(unset), *unset, value.dtype.as_datatype_enum, value.limit])
        shape = shape_from_dims(value.element).as_proto().SerializeToString()
        tensors = [to_message(item, value.dtype) for item in value.items if item is not None]
        metadata = varint.encode_all(numbers) + shape
        return VariantTensorDataProto(type_name=_LIST, metadata=metadata, tensors=tensors)
    if isinstance(value, IteratorState):
        keys = "".join(_SEPARATOR + key for key in value)
        tensors = list(map(to_message, value.values()))
        return VariantTensorDataProto(type_name=_ITERATOR, metadata=keys.encode(), tensors=tensors)
    if isinstance(value, VariantNumber):
        return VariantTensorDataProto(type_name=value.kind, metadata=value.value.tobytes())
    if isinstance(value, (torch.Tensor, np.ndarray)):
        return VariantTensorDataProto(type_name=_TENSOR, tensors=[to_message(value)])
    raise errors.unimplemented(
        f"A variant that holds a {type(value).__name__} cannot be serialized."
    )


def _decode(message: Any) -> Any:
    if message.type_name == _TENSOR and len(message.tensors) == 1:
        return from_message(message.tensors[0])
    if message.type_name == _ITERATOR:
        keys = message.metadata.decode().split(_SEPARATOR)[1:]
        values = map(from_message, message.tensors)
        return IteratorState(zip(keys, values, strict=True))
    if message.type_name == _LIST:
        return _decode_list(message)
    if not message.type_name and not message.tensors:
        return None
    kind = _NUMBERS.get(message.type_name)
    if kind is not None and len(message.metadata) == np.dtype(kind).itemsize:
        return VariantNumber(message.type_name, np.frombuffer(message.metadata, kind)[0])
    raise errors.internal(
        f'Could not decode variant with type_name: "{message.type_name}".  Perhaps you forgot to '
        "register a decoder via REGISTER_UNARY_VARIANT_DECODE_FUNCTION?"
    )


def _decode_list(message: Any) -> TensorList:
    from stillflow.protos import TensorShapeProto

    data = message.metadata
    count, place = varint.decode(data, 0, len(data))
    numbers = []
    for _ in range(count + 2):  # the elements that were never set, the type, the limit
        number, place = varint.decode(data, place, len(data))
        numbers.append(number)
    *unset, dtype, limit = numbers
    items = [from_message(tensor) for tensor in message.tensors]
    for index in unset:
        items.insert(index, None)
    shape = TensorShape(TensorShapeProto.FromString(data[place:]))
    limit = int(np.uint64(limit).astype(np.int64))
    return TensorList(dtypes.as_dtype(dtype), shape._dims, items, limit)


def to_message(value: Any, dtype: Any = None, packed: bool = False) -> Any:
    """Return a run-time value, an integer or bytes as a `TensorProto`.

    `dtype` is needed where the value does not tell it; with `packed` strings are in one piece.
    """
    if isinstance(value, bytes):
        return tensor_proto.to_proto(np.array(value, object), dtypes.string)
    if isinstance(value, int):
        return tensor_proto.to_proto(np.array(value, np.int64), dtypes.int64)
    if is_variant(value):
        return _packed(encode_array(value), dtypes.variant)
    array = to_stored(value)
    if dtype is None and isinstance(value, torch.Tensor):
        dtype = dtypes.from_torch_name(str(value.dtype).removeprefix("torch."))
    if dtype is None or dtype == dtypes.string:
        return _packed(array, dtypes.string) if packed else tensor_proto.to_proto(array, dtype)
    message = _empty_message(dtype, array.shape)
    message.tensor_content = np.ascontiguousarray(array).tobytes()
    return message


def _empty_message(dtype: Any, shape: Any) -> Any:
    from stillflow.protos import TensorProto

    message = TensorProto(dtype=dtype.as_datatype_enum)
    message.tensor_shape.SetInParent()
    for size in shape:
        message.tensor_shape.dim.add(size=size)
    return message


def _packed(array: np.ndarray, dtype: Any) -> Any:
    """Bytes in one piece: all lengths, then all bytes."""
    items = array.reshape(-1).tolist()
    message = _empty_message(dtype, array.shape)
    lengths = varint.encode_all(np.array([len(item) for item in items], np.int64))
    message.tensor_content = bytes(lengths) + b"".join(items)
    return message


def from_message(message: Any) -> Any:
    """Return the run-time value of a `TensorProto`."""
    dtype = dtypes.as_dtype(message.dtype)
    if dtype != dtypes.variant:
        return from_stored(np.asarray(tensor_proto.from_proto(message)), dtype, "cpu")
    shape = [dim.size for dim in message.tensor_shape.dim]
    items = [item.SerializeToString() for item in message.variant_val]
    encoded = np.empty(int(np.prod(shape)), object)
    encoded[:] = items or _split(message.tensor_content, encoded.size)
    return decode_array(encoded.reshape(shape))


def _split(content: bytes, count: int) -> list[bytes]:
    lengths, position = [], 0
    for _ in range(count):
        length, position = varint.decode(content, position, len(content))
        lengths.append(length)
    ends = np.cumsum([position, *lengths]).tolist()
    return [content[start:end] for start, end in pairwise(ends)]
