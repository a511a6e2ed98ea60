"""Operations for tests of graphs."""

from __future__ import annotations

import pytest

import stillflow as tf
from stillflow.graph.card import _library_cards, load_all
from stillflow.testing import test_ops


def test_every_signature_can_be_read_and_none_is_listed_among_tensorflows_own():
    assert len(_library_cards) > 90
    for card in _library_cards.values():
        assert card.signature.name == card.name
    assert not set(_library_cards) & set(load_all())


def test_functions_have_both_spellings():
    assert test_ops.two_float_outputs(name="two").b.name == "two:1"
    assert test_ops.FloatInput(a=1.0).type == "FloatInput"
    with pytest.raises(AttributeError, match="no_such_op"):
        _ = test_ops.no_such_op


def test_defaults_of_every_kind():
    op = test_ops.default_attrs()
    assert op.get_attr("string_list_val") == [b"abc", b""]
    assert op.get_attr("tensor_val") == tf.make_tensor_proto(1, tf.int32)


def test_kernels_are_chosen_by_label():
    graph = tf.Graph()
    with graph.as_default(), graph._kernel_label_map({"KernelLabel": "overload_2"}):
        labelled = test_ops.kernel_label()
    with graph.as_default():
        plain = test_ops.kernel_label()
        unknown = test_ops.kernel_label_required([1])
    with tf.Session(graph=graph) as session:
        assert session.run([plain, labelled]) == [
            b"My label is: default", b"My label is: overload_2",
        ]  # fmt: skip
        with pytest.raises(tf.errors.InvalidArgumentError, match="No OpKernel was registered"):
            session.run(unknown)


def test_a_stub_resource_is_made_once_it_was_created():
    with tf.Graph().as_default(), tf.Session() as session:
        handle = test_ops.stub_resource_handle_op(container="a", shared_name="b")
        made = test_ops.resource_initialized_op(handle)
        with pytest.raises(tf.errors.NotFoundError, match="does not exist"):
            session.run(test_ops.resource_using_op(handle))
        assert not session.run(made)
        session.run(test_ops.resource_create_op(handle))
        session.run(test_ops.resource_using_op(handle))
        assert session.run(made)


def test_an_op_that_is_gone_is_for_old_graphs():
    with tf.Graph().as_default():
        with pytest.raises(NotImplementedError, match="Op Old is not available in GraphDef"):
            test_ops.old()
