"""Messages parsed and built, compared with the protobuf library."""

from __future__ import annotations

import numpy as np
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from hypothesis import given, settings
from hypothesis import strategies as st

import stillflow as tf
from stillflow.errors import DataLossError
from stillflow.ops.io.protos.reading import Wanted, field_values

FIELDS = {"doubles": 1, "longs": 3, "ints": 5, "words": 9, "unsigned": 13, "zigzags": 18}


def _files():
    file = descriptor_pb2.FileDescriptorProto(name="own.proto", package="own", syntax="proto2")
    message = file.message_type.add(name="Own")
    for number, (name, kind) in enumerate(FIELDS.items(), 1):
        message.field.add(name=name, number=number, type=kind, label=3)
    return descriptor_pb2.FileDescriptorSet(file=[file])


def _class():
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(_files().file[0].SerializeToString())
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("own.Own"))


OWN = _class()
WANTED = [Wanted(number, kind, True, False) for number, kind in enumerate(FIELDS.values(), 1)]
VALUES = {
    "doubles": st.floats(allow_nan=False),
    "longs": st.integers(-(2**63), 2**63 - 1),
    "ints": st.integers(-(2**31), 2**31 - 1),
    "words": st.text(max_size=5),
    "unsigned": st.integers(0, 2**32 - 1),
    "zigzags": st.integers(-(2**63), 2**63 - 1),
}


@given(st.fixed_dictionaries({name: st.lists(each, max_size=3) for name, each in VALUES.items()}))
def test_fields_are_what_the_library_wrote(values):
    found = field_values(OWN(**values).SerializeToString(), WANTED)
    wanted = dict(values, words=[word.encode() for word in values["words"]])
    assert [each.values for each in found] == [wanted[name] for name in FIELDS]
    assert [each.count for each in found] == [len(wanted[name]) for name in FIELDS]


@settings(max_examples=300)
@given(st.binary(max_size=40))
def test_other_bytes_are_refused_or_read(data):
    try:
        found = field_values(data, WANTED)
    except DataLossError:
        return
    assert all(each.count == len(each.values) for each in found)


def test_groups_within_groups_end_somewhere():
    with pytest.raises(DataLossError, match="Failed skipping"):
        field_values(b"\x3b" * 100000, WANTED)


def test_types_come_out_of_files(tmp_path):
    path = tmp_path / "own.pb"
    path.write_bytes(_files().SerializeToString())
    messages = [OWN(ints=[1, -2]).SerializeToString(), OWN(words=["a"]).SerializeToString()]
    with tf.Graph().as_default(), tf.Session() as session:
        decoded = tf.io.decode_proto(
            messages, "own.Own", ["ints", "words"], [tf.int64, tf.string], str(path)
        )
        encoded = tf.io.encode_proto(*decoded, ["ints", "words"], "own.Own", str(path))
        found, again = session.run([decoded, encoded])
    np.testing.assert_array_equal(found.sizes, [[2, 0], [0, 1]])
    np.testing.assert_array_equal(found.values[0], [[1, -2], [0, 0]])
    assert found.values[1].tolist() == [[b""], [b"a"]]
    assert again.tolist() == messages


def test_files_that_hold_no_types_are_refused(tmp_path):
    path = tmp_path / "text.pb"
    path.write_bytes(b"no descriptors")
    with tf.Graph().as_default(), tf.Session() as session:
        decoded = tf.io.decode_proto(b"", "own.Own", ["ints"], [tf.int32], str(path))
        with pytest.raises(tf.errors.InvalidArgumentError, match="invalid FileDescriptorSet"):
            session.run(decoded.sizes)
