"""Element types of tensors.

Every `DType` exists once: the constructor, `as_dtype` and unpickling all return the same object, so
`is` works as well as `==`. All facts about a type are computed when the module loads and read as
plain attributes, since graph construction asks for them all the time.
"""

from __future__ import annotations

import builtins
from typing import Any, NoReturn

import ml_dtypes
import numpy as np

from stillflow.graph.export import export, export_value

_REF_OFFSET = 100

_np_qint8 = np.dtype([("qint8", np.int8)])
_np_quint8 = np.dtype([("quint8", np.uint8)])
_np_qint16 = np.dtype([("qint16", np.int16)])
_np_quint16 = np.dtype([("quint16", np.uint16)])
_np_qint32 = np.dtype([("qint32", np.int32)])
_np_bfloat16 = ml_dtypes.bfloat16

# Number in the DataType enum, name, numpy type, name of the torch dtype that holds the values.
_TYPES: tuple[tuple[int, str, Any, str | None], ...] = (
    (1, "float32", np.float32, "float32"),
    (2, "float64", np.float64, "float64"),
    (3, "int32", np.int32, "int32"),
    (4, "uint8", np.uint8, "uint8"),
    (5, "int16", np.int16, "int16"),
    (6, "int8", np.int8, "int8"),
    (7, "string", builtins.object, None),
    (8, "complex64", np.complex64, "complex64"),
    (9, "int64", np.int64, "int64"),
    (10, "bool", builtins.bool, "bool"),
    (11, "qint8", _np_qint8, "int8"),
    (12, "quint8", _np_quint8, "uint8"),
    (13, "qint32", _np_qint32, "int32"),
    (14, "bfloat16", _np_bfloat16, "bfloat16"),
    (15, "qint16", _np_qint16, "int16"),
    (16, "quint16", _np_quint16, "uint16"),
    (17, "uint16", np.uint16, "uint16"),
    (18, "complex128", np.complex128, "complex128"),
    (19, "float16", np.float16, "float16"),
    (20, "resource", None, None),
    (21, "variant", None, None),
    (22, "uint32", np.uint32, "uint32"),
    (23, "uint64", np.uint64, "uint64"),
)

_INTERN_TABLE: dict[int, DType] = {}


@export("dtypes.DType", "DType")
class DType:
    """The type of the elements of a tensor.

    Attributes:
      name: "float32", or "float32_ref" for the type of a reference to a mutable tensor.
      as_datatype_enum: The number of the type in the `DataType` enum of the graph format.
      base_dtype: The type without `_ref`.
      real_dtype: The type of the real part of a complex type, otherwise the type itself.
      is_bool, is_integer, is_floating, is_complex, is_quantized, is_unsigned: What kind it is;
        quantized types are neither integers nor unsigned.
      is_numpy_compatible: Whether numpy can hold the values.
      size: Bytes per element.
      torch_name: Name of the torch dtype that holds the values, None for string, resource and
        variant.
    """

    __slots__ = (
        "_as_ref",
        "_is_ref_dtype",
        "_np_type",
        "_type_enum",
        "as_datatype_enum",
        "base_dtype",
        "is_bool",
        "is_complex",
        "is_floating",
        "is_integer",
        "is_numpy_compatible",
        "is_quantized",
        "is_unsigned",
        "name",
        "np_dtype",
        "real_dtype",
        "size",
        "torch_name",
    )

    name: str
    as_datatype_enum: int
    base_dtype: DType
    real_dtype: DType
    is_bool: builtins.bool
    is_integer: builtins.bool
    is_floating: builtins.bool
    is_complex: builtins.bool
    is_quantized: builtins.bool
    is_unsigned: builtins.bool
    is_numpy_compatible: builtins.bool
    size: int
    torch_name: str | None
    np_dtype: np.dtype[Any] | None
    _as_ref: DType
    _is_ref_dtype: builtins.bool
    _np_type: Any
    _type_enum: int

    def __new__(cls, type_enum: int) -> DType:
        """Return the type with this number in the `DataType` enum.

        Raises:
          TypeError: If no type has this number.
        """
        type_enum = int(type_enum)
        try:
            return _INTERN_TABLE[type_enum]
        except KeyError:
            raise TypeError(f"type_enum is not a valid types_pb2.DataType: {type_enum}") from None

    def __setattr__(self, attribute: str, value: Any) -> NoReturn:
        raise AttributeError("can't set attribute")

    def __delattr__(self, attribute: str) -> NoReturn:
        raise AttributeError("can't delete attribute")

    @property
    def as_numpy_dtype(self) -> Any:
        """The numpy scalar type (for string `object`, for bool Python's `bool`).

        Raises:
          KeyError: For resource and variant, which numpy cannot hold.
        """
        if self._np_type is None:
            raise KeyError(self._type_enum)
        return self._np_type

    @property
    def min(self) -> Any:
        """The smallest finite value; TypeError where there is none."""
        return self._extreme("min", "minimum")

    @property
    def max(self) -> Any:
        """The largest finite value; TypeError where there is none."""
        return self._extreme("max", "maximum")

    @property
    def limits(self) -> tuple[Any, Any]:
        """The range of intensities of an image: (0, 1) for floats, (0, max) for integers."""
        if self.is_integer:
            return 0, self.max
        if self.is_floating and self.size > 2:
            return 0, 1
        raise KeyError(self.as_numpy_dtype)

    def is_compatible_with(self, other: Any) -> builtins.bool:
        """Return True if a tensor of type `other` can be used where this type is wanted."""
        other = as_dtype(other)
        return self is other or self is other.base_dtype

    def _extreme(self, attribute: str, word: str) -> Any:
        if self.is_floating:
            finfo = ml_dtypes.finfo if self._np_type is _np_bfloat16 else np.finfo
            return getattr(finfo(self._np_type), attribute)
        if self.is_integer:
            return getattr(np.iinfo(self._np_type), attribute)
        raise TypeError(f"Cannot find {word} value of {self}.")

    def __eq__(self, other: object) -> builtins.bool:
        if self is other:
            return True
        if other is None or other.__class__ is DType:
            return False
        try:
            return as_dtype(other) is self
        except TypeError:
            return False

    def __ne__(self, other: object) -> builtins.bool:
        return not self.__eq__(other)

    def __hash__(self) -> int:
        return self._type_enum

    def __str__(self) -> str:
        return f"<dtype: {self.name!r}>"

    def __repr__(self) -> str:
        return "tf." + self.name

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return as_dtype, (self.name,)

    def __copy__(self) -> DType:
        return self

    def __deepcopy__(self, memo: Any) -> DType:
        return self


def _new_dtype(enum: int, name: str, np_type: Any, torch_name: str | None) -> DType:
    np_dtype = None if np_type is None else np.dtype(np_type)
    kind = "" if np_dtype is None else np_dtype.kind
    is_bfloat16 = np_type is _np_bfloat16
    facts = {
        "name": name,
        "as_datatype_enum": enum,
        "_type_enum": enum,
        "is_bool": kind == "b",
        "is_integer": kind in ("i", "u"),
        "is_floating": kind == "f" or is_bfloat16,
        "is_complex": kind == "c",
        "is_quantized": kind == "V" and not is_bfloat16,
        "is_unsigned": kind == "u",
        "is_numpy_compatible": np_dtype is not None,
        "size": 1 if np_dtype is None else np_dtype.itemsize,
        "torch_name": torch_name,
        "_is_ref_dtype": enum > _REF_OFFSET,
        "_np_type": np_type,
        "np_dtype": np_dtype,
    }
    dtype = object.__new__(DType)
    for attribute, value in facts.items():
        object.__setattr__(dtype, attribute, value)
    _INTERN_TABLE[enum] = dtype
    return dtype


def _build_intern_table() -> None:
    real_parts = {8: 1, 18: 2}  # complex64 -> float32, complex128 -> float64
    for enum, name, np_type, torch_name in _TYPES:
        base = _new_dtype(enum, name, np_type, torch_name)
        ref = _new_dtype(enum + _REF_OFFSET, name + "_ref", np_type, torch_name)
        for dtype in (base, ref):
            object.__setattr__(dtype, "base_dtype", base)
            object.__setattr__(dtype, "_as_ref", ref)
    for enum, dtype in _INTERN_TABLE.items():
        real_part = real_parts.get(enum % _REF_OFFSET)
        real = dtype if real_part is None else _INTERN_TABLE[real_part]
        object.__setattr__(dtype, "real_dtype", real)


_build_intern_table()

_TYPE_TO_STRING = {enum: dtype.name for enum, dtype in _INTERN_TABLE.items()}
_STRING_TO_TF = {dtype.name: dtype for dtype in _INTERN_TABLE.values()}
for _alias, _name in (("half", "float16"), ("float", "float32"), ("double", "float64")):
    _STRING_TO_TF[_alias] = _STRING_TO_TF[_name]
    _STRING_TO_TF[_alias + "_ref"] = _STRING_TO_TF[_name + "_ref"]

float32 = _STRING_TO_TF["float32"]
float64 = double = _STRING_TO_TF["float64"]
int32 = _STRING_TO_TF["int32"]
uint8 = _STRING_TO_TF["uint8"]
int16 = _STRING_TO_TF["int16"]
int8 = _STRING_TO_TF["int8"]
string = _STRING_TO_TF["string"]
complex64 = _STRING_TO_TF["complex64"]
int64 = _STRING_TO_TF["int64"]
bool = _STRING_TO_TF["bool"]
qint8 = _STRING_TO_TF["qint8"]
quint8 = _STRING_TO_TF["quint8"]
qint32 = _STRING_TO_TF["qint32"]
bfloat16 = _STRING_TO_TF["bfloat16"]
qint16 = _STRING_TO_TF["qint16"]
quint16 = _STRING_TO_TF["quint16"]
uint16 = _STRING_TO_TF["uint16"]
complex128 = _STRING_TO_TF["complex128"]
float16 = half = _STRING_TO_TF["float16"]
resource = _STRING_TO_TF["resource"]
variant = _STRING_TO_TF["variant"]
uint32 = _STRING_TO_TF["uint32"]
uint64 = _STRING_TO_TF["uint64"]

float32_ref = float32._as_ref
float64_ref = double_ref = float64._as_ref
int32_ref = int32._as_ref
uint8_ref = uint8._as_ref
int16_ref = int16._as_ref
int8_ref = int8._as_ref
string_ref = string._as_ref
complex64_ref = complex64._as_ref
int64_ref = int64._as_ref
bool_ref = bool._as_ref
qint8_ref = qint8._as_ref
quint8_ref = quint8._as_ref
qint32_ref = qint32._as_ref
bfloat16_ref = bfloat16._as_ref
qint16_ref = qint16._as_ref
quint16_ref = quint16._as_ref
uint16_ref = uint16._as_ref
complex128_ref = complex128._as_ref
float16_ref = half_ref = float16._as_ref
resource_ref = resource._as_ref
variant_ref = variant._as_ref
uint32_ref = uint32._as_ref
uint64_ref = uint64._as_ref

export_value("dtypes.float16", "float16", float16)
export_value("dtypes.half", "half", half)
export_value("dtypes.float32", "float32", float32)
export_value("dtypes.float64", "float64", float64)
export_value("dtypes.double", "double", double)
export_value("dtypes.bfloat16", "bfloat16", bfloat16)
export_value("dtypes.int8", "int8", int8)
export_value("dtypes.int16", "int16", int16)
export_value("dtypes.int32", "int32", int32)
export_value("dtypes.int64", "int64", int64)
export_value("dtypes.uint8", "uint8", uint8)
export_value("dtypes.uint16", "uint16", uint16)
export_value("dtypes.uint32", "uint32", uint32)
export_value("dtypes.uint64", "uint64", uint64)
export_value("dtypes.bool", "bool", bool)
export_value("dtypes.string", "string", string)
export_value("dtypes.complex64", "complex64", complex64)
export_value("dtypes.complex128", "complex128", complex128)
export_value("dtypes.qint8", "qint8", qint8)
export_value("dtypes.qint16", "qint16", qint16)
export_value("dtypes.qint32", "qint32", qint32)
export_value("dtypes.quint8", "quint8", quint8)
export_value("dtypes.quint16", "quint16", quint16)
export_value("dtypes.resource", "resource", resource)
export_value("dtypes.variant", "variant", variant)

QUANTIZED_DTYPES = frozenset(dtype for dtype in _INTERN_TABLE.values() if dtype.is_quantized)
export_value("dtypes.QUANTIZED_DTYPES", "QUANTIZED_DTYPES", QUANTIZED_DTYPES)

# The dtype of a resource handle that is fed as an array.
np_resource = np.dtype([("resource", np.ubyte)])

_NP_TO_TF: dict[Any, DType] = {
    (np.bool_ if dtype.is_bool else np.object_ if dtype is string else dtype._np_type): dtype
    for dtype in _INTERN_TABLE.values()
    if dtype.is_numpy_compatible and not dtype._is_ref_dtype
}
_NP_TO_TF[np.bytes_] = string
_NP_TO_TF[np.str_] = string
# numpy keeps two C types of one width apart (long and long long).
for _platform_type in (np.intc, np.uintc, np.int_, np.uint, np.longlong, np.ulonglong):
    _NP_TO_TF.setdefault(_platform_type, _STRING_TO_TF[np.dtype(_platform_type).name])

TF_VALUE_DTYPES = set(_NP_TO_TF.values())

_ANY_TO_TF: dict[Any, DType] = {
    **_INTERN_TABLE,
    **_STRING_TO_TF,
    **_NP_TO_TF,
    builtins.float: float32,
    builtins.bool: bool,
    builtins.object: string,
}


@export("dtypes.as_dtype", "as_dtype")
def as_dtype(type_value: Any) -> DType:
    """Convert any name of a type to the `DType`.

    Args:
      type_value: A `DType`, a name ("float32"), a `DataType` number, a numpy type or dtype, or
        one of Python's `float`, `bool` and `object`.

    Returns:
      The `DType`.

    Raises:
      TypeError: If `type_value` names no type.

    Example:
      >>> tf.as_dtype("float32"), tf.as_dtype(bool), tf.as_dtype(tf.int32)
      (tf.float32, tf.bool, tf.int32)
    """
    if type_value.__class__ is DType:
        return type_value
    try:
        if isinstance(type_value, np.dtype):
            dtype = _NP_TO_TF.get(type_value.type)
            return _ANY_TO_TF[type_value] if dtype is None else dtype
        return _ANY_TO_TF[type_value]
    except (KeyError, TypeError):
        raise TypeError(f"Cannot convert value {type_value!r} to a TensorFlow DType.") from None


_CPP_NAMES = {"float16": "half", "float32": "float", "float64": "double"}


def cpp_name(dtype: Any) -> str:
    """Return the name that messages of TF's C++ code give a type: "float" for float32."""
    name, reference, _ = as_dtype(dtype).name.partition("_ref")
    return _CPP_NAMES.get(name, name) + ("_ref" if reference else "")


def torch_name(dtype: Any) -> str:
    """Return the name of the torch dtype that holds values of `dtype` ("int8" for qint8)."""
    name = as_dtype(dtype).torch_name
    if name is None:
        raise TypeError(f"Values of {dtype} are not held in torch tensors.")
    return name


_TORCH_TO_TF = {
    dtype.torch_name: dtype
    for dtype in reversed(_INTERN_TABLE.values())
    if dtype.torch_name is not None and not dtype.is_quantized and not dtype._is_ref_dtype
}


def from_torch_name(name: str) -> DType:
    """Return the type with the values of a torch dtype, given as "float32" or "torch.float32"."""
    try:
        return _TORCH_TO_TF[name.removeprefix("torch.")]
    except KeyError:
        raise TypeError(f"No TensorFlow type corresponds to torch.{name}.") from None
