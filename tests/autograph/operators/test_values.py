"""Python's functions, operators and lists, over numbers and over tensors."""

from __future__ import annotations

import numpy as np
import pytest

import stillflow as tf
from stillflow.autograph import operators as ag
from stillflow.autograph.operators.data_structures import tf_tensor_array_new, tf_tensor_list_new
from stillflow.autograph.operators.python_calls import MatchDType, call_python

pytestmark = pytest.mark.usefixtures("session")


def test_numbers(session):
    assert (ag.abs_(-1), ag.int_("11", 2), ag.int_(1.5), ag.float_("2")) == (1, 3, 1, 2.0)
    text, number = tf.constant("12"), tf.constant(-1.5)
    found = session.run([ag.abs_(number), ag.int_(number), ag.int_(text, 10), ag.float_(text)])
    assert found == [1.5, -1, 12, 12.0]
    with pytest.raises(NotImplementedError, match="base 2"):
        ag.int_(text, 2)


def test_lengths(session):
    unknown = tf.placeholder(tf.int32)
    assert (ag.len_([1, 2]), ag.len_(tf.ones([3, 2]))) == (2, 3)
    assert session.run(ag.len_(tf.TensorArray(tf.int32, size=5))) == 5
    assert session.run(ag.len_(tf_tensor_list_new([3, 4]))) == 2
    assert session.run(ag.len_(unknown), {unknown: [1, 2]}) == 2
    with pytest.raises(tf.errors.InvalidArgumentError, match="requires non-zero rank"):
        session.run(ag.len_(unknown), {unknown: 1})
    with pytest.raises(ValueError, match="requires a non-scalar tensor"):
        ag.len_(tf.constant(1))


def test_ranges(session):
    assert list(ag.range_(1, 6, 2)) == [1, 3, 5]
    three = tf.constant(3)
    found = session.run(
        [ag.range_(three), ag.range_(1, three), ag.range_(three, 0, -1), ag.range_(5, three)]
    )
    assert [list(values) for values in found] == [[0, 1, 2], [1, 2], [3, 2, 1], []]


def test_sequences(session):
    assert list(ag.enumerate_("ab", 1)) == [(1, "a"), (2, "b")]
    assert list(ag.zip_([1], [2])) == [(1, 2)]
    numbers = tf.data.Dataset.range(3)
    pairs = ag.zip_(ag.enumerate_(numbers), numbers)
    add = lambda total, pair: total + pair[0][0] * pair[1]
    assert session.run(pairs.reduce(np.int64(0), lambda t, a, b=None: add(t, a))) == 5


def test_printing(session, capfd):
    assert ag.print_("a", 1, sep="-") is None
    session.run(ag.print_(tf.constant("text"), 2, tf.constant([3])))
    assert capfd.readouterr().out == "a-1\ntext 2 [3]\n"
    with pytest.raises(ValueError, match="invalid keyword arguments"):
        ag.print_("a", color="red")


def test_calls_of_python(session):
    add = lambda a, b, c=0: (a + b + c).numpy()
    x = tf.constant(2)
    assert session.run(call_python(add, tf.int32, (x, 3), {"c": x})) == 7
    assert session.run(call_python(add, MatchDType(0), (x, 1))) == 3
    assert session.run(call_python(lambda a: None, None, (x,), use_dummy_return=True)) == 1
    with pytest.raises(ValueError, match=r"must be a tf.Tensor"):
        call_python(add, MatchDType(1), (x, 1))


def test_logic(session):
    yes, no, fail = tf.constant(True), tf.constant(False), lambda: 1 / 0
    assert ag.and_(lambda: 0, fail) == 0 and ag.or_(lambda: 2, fail) == 2
    found = [
        ag.not_(yes), ag.and_(lambda: yes, lambda: no), ag.or_(lambda: no, lambda: yes),
        ag.eq(yes, no), ag.not_eq(yes, no), ag.if_exp(yes, lambda: 1, lambda: 2),
    ]  # fmt: skip
    assert session.run(found) == [False, False, True, False, True, 1]
    assert (ag.eq(1, 1), ag.not_eq(1, 1), ag.if_exp(0, fail, lambda: 2)) == (True, False, 2)


def test_assertions(session):
    assert ag.assert_stmt(1, lambda: "fine") is None
    with pytest.raises(AssertionError, match="wrong"):
        ag.assert_stmt(0, lambda: "wrong")
    with pytest.raises(tf.errors.InvalidArgumentError, match="wrong"):
        session.run(ag.assert_stmt(tf.constant(False), lambda: "wrong"))
    for bad in ("text", lambda x: x):
        with pytest.raises(ValueError, match=r"callable|arguments"):
            ag.assert_stmt(1, bad)


def test_lists_of_python():
    made = ag.new_list([1])
    assert ag.list_append(made, 2) is made
    assert ag.list_pop(made, 0, ag.ListPopOpts(None, None)) == ([2], 1)
    assert ag.get_item(made, 0, ag.GetItemOpts(None)) == 2
    assert ag.set_item(made, 0, 5) is made and made == [5]


def test_lists_of_tensors(session):
    made = ag.new_list()
    for value in (1, 2, 3):
        made = ag.list_append(made, tf.constant(value))
    made = ag.set_item(made, 0, tf.constant(7))
    made, last = ag.list_pop(made, None, ag.ListPopOpts(tf.int32, ()))
    stacked = ag.list_stack(made, ag.ListStackOpts(tf.int32, None))
    first = ag.get_item(made, 0, ag.GetItemOpts(tf.int32))
    assert [np.array(v).tolist() for v in session.run([last, stacked, first])] == [3, [7, 2], 7]


def test_what_is_not_known_of_a_list_is_asked_for():
    made = ag.new_list()
    for call in (
        lambda: ag.list_pop(made, None, ag.ListPopOpts(None, None)),
        lambda: ag.list_pop(made, None, ag.ListPopOpts(tf.int32, None)),
        lambda: ag.list_stack(made, ag.ListStackOpts(None, None)),
        lambda: ag.get_item(made, 0, ag.GetItemOpts(None)),
    ):
        with pytest.raises(ValueError, match="without knowing its element"):
            call()
    with pytest.raises(NotImplementedError, match="from the end"):
        ag.list_pop(made, 0, ag.ListPopOpts(tf.int32, ()))
    with pytest.raises(ValueError, match=r"dtype=tf.variant"):
        ag.list_append(tf.constant(1), 2)


def test_tensor_arrays(session):
    made = ag.list_append(tf_tensor_array_new([1, 2]), 3)
    made = ag.set_item(made, 3, 4)
    assert session.run(ag.list_stack(made, ag.ListStackOpts(None, None))).tolist() == [1, 2, 3, 4]
    with pytest.raises(ValueError, match="does not support item removal"):
        ag.list_pop(made, None, ag.ListPopOpts(tf.int32, ()))
    with pytest.raises(ValueError, match="same dtype"):
        tf_tensor_array_new([1, 2.0])
    with pytest.raises(ValueError, match="dtype is required"):
        tf_tensor_array_new([])


def test_items_of_tensors(session):
    x = tf.constant([1, 2, 3])
    letter = ag.get_item(tf.constant("word"), 1, ag.GetItemOpts(None))
    found = session.run([ag.set_item(x, 1, 9), ag.get_item(x, 2, ag.GetItemOpts(None)), letter])
    assert [found[0].tolist(), *found[1:]] == [[1, 9, 3], 3, b"o"]
