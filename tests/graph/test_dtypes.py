"""Element types: one object per type, and what each is known to be."""

import copy
import pickle

import ml_dtypes
import numpy as np
import pytest

from stillflow.graph import dtypes
from stillflow.graph.dtypes import DType, as_dtype

ALL = list(dtypes._INTERN_TABLE.values())
NUMERIC = [d for d in ALL if d.is_integer or d.is_floating]


@pytest.mark.parametrize("dtype", ALL, ids=lambda d: d.name)
def test_each_type_exists_once(dtype):
    assert as_dtype(dtype.name) is dtype
    assert as_dtype(dtype.as_datatype_enum) is dtype
    assert DType(dtype.as_datatype_enum) is dtype
    assert pickle.loads(pickle.dumps(dtype)) is dtype
    assert copy.deepcopy(dtype) is dtype


@pytest.mark.parametrize("dtype", ALL, ids=lambda d: d.name)
def test_reference_types_share_what_they_refer_to(dtype):
    reference = dtype._as_ref
    assert reference._is_ref_dtype
    assert reference.base_dtype is dtype.base_dtype
    assert reference.name == dtype.base_dtype.name + "_ref"
    assert dtype.base_dtype.is_compatible_with(reference)
    assert not reference.is_compatible_with(dtype.base_dtype)


@pytest.mark.parametrize(
    ("value", "name"),
    [
        ("float", "float32"),
        ("double", "float64"),
        ("half", "float16"),
        ("float_ref", "float32_ref"),
        (float, "float32"),
        (bool, "bool"),
        (object, "string"),
        (np.float32, "float32"),
        (np.dtype("f4"), "float32"),
        (np.dtype(">f4"), "float32"),
        (np.bool_, "bool"),
        (np.dtype("S3"), "string"),
        (np.str_, "string"),
        (np.longlong, "int64"),
        (np.intc, "int32"),
        (ml_dtypes.bfloat16, "bfloat16"),
        (np.dtype([("qint8", np.int8)]), "qint8"),
        (1, "float32"),
        (101, "float32_ref"),
    ],
)
def test_what_names_a_type(value, name):
    assert as_dtype(value).name == name
    assert as_dtype(value) == value


@pytest.mark.parametrize(
    "value", [int, str, complex, "foo", 0, 500, None, [1], np.dtype("M8[s]"), np.dtype("i4,f4")]
)
def test_what_names_no_type_is_refused_and_equals_none(value):
    with pytest.raises(TypeError, match=r"Cannot convert value .* to a TensorFlow DType"):
        as_dtype(value)
    assert dtypes.float32 != value


def test_constructor_refuses_numbers_that_are_no_type():
    with pytest.raises(TypeError, match=r"type_enum is not a valid types_pb2.DataType: 99"):
        DType(99)


def test_types_cannot_be_changed():
    with pytest.raises(AttributeError):
        dtypes.float32.name = "float64"
    with pytest.raises(AttributeError):
        del dtypes.float32.name


def test_how_types_are_shown():
    assert repr(dtypes.float32) == "tf.float32"
    assert str(dtypes.float32._as_ref) == "<dtype: 'float32_ref'>"


def test_kinds_of_types():
    def names(predicate):
        return {d.name for d in ALL if not d._is_ref_dtype and predicate(d)}

    assert names(lambda d: d.is_floating) == {"float16", "bfloat16", "float32", "float64"}
    assert names(lambda d: d.is_complex) == {"complex64", "complex128"}
    assert names(lambda d: d.is_unsigned) == {"uint8", "uint16", "uint32", "uint64"}
    assert names(lambda d: d.is_integer and not d.is_unsigned) == {
        "int8", "int16", "int32", "int64",
    }  # fmt: skip
    assert names(lambda d: not d.is_numpy_compatible) == {"resource", "variant"}
    assert names(lambda d: d in dtypes.QUANTIZED_DTYPES) == names(lambda d: d.is_quantized)
    assert len(dtypes.QUANTIZED_DTYPES) == 10


@pytest.mark.parametrize("dtype", NUMERIC, ids=lambda d: d.name)
def test_extremes_are_representable(dtype):
    for value in (dtype.min, dtype.max):
        assert np.array(value, dtype.as_numpy_dtype) == value


def test_extremes_and_limits():
    assert (dtypes.int8.min, dtypes.int8.max) == (-128, 127)
    assert dtypes.int8.limits == (0, 127)
    assert dtypes.float32.limits == (0, 1)
    assert float(dtypes.bfloat16.max) == float.fromhex("0x1.FEp127")
    for dtype in (dtypes.string, dtypes.bool, dtypes.complex64, dtypes.qint8, dtypes.resource):
        with pytest.raises(TypeError, match=f"Cannot find minimum value of <dtype: '{dtype.name}"):
            _ = dtype.min


def test_real_parts():
    assert dtypes.complex128.real_dtype is dtypes.float64
    assert dtypes.complex64._as_ref.real_dtype is dtypes.float32
    assert dtypes.int32.real_dtype is dtypes.int32


def test_numpy_types_that_programs_rely_on():
    assert dtypes.string.as_numpy_dtype is object
    assert dtypes.bool.as_numpy_dtype is bool
    assert dtypes.qint32.as_numpy_dtype == np.dtype([("qint32", np.int32)])
    assert (dtypes.resource.size, dtypes.float64.size, dtypes.qint16.size) == (1, 8, 2)
    with pytest.raises(KeyError):
        _ = dtypes.variant.as_numpy_dtype


def test_torch_names_go_both_ways():
    for dtype in ALL:
        if dtype.torch_name is None:
            with pytest.raises(TypeError):
                dtypes.torch_name(dtype)
        elif not dtype.is_quantized:
            assert dtypes.from_torch_name("torch." + dtypes.torch_name(dtype)) is dtype.base_dtype
    assert dtypes.torch_name(dtypes.quint8) == "uint8"
    with pytest.raises(TypeError, match=r"torch\.float8_e5m2"):
        dtypes.from_torch_name("float8_e5m2")
