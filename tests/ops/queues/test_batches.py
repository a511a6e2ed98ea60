"""Batches that stay whole in queues, against elements that are put in and taken one by one."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from stillflow.ops.queues import elements as elements_lib
from stillflow.ops.queues.elements import Stacked
from stillflow.ops.queues.stores import FifoStore, ShuffleStore


def batch(first, count):
    """Elements of three components: a number, a row, a string."""
    numbers = torch.arange(first, first + count)
    rows = torch.stack([numbers * 2.0, numbers * 3.0], 1)
    return Stacked([numbers, rows, np.array([b"%d" % n for n in numbers], object)])


def values(parts):
    """Return elements as lists of Python's values."""
    return [
        tuple(part.tolist() if hasattr(part, "tolist") else part for part in element)
        for element in zip(*elements_lib.stacked(parts), strict=True)
    ]


@pytest.mark.parametrize("make", [FifoStore, lambda: ShuffleStore(0, 3, 5)])
@pytest.mark.parametrize("seed", range(8))
def test_batches_come_out_as_their_elements_would(make, seed):
    random = np.random.RandomState(seed)
    store, other = make(), make()
    made = 0
    for _ in range(60):
        count = random.randint(1, 7)
        doing = random.randint(5)
        if doing == 0:
            store.put_batch(batch(made, count))
        elif doing == 1:
            for element in batch(made, count):
                store.put(element)
        if doing < 2:
            for element in batch(made, count):
                other.put(element)
            made += count
        count = min(count, len(store))
        if doing < 2 or not count:
            continue
        taken = store.take_many(count) if doing > 2 else [store.take() for _ in range(count)]
        expected = [other.take() for _ in range(count)]
        assert elements_lib.count(taken) == count
        assert values(taken) == values(expected)
        if doing == 4 and type(store) is FifoStore:
            store.give_back(taken)
            other.give_back(expected)
        assert len(store) == len(other)


def test_what_was_taken_at_random_comes_back():
    store = ShuffleStore(0, 3, 5)
    store.put_batch(batch(0, 6))
    taken = store.take_many(4)
    store.give_back(taken)
    assert len(store) == 6
    assert sorted(values(store.take_many(6))) == values([batch(0, 6)])


def test_slots_are_used_again_and_what_was_taken_stays():
    store = ShuffleStore(0, 1, 1)
    kept = []
    for first in range(0, 400, 4):
        store.put_batch(batch(first, 4))
        kept += store.take_many(4)
    assert sorted(values(kept)) == values([batch(0, 400)])
    assert len(store._slots._columns[0]) == 4


def test_batches_of_another_kind_are_taken_apart():
    store = ShuffleStore(0, 1, 1)
    store.put_batch(Stacked([torch.zeros(2, 3)]))
    store.put_batch(Stacked([torch.ones(2, 1)]))
    taken = [store.take()[0] for _ in range(4)]
    assert sorted(tuple(value.shape) for value in taken) == [(1,), (1,), (3,), (3,)]
