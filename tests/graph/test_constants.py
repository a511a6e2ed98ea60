"""Constants: from Python values to arrays to messages and back, as TensorFlow 1.15 does it."""

import warnings
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import stillflow as tf
from stillflow.graph import dtypes
from stillflow.graph.arrays import as_array
from stillflow.graph.tensor_proto import (
    ShapeEquals,
    from_proto,
    make_ndarray,
    make_tensor_proto,
    to_proto,
)
from stillflow.graph.tensor_shape import Dimension, TensorShape
from stillflow.protos import TensorProto


def written(*args, **kwargs):
    """Type, shape and the one field of the message that holds values."""
    message = make_tensor_proto(*args, **kwargs)
    fields = [
        (f.name, v) for f, v in message.ListFields() if f.name not in ("dtype", "tensor_shape")
    ]
    assert len(fields) <= 1
    shape = [dim.size for dim in message.tensor_shape.dim]
    name, value = fields[0] if fields else (None, [])
    return message.dtype, shape, name, value if isinstance(value, bytes) else list(value)


# What TensorFlow 1.15.5 writes: arguments -> DataType, shape, field, values.
WRITTEN = [
    ((1,), (3, [], "int_val", [1])),
    ((1.5,), (1, [], "float_val", [1.5])),
    ((True,), (10, [], "bool_val", [True])),
    (([1, 2],), (3, [2], "tensor_content", b"\1\0\0\0\2\0\0\0")),
    (([1, 2.5],), (1, [2], "tensor_content", b"\0\0\x80?\0\0 @")),
    (([True, 1],), (3, [2], "tensor_content", b"\1\0\0\0\1\0\0\0")),
    (([True, False],), (10, [2], "bool_val", [True, False])),
    ((3000000000,), (9, [], "int64_val", [3000000000])),
    ((2**63,), (23, [], "uint64_val", [2**63])),
    ((-(2**31) - 1,), (9, [], "int64_val", [-(2**31) - 1])),
    (([2**63, 1],), (1, [2], "tensor_content", b"\0\0\0_\0\0\x80?")),
    (("a",), (7, [], "string_val", [b"a"])),
    (([["a"], [b"b\0"]],), (7, [2, 1], "string_val", [b"a", b"b\0"])),
    (([],), (1, [0], None, [])),
    (([[], []],), (1, [2, 0], None, [])),
    ((np.float64(1.5),), (2, [], "double_val", [1.5])),
    ((np.array([1]),), (9, [1], "int64_val", [1])),
    (([np.int64(1)],), (3, [1], "int_val", [1])),
    (([np.float64(1.0), 2.0],), (1, [2], "tensor_content", b"\0\0\x80?\0\0\0@")),
    (([np.float16(1)],), (19, [1], "half_val", [15360])),
    (([1j, 2],), (18, [2], "dcomplex_val", [0.0, 1.0, 2.0, 0.0])),
    ((1, dtypes.complex64), (8, [], "scomplex_val", [1.0, 0.0])),
    ((300, dtypes.uint8), (4, [], "int_val", [44])),
    (([-1], dtypes.uint64), (23, [1], "uint64_val", [2**64 - 1])),
    ((2**40, dtypes.int32), (3, [], "int_val", [0])),
    ((True, dtypes.float32), (1, [], "float_val", [1.0])),
    ((1.5, dtypes.bfloat16), (14, [], "half_val", [16320])),
    ((1e10, dtypes.float16), (19, [], "half_val", [31744])),
    ((1e39, dtypes.float32), (1, [], "float_val", [float("inf")])),
    (([(1,), (2,)], dtypes.qint8), (11, [2], "tensor_content", b"\1\2")),
    ((np.array([1, 2], np.int8), dtypes.qint8), (11, [2], "tensor_content", b"\1\2")),
    (((1,), dtypes.quint16), (16, [], "int_val", [1])),
    ((np.uint16([1, 2]),), (17, [2], "int_val", [1, 2])),
    ((np.array(["é"]),), (7, [1], "string_val", ["é".encode()])),
    ((np.ones([2, 2])[:, 0], "float32"), (1, [2], "tensor_content", b"\0\0\x80?\0\0\x80?")),
    ((np.array([5, 6]).astype(">i4"),), (3, [2], "tensor_content", b"\5\0\0\0\6\0\0\0")),
    ((bytearray(b"ab"),), (4, [2], "tensor_content", b"ab")),
    (([Dimension(3), 2], dtypes.int32), (3, [2], "tensor_content", b"\3\0\0\0\2\0\0\0")),
    ((1, None, [2, 3]), (3, [2, 3], "int_val", [1])),
    ((0.0, None, [1]), (1, [1], "float_val", [0.0])),
    (([1, 2], None, [3]), (3, [3], "int_val", [1, 2])),
    (([1, 2], "uint8", [2, 1]), (4, [2, 1], "tensor_content", b"\1\2")),
    (([1, 2], None, [0]), (1, [0], None, [])),
    ((np.zeros(0), None, [3]), (2, [3], None, [])),
    ((["a"], None, TensorShape([2])), (7, [2], "string_val", [b"a"])),
    (([True], None, [3]), (10, [3], "bool_val", [True])),
    ((np.array([1, 2], np.complex64), None, [3]), (8, [3], "scomplex_val", [1.0, 0.0, 2.0, 0.0])),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "expected"), WRITTEN, ids=lambda x: str(x)[:40])
def test_messages_are_those_tensorflow_writes(arguments, expected):
    assert written(*arguments) == expected


REFUSED = [
    ((1.5, dtypes.int32), TypeError, "Expected int32, got 1.5 of type 'float' instead."),
    (([1, None], dtypes.int32), TypeError, "Expected int32, got None of type 'NoneType' instead."),
    ((1, dtypes.bool), TypeError, "Expected bool, got 1 of type 'int' instead."),
    (("a", dtypes.int32), TypeError, "Expected int32, got 'a' of type 'str' instead."),
    (([1.5, "a"], dtypes.string), TypeError, "Expected string, got 1.5 of type 'float' instead."),
    (([1, 2], dtypes.qint8), TypeError, "Expected qint8, got 1 of type 'int' instead."),
    (([np.float64(1)], dtypes.int32), TypeError, "Expected int32, got 1.0 of type 'float64' inst"),
    (([np.bool_(True)], dtypes.int32), TypeError, "Expected int32, got True of type 'bool_' inst"),
    ((dtypes.float32, dtypes.int32), TypeError, "Expected int32, got tf.float32 of type 'DType'"),
    ((None,), ValueError, "None values not supported."),
    (([None],), TypeError, "Failed to convert object of type <class 'list'> to Tensor. Contents: "),
    ((["a", 1],), TypeError, "Failed to convert object of type <class 'list'> to Tensor. Contents"),
    (({1: 2},), TypeError, "Failed to convert object of type <class 'dict'> to Tensor. Contents: "),
    ((2**70,), TypeError, "Failed to convert object of type <class 'int'> to Tensor. Contents: 11"),
    (([1, [2]],), TypeError, "Failed to convert object of type <class 'list'> to Tensor. Contents"),
    ((Fraction(1, 2),), TypeError, "Failed to convert object of type <class 'fractions.Fraction'>"),
    (
        ([[1, 2], [3]],),
        ValueError,
        "Argument must be a dense tensor: [[1, 2], [3]] - got shape [2], but wanted [2, 2].",
    ),
    ((range(3),), ValueError, "Argument must be a dense tensor: range(0, 3) - got shape [3], but "),
    (([[1, 2], [3]], dtypes.int32), ValueError, "setting an array element with a sequence."),
    ((2**63, dtypes.int64), OverflowError, "Python int too large to convert to C long"),
    ((np.array([1]), dtypes.string), TypeError, "Expected binary or unicode string, got 1"),
    (
        (1, dtypes.resource),
        TypeError,
        "Incompatible types: <dtype: 'resource'> vs. int64. Value is",
    ),
    ((1, int), TypeError, "Cannot convert value <class 'int'> to a TensorFlow DType."),
    ((np.zeros(2, "M8[s]"),), TypeError, "Cannot convert value dtype('<M8[s]') to a TensorFlow D"),
    (([1, 2, 3], None, [2]), ValueError, "Too many elements provided. Needed at most 2, but recei"),
    ((1, None, [-1]), ValueError, "Too many elements provided. Needed at most -1, but received 1"),
    (([], None, [-1, -1]), ValueError, "Dimension -1 must be >= 0"),
    ((1, None, [2], True), TypeError, "Expected Tensor's shape: (2,), got ()."),
    (([1, 2], None, [3], False, True), TypeError, "Expected Tensor's shape: (3,), got (2,)."),
    ((1, None, None, True, True), ValueError, "allow_broadcast and verify_shape are not both all"),
    ((1, None, TensorShape(None)), ValueError, "Cannot iterate over a shape with unknown rank."),
    (([1, 2], None, [2**40]), ValueError, "A tensor of shape [1099511627776] would repeat its la"),
]


@pytest.mark.parametrize(("arguments", "error", "message"), REFUSED, ids=lambda x: str(x)[:40])
def test_values_that_make_no_tensor_are_refused(arguments, error, message):
    with pytest.raises(error) as refusal:
        make_tensor_proto(*arguments)
    assert str(refusal.value).startswith(message)


def test_a_message_is_passed_on():
    message = make_tensor_proto(1)
    assert make_tensor_proto(message) is message


def test_constants_do_not_change_with_the_array_they_came_from():
    source = np.zeros(3, np.float32)
    value = as_array(source)
    source[:] = 1
    assert value.tolist() == [0, 0, 0]


def test_a_value_that_fills_a_shape_takes_no_memory():
    value = as_array(0, dtypes.float32, [1000, 1000, 1000, 1000])
    assert value.shape == (1000, 1000, 1000, 1000)
    assert value[1, 2, 3, 4] == 0
    assert not value.flags.writeable
    assert to_proto(value).ByteSize() < 50
    assert as_array("a", None, [2]).tolist() == [b"a", b"a"]


def test_the_last_value_fills_up():
    value = as_array([1, 2], None, [2, 2])
    assert value.tolist() == [[1, 2], [2, 2]]
    assert (value + 1).tolist() == [[2, 3], [3, 3]]
    assert list(to_proto(value).int_val) == [1, 2]
    assert to_proto(value + 0).tensor_content  # derived values are written as they are
    assert as_array(np.array(["a", "b"]), None, [3]).tolist() == [b"a", b"b", b"b"]


arrays = st.one_of(
    st.lists(st.integers(-(2**31), 2**31 - 1), max_size=5).map(lambda v: np.array(v, np.int32)),
    st.lists(st.floats(width=32, allow_nan=False), max_size=5).map(lambda v: np.array(v, "f4")),
    st.lists(st.floats(allow_nan=False), max_size=5).map(lambda v: np.array(v, "f8")),
    st.lists(st.integers(0, 255), max_size=5).map(lambda v: np.array(v, np.uint8)),
    st.lists(st.integers(0, 2**64 - 1), max_size=5).map(lambda v: np.array(v, np.uint64)),
    st.lists(st.booleans(), max_size=5).map(lambda v: np.array(v, bool)),
    st.lists(st.integers(-9, 9), max_size=5).map(lambda v: np.array(v, ml_dtypes.bfloat16)),
    st.lists(st.integers(-9, 9), max_size=5).map(lambda v: np.array(v, np.complex64) * 1j),
    st.lists(st.binary(max_size=3), max_size=5).map(lambda v: np.array([*v, 0], object)[:-1]),
)


@given(arrays)
def test_arrays_survive_messages(array):
    for shaped in (array, array.reshape(1, -1)):
        again = make_ndarray(TensorProto.FromString(make_tensor_proto(shaped).SerializeToString()))
        assert again.dtype == shaped.dtype
        assert again.shape == shaped.shape
        assert again.tolist() == shaped.tolist()
        assert again.flags.writeable


def message(text):
    from google.protobuf import text_format

    return text_format.Parse(text, TensorProto())


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("dtype: DT_INT32 tensor_shape { dim { size: 2 } } int_val: 3", [3, 3]),
        ("dtype: DT_INT32 tensor_shape { dim { size: 3 } } int_val: 3 int_val: 4", [3, 4, 4]),
        ("dtype: DT_INT8 tensor_shape { dim { size: 1 } } int_val: 300", [44]),
        ("dtype: DT_FLOAT tensor_shape { dim { size: 2 } }", [0, 0]),
        ("dtype: DT_STRING tensor_shape { dim { size: 2 } }", [b"", b""]),
        ('dtype: DT_STRING tensor_shape { dim { size: 2 } } string_val: "a"', [b"a", b"a"]),
        (
            'dtype: DT_STRING tensor_shape { dim { size: 2 } } tensor_content: "\\001\\002abc"',
            [b"a", b"bc"],
        ),
        ("dtype: DT_HALF tensor_shape { } half_val: 15872", 1.5),
        ("dtype: DT_FLOAT_REF tensor_shape { } float_val: 2", 2),
        ("dtype: DT_QINT8 tensor_shape { } int_val: 2", (2,)),
        ("dtype: DT_UINT32 tensor_shape { } uint32_val: 4000000000", 4000000000),
        ("dtype: DT_COMPLEX64 tensor_shape { } scomplex_val: 1 scomplex_val: 2", 1 + 2j),
    ],
)
def test_reading_messages(text, value):
    assert make_ndarray(message(text)).tolist() == value


@pytest.mark.parametrize(
    ("text", "error", "expected"),
    [
        (
            'dtype: DT_FLOAT tensor_shape { dim { size: 2 } } tensor_content: "1234"',
            ValueError,
            "takes 8 bytes, but its content has 4",
        ),
        (
            "dtype: DT_INT32 tensor_shape { dim { size: 1 } } int_val: 3 int_val: 4",
            ValueError,
            "cannot hold 2 values",
        ),
        (
            "dtype: DT_INT32 tensor_shape { dim { size: -1 } } int_val: 3",
            ValueError,
            "not fully known",
        ),
        (
            "dtype: DT_INT32 tensor_shape { dim { size: 1099511627776 } } int_val: 3",
            ValueError,
            "would repeat its value into more than 2GB",
        ),
        (
            "dtype: DT_INT32 tensor_shape { dim { size: 1099511627776 } } int_val: 3 int_val: 4",
            ValueError,
            "would repeat its last value into more than 2GB",
        ),
        (
            'dtype: DT_STRING tensor_shape { dim { size: 1 } } tensor_content: "\\377\\377\\377a"',
            ValueError,
            "content of a tensor of 1 strings is damaged",
        ),
        (
            'dtype: DT_STRING tensor_shape { dim { size: 109951162777 } } tensor_content: "\\001a"',
            ValueError,
            "is damaged",
        ),
        ("dtype: DT_RESOURCE tensor_shape { }", TypeError, "Unsupported tensor type: 20"),
        ("tensor_shape { }", TypeError, "Cannot convert value 0 to a TensorFlow DType"),
    ],
)
def test_contradictory_messages_are_refused(text, error, expected):
    with pytest.raises(error, match=expected):
        make_ndarray(message(text))


def test_reading_for_the_graph_copies_nothing():
    view = from_proto(message("dtype: DT_INT32 tensor_shape { dim { size: 99999999999 } }"))
    assert view.shape == (99999999999,) and view[12345] == 0


def test_comparing_shapes_of_messages():
    tensor = make_tensor_proto([[1, 2], [3, 4]])
    assert ShapeEquals(tensor, [2, 2]) and ShapeEquals(tensor, tensor.tensor_shape)
    assert not ShapeEquals(tensor, (4,))
    with pytest.raises(TypeError, match="shape is not a list or tuple"):
        ShapeEquals(tensor, "ab")
    with pytest.raises(TypeError, match=r"tensor_proto is not a tensor_pb2.TensorProto object"):
        ShapeEquals(np.zeros(2), [2])


def test_conversions_do_not_warn():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        as_array(1e39)
        as_array([1e39, 1.0])
        as_array(np.array([1e39]), dtypes.float32)
        as_array(1e10, dtypes.float16)


def test_a_constant_without_a_name_is_named_after_its_op():
    with tf.Graph().as_default():
        assert tf.constant(1, name=None).op.name == "Const"
        assert tf.constant(1, name="").op.name == "Const_1"
