"""Tensors kept in a session from one run to the next."""

from __future__ import annotations

import gc

import numpy as np
import pytest

import stillflow as tf
from stillflow.ops.session_tensors import kept_tensors


def test_a_kept_tensor_is_read_in_a_later_run(session):
    handle = session.run(tf.get_session_handle(tf.constant([1.0, 2.0]) * 3.0))
    assert handle.handle.split(";")[::2] == [
        "GetSessionHandle",
        "/job:localhost/replica:0/task:0/device:CPU:0",
    ]
    holder, tensor = tf.get_session_tensor(handle.handle, tf.float32)
    np.testing.assert_array_equal(session.run(tensor + 1.0, {holder: handle.handle}), [4.0, 7.0])
    np.testing.assert_array_equal(handle.eval(), [3.0, 6.0])


def test_a_handle_is_fed_in_the_tensors_place(session):
    x = tf.placeholder(tf.float32, [2])
    handle = session.run(tf.get_session_handle(tf.constant([1.0, 2.0])))
    np.testing.assert_array_equal(session.run(x * 2.0, {x: handle}), [2.0, 4.0])


def test_strings_are_kept(session):
    handle = session.run(tf.get_session_handle(tf.constant(["a", "b"])))
    assert list(handle.eval()) == [b"a", b"b"]


def test_a_tensor_is_forgotten_with_its_handle(session):
    node = tf.get_session_handle(tf.constant(1.0))
    handles = [session.run(node) for _ in range(3)]
    store = kept_tensors(session._resources)
    assert len(store._values) == 3
    del handles
    gc.collect()
    assert not store._values


def test_raw_handles_outlive_the_object_until_they_are_deleted(session):
    raw = session.run(tf.get_session_handle(tf.constant(1.0))).get_raw_handle()
    holder, deleter = tf.delete_session_tensor(raw)
    session.run(deleter, {holder: raw})
    with pytest.raises(tf.errors.InvalidArgumentError, match="Failed to delete a tensor"):
        session.run(deleter, {holder: raw})
    holder, tensor = tf.get_session_tensor(raw, tf.float32)
    with pytest.raises(tf.errors.InvalidArgumentError, match="is not in the session store"):
        session.run(tensor, {holder: raw})


def test_a_deleted_handle_is_refused(session):
    handle = session.run(tf.get_session_handle(tf.constant(1.0)))
    handle.delete()
    with pytest.raises(TypeError, match="may have already been deleted"):
        handle.eval()


def test_only_tensors_are_kept(session):
    with pytest.raises(TypeError, match="must be of type Tensor"):
        tf.get_session_handle(1.0)
