"""Plain functions between tensors and messages, without those for variants, files and pools."""

from __future__ import annotations

from typing import Any

import numpy as np
from google.protobuf import json_format

from stillflow.graph import dtypes, tensor_shape
from stillflow.ops.io import variants
from stillflow.ops.io.parsing import feature_finder, feature_maps, plain_records, wire
from stillflow.ops.io.stored import to_stored
from stillflow.protos import TensorProto, TensorShapeProto
from stillflow_contrib.torch_sources.messages import in_sevens

# By number and by name, all but those that NumPy has not: bfloat16, resources.
_NUMBERS = [dtypes.as_dtype(number) for number in range(1, 24) if number not in (14, 20)]
_TYPES: dict[Any, Any] = {dtype.as_datatype_enum: dtype for dtype in _NUMBERS}
_TYPES.update({dtype.name: dtype for dtype in _NUMBERS}, object=dtypes.string)
_CPP_NAMES = {"float16": "half", "float32": "float", "float64": "double"}
_RAW = wire.messages()


def as_dtype(value: Any) -> Any:
    """Return a type by its number, name or type of NumPy; others are types already."""
    key = str(value) if isinstance(value, np.dtype) else value
    return _TYPES[key] if isinstance(key, (int, str)) else value


def cpp_name(dtype: Any) -> str:
    """Return the name of a type in C++."""
    return _CPP_NAMES.get(dtype.name, dtype.name)


class Sizes:
    """A shape as a message."""

    def __init__(self, sizes: Any) -> None:
        self.sizes = sizes

    def as_proto(self) -> Any:
        """Return the message."""
        made = TensorShapeProto()
        for size in self.sizes:
            made.dim.add(size=size)
        return made


def to_message(value: Any, dtype: Any = None, packed: bool = False) -> Any:
    """Return numbers or strings as a `TensorProto`; with `packed` strings are in one piece."""
    array = to_stored(value)
    if dtype is None or (array.dtype == object and dtype.name != "string"):
        raise NotImplementedError("a variant as a message")
    message = TensorProto(dtype=dtype.as_datatype_enum)
    message.tensor_shape.SetInParent()
    for size in array.shape:
        message.tensor_shape.dim.add(size=size)
    items = array.reshape(-1).tolist() if dtype.name == "string" else []
    if dtype.name != "string":
        message.tensor_content = np.ascontiguousarray(array).tobytes()
    elif packed:
        message.tensor_content = b"".join([*map(in_sevens, map(len, items)), *items])
    else:
        message.string_val.extend(items)
    return message


def no_variants(encoded: Any) -> Any:
    """Raise an error: variants are no objects of Python."""
    raise NotImplementedError("a variant as a message")


def no_json(text: Any, message: Any) -> Any:
    """Raise the error of an example in JSON of an unusual form."""
    raise ValueError("Error while parsing JSON")


def raw_messages() -> Any:
    """Return the messages Example and SequenceExample, with features as bytes."""
    return _RAW


class Alone:
    """A reader of many texts at once, which leaves them to the readers of one."""

    def __init__(self, *_: Any) -> None:
        """Take the names and kinds of features."""

    def find(self, *_: Any) -> None:
        """Return None: no feature is found."""

    def columns(self, *_: Any) -> None:
        """Return None: no line is read."""

    one = columns


PLAIN: dict[Any, Any] = {
    dtypes.as_dtype: as_dtype,
    dtypes.cpp_name: cpp_name,
    feature_finder.FeatureFinder: Alone,
    feature_maps.FeatureMaps: Alone,
    json_format.Parse: no_json,
    plain_records.PlainRecords: Alone,
    tensor_shape.shape_from_dims: Sizes,
    variants.decode_array: no_variants,
    variants.to_message: to_message,
    wire.messages: raw_messages,
}
