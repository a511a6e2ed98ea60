"""Lists at run time never change: each operation gives another, and older ones stay."""

from __future__ import annotations

import pytest
import torch

import stillflow as tf
from stillflow.graph import dtypes
from stillflow.ops.tensor_list import public as lists
from stillflow.ops.tensor_list.cards import cards
from stillflow.ops.tensor_list.values import TensorList


def _list(*numbers):
    return TensorList(dtypes.float32, (), [torch.tensor(float(n)) for n in numbers])


def _numbers(values):
    return [None if item is None else float(item) for item in values.items]


def test_older_lists_stay_as_they_were():
    first = _list(1, 2)
    second = first.pushed(torch.tensor(3.0))
    third = second.replaced(0, torch.tensor(9.0))
    fourth, last = third.popped()
    assert (_numbers(fourth), float(last)) == ([9.0, 2.0], 3.0)
    assert _numbers(first) == [1.0, 2.0]
    assert _numbers(second) == [1.0, 2.0, 3.0]
    assert _numbers(third) == [9.0, 2.0, 3.0]


def test_two_lists_may_grow_out_of_one():
    root = _list(1)
    one, other = root.pushed(torch.tensor(2.0)), root.pushed(torch.tensor(5.0))
    assert _numbers(one) == [1.0, 2.0]
    assert _numbers(other) == [1.0, 5.0]
    assert _numbers(root) == [1.0]


def test_a_list_that_only_grows_is_not_copied():
    values, items = _list(), None
    for number in range(100):
        values = values.pushed(torch.tensor(float(number)))
        items = items or values.items
    assert values.items is items


def test_elements_that_were_never_set_count_as_zeros_in_sums():
    some = _list(1, 2).like([torch.tensor(1.0), None])
    assert _numbers(some + _list(10, 20)) == [11.0, 20.0]
    assert _numbers(some.zeros_like()) == [0.0, None]
    with pytest.raises(tf.errors.InvalidArgumentError, match="different lengths"):
        _list(1, 2) + _list(1)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda e: lists.tensor_list_pop_back(e, tf.float32)[1], "pop from an empty list"),
        (lambda e: lists.tensor_list_get_item(e, 0, tf.float32), "access element 0 in a list with"),
        (lambda e: lists.tensor_list_set_item(e, 3, 1.0), "modify element 3 in a list with 0"),
        (lambda e: lists.tensor_list_gather(e, [2], tf.float32), "Index 2 out o range"),
        (lambda e: cards["TensorListResize"](e, -1), "expects size to be non-negative"),
    ],
)
def test_places_that_are_not_there_are_refused(build, message):
    with tf.Graph().as_default(), tf.Session() as session:
        empty = lists.empty_tensor_list([], tf.float32)
        made = build(empty)
        fetch = cards["TensorListLength"](made) if made.dtype == tf.variant else made
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            session.run(fetch)


def test_a_full_list_takes_nothing_more():
    with tf.Graph().as_default(), tf.Session() as session:
        values = lists.empty_tensor_list([], tf.float32, max_num_elements=1)
        values = cards["TensorListPushBack"](values, 1.0)
        assert session.run(lists.tensor_list_stack(values, tf.float32)).tolist() == [1.0]
        full = cards["TensorListPushBack"](values, 2.0)
        with pytest.raises(tf.errors.InvalidArgumentError, match="into a full list list size: 1"):
            session.run(lists.tensor_list_stack(full, tf.float32))


def test_a_copy_has_memory_of_its_own():
    first = TensorList(dtypes.float32, (2,), [torch.zeros(2), None])
    copied = first.copy()
    first.items[0].add_(1)
    assert copied.items[0].tolist() == [0.0, 0.0]
    assert copied.items[1] is None
