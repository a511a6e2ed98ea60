"""Element types as checkpoints number and store them."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

STRING = 7
RESOURCE = 20
VARIANT = 21
OF_BYTES = (STRING, VARIANT)  # whose elements are of any length; variants are messages

# Number in the DataType enum: TensorFlow's name, and the type that holds the stored bytes.
_TYPES: dict[int, tuple[str, Any]] = {
    1: ("float", np.float32),
    2: ("double", np.float64),
    3: ("int32", np.int32),
    4: ("uint8", np.uint8),
    5: ("int16", np.int16),
    6: ("int8", np.int8),
    7: ("string", object),
    8: ("complex64", np.complex64),
    9: ("int64", np.int64),
    10: ("bool", np.bool_),
    11: ("qint8", np.int8),
    12: ("quint8", np.uint8),
    13: ("qint32", np.int32),
    14: ("bfloat16", ml_dtypes.bfloat16),
    15: ("qint16", np.int16),
    16: ("quint16", np.uint16),
    17: ("uint16", np.uint16),
    18: ("complex128", np.complex128),
    19: ("half", np.float16),
    20: ("resource", None),
    21: ("variant", None),
    22: ("uint32", np.uint32),
    23: ("uint64", np.uint64),
}

STORAGE: dict[int, np.dtype[Any]] = {
    number: np.dtype(kind) for number, (_, kind) in _TYPES.items() if kind is not None
}
_QUANTIZED = {11, 12, 13, 15, 16}
NUMBERS = {name: number for number, (name, _) in _TYPES.items()}
NUMBER_OF = {dtype: number for number, dtype in STORAGE.items() if number not in _QUANTIZED}


def name_of(number: int) -> str:
    """Return the name TensorFlow's messages give a type: "float", "int32_ref", or "INVALID"."""
    if number > 100 and number - 100 in _TYPES:
        return _TYPES[number - 100][0] + "_ref"
    return _TYPES[number][0] if number in _TYPES else "INVALID"


def number_of(array: np.ndarray[Any, Any]) -> int:
    """Return the number of the type of an array; ValueError if checkpoints cannot hold it."""
    names = array.dtype.names
    if names:
        array = array.view(array.dtype[0])
        for number in _QUANTIZED:
            if name_of(number) == names[0]:
                return number
    if array.dtype.kind in "SU":
        return STRING
    try:
        return NUMBER_OF[array.dtype.newbyteorder("=")]
    except KeyError:
        raise ValueError(f"checkpoints cannot hold elements of type {array.dtype}") from None
