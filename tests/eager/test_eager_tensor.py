"""Tensors that know their values."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import stillflow as tf
from stillflow.eager.eager_tensor import EagerTensor

pytestmark = pytest.mark.usefixtures("eager")


def test_what_programs_get_is_a_copy():
    x = tf.constant([1.0, 2.0])
    x.numpy()[0] = 9.0
    np.asarray(x)[0] = 9.0
    assert x.numpy().tolist() == [1.0, 2.0]


def test_arrays_of_programs_can_change_afterwards():
    array = np.ones(2)
    x = tf.constant(array)
    array[0] = 9.0
    assert x.numpy().tolist() == [1.0, 1.0]


def test_python_takes_scalars_for_numbers():
    three = tf.constant(3)
    assert [int(three), float(three), bool(three), [1, 2, 3, 4][three]] == [3, 3.0, True, 4]
    assert f"{tf.constant(0.25):.1%}" == "25.0%"


def test_rows_can_be_walked():
    assert [row.numpy().tolist() for row in tf.constant([[1, 2], [3, 4]])] == [[1, 2], [3, 4]]
    with pytest.raises(TypeError, match="Cannot iterate over a scalar tensor"):
        iter(tf.constant(1))


@pytest.mark.parametrize("name", ["op", "graph", "name", "value_index"])
def test_what_only_nodes_have_is_meaningless(name):
    with pytest.raises(AttributeError, match=f"Tensor.{name} is meaningless when eager"):
        getattr(tf.constant(1), name)


def test_tensors_are_told_apart_by_identity():
    one, same = tf.constant(1), tf.constant(1)
    assert one == one and one != same
    assert len({one, same}) == 2


def test_values_are_compared_where_programs_ask_for_it():
    x = tf.constant([1, 2])
    tf.enable_tensor_equality()
    try:
        assert (x == [1, 3]).numpy().tolist() == [True, False]
        assert (x != tf.constant([1, 3])).numpy().tolist() == [False, True]
        assert (x == None) is False  # noqa: E711
    finally:
        tf.disable_tensor_equality()


def test_copies_share_nothing_and_pickles_hold_the_value():
    x = tf.constant([1.0, 2.0])
    assert copy.copy(x) is x
    assert copy.deepcopy(x).numpy().tolist() == [1.0, 2.0]
    assert pickle.loads(pickle.dumps(x)).numpy().tolist() == [1.0, 2.0]


def test_a_shape_that_is_not_the_tensors_is_refused():
    x = tf.constant([1.0, 2.0])
    x.set_shape([None])
    with pytest.raises(ValueError, match="is not compatible with supplied shape"):
        x.set_shape([3])


def test_handles_have_no_value_to_show():
    variable = tf.Variable(1.0)
    assert "<unprintable>" in repr(variable.handle)
    with pytest.raises(ValueError, match="Cannot convert a Tensor of dtype resource"):
        variable.handle.numpy()


def test_truth_values_are_numbers_where_numbers_belong():
    true = tf.constant(True)
    assert [4, 5][true] == 5  # as under TensorFlow 1.15.5
    assert list(tf.train.Int64List(value=[true]).value) == [1]


def test_programs_make_tensors_by_their_class():
    made = EagerTensor([1, 2], device=None, dtype=tf.float64.as_datatype_enum)
    assert made.dtype is tf.float64 and made.numpy().tolist() == [1, 2]
    assert EagerTensor(2**33, device="").dtype is tf.int64
    whole = EagerTensor(np.array([3.7]), device=None, dtype=tf.int32.as_datatype_enum)
    assert whole.numpy().tolist() == [3]
    for words, given in (
        (r"argument 'device' \(pos 2\)", {}),
        ("Expecting a DataType value for dtype. Got str", {"device": None, "dtype": "1"}),
        ("Cannot convert 1.5 to EagerTensor of dtype int32", {"device": None, "dtype": 3}),
    ):
        with pytest.raises(TypeError, match=words):
            EagerTensor(1.5, **given)
